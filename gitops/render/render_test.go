package render_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

func TestTouches(t *testing.T) {
	files := map[string]string{
		"base/kustomization.yaml": "resources: [one.yaml]", "base/one.yaml": one,
		"prod/kustomization.yaml": "resources: [../base]", "prod/unused.yaml": one, "plain/two.yaml": one,
	}
	overlay, err := kustomize(t, files, "prod")
	if err != nil {
		t.Fatal(err)
	}
	generated, err := render.Render(context.Background(), tree(files), ".", gitops.Render{Kustomize: &gitops.Kustomize{
		Generate: true, IgnoreMissingComponents: true, Components: []string{"maybe"},
	}}, render.Env{})
	if err == nil {
		t.Fatal("base and prod both declare one") // it still knows what it read
	}
	plain, err := render.Render(context.Background(), tree(files), "plain", gitops.Render{}, render.Env{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		result *render.Result
		file   string
		want   bool
	}{
		{"a base's file", overlay, "base/one.yaml", true},
		{"a file that is not listed", overlay, "prod/unused.yaml", false},
		{"a second kustomization file", overlay, "base/kustomization.yml", true},
		{"another folder", overlay, "plain/two.yaml", false},
		{"a new file below a generated kustomization", generated, "deep/er/new.yaml", true},
		{"a component that may come", generated, "maybe/kustomization.yaml", true},
		{"a file that is no manifest", generated, "readme.md", false},
		{"a new file in a plain folder", plain, "plain/new.json", true},
		{"a new file below a plain folder", plain, "plain/sub/new.yaml", false},
	} {
		if got := row.result.Touches(row.file); got != row.want {
			t.Errorf("%s: got %v", row.name, got)
		}
		if row.want && !listed(row.result.Inputs(), row.file) {
			t.Errorf("%s: it is neither in %q nor in %q", row.name, row.result.Inputs().Files(), row.result.Inputs().Folders())
		}
	}
	if got := overlay.Inputs().Folders(); len(got) > 0 {
		t.Errorf("a kustomization that names its files lists %q", got)
	}
	if diff := cmp.Diff([]string{"plain/*"}, plain.Inputs().Folders()); diff != "" {
		t.Error(diff)
	}
}

// listed says whether a file is among the inputs, as somebody who keeps the lists would find it.
func listed(inputs render.Inputs, file string) bool {
	return slices.Contains(inputs.Files(), file) || slices.ContainsFunc(inputs.Folders(), func(folder string) bool {
		if flat, ok := strings.CutSuffix(folder, "*"); ok {
			return path.Dir(file) == path.Clean(flat+".")
		}
		return folder == "." || strings.HasPrefix(file, folder+"/")
	})
}

func TestRoots(t *testing.T) {
	got := render.Roots(tree(map[string]string{
		"kustomization.yaml": "resources: [a]", "a/kustomization.yml": "resources: [x.yaml]", "a/b/Kustomization": "resources: [x]",
		"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n", "d/other.yaml": one,
		"e/kustomization.yaml": "broken: [",
	}))
	if diff := cmp.Diff([]string{".", "a", "a/b", "e"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestScope checks the table of built-in kinds row by row, and the order of who is asked.
func TestScope(t *testing.T) {
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {group: example.test, scope: Cluster, names: {kind: Globe}}\n"
	object := func(apiVersion, kind, namespace string) string {
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: x, namespace: %q}\n", apiVersion, kind, namespace)
	}
	served := func(gk gitops.GroupKind) (bool, bool) { return gk.Kind != "Planet", gk.Group == "served.test" }
	for _, row := range []struct {
		name, text string
		want       string
	}{
		{"a namespaced kind without a namespace gets the default", object("v1", "ConfigMap", ""), "shop"},
		{"a namespaced kind keeps its own", object("v1", "ConfigMap", "own"), "own"},
		{"a cluster-scoped kind has none", object("v1", "Node", "own"), ""},
		{"a ClusterRole has none", object("rbac.authorization.k8s.io/v1", "ClusterRole", "own"), ""},
		{"a kind that nobody knows is namespaced", object("example.test/v1", "Thing", ""), "shop"},
		{"a CRD of the same render tells", crd + "---\n" + object("example.test/v1", "Globe", "own"), ""},
		{"the cluster tells", object("served.test/v1", "Planet", "own"), ""},
		{"a kind of a built-in name in another group is unknown", object("example.test/v1", "Node", "own"), "own"},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, err := render.Render(context.Background(), tree(map[string]string{"a.yaml": row.text}), ".",
				gitops.Render{Namespace: "shop"}, render.Env{Namespaced: served})
			if err != nil {
				t.Fatal(err)
			}
			last := result.Objects[len(result.Objects)-1]
			if last.ID.Namespace != row.want {
				t.Errorf("got %q, want %q", last.ID.Namespace, row.want)
			}
		})
	}
}

func TestObjectsAreNotShared(t *testing.T) {
	repository := tree(map[string]string{"kustomization.yaml": "resources: [one.yaml]", "one.yaml": one})
	var seen []map[string]any
	for range 2 {
		r, err := render.Render(context.Background(), repository, ".", gitops.Render{Kustomize: &gitops.Kustomize{}}, render.Env{})
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, r.Objects[0].Content)
	}
	seen[0]["changed"] = true
	if _, there := seen[1]["changed"]; there {
		t.Error("two renders share an object")
	}
}

func TestManyRendersAtOnce(t *testing.T) {
	repository := tree(map[string]string{"kustomization.yaml": "resources: [one.yaml]\nnamePrefix: p-", "one.yaml": one})
	failures := make(chan error, 20)
	for range cap(failures) {
		go func() {
			r, err := render.Render(context.Background(), repository, ".", gitops.Render{Kustomize: &gitops.Kustomize{}}, render.Env{})
			if err == nil && (len(r.Objects) != 1 || !slices.Equal(r.Reads, []string{"kustomization.yaml", "one.yaml"})) {
				err = fmt.Errorf("%d objects, reads %v", len(r.Objects), r.Reads)
			}
			failures <- err
		}()
	}
	for range cap(failures) {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
}
