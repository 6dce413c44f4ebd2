package render

import (
	"slices"
	"strings"

	"holdfast/gitops"
)

// origins tells where kustomize's objects come from: by their mark, else by what their name still shows.
type origins struct {
	*walker
	units []*unit
	src   *source
	// unmarked are the objects of files that carry no mark, read when first needed.
	unmarked []marked
	loaded   bool
}

// hashLength is the length of the hash that kustomize appends to generated names, its dash included.
const hashLength = 11

func (o *origins) of(number int, object gitops.Object) gitops.Origin {
	if m, ok := o.marks.of(number); ok {
		return o.origin(m)
	}
	for _, u := range o.generated {
		name := u.prefix + u.written.Name + u.suffix
		hashed := strings.HasPrefix(object.ID.Name, name+"-") && len(object.ID.Name) == len(name)+hashLength
		if u.written.Kind == object.ID.Kind && object.ID.Group == u.written.Group && (object.ID.Name == name || hashed) {
			return o.origin(marked{unit: u, document: 0, item: -1, written: u.written})
		}
	}
	best := marked{}
	for _, m := range o.candidates() {
		same := m.written.GroupKind() == object.ID.GroupKind() && strings.Contains(object.ID.Name, m.written.Name)
		if same && (best.unit == nil || len(m.written.Name) > len(best.written.Name)) {
			best = m
		}
	}
	if best.unit != nil {
		return o.origin(best)
	}
	return gitops.Origin{Item: -1, Written: object.ID}
}

func (o *origins) origin(m marked) gitops.Origin {
	out := gitops.Origin{File: m.unit.path, Document: m.document, Item: m.item, Written: m.written}
	for _, s := range m.unit.steps {
		if s.only.Kind != "" && (s.only.Kind != m.written.Kind || !strings.Contains(s.only.Name, m.written.Name)) {
			continue
		}
		out.Transformers = append(out.Transformers, s.Transformer)
	}
	out.Transformers = append(out.Transformers, o.vars...)
	return out
}

// candidates are the objects of resource files that got no mark.
func (o *origins) candidates() []marked {
	if o.loaded {
		return o.unmarked
	}
	o.loaded = true
	type key struct {
		unit           *unit
		document, item int
	}
	given := map[key]bool{}
	for _, m := range o.marks.given {
		given[key{m.unit, m.document, m.item}] = true
	}
	for _, u := range o.units {
		if u.path == "" {
			continue
		}
		file, _ := o.src.tree.File(u.path)
		objects, _ := File(u.path, file.Data)
		for _, d := range objects {
			if !given[key{u, d.Origin.Document, d.Origin.Item}] {
				o.unmarked = append(o.unmarked, marked{
					unit: u, document: d.Origin.Document, item: d.Origin.Item, written: d.Origin.Written,
				})
			}
		}
	}
	slices.SortStableFunc(o.unmarked, func(a, b marked) int { return a.written.Compare(b.written) })
	return o.unmarked
}
