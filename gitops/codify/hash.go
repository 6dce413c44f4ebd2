package codify

import (
	"maps"
	"regexp"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// hashed is a name that ends in the hash that kustomize appends to what it generates (api/hasher: ten of these
// characters).
var hashed = regexp.MustCompile(`^(.+)-[bcdfghkmt2456789]{10}$`)

// baseOf gives a generated name without its hash, "" for a name without one.
func baseOf(name string) string {
	if m := hashed.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

// withNamesOf gives a render in which what kustomize generated bears the names of an earlier render: where the
// contents changed, and so the hash, the objects and all that refers to them read as if the hash had stayed. What
// differs then beside the contents did not follow from them. now is not changed, and given back where no hash moved.
func withNamesOf(first, now *render.Result) *render.Result {
	names := movedHashes(first.Objects, now.Objects)
	if len(names) == 0 {
		return now
	}
	out := *now
	out.Objects = make([]gitops.Declared, len(now.Objects))
	for i, d := range now.Objects {
		content, _ := gitops.RewriteTexts(d.Content, nil, func(text string, _ []string) string {
			if name, ok := names[text]; ok {
				return name
			}
			return text
		})
		d.Content, _ = content.(map[string]any)
		d.ID = renamedID(d.ID, names)
		out.Objects[i] = d
	}
	out.Unsure, out.Unstable, out.Secret = renamedKeys(now.Unsure, names), renamedKeys(now.Unstable, names), renamedKeys(now.Secret, names)
	return &out
}

// named gives a member's render with the names that its first render gave to what kustomize generates.
func (w *work) named(m *member, r *render.Result) *render.Result {
	i := slices.Index(w.members, m)
	if i < 0 || w.start.renders[i].result == nil || r == nil {
		return r
	}
	return withNamesOf(w.start.renders[i].result, r)
}

// movedHashes gives for each generated name of now that first has with another hash the name in first.
func movedHashes(first, now []gitops.Declared) map[string]string {
	base := func(d gitops.Declared) (gitops.ObjectID, bool) {
		id := d.ID
		id.Name = baseOf(id.Name)
		return id, id.Name != "" && generatorSection(d.ID) != ""
	}
	left := map[gitops.ObjectID]string{}
	for _, d := range first {
		if id, ok := base(d); ok {
			left[id] = d.ID.Name
		}
	}
	if len(left) == 0 {
		return nil
	}
	there := map[gitops.ObjectID]bool{}
	for _, d := range now {
		there[d.ID] = true
	}
	names := map[string]string{}
	twice := map[string]bool{}
	for _, d := range now {
		id, ok := base(d)
		before := left[id]
		if !ok || before == "" || before == d.ID.Name {
			continue
		}
		old := d.ID
		old.Name = before
		if other, taken := names[d.ID.Name]; there[old] || taken && other != before {
			twice[d.ID.Name] = true
		}
		names[d.ID.Name] = before
	}
	maps.DeleteFunc(names, func(name, _ string) bool { return twice[name] })
	return names
}

func renamedID(id gitops.ObjectID, names map[string]string) gitops.ObjectID {
	if name, ok := names[id.Name]; ok && generatorSection(id) != "" {
		id.Name = name
	}
	return id
}

func renamedKeys(of map[gitops.ObjectID][]gitops.Path, names map[string]string) map[gitops.ObjectID][]gitops.Path {
	if of == nil {
		return nil
	}
	out := make(map[gitops.ObjectID][]gitops.Path, len(of))
	for id, paths := range of {
		out[renamedID(id, names)] = paths
	}
	return out
}
