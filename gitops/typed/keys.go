package typed

import (
	"fmt"

	"holdfast/gitops"
)

// EntryKeys gives the keys by which the entries of lists of this type are known. Entries of a custom resource's list
// are known by name where all have one and none repeats.
func (t *Type) EntryKeys(lists ...[]any) []string {
	if len(t.Keys) > 0 || !t.Custom {
		return t.Keys
	}
	some := false
	for _, list := range lists {
		if !uniqueNames(list) {
			return nil
		}
		some = some || len(list) > 0
	}
	if !some {
		return nil
	}
	return []string{"name"}
}

func uniqueNames(list []any) bool {
	for i, entry := range list {
		m, _ := entry.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" {
			return false
		}
		for _, before := range list[:i] {
			if before.(map[string]any)["name"] == name {
				return false
			}
		}
	}
	return true
}

// Places gives for each entry of a list of this type what tells it apart; an absent key counts as its default. ok is
// false where an entry has no key, or two entries are the same by theirs.
func (t *Type) Places(keys []string, list []any) (places []string, ok bool) {
	seen := map[string]bool{}
	for _, entry := range list {
		m, _ := entry.(map[string]any)
		place, has := "", false
		for _, key := range keys {
			v, there := m[key]
			has = has || there
			if f := t.Elem.field(key); v == nil && f != nil {
				v, _ = f.Constant()
			}
			place += fmt.Sprintf("%q ", fmt.Sprint(v))
		}
		if !has || seen[place] {
			return nil, false
		}
		seen[place] = true
		places = append(places, place)
	}
	return places, true
}

func (t *Type) field(name string) *Field {
	if t == nil {
		return nil
	}
	return t.Field(name)
}

// EntryStep names an entry by those of the keys that it has.
func EntryStep(keys []string, entry any) gitops.Step {
	m, _ := entry.(map[string]any)
	var named []gitops.Key
	for _, key := range keys {
		if v, there := m[key]; there {
			named = append(named, gitops.Key{Name: key, Value: fmt.Sprint(v)})
		}
	}
	return gitops.Entry(named...)
}
