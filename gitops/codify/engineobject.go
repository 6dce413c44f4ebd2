package codify

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// wording is what an edit of an object does, in words: head says what, label which part of the object it is in, tail
// why there.
type wording struct{ head, label, tail string }

// in says it of a file.
func (w wording) in(file string) string {
	if w.label != "" {
		file = w.label + " in " + file
	}
	return w.head + " in " + file + w.tail
}

// of says it of an object that is edited by other means than where it is written.
func (w wording) of(id gitops.ObjectID, how string) string {
	where := id.String()
	if w.label != "" {
		where = w.label + " of " + where
	}
	return w.head + " in " + where + " (" + how + ")" + w.tail
}

// ownObject is where a member declares the Application's own object; nil where that is not known.
func (s site) ownObject() *provided {
	if s.work == nil || s.member < 0 || s.work.members[s.member].inputs == nil {
		return nil
	}
	return s.work.members[s.member].inputs.object
}

// engineEdit marks a field of the Application's own object as edited on purpose.
func (s site) engineEdit(id gitops.ObjectID, at gitops.Path) engineEdit {
	if p := s.ownObject(); p != nil && p.element == nil {
		return engineEdit{id: p.id, path: at}
	}
	return engineEdit{id: id, path: at, free: s.app.Cluster == "" || s.app.Kind == ""}
}

// engineObject is the Application's own object as a place without a position: as a member declares it, else as it
// stands in the Application's file. engine is nil where it is in neither.
func (s site) engineObject() (p place, engine *gitops.ObjectID) {
	if own := s.ownObject(); own != nil {
		d, ok := s.work.now.renders[own.member].find(own.id)
		if !ok {
			return place{}, nil
		}
		object := s.unrendered(d)
		if own.element != nil {
			if object, ok = own.element.made(object); !ok {
				return place{}, nil
			}
		}
		return place{name: cmp.Or(d.Origin.File, own.id.String()), content: object.Content, via: own, engine: &object.ID}, &object.ID
	}
	data, ok := s.tree.Read(s.app.Render.File)
	if !ok || s.app.Render.File == "" {
		return place{}, nil
	}
	docs, err := splice.Documents(data)
	if err != nil || s.app.Render.Document >= len(docs) {
		return place{}, nil
	}
	object, _ := docs[s.app.Render.Document].(map[string]any)
	id := gitops.NewObject(object).ID
	if id.Name != s.app.Name || s.app.Kind != "" && id.Kind != s.app.Kind || object["spec"] == nil {
		return place{}, nil
	}
	id.Namespace = s.app.Namespace
	return place{
		name: s.app.Render.File, file: linked(s.tree, s.app.Render.File), data: data, doc: s.app.Render.Document, content: object, engine: &id,
	}, &id
}

// inObject gives the candidates that make a change of the Application's own object, such as its values or patches.
// allow is the field of it that may move with the change.
func (s site) inObject(ctx context.Context, what wording, change gitops.FieldChange, allow gitops.Path, added int) []Candidate {
	object, engine := s.engineObject()
	if engine == nil {
		return nil
	}
	return s.changed(ctx, object, what, change, allow, added)
}

// changed gives the candidates that make a change of the object that a place is in.
func (s site) changed(ctx context.Context, in place, what wording, change gitops.FieldChange, allow gitops.Path, added int) []Candidate {
	switch {
	case in.via != nil && in.via.element != nil:
		return s.inSet(ctx, *in.via, what, change, added)
	case in.via != nil:
		return s.through(ctx, *in.via, what, change, allow, added)
	}
	after, err := changedText(in.data, in.doc, change)
	out := s.one(what.in(in.name), in.file, after, err, added)
	for i := range out {
		if in.engine != nil {
			out[i].engine = []engineEdit{s.engineEdit(*in.engine, allow)}
		}
	}
	return out
}

func changedText(data []byte, doc int, change gitops.FieldChange) ([]byte, error) {
	if !change.After.Set {
		return splice.Remove(data, doc, change.Path)
	}
	return splice.Set(data, doc, change.Path, change.After.V)
}

// through gives the candidates that make a change of an object that a member declares, by all ways in which that
// member's files can: where the object is written, in patches, by variables, in values of a chart that makes it.
func (s site) through(ctx context.Context, p provided, what wording, change gitops.FieldChange, allow gitops.Path, added int) []Candidate {
	inner, ok := s.siteOf(p, change)
	if !ok {
		return nil
	}
	var out []Candidate
	for _, kind := range inner.generators() {
		out = append(out, kind.candidates(ctx, inner)...)
	}
	slices.SortStableFunc(out, func(a, b Candidate) int { return cmp.Or(cmp.Compare(a.Added, b.Added), cmp.Compare(a.rank, b.rank)) })
	for i := range out {
		c := &out[i]
		if len(c.Edits) == 1 && c.Edits[0].Path == linked(s.tree, inner.declared.Origin.File) && c.Added < lastResort {
			c.What = what.in(c.Edits[0].Path)
		} else {
			c.What = what.of(p.id, c.What)
		}
		c.Added, c.rank = max(c.Added, added), i
		c.engine = append(c.engine, engineEdit{id: p.id, path: allow})
	}
	return out
}

