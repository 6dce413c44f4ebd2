package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

func TestBrokenRecordsAreToldWithoutTheirContent(t *testing.T) {
	good := line(t, nil)
	for _, c := range []struct {
		name, log, want  string
		skipped, written int
	}{
		{"no JSON", good + "\n" + `{"password": "hunter2"`, "line 2: no audit event: invalid JSON at byte", 0, 1},
		{"an event cut off at the beginning of the log", `{"kind":"Event","user":{"username":"hunter2` + "\n" + good, "line 1: no audit event: invalid JSON", 0, 1},
		{"the wrong type", good + "\n" + `{"kind": "Event", "verb": ["hunter2"]}`, "line 2: no audit event: verb is not of the type", 0, 1},
		{"a user that is a text", good + "\n" + strings.Replace(good, `{"username":"alice@example.test"}`, `"hunter2"`, 1), "line 2: no audit event: user is not of the type", 0, 1},
		{"no time", good + "\n" + strings.Replace(good, "2026-11-02T09:00:01.5Z", "hunter2", 1), "line 2: no audit event: stageTimestamp is no time", 0, 1},
		{"too long", good + "\n" + `{"hunter2":"` + strings.Repeat("x", maxRecord) + "\"}\n" + good, "line 2: no audit event: longer than 8 MiB", 0, 2},
		{"nested too deep", good + "\n" + strings.Repeat("[", 20000), "line 2: no audit event: invalid JSON", 0, 1},
		{"lists in lists", good + "\n" + strings.Repeat("[", 20) + "1" + strings.Repeat("]", 20), "line 2: no audit event: wrapped too deep", 0, 1},
		{"a document that breaks off", "{\n\"items\": [\n" + good + ",\n{\"hunter2\": ", "no audit event: invalid JSON", 0, 1},
		{"another kind is no break", good + "\n" + `{"kind": "Secret", "data": {"password": "hunter2"}}` + "\nI1102 hunter2\n\n" + `{"kind":"Event","apiVersion":"v1","note":"hunter2"}`, "", 3, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := Decode(strings.NewReader(c.log))
			if err != nil {
				t.Fatal(err)
			}
			log.Name = "audit.log"
			notes := strings.Join(log.Notes(), "\n")
			if !strings.Contains(notes, c.want) || (c.want == "") != (notes == "") || strings.Contains(notes, "hunter2") {
				t.Errorf("notes %q, want %q", notes, c.want)
			}
			if log.Skipped != c.skipped || log.Writes != c.written {
				t.Errorf("%d skipped and %d writes, want %d and %d", log.Skipped, log.Writes, c.skipped, c.written)
			}
		})
	}
}

