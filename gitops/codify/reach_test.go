package codify

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

func TestReach(t *testing.T) {
	base := map[string]string{
		"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": "", "base/unused.yaml": "", "shared/x.env": "", "shared/t.yaml": "kind: PatchTransformer\npath: x.env\n", "other/kustomization.yaml": "",
	}
	tests := []struct {
		name, root string
		link       bool
		want       []string
		all        bool
	}{
		{"a base and its manifests", "resources: [../base]\n", false, []string{"base/a.yaml", "base/kustomization.yaml"}, false},
		{"files of a generator", "configMapGenerator:\n- name: c\n  envs: [../shared/x.env]\n", false, []string{"shared/x.env"}, false},
		{"files under another key", "configMapGenerator:\n- name: c\n  files: [k=../shared/x.env]\n", false, []string{"shared/x.env"}, false},
		{"a remote base", "resources: ['https://git.example.test/x?ref=1']\n", false, nil, true},
		{"a folder without a kustomization", "resources: [../shared]\n", false, nil, true},
		{"a transformer, whose file names another", "transformers: [../shared/t.yaml]\n", false, []string{"shared/t.yaml", "shared/x.env"}, false},
		{"a transformer that is written out", "transformers:\n- |\n  kind: PatchTransformer\n  path: ../shared/x.env\n", false, nil, true},
		{"what is broken", "resources: [\n", false, nil, true},
		{"a link to a manifest", "resources: [link.yaml]\n", true, []string{"root/link.yaml", "base/a.yaml"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]gitops.File{"root/kustomization.yaml": {Data: []byte(test.root)}}
			for name, text := range base {
				files[name] = gitops.File{Data: []byte(text)}
			}
			if test.link {
				files["root/link.yaml"] = gitops.File{Mode: gitops.Symlink, Data: []byte("../base/a.yaml")}
			}
			r := reachOf(gitops.NewTree(files), "root")
			if r.all != test.all {
				t.Fatalf("all %t, want %t", r.all, test.all)
			}
			for name := range files {
				want := test.all || slices.Contains(test.want, name) || name == "root/kustomization.yaml"
				if got := r.has([]string{name}); got != want {
					t.Errorf("%s: %t, want %t", name, got, want)
				}
			}
		})
	}
}

// Folders that no edit reaches are not rendered; those that read a changed file are, and have their say.
func TestUnreachedFoldersAreNotRendered(t *testing.T) {
	files := map[string]string{
		"base/kustomization.yaml": "resources: [c.yaml]\n", "base/c.yaml": configMapText,
		"prod/kustomization.yaml": "resources: [../base]\nnamespace: prod\n",
	}
	for i := range 9 {
		files[fmt.Sprintf("apart%d/kustomization.yaml", i)] = "resources: [c.yaml]\n"
		files[fmt.Sprintf("apart%d/c.yaml", i)] = configMapText
	}
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("the base is shared: %t", shared), func(t *testing.T) {
			if shared {
				files["staging/kustomization.yaml"] = "resources: [../base]\nnamespace: staging\n"
			}
			tree := gitops.NewTree(nil)
			for name, text := range files {
				tree = tree.With([]gitops.Edit{{Path: name, After: []byte(text)}})
			}
			app := gitops.Application{Name: "prod", Source: gitops.Source{Path: "prod"}, Render: gitops.Render{Kustomize: &gitops.Kustomize{}}}
			result, err := renderTree(t.Context(), tree, app)
			if err != nil {
				t.Fatal(err)
			}
			rendered := map[string]int{}
			answer, err := Propose(t.Context(), Request{
				Tree: tree, Wishes: []Wish{{App: app, Declared: result.Objects[0], FindingID: "f", Changes: []gitops.FieldChange{
					{Path: gitops.Path{gitops.Field("data"), gitops.Field("a")}, After: gitops.Present("2")},
				}}},
				Render: func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
					rendered[app.Source.Path]++
					return renderTree(ctx, tree, app)
				},
			})
			if err != nil || len(answer.Placed) != 1 || !answer.Proof.Verified {
				t.Fatalf("%+v, %v", answer, err)
			}
			want := "base/c.yaml"
			if shared {
				want = "prod/"
			}
			if got := answer.Edits[0].Path; got[:len(want)] != want {
				t.Errorf("edited %s, want %s", got, want)
			}
			if (rendered["staging"] > 0) != shared {
				t.Errorf("staging was rendered %d times", rendered["staging"])
			}
			for dir, n := range rendered {
				if dir != "prod" && dir != "staging" && n > 0 {
					t.Errorf("%s was rendered %d times", dir, n)
				}
			}
		})
	}
}

const configMapText = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: \"1\"}\n"
