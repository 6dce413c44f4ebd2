package codify

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
	"holdfast/gitops/render"
)

// work is one call of Propose: the goals, the members, and the tree as far as edits were accepted.
type work struct {
	request Request
	members []*member
	goals   []*goal
	// start is the state before any edit, now the state after those accepted.
	start, now state
	unproven   map[int]string
	moved      []string
	meaning    meaning
	// engine are the fields of engines' objects that accepted edits changed.
	engine []engineEdit
	finds  *finds
	memo   memo
	// unread are members without a render until an edit may reach them.
	unread map[int]*reach
}

// goal is one wished change, or an object wished away or into Git.
type goal struct {
	wish           *Wish
	change         gitops.FieldChange
	remove, create bool
	// member is the index of the wish's Application.
	member  int
	settled bool
	placed  bool
	outcome Outcome
	// stands are the changes that the goal stands for, when it is a whole list.
	stands []gitops.Path
}

func newWork(request Request) *work {
	w := &work{request: request, members: membersOf(request), unproven: map[int]string{}, meaning: meaning{request.Schemas}, finds: newFinds()}
	w.start = state{tree: request.Tree, renders: make([]rendered, len(w.members))}
	w.now = w.start
	for i := range request.Wishes {
		wish := &request.Wishes[i]
		at := slices.IndexFunc(w.members, func(m *member) bool { return w.deploys(m, wish.App) })
		goals := []*goal{}
		for _, whole := range grouped(wish) {
			goals = append(goals, &goal{wish: wish, change: whole.FieldChange, stands: whole.stands, member: at})
		}
		if wish.RemoveObject {
			goals = append(goals, &goal{wish: wish, remove: true, member: at})
		}
		if wish.CreateObject {
			goals = append(goals, &goal{wish: wish, create: true, change: w.wanted(wish), member: at})
		}
		for _, g := range goals {
			g.outcome = Outcome{FindingID: wish.FindingID, Path: g.change.Path}
		}
		w.goals = append(w.goals, goals...)
	}
	return w
}

// begin renders the members from the first tree, those excepted that no edit may ever reach.
func (w *work) begin(ctx context.Context) error {
	w.unread = w.unreadMembers()
	for i, m := range w.members {
		if w.unread[i] != nil {
			continue
		}
		w.start.renders[i] = w.render(ctx, w.request.Tree, m, m.app)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("codify: %w", err)
		}
	}
	w.now = state{tree: w.request.Tree, renders: slices.Clone(w.start.renders)}
	return w.link(ctx)
}

// place finds an edit for one goal and takes it over, or says in the goal's outcome why there is none.
func (w *work) place(ctx context.Context, g *goal) error {
	if g.settled {
		return nil
	}
	g.settled = true
	var refusals []string
	s, reason := w.site(g)
	s.refusals = &refusals
	if reason != "" {
		g.outcome.Reason = reason
		return nil
	}
	candidates := guesses(ctx, s)
	best, verdict, misses, err := w.choose(ctx, g, candidates)
	if err != nil {
		g.settled = false
		return err
	}
	if best == nil {
		g.outcome.Reason, g.outcome.NearestMiss = s.nowhere(ctx, misses, refusals)
		return nil
	}
	earlier := w.checkpoint()
	w.accept(g, *best, verdict)
	if reason := w.broken(); reason != "" {
		w.restore(earlier)
		g.settled, g.outcome.Reason, g.outcome.NearestMiss = true, reason, best.What
	}
	return nil
}

// guesses are the candidates of all generators, the best one first, each once.
func guesses(ctx context.Context, s site) []Candidate {
	var out []Candidate
	for _, kind := range s.generators() {
		out = append(out, kind.candidates(ctx, s)...)
	}
	for i := range out {
		out[i].lines = changedLines(out[i].Edits)
	}
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(s.byScope(a, b), cmp.Compare(a.Added, b.Added), cmp.Compare(a.rank, b.rank), cmp.Compare(a.lines, b.lines))
	})
	seen, named := map[string]bool{}, map[string]int{}
	out = slices.DeleteFunc(out, func(c Candidate) bool {
		key := fingerprint(c.Edits)
		twice := seen[key]
		seen[key] = true
		return twice
	})
	for i, c := range out {
		name := fmt.Sprintf("%d %d %s", c.Added, c.rank, c.What)
		named[name]++
		out[i].name = fmt.Sprintf("%s %d", name, named[name])
	}
	return out
}

// site gathers what generators need, or says why the goal cannot be worked on.
func (w *work) site(g *goal) (site, string) {
	id := g.wish.Declared.ID
	if reason, no := w.request.forbiddenChange(id, g.change.Path); no {
		return site{}, reason
	}
	if g.create {
		return w.newSite(g)
	}
	if p := g.change.Path; len(p) == 3 && p[0].Field == "metadata" && isMark(g.wish.App, p[2].Field) {
		return site{}, "the engine, or the tool that applies, puts this mark on by itself"
	}
	if g.member < 0 {
		return site{}, "its Application is not part of the repository at hand"
	}
	r := w.now.renders[g.member]
	if r.err != nil {
		return site{}, "its Application does not render: " + r.err.Error()
	}
	declared, ok := r.find(id)
	if !ok {
		return site{}, "Git does not declare the object"
	}
	if !g.remove && w.met(g, declared) {
		return site{}, "Git has this value already"
	}
	if reason := unreadable(r.result, g); reason != "" {
		return site{}, reason
	}
	t, known := w.meaning.of(declared.Object)
	change := g.change
	if change.After.Set {
		change.After.V = w.meaning.clean(declared.Object, change.Path, splice.Normal(change.After.V), g.wish.Live)
	}
	s := site{
		scope: g.wish.Scope,
		tree:  w.now.tree, app: r.app, declared: declared, live: g.wish.Live, change: change, remove: g.remove,
		objects: r.result.Objects, layers: layersIf(w.now.tree, r.app), custom: w.request.Schemas != nil && (!known || t.Custom), meaning: w.meaning,
		render: w.request.Render, met: func(d gitops.Declared) bool { return w.met(g, d) }, finds: w.finds,
		work: w, member: g.member,
	}
	if l, ok := fluxLayer(w.now.tree, r.app); ok {
		s.flux = &l
	}
	return s, ""
}

