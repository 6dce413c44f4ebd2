package codify

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
	"holdfast/gitops/typed"
)

// TestAValueThatMovedIsFoundAgain changes one random value of a chart, takes what the chart then makes for live,
// and wants an edit of the Application's own values file whose render is that.
func TestAValueThatMovedIsFoundAgain(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/chart/web.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tree := treeOf(archive)
	found := foundAgain(t, tree, "chart", "envs/prod.yaml", 60)
	if found.failed > 0 {
		t.Errorf("%d of %d changed values were not found again", found.failed, found.failed+found.placed)
	}
}

// TestPublicChart does the same with the chart in the folder that HOLDFAST_CHART names.
func TestPublicChart(t *testing.T) {
	folder := os.Getenv("HOLDFAST_CHART")
	if folder == "" {
		t.Skip("HOLDFAST_CHART names no chart")
	}
	files := map[string]gitops.File{"envs/prod.yaml": {Data: []byte("# production\n")}}
	err := filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		in, _ := filepath.Rel(folder, name)
		files["chart/"+filepath.ToSlash(in)] = gitops.File{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := foundAgain(t, gitops.NewTree(files), "chart", "envs/prod.yaml", 40)
	t.Logf("values: %d placed, %d failed, %s each", found.placed, found.failed, found.each())
	found = fieldsWritten(t, gitops.NewTree(files), "chart", "envs/prod.yaml", 40)
	t.Logf("fields: %d placed, %d failed, %s each", found.placed, found.failed, found.each())
}

// fieldsWritten changes random fields of what a chart makes, one at a time, whether a value can do it or not.
func fieldsWritten(t *testing.T, tree gitops.Tree, chart, file string, rounds int) foundValues {
	t.Helper()
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	app := chartApp(chart, file)
	before, err := renderTree(t.Context(), tree, app)
	if err != nil {
		t.Fatal(err)
	}
	chance := rand.New(rand.NewPCG(3, 5))
	var out foundValues
	for out.placed+out.failed < rounds {
		d := before.Objects[chance.IntN(len(before.Objects))]
		var leaves []gitops.Path
		leavesOf(d.Content, nil, &leaves)
		at := leaves[chance.IntN(len(leaves))]
		next, ok := changed(chance, gitops.Lookup(d.Content, at).V)
		if !ok || d.IsSecret() || len(at) < 2 || at[0].Field == "kind" || at[0].Field == "metadata" && at[1].Field != "annotations" {
			continue
		}
		live, _ := with(d.Content, at, next).(map[string]any)
		wish := Wish{App: app, Declared: d, Live: gitops.NewObject(live), FindingID: "f", Changes: []gitops.FieldChange{
			{Path: at, Before: gitops.Lookup(d.Content, at), After: gitops.Present(next)},
		}}
		start := time.Now()
		answer, err := Propose(t.Context(), Request{Tree: tree, Wishes: []Wish{wish}, Fleet: []gitops.Application{app}, Render: renderTree, Schemas: schemas})
		out.took += time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.Failed) > 0 {
			out.failed++
			t.Logf("%s %s = %v: %s: %s", d.ID, at, next, answer.Failed[0].Reason, answer.Failed[0].NearestMiss)
			continue
		}
		out.placed++
		t.Logf("%s %s = %v: %s", d.ID, at, next, answer.Placed[0].How)
	}
	return out
}

// chartApp is an Application of a chart with one values file.
func chartApp(chart, file string) gitops.Application {
	return gitops.Application{
		Name: "web", Namespace: "delivery", Engine: gitops.ArgoCD, Kind: "Application", Source: gitops.Source{Path: chart},
		Render: gitops.Render{Namespace: "shop", Helm: &gitops.Helm{ReleaseName: "web", Namespace: "shop", Values: []gitops.Values{{File: file}}}},
	}
}

type foundValues struct {
	placed, failed int
	took           time.Duration
}

