package scan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/detect"
	"holdfast/detect/audit"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/detect/live"
	"holdfast/gitops"
	"holdfast/gitops/render"
)

// replicasLog is an audit log in which these users set the replicas of Deployment shop/web, each an hour after the
// one before.
func replicasLog(t *testing.T, writes ...string) *audit.Log {
	t.Helper()
	users := map[string][2]string{
		"engine": {"system:serviceaccount:flux-system:kustomize-controller", "kustomize-controller"},
		"alice":  {"alice", "kubectl-edit"},
		"hpa":    {"system:serviceaccount:kube-system:horizontal-pod-autoscaler", "kube-controller-manager"},
		"tuner":  {"system:serviceaccount:shop:tuner", "tuner"},
	}
	var log strings.Builder
	for i, w := range writes {
		who, count, _ := strings.Cut(w, "=")
		at := time.Date(2026, 3, 10, i, 0, 0, 0, time.UTC).Format(time.RFC3339)
		object := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","resourceVersion":"%d"},"spec":{"replicas":%s,"paused":false}}`, i+1, count)
		fmt.Fprintf(&log, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":"ResponseComplete","verb":"patch","requestURI":"/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=%s","user":{"username":%q},"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps"},"responseStatus":{"code":200},"requestObject":{"spec":{"replicas":%s}},"responseObject":%s,"stageTimestamp":%q}`+"\n",
			users[who][1], users[who][0], count, object, at)
	}
	l, err := audit.Decode(strings.NewReader(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// web is Deployment shop/web.
func web(replicas int64) gitops.Object {
	return gitops.NewObject(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{"replicas": replicas, "paused": false},
	})
}

// contesting is a judge with an audit log, hours after the log's first write, and a member of Flux.
func contesting(t *testing.T, log *audit.Log, hours int, cluster ...gitops.Object) (*judge, *member) {
	t.Helper()
	rules, err := classify.LoadRules()
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{
		in:       Input{Audit: log, Now: time.Date(2026, 3, 10, hours, 0, 0, 0, time.UTC)},
		snapshot: &live.Snapshot{Cluster: "shop"},
	}
	return j, &member{
		app:    gitops.Application{Engine: gitops.Flux, Managers: []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}}},
		result: &render.Result{}, facts: classify.NewFacts(cluster, rules),
	}
}

func subject(m *member, declared, live gitops.Object) classify.Subject {
	return classify.Subject{App: m.app, Declared: &gitops.Declared{Object: declared}, Live: &live, Ignore: m.ignore()}
}

func specReplicas() gitops.Path { return gitops.Path{gitops.Field("spec"), gitops.Field("replicas")} }

func TestTheDayOfADumpEndsWithItsLog(t *testing.T) {
	for _, c := range []struct {
		cluster string
		want    detect.Cause
	}{{"shop", detect.CauseManual}, {"", detect.CauseContested}} {
		j, m := contesting(t, replicasLog(t, "engine=2", "alice=5", "engine=2", "alice=5"), 30)
		j.snapshot.Cluster = c.cluster
		fields := []detect.Field{{Path: specReplicas(), Git: gitops.Present(int64(2)), Live: gitops.Present(int64(5)), Differs: true, Drift: true, Cause: detect.CauseManual}}
		if got := j.contested(m, subject(m, web(2), web(5)), fields); len(got) != 1 || got[0].Cause != c.want {
			t.Errorf("cluster %q: %v, want %s", c.cluster, got, c.want)
		}
	}
}