// TestAnExportThatWasCutIsReadUpToTheCut holds that events in front of it name who wrote, where managedFields confirm
// it, and nobody where later events may be missing.
func TestAnExportThatWasCutIsReadUpToTheCut(t *testing.T) {
	good := line(t, nil)
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, "2026-11-02T09:00:01Z")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, log string }{
		{"EKS on one line", `{"events": [{"timestamp": 1, "message": ` + string(text) + `}, {"timestamp": 2, "message": "{\"kind\": \"Ev`},
		{"a list on one line", `[` + good + `, {"kind": "Event", "user": {"username": "hunter2`},
		{"a list on many lines", "[\n" + good + ",\n{\"kind\": "},
		{"garbage in the middle", `{"records": [` + good + `, {"kind": %%%}, ` + good + `]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := Decode(strings.NewReader(c.log))
			if err != nil {
				t.Fatal(err)
			}
			if log.Writes != 1 || log.Broken != 1 || !strings.Contains(strings.Join(log.Notes(), "\n"), "invalid JSON") {
				t.Errorf("%d writes, %d broken, notes %q", log.Writes, log.Broken, log.Notes())
			}
			live := gitops.Object{ID: web(), Content: map[string]any{"spec": map[string]any{"replicas": int64(6)}}}
			confirmed := replicas("kubectl-set", "")
			confirmed.Writer.Time = at
			if log.Of(web(), application(), &live).Field(confirmed); confirmed.Writer.User != "alice@example.test" {
				t.Errorf("writer %+v", confirmed.Writer)
			}
			later := replicas("kubectl-set", "")
			later.Writer.Time = at.Add(time.Hour)
			if log.Of(web(), application(), &live).Field(later); later.Writer.User != "" {
				t.Errorf("%s is named for what events that are missing may tell", later.Writer.User)
			}
		})
	}
}

func TestALogWithoutAnyEventIsRefused(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"broken only", `{"kind": `, "no audit event in it: "},
		{"another file", "apiVersion: v1\nkind: Secret\n", "no audit event in it: want events of audit.k8s.io/v1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Decode(strings.NewReader(c.log)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if log, err := Decode(strings.NewReader("\n\n")); err != nil || log.Events != 0 {
		t.Errorf("an empty log: %v", err)
	}
}

// TestSecretsAreNotKept prints everything that a Log holds.
func TestSecretsAreNotKept(t *testing.T) {
	secret := map[string]any{"objectRef": map[string]any{"resource": "secrets", "namespace": "shop", "name": "db"}, "requestURI": "/x?fieldManager=kubectl-edit"}
	object := map[string]any{
		"kind": "Secret", "apiVersion": "v1", "type": "hunter2", "metadata": map[string]any{"name": "db", "annotations": map[string]any{"name": "hunter2"}},
		"data": map[string]any{"name": "hunter2", "kind": "hunter2", "op": "hunter2"}, "stringData": map[string]any{"$patch": "hunter2"},
	}
	var log strings.Builder
	for _, body := range []any{object, []any{map[string]any{"op": "replace", "path": "/data", "value": map[string]any{"name": "hunter2", "path": "hunter2"}}}} {
		secret["requestObject"], secret["responseObject"] = body, object
		fmt.Fprintln(&log, line(t, secret))
	}
	read, err := Decode(strings.NewReader(log.String()))
	if err != nil || read.Writes != 2 {
		t.Fatalf("%d writes, %v", read.Writes, err)
	}
	for k, events := range read.events {
		for _, e := range events {
			if kept := fmt.Sprintf("%+v %s %s %s", k, e.request, e.response, e.kind); strings.Contains(kept, "hunter2") {
				t.Errorf("kept: %s", kept)
			}
		}
	}
	id := gitops.ObjectID{Kind: "Secret", Namespace: "shop", Name: "db"}
	field := &detect.Field{
		Path: gitops.Path{gitops.Field("data"), gitops.Field("name")}, Git: gitops.Present(masked), Live: gitops.Present(masked), Masked: true, Drift: true,
		Writer: &detect.Writer{Manager: "kubectl-edit", Operation: "Update", Confidence: detect.ByManager},
	}
	if !read.Of(id, application(), &gitops.Object{ID: id}).Field(field) || field.Writer.User != "alice@example.test" || field.Writer.Confidence != detect.ByAudit {
		t.Errorf("writer of the key: %+v", field.Writer)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","stageTimestamp":"2026-11-02T09:00:01Z","verb":"patch","objectRef":{"apiGroup":"apps","resource":"deployments","namespace":"shop","name":"web"},"responseStatus":{"code":200},"requestObject":[{"op":"add","path":"/a/-"}]}`)
	f.Add(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{"kind":"Event","apiVersion":"audit.k8s.io/v1"}]}`)
	f.Add("{\n\"events\": [{\"message\": \"{}\"}]\n}")
	f.Add(`{"results":[[{"field":"@message","value":"{}"}]]}`)
	f.Add(`2026-11-02T09:00:01.500Z {"kind":"Event","apiVersion":"audit.k8s.io/v1"}`)
	f.Add(`{"category":"kube-audit","properties":{"log":"{\"kind\":\"Event\"}"}}`)
	f.Add(`{"Type":"AKSAudit","Stage":"ResponseComplete","ObjectRef":"{\"resource\":\"deployments\"}"}`)
	f.Add(`{"protoPayload":{"serviceName":"k8s.io","methodName":"io.k8s.apps.v1.deployments.patch","resourceName":"apps/v1/namespaces/shop/deployments/web","request":{"spec":{"replicas":6}}},"timestamp":"2026-11-02T09:00:01.5Z"}`)
	f.Fuzz(func(t *testing.T, text string) {
		log, err := Decode(strings.NewReader(text))
		if err != nil {
			return
		}
		live := gitops.Object{ID: web(), Content: map[string]any{"spec": map[string]any{"replicas": int64(6)}}}
		history := log.Of(web(), application(), &live)
		history.Field(replicas("kubectl-set", ""))
		history.Field(replicas("", ""))
		history.Writers(replicasPath(), log.First)
		history.Object(detect.GitOnly)
	})
}
