package render_test

import (
	"testing"

	"holdfast/gitops/render"
)

// TestAHookWithoutANameIsNoDeclaredState: Argo CD gives it another name at each sync. What is no hook must have one.
func TestAHookWithoutANameIsNoDeclaredState(t *testing.T) {
	for _, c := range []struct {
		name, annotations string
		problems          int
	}{
		{"a hook of Argo CD", "argocd.argoproj.io/hook: PreSync", 0},
		{"a hook of Helm, which Argo CD runs as its own", "helm.sh/hook: pre-install", 0},
		{"a hook that is skipped is none", "argocd.argoproj.io/hook: Skip", 1},
		{"no hook", "a: b", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			objects, problems := render.File("job.yaml", []byte("apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: job-, annotations: {"+c.annotations+"}}\n"))
			if len(objects) != 0 || len(problems) != c.problems {
				t.Errorf("%d objects, problems %v", len(objects), problems)
			}
		})
	}
}
