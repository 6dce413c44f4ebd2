package classify

import (
	"testing"

	"holdfast/gitops"
)

func TestTargets(t *testing.T) {
	deployment := gitops.NewObject(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "shop", "name": "web"},
	})
	service := gitops.NewObject(map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"namespace": "shop", "name": "web"},
	})
	for _, row := range []struct {
		name    string
		target  gitops.PatchTarget
		exact   bool
		object  gitops.Object
		targets bool
	}{
		{"Flux leaves the group open", gitops.PatchTarget{Kind: "Deployment"}, false, deployment, true},
		{"Argo CD's empty group is the core group", gitops.PatchTarget{Kind: "Deployment"}, true, deployment, false},
		{"which a Service is of", gitops.PatchTarget{Kind: "Service"}, true, service, true},
		{"any group and kind", gitops.PatchTarget{Group: "*", Kind: "*"}, true, service, true},
		{"a pattern of kinds", gitops.PatchTarget{Group: "app*", Kind: "D*"}, true, deployment, true},
		{"a dot is a dot", gitops.PatchTarget{Group: "apps", Kind: "Deployment", Name: "we."}, true, deployment, false},
		{"for Flux it is any character", gitops.PatchTarget{Name: "we."}, false, deployment, true},
		{"a name is no pattern for Argo CD", gitops.PatchTarget{Group: "apps", Kind: "Deployment", Name: "w*"}, true, deployment, false},
		{"a name", gitops.PatchTarget{Group: "apps", Kind: "Deployment", Name: "web", Namespace: "shop"}, true, deployment, true},
		{"another namespace", gitops.PatchTarget{Group: "apps", Kind: "Deployment", Namespace: "sho"}, true, deployment, false},
	} {
		if got := (IgnoreRule{Target: &row.target, Exact: row.exact}).targets(row.object); got != row.targets {
			t.Errorf("%s: got %v", row.name, got)
		}
	}
}
