package codify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/gitops"
)

// answer proves the union of all accepted edits once more, from the first tree to the last, and writes
// everything down.
func (w *work) answer(_ context.Context) (*Answer, error) {
	out := &Answer{Edits: w.union()}
	for _, g := range w.goals {
		for _, o := range g.outcomes() {
			if g.placed {
				out.Placed = append(out.Placed, o)
			} else {
				out.Failed = append(out.Failed, o)
			}
		}
	}
	proof := gitops.Proof{Moved: w.moved}
	var files []string
	for _, e := range out.Edits {
		files = append(files, e.Path)
	}
	var moves []move
	closed := map[*goal]bool{}
	for i, m := range w.members {
		before, after := w.start.renders[i], w.current(i)
		if len(files) == 0 || !w.may(m, before, files) {
			continue
		}
		if before.err != nil || after.err != nil {
			reason := "does not render"
			if before.err != nil {
				reason = before.err.Error()
			}
			proof.Unproven = append(proof.Unproven, gitops.UnprovenMember{Cluster: m.app.Cluster, Name: m.name(), Path: m.app.Source.Path, Reason: reason})
			continue
		}
		met, moved := w.compare(i, before, after, w.engine)
		for _, g := range met {
			closed[g] = true
		}
		moves = append(moves, moved...)
		one, err := gitops.DigestDeclared(before.result.Objects)
		if err != nil {
			return nil, fmt.Errorf("codify: %w", err)
		}
		two, err := gitops.DigestDeclared(after.raw.Objects)
		if err != nil {
			return nil, fmt.Errorf("codify: %w", err)
		}
		proof.Applications = append(proof.Applications, gitops.ProvenMember{
			Cluster: m.app.Cluster, Namespace: m.app.Namespace, Name: m.app.Name, Path: m.app.Source.Path,
			Before: one, After: two,
		})
	}
	slices.SortFunc(proof.Applications, func(a, b gitops.ProvenMember) int {
		return strings.Compare(a.Cluster+"/"+a.Namespace+"/"+a.Name+"/"+a.Path, b.Cluster+"/"+b.Namespace+"/"+b.Name+"/"+b.Path)
	})
	w.conclude(&proof, moves, closed, len(files) > 0)
	out.Proof = proof
	return out, nil
}

// conclude fills in what the union's proof says.
func (w *work) conclude(proof *gitops.Proof, moves []move, closed map[*goal]bool, any bool) {
	proof.Verified, proof.Complete = any, len(proof.Unproven) == 0
	for _, m := range moves {
		if !w.mayMove(m) {
			proof.Verified = false
			proof.Reason = "the edits together move " + m.String()
			proof.Moved = append(proof.Moved, m.String())
		}
	}
	for _, g := range w.goals {
		if !g.placed {
			continue
		}
		if !closed[g] {
			proof.Verified = false
			proof.Reason = "the edits together do not keep " + g.wish.Declared.ID.String() + " " + g.change.Path.String()
			continue
		}
		for _, o := range g.outcomes() {
			proof.Closed = append(proof.Closed, strings.TrimSpace(o.FindingID+" "+o.Path.String()))
		}
	}
	switch {
	case proof.Reason != "":
	case !any:
		proof.Reason = "no edit was found"
	case !proof.Complete:
		proof.Reason = "not everything that may read the changed files could be rendered"
	}
}

// union gives one edit a file, from the first tree to the last.
func (w *work) union() []gitops.Edit {
	var out []gitops.Edit
	names := append(w.start.tree.Paths(""), w.now.tree.Paths("")...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		before, had := w.start.tree.File(name)
		after, has := w.now.tree.File(name)
		switch {
		case had && has && string(before.Data) == string(after.Data):
		case !has:
			out = append(out, gitops.Edit{Path: name, Before: before.Data, Remove: true})
		case !had:
			out = append(out, gitops.Edit{Path: name, After: after.Data})
		default:
			out = append(out, gitops.Edit{Path: name, Before: before.Data, After: after.Data})
		}
	}
	return out
}
