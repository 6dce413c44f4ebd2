package classify

import (
	"strings"

	"holdfast/gitops"
)

// setting is one field that a mutating policy sets.
type setting struct {
	path []place
	// value is what it sets the field to; a text with {{ is computed, and computed says that all of it is.
	value    any
	computed bool
	// once: only where the field is absent.
	once bool
	// loose: the path does not tell its lists, so entries of any are below it.
	loose bool
	// image gives the image that Git's becomes, where the policy says how.
	image func(git, live string) bool
}

// place is one step of a setting's path: a field, or an entry of a list, of one name where that is told. Any is either.
type place struct {
	field      string
	entry, any bool
	name       string
}

func (p place) holds(step gitops.Step) bool {
	switch {
	case p.any:
		return true
	case !p.entry:
		return step.IsField() && gitops.Glob(p.field, step.Field)
	case step.IsField():
		return false
	case p.name == "" || p.name == "*":
		return true
	}
	for _, key := range step.Keys {
		if gitops.Glob(p.name, key.Value) {
			return true
		}
	}
	return false
}

// explains says whether the policy sets a field, and whatever below it weighs, to what lives.
func (m mutating) explains(path gitops.Path, git, live gitops.Value, weighs func(gitops.Path, gitops.Value) bool) bool {
	for _, s := range m.sets {
		if s.explains(path, git, live) {
			return true
		}
	}
	visit := func(step gitops.Step, was, is gitops.Value) bool {
		below := path.Child(step)
		return was.Set && sameValue(was.V, is.V) || !weighs(below, is) || m.explains(below, was, is, weighs)
	}
	switch now := live.V.(type) {
	case map[string]any:
		was, _ := git.V.(map[string]any)
		for key, v := range now {
			before, there := was[key]
			if key == "" || !visit(gitops.Field(key), gitops.Value{Set: there, V: before}, gitops.Present(v)) {
				return false
			}
		}
		return len(now) > 0
	case []any:
		was, _ := git.V.([]any)
		for i, v := range now {
			if !contains(was, v) && !visit(gitops.Index(i), gitops.Value{}, gitops.Present(v)) {
				return false
			}
		}
		return len(now) > 0
	}
	return false
}

func (s setting) explains(path gitops.Path, git, live gitops.Value) bool {
	if len(path) < len(s.path) || s.once && git.Set || !live.Set {
		return false
	}
	rest := path
	for _, p := range s.path {
		for s.loose && len(rest) > 0 && !rest[0].IsField() {
			rest = rest[1:]
		}
		if len(rest) == 0 || !p.holds(rest[0]) {
			return false
		}
		rest = rest[1:]
	}
	was, _ := git.V.(string)
	now, isText := live.V.(string)
	if s.image != nil {
		return isText && s.image(was, now)
	}
	isImage := isText && len(path) > 0 && path[len(path)-1].Field == "image"
	if s.computed {
		return !isImage || !git.Set || sameProgram(was, now)
	}
	want := gitops.Lookup(s.value, rest)
	if text, ok := want.V.(string); ok && isImage && git.Set && strings.Contains(text, "{{") && !sameProgram(was, now) {
		return false
	}
	return want.Set && isSetTo(want.V, git.V, live.V)
}

// isSetTo says whether a value holds nothing but what a policy sets, and in lists what was there before.
func isSetTo(want, was, is any) bool {
	switch want := want.(type) {
	case map[string]any:
		now, ok := is.(map[string]any)
		before, _ := was.(map[string]any)
		if !ok {
			return false
		}
		for key, v := range now {
			to, set := want[key]
			if old, there := before[key]; (!set || !isSetTo(to, old, v)) && !(there && sameValue(old, v)) {
				return false
			}
		}
		return true
	case []any:
		now, ok := is.([]any)
		before, _ := was.([]any)
		if !ok {
			return false
		}
		for _, v := range now {
			if !contains(want, v) && !contains(before, v) {
				return false
			}
		}
		return true
	case string:
		before, computed, ok := strings.Cut(want, "{{")
		if !ok {
			return want == text(is)
		}
		after := computed[strings.LastIndex(computed, "}}")+1:]
		return strings.HasPrefix(text(is), before) && strings.HasSuffix(text(is), strings.TrimPrefix(after, "}"))
	}
	return sameValue(want, is) || text(want) == text(is)
}

// sameProgram says whether two image names end in the same repository and tag: a mirror in place of the registry, or a
// digest beside the tag.
func sameProgram(git, live string) bool {
	last := func(image string) string {
		image, _, _ = strings.Cut(image, "@")
		name := image[strings.LastIndexByte(image, '/')+1:]
		return strings.TrimSuffix(name, ":latest")
	}
	return last(git) == last(live) && (!strings.Contains(git, "@") || strings.HasSuffix(live, git[strings.IndexByte(git, '@'):]))
}

// isPinned says whether the live image is Git's with the digest of its tag, the tag kept or left out.
func isPinned(git, live string) bool {
	name, digest, ok := strings.Cut(live, "@sha256:")
	if !ok || git == "" || strings.Contains(git, "@") || len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
		return false
	}
	for _, spelled := range imageSpellings(git) {
		repository := spelled
		if colon := strings.LastIndexByte(spelled, ':'); colon > strings.LastIndexByte(spelled, '/') {
			repository = spelled[:colon]
		}
		if name == spelled || name == repository || name == repository+":latest" && repository == spelled {
			return true
		}
	}
	return false
}

// fields gives places for field names.
func fields(names ...string) []place {
	var out []place
	for _, name := range names {
		out = append(out, place{field: name})
	}
	return out
}

// pointer gives the places of a JSON pointer. A number or the dash is an entry; what is computed may be either.
func pointer(text string) []place {
	var out []place
	for token := range strings.SplitSeq(strings.TrimPrefix(text, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch {
		case strings.Contains(token, "{{"):
			out = append(out, place{any: true})
		case token == "-" || token != "" && strings.Trim(token, "0123456789") == "":
			out = append(out, place{entry: true})
		default:
			out = append(out, place{field: token})
		}
	}
	return out
}

// patchOperations reads the operations of a JSON patch.
func patchOperations(operations []map[string]any) []setting {
	var out []setting
	for _, o := range operations {
		path, _ := o["path"].(string)
		value, literal := o["value"]
		if o["op"] == "remove" || o["op"] == "test" || !strings.HasPrefix(path, "/") {
			continue
		}
		if at := pointer(path); !at[0].any && (len(at) > 2 || !at[len(at)-1].any) { // a path that is all computed says nothing
			out = append(out, setting{path: at, value: value, computed: !literal})
		}
	}
	return out
}
