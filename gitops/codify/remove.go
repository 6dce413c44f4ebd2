package codify

import (
	"context"
	"path"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// removedObject takes an object that is gone from the cluster out of Git: the document or file that
// declares it, with the entries that name the file and the patches that are for this object alone.
type removedObject struct{}

func (removedObject) candidates(_ context.Context, s site) []Candidate {
	if !s.remove {
		return nil
	}
	out := s.removeDeclaration()
	if len(s.layers) > 0 && s.declared.Origin.Written.Name != "" {
		out = append(out, s.addPatch("delete "+s.declared.ID.String(), map[string]any{"$patch": "delete"}, addsSection)...)
	}
	return out
}

func (s site) removeDeclaration() []Candidate {
	file := linked(s.tree, s.declared.Origin.File)
	data, ok := s.tree.Read(file)
	if s.declared.Origin.File == "" || !ok {
		return nil
	}
	doc, prefix, ok := s.placeOf(file, data)
	if !ok {
		return nil
	}
	docs, _ := splice.Documents(data)
	c := Candidate{What: "remove " + s.declared.ID.String() + " from " + file}
	others := slices.ContainsFunc(docs, func(d any) bool { return d != nil && !isWritten(d, s.declared.Origin.Written) })
	items, _ := splice.Lookup(docs[doc], gitops.Path{gitops.Field("items")}).V.([]any)
	gone := false
	switch {
	case prefix != nil && len(items) > 1:
		after, err := splice.Remove(data, doc, prefix)
		if err != nil {
			s.refuse(c.What, err)
			return nil
		}
		c.Edits = append(c.Edits, gitops.Edit{Path: file, Before: data, After: after})
	case others && prefix == nil || countSet(docs) > 1:
		after, err := splice.RemoveDocument(data, doc)
		if err != nil {
			s.refuse(c.What, err)
			return nil
		}
		c.Edits = append(c.Edits, gitops.Edit{Path: file, Before: data, After: after})
	default:
		gone = true
		c.Edits = append(c.Edits, gitops.Edit{Path: file, Before: data, Remove: true})
	}
	for _, l := range s.layers {
		edits, ok := s.forget(l, file, gone)
		if !ok {
			return nil
		}
		c.Edits = append(c.Edits, edits...)
	}
	return []Candidate{c}
}

func countSet(docs []any) int {
	n := 0
	for _, d := range docs {
		if d != nil {
			n++
		}
	}
	return n
}

// forget takes out of a kustomization the file, when it is gone, and what is for the object alone: patches and
// replica counts. A section goes with its last entry.
func (s site) forget(l layer, file string, gone bool) ([]gitops.Edit, bool) {
	data := l.data
	left := map[string]int{}
	var edits []gitops.Edit
	remove := func(key string, i int) bool {
		if _, begun := left[key]; !begun {
			left[key] = len(l.list(key))
		}
		at := gitops.Path{gitops.Field(key), gitops.Index(i)}
		if left[key]--; left[key] == 0 {
			at = at[:1]
		}
		after, err := splice.Remove(data, l.doc, at)
		if err != nil {
			s.refuse("remove "+at.String()+" from "+l.file, err)
			return false
		}
		data = after
		return true
	}
	for _, key := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
		list := l.list(key)
		for i := len(list) - 1; i >= 0; i-- {
			only, patchFile := s.patchForThis(l, list[i])
			if !only {
				continue
			}
			if !remove(key, i) {
				return nil, false
			}
			if before, ok := s.tree.Read(patchFile); ok && patchFile != "" {
				edits = append(edits, gitops.Edit{Path: linked(s.tree, patchFile), Before: before, Remove: true})
			}
		}
	}
	for i := len(l.list("replicas")) - 1; i >= 0; i-- {
		entry, _ := l.list("replicas")[i].(map[string]any)
		if s.countedAlone(entry) && !remove("replicas", i) {
			return nil, false
		}
	}
	for i := len(l.list("resources")) - 1; gone && i >= 0; i-- {
		ref, _ := l.list("resources")[i].(string)
		if linked(s.tree, path.Join(l.dir, ref)) == file && !remove("resources", i) {
			return nil, false
		}
	}
	if e, changed := s.edit(l.file, data); changed {
		edits = append(edits, e)
	}
	return edits, true
}

// countedAlone says whether an entry of a kustomization's replicas is for the object and no other.
func (s site) countedAlone(entry map[string]any) bool {
	names := func(d gitops.Declared) bool {
		return (entry["name"] == d.Origin.Written.Name || entry["name"] == d.ID.Name) && splice.Lookup(d.Content, gitops.Path{gitops.Field("spec"), gitops.Field("replicas")}).Set
	}
	return names(s.declared) && !slices.ContainsFunc(s.objects, func(d gitops.Declared) bool { return d.ID != s.declared.ID && names(d) })
}

// patchForThis says whether a patch entry is for the object alone, and in which file it lies.
func (s site) patchForThis(l layer, entry any) (only bool, file string) {
	m, _ := entry.(map[string]any)
	target, _ := m["target"].(map[string]any)
	text, _ := m["patch"].(string)
	if ref, ok := m["path"].(string); ok {
		file = path.Join(l.dir, ref)
	}
	if ref, ok := entry.(string); ok {
		if data, isFile := s.tree.Read(path.Join(l.dir, ref)); isFile {
			file, text = path.Join(l.dir, ref), string(data)
		} else {
			text = ref
		}
	} else if file != "" {
		data, _ := s.tree.Read(file)
		text = string(data)
	}
	if target != nil {
		return exact(target["kind"]) && exact(target["name"]) && selects(target, s.declared), file
	}
	docs, err := splice.Documents([]byte(text))
	if err != nil || countSet(docs) != 1 {
		return false, ""
	}
	content, ok := docs[0].(map[string]any)
	return ok && s.patches(content, nil), file
}
