package audit_test

import (
	"encoding/json"
	"encoding/pem"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/deploy/lab"
	"holdfast/detect"
	"holdfast/detect/audit"
	"holdfast/detect/audit/webhook"
	"holdfast/gitops"
)

var update = flag.Bool("update", false, "record testdata anew from the lab")

const declared = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: shop, labels: {app: NAME, team: web}}
spec:
  replicas: 4
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers:
        - name: app
          image: registry.example.test/shop/app:1.0
          env: [{name: REGION, value: north}, {name: LEVEL, value: info}]
`

// makeHistory is what alice, bob and the engine do, each on an object of its own.
func makeHistory(t *testing.T, c *lab.Cluster) {
	t.Helper()
	const alice, bob = lab.Alice, lab.Bob
	run := func(user lab.User, stdin string, args ...string) string {
		t.Helper()
		return c.Kubectl(t, user, stdin, append([]string{"--namespace=shop"}, args...)...)
	}
	engine := func(name string) {
		t.Helper()
		c.Apply(t, lab.Engine, "kustomize-controller", strings.ReplaceAll(declared, "NAME", name))
	}
	// replaced writes a whole object back, without what cut finds.
	replaced := func(user lab.User, name, cut, by string) {
		t.Helper()
		whole := run(user, "", "get", "deployment", name, "-o", "yaml")
		if !strings.Contains(whole, cut) {
			t.Fatalf("no %q in %s", cut, whole)
		}
		run(user, strings.Replace(whole, cut, by, 1), "replace", "-f", "-")
	}
	run(lab.Admin, "", "create", "namespace", "shop")
	for _, name := range []string{"scaled", "replaced", "patched", "applied", "again", "borrowed", "refused", "kept", "status", "index"} {
		engine(name)
	}
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds
	run(alice, "", "scale", "deployment/scaled", "--replicas=6")
	replaced(alice, "replaced", "    team: web\n", "")
	run(alice, "", "patch", "deployment/patched", "--type=merge", `--patch={"metadata":{"labels":{"team":null}}}`)
	run(bob, strings.Replace(strings.ReplaceAll(declared, "NAME", "applied"), "value: info", "value: debug", 1), "apply", "-f", "-")
	run(alice, "", "scale", "deployment/again", "--replicas=6")
	engine("again")
	run(bob, "", "scale", "deployment/again", "--replicas=6")
	run(alice, "", "--as=bob@example.test", "set", "image", "deployment/borrowed", "app=registry.example.test/shop/app:1.1")
	run(alice, "", "set", "env", "deployment/refused", "LEVEL=debug")
	run(bob, "", "set", "env", "deployment/refused", "LEVEL=debug", "--dry-run=server")
	if _, err := c.Exec(t.Context(), bob, "", "--namespace=shop", "patch", "deployment/refused", "--type=merge", `--patch={"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"LEVEL","value":"debug"}]}]}}}}`); err == nil {
		t.Fatal("a container without image was let in")
	}
	run(alice, "", "set", "image", "deployment/kept", "app=registry.example.test/shop/app:1.1")
	replaced(bob, "kept", "team: web", "team: mobile")
	run(bob, "", "scale", "deployment/status", "--replicas=6")
	run(alice, "", "patch", "deployment/status", "--subresource=status", "--type=merge", `--patch={"status":{"observedGeneration":1}}`)
	run(bob, "", "patch", "deployment/index", "--type=json", `--patch=[{"op":"remove","path":"/spec/template/spec/containers/0/env/0"}]`)
	run(bob, "{apiVersion: v1, kind: ConfigMap, metadata: {name: stray}, data: {a: b}}", "apply", "--server-side", "-f", "-")
	run(lab.Admin, "", "create", "configmap", "gone")
	run(bob, "", "delete", "configmap", "gone")
	run(lab.Admin, "{apiVersion: v1, kind: ConfigMap, metadata: {name: swept, labels: {of: sweep}}}", "create", "-f", "-")
	run(alice, "", "delete", "--raw", "/api/v1/namespaces/shop/configmaps?labelSelector=of%3Dsweep")
	c.Apply(t, lab.Engine, "kustomize-controller", "{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: shop}, stringData: {user: app, password: one}}")
	time.Sleep(1100 * time.Millisecond)
	run(bob, "", "patch", "secret/db", "--type=merge", `--patch={"stringData":{"password":"two"}}`)
}