func (f foundValues) each() time.Duration {
	return f.took / time.Duration(max(1, f.placed+f.failed))
}

func foundAgain(t *testing.T, tree gitops.Tree, chart, file string, rounds int) foundValues {
	t.Helper()
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	app := chartApp(chart, file)
	before, err := renderTree(t.Context(), tree, app)
	if err != nil {
		t.Fatal(err)
	}
	s := site{app: app, tree: tree}
	r, err := s.chartRelease()
	if err != nil {
		t.Fatal(err)
	}
	var leaves []gitops.Path
	leavesOf(r.all, nil, &leaves)
	chance := rand.New(rand.NewPCG(7, 11))
	var out foundValues
	for range rounds * 20 {
		if out.placed+out.failed == rounds {
			break
		}
		at := leaves[chance.IntN(len(leaves))]
		next, ok := changed(chance, gitops.Lookup(r.all, at).V)
		if !ok {
			continue
		}
		moved := app
		helm := *app.Render.Helm
		helm.Values = append(slices.Clone(helm.Values), gitops.Values{Inline: overlay(r.all, at, gitops.Present(next))})
		moved.Render.Helm = &helm
		after, err := renderTree(t.Context(), tree, moved)
		if err != nil || len(after.Objects) != len(before.Objects) {
			continue
		}
		wishes, secret := wishesFor(app, before.Objects, after.Objects)
		if len(wishes) == 0 || secret {
			continue
		}
		start := time.Now()
		request := Request{Tree: tree, Wishes: wishes, Fleet: []gitops.Application{app}, Render: renderTree, Schemas: schemas}
		answer, err := Propose(t.Context(), request)
		out.took += time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.Failed) > 0 || !answer.Proof.Verified {
			out.failed++
			t.Logf("%s = %v: %+v %s", at, next, answer.Failed, answer.Proof.Reason)
			continue
		}
		out.placed++
		now, err := renderTree(t.Context(), tree.With(answer.Edits), app)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range after.Objects {
			if diff := cmp.Diff(d.Content, now.Objects[i].Content); diff != "" {
				t.Errorf("%s = %v: %s (-live +render):\n%s", at, next, d.ID, diff)
			}
		}
	}
	return out
}

// wishesFor wants every field that differs. secret says that one of them is a Secret's.
func wishesFor(app gitops.Application, before, after []gitops.Declared) (wishes []Wish, secret bool) {
	for i, d := range before {
		wish := Wish{App: app, Declared: d, Live: after[i].Object, FindingID: d.ID.String()}
		for _, p := range differences(any(d.Content), any(after[i].Content), nil) {
			wish.Changes = append(wish.Changes, gitops.FieldChange{Path: p, Before: splice.Lookup(d.Content, p), After: splice.Lookup(after[i].Content, p)})
		}
		if len(wish.Changes) > 0 {
			wishes = append(wishes, wish)
			secret = secret || d.IsSecret()
		}
	}
	return wishes, secret
}

func leavesOf(v any, at gitops.Path, out *[]gitops.Path) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			leavesOf(v[k], at.Child(gitops.Field(k)), out)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i := range v {
			leavesOf(v[i], at.Child(gitops.Index(i)), out)
		}
	}
	*out = append(*out, at)
}

// changed gives another value of the same type.
func changed(chance *rand.Rand, v any) (any, bool) {
	switch v := v.(type) {
	case bool:
		return !v, true
	case int64:
		return v + 1 + chance.Int64N(8), true
	case string:
		if v == "" || strings.Contains(v, "{{") {
			return fmt.Sprintf("new-%d", chance.IntN(90)), v == ""
		}
		return varied(v), true
	case map[string]any:
		return map[string]any{"added": fmt.Sprintf("new-%d", chance.IntN(90))}, true
	case []any:
		return append(slices.Clone(v), fmt.Sprintf("new-%d", chance.IntN(90))), true
	}
	return nil, false
}
