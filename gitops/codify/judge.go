package codify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// verdict is what rendering before and after a candidate gave.
type verdict struct {
	// refused says why the candidate does not count.
	refused string
	after   state
	// closed are the goals that the candidate meets and that were open before.
	closed []*goal
	// reach counts the fields that move without having been wished; wide names them.
	reach int
	// readers are how many members read a changed file without having a goal that it closes.
	readers int
	// others are how many other members read a changed file at all.
	others   int
	wide     []string
	unproven map[int]string
	// stopped says that members were left out, since enough moves were known to refuse the candidate.
	stopped bool
	// reordered are the closed goals whose entries stand elsewhere in their lists than live, and what that does.
	reordered map[*goal]string
}

// perfect says that the edit moves nothing unwished, that no other member reads it, and that lists keep their order.
func (v verdict) perfect() bool { return v.reach == 0 && v.readers == 0 && len(v.reordered) == 0 }

// better says whether the edit of v is to be preferred to that of o.
func (v verdict) better(o verdict) bool {
	return cmp.Or(v.reach-o.reach, v.readers-o.readers, len(v.reordered)-len(o.reordered)) < 0
}

// maxNamed bounds how many moved fields a message names.
const maxNamed = 5

// tooMany says whether so many members are not rendered only to name what else a refused candidate moves.
func tooMany(members int) bool { return members > maxNamed }

// judge renders every member that reads what the candidate changes, before and after.
func (w *work) judge(ctx context.Context, g *goal, c Candidate) verdict {
	if reason, no := w.untouchable(c); no {
		return verdict{refused: reason}
	}
	files := c.files()
	v := verdict{after: state{tree: w.now.tree.With(c.Edits), renders: slices.Clone(w.now.renders)}, unproven: map[int]string{}}
	apps := w.decoded(v.after.tree, files)
	var moves []move
	readers := w.readers(g.member, files)
	for n, i := range readers {
		if !w.reads(ctx, i, files) {
			continue
		}
		m, before := w.members[i], w.now.renders[i]
		if !w.deploys(m, g.wish.App) && len(c.engine) == 0 {
			v.others++
		}
		if before.err != nil {
			v.unproven[i] = before.err.Error()
			continue
		}
		after := w.render(ctx, v.after.tree, m, apps(m, before.app))
		if after.err != nil {
			return verdict{refused: fmt.Sprintf("%s does not render any more: %v", m.described(), after.err)}
		}
		if n := len(after.result.Problems); n > len(before.result.Problems) {
			return verdict{refused: fmt.Sprintf("%s has a new problem: %s", m.described(), after.result.Problems[n-1])}
		}
		v.after.renders[i] = after
		closed, moved := w.compare(i, before, after, c.engine)
		v.closed = append(v.closed, closed...)
		if i == g.member && !slices.Contains(closed, g) {
			return w.settle(g, c, v, nil, files) // no other member can mend that
		}
		if len(closed) == 0 && len(c.engine) == 0 && !w.deploys(m, g.wish.App) {
			v.readers++
		}
		moves = append(moves, moved...)
		if unwished, _ := w.unwished(moves); len(unwished) > 0 && tooMany(len(readers)-n-1) {
			v.stopped = true
			break // refused, whatever the other members say
		}
	}
	return w.settle(g, c, v, moves, files)
}

// untouchable says why a candidate must not be written at all.
func (w *work) untouchable(c Candidate) (reason string, no bool) {
	for _, e := range c.Edits {
		if reason, no := w.request.forbiddenFile(e.Path); no {
			return reason, true
		}
		if encrypted(e.Before) {
			return e.Path + " is encrypted with SOPS, and is never edited: change it with sops, and commit that", true
		}
	}
	return "", false
}

// files are the paths of the candidate's edits.
func (c Candidate) files() []string {
	var out []string
	for _, e := range c.Edits {
		out = append(out, e.Path)
	}
	return out
}

