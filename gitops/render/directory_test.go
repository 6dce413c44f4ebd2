package render_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// TestADirectoryOfArgoCD: its patterns are over paths in the folder, and * crosses slashes.
func TestADirectoryOfArgoCD(t *testing.T) {
	object := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
	}
	files := tree(map[string]string{
		"apps/a.yaml": object("a"), "apps/sub/b.yaml": object("b"), "apps/sub/c.yml": object("c"), "apps/e.txt": object("e"),
		"apps/d.json":          `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}`,
		"apps/sub/deep/f.yaml": object("f"), "apps/marked.yaml": "# +argocd:skip-file-rendering\n" + object("marked"),
		"other/g.yaml": object("g"),
	})
	for _, c := range []struct {
		name, include, exclude string
		flat                   bool
		want                   string
	}{
		{"all manifests, but those marked to be skipped", "", "", false, "a b c d f"},
		{"without sub-folders", "", "", true, "a d"},
		{"a star crosses slashes", "*.yaml", "", false, "a b f"},
		{"alternatives", "{a.yaml,sub/*}", "", false, "a b c f"},
		{"two stars need a slash when the pattern has one", "**/b.yaml", "", false, "b"},
		{"a folder left out", "", "sub/**", false, "a d"},
		{"what is left out counts before what is taken", "*.yaml", "{sub/b.yaml,*.json}", false, "a f"},
		{"a pattern is over the path in the folder", "apps/*", "", false, ""},
		{"one letter", "?.yaml", "", false, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			how := gitops.Render{Directory: true, Recurse: !c.flat, Include: c.include, Exclude: c.exclude, Namespace: "shop"}
			result, err := render.Render(context.Background(), files, "apps", how, render.Env{})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range result.Objects {
				names = append(names, o.ID.Name)
			}
			slices.Sort(names)
			if diff := cmp.Diff(c.want, strings.Join(names, " ")); diff != "" || len(result.Problems) > 0 {
				t.Errorf("%s%v", diff, result.Problems)
			}
		})
	}
	_, err := render.Render(context.Background(), files, "apps", gitops.Render{Directory: true, Include: "[a"}, render.Env{})
	if err == nil || !strings.Contains(err.Error(), `spec.source.directory.include: "[a" is no glob pattern`) {
		t.Errorf("a broken pattern: %v", err)
	}
}

// TestJsonnetIsNamed: Argo CD runs it, Holdfast does not, and says of which file.
func TestJsonnetIsNamed(t *testing.T) {
	files := tree(map[string]string{"apps/a.jsonnet": "{}", "apps/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"})
	for _, c := range []struct {
		name string
		how  gitops.Render
		want int
	}{
		{"in a directory of Argo CD", gitops.Render{Directory: true}, 1},
		{"left out there", gitops.Render{Directory: true, Exclude: "*.jsonnet"}, 0},
		{"in another plain folder it is no manifest", gitops.Render{}, 0},
	} {
		result, err := render.Render(context.Background(), files, "apps", c.how, render.Env{})
		if err != nil || len(result.Objects) != 1 || len(result.Problems) != c.want {
			t.Errorf("%s: %d objects, problems %v, %v", c.name, len(result.Objects), result.Problems, err)
			continue
		}
		if c.want == 1 && (result.Problems[0].File != "apps/a.jsonnet" || !result.Touches("apps/c.jsonnet")) {
			t.Errorf("%s: %v", c.name, result.Problems)
		}
	}
}
