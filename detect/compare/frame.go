package compare

import (
	"fmt"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// frame is one step of the walk: into a field, or to an entry of a list.
type frame struct {
	field string
	// An entry: its list's type and keys, the lists, and its index in each or -1.
	list      *typed.Type
	keys      []string
	git, live []any
	gitI, lvI int
}

// path gives the path to where the walk stands. repeated says that it passes an entry whose keys are not
// unique in a list that ought to have unique ones.
func (w *walker) path() (path gitops.Path, repeated bool) {
	path = make(gitops.Path, 0, len(w.frames))
	for i := range w.frames {
		f := &w.frames[i]
		if f.list == nil {
			path = append(path, gitops.Field(f.field))
			continue
		}
		step, unique := f.step()
		path = append(path, step)
		repeated = repeated || !unique && f.list.List == typed.KeyedList
	}
	return path, repeated
}

// step names the entry by as few keys as tell it apart, else by its index.
func (f *frame) step() (step gitops.Step, unique bool) {
	entry, index := any(nil), f.lvI
	if f.lvI >= 0 {
		entry = f.live[f.lvI]
	} else {
		entry, index = f.git[f.gitI], f.gitI
	}
	m, ok := entry.(map[string]any)
	if !ok || len(f.keys) == 0 {
		return gitops.Index(index), false
	}
	for n := 1; n <= len(f.keys); n++ {
		keys := f.keys[:n]
		if countKeyed(f.list, keys, f.git, m) > 1 || countKeyed(f.list, keys, f.live, m) > 1 {
			continue
		}
		var named []gitops.Key
		for _, key := range keys {
			if v, there := m[key]; there {
				named = append(named, gitops.Key{Name: key, Value: fmt.Sprint(v)})
			}
		}
		if len(named) == 0 {
			break
		}
		return gitops.Entry(named...), true
	}
	return gitops.Index(index), false
}

func countKeyed(list *typed.Type, keys []string, entries []any, entry map[string]any) int {
	n := 0
	for _, other := range entries {
		if m, ok := other.(map[string]any); ok && sameKeys(list, keys, m, entry) {
			n++
		}
	}
	return n
}

// sameKeys compares the merge keys of two entries; an absent key counts as its default.
func sameKeys(list *typed.Type, keys []string, a, b map[string]any) bool {
	for _, key := range keys {
		x, y := a[key], b[key]
		if x == nil || y == nil {
			x, y = keyDefault(list, key, x), keyDefault(list, key, y)
		}
		if !typed.Plain.SameScalar(x, y) {
			return false
		}
	}
	return true
}

func keyDefault(list *typed.Type, key string, v any) any {
	if v != nil || list.Elem == nil {
		return v
	}
	f := list.Elem.Field(key)
	if f == nil {
		return v
	}
	v, _ = f.Constant()
	return v
}
