package codify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
	"holdfast/gitops/engines"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

// clusters is the head of a txtar archive: the clusters that a repository is for, each with the folder that its engine
// starts from, and what is wished there. Applications are found as an engine finds them: in what the root declares, and
// in what those declare.
type clusters struct {
	Clusters []struct{ Name, Path string }
	Argo     bool
	Wishes   []struct {
		// App is cluster/name.
		App, Object, Finding string
		Changes              []struct {
			Path   string
			After  any
			Remove bool
		}
		Remove bool
	}
}

// fleet gives the Applications that a tree makes on all clusters.
func (c clusters) fleet(ctx context.Context, archive *txtar.Archive, tree gitops.Tree) ([]gitops.Application, error) {
	var out []gitops.Application
	inTree, _ := engines.InTree(tree)
	for _, cluster := range c.Clusters {
		root := gitops.Application{
			Cluster: cluster.Name, Namespace: "flux-system", Name: "root", Engine: gitops.Flux, Kind: "Kustomization",
			Source: gitops.Source{Path: cluster.Path}, Render: gitops.Render{Kustomize: &gitops.Kustomize{Generate: true}},
		}
		if c.Argo {
			root.Namespace, root.Engine, root.Kind = "argocd", gitops.ArgoCD, "Application"
			root.Render = render.Detected(tree, gitops.Application{Name: "root", Source: root.Source, Render: gitops.Render{Detect: true, Recurse: true, Namespace: "argocd"}}).Render
		}
		apps := []gitops.Application{root}
		for range maxChain {
			var objects []gitops.Object
			for _, app := range apps {
				result, err := render.Application(ctx, tree, app, render.Env{})
				if err != nil {
					return nil, err
				}
				for _, d := range result.Objects {
					objects = append(objects, d.Object)
					for _, e := range elements(d.Object) {
						made, _ := e.made(d.Object)
						objects = append(objects, made)
					}
				}
			}
			decoded, _ := engines.Decode(cluster.Name, objects)
			next := []gitops.Application{root}
			for _, app := range decoded {
				for i, m := range app.Mounts {
					app.Mounts[i].Known, app.Mounts[i].Tree = true, filesBelow(archive, "mount/"+m.At+"/")
				}
				app, err := laid(tree, detected(tree, app))
				if err != nil {
					return nil, err
				}
				next = append(next, app)
			}
			if reflect.DeepEqual(next, apps) {
				break
			}
			apps = next
		}
		out = append(out, apps...)
	}
	for _, app := range inTree { // as propose does
		same := func(a gitops.Application) bool {
			return a.Kind == app.Kind && a.Namespace == app.Namespace && a.Name == app.Name && a.Source.Path == app.Source.Path
		}
		if !slices.ContainsFunc(out, same) {
			out = append(out, app)
		}
	}
	return out, nil
}

