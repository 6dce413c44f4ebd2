package scan

import (
	"maps"
	"slices"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/gitops"
)

// deepest is how many lists a manifest has inside each other: containers, their env, and what custom resources add.
const deepest = 5

// unauthored gives the fields of an object that exists live only which neither people nor tools wrote: what would be no
// drift if Git declared the rest. Defaults and what the server keeps are not among them, since the type alone tells
// those. Entries of lists are looked into one level after the other.
func (j *judge) unauthored(m *member, live gitops.Object) []gitops.Path {
	var out, entries []gitops.Path
	for range deepest {
		declared := gitops.NewObject(skeleton(live, entries))
		differences, _ := j.comparer.Compare(declared, live, compare.Options{}) // fields whose owners cannot be read stay
		subject := classify.Subject{App: m.app, Declared: &gitops.Declared{Object: declared}, Live: &live}
		explained := m.explained(subject, differences)
		deeper := false
		for _, d := range differences {
			known := func(p gitops.Path) bool { return p.Equal(d.Path) }
			switch last := d.Path[len(d.Path)-1]; {
			case slices.ContainsFunc(explained, known):
				if !slices.ContainsFunc(out, known) {
					out = append(out, d.Path)
				}
			case last.IsEntry() && last.Keys[0].Name != "":
				entries, deeper = append(entries, d.Path), true
			}
		}
		if !deeper {
			break
		}
	}
	scaled := scaledBy(m.live(live.ID)) != "" || scaledBy(m.scalers[live.ID]) != ""
	if scaled && !slices.ContainsFunc(out, replicasPath().Equal) { // a person's count has no place in Git either
		out = append(out, replicasPath())
	}
	return out
}

// explained are the differences that are nobody's drift. Without managedFields only those count that a known writer
// explains: then nobody owns anything, which tells nothing.
func (m *member) explained(s classify.Subject, differences []detect.Difference) []gitops.Path {
	var out []gitops.Path
	if owners, _ := gitops.Lookup(s.Live.Content, gitops.Path{gitops.Field("metadata"), gitops.Field("managedFields")}).V.([]any); len(owners) == 0 {
		for _, d := range differences {
			if m.facts.Excused(s, d) {
				out = append(out, d.Path)
			}
		}
		return out
	}
	for _, f := range m.facts.Fields(s, differences) {
		if !f.Drift {
			out = append(out, f.Path)
		}
	}
	return out
}

// skeleton gives an object's identity, and of the list entries at some paths the keys.
func skeleton(live gitops.Object, entries []gitops.Path) map[string]any {
	out := map[string]any{
		"apiVersion": live.APIVersion, "kind": live.ID.Kind,
		"metadata": map[string]any{"name": live.ID.Name, "namespace": live.ID.Namespace},
	}
	for _, p := range entries {
		out, _ = planted(out, live.Content, p).(map[string]any)
	}
	return out
}

// planted gives at with the entry that path leads to in live, its keys alone.
func planted(at, live any, path gitops.Path) any {
	if len(path) == 0 {
		return at
	}
	step, rest := path[0], path[1:]
	below := gitops.Lookup(live, path[:1]).V
	if step.IsField() {
		m, _ := at.(map[string]any)
		m = maps.Clone(m)
		if m == nil {
			m = map[string]any{}
		}
		m[step.Field] = planted(m[step.Field], below, rest)
		return m
	}
	list, _ := at.([]any)
	if !step.IsEntry() {
		return at // entries without keys stay whole
	}
	list = slices.Clone(list)
	i := gitops.FindEntry(list, step.Keys)
	if i < 0 {
		entry, _ := below.(map[string]any)
		keys := map[string]any{}
		for _, key := range step.Keys {
			keys[key.Name] = entry[key.Name]
		}
		i, list = len(list), append(list, keys)
	}
	list[i] = planted(list[i], below, rest)
	return list
}
