package classify

import (
	"testing"

	"holdfast/detect"
	"holdfast/gitops"
)

func TestWhichObjectsAreAnEngines(t *testing.T) {
	for _, c := range []struct {
		group, kind string
		want        bool
	}{
		{"kustomize.toolkit.fluxcd.io", "Kustomization", true}, {"argoproj.io", "Application", true}, {"argoproj.io", "AppProject", true},
		{"argoproj.io", "Rollout", false}, {"argoproj.io", "Workflow", false}, {"example.test", "Application", false},
	} {
		if got := ofEngine(gitops.GroupKind{Group: c.group, Kind: c.kind}); got != c.want {
			t.Errorf("%s %s: %t", c.group, c.kind, got)
		}
	}
}

// TestAHookMarkMeansNothingToFlux: what Git declares with it has to be there.
func TestAHookMarkMeansNothingToFlux(t *testing.T) {
	declared := gitops.NewObject(map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
		"metadata": map[string]any{"name": "deny", "namespace": "shop", "annotations": map[string]any{"helm.sh/hook": "pre-install"}},
	})
	for engine, want := range map[gitops.Engine]detect.Cause{gitops.Flux: detect.CauseMissing, gitops.None: detect.CauseMissing, gitops.ArgoCD: detect.CauseController} {
		cause, drift, _ := (&Facts{}).Missing(Subject{App: gitops.Application{Engine: engine, Ready: true}, Declared: &gitops.Declared{Object: declared}})
		if cause != want || drift != (want == detect.CauseMissing) {
			t.Errorf("%s: %s, drift %t", engine, cause, drift)
		}
	}
}
