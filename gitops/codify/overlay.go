package codify

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// newPatch adds a patch to the kustomization that the Application renders: the overlay that owns the
// environment. It follows the notation that the overlay uses for its other patches.
type newPatch struct{}

func (newPatch) candidates(_ context.Context, s site) []Candidate {
	if s.remove || s.declared.Origin.Written.Name == "" {
		return nil
	}
	what := "set "
	if !s.change.After.Set {
		what = "delete "
	}
	what += s.change.Path.String()
	return s.inBothSpellings(func(s site) []Candidate {
		var out []Candidate
		for _, c := range s.patchContents() {
			out = append(out, s.addPatch(what, c.body, c.added)...)
		}
		return out
	})
}

// patchContent is what a strategic merge patch may say below the object's identity, and how much structure
// that is in a new patch.
type patchContent struct {
	body  any
	added int
	// list is the list that the patch repeats as a whole, if it does.
	list gitops.Path
}

// patchContents gives what a patch may say to bring the change about.
func (s site) patchContents() []patchContent {
	value := s.change.After.V
	if !s.change.After.Set {
		value = deletion(s.change.Path)
	}
	var out []patchContent
	inList := slices.ContainsFunc(s.change.Path, func(step gitops.Step) bool { return !step.IsField() })
	if keyed(s.change.Path) && (!s.custom || !inList) {
		out = append(out, patchContent{body: s.nest(s.change.After.Set, value), added: addsSection})
		if s.change.After.Set {
			out = append(out, patchContent{body: s.nest(false, value), added: lastResort})
		}
	}
	// A list that does not merge is replaced as a whole: the patch repeats it with the change.
	if listPath, whole, ok := s.wholeList(s.custom); ok {
		repeat := s
		repeat.change.Path = listPath
		out = append(out, patchContent{repeat.nest(true, whole), addsFile, listPath})
	} else if list, whole, ok := s.wholeList(true); ok {
		entries, _ := whole.([]any)
		repeat := s
		repeat.change.Path = list
		replaced := append([]any{map[string]any{"$patch": "replace"}}, entries...)
		out = append(out, patchContent{repeat.nest(true, replaced), lastResort, list})
	}
	return out
}

// keyed says whether all lists on the way are stepped into by key.
func keyed(p gitops.Path) bool {
	return !slices.ContainsFunc(p, func(s gitops.Step) bool { return s.IsIndex() || s.IsEntry() && s.Keys[0].Name == "" })
}

// wholeList gives a list that the change lies in, with the change made: the outermost one, or else the
// first that is stepped into by position.
func (s site) wholeList(outermost bool) (gitops.Path, any, bool) {
	i := slices.IndexFunc(s.change.Path, func(step gitops.Step) bool {
		return step.IsIndex() || step.IsEntry() && (outermost || step.Keys[0].Name == "")
	})
	if i < 0 {
		return nil, nil, false
	}
	changed := s.declared.Content
	list, _ := splice.Lookup(changed, s.change.Path[:len(s.change.Path)-1]).V.([]any)
	last := s.change.Path[len(s.change.Path)-1]
	if s.change.After.Set && last.IsEntry() && index(list, last) < 0 {
		at := s.insertion(s.change.Path[:len(s.change.Path)-1], list, last.Keys)
		list = slices.Insert(slices.Clone(list), at, s.change.After.V)
		changed, _ = with(changed, s.change.Path[:len(s.change.Path)-1], list).(map[string]any)
	} else if s.change.After.Set {
		changed, _ = with(changed, s.change.Path, s.change.After.V).(map[string]any)
	} else {
		changed, _ = without(changed, s.change.Path).(map[string]any)
	}
	whole := splice.Lookup(changed, s.change.Path[:i])
	return s.change.Path[:i], whole.V, whole.Set
}

// with gives content with value at path, a missing list entry appended.
func with(content any, path gitops.Path, value any) any {
	if len(path) == 0 {
		return value
	}
	step := path[0]
	if step.IsField() {
		m, _ := content.(map[string]any)
		m = maps.Clone(m)
		if m == nil {
			m = map[string]any{}
		}
		m[step.Field] = with(m[step.Field], path[1:], value)
		return m
	}
	list, _ := content.([]any)
	list = slices.Clone(list)
	i := index(list, step)
	if i < 0 {
		return append(list, with(nil, path[1:], value))
	}
	list[i] = with(list[i], path[1:], value)
	return list
}

