package codify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

func TestForbiddenFiles(t *testing.T) {
	policy := func(string) (string, bool) { return "", false }
	tests := []struct {
		name, path string
		forbidden  func(string) (string, bool)
		want       bool
	}{
		{"a manifest may be written", "apps/web.yaml", nil, false},
		{"Holdfast's policy may not", ".holdfast.yaml", nil, true},
		{"nor may its records, whatever the policy says", "apps/.holdfast/reverts/1.yaml", policy, true},
		{"code owners may not, wherever they lie", "docs/CODEOWNERS", nil, true},
		{"workflows may not", ".github/workflows/deploy.yaml", nil, true},
		{"a GitLab pipeline may not", ".gitlab-ci.yml", nil, true},
		{"the floor may open what the built-in list closes", ".github/workflows/deploy.yaml", policy, false},
		{"a folder that only sounds like CI may be written", "apps/ci/web.yaml", nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := Request{Forbidden: test.forbidden}
			if _, no := r.forbiddenFile(test.path); no != test.want {
				t.Errorf("%s: forbidden %t, want %t", test.path, no, test.want)
			}
		})
	}
}

func TestForbiddenChanges(t *testing.T) {
	id := func(group, kind string) gitops.ObjectID {
		return gitops.ObjectID{Group: group, Kind: kind, Namespace: "a", Name: "b"}
	}
	tests := []struct {
		name, path string
		id         gitops.ObjectID
		allow      bool
		want       bool
	}{
		{"a field of a Deployment", "spec.replicas", id("apps", "Deployment"), false, false},
		{"a Secret's value", "data.token", id("", "Secret"), true, true},
		{"a Secret's label", "metadata.labels.a", id("", "Secret"), false, false},
		{"a role's rules", "rules", id("rbac.authorization.k8s.io", "Role"), false, true},
		{"a role's rules when the floor names the kind", "rules", id("rbac.authorization.k8s.io", "Role"), true, false},
		{"a webhook", "webhooks", id("admissionregistration.k8s.io", "MutatingWebhookConfiguration"), false, true},
		{"a source, even when the floor names the kind", "spec.url", id("source.toolkit.fluxcd.io", "GitRepository"), true, true},
		{"the path of a Kustomization", "spec.path", id("kustomize.toolkit.fluxcd.io", "Kustomization"), false, true},
		{"the whole spec of a Kustomization, which holds the path", "spec", id("kustomize.toolkit.fluxcd.io", "Kustomization"), false, true},
		{"the interval of a Kustomization", "spec.interval", id("kustomize.toolkit.fluxcd.io", "Kustomization"), false, false},
		{"the revision of an Application", "spec.source.targetRevision", id("argoproj.io", "Application"), false, true},
		{"status", "status.replicas", id("apps", "Deployment"), false, true},
		{"a field that the server sets", "metadata.uid", id("apps", "Deployment"), false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, err := gitops.ParsePath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			r := Request{AllowKind: func(gitops.GroupKind) bool { return test.allow }}
			if reason, no := r.forbiddenChange(test.id, path); no != test.want {
				t.Errorf("forbidden %t (%s), want %t", no, reason, test.want)
			}
		})
	}
}

func TestSolveVariable(t *testing.T) {
	values := map[string]string{"A": "1", "B": "two"}
	tests := []struct {
		name, text, variable, want, value string
		ok                                bool
	}{
		{"the only variable", "${A}", "A", "5", "5", true},
		{"among text and others", "x ${A} of ${B}, $${HOME}", "A", "x 7 of two, ${HOME}", "7", true},
		{"a default stands for an unset one", "${C:=c}-${A}", "A", "c-3", "3", true},
		{"an unset one gets its value", "${C:=c}-${A}", "C", "d-1", "d", true},
		{"twice the same", "${A}/${A}", "A", "4/4", "4", true},
		{"twice, but not the same", "${A}/${A}", "A", "4/5", "", false},
		{"the rest differs", "x ${A}", "A", "y 1", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := solve(test.text, test.variable, values, test.want)
			if got != test.value || ok != test.ok {
				t.Errorf("got %q %t, want %q %t", got, ok, test.value, test.ok)
			}
		})
	}
}

