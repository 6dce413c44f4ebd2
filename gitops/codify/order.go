package codify

import (
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// disorder is a list in which a render has an added entry on another side of some entry than live has it.
type disorder struct {
	list gitops.Path
	// matters says that the two orders do not mean the same.
	matters bool
}

// disordered says whether the entry that a goal adds stands in an object among other neighbours than it does live.
// Only entries that both have count: the others come and go by goals of their own.
func (w *work) disordered(g *goal, d gitops.Declared) (disorder, bool) {
	path := g.change.Path
	if g.remove || !g.change.After.Set || len(path) == 0 || !path[len(path)-1].IsEntry() {
		return disorder{}, false
	}
	at, keys := path[:len(path)-1], path[len(path)-1].Keys
	list, _ := splice.Lookup(d.Content, at).V.([]any)
	live, _ := splice.Lookup(g.wish.Live.Content, at).V.([]any)
	i, j := splice.Find(list, keys), splice.Find(live, keys)
	if i < 0 || j < 0 {
		return disorder{}, false
	}
	out, found := disorder{list: at}, false
	known := append(names(keys), w.meaning.mergeKeys(d.Object, at)...)
	for other, entry := range list {
		k := -1
		if same := keysIn(entry, known); other != i && len(same) > 0 {
			k = splice.Find(live, same)
		}
		if k < 0 || k == j || (other < i) == (k < j) {
			continue
		}
		found = true
		out.matters = out.matters || w.meaning.ordered(d.Object, at) || refer(list[i], entry) || refer(entry, list[i])
	}
	return out, found
}

// keysIn gives those of the named keys that an entry carries; the empty name stands for the entry itself.
func keysIn(entry any, names []string) []gitops.Key {
	m, isMap := entry.(map[string]any)
	if !isMap {
		return []gitops.Key{{Value: text(entry)}}
	}
	var out []gitops.Key
	for _, name := range names {
		if v, there := m[name]; there && !slices.ContainsFunc(out, func(k gitops.Key) bool { return k.Name == name }) {
			out = append(out, gitops.Key{Name: name, Value: text(v)})
		}
	}
	return out
}

// ordered says whether the order of the list at path has a meaning, or may have one.
func (m meaning) ordered(o gitops.Object, path gitops.Path) bool {
	t, _ := m.of(o)
	at, ok := t.At(path)
	return !ok || at.Ordered || !at.Unordered
}

// refer says whether the environment variable user has the value of another, used, in its own: Kubernetes
// expands $(NAME) only from variables that stand before.
func refer(user, used any) bool {
	u, _ := user.(map[string]any)
	value, _ := u["value"].(string)
	other, _ := used.(map[string]any)
	name, _ := other["name"].(string)
	return name != "" && strings.Contains(value, "$("+name+")")
}

// effect says what merging does to the object.
func (d disorder) effect(id gitops.ObjectID) string {
	name := "its entries"
	if n := len(d.list); n > 0 && d.list[n-1].IsField() {
		name = d.list[n-1].Field
	}
	running := id.Group == "apps" && slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, id.Kind)
	if running && len(d.list) > 1 && d.list[0].Field == "spec" && d.list[1].Field == "template" {
		return "merging reorders " + name + " and restarts its pods"
	}
	return "merging reorders " + name
}
