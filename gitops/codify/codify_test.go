package codify

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

var update = flag.Bool("update", false, "rewrite what the scenarios of testdata expect")

// scenario is the head of a txtar archive: what is wished. The files below tree/ are the repository; those
// below after/ are the changed files after the edit, and outcome says what became of each wish.
type scenario struct {
	Applications []struct {
		Cluster, Name, Path string
		Plain               bool
		File                string
		Document            int
		Substitute          map[string]string
	}
	Wishes []struct {
		App, Object, Finding string
		Changes              []struct {
			Path          string
			After         any
			Remove, Quiet bool
		}
		// Remove wishes the object away, and Create the object Live into Git without what is Unauthored.
		Remove, Create bool
		Live           map[string]any
		Unauthored     []string
		Scope          gitops.Scope
	}
	Untyped, Wide, Incomplete bool
	// InTree takes the Applications that the engines' objects in the tree declare. Files below mount/ are those
	// of their mounts.
	InTree bool
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err == nil {
		var more []string
		more, err = filepath.Glob("testdata/helm/*.txtar")
		files = append(files, more...)
	}
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
			var s scenario
			if err := yaml.UnmarshalStrict(archive.Comment, &s); err != nil {
				t.Fatal(err)
			}
			tree := treeOf(archive)
			request := s.request(t, archive, tree, schemas)
			answer, err := Propose(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			checkProof(t, request, answer)
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

// declaredIn gives the Applications that a tree declares, their mounts filled in and their folders looked at.
func declaredIn(archive *txtar.Archive, tree gitops.Tree) []gitops.Application {
	apps, _ := engines.InTree(tree)
	for i, app := range apps {
		if _, chart := tree.Read(app.Source.Path + "/Chart.yaml"); chart && app.Render.Detect {
			apps[i].Render.Helm = &gitops.Helm{ReleaseName: app.Name, Namespace: app.Render.Namespace}
		}
		apps[i].Render.Detect = false
		for j, m := range app.Mounts {
			apps[i].Mounts[j].Known, apps[i].Mounts[j].Tree = true, filesBelow(archive, "mount/"+m.At+"/")
		}
	}
	return apps
}

func treeOf(archive *txtar.Archive) gitops.Tree { return filesBelow(archive, "tree/") }

func filesBelow(archive *txtar.Archive, folder string) gitops.Tree {
	files := map[string]gitops.File{}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, folder); ok {
			files[name] = gitops.File{Data: f.Data}
		}
	}
	return gitops.NewTree(files)
}

func renderTree(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
	return render.Application(ctx, tree, app, render.Env{})
}

