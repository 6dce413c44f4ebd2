package scan

import (
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/detect/compare"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// compareSecret compares a Secret of which only the metadata was read: its metadata by value, its data by
// ownership alone. A key that others than the engine wrote since differs, as far as can be told; a key that the
// engine wrote is as it applied it.
func (j *judge) compareSecret(m *member, declared, live gitops.Object) ([]detect.Difference, error) {
	git := declared
	git.Content = map[string]any{"apiVersion": declared.APIVersion, "kind": declared.ID.Kind, "metadata": declared.Content["metadata"]}
	differences, err := j.comparer.Compare(git, live, compare.Options{All: j.in.All})

	keys := map[string]bool{}
	for _, part := range []string{"data", "stringData"} {
		data, _ := declared.Content[part].(map[string]any)
		for key := range data {
			keys[key] = true
		}
	}
	owners := dataOwners(live)
	for _, key := range slices.Sorted(mapsKeys(keys, owners)) {
		d := detect.Difference{Path: gitops.Path{gitops.Field("data"), gitops.Field(key)}, Differs: true, Masked: true, Owners: owners[key]}
		d.Live = gitops.Present(compare.Masked)
		switch {
		case !keys[key]:
			d.Kind = detect.Added
		case len(owners[key]) == 0:
			d.Kind, d.Git, d.Live = detect.Removed, gitops.Present(compare.Masked), gitops.Value{}
		case slices.ContainsFunc(owners[key], func(w detect.Writer) bool { return !m.writes(w) }):
			d.Kind, d.Git = detect.Changed, gitops.Present(compare.Masked)
		default:
			continue
		}
		differences = append(differences, d)
	}
	return differences, err
}

// dataOwners gives the managers of each data key, latest first, read from managedFields alone.
func dataOwners(live gitops.Object) map[string][]detect.Writer {
	metadata, _ := live.Content["metadata"].(map[string]any)
	out := map[string][]detect.Writer{}
	entries, _ := metadata["managedFields"].([]any)
	for _, entry := range entries {
		e, _ := entry.(map[string]any)
		fields, _ := e["fieldsV1"].(map[string]any)
		data, _ := fields["f:data"].(map[string]any)
		sets, err := typed.ParseManagedFields(map[string]any{"managedFields": []any{entry}})
		if err != nil || len(sets) != 1 {
			continue
		}
		for name := range data {
			if key, ok := strings.CutPrefix(name, "f:"); ok {
				out[key] = append(out[key], detect.Writer{
					Manager: sets[0].Manager, Operation: sets[0].Operation, Subresource: sets[0].Subresource,
					Time: sets[0].Time, Confidence: detect.ByManager,
				})
			}
		}
	}
	for key := range out {
		slices.SortStableFunc(out[key], func(a, b detect.Writer) int { return b.Time.Compare(a.Time) })
	}
	return out
}

// writes says whether a writer is the engine of this Application.
func (m *member) writes(w detect.Writer) bool {
	return slices.ContainsFunc(m.app.Managers, func(e gitops.Manager) bool {
		return e.Name == w.Manager && (e.Operation == "" || e.Operation == w.Operation)
	})
}

func mapsKeys(a map[string]bool, b map[string][]detect.Writer) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range a {
			if !yield(k) {
				return
			}
		}
		for k := range b {
			if !a[k] && !yield(k) {
				return
			}
		}
	}
}

// masked hides values that come from a Secret by substitution: the fields where the render put one, and any
// other that holds such a value, as where a person copied it to another variable. declared is the object as
// rendered.
func (m *member) masked(declared gitops.Object, differences []detect.Difference) []detect.Difference {
	values := m.secretValues()
	for i := range differences {
		d := &differences[i]
		if slices.ContainsFunc(m.result.Secret[declared.ID], func(p gitops.Path) bool { return gitops.Overlap(declared.Content, p, d.Path) }) ||
			m.stored.covers(declared, d.Path) || holds(d.Git.V, values) || holds(d.Live.V, values) {
			d.Git, d.Live, d.Masked = mask(d.Git), mask(d.Live), true
		}
	}
	return differences
}

// shortSecret is the length below which a value is not looked for: it would be found everywhere. Where the
// render put it, it is hidden all the same.
const shortSecret = 4

// secretValues are the values of the Secrets that variables of this Application come from.
func (m *member) secretValues() []string {
	k := m.app.Render.Kustomize
	if k == nil || k.PostBuild == nil {
		return nil
	}
	var out []string
	for _, from := range k.PostBuild.SubstituteFrom {
		if from.Kind != "Secret" {
			continue
		}
		for _, value := range from.Values {
			if len(value) >= shortSecret {
				out = append(out, value)
			}
		}
	}
	return out
}

// holds says whether a value has any of the texts in it.
func holds(v any, texts []string) bool {
	has := func(s string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(s, t) })
	}
	switch v := v.(type) {
	case string:
		return has(v)
	case map[string]any:
		for key, item := range v {
			if has(key) || holds(item, texts) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return holds(item, texts) })
	}
	return false
}

func mask(v gitops.Value) gitops.Value {
	if v.Set {
		v.V = compare.Masked
	}
	return v
}
