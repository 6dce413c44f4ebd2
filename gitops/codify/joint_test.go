package codify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

// oneByOne proposes without trying goals together.
func oneByOne(ctx context.Context, request Request) (*Answer, error) {
	return propose(ctx, request, func(w *work, ctx context.Context) error { return w.placeEach(ctx, removalsFirst(w.goals)) })
}

// Together, goals get the edits that they get one by one.
func TestTogetherGivesWhatOneByOneGives(t *testing.T) {
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	charts, err := filepath.Glob("testdata/helm/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, charts...)
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
			request := s.request(t, archive, treeOf(archive), schemas)
			if !s.InTree {
				request.Decode = func(tree gitops.Tree) []gitops.Application { return decode(t, tree, request.Fleet) }
			}
			compareWays(t, request)
		})
	}
	archive, err := txtar.ParseFile("testdata/estate/estate.txt")
	if err != nil {
		t.Fatal(err)
	}
	tree, fleet := treeOf(archive), estate()
	for _, app := range fleet {
		for round := range 4 {
			t.Run(fmt.Sprintf("random/%s/%d", app.Name, round), func(t *testing.T) {
				result, err := renderTree(t.Context(), tree, app)
				if err != nil {
					t.Fatal(err)
				}
				wishes := drawn(rand.New(rand.NewPCG(*seed, uint64(round))), app, result.Objects, 6)
				for i := range wishes {
					wishes[i].AllowWide = round%2 == 1
				}
				compareWays(t, Request{Tree: tree, Wishes: wishes, Fleet: fleet, Render: renderTree, Schemas: schemas})
			})
		}
	}
}

func compareWays(t *testing.T, request Request) {
	t.Helper()
	joint, err := Propose(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	single, err := oneByOne(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(txtar.Format(&txtar.Archive{Files: outcome(single)[1:]})), string(txtar.Format(&txtar.Archive{Files: outcome(joint)[1:]}))); diff != "" {
		t.Errorf("(-one by one +together):\n%s", diff)
	}
	places := func(a *Answer) (placed, failed []string) {
		for _, o := range a.Placed {
			placed = append(placed, o.FindingID+" "+o.Path.String())
		}
		for _, o := range a.Failed {
			failed = append(failed, o.FindingID+" "+o.Path.String())
		}
		return placed, failed
	}
	p, f := places(single)
	q, g := places(joint)
	if diff := cmp.Diff([][]string{p, f}, [][]string{q, g}); diff != "" {
		t.Errorf("placed and failed (-one by one +together):\n%s", diff)
	}
	if len(joint.Edits) > 0 && !joint.Proof.Verified {
		t.Errorf("together: no proof: %s", joint.Proof.Reason)
	}
}

// wide is a base of one object with many fields, and overlays that all read it.
func wide(t *testing.T, fields, overlays int) (gitops.Tree, []gitops.Application, gitops.Declared) {
	t.Helper()
	var data strings.Builder
	for i := range fields {
		fmt.Fprintf(&data, "  k%d: \"1\"\n", i)
	}
	files := map[string]gitops.File{
		"base/kustomization.yaml": {Data: []byte("resources: [c.yaml]\n")},
		"base/c.yaml":             {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n" + data.String())},
	}
	var apps []gitops.Application
	for i := range overlays {
		name := fmt.Sprintf("o%d", i)
		files[name+"/kustomization.yaml"] = gitops.File{Data: []byte("resources: [../base]\n")}
		apps = append(apps, gitops.Application{Cluster: "c", Name: name, Source: gitops.Source{Path: name}, Render: gitops.Render{Kustomize: &gitops.Kustomize{}}})
	}
	tree := gitops.NewTree(files)
	result, err := renderTree(t.Context(), tree, apps[0])
	if err != nil {
		t.Fatal(err)
	}
	return tree, apps, result.Objects[0]
}

func wishAll(app gitops.Application, d gitops.Declared, fields int) Wish {
	wish := Wish{App: app, Declared: d, FindingID: "f"}
	for i := range fields {
		path := gitops.Path{gitops.Field("data"), gitops.Field(fmt.Sprintf("k%d", i))}
		wish.Changes = append(wish.Changes, gitops.FieldChange{Path: path, Before: gitops.Present("1"), After: gitops.Present(fmt.Sprintf("v%d", i))})
	}
	return wish
}

func TestManyFieldsCostFewRenders(t *testing.T) {
	tests := []struct {
		name                      string
		fields, overlays, renders int
	}{
		{"fields of an object that one Application reads", 100, 1, 25},
		{"fields of a base that twenty Applications read", 40, 20, 110},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree, apps, declared := wide(t, test.fields, test.overlays)
			var renders atomic.Int64
			count := func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
				renders.Add(1)
				return renderTree(ctx, tree, app)
			}
			answer, err := Propose(t.Context(), Request{Tree: tree, Fleet: apps, Render: count, Wishes: []Wish{wishAll(apps[0], declared, test.fields)}})
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.Placed) != test.fields || !answer.Proof.Verified {
				t.Errorf("%d placed, proof %+v", len(answer.Placed), answer.Proof)
			}
			t.Logf("%d renders", renders.Load())
			if n := int(renders.Load()); n > test.renders {
				t.Errorf("%d renders, want at most %d", n, test.renders)
			}
		})
	}
}

// When the time is over, what was proven by then stays, and nothing is half-proven.
func TestTheTimeLimit(t *testing.T) {
	tree, apps, declared := wide(t, 3, 2)
	wish := wishAll(apps[0], declared, 3)
	for _, allowed := range []int{0, 1, 2, 3, 4, 5, 6, 8, 12} {
		t.Run(fmt.Sprintf("over at render %d", allowed), func(t *testing.T) {
			renders := 0
			slow := func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
				if renders++; renders > allowed {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return renderTree(ctx, tree, app)
			}
			request := Request{Tree: tree, Fleet: apps, Render: slow, Wishes: []Wish{wish}, Timeout: 300 * time.Millisecond}
			answer, err := propose(t.Context(), request, func(w *work, ctx context.Context) error { return w.placeEach(ctx, w.goals) })
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.Placed)+len(answer.Failed) != 3 || (len(answer.Edits) > 0) != (len(answer.Placed) > 0) || len(answer.Edits) > 0 && !answer.Proof.Verified {
				t.Errorf("%+v", answer)
			}
			for _, o := range answer.Failed {
				if o.Reason != "not tried: the time limit of 300ms passed" {
					t.Errorf("%s: %s", o.Path, o.Reason)
				}
			}
			request.Render, request.Wishes = renderTree, nil
			after := tree.With(answer.Edits)
			for i, app := range apps {
				result, err := renderTree(t.Context(), after, app)
				if err != nil {
					t.Fatal(err)
				}
				if moved := !cmp.Equal(result.Objects[0].Content, declared.Content); moved != (i == 0 && len(answer.Placed) > 0) {
					t.Errorf("%s moved: %t", app.Name, moved)
				}
			}
		})
	}
}

func TestTheCallersOwnEndIsAnError(t *testing.T) {
	tree, apps, declared := wide(t, 2, 1)
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
		cancel()
		return renderTree(ctx, tree, app)
	}
	if _, err := Propose(ctx, Request{Tree: tree, Fleet: apps, Render: stop, Wishes: []Wish{wishAll(apps[0], declared, 2)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