func TestContestedFields(t *testing.T) {
	held := []string{"engine=2", "alice=5", "engine=2", "alice=5", "engine=2"}
	scaler := gitops.NewObject(map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": int64(1), "maxReplicas": int64(9),
		},
	})
	scaled := []string{"engine=2", "hpa=5", "engine=2", "hpa=5", "engine=2"}
	for _, c := range []struct {
		name    string
		writes  []string
		live    int64
		hours   int // from the first write to the scan
		change  func(*member)
		cluster []gitops.Object
		want    string
	}{
		{"one hotfix that the engine undid", []string{"engine=2", "alice=5", "engine=2"}, 2, 4, nil, nil, ""},
		{"three flips a day, and Git holds at the moment", held, 2, 6, nil, nil, "alice"},
		{"three flips a day, and the other holds", []string{"engine=2", "tuner=5", "engine=2", "tuner=6"}, 6, 6, nil, nil, "system:serviceaccount:shop:tuner"},
		{"the flips of yesterday", []string{"engine=2", "alice=5", "engine=2", "alice=5"}, 5, 30, nil, nil, ""},
		{"many writes by one", []string{"alice=3", "alice=4", "alice=5", "alice=6", "alice=7"}, 7, 6, nil, nil, ""},
		{"three writers once each", []string{"engine=2", "alice=5", "tuner=6", "engine=2"}, 2, 6, nil, nil, ""},
		{"an ignore rule covers the field", held, 2, 6, func(m *member) { m.app.Ignore = []gitops.IgnoreRule{{Paths: []string{"/spec/replicas"}}} }, nil, ""},
		{"an ignore rule covers another field", held, 2, 6, func(m *member) { m.app.Ignore = []gitops.IgnoreRule{{Paths: []string{"/spec/paused"}}} }, nil, "alice"},
		{"an ignore rule names the other writer's manager", held, 2, 6, func(m *member) { m.app.Ignore = []gitops.IgnoreRule{{Managers: []string{"kubectl-edit"}}} }, nil, ""},
		{"a secret input may have moved the field", held, 2, 6, func(m *member) {
			m.result.Unsure = map[gitops.ObjectID][]gitops.Path{web(2).ID: {specReplicas()}}
		}, nil, ""},
		{"each render gives the field another value", held, 2, 6, func(m *member) {
			m.result.Unstable = map[gitops.ObjectID][]gitops.Path{web(2).ID: {specReplicas()}}
		}, nil, ""},
		{"an autoscaler against the engine", scaled, 2, 6, nil, []gitops.Object{scaler}, ""},
		{"an autoscaler's account without an autoscaler", scaled, 2, 6, nil, nil, "system:serviceaccount:flux-system:kustomize-controller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, m := contesting(t, replicasLog(t, c.writes...), c.hours, c.cluster...)
			if c.change != nil {
				c.change(m)
			}
			var fields []detect.Field
			if c.live != 2 {
				fields = append(fields, detect.Field{Path: specReplicas(), Git: gitops.Present(int64(2)), Live: gitops.Present(c.live), Differs: true, Drift: true, Cause: detect.CauseManual})
			}
			got := ""
			for _, f := range j.contested(m, subject(m, web(2), web(c.live)), fields) {
				if f.Cause == detect.CauseContested {
					got += f.Writer.Name()
					if !f.Path.Equal(specReplicas()) || !f.Drift || !strings.Contains(f.Reason, "keep overwriting each other") {
						t.Errorf("%s: drift %v: %s", f.Path, f.Drift, f.Reason)
					}
				}
			}
			if got != c.want {
				t.Errorf("contested by %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhatWasJudgedNoDriftStaysNone(t *testing.T) {
	j, m := contesting(t, replicasLog(t, "engine=2", "alice=5", "engine=2", "alice=5"), 6)
	judged := detect.Field{Path: specReplicas(), Git: gitops.Present(int64(2)), Live: gitops.Present(int64(5)), Differs: true, Cause: detect.CauseManual, Reason: "The ignore rule covers it."}
	got := j.contested(m, subject(m, web(2), web(5)), []detect.Field{judged})
	if diff := cmp.Diff([]detect.Field{judged}, got); diff != "" {
		t.Error(diff)
	}
}

// secretLog is an audit log in which the engine and alice patch key pw of Secret shop/db in turn.
func secretLog(t *testing.T) *audit.Log {
	t.Helper()
	var log strings.Builder
	for i := range 5 {
		user, manager := "system:serviceaccount:flux-system:kustomize-controller", "kustomize-controller"
		if i%2 == 1 {
			user, manager = "alice", "kubectl-patch"
		}
		fmt.Fprintf(&log, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"patch","requestURI":"/x?fieldManager=%s","user":{"username":%q},"objectRef":{"resource":"secrets","namespace":"shop","name":"db"},"responseStatus":{"code":200},"requestObject":{"data":{"pw":"aHVudGVyMg=="}},"stageTimestamp":"2026-03-10T0%d:00:00Z"}`+"\n", manager, user, i)
	}
	l, err := audit.Decode(strings.NewReader(log.String()))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAContestedSecretIsNotPrinted(t *testing.T) {
	secret := func(part string, value any) gitops.Object {
		content := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "db", "namespace": "shop"}}
		if part != "" {
			content[part] = map[string]any{"pw": value}
		}
		return gitops.NewObject(content)
	}
	stored := secret("data", "aHVudGVyMg==")
	for _, c := range []struct {
		name           string
		log            *audit.Log
		declared, live gitops.Object
		change         func(*member)
		path           string
	}{
		{"a Secret's data", secretLog(t), stored, stored, nil, "data.pw"},
		{"a Secret's stringData", secretLog(t), secret("stringData", "hunter2"), stored, nil, "data.pw"},
		{"a Secret of which the metadata alone was read", secretLog(t), secret("stringData", "hunter2"), secret("", nil), nil, "data.pw"},
		{"a field into which the render put a Secret's value", replicasLog(t, "engine=2", "alice=5", "engine=2", "alice=5", "engine=2"), web(2), web(2), func(m *member) {
			m.result.Secret = map[gitops.ObjectID][]gitops.Path{web(2).ID: {specReplicas()}}
		}, "spec.replicas"},
		{"a field that Helm's stored release tells", replicasLog(t, "engine=2", "alice=5", "engine=2", "alice=5", "engine=2"), web(2), web(2), func(m *member) {
			m.stored.paths = map[gitops.ObjectID][]gitops.Path{web(2).ID: {specReplicas()}}
		}, "spec.replicas"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, m := contesting(t, c.log, 6)
			if c.change != nil {
				c.change(m)
			}
			fields := j.contested(m, subject(m, c.declared, c.live), nil)
			if len(fields) != 1 || fields[0].Path.String() != c.path || fields[0].Cause != detect.CauseContested {
				t.Fatalf("got %+v", fields)
			}
			if f := fields[0]; !f.Masked || f.Git != gitops.Present(compare.Masked) || f.Live != gitops.Present(compare.Masked) {
				t.Errorf("masked %v, Git %v, live %v", f.Masked, f.Git, f.Live)
			}
		})
	}
}

func TestAnUnsureKeyOfASecretIsNotBroughtBack(t *testing.T) {
	j, m := contesting(t, secretLog(t), 6)
	declared := gitops.NewObject(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "db", "namespace": "shop"}, "stringData": map[string]any{"pw": "${pw}"},
	})
	m.result.Unsure = map[gitops.ObjectID][]gitops.Path{declared.ID: {{gitops.Field("stringData"), gitops.Field("pw")}}}
	if fields := j.contested(m, subject(m, declared, declared), nil); len(fields) > 0 {
		t.Errorf("got %+v", fields)
	}
}

func TestContestCountsByPairsOfWriters(t *testing.T) {
	flips := func(names ...string) []audit.Flip {
		out := make([]audit.Flip, len(names))
		for i, name := range names {
			out[i].Writer = detect.Writer{User: name, Time: time.Date(2026, 3, 10, 0, 0, i, 0, time.UTC)}
		}
		return out
	}
	c, ok := contest(flips("tuner", "alice", "bob", "alice", "tuner", "bob", "alice", "tuner"))
	if !ok || c.flips != 3 || c.one.Writer.User != "bob" || c.other.Writer.User != "alice" || c.first.Second() != 1 || c.last.Second() != 6 {
		t.Errorf("%v: %d flips, %s then %s, from %v to %v", ok, c.flips, c.one.Writer.User, c.other.Writer.User, c.first, c.last)
	}
	if c, ok := contest(flips("alice", "bob", "alice")); ok {
		t.Errorf("two flips: %+v", c)
	}
	many := make([]string, 100_000) // all by their own two: takes hours by every pair of flips
	for i := range many {
		many[i] = fmt.Sprint("user", i)
	}
	if c, ok := contest(flips(many...)); ok {
		t.Errorf("nobody twice: %+v", c)
	}
}
