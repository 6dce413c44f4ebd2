package scan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// handMade is a Deployment that alice made; controllers, admission and the API server added to it.
const handMade = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: hand
  namespace: shop
  annotations: {deployment.kubernetes.io/revision: "2"}
  labels: {team: checkout}
  managedFields:
  - manager: kubectl-create
    operation: Update
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata: {f:labels: {.: {}, f:team: {}}}
      f:spec:
        f:selector: {}
        f:template:
          f:metadata: {f:labels: {.: {}, f:app: {}}}
          f:spec:
            f:containers:
              k:{"name":"web"}:
                .: {}
                f:image: {}
                f:name: {}
                f:env: {.: {}, 'k:{"name":"A"}': {.: {}, f:name: {}, f:value: {}}}
  - manager: kube-controller-manager
    operation: Update
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata: {f:annotations: {.: {}, f:deployment.kubernetes.io/revision: {}}}
spec:
  replicas: 5
  selector: {matchLabels: {app: hand}}
  template:
    metadata: {labels: {app: hand}}
    spec:
      containers:
      - name: web
        image: registry.example.test/shop/web:1
        env: [{name: A, value: "1"}, {name: INJECTED, value: x}]
      nodeSelector: {pool: spot}
`

func TestWhatNobodyWroteOfAHandMadeObject(t *testing.T) {
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := classify.LoadRules()
	if err != nil {
		t.Fatal(err)
	}
	autoscaler := map[string]any{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"name": "hand", "namespace": "shop"},
		"spec": map[string]any{"maxReplicas": int64(9), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "hand"}}}
	facts := classify.NewFacts([]gitops.Object{gitops.NewObject(autoscaler)}, rules)
	facts.Sensitive = func(detect.ObjectRef, gitops.Path, gitops.Value, gitops.Value) bool { return false }
	j := &judge{comparer: compare.New(schemas)}
	m := &member{facts: facts}
	for name, c := range map[string]struct {
		change func(map[string]any)
		want   []string
	}{
		"with its managers": {func(map[string]any) {}, []string{
			`metadata.annotations["deployment.kubernetes.io/revision"]`, "spec.replicas", "spec.template.spec.containers[name=web].env[name=INJECTED]", "spec.template.spec.nodeSelector.pool",
		}},
		"without any, what a known writer explains": {func(o map[string]any) { delete(o["metadata"].(map[string]any), "managedFields") }, []string{
			`metadata.annotations["deployment.kubernetes.io/revision"]`, "spec.replicas",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var content map[string]any
			if err := yaml.Unmarshal([]byte(handMade), &content); err != nil {
				t.Fatal(err)
			}
			c.change(content)
			var got []string
			for _, p := range j.unauthored(m, gitops.NewObject(content)) {
				got = append(got, p.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