func (s scenario) request(t *testing.T, archive *txtar.Archive, tree gitops.Tree, schemas *typed.Schemas) Request {
	t.Helper()
	r := Request{Tree: tree, Render: renderTree, Schemas: schemas}
	if s.Untyped {
		r.Schemas = nil
	}
	apps := map[string]gitops.Application{}
	for _, a := range s.Applications {
		app := gitops.Application{Cluster: a.Cluster, Namespace: "flux-system", Name: a.Name, Source: gitops.Source{Path: a.Path}}
		if !a.Plain {
			app.Render.Kustomize = &gitops.Kustomize{}
			if a.Substitute != nil {
				app.Render.Kustomize.PostBuild = &gitops.PostBuild{Substitute: a.Substitute}
			}
		}
		app.Render.File, app.Render.Document = a.File, a.Document
		r.Fleet = append(r.Fleet, app)
	}
	r.Fleet = decode(t, tree, r.Fleet)
	for _, app := range r.Fleet {
		apps[app.Cluster+app.Name] = app
	}
	r.Decode = func(tree gitops.Tree) []gitops.Application { return decode(t, tree, r.Fleet) }
	if s.InTree {
		r.Decode = func(tree gitops.Tree) []gitops.Application { return declaredIn(archive, tree) }
		r.Fleet = r.Decode(tree)
		for _, app := range r.Fleet {
			apps[app.Name] = app
		}
	}
	for _, w := range s.Wishes {
		app, ok := apps[w.App]
		if !ok {
			t.Fatalf("no application %q", w.App)
		}
		result, err := renderTree(t.Context(), tree, app)
		if err != nil {
			t.Fatal(err)
		}
		if w.Create {
			r.Wishes = append(r.Wishes, creation(t, app, w.Finding, w.Live, w.Unauthored))
			last := &r.Wishes[len(r.Wishes)-1]
			last.Scope, last.AllowWide, last.AllowIncomplete = w.Scope, s.Wide, s.Incomplete
			continue
		}
		i := slices.IndexFunc(result.Objects, func(d gitops.Declared) bool { // * stands for a hash
			found, err := filepath.Match(w.Object, d.ID.Kind+"/"+d.ID.Name)
			return found && err == nil
		})
		if i < 0 {
			t.Fatalf("%s renders no %s", w.App, w.Object)
		}
		wish := Wish{
			App: app, Declared: result.Objects[i], FindingID: w.Finding, RemoveObject: w.Remove,
			Scope: w.Scope, AllowWide: s.Wide, AllowIncomplete: s.Incomplete,
		}
		live := any(wish.Declared.Content)
		for _, c := range w.Changes {
			path, err := gitops.ParsePath(c.Path)
			if err != nil {
				t.Fatal(err)
			}
			change := gitops.FieldChange{Path: path, Before: gitops.Lookup(wish.Declared.Content, path)}
			if c.Remove {
				live = without(live, path)
			} else {
				change.After = gitops.Present(splice.Normal(c.After))
				live = with(live, path, change.After.V)
			}
			wish.Changes = append(wish.Changes, change)
		}
		if w.Live != nil {
			live = w.Live
		}
		wish.Live = gitops.NewObject(live.(map[string]any))
		r.Wishes = append(r.Wishes, wish)
	}
	return r
}

// creation wishes a live object into Git.
func creation(t *testing.T, app gitops.Application, finding string, live map[string]any, unauthored []string) Wish {
	t.Helper()
	content, _ := splice.Normal(live).(map[string]any)
	object := gitops.NewObject(content)
	wish := Wish{App: app, Declared: gitops.Declared{Object: object}, Live: object, FindingID: finding, CreateObject: true}
	for _, text := range unauthored {
		path, err := gitops.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		wish.Unauthored = append(wish.Unauthored, path)
	}
	return wish
}

// decode reads the substitutions of Flux Kustomizations anew, as the engine's decoder does.
func decode(t *testing.T, tree gitops.Tree, fleet []gitops.Application) []gitops.Application {
	t.Helper()
	out := slices.Clone(fleet)
	for i, app := range out {
		if app.Render.File == "" || app.Render.Kustomize == nil {
			continue
		}
		data, _ := tree.Read(app.Render.File)
		docs, err := splice.Documents(data)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		path, _ := gitops.ParsePath("spec.postBuild.substitute")
		m, _ := gitops.Lookup(docs[app.Render.Document], path).V.(map[string]any)
		for k, v := range m {
			values[k] = v.(string)
		}
		k := *app.Render.Kustomize
		k.PostBuild = &gitops.PostBuild{Substitute: values}
		spec := gitops.Lookup(docs[app.Render.Document], gitops.Path{gitops.Field("spec")}).V
		text, err := yaml.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var more struct {
			Images  []struct{ Name, NewName, NewTag, Digest string }
			Patches []gitops.Patch
		}
		if err := yaml.Unmarshal(text, &more); err != nil {
			t.Fatal(err)
		}
		k.Images, k.Patches = nil, more.Patches
		for _, image := range more.Images {
			k.Images = append(k.Images, gitops.Image(image))
		}
		out[i].Render.Kustomize = &k
	}
	return out
}

