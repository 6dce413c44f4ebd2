package cache

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

func treeOf(files map[string]string) gitops.Tree {
	out := map[string]gitops.File{}
	for name, text := range files {
		out[name] = gitops.File{Data: []byte(text)}
	}
	return gitops.NewTree(out)
}

func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: %q}\n", name, value)
}

func edited(tree gitops.Tree, name, text string) gitops.Tree {
	return tree.With([]gitops.Edit{{Path: name, After: []byte(text)}})
}

// shop has an overlay that kustomize builds, and a plain folder.
func shop() (tree gitops.Tree, overlay, plain gitops.Application) {
	tree = treeOf(map[string]string{
		"base/kustomization.yaml": "resources: [c.yaml]\n", "base/c.yaml": configMap("c", "1"),
		"prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n",
		"plain/d.yaml":            configMap("d", "1"), "plain/z.yaml": configMap("z", "1"), "docs/readme.md": "x",
	})
	overlay = gitops.Application{Name: "prod", Source: gitops.Source{Path: "prod"}, Render: gitops.Render{Kustomize: &gitops.Kustomize{}}}
	plain = gitops.Application{Name: "plain", Source: gitops.Source{Path: "plain"}}
	return tree, overlay, plain
}

func TestWhatFindsARenderAgain(t *testing.T) {
	tree, overlay, plain := shop()
	namespaced := func(gitops.GroupKind) (bool, bool) { return true, true }
	tests := []struct {
		name string
		app  gitops.Application
		tree gitops.Tree
		env  render.Env
		edit func(*gitops.Application)
		want bool
	}{
		{"the same tree", overlay, tree, render.Env{}, nil, true},
		{"a file that nothing reads", overlay, edited(tree, "docs/readme.md", "y"), render.Env{}, nil, true},
		{"a manifest of another folder", overlay, edited(tree, "plain/d.yaml", configMap("d", "2")), render.Env{}, nil, true},
		{"a record among dot folders", plain, edited(tree, ".holdfast/reverts/1.md", "x"), render.Env{}, nil, true},
		{"a newer commit of the same files", overlay, tree, render.Env{}, func(a *gitops.Application) { a.Source.Applied = "c2" }, true},
		{"a file that it reads changed", overlay, edited(tree, "base/c.yaml", configMap("c", "2")), render.Env{}, nil, false},
		{"a file that it reads went", plain, tree.With([]gitops.Edit{{Path: "plain/d.yaml", Remove: true}}), render.Env{}, nil, false},
		{"a manifest came to a plain folder", plain, edited(tree, "plain/e.yaml", configMap("e", "2")), render.Env{}, nil, false},
		{"the engine says something else", overlay, tree, render.Env{}, func(a *gitops.Application) { a.Render.Namespace = "x" }, false},
		{"another engine", overlay, tree, render.Env{}, func(a *gitops.Application) { a.Engine = gitops.ArgoCD }, false},
		{"another version of the cluster", overlay, tree, render.Env{KubeVersion: "v1.31.2"}, nil, false},
		{"a cluster told a kind's scope", overlay, tree, render.Env{Namespaced: namespaced}, nil, false},
		{"other limits", overlay, tree, render.Env{Limits: render.Limits{Objects: 7}}, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			renders := New(DefaultBytes)
			if _, err := renders.Render(t.Context(), tree, test.app, render.Env{}); err != nil {
				t.Fatal(err)
			}
			app := test.app
			if test.edit != nil {
				test.edit(&app)
			}
			got, ok := renders.Lookup(test.tree, app, test.env)
			if ok != test.want {
				t.Fatalf("found %t, want %t", ok, test.want)
			}
			again, err := renders.Render(t.Context(), test.tree, app, test.env)
			if err != nil {
				t.Fatal(err)
			}
			fresh, err := render.Application(t.Context(), test.tree, app, test.env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fresh.Objects, again.Objects); diff != "" {
				t.Errorf("not what a render gives (-render +cache):\n%s", diff)
			}
			if ok && got != again {
				t.Error("Render and Lookup gave two results")
			}
		})
	}
}

func TestScopesThatAClusterToldAreFoundAgain(t *testing.T) {
	tree, overlay, _ := shop()
	renders := New(DefaultBytes)
	env := func(namespaced bool) render.Env {
		return render.Env{Namespaced: func(gitops.GroupKind) (bool, bool) { return namespaced, true }}
	}
	if _, err := renders.Render(t.Context(), tree, overlay, env(true)); err != nil {
		t.Fatal(err)
	}
	if _, ok := renders.Lookup(tree, overlay, env(true)); !ok {
		t.Error("the same answers were not found")
	}
	if _, ok := renders.Lookup(tree, overlay, env(false)); ok {
		t.Error("another answer was taken for the same")
	}
}

