package gitops

// Overlap says whether one of two paths of an object leads to the other or to what it leads to, however each
// of them picks an entry of a list: a renderer counts entries, a comparison tells them by their keys. content is
// the object in which they are the same entry; one that it lacks is the same as long as no key tells it apart. Two
// entries that are both counted overlap: in a list without keys an insertion moves what lies behind it.
func Overlap(content any, a, b Path) bool {
	at := content
	for i := range min(len(a), len(b)) {
		one, other := a[i], b[i]
		if one.IsField() || other.IsField() {
			if one.Field != other.Field {
				return false
			}
			m, _ := at.(map[string]any)
			at = m[one.Field]
			continue
		}
		list, _ := at.([]any)
		at = nil
		if one.IsIndex() && other.IsIndex() {
			if one.Index == other.Index && one.Index < len(list) {
				at = list[one.Index]
			}
			continue
		}
		if one.IsEntry() && other.IsEntry() && one.Equal(other) {
			if n := FindEntry(list, one.Keys); n >= 0 {
				at = list[n]
			}
			continue
		}
		n := one.index(list)
		if n != other.index(list) || n < 0 && !sameKeys(one.Keys, other.Keys) {
			return false
		}
		if n >= 0 {
			at = list[n]
		}
	}
	return true
}

// sameKeys says whether two entries have a key in common, and none that differs.
func sameKeys(a, b []Key) bool {
	common := false
	for _, one := range a {
		for _, other := range b {
			if one.Name != other.Name {
				continue
			}
			if one.Value != other.Value {
				return false
			}
			common = true
		}
	}
	return common
}

// index is the place in list that a step picks; -1 where there is none.
func (s Step) index(list []any) int {
	n := s.Index
	if s.IsEntry() {
		n = FindEntry(list, s.Keys)
	}
	if n >= len(list) {
		return -1
	}
	return n
}
