package classify

import (
	"fmt"
	"testing"

	"holdfast/detect"
	"holdfast/gitops"
)

// BenchmarkFields classifies three differences of a Deployment with six managedFields entries: a controller's
// mark, a person's change and a value of admission.
func BenchmarkFields(b *testing.B) {
	rules, err := LoadRules()
	if err != nil {
		b.Fatal(err)
	}
	var entries []any
	for i := range 6 {
		entries = append(entries, map[string]any{"manager": fmt.Sprint("manager-", i), "operation": "Update", "time": late, "fieldsV1": map[string]any{}})
	}
	live := gitops.NewObject(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "web", "namespace": "shop", "managedFields": entries,
			"annotations": map[string]any{"deployment.kubernetes.io/revision": "3", "a": "b"}, "labels": map[string]any{"app": "web", "team": "shop"},
		},
	})
	facts := NewFacts([]gitops.Object{live}, rules)
	path := func(text string) gitops.Path {
		p, err := gitops.ParsePath(text)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	diffs := []detect.Difference{
		{Path: path(`metadata.annotations["deployment.kubernetes.io/revision"]`), Live: gitops.Present("3"), Kind: detect.Added, Differs: true, Owners: []detect.Writer{owner("kube-controller-manager", late)}},
		{Path: path("spec.template.spec.containers[name=app].image"), Git: gitops.Present("a:1"), Live: gitops.Present("a:2"), Kind: detect.Changed, Differs: true, Owners: []detect.Writer{owner("kubectl-set", late)}},
		{Path: path("spec.template.spec.priorityClassName"), Live: gitops.Present("normal"), Kind: detect.Added, Differs: true},
	}
	s := Subject{App: gitops.Application{Engine: gitops.Flux}, Declared: &gitops.Declared{Object: live}, Live: &live}
	facts.Sensitive = func(detect.ObjectRef, gitops.Path, gitops.Value, gitops.Value) bool { return false }
	b.ReportAllocs()
	for b.Loop() {
		if len(facts.Fields(s, diffs)) != 3 {
			b.Fatal("lost a field")
		}
	}
}