// unreadable says why the value cannot be written although it is seen: it comes from a Secret, or from a
// variable that is not known.
func unreadable(r *render.Result, g *goal) string {
	overlaps := func(paths []gitops.Path) bool {
		return slices.ContainsFunc(paths, func(p gitops.Path) bool {
			return gitops.Overlap(g.wish.Declared.Content, p, g.change.Path)
		})
	}
	switch id := g.wish.Declared.ID; {
	case g.remove:
		return ""
	case sealedIn(splice.Lookup(g.wish.Declared.Content, g.change.Path).V):
		return errSealed.Error()
	case overlaps(r.Secret[id]):
		return "its value comes from a Secret, which is never written to Git: change it where that Secret comes from"
	case overlaps(r.Unsure[id]):
		return "its value depends on a variable that could not be read"
	}
	return ""
}

func layersIf(tree gitops.Tree, app gitops.Application) []layer {
	if app.Render.Kustomize == nil {
		return nil
	}
	out := layersOf(tree, app.Source.Path)
	for _, component := range app.Render.Kustomize.Components {
		out = append(out, layersOf(tree, path.Join(app.Source.Path, component))...)
	}
	return out
}

// choose proves candidates in order. The first that moves nothing unwished, that no other member reads and
// that keeps the order of lists wins; else the one with the least reach, and among those one that keeps the order.
func (w *work) choose(ctx context.Context, g *goal, candidates []Candidate) (*Candidate, verdict, []miss, error) {
	var misses []miss
	var best *Candidate
	var bestVerdict verdict
	for i := range candidates {
		c := &candidates[i]
		if i == maxTried || best != nil && c.enough(bestVerdict) {
			break
		}
		v := w.judge(ctx, g, *c)
		if err := ctx.Err(); err != nil {
			return nil, verdict{}, nil, fmt.Errorf("codify: %w", err)
		}
		switch {
		case v.refused != "":
			misses = append(misses, miss{*c, v.refused, v.reach})
		case v.perfect():
			return c, v, misses, nil
		case best == nil || v.better(bestVerdict):
			best, bestVerdict = c, v
		}
	}
	return best, bestVerdict, misses, nil
}

// maxTried bounds how many candidates of one goal are rendered. Common goals have two to six.
const maxTried = 24

// enough says whether an edit with verdict v is not worth to be replaced by c: a list in its order is not worth
// a patch that freezes the list.
func (c Candidate) enough(v verdict) bool {
	return c.Added >= lastResort && v.reach == 0 && v.readers == 0
}

// accept takes a proven candidate over.
func (w *work) accept(g *goal, c Candidate, v verdict) {
	w.now = v.after
	for i, reason := range v.unproven {
		w.unproven[i] = reason
	}
	w.moved = append(w.moved, v.wide...)
	w.engine = append(w.engine, c.engine...)
	for _, closed := range v.closed {
		closed.settled, closed.placed = true, true
		closed.outcome.Reason, closed.outcome.NearestMiss = "", ""
		if closed.outcome.How == "" || closed == g {
			closed.outcome.How, closed.outcome.Choice = c.What, c.choice
			if effect := v.reordered[closed]; effect != "" {
				closed.outcome.How += "; " + effect
			}
		}
	}
}

// miss is a candidate that did not pass, and why.
type miss struct {
	candidate Candidate
	why       string
	reach     int
}

// noCandidate says why a goal has no edit: the nearest miss is the refused candidate that would have moved
// least.
func noCandidate(misses []miss, refusals []string) (reason, nearest string) {
	if len(misses) == 0 && len(refusals) > 0 {
		return "the place where the value stands cannot be edited", refusals[0]
	}
	if len(misses) == 0 {
		return "no place in the repository was found that sets this value", ""
	}
	best := slices.MinFunc(misses, func(a, b miss) int {
		return cmp.Or(cmp.Compare(min(a.reach, 1), min(b.reach, 1))*-1, cmp.Compare(a.reach, b.reach), cmp.Compare(a.candidate.Added, b.candidate.Added))
	})
	return fmt.Sprintf("none of %d possible edits gives exactly the live value and leaves the rest alone", len(misses)),
		best.candidate.What + ": " + best.why
}

func fingerprint(edits []gitops.Edit) string {
	var b strings.Builder
	for _, e := range edits {
		fmt.Fprintf(&b, "%s\x00%t\x00%s\x00", e.Path, e.Remove, e.After)
	}
	return b.String()
}

// changedLines counts the lines that differ between before and after, added and removed ones each.
func changedLines(edits []gitops.Edit) int {
	n := 0
	for _, e := range edits {
		before, after := strings.SplitAfter(string(e.Before), "\n"), strings.SplitAfter(string(e.After), "\n")
		for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
			before, after = before[1:], after[1:]
		}
		for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
			before, after = before[:len(before)-1], after[:len(after)-1]
		}
		n += max(len(before), len(after))
	}
	return n
}
