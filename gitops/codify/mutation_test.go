package codify

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

var (
	rounds = flag.Int("mutations", 40, "number of random mutations")
	seed   = flag.Uint64("seed", 1, "seed of the random mutations")
)

// TestMutations changes rendered objects at random, asks for the edit, and judges it with a render and a
// comparison of its own: the object must then read as mutated, all else as before.
func TestMutations(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/estate/estate.txt")
	if err != nil {
		t.Fatal(err)
	}
	tree := treeOf(archive)
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	fleet := estate()
	cache := cachedRender(t, tree)
	placed, failed := 0, map[string]int{}
	r := rand.New(rand.NewPCG(*seed, 2))
	for range *rounds {
		app := fleet[r.IntN(len(fleet))]
		before, err := cache(t.Context(), tree, app)
		if err != nil {
			t.Fatal(err)
		}
		object := before.Objects[r.IntN(len(before.Objects))]
		change, ok := mutate(r, object)
		if !ok {
			continue
		}
		live := with(object.Content, change.Path, change.After.V)
		if !change.After.Set {
			live = without(object.Content, change.Path)
		}
		wish := Wish{App: app, Declared: object, Changes: []gitops.FieldChange{change}, FindingID: "f", Live: gitops.NewObject(live.(map[string]any))}
		answer, err := Propose(t.Context(), Request{Tree: tree, Wishes: []Wish{wish}, Fleet: fleet, Render: cache, Schemas: schemas})
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("%s %s %s: %v -> %v", app.Name, object.ID, change.Path, change.Before.V, change.After)
		if len(answer.Placed) == 0 {
			failed[what+": "+answer.Failed[0].Reason+" "+answer.Failed[0].NearestMiss]++
			continue
		}
		placed++
		judgeAlone(t, what, tree, answer, wish, fleet, live)
	}
	for f, n := range failed {
		t.Logf("failed %d: %s", n, f)
	}
	if len(failed)*20 > placed {
		t.Errorf("%d placed, %d failed", placed, len(failed))
	}
}

// estate are the Applications of testdata/estate.
func estate() []gitops.Application {
	var fleet []gitops.Application
	for _, path := range []string{"overlays/prod", "overlays/staging", "overlays/legacy", "plain"} {
		app := gitops.Application{Cluster: "c", Namespace: "flux-system", Name: strings.ReplaceAll(path, "/", "-"), Source: gitops.Source{Path: path}}
		if path != "plain" {
			app.Render.Kustomize = &gitops.Kustomize{}
		}
		fleet = append(fleet, app)
	}
	return fleet
}

// cachedRender keeps the renders of the tree as it is.
func cachedRender(t *testing.T, tree gitops.Tree) RenderFunc {
	t.Helper()
	kept := map[string]*render.Result{}
	digest := tree.Digest("")
	return func(ctx context.Context, at gitops.Tree, app gitops.Application) (*render.Result, error) {
		if at.Digest("") != digest {
			return renderTree(ctx, at, app)
		}
		if kept[app.ID()+app.Source.Path] == nil {
			result, err := renderTree(ctx, at, app)
			if err != nil {
				return result, err
			}
			kept[app.ID()+app.Source.Path] = result
		}
		return kept[app.ID()+app.Source.Path], nil
	}
}

func judgeAlone(t *testing.T, what string, tree gitops.Tree, answer *Answer, wish Wish, fleet []gitops.Application, live any) {
	t.Helper()
	after := tree.With(answer.Edits)
	for _, app := range fleet {
		was, err := renderTree(t.Context(), tree, app)
		if err != nil {
			t.Fatal(err)
		}
		is, err := renderTree(t.Context(), after, app)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if len(was.Objects) != len(is.Objects) {
			t.Fatalf("%s: %d objects became %d", what, len(was.Objects), len(is.Objects))
		}
		for i := range was.Objects {
			want := any(was.Objects[i].Content)
			if app.ID() == wish.App.ID() && was.Objects[i].ID == wish.Declared.ID {
				want = live
			}
			if d := differences(splice.Normal(want), splice.Normal(is.Objects[i].Content), nil); len(d) > 0 && !emptyApart(want, is.Objects[i].Content, d) {
				t.Errorf("%s (%s): %s of %s is not as it should be at %v\n%s", what, answer.Placed[0].How, is.Objects[i].ID, app.Name, d, answer.Edits[0].After)
			}
		}
	}
	for _, e := range answer.Edits {
		if e.Before == nil || e.Remove {
			continue
		}
		for _, line := range strings.SplitAfter(string(e.Before), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "#") && wish.Changes[0].After.Set && !strings.Contains(string(e.After), line) {
				t.Errorf("%s: the comment %q is lost", what, line)
			}
		}
	}
}

// emptyApart says whether two contents differ at paths only by an empty mapping or list against none.
func emptyApart(a, b any, paths []gitops.Path) bool {
	return !slices.ContainsFunc(paths, func(p gitops.Path) bool {
		return !hollow(splice.Lookup(a, p).V) || !hollow(splice.Lookup(b, p).V)
	})
}

// mutate picks a field of an object and another value for it.
func mutate(r *rand.Rand, d gitops.Declared) (gitops.FieldChange, bool) {
	var paths []gitops.Path
	for _, p := range leaves(d.Content, nil) {
		if first := p[0].Field; first != "apiVersion" && first != "kind" && p.String() != "metadata.name" && p.String() != "metadata.namespace" {
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		return gitops.FieldChange{}, false
	}
	p := paths[r.IntN(len(paths))]
	before := splice.Lookup(d.Content, p)
	change := gitops.FieldChange{Path: p, Before: before}
	last := p[len(p)-1]
	inKeys := len(p) > 1 && p[len(p)-2].IsEntry() && slices.ContainsFunc(p[len(p)-2].Keys, func(k gitops.Key) bool { return k.Name == last.Field })
	if inKeys { // a key is the entry's identity: the entry goes
		change.Path = p[:len(p)-1]
		change.Before = splice.Lookup(d.Content, change.Path)
		return change, true
	}
	kind := r.IntN(5)
	switch {
	case kind == 0 && last.IsField():
		return change, true
	case kind == 1 && last.IsField() && !before.Set:
		return change, false
	}
	switch v := before.V.(type) {
	case string:
		change.After = gitops.Present([]any{v + "-x", "yes", "1.10", "a: b", v + "0", "two\nlines\n"}[r.IntN(6)])
		if last.Field == "image" {
			change.After = gitops.Present([]any{v + "-x", "other.test/name:1.10", v + "@sha256:" + strings.Repeat("ab", 32)}[r.IntN(3)])
		}
	case bool:
		change.After = gitops.Present(!v)
	case int64:
		change.After = gitops.Present(v + 1)
	default:
		return change, false
	}
	return change, !reflect.DeepEqual(change.After.V, before.V)
}

// leaves lists the paths to all scalars, entries of named lists by name.
func leaves(v any, at gitops.Path) []gitops.Path {
	var out []gitops.Path
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, leaves(v[k], at.Child(gitops.Field(k)))...)
		}
	case []any:
		for i, e := range v {
			step := gitops.Index(i)
			if m, ok := e.(map[string]any); ok {
				for _, key := range []string{"name", "containerPort", "port"} {
					if k, there := m[key]; there {
						step = gitops.Entry(gitops.Key{Name: key, Value: text(k)})
						break
					}
				}
			}
			out = append(out, leaves(e, at.Child(step))...)
		}
	default:
		out = append(out, at)
	}
	return out
}
