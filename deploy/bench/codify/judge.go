package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

// judge says whether edits did what was asked, by builds of other programs before and after.
type judge struct {
	*estate
	programs programs
	schemas  *typed.Schemas
	// members are all that the edits may move: the Fleet, and kustomizations that nothing refers to.
	members []gitops.Application
	reaches []*reach

	mutex sync.Mutex
	built map[int]*baseline
}

// baseline is what a member builds from the tree without edits.
type baseline struct {
	once sync.Once
	made objects
	how  string
	err  error
	// unstable are objects that two builds of the same tree give differently.
	unstable map[gitops.ObjectID]bool
}

// ownRender says in the report that no other program judged.
const ownRender = "our own render"

func newJudge(e *estate, p programs, schemas *typed.Schemas) *judge {
	j := &judge{estate: e, programs: p, schemas: schemas, members: slices.Clone(e.fleet), built: map[int]*baseline{}}
	for _, dir := range roots(e.tree) {
		if !slices.ContainsFunc(e.fleet, func(a gitops.Application) bool { return path.Clean(a.Source.Path) == dir }) {
			j.members = append(j.members, gitops.Application{
				Name: dir, Kind: "Application", Engine: gitops.None, Source: gitops.Source{Path: dir}, Render: gitops.Render{Kustomize: &gitops.Kustomize{}},
			})
		}
	}
	for _, m := range j.members {
		j.reaches = append(j.reaches, reachOf(e.tree, m))
	}
	return j
}

func (j *judge) index(app gitops.Application) int {
	return slices.IndexFunc(j.members, func(m gitops.Application) bool {
		return m.ID() == app.ID() && m.Source.Path == app.Source.Path && m.Render.File == app.Render.File && m.Render.Document == app.Render.Document
	})
}

// before gives what a member builds from the tree without edits, built once.
func (j *judge) before(ctx context.Context, w *workspace, member int) *baseline {
	j.mutex.Lock()
	b := j.built[member]
	if b == nil {
		b = &baseline{}
		j.built[member] = b
	}
	j.mutex.Unlock()
	b.once.Do(func() {
		b.made, b.how, b.err = j.build(ctx, w, j.tree, j.members[member])
		if b.err != nil || j.members[member].Render.Helm == nil {
			return
		}
		again, _, err := j.build(ctx, w, j.tree, j.members[member])
		b.err, b.unstable = err, map[gitops.ObjectID]bool{}
		for id, content := range b.made {
			if other, there := again[id]; !there || len(differences(j.schemas, content, other)) > 0 {
				b.unstable[id] = true
			}
		}
	})
	return b
}

// build builds a member of the workspace. Where no other program can, our own render does, and how says so.
func (j *judge) build(ctx context.Context, w *workspace, tree gitops.Tree, app gitops.Application) (objects, string, error) {
	made, how, err := j.programs.build(ctx, w, app)
	if !errors.Is(err, errOwn) {
		return made, how, err
	}
	result, err := render.Application(ctx, tree, j.decoded(tree, app), render.Env{})
	if err != nil {
		return nil, "", err
	}
	made = objects{}
	for _, d := range result.Objects {
		made[gitops.NewObject(d.Content).ID] = d.Content
	}
	return made, ownRender, nil
}

// decoded gives an Application as its object in the tree reads now.
func (j *judge) decoded(tree gitops.Tree, app gitops.Application) gitops.Application {
	if app.Render.File == "" {
		return app
	}
	now, _ := engines.InTree(tree)
	for _, a := range now {
		if a.Name == app.Name && a.Kind == app.Kind && a.Render.File == app.Render.File && a.Render.Document == app.Render.Document {
			return settled(tree, a)
		}
	}
	return app
}

// ruling is what the judge found.
type ruling struct {
	// Wrong are what the edits should not have done, or did not do.
	Wrong []string
	// How is who built.
	How string
	// Members is how many Applications read a changed file.
	Members int
	// Reordered says that a list has its entries in another order than live.
	Reordered bool
}

// rule builds every member that may read a changed file, before and after, and compares: the wished object must read
// as live, and nothing else may move.
func (j *judge) rule(ctx context.Context, w *workspace, app gitops.Application, wanted map[string]any, edits []gitops.Edit) (ruling, error) {
	var out ruling
	after := j.tree.With(edits)
	own := j.index(app)
	for i, m := range j.members {
		if i != own && !j.reads(i, after, edits) {
			continue
		}
		was := j.before(ctx, w, i)
		if was.err != nil {
			if i == own {
				return out, was.err
			}
			continue // it could not be built before either
		}
		out.Members++
		var now objects
		var how string
		err := w.edited(edits, func() (err error) {
			now, how, err = j.build(ctx, w, after, m)
			return err
		})
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			out.Wrong = append(out.Wrong, fmt.Sprintf("%s does not build any more: %v", appName(m), err))
			continue
		}
		var wish map[string]any
		if i == own {
			out.How, wish = how, wanted
		}
		j.compare(&out, m, was, now, wish, app)
	}
	return out, nil
}