// TestTheLabsEventsNameWhoWrote makes changes on a real API server, which posts its events to a webhook and writes
// them to a file, and asks both.
func TestTheLabsEventsNameWhoWrote(t *testing.T) {
	start := time.Now()
	sink, err := webhook.New(webhook.Options{Token: "open", Start: start})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(sink)
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "webhook.kubeconfig")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "sink",
		"clusters": []any{map[string]any{"name": "sink", "cluster": map[string]any{"server": server.URL + "/audit", "certificate-authority-data": ca}}},
		"users":    []any{map[string]any{"name": "sink", "user": map[string]any{"token": "open"}}},
		"contexts": []any{map[string]any{"name": "sink", "context": map[string]any{"cluster": "sink", "user": "sink"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kubeconfig, config, 0o600); err != nil {
		t.Fatal(err)
	}
	c := lab.Start(t, lab.Options{Audit: true, APIServerFlags: []string{
		"--audit-webhook-config-file=" + kubeconfig, "--audit-webhook-batch-max-wait=200ms",
	}}).Clusters[0]
	makeHistory(t, c)
	dump := c.Kubectl(t, lab.Admin, "", "get", "deployments,configmaps,secrets", "--namespace=shop", "-o", "json", "--show-managed-fields")
	data, err := os.ReadFile(c.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		record(t, string(data), dump)
	}
	file, err := audit.Decode(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	var posted *audit.Log
	for range 100 { // events come a little later
		if posted = sink.Log(); posted.Writes >= file.Writes {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("%+v", sink.Stats())
	if posted.Writes != file.Writes || posted.Broken > 0 {
		t.Errorf("%d writes were posted, %d are in the file, %d broken", posted.Writes, file.Writes, posted.Broken)
	}
	objects := readObjects(t, []byte(dump))
	for name, log := range map[string]*audit.Log{"file": file, "webhook": posted} {
		t.Run("from the "+name, func(t *testing.T) { check(t, log, objects, 0) })
	}
}

// record keeps the events of the namespace, and the objects as they were at the end.
func record(t *testing.T, log, dump string) {
	t.Helper()
	var kept []string
	for _, line := range strings.Split(log, "\n") {
		var event map[string]any
		if json.Unmarshal([]byte(line), &event) != nil {
			continue
		}
		ref, _ := event["objectRef"].(map[string]any)
		if ref["namespace"] != "shop" || ref["resource"] == "events" || event["verb"] == "get" || event["verb"] == "list" {
			continue
		}
		delete(event, "sourceIPs")
		delete(event, "annotations")
		if body, ok := event["responseObject"].(map[string]any); ok {
			if metadata, ok := body["metadata"].(map[string]any); ok {
				delete(metadata, "managedFields")
			}
		}
		data, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, string(data))
	}
	var list map[string]any
	if err := json.Unmarshal([]byte(dump), &list); err != nil {
		t.Fatal(err)
	}
	small, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"lab.jsonl": strings.Join(kept, "\n"), "lab.json": string(small)} {
		if err := os.WriteFile(filepath.Join("testdata", name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readObjects(t *testing.T, data []byte) map[string]gitops.Object {
	t.Helper()
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]gitops.Object{}
	for _, item := range list.Items {
		o := gitops.NewObject(item)
		out[o.ID.Kind+"/"+o.ID.Name] = o
	}
	return out
}

const (
	env     = "spec.template.spec.containers[name=app].env"
	image   = "spec.template.spec.containers[name=app].image"
	alice   = "alice@example.test by audit"
	bob     = "bob@example.test by audit"
	aliceMd = "alice@example.test by audit-metadata"
	bobMd   = "bob@example.test by audit-metadata"
	nobody  = "nobody"
)

// answers lists who must be named for each change of makeHistory, at the levels RequestResponse, Request and
// Metadata, and in GKE's log.
// A path is a field's; without one it is the object.
func answers() []struct {
	name, object, path string
	want               [4]string
} {
	return []struct {
		name, object, path string
		want               [4]string
	}{
		{"the scale subresource", "Deployment/scaled", "spec.replicas", [4]string{alice, alice, aliceMd, alice}},
		{"a removal by PUT", "Deployment/replaced", "metadata.labels.team", [4]string{alice, alice, aliceMd, alice}},
		{"a removal by merge patch", "Deployment/patched", "metadata.labels.team", [4]string{alice, alice, aliceMd, alice}},
		{"kubectl apply on the client's side", "Deployment/applied", env + "[name=LEVEL].value", [4]string{bob, bob, bobMd, bob}},
		{"the engine's write between two persons' of the same value", "Deployment/again", "spec.replicas", [4]string{bob, bob, nobody, bob}},
		{"an impersonated user", "Deployment/borrowed", image, [4]string{"alice@example.test as bob@example.test by audit", "alice@example.test as bob@example.test by audit", "alice@example.test as bob@example.test by audit-metadata", "alice@example.test as bob@example.test by audit"}},
		{"a dry run and a refused request are none", "Deployment/refused", env + "[name=LEVEL].value", [4]string{alice, alice, aliceMd, alice}},
		{"a PUT that carries another's value", "Deployment/kept", image, [4]string{alice, alice, aliceMd, alice}},
		{"a PUT that carries another's value changed a label itself", "Deployment/kept", "metadata.labels.team", [4]string{bob, bob, bobMd, bob}},
		{"the status subresource is none", "Deployment/status", "spec.replicas", [4]string{bob, bob, bobMd, bob}},
		{"a removal by index", "Deployment/index", env + "[name=REGION]", [4]string{bob, bobMd, bobMd, bob}},
		{"a creation by server-side apply", "ConfigMap/stray", "", [4]string{bob, bob, bob, bob}},
		{"a deletion", "ConfigMap/gone", "", [4]string{bob, bob, bob, bob}},
		{"a deletion of a collection", "ConfigMap/swept", "", [4]string{alice, aliceMd, aliceMd, alice}},
		{"a key of a Secret", "Secret/db", "data.password", [4]string{bob, bob, bobMd, bobMd}},
	}
}

func fluxApplication() gitops.Application {
	return gitops.Application{Engine: gitops.Flux, Managers: []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}}}
}

// check asks a log for every answer. Level picks the column.
func check(t *testing.T, log *audit.Log, objects map[string]gitops.Object, level int) {
	t.Helper()
	for _, a := range answers() {
		t.Run(a.name, func(t *testing.T) {
			kind, name, _ := strings.Cut(a.object, "/")
			id := gitops.ObjectID{Kind: kind, Namespace: "shop", Name: name}
			if kind == "Deployment" {
				id.Group = "apps"
			}
			var live *gitops.Object
			presence := detect.GitOnly
			if o, ok := objects[a.object]; ok {
				live, presence = &o, detect.LiveOnly
			}
			history := log.Of(id, fluxApplication(), live)
			var w *detect.Writer
			if a.path == "" {
				w, _ = history.Object(presence)
			} else {
				field := drift(t, a.path, *live)
				if history.Field(&field) {
					w = field.Writer
				}
			}
			got := nobody
			if w != nil {
				got = w.Name() + " by " + string(w.Confidence)
			}
			if got != a.want[level] {
				t.Errorf("got %s, want %s", got, a.want[level])
			}
		})
	}
}

// drift is the field as scan asks for it: with the newest owner of its value, whoever is not the engine.
func drift(t *testing.T, path string, live gitops.Object) detect.Field {
	t.Helper()
	p, err := gitops.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	f := detect.Field{Path: p, Live: gitops.Lookup(live.Content, p), Drift: true, Differs: true, Masked: live.IsSecret()}
	if !f.Live.Set {
		f.Writer = &detect.Writer{Confidence: detect.Unresolved}
		return f
	}
	metadata, _ := live.Content["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, item := range entries {
		e, _ := item.(map[string]any)
		owned, _ := json.Marshal(e["fieldsV1"])
		if last := p[len(p)-1].Field; e["manager"] == "kustomize-controller" || !strings.Contains(string(owned), `"f:`+last+`"`) {
			continue
		}
		text := func(key string) string { s, _ := e[key].(string); return s }
		at, _ := time.Parse(time.RFC3339, text("time"))
		f.Writer = &detect.Writer{Manager: text("manager"), Operation: text("operation"), Subresource: text("subresource"), Time: at, Confidence: detect.ByManager}
	}
	return f
}