// renders gives what each Application of a fleet renders, by its cluster and name.
func renders(ctx context.Context, tree gitops.Tree, fleet []gitops.Application) (map[string][]gitops.Declared, error) {
	out := map[string][]gitops.Declared{}
	for _, app := range fleet {
		if app.Cluster == "" {
			continue
		}
		result, err := render.Application(ctx, tree, app, render.Env{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", app.ID(), err)
		}
		out[app.Cluster+"/"+app.Name] = result.Objects
	}
	return out, nil
}

func TestEngines(t *testing.T) {
	files, err := filepath.Glob("testdata/engines/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c clusters
			if err := yaml.UnmarshalStrict(archive.Comment, &c); err != nil {
				t.Fatal(err)
			}
			tree := treeOf(archive)
			fleet, err := c.fleet(t.Context(), archive, tree)
			if err != nil {
				t.Fatal(err)
			}
			before, err := renders(t.Context(), tree, fleet)
			if err != nil {
				t.Fatal(err)
			}
			wishes := c.wishes(t, fleet, before)
			request := Request{Tree: tree, Wishes: wishes, Fleet: fleet, Render: renderTree, Schemas: schemas}
			answer, err := Propose(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.Edits) > 0 && !answer.Proof.Verified {
				t.Errorf("edits without a proof: %s", answer.Proof.Reason)
			}
			c.check(t, archive, tree.With(answer.Edits), before, wishes, answer)
			compareWays(t, request)
			got := outcome(answer)
			if *update {
				archive.Files = append(slices.DeleteFunc(archive.Files, func(f txtar.File) bool {
					return strings.HasPrefix(f.Name, "after/") || f.Name == "outcome"
				}), got...)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := slices.DeleteFunc(slices.Clone(archive.Files), func(f txtar.File) bool {
				return strings.HasPrefix(f.Name, "tree/") || strings.HasPrefix(f.Name, "mount/")
			})
			if diff := cmp.Diff(string(txtar.Format(&txtar.Archive{Files: want})), string(txtar.Format(&txtar.Archive{Files: got}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func (c clusters) wishes(t *testing.T, fleet []gitops.Application, declared map[string][]gitops.Declared) []Wish {
	t.Helper()
	var out []Wish
	for _, w := range c.Wishes {
		a := slices.IndexFunc(fleet, func(app gitops.Application) bool { return app.Cluster+"/"+app.Name == w.App })
		if a < 0 {
			t.Fatalf("no application %s", w.App)
		}
		i := slices.IndexFunc(declared[w.App], func(d gitops.Declared) bool { return d.ID.Kind+"/"+d.ID.Name == w.Object })
		if i < 0 {
			t.Fatalf("%s renders no %s", w.App, w.Object)
		}
		wish := Wish{App: fleet[a], Declared: declared[w.App][i], FindingID: w.Finding, RemoveObject: w.Remove}
		live := any(wish.Declared.Content)
		for _, change := range w.Changes {
			path, err := gitops.ParsePath(change.Path)
			if err != nil {
				t.Fatal(err)
			}
			f := gitops.FieldChange{Path: path, Before: splice.Lookup(wish.Declared.Content, path)}
			if change.Remove {
				live = without(live, path)
			} else {
				f.After = gitops.Present(splice.Normal(change.After))
				live = with(live, path, f.After.V)
			}
			wish.Changes = append(wish.Changes, f)
		}
		wish.Live = gitops.NewObject(live.(map[string]any))
		out = append(out, wish)
	}
	return out
}

// check lets the engines find everything anew in the edited tree: what was placed has to read as wished, and nothing that
// is no engine's object or ConfigMap may have moved beside it.
func (c clusters) check(t *testing.T, archive *txtar.Archive, tree gitops.Tree, before map[string][]gitops.Declared, wishes []Wish, a *Answer) {
	t.Helper()
	fleet, err := c.fleet(t.Context(), archive, tree)
	if err != nil {
		t.Fatalf("after the edit: %v", err)
	}
	after, err := renders(t.Context(), tree, fleet)
	if err != nil {
		t.Fatalf("after the edit: %v", err)
	}
	placed := map[string]bool{}
	for _, o := range a.Placed {
		placed[o.FindingID+" "+o.Path.String()] = true
	}
	for name, objects := range before {
		for _, d := range objects {
			if engines.Declares(d.ID) || isConfigMap(d.ID) {
				continue
			}
			want := any(d.Content)
			gone := false
			for _, w := range wishes {
				if w.App.Cluster+"/"+w.App.Name != name || w.Declared.ID != d.ID {
					continue
				}
				gone = gone || w.RemoveObject && placed[w.FindingID+" "]
				for _, change := range w.Changes {
					switch {
					case !placed[w.FindingID+" "+change.Path.String()]:
					case change.After.Set:
						want = with(want, change.Path, change.After.V)
					default:
						want = without(want, change.Path)
					}
				}
			}
			i := slices.IndexFunc(after[name], func(o gitops.Declared) bool { return o.ID == d.ID })
			if i < 0 || gone {
				if !gone || i >= 0 {
					t.Errorf("%s: %s: there %t, wanted gone %t", name, d.ID, i >= 0, gone)
				}
				continue
			}
			if diff := cmp.Diff(pruned(splice.Normal(want)), pruned(splice.Normal(after[name][i].Content))); diff != "" {
				t.Errorf("%s: %s (-wished +rendered):\n%s", name, d.ID, diff)
			}
		}
	}
}