// reads says whether a member may read one of the edited files, before or after.
func (j *judge) reads(member int, after gitops.Tree, edits []gitops.Edit) bool {
	was := j.reaches[member]
	for _, e := range edits {
		if was.has(e.Path) {
			return true
		}
	}
	if !slices.ContainsFunc(edits, func(e gitops.Edit) bool { return e.Before == nil }) {
		return false
	}
	now := reachOf(after, j.members[member])
	return slices.ContainsFunc(edits, func(e gitops.Edit) bool { return now.has(e.Path) })
}

func (j *judge) compare(out *ruling, m gitops.Application, was *baseline, now objects, wanted map[string]any, app gitops.Application) {
	wished := gitops.ObjectID{}
	if wanted != nil {
		wished = gitops.NewObject(wanted).ID
		now = renamed(now, was.made, wished)
	}
	for _, id := range slices.SortedFunc(maps.Keys(was.made), gitops.ObjectID.Compare) {
		if was.unstable[id] {
			continue
		}
		want := was.made[id]
		if wanted != nil && id == wished {
			want = wanted
		}
		got, there := now[id]
		if !there {
			out.Wrong = append(out.Wrong, fmt.Sprintf("%s: %s is gone", appName(m), id))
			continue
		}
		for _, d := range differences(j.schemas, want, got) {
			switch {
			case d.order:
				out.Reordered = true
			case declares(id, app) && len(d.path) > 0 && d.path[0].Field == "spec":
				// The engine's own object, which holds what was edited.
			default:
				out.Wrong = append(out.Wrong, fmt.Sprintf("%s: %s %s: want %s, is %s", appName(m), id, d.path, show(gitops.Lookup(want, d.path)), show(gitops.Lookup(got, d.path))))
			}
		}
	}
	chance := map[gitops.ObjectID]bool{}
	for id := range was.unstable {
		chance[withoutSuffix(id)] = true
	}
	for id := range now {
		if _, there := was.made[id]; !there && !chance[withoutSuffix(id)] {
			out.Wrong = append(out.Wrong, fmt.Sprintf("%s: %s is new", appName(m), id))
		}
	}
}

// declares says whether an object is the engine's own of an Application. Its file may leave the namespace to a
// kustomization around it.
func declares(id gitops.ObjectID, app gitops.Application) bool {
	own := engines.ObjectID(app)
	if own.Namespace == "" {
		own.Namespace = id.Namespace
	}
	return id == own
}

// withoutSuffix gives an identity without the last part of its name, which charts make by chance for test pods.
func withoutSuffix(id gitops.ObjectID) gitops.ObjectID {
	if i := strings.LastIndex(id.Name, "-"); i > 0 {
		id.Name = id.Name[:i]
	}
	return id
}

var hashed = regexp.MustCompile(`^(.+)-[a-z0-9]{10}$`)

// renamed gives objects as if a generated ConfigMap had kept its name: the hash in it follows the content, and all
// that name it follow.
func renamed(now, was objects, wished gitops.ObjectID) objects {
	m := hashed.FindStringSubmatch(wished.Name)
	if _, there := now[wished]; there || m == nil || wished.Kind != "ConfigMap" {
		return now
	}
	for id := range now {
		other := hashed.FindStringSubmatch(id.Name)
		if _, had := was[id]; had || other == nil || other[1] != m[1] || id.Kind != wished.Kind || id.Namespace != wished.Namespace {
			continue
		}
		out := objects{}
		for _, content := range now {
			back, _ := gitops.RewriteTexts(content, nil, func(text string, _ []string) string {
				if text == id.Name {
					return wished.Name
				}
				return text
			})
			out[gitops.NewObject(mapOf(back)).ID] = mapOf(back)
		}
		return out
	}
	return now
}

// show gives a value for people, short.
func show(v gitops.Value) string {
	if !v.Set {
		return "nothing"
	}
	text, err := v.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	short := strings.TrimSpace(string(text))
	if len(short) > 200 {
		short = short[:200] + "..."
	}
	return short
}