func TestSameRepo(t *testing.T) {
	tests := []struct {
		name, a, b string
		want       bool
	}{
		{"with and without .git", "https://git.test/a/b.git", "https://git.test/a/b", true},
		{"ssh in both forms", "ssh://git@git.test:22/a/b", "git@git.test:a/b.git", true},
		{"ssh and https", "ssh://git@git.test/a/b", "https://user:pass@git.test/a/b/", true},
		{"another name", "https://git.test/a/b", "https://git.test/a/c", false},
		{"another port is another server", "https://git.test:8443/a/b", "https://git.test/a/b", false},
		{"an empty one is the repository at hand", "", "https://git.test/a/b", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := sameRepo(test.a, test.b); got != test.want {
				t.Errorf("%s and %s: %t, want %t", plainURL(test.a), plainURL(test.b), got, test.want)
			}
		})
	}
}

// A base with one overlay, of fifty ConfigMaps: the usual edit must be proven in few renders.
func TestFewRenders(t *testing.T) {
	files := map[string]gitops.File{}
	var list strings.Builder
	for i := range 50 {
		fmt.Fprintf(&list, "  - c%d.yaml\n", i)
		files[fmt.Sprintf("base/c%d.yaml", i)] = gitops.File{Data: fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {a: \"1\"}\n", i)}
	}
	files["base/kustomization.yaml"] = gitops.File{Data: []byte("resources:\n" + list.String())}
	for _, env := range []string{"prod", "staging"} {
		files[env+"/kustomization.yaml"] = gitops.File{Data: []byte("namespace: " + env + "\nresources: [../base]\n")}
	}
	tree := gitops.NewTree(files)
	app := gitops.Application{Name: "prod", Source: gitops.Source{Path: "prod"}, Render: gitops.Render{Kustomize: &gitops.Kustomize{}}}
	result, err := renderTree(t.Context(), tree, app)
	if err != nil {
		t.Fatal(err)
	}
	renders := 0
	count := func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
		renders++
		return renderTree(ctx, tree, app)
	}
	path := gitops.Path{gitops.Field("data"), gitops.Field("a")}
	answer, err := Propose(t.Context(), Request{Tree: tree, Render: count, Wishes: []Wish{{
		App: app, Declared: result.Objects[7], FindingID: "f", Changes: []gitops.FieldChange{{Path: path, After: gitops.Present("2")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Placed) != 1 || !answer.Proof.Verified {
		t.Fatalf("%+v", answer)
	}
	if renders > 10 {
		t.Errorf("%d renders for one field", renders)
	}
}

func TestProposeStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	app := gitops.Application{Name: "a", Source: gitops.Source{Path: "a"}}
	_, err := Propose(ctx, Request{Tree: gitops.NewTree(nil), Render: renderTree, Wishes: []Wish{{App: app}}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := Propose(t.Context(), Request{}); err == nil {
		t.Error("a request without a renderer was accepted")
	}
}

// Values that come from a Secret, or that a missing variable hides, are never written.
func TestHiddenValuesAreNotWritten(t *testing.T) {
	tree := gitops.NewTree(map[string]gitops.File{
		"a/c.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: x, b: y}\n")},
	})
	app := gitops.Application{Name: "a", Source: gitops.Source{Path: "a"}}
	field := func(name string) gitops.Path { return gitops.Path{gitops.Field("data"), gitops.Field(name)} }
	hide := func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
		r, err := renderTree(ctx, tree, app)
		id := gitops.ObjectID{Kind: "ConfigMap", Name: "c"}
		r.Secret = map[gitops.ObjectID][]gitops.Path{id: {field("a")}}
		r.Unsure = map[gitops.ObjectID][]gitops.Path{id: {field("b")}}
		return r, err
	}
	result, err := hide(t.Context(), tree, app)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Propose(t.Context(), Request{Tree: tree, Render: hide, Wishes: []Wish{{App: app, Declared: result.Objects[0], FindingID: "f", Changes: []gitops.FieldChange{
		{Path: field("a"), After: gitops.Present("hunter2")}, {Path: field("b"), After: gitops.Present("z")},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Edits) > 0 || len(answer.Failed) != 2 || !strings.Contains(answer.Failed[0].Reason, "Secret") || !strings.Contains(answer.Failed[1].Reason, "variable") {
		t.Errorf("%+v", answer)
	}
}
