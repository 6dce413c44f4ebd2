package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// shopFolder is a plain folder whose manifests name no namespace, and dumps in which they stand, or do not.
const shopFolder = `
-- git/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: red}
-- git/other.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {color: red}
-- git/role.yaml --
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: []
-- both.yaml --
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}, data: {color: green}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: default}, data: {color: red}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, rules: []}
-- unplaced.yaml --
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: green}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {color: red}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, rules: []}
-- elsewhere.yaml --
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {color: green}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: default}, data: {color: red}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, rules: []}
-- gone.yaml --
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: default}, data: {color: red}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, rules: []}
-- undumped.yaml --
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: unlike, namespace: elsewhere}, data: {color: red}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, rules: []}
-- default.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: shop}
spec: {engine: none, managers: [deployer], path: .}
-- shop.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: shop, namespace: shop}
spec: {engine: none, managers: [deployer], path: .}
-- target.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: shop, namespace: teams}
spec: {engine: none, managers: [deployer], path: ., namespace: shop}
`

// What names no namespace is looked for where kubectl puts it, and nothing leaves Git for a namespace that was guessed.
func TestWhatNamesNoNamespaceIsCompared(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), shopFolder)
	const change = "-data: {color: red}\n+data: {color: green}\n"
	tests := map[string]struct {
		live    string
		app     []string
		patch   string
		removes []string
		told    string
		code    int
	}{
		"with --path it stands in default": {live: "both", app: []string{"--path", "."}, patch: change, code: 1},
		"and so it does where the Application names no namespace either": {
			live: "both", app: []string{"--application", filepath.Join(dir, "default.yaml")}, patch: change, code: 1,
		},
		"it stands in the Application's own namespace": {
			live: "elsewhere", app: []string{"--application", filepath.Join(dir, "shop.yaml")},
			patch: change, told: "it names no namespace, and one of its name stands in namespace default", code: 2,
		},
		"it stands where spec.namespace says, whatever stands elsewhere": {
			live: "elsewhere", app: []string{"--application", filepath.Join(dir, "target.yaml")},
			patch: change, removes: []string{"other.yaml"}, code: 1,
		},
		"a dump that says no namespace either means default": {
			live: "unplaced", app: []string{"--path", "."}, patch: change, told: "2 objects of the dump say no namespace", code: 1,
		},
		"one that says none may be of any namespace": {
			live: "unplaced", app: []string{"--application", filepath.Join(dir, "target.yaml")},
			told: "the dump holds one of its name that says no namespace", code: 2,
		},
		"one of its name in another namespace may be it": {
			live: "elsewhere", app: []string{"--path", "."},
			told: "it names no namespace, and one of its name stands in namespace shop", code: 2,
		},
		"one that is gone leaves Git": {live: "gone", app: []string{"--path", "."}, removes: []string{"settings.yaml"}, code: 1},
		"what may not have been dumped does not": {
			live: "undumped", app: []string{"--path", "."}, told: "the dump holds no ConfigMap of namespace default", code: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			patch, told, code := runAll(t, append([]string{"propose", "--dry-run", "--disposition", "codify", "-o", "patch",
				"--live", filepath.Join(dir, test.live+".yaml"), "--git", filepath.Join(dir, "git")}, test.app...)...)
			if code != test.code || !strings.Contains(told, test.told) {
				t.Errorf("exit %d, want %d; it said:\n%s\nwant %q", code, test.code, told, test.told)
			}
			if !strings.Contains(patch, test.patch) || (test.patch == "" && len(test.removes) == 0) != (patch == "") {
				t.Errorf("patch:\n%s\nwant %q", patch, test.patch)
			}
			if got := strings.Count(patch, "deleted file"); got != len(test.removes) {
				t.Errorf("%d files are deleted, want %v:\n%s", got, test.removes, patch)
			}
			for _, file := range test.removes {
				if !strings.Contains(patch, "diff --git a/"+file+" b/"+file+"\ndeleted file") {
					t.Errorf("%s is not deleted:\n%s", file, patch)
				}
			}
		})
	}
}

// Whoever names a finding vouches for it: what a dump may just not hold then leaves Git.
func TestANamedDeletionLeavesGit(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), shopFolder)
	input := []string{"--live", filepath.Join(dir, "undumped.yaml"), "--git", filepath.Join(dir, "git"), "--path", ".", "--manager", "deployer"}
	text, _, _ := runAll(t, append([]string{"scan", "-o", "json"}, input...)...)
	var scanned scanJSON
	if err := json.Unmarshal([]byte(text), &scanned); err != nil || len(scanned.Findings) != 2 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, f := range scanned.Findings {
		patch, told, code := runAll(t, append([]string{"propose", "--dry-run", "--disposition", "codify", "-o", "patch", "--finding", f.ID}, input...)...)
		if want := f.Object.Name + ".yaml"; code != 1 || !strings.Contains(patch, "b/"+want+"\ndeleted file") {
			t.Errorf("%s: exit %d, %s\n%s", f.Object.Name, code, told, patch)
		}
	}
}

// A count that an autoscaler sets is not written to Git, whoever set it last; the rest is.
func TestACountUnderAnAutoscalerIsNotWritten(t *testing.T) {
	const workload = `
-- git/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.test/web:1"}]}
-- git/scaler.yaml --
{{scaler}}
-- live.yaml --
apiVersion: v1
kind: List
items:
- {{live}}
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: web
    namespace: shop
    managedFields:
    - {manager: kubectl-edit, operation: Update, apiVersion: apps/v1, time: "2026-03-01T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {"f:image": {}}}}}}}}
  spec:
    replicas: 7
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec: {containers: [{name: web, image: "registry.example.test/web:2"}]}
`
	const hpa = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: shop}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 1, maxReplicas: 5}}`
	const scaled = `{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: web, namespace: shop}, spec: {scaleTargetRef: {name: web}, maxReplicaCount: 5}}`
	const other = `{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shop}, data: {a: b}}`
	for name, test := range map[string]struct {
		git, live, told string
		count           bool
	}{
		"a HorizontalPodAutoscaler":                   {hpa, hpa, "HorizontalPodAutoscaler web sets the count", false},
		"a ScaledObject of KEDA":                      {scaled, scaled, "ScaledObject web sets the count", false},
		"one that is live only":                       {other, hpa, "HorizontalPodAutoscaler web sets the count", false},
		"one that Git declares and that is not there": {hpa, other, "HorizontalPodAutoscaler web sets the count", false},
		"no autoscaler at all":                        {other, other, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := unpackInto(t, t.TempDir(), strings.NewReplacer("{{scaler}}", test.git, "{{live}}", test.live).Replace(workload))
			patch, told, code := runAll(t, "propose", "--dry-run", "--disposition", "codify", "-o", "patch",
				"--live", filepath.Join(dir, "live.yaml"), "--git", filepath.Join(dir, "git"), "--path", ".", "--manager", "deployer")
			if code != 1 || !strings.Contains(patch, `registry.example.test/web:2`) {
				t.Errorf("exit %d; the image is not codified: %s\n%s", code, told, patch)
			}
			if strings.Contains(patch, "replicas: 7") != test.count || !strings.Contains(told, test.told) {
				t.Errorf("the count is in the patch: %v, want %v; it said:\n%s\n%s", !test.count, test.count, told, patch)
			}
		})
	}
}
