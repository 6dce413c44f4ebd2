package codify

import (
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// existingPatch edits a patch that a kustomization has already: where it sets the value, or by adding to a
// patch for the same object.
type existingPatch struct{}

func (existingPatch) candidates(_ context.Context, s site) []Candidate {
	if s.remove {
		return nil
	}
	return s.inBothSpellings(site.editPatches)
}

func (s site) editPatches() []Candidate {
	var out []Candidate
	for _, l := range s.allLayers() {
		for _, p := range l.patches(s.tree) {
			for _, c := range s.editPatch(p) {
				c.rank = elsewhere
				if within(p.file, s.app.Source.Path) {
					c.rank = inOverlay
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// patchRef is one patch of a kustomization: a file, or text inside the kustomization file.
type patchRef struct {
	// file holds the patch; at is the path of its text in document doc of that file when it is inline.
	file string
	doc  int
	at   gitops.Path
	data []byte
	// target is the entry's target; nil when the patch names its object itself.
	target map[string]any
	// where names the place for people.
	where string
	// entry is the patch's place in the lists of its layer.
	entry gitops.Path
	layer layer
}

// patches lists the patches of a kustomization in all notations that kustomize reads.
func (l layer) patches(tree gitops.Tree) []patchRef {
	var out []patchRef
	for _, key := range []string{"patches", "patchesJson6902"} {
		for i, v := range l.list(key) {
			entry, _ := v.(map[string]any)
			target, _ := entry["target"].(map[string]any)
			at := gitops.Path{gitops.Field(key), gitops.Index(i)}
			if ref, ok := entry["path"].(string); ok {
				out = append(out, l.patchFile(tree, ref, target, at)...)
			}
			if inline, ok := entry["patch"].(string); ok {
				out = append(out, patchRef{
					file: l.file, doc: l.doc, at: at.Child(gitops.Field("patch")), entry: at,
					data: []byte(inline), target: target, layer: l, where: "the inline patch in " + l.file,
				})
			}
		}
	}
	for i, v := range l.strings("patchesStrategicMerge") {
		at := gitops.Path{gitops.Field("patchesStrategicMerge"), gitops.Index(i)}
		if strings.Contains(v, "\n") {
			out = append(out, patchRef{file: l.file, at: at, entry: at, data: []byte(v), layer: l, where: "the inline patch in " + l.file})
			continue
		}
		out = append(out, l.patchFile(tree, v, nil, at)...)
	}
	return out
}

func (l layer) patchFile(tree gitops.Tree, ref string, target map[string]any, at gitops.Path) []patchRef {
	file := linked(tree, path.Join(l.dir, ref))
	data, ok := tree.Read(file)
	if !ok {
		return nil
	}
	return []patchRef{{file: file, data: data, target: target, entry: at, layer: l, where: "the patch " + file}}
}

// editPatch gives the edits of one patch that may bring the change about.
func (s site) editPatch(p patchRef) []Candidate {
	docs, err := splice.Documents(p.data)
	if err != nil {
		s.refuse("edit "+p.where, err)
		return nil
	}
	var out []Candidate
	for doc, content := range docs {
		switch content := content.(type) {
		case map[string]any:
			if s.patches(content, p.target) {
				out = append(out, s.editMerge(p, doc, content)...)
			}
		case []any:
			if selects(p.target, s.declared) {
				out = append(out, s.editOperations(p, doc, content)...)
			}
		}
	}
	return out
}

// write gives the candidate in which the patch's text reads after.
func (s site) write(p patchRef, what string, after []byte, err error, added int) []Candidate {
	if err != nil {
		s.refuse(what+" in "+p.where, err)
		return nil
	}
	var out []Candidate
	if !s.change.After.Set && saysNothing(after) {
		out = s.dropPatch(p, what+" with "+p.where+", which said nothing else")
		added = max(added, addsEntry)
	}
	if len(p.at) == 0 {
		return append(out, s.one(what+" in "+p.where, p.file, after, nil, added)...)
	}
	return append(out, s.set(p.layer, what+" in "+p.where, p.at, string(after), added)...)
}

// dropPatch takes a patch out of its kustomization, the list with its last entry, and its file.
func (s site) dropPatch(p patchRef, what string) []Candidate {
	at := p.entry
	if len(p.layer.list(at[0].Field)) == 1 {
		at = at[:1]
	}
	after, err := splice.Remove(p.layer.data, p.layer.doc, append(slices.Clip(p.layer.prefix), at...))
	out := s.own(p.layer, at, s.one(what, p.layer.file, after, err, changesValue))
	for i := range out {
		if len(p.at) == 0 {
			before, _ := s.tree.Read(p.file)
			out[i].Edits = append(out[i].Edits, gitops.Edit{Path: p.file, Before: before, Remove: true})
		}
	}
	return out
}

// saysNothing says whether a patch is left with nothing but what it is for: the object's identity and the names of
// list entries.
func saysNothing(data []byte) bool {
	docs, err := splice.Documents(data)
	if err != nil || len(docs) != 1 {
		return false
	}
	switch content := docs[0].(type) {
	case []any:
		return len(content) == 0
	case map[string]any:
		rest := maps.Clone(content)
		delete(rest, "apiVersion")
		delete(rest, "kind")
		metadata, _ := rest["metadata"].(map[string]any)
		metadata = maps.Clone(metadata)
		delete(metadata, "name")
		delete(metadata, "namespace")
		if len(metadata) == 0 {
			delete(rest, "metadata")
		}
		return content["kind"] != nil && bare(rest)
	}
	return false
}

// bare says whether content holds nothing but mappings and lists whose entries have a name alone.
func bare(content any) bool {
	switch content := content.(type) {
	case map[string]any:
		for _, v := range content {
			if !bare(v) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(content, func(v any) bool {
			entry, _ := v.(map[string]any)
			return entry == nil || !bare(withoutName(entry))
		})
	}
	return false
}

func withoutName(entry map[string]any) map[string]any {
	out := maps.Clone(entry)
	delete(out, "name")
	return out
}

// editMerge edits a strategic merge patch.
func (s site) editMerge(p patchRef, doc int, content map[string]any) []Candidate {
	change := s.change.Path
	old := splice.Lookup(content, change)
	own := p.target == nil || exact(p.target["name"])
	var out []Candidate
	if s.change.After.Set {
		if old.Set || own && describes(content, change) {
			after, what, added, err := s.changeIn(p.data, doc, nil, content)
			out = s.write(p, what, after, err, added)
		}
		if own && !old.Set {
			out = append(out, s.joinPatch(p, doc, content)...)
		}
		return out
	}
	if old.Set && old.V != nil {
		after, err := splice.Remove(p.data, doc, lone(content, change))
		out = s.write(p, "remove "+change.String(), after, err, changesValue)
		after, what, added, err := s.changeIn(p.data, doc, nil, content)
		out = append(out, s.write(p, what, after, err, added)...)
	}
	if own {
		out = append(out, s.joinPatch(p, doc, content)...)
	}
	return out
}

// lone shortens path to the outermost mapping or list of a patch that holds nothing else.
func lone(content any, path gitops.Path) gitops.Path {
	for len(path) > 1 {
		parent := path[:len(path)-1]
		if !single(content, parent) {
			return path
		}
		path = parent
	}
	return path
}

// single says whether the mapping or list at path has one entry at most.
func single(content any, path gitops.Path) bool {
	switch v := splice.Lookup(content, path).V.(type) {
	case map[string]any:
		return len(v) <= 1
	case []any:
		return len(v) <= 1
	}
	return true
}

// joinPatch writes into a patch what a new patch would say.
func (s site) joinPatch(p patchRef, doc int, content map[string]any) []Candidate {
	var out []Candidate
	for _, more := range s.patchContents() {
		if more.list != nil && splice.Lookup(content, more.list).Set {
			continue // the patch repeats the list already: the change is made there
		}
		after, err := splice.Set(p.data, doc, nil, merged(content, more.body))
		added := addsEntry
		if more.added == lastResort {
			added = lastResort
		}
		what := "add "
		if !s.change.After.Set {
			what = "delete "
		}
		out = append(out, s.write(p, what+s.change.Path.String(), after, err, added)...)
	}
	return out
}

// merged joins two patches: mappings by key, lists of mappings by the entries' shared keys. What b adds to a
// list stands behind the entry that b names before it.
func merged(a, b any) any {
	switch b := b.(type) {
	case map[string]any:
		m, ok := a.(map[string]any)
		if !ok {
			return b
		}
		out := map[string]any{}
		for k, v := range m {
			out[k] = v
		}
		for k, v := range b {
			if old, there := out[k]; there {
				v = merged(old, v)
			}
			out[k] = v
		}
		return out
	case []any:
		list, ok := a.([]any)
		if !ok {
			return b
		}
		list = slices.Clone(list)
		before := -1
		for _, v := range b {
			i := splice.Find(list, keysOf(v))
			switch {
			case i >= 0:
				list[i] = merged(list[i], v)
			case before >= 0:
				i = before + 1
				list = slices.Insert(list, i, v)
			default:
				i = len(list)
				list = append(list, v)
			}
			before = i
		}
		return list
	}
	return b
}

// keysOf gives the plain fields of a list entry by which it is known: the path of a mount, since a volume may be
// mounted twice, name, or else all scalars.
func keysOf(v any) []gitops.Key {
	m, ok := v.(map[string]any)
	if !ok {
		return []gitops.Key{{Value: text(v)}}
	}
	for _, key := range []string{"mountPath", "devicePath", "name"} {
		if v, ok := m[key]; ok {
			return []gitops.Key{{Name: key, Value: text(v)}}
		}
	}
	var keys []gitops.Key
	for k, v := range m {
		switch v.(type) {
		case map[string]any, []any:
		default:
			if !strings.HasPrefix(k, "$") {
				keys = append(keys, gitops.Key{Name: k, Value: text(v)})
			}
		}
	}
	return keys
}

// patches says whether a strategic merge patch is for the object.
func (s site) patches(content, target map[string]any) bool {
	if target != nil {
		return selects(target, s.declared)
	}
	o := gitops.NewObject(content)
	written := s.declared.Origin.Written
	return o.ID.Kind == written.Kind && o.ID.Group == written.Group && (o.ID.Name == written.Name || o.ID.Name == s.declared.ID.Name)
}

// selects says whether a target may select the object; selectors by label are taken to do so.
func selects(target map[string]any, d gitops.Declared) bool {
	match := func(key string, values ...string) bool {
		want, ok := target[key].(string)
		if !ok || want == "" {
			return true
		}
		re, err := regexp.Compile("^(?:" + want + ")$")
		return err == nil && slices.ContainsFunc(values, re.MatchString)
	}
	return match("kind", d.ID.Kind) && match("group", d.ID.Group) && match("name", d.ID.Name, d.Origin.Written.Name) &&
		match("namespace", d.ID.Namespace, d.Origin.Written.Namespace)
}

// exact says whether a target's name is a plain name rather than a pattern.
func exact(name any) bool {
	s, ok := name.(string)
	return ok && s != "" && regexp.QuoteMeta(s) == s || ok && !strings.ContainsAny(s, "*+?|()[]^$\\") && s != ""
}