// checkProof renders the result once more, without codify's own comparison: each placed change must read
// as wished, and every file beside the edits must be as it was.
func checkProof(t *testing.T, r Request, a *Answer) {
	t.Helper()
	after := r.Tree.With(a.Edits)
	placed, reordered := map[string]bool{}, map[string]bool{}
	for _, o := range a.Placed {
		placed[o.FindingID+" "+o.Path.String()] = true
		reordered[o.FindingID+" "+o.Path.String()] = strings.Contains(o.How, "merging reorders")
	}
	apps := map[string]gitops.Application{}
	for _, app := range r.Decode(after) {
		apps[app.ID()] = app
	}
	for _, w := range r.Wishes {
		result, err := renderTree(t.Context(), after, apps[w.App.ID()])
		if err != nil {
			t.Errorf("after the edit: %v", err)
			continue
		}
		for _, c := range w.Changes {
			if !placed[w.FindingID+" "+c.Path.String()] || !c.After.Set && c.Path[len(c.Path)-1].IsIndex() {
				continue
			}
			i := slices.IndexFunc(result.Objects, func(d gitops.Declared) bool {
				id := d.ID
				if base := baseOf(id.Name); base != "" && base == baseOf(w.Declared.ID.Name) {
					id.Name = w.Declared.ID.Name // the hash in its name follows its contents
				}
				return id == w.Declared.ID
			})
			got := splice.Lookup(result.Objects[i].Content, c.Path)
			if got.Set != c.After.Set || r.Schemas == nil && !cmp.Equal(splice.Normal(got.V), splice.Normal(c.After.V)) {
				t.Errorf("%s %s: renders %v, wished %v", w.FindingID, c.Path, got.V, c.After.V)
			}
			if last := len(c.Path) - 1; c.Path[last].IsEntry() && !reordered[w.FindingID+" "+c.Path.String()] {
				checkOrder(t, result.Objects[i].Content, w.Live.Content, c.Path[:last], c.Path[last].Keys[0].Name)
			}
		}
	}
	for _, e := range a.Edits {
		if e.Remove {
			continue
		}
		if _, err := splice.Documents(e.After); err != nil {
			t.Errorf("%s: %v", e.Path, err)
		}
	}
	if len(a.Edits) > 0 && !a.Proof.Verified {
		t.Errorf("edits without a proof: %s", a.Proof.Reason)
	}
}

// checkOrder wants the entries that a rendered and a live list share in the same order.
func checkOrder(t *testing.T, rendered, live any, list gitops.Path, key string) {
	t.Helper()
	named := func(content any) []string {
		var out []string
		entries, _ := splice.Lookup(content, list).V.([]any)
		for _, v := range entries {
			entry, _ := v.(map[string]any)
			out = append(out, fmt.Sprint(entry[key]))
		}
		return out
	}
	got, want := named(rendered), named(live)
	missing := func(from []string) func(string) bool {
		return func(name string) bool { return !slices.Contains(from, name) }
	}
	got, want = slices.DeleteFunc(slices.Clone(got), missing(want)), slices.DeleteFunc(slices.Clone(want), missing(got))
	if !slices.Equal(got, want) {
		t.Errorf("%s renders in the order %v, live has %v", list, got, want)
	}
}

func outcome(a *Answer) []txtar.File {
	var b strings.Builder
	for _, o := range a.Placed {
		fmt.Fprintf(&b, "placed %s %s: %s\n", o.FindingID, o.Path, o.How)
	}
	for _, o := range a.Failed {
		fmt.Fprintf(&b, "failed %s %s: %s", o.FindingID, o.Path, o.Reason)
		if o.NearestMiss != "" {
			fmt.Fprintf(&b, "; %s", o.NearestMiss)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "verified %t, complete %t\n", a.Proof.Verified, a.Proof.Complete)
	for _, m := range a.Proof.Applications {
		moved := "unmoved"
		if m.Before != m.After {
			moved = "moved"
		}
		fmt.Fprintf(&b, "%s %s %s\n", moved, strings.Trim(m.Cluster+"/"+m.Name, "/"), m.Path)
	}
	for _, u := range a.Proof.Unproven {
		fmt.Fprintf(&b, "unproven %s %s: %s\n", u.Name, u.Path, u.Reason)
	}
	for _, m := range a.Proof.Moved {
		fmt.Fprintf(&b, "wide %s\n", m)
	}
	out := []txtar.File{{Name: "outcome", Data: []byte(b.String())}}
	for _, e := range a.Edits {
		data := e.After
		if e.Remove {
			data = []byte("(removed)\n")
		}
		if len(data) > 0 && data[len(data)-1] != '\n' {
			data = append(slices.Clone(data), "(no final newline)\n"...)
		}
		out = append(out, txtar.File{Name: "after/" + e.Path, Data: data})
	}
	return out
}
