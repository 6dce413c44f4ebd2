package codify

import (
	"context"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// removedField takes a field away that is set in several places: from all of them, or from those beside the
// manifest and then by a patch.
type removedField struct{}

func (removedField) candidates(ctx context.Context, s site) []Candidate {
	if s.remove || s.change.After.Set {
		return nil
	}
	what := "remove " + s.change.Path.String()
	rest, edits, places := s.withoutSettings()
	if places == 0 {
		return nil
	}
	var out []Candidate
	if len(edits) > 0 {
		out = append(out, Candidate{What: what + " wherever a kustomization sets it", Edits: edits, rank: elsewhere})
	}
	for _, kind := range []generator{rawManifest{}, existingPatch{}, newPatch{}} {
		for _, c := range kind.candidates(ctx, rest) {
			c.Edits = joined(edits, c.Edits)
			c.rank = elsewhere
			c.What += ", and where else it is set"
			out = append(out, c)
		}
	}
	return out
}

// withoutSettings takes the field out of all patches and replicas entries. It gives the site as it is then.
func (s site) withoutSettings() (site, []gitops.Edit, int) {
	var edits []gitops.Edit
	places := 0
	take := func(c []Candidate) {
		if len(c) == 0 {
			return
		}
		places++
		edits = joined(edits, c[0].Edits)
		s.tree = s.tree.With(c[0].Edits)
		for i, l := range s.layers {
			if again, ok := layerAt(s.tree, l.dir); ok {
				s.layers[i] = again
			}
		}
		if l, ok := fluxLayer(s.tree, s.app); ok {
			s.flux = &l
		}
	}
	s.layers = slices.Clone(s.layers)
	for i := range s.layers {
		for j := len(s.layers[i].list("replicas")) - 1; j >= 0 && s.change.Path.String() == "spec.replicas"; j-- {
			l := s.layers[i]
			entry, _ := l.list("replicas")[j].(map[string]any)
			if name := entry["name"]; name != s.declared.Origin.Written.Name && name != s.declared.ID.Name {
				continue
			}
			at := gitops.Path{gitops.Field("replicas")}
			if len(l.list("replicas")) > 1 {
				at = append(at, gitops.Index(j))
			}
			after, err := splice.Remove(l.data, 0, at)
			take(s.one("", l.file, after, err, changesValue))
		}
		for j := len(s.layers[i].patches(s.tree)) - 1; j >= 0; j-- {
			patches := s.layers[i].patches(s.tree)
			docs, _ := splice.Documents(patches[j].data)
			for doc, d := range docs {
				content, ok := d.(map[string]any)
				if !ok || !s.patches(content, patches[j].target) || splice.Lookup(content, s.change.Path).V == nil {
					continue
				}
				after, err := splice.Remove(patches[j].data, doc, lone(content, s.change.Path))
				take(s.write(patches[j], "", after, err, changesValue))
			}
		}
	}
	return s, edits, places
}

// joined gives edits of which the later ones were made on top of the earlier ones.
func joined(first, then []gitops.Edit) []gitops.Edit {
	out := slices.Clone(first)
	for _, e := range then {
		i := slices.IndexFunc(out, func(o gitops.Edit) bool { return o.Path == e.Path })
		if i < 0 {
			out = append(out, e)
			continue
		}
		out[i].After, out[i].Remove = e.After, e.Remove
	}
	return out
}