// siteOf is the site of a change of an object that a member declares.
func (s site) siteOf(p provided, change gitops.FieldChange) (site, bool) {
	w := s.work
	r := w.now.renders[p.member]
	d, ok := r.find(p.id)
	if !ok || s.chain >= maxChain || d.IsSecret() {
		return site{}, false
	}
	hidden := func(q gitops.Path) bool { return gitops.Overlap(d.Content, q, change.Path) }
	if slices.ContainsFunc(r.result.Secret[p.id], hidden) || slices.ContainsFunc(r.result.Unsure[p.id], hidden) {
		return site{}, false
	}
	live := without(d.Content, change.Path)
	if change.After.Set {
		change.After.V = splice.Normal(change.After.V)
		live = with(d.Content, change.Path, change.After.V)
	}
	change.Before = splice.Lookup(d.Content, change.Path)
	content, _ := live.(map[string]any)
	t, known := w.meaning.of(d.Object)
	out := site{
		tree: s.tree, app: r.app, declared: d, live: gitops.NewObject(content), change: change, scope: s.scope, shared: s.shared,
		objects: r.result.Objects, layers: layersIf(s.tree, r.app), custom: w.request.Schemas != nil && (!known || t.Custom), meaning: w.meaning,
		render: s.render, finds: s.finds, refusals: s.refusals, inner: s.inner, work: w, member: p.member, chain: s.chain + 1,
		met: func(now gitops.Declared) bool {
			v := splice.Lookup(now.Content, change.Path)
			return v.Set == change.After.Set && reflect.DeepEqual(splice.Normal(v.V), change.After.V)
		},
	}
	if l, ok := fluxLayer(s.tree, r.app); ok {
		out.flux = &l
	}
	return out, true
}

// textIn gives a text of an object as the tree of the site has it: edits that are not rendered yet are in it.
func (s site) textIn(p provided, at gitops.Path) (string, bool) {
	d, ok := s.work.now.renders[p.member].find(p.id)
	if !ok {
		return "", false
	}
	rendered, ok := splice.Lookup(d.Content, at).V.(string)
	if !ok {
		return "", false
	}
	written := func(tree gitops.Tree) (string, bool) {
		v, _ := writtenIn(tree, d, at)
		text, ok := v.(string)
		return text, ok
	}
	if before, ok := written(s.work.now.tree); ok && before == rendered {
		if now, ok := written(s.tree); ok {
			return now, true
		}
	}
	return rendered, true
}

// unrendered gives an object with the spec that the tree of the site has, where a render shows what is written: edits
// that are not rendered yet are in it.
func (s site) unrendered(d gitops.Declared) gitops.Object {
	if s.tree.Same(s.work.now.tree) {
		return d.Object
	}
	spec := gitops.Path{gitops.Field("spec")}
	before, ok := writtenIn(s.work.now.tree, d, spec)
	now, still := writtenIn(s.tree, d, spec)
	if !ok || !still || !reflect.DeepEqual(splice.Normal(before), splice.Normal(d.Content["spec"])) {
		return d.Object
	}
	content := maps.Clone(d.Content)
	content["spec"] = splice.Normal(now)
	return gitops.Object{ID: d.ID, APIVersion: d.APIVersion, Content: content}
}

// writtenIn gives what stands at a path of an object where it is written.
func writtenIn(tree gitops.Tree, d gitops.Declared, at gitops.Path) (any, bool) {
	data, ok := tree.Read(d.Origin.File)
	if !ok || d.Origin.File == "" {
		return nil, false
	}
	doc, prefix, ok := placeOf(data, d.Origin)
	if !ok {
		return nil, false
	}
	docs, err := splice.Documents(data)
	if err != nil {
		return nil, false
	}
	v := splice.Lookup(docs[doc], slices.Concat(prefix, at))
	return v.V, v.Set
}

// others says whether another Application reads a file.
func (s site) others(file string) bool {
	if s.work == nil {
		return false
	}
	return slices.ContainsFunc(s.work.now.renders, func(r rendered) bool {
		return r.result != nil && r.app.ID() != s.app.ID() && r.app.Name != "" && r.result.Touches(file)
	})
}

// edited gives the one change of an object that turns it from one content into another: at the deepest path below
// which all of it lies.
func edited(from, to any) (gitops.FieldChange, bool) {
	all := differences(from, to, nil)
	if len(all) == 0 {
		return gitops.FieldChange{}, false
	}
	at := all[0]
	for _, p := range all[1:] {
		n := 0
		for n < len(at) && n < len(p) && at[n].Equal(p[n]) {
			n++
		}
		at = at[:n]
	}
	return gitops.FieldChange{Path: at, Before: gitops.Lookup(from, at), After: gitops.Lookup(to, at)}, len(at) > 0
}
