package codify

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/gitops"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

// TestPublicTree proposes edits for fields of a public repository without a cluster. HOLDFAST_CODIFY names it as
// DIR//PATH; HOLDFAST_CODIFY_FIELDS is how many fields change (40).
func TestPublicTree(t *testing.T) {
	dir, root, ok := strings.Cut(os.Getenv("HOLDFAST_CODIFY"), "//")
	if !ok {
		t.Skip("HOLDFAST_CODIFY names no repository")
	}
	files := map[string]gitops.File{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() || strings.Contains(name, "/.git/") {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[rel] = gitops.File{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tree := gitops.NewTree(files)
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	app := gitops.Application{Cluster: "c", Namespace: "flux-system", Name: "shop", Source: gitops.Source{Path: root}, Render: gitops.Render{Kustomize: &gitops.Kustomize{}}}
	result, err := renderTree(t.Context(), tree, app)
	if err != nil {
		t.Fatal(err)
	}
	wanted := 40
	if n := os.Getenv("HOLDFAST_CODIFY_FIELDS"); n != "" {
		if wanted, err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
	}
	var renders atomic.Int64
	var spent atomic.Int64
	request := Request{Tree: tree, Schemas: schemas, AllowKind: func(gitops.GroupKind) bool { return true },
		Fleet: []gitops.Application{app}, Timeout: 10 * time.Minute,
		Render: func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
			started := time.Now()
			defer func() { renders.Add(1); spent.Add(int64(time.Since(started))) }()
			return renderTree(ctx, tree, app)
		}}
	request.Wishes = drawn(rand.New(rand.NewPCG(1, 2)), app, result.Objects, wanted)
	for i := range request.Wishes {
		request.Wishes[i].AllowWide = os.Getenv("HOLDFAST_CODIFY_WIDE") != ""
	}
	started := time.Now()
	answer, err := Propose(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects, %d wishes, %d placed, %d failed, %d renders (%s), %s", len(result.Objects), len(request.Wishes), len(answer.Placed), len(answer.Failed), renders.Load(), time.Duration(spent.Load()), time.Since(started))
	for _, o := range answer.Failed {
		t.Logf("%s %s: %s; %s", o.FindingID, o.Path, o.Reason, o.NearestMiss)
	}
	for _, o := range answer.Placed {
		t.Logf("placed %s %s: %s", o.FindingID, o.Path, o.How)
	}
	t.Logf("%+v", answer.Proof)
}

// drawn wishes for another value of so many random fields of the objects.
func drawn(r *rand.Rand, app gitops.Application, objects []gitops.Declared, wanted int) []Wish {
	eligible := slices.DeleteFunc(slices.Clone(objects), func(d gitops.Declared) bool { return d.IsSecret() })
	var out []Wish
	at := map[gitops.ObjectID]int{}
	for n := 0; n < wanted; {
		d := eligible[r.IntN(len(eligible))]
		change, ok := mutate(r, d)
		i, begun := at[d.ID]
		if !ok || begun && slices.ContainsFunc(out[i].Changes, func(c gitops.FieldChange) bool { return c.Path.HasPrefix(change.Path) || change.Path.HasPrefix(c.Path) }) {
			continue
		}
		n++
		if !begun {
			i = len(out)
			at[d.ID] = i
			out = append(out, Wish{App: app, Declared: d, FindingID: d.ID.String(), Live: d.Object})
		}
		out[i].Changes = append(out[i].Changes, change)
		live := any(out[i].Live.Content)
		if change.After.Set {
			live = with(live, change.Path, change.After.V)
		} else {
			live = without(live, change.Path)
		}
		out[i].Live = gitops.NewObject(live.(map[string]any))
	}
	return out
}
