package scan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/detect/audit"
	"holdfast/gitops"
)

// replicasLog is an audit log in which these users set the replicas of Deployment shop/web, each an hour after the
// one before.
func replicasLog(t *testing.T, writes ...string) *audit.Log {
	t.Helper()
	users := map[string][2]string{
		"engine": {"system:serviceaccount:flux-system:kustomize-controller", "kustomize-controller"},
		"alice":  {"alice", "kubectl-edit"},
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

func TestContestedFields(t *testing.T) {
	object := func(replicas int64) gitops.Object {
		return gitops.NewObject(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"spec": map[string]any{"replicas": replicas, "paused": false},
		})
	}
	replicas := gitops.Path{gitops.Field("spec"), gitops.Field("replicas")}
	for _, c := range []struct {
		name   string
		writes []string
		live   int64
		hours  int // from the first write to the scan
		want   string
	}{
		{"one hotfix that the engine undid", []string{"engine=2", "alice=5", "engine=2"}, 2, 4, ""},
		{"three flips a day, and Git holds at the moment", []string{"engine=2", "alice=5", "engine=2", "alice=5", "engine=2"}, 2, 6, "alice"},
		{"three flips a day, and the other holds", []string{"engine=2", "tuner=5", "engine=2", "tuner=6"}, 6, 6, "system:serviceaccount:shop:tuner"},
		{"the flips of yesterday", []string{"engine=2", "alice=5", "engine=2", "alice=5"}, 5, 30, ""},
		{"many writes by one", []string{"alice=3", "alice=4", "alice=5", "alice=6", "alice=7"}, 7, 6, ""},
		{"three writers once each", []string{"engine=2", "alice=5", "tuner=6", "engine=2"}, 2, 6, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := &judge{in: Input{Audit: replicasLog(t, c.writes...), Now: time.Date(2026, 3, 10, c.hours, 0, 0, 0, time.UTC)}}
			m := &member{app: gitops.Application{Engine: gitops.Flux, Managers: []gitops.Manager{{Name: "kustomize-controller"}}}}
			live := object(c.live)
			var fields []detect.Field
			if c.live != 2 {
				fields = append(fields, detect.Field{Path: replicas, Git: gitops.Present(int64(2)), Live: gitops.Present(c.live), Differs: true, Cause: detect.CauseManual})
			}
			got := ""
			for _, f := range j.contested(m, object(2), &live, fields) {
				if f.Cause == detect.CauseContested {
					got += f.Writer.Name()
					if !f.Path.Equal(replicas) || !f.Drift || !strings.Contains(f.Reason, "keep overwriting each other") {
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