func TestMountedTreesCount(t *testing.T) {
	tree, _, _ := shop()
	with := func(value string) gitops.Application {
		return gitops.Application{Name: "m", Source: gitops.Source{Path: "$chart"}, Mounts: []gitops.Mount{
			{At: "$chart", Known: true, Tree: treeOf(map[string]string{"c.yaml": configMap("c", value)})},
		}}
	}
	renders := New(DefaultBytes)
	if _, err := renders.Render(t.Context(), tree, with("1"), render.Env{}); err != nil {
		t.Fatal(err)
	}
	if _, ok := renders.Lookup(tree, with("1"), render.Env{}); !ok {
		t.Error("the same mount was not found")
	}
	if _, ok := renders.Lookup(tree, with("2"), render.Env{}); ok {
		t.Error("another mount was taken for the same")
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	tree, overlay, _ := shop()
	renders := New(DefaultBytes)
	broken := edited(tree, "base/kustomization.yaml", "resources: [missing.yaml]\n")
	if _, err := renders.Render(t.Context(), broken, overlay, render.Env{}); err == nil {
		t.Fatal("a missing file was rendered")
	}
	if s := renders.Stats(); s.Entries != 0 || s.Misses != 1 {
		t.Errorf("%+v", s)
	}
}

// The bound holds while renders come, what was used last stays, and at the end everything is accounted for.
func TestTheCacheIsBounded(t *testing.T) {
	tree, _, plain := shop()
	const limit = 64 << 10
	renders := New(limit)
	at := func(i int) gitops.Tree {
		return edited(tree, "plain/d.yaml", configMap("d", strings.Repeat(string(rune('a'+i)), 8<<10)))
	}
	for i := range 20 {
		if _, err := renders.Render(t.Context(), at(i), plain, render.Env{}); err != nil {
			t.Fatal(err)
		}
		if _, err := renders.Render(t.Context(), at(0), plain, render.Env{}); err != nil {
			t.Fatal(err)
		}
		if s := renders.Stats(); s.Bytes > limit || s.Bytes <= 0 {
			t.Fatalf("after %d: %+v", i, s)
		}
	}
	if _, ok := renders.Lookup(at(0), plain, render.Env{}); !ok {
		t.Error("what was used all the time went")
	}
	if _, ok := renders.Lookup(at(1), plain, render.Env{}); ok {
		t.Error("what was used once long ago stayed")
	}
	for renders.order.Len() > 0 {
		renders.drop(renders.order.Back().Value.(*entry))
	}
	if s := renders.Stats(); s.Bytes != 0 || s.Entries != 0 || len(renders.variants) != 0 || len(renders.contents.byPrint) != 0 {
		t.Errorf("after all went: %+v, %d variants", s, len(renders.variants))
	}
}

func TestEqualObjectsAreHeldOnce(t *testing.T) {
	tree, overlay, _ := shop()
	tree = edited(tree, "test/kustomization.yaml", "resources: [../prod]\n")
	other := overlay
	other.Name, other.Source.Path = "test", "test"
	renders := New(DefaultBytes)
	one, err := renders.Render(t.Context(), tree, overlay, render.Env{})
	if err != nil {
		t.Fatal(err)
	}
	size := renders.Stats().Bytes
	two, err := renders.Render(t.Context(), tree, other, render.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%p", one.Objects[0].Content) != fmt.Sprintf("%p", two.Objects[0].Content) {
		t.Error("two contents")
	}
	if more := renders.Stats().Bytes - size; more >= size {
		t.Errorf("the second took %d bytes, the first %d", more, size)
	}
}

func TestSpelled(t *testing.T) {
	values := []any{nil, true, "true", int64(1), float64(1), "1", []any{}, map[string]any{}, []any{"a", "b"}, []any{"ab"}, []any{[]any{"a"}, "b"},
		map[string]any{"a": "b"}, map[string]any{"a": nil, "b": nil}}
	seen := map[string]any{}
	for _, v := range values {
		text := string(spelled(nil, v))
		if other, twice := seen[text]; twice {
			t.Errorf("%#v and %#v are spelled the same", v, other)
		}
		seen[text] = v
	}
}

func TestConcurrentCalls(t *testing.T) {
	tree, overlay, plain := shop()
	renders := New(16 << 10)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 20 {
				app := []gitops.Application{overlay, plain}[(i+j)%2]
				at := edited(tree, "plain/d.yaml", configMap("d", strings.Repeat("x", 1000*(j%5))))
				result, err := renders.Render(t.Context(), at, app, render.Env{})
				if err != nil || len(result.Objects) == 0 {
					t.Errorf("%v %v", result, err)
				}
			}
		})
	}
	wait.Wait()
}