// readers gives the members that may read the files, the given one in front: a candidate that fails there needs
// no other render. The others follow by how much they read, the least first, and then those that are not rendered yet.
func (w *work) readers(first int, files []string) []int {
	var out []int
	weight := map[int]int{first: -1}
	for i, m := range w.members {
		switch {
		case w.now.renders[i].none():
			if r := w.unread[i]; r != nil && r.has(files) {
				out, weight[i] = append(out, i), math.MaxInt
			}
		case w.may(m, w.now.renders[i], files):
			out = append(out, i)
			if _, known := weight[i]; !known {
				weight[i] = w.now.renders[i].weight(w.now.tree)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(weight[a], weight[b]) })
	return out
}

// settle decides from what closed and what moved.
func (w *work) settle(g *goal, c Candidate, v verdict, moves []move, files []string) verdict {
	v.reach = len(moves)
	if !slices.Contains(v.closed, g) {
		v.refused = "the render does not take the live value from there"
		if g.create {
			v.refused = w.unlike(g, v.after.renders[g.member])
		} else if after, ok := v.after.renders[g.member].find(g.wish.Declared.ID); ok && !g.remove {
			if now := splice.Lookup(after.Content, g.change.Path); now.Set && !g.wish.Declared.IsSecret() {
				v.refused = "the render would then read " + short(now.V)
			}
		}
		return v
	}
	v.reordered = map[*goal]string{}
	for _, closed := range v.closed {
		after, _ := v.after.renders[closed.member].find(closed.wish.Declared.ID)
		d, found := w.disordered(closed, after)
		if found && d.matters {
			v.refused = closed.change.Path.String() + " would stand elsewhere than it does live, where the order has a meaning"
			return v
		}
		if found {
			v.reordered[closed] = d.effect(after.ID)
		}
	}
	var unwished []string
	unwished, v.wide = w.unwished(moves)
	if len(unwished) > 0 {
		v.refused = "it would also move " + named(unwished)
		if v.stopped {
			v.refused += ", and what else reads the same files was not looked at"
		}
		return v
	}
	if v = scoped(g, v); v.refused != "" || len(v.unproven) == 0 {
		return v
	}
	var who []string
	for i := range v.unproven {
		who = append(who, w.members[i].described())
	}
	slices.Sort(who)
	if !g.wish.AllowIncomplete || w.shared(g, v, files) {
		v.refused = "it may be read by what could not be rendered: " + named(who)
	}
	return v
}

// shared says whether a changed file is a base that something with another path reads too, or lies
// outside the wishing Application's own folder: there an incomplete proof is never enough.
func (w *work) shared(g *goal, v verdict, files []string) bool {
	own := path.Clean(g.wish.App.Source.Path)
	for i := range v.unproven {
		m, r := w.members[i], w.now.renders[i]
		if path.Clean(m.app.Source.Path) == own {
			continue
		}
		if slices.ContainsFunc(files, func(f string) bool { return r.result != nil && r.result.Touches(f) || w.reaches(m)[f] }) {
			return true
		}
	}
	return slices.ContainsFunc(files, func(f string) bool { return !within(f, own) })
}

// named joins names, the first few of them.
func named(names []string) string {
	if len(names) > maxNamed {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	return strings.Join(names, ", ")
}

// decoded gives how a member's Application reads after the edit of an engine's object.
func (w *work) decoded(tree gitops.Tree, files []string) func(*member, gitops.Application) gitops.Application {
	var apps []gitops.Application
	done := false
	return func(m *member, app gitops.Application) gitops.Application {
		if app.Render.File == "" || w.request.Decode == nil || !slices.Contains(files, app.Render.File) {
			return app
		}
		if m.inputs != nil && m.inputs.object != nil {
			return app // its render takes the object as the member declares it
		}
		if !done {
			apps, done = w.request.Decode(tree), true
		}
		for _, a := range apps {
			if (a.Namespace == app.Namespace || a.Namespace == "") && a.Name == app.Name && a.Render.File == app.Render.File && a.Render.Document == app.Render.Document {
				if now, err := laid(tree, redecoded(app, a)); err == nil {
					return now
				}
			}
		}
		return app
	}
}

// withRender gives app with another render; values of substitutions that were read from a cluster stay.
func withRender(app gitops.Application, r gitops.Render) gitops.Application {
	old := app.Render.Kustomize
	if r.Kustomize != nil && r.Kustomize.PostBuild != nil && old != nil && old.PostBuild != nil {
		k, p := *r.Kustomize, *r.Kustomize.PostBuild
		if len(p.SubstituteFrom) == len(old.PostBuild.SubstituteFrom) {
			p.SubstituteFrom = old.PostBuild.SubstituteFrom
		}
		k.PostBuild = &p
		r.Kustomize = &k
	}
	app.Render = r
	return app
}

// move is a field that differs between two renders without a goal that wants it.
type move struct {
	member *member
	id     gitops.ObjectID
	path   gitops.Path
	what   string
	// old and now are the whole object, in which wished paths find their list entries.
	old, now map[string]any
}

// What a move says of a whole object.
const (
	isGone = "(is gone)"
	isNew  = "(is new)"
)

func (m move) String() string {
	at := m.id.String()
	if len(m.path) > 0 {
		at += " " + m.path.String()
	}
	return strings.TrimSpace(m.member.described() + ": " + at + " " + m.what)
}

// compare gives the goals of a member that its new render meets, and what else moved.
func (w *work) compare(index int, before, after rendered, engine []engineEdit) (closed []*goal, moves []move) {
	m := w.members[index]
	afterByID := map[gitops.ObjectID]gitops.Declared{}
	for _, d := range after.result.Objects {
		afterByID[d.ID] = d
	}
	seen := map[gitops.ObjectID]bool{}
	for _, old := range before.result.Objects {
		seen[old.ID] = true
		now, there := afterByID[old.ID]
		if there && same(old.Content, now.Content) {
			continue
		}
		goals := w.goalsOf(m, old.ID)
		if !there {
			i := slices.IndexFunc(goals, func(g *goal) bool { return g.remove })
			if i < 0 {
				moves = append(moves, move{member: m, id: old.ID, what: isGone})
				continue
			}
			if w.members[goals[i].member] == m {
				closed = append(closed, goals[i])
			}
			continue
		}
		expected := any(old.Content)
		for _, g := range byPlace(goals, now) {
			if g.remove || g.create || !w.met(g, now) {
				continue
			}
			if !w.met(g, old) && w.members[g.member] == m {
				closed = append(closed, g)
			}
			expected = transplant(expected, now.Content, g.change.Path)
		}
		for _, e := range engine {
			if e.id == old.ID && w.covers(index, e) {
				expected = transplant(expected, now.Content, e.path)
			}
		}
		for _, p := range differences(expected, any(now.Content), nil) {
			moves = append(moves, move{member: m, id: old.ID, path: p, old: old.Content, now: now.Content})
		}
	}
	for _, d := range after.result.Objects {
		if seen[d.ID] {
			continue
		}
		goals := w.goalsOf(m, d.ID)
		i := slices.IndexFunc(goals, func(g *goal) bool { return g.create && w.met(g, d) })
		if i < 0 {
			moves = append(moves, move{member: m, id: d.ID, what: isNew, now: d.Content})
		} else if w.members[goals[i].member] == m {
			closed = append(closed, goals[i])
		}
	}
	return closed, moves
}

// same says whether two contents are one and the same in memory, as a cache of renders may give them.
func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// goalsOf are the goals for an object of a member.
func (w *work) goalsOf(m *member, id gitops.ObjectID) []*goal {
	var out []*goal
	for _, g := range w.goals {
		if g.wish.Declared.ID == id && w.deploys(m, g.wish.App) {
			out = append(out, g)
		}
	}
	return out
}

// met says whether an object reads as a goal wants.
func (w *work) met(g *goal, d gitops.Declared) bool {
	if g.create {
		_, _, unlike := w.differs(g, d.Object)
		return !unlike
	}
	now := splice.Lookup(d.Content, g.change.Path)
	if !g.change.After.Set {
		return !now.Set
	}
	if !now.Set {
		return false
	}
	if w.meaning.same(d.Object, g.change.Path, now.V, g.change.After.V) {
		return true
	}
	clean := func(v any) any { return w.meaning.clean(d.Object, g.change.Path, splice.Normal(v), g.wish.Live) }
	return w.meaning.same(d.Object, g.change.Path, clean(now.V), clean(g.change.After.V))
}

// short prints a value for a message.
func short(v any) string {
	s := fmt.Sprintf("%v", v)
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}
