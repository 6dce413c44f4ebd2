package render

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
)

// origins tells where kustomize's objects come from: by their mark, else by what their name still shows.
type origins struct {
	*walker
	units []*unit
	src   *source
	// claimed are the marks that came back on an object.
	claimed map[int]bool
	// lost are the objects of files whose mark did not come back or was never given, read when needed.
	lost   []marked
	loaded bool
}

// hashLength is the length of the hash that kustomize appends to generated names, its dash included.
const hashLength = 11

// claim notes the marks that the result carries.
func (o *origins) claim(numbers []int) {
	o.claimed = make(map[int]bool, len(numbers))
	for _, n := range numbers {
		o.claimed[n] = true
	}
}

// of gives the origin of an object: its mark's, the generator's whose name it has, or that of the object
// in a file whose name it still shows. content leaves out transformers that certainly passed it by.
func (o *origins) of(number int, id gitops.ObjectID, content map[string]any) gitops.Origin {
	found, ok := o.marks.of(number)
	if !ok {
		found, ok = o.generator(id, func(name string) bool {
			return id.Name == name || strings.HasPrefix(id.Name, name+"-") && len(id.Name) == len(name)+hashLength
		})
	}
	if !ok {
		found, ok = o.byName(id)
	}
	if !ok {
		found, ok = o.generator(id, func(name string) bool { return strings.Contains(id.Name, name) })
	}
	if !ok {
		return gitops.Origin{Item: -1, Written: id}
	}
	out := gitops.Origin{File: found.unit.path, Document: found.document, Item: found.item, Written: found.written}
	seen := newSight(content)
	for _, s := range found.unit.steps {
		if s.only.Kind != "" && (s.only.Kind != found.written.Kind || !strings.Contains(s.only.Name, found.written.Name)) {
			continue
		}
		if s.by == nil || seen.mayBe(s, found.written, id) {
			out.Transformers = append(out.Transformers, s.Transformer)
		}
	}
	out.Transformers = append(out.Transformers, o.vars...)
	return out
}

func (o *origins) generator(id gitops.ObjectID, named func(string) bool) (marked, bool) {
	for _, u := range o.generated {
		if u.written.GroupKind() == id.GroupKind() && named(u.prefix+u.written.Name+u.suffix) {
			return marked{unit: u, item: -1, written: u.written}, true
		}
	}
	return marked{}, false
}

// byName finds the object of a file, without a mark that came back, with the longest name that the
// object's own name contains.
func (o *origins) byName(id gitops.ObjectID) (marked, bool) {
	if !o.loaded {
		o.load()
	}
	best, found := marked{}, false
	for _, m := range o.lost {
		same := m.written.GroupKind() == id.GroupKind() && strings.Contains(id.Name, m.written.Name)
		if same && (!found || len(m.written.Name) > len(best.written.Name)) {
			best, found = m, true
		}
	}
	return best, found
}

func (o *origins) load() {
	o.loaded = true
	type key struct {
		unit           *unit
		document, item int
	}
	back := map[key]bool{}
	for number, m := range o.marks.given {
		if o.claimed[number] {
			back[key{m.unit, m.document, m.item}] = true
		}
	}
	for _, u := range o.units {
		if u.path == "" {
			continue
		}
		file, _ := o.src.tree.File(u.path)
		objects, _ := File(u.path, file.Data)
		for _, d := range objects {
			if !back[key{u, d.Origin.Document, d.Origin.Item}] {
				o.lost = append(o.lost, marked{
					unit: u, document: d.Origin.Document, item: d.Origin.Item, written: d.Origin.Written,
				})
			}
		}
	}
}

// sight is what an object shows after the render: its strings, as far as they are needed.
type sight struct {
	content map[string]any
	strings []string
	done    bool
}

func newSight(content map[string]any) *sight { return &sight{content: content} }

// shows says whether any string of the object contains text.
func (s *sight) shows(text string) bool {
	if !s.done {
		s.done = true
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				for _, e := range v {
					walk(e)
				}
			case []any:
				for _, e := range v {
					walk(e)
				}
			case string:
				s.strings = append(s.strings, v)
			}
		}
		walk(s.content)
	}
	return slices.ContainsFunc(s.strings, func(v string) bool { return strings.Contains(v, text) })
}

// mayBe says whether a transformer may have touched the object. It errs on the side of yes: no means that
// what the transformer writes is nowhere in the object, or that it names other objects.
func (s *sight) mayBe(by step, written, id gitops.ObjectID) bool {
	k := by.by
	switch by.Kind {
	case "NamespaceTransformer":
		return s.shows(k.Namespace)
	case "PrefixTransformer":
		return s.shows(k.NamePrefix)
	case "SuffixTransformer":
		return s.shows(k.NameSuffix)
	case "ImageTagTransformer":
		for _, image := range k.Images {
			if s.shows(cmp.Or(image.NewName, image.Name)) {
				return true
			}
		}
		return false
	case "ReplicaCountTransformer":
		for _, r := range k.Replicas {
			if strings.Contains(id.Name, r.Name) || written.Name == r.Name {
				return gitops.Lookup(s.content, gitops.Path{gitops.Field("spec"), gitops.Field("replicas")}).Set
			}
		}
		return false
	case "PatchTransformer":
		for _, p := range k.Patches {
			if p.Target == nil || fits(p.Target.Kind, written.Kind, id.Kind) && fits(p.Target.Group, written.Group, id.Group) {
				return true
			}
		}
		return false
	}
	return true
}

// fits says whether a selector's regular expression, which kustomize anchors, matches one of the values;
// one that is empty or no expression does.
func fits(pattern string, values ...string) bool {
	if pattern == "" {
		return true
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	return err != nil || slices.ContainsFunc(values, re.MatchString)
}