// addPatch adds a strategic merge patch with this content below the object's identity, to the overlay or,
// as a last resort, to the Flux Kustomization.
func (s site) addPatch(what string, content any, added int) []Candidate {
	patch, ok := s.identified(content)
	if !ok {
		return nil
	}
	var out []Candidate
	owners := s.owners()
	for _, l := range s.allLayers() {
		weight, owns := owners[l.file]
		if !owns {
			continue
		}
		style := splice.StyleOf(l.data)
		what := fmt.Sprintf("%s by a new patch in %s", what, l.file)
		out = append(out, s.addPatchTo(l, what, splice.Document(patch, style), max(added, weight))...)
		// kustomize trims inline patches, and with them a text that ends the patch: quotes hold it.
		if text, ok := s.change.After.V.(string); ok && strings.HasSuffix(text, "\n") {
			style.Quoted = true
			out = append(out, s.addPatchTo(l, what, splice.Document(patch, style), max(added, weight))...)
		}
	}
	return out
}

// identified gives a strategic merge patch with this content for the object.
func (s site) identified(content any) (map[string]any, bool) {
	body, ok := content.(map[string]any)
	written := s.declared.Origin.Written
	metadata := map[string]any{"name": written.Name}
	if written.Namespace != "" {
		metadata["namespace"] = written.Namespace
	}
	patch, _ := merged(map[string]any{"apiVersion": s.declared.APIVersion, "kind": written.Kind, "metadata": metadata}, body).(map[string]any)
	return patch, ok
}

func (s site) addPatchTo(l layer, what string, text []byte, added int) []Candidate {
	written := s.declared.Origin.Written
	inline, legacy := l.patchNotation()
	at := gitops.Path{gitops.Field("patches"), gitops.Index(len(l.list("patches")))}
	if inline || l.engine != nil {
		return s.set(l, what, at, map[string]any{"patch": strings.ReplaceAll(string(text), "\r\n", "\n")}, added)
	}
	name := s.freeName(l, fmt.Sprintf("patch-%s-%s", strings.ToLower(written.Kind), strings.ToLower(written.Name)))
	entry := any(map[string]any{"path": name})
	if legacy {
		entry, at = name, gitops.Path{gitops.Field("patchesStrategicMerge"), gitops.Index(len(l.list("patchesStrategicMerge")))}
	}
	out := s.set(l, what, at, entry, max(added, addsFile))
	for i := range out {
		e, _ := s.edit(path.Join(l.dir, name), text)
		out[i].Edits = append(out[i].Edits, e)
	}
	return out
}

// patchNotation tells how a kustomization notes its patches: inside the file, or in the old list of files.
func (l layer) patchNotation() (inline, legacy bool) {
	files := 0
	for _, v := range l.list("patches") {
		entry, _ := v.(map[string]any)
		if _, ok := entry["path"]; ok {
			files++
		} else if _, ok := entry["patch"]; ok {
			inline = true
		}
	}
	return inline && files == 0, len(l.list("patches")) == 0 && len(l.list("patchesStrategicMerge")) > 0
}

// freeName gives a file name that is not taken in the layer's folder, in the folder where its patches lie.
func (s site) freeName(l layer, name string) string {
	folder := ""
	for _, v := range l.list("patches") {
		entry, _ := v.(map[string]any)
		if file, ok := entry["path"].(string); ok && !strings.HasPrefix(file, "..") {
			folder = path.Dir(file)
		}
	}
	ext := ".yaml"
	if path.Ext(l.file) == ".yml" {
		ext = ".yml"
	}
	for i := 1; ; i++ {
		candidate := path.Join(folder, name+ext)
		if i > 1 {
			candidate = path.Join(folder, fmt.Sprintf("%s-%d%s", name, i, ext))
		}
		if _, taken := s.tree.File(path.Join(l.dir, candidate)); !taken {
			return candidate
		}
	}
}
