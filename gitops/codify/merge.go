package codify

import (
	"slices"
	"strconv"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// nest gives the patch content that holds value at the change's path: mappings, and list entries with
// their keys. kustomize puts the entries that a patch names in front of the others; with ordered the
// entries that come before are therefore named too, so that the order stays.
func (s site) nest(ordered bool, value any) any { return s.nestFrom(0, ordered, value) }

func (s site) nestFrom(i int, ordered bool, value any) any {
	path := s.change.Path
	if i == len(path) {
		return value
	}
	inner := s.nestFrom(i+1, ordered, value)
	step := path[i]
	switch {
	case step.IsField():
		return map[string]any{step.Field: inner}
	case step.IsEntry() && step.Keys[0].Name != "":
		entry, ok := inner.(map[string]any)
		if !ok {
			entry = map[string]any{}
		}
		out := s.identity(path[:i], step.Keys)
		s.leaveOut(out, entry, path[:i], step.Keys)
		for k, v := range entry {
			out[k] = v
		}
		var before []any
		if ordered {
			before = s.entriesBefore(path[:i], step.Keys)
		}
		return append(before, out)
	}
	return []any{inner}
}

// identity gives the fields that pick an entry: the keys of the path, and those by which kustomize merges.
func (s site) identity(list gitops.Path, keys []gitops.Key) map[string]any {
	out := map[string]any{}
	for _, k := range keys {
		out[k.Name] = keyValue(k.Value)
	}
	declared := splice.Lookup(s.declared.Content, list.Child(gitops.Entry(keys...))).V
	entry, _ := declared.(map[string]any)
	for _, k := range keys {
		if v, there := entry[k.Name]; there {
			out[k.Name] = v
		} else if entry != nil {
			delete(out, k.Name) // a default that Git does not spell out
		}
	}
	for _, name := range s.meaning.mergeKeys(s.declared.Object, list) {
		if v, there := entry[name]; there {
			out[name] = v
		}
	}
	return out
}

// leaveOut takes from a new entry's identity the keys that are left to their defaults, in it and in the list's
// other entries: kustomize would not match the others any more, and would lose their order.
func (s site) leaveOut(identity, entry map[string]any, list gitops.Path, keys []gitops.Key) {
	others, _ := splice.Lookup(s.declared.Content, list).V.([]any)
	if splice.Find(others, keys) >= 0 {
		return
	}
	for _, k := range keys {
		carried := slices.ContainsFunc(others, func(v any) bool { return len(keysIn(v, []string{k.Name})) > 0 })
		if _, there := entry[k.Name]; !there && !carried && len(keysIn(entry, names(keys))) > 0 {
			delete(identity, k.Name)
		}
	}
}

// entriesBefore gives the entries that stand before the one with keys, by their keys alone.
func (s site) entriesBefore(listPath gitops.Path, keys []gitops.Key) []any {
	list, _ := splice.Lookup(s.declared.Content, listPath).V.([]any)
	i := splice.Find(list, keys)
	if i < 0 {
		i = s.insertion(listPath, list, keys)
	}
	var out []any
	for _, v := range list[:i] {
		entry, _ := v.(map[string]any)
		only := map[string]any{}
		for _, name := range append(s.meaning.mergeKeys(s.declared.Object, listPath), names(keys)...) {
			if value, there := entry[name]; there {
				only[name] = value
			}
		}
		out = append(out, only)
	}
	return out
}

func names(keys []gitops.Key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.Name
	}
	return out
}

// keyValue reads a key's printed value: merge keys are strings or whole numbers.
func keyValue(s string) any {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i
	}
	return s
}

// deletion is what a strategic merge patch says to take the value at path away.
func deletion(path gitops.Path) any {
	if path[len(path)-1].IsEntry() {
		return map[string]any{"$patch": "delete"}
	}
	return nil
}
