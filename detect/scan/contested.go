package scan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/detect"
	"holdfast/detect/audit"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/gitops"
)

const (
	// contestedFlips is how often a field changes hands between two writers in contestedTime before it counts as
	// contested: corrected twice, and twice changed again.
	contestedFlips = 3
	contestedTime  = 24 * time.Hour
)

// contested finds fields that two writers keep overwriting, as only an audit log shows: two owners in managedFields may
// well agree. A difference that is no drift for a known reason stays none. A field that stands as Git has it at the
// moment is added, for it will not stay so.
func (j *judge) contested(m *member, s classify.Subject, fields []detect.Field) []detect.Field {
	if j.in.Audit == nil {
		return fields
	}
	until := j.in.Now
	if last := j.in.Audit.Last; j.snapshot.Cluster == "" && last.Before(until) {
		until = last // a dump may be as old as its log
	}
	since := until.Add(-contestedTime)
	history := j.in.Audit.Of(s.Live.ID, m.app, s.Live)
	if history.Writes(since) <= contestedFlips {
		return fields
	}
	for i := range fields {
		if !fields[i].Drift {
			continue
		}
		if c, ok := contest(history.Writers(fields[i].Path, since)); ok {
			c.settle(&fields[i])
		}
	}
	declared := m.stored.git(s.Declared.Object)
	if declared.IsSecret() { // as the API server keeps it
		declared.Content = compare.FoldStringData(declared.Content)
	}
	for _, path := range leaves(nil, declared.Content) {
		if m.isUnsure(s.Declared.Object, path) || slices.ContainsFunc(fields, func(f detect.Field) bool { return overlap(f.Path, path) }) {
			continue
		}
		if c, ok := contest(history.Writers(path, since)); ok && !m.facts.Excused(s, c.difference(declared, path)) {
			added := []detect.Field{m.inSync(s, declared, path)}
			if unstable(m, s.Declared.Object, added); added[0].Drift {
				c.settle(&added[0])
				fields = append(fields, added[0])
			}
		}
	}
	return fields
}

// inSync is a declared field that is contested although live holds Git's value, without that value where it is a secret.
func (m *member) inSync(s classify.Subject, declared gitops.Object, path gitops.Path) detect.Field {
	d := detect.Difference{Path: path, Git: gitops.Lookup(declared.Content, path), Live: gitops.Lookup(s.Live.Content, path), Kind: detect.Changed}
	if declared.IsSecret() && path[0].Field == "data" {
		// Live may have been read without its values.
		d.Git, d.Live, d.Masked = gitops.Present(compare.Masked), gitops.Present(compare.Masked), true
	}
	d = m.masked(s.Declared.Object, []detect.Difference{d})[0]
	return detect.Field{Path: path, Git: d.Git, Live: d.Live, Kind: d.Kind, Masked: d.Masked, Differs: true, Drift: true}
}

// conflict is how two writers fight over a field.
type conflict struct {
	// one wrote before other, at the last time that the field changed hands between them.
	one, other  audit.Flip
	flips       int
	first, last time.Time
}

// contest looks for the two writers between whom the field changed hands most often.
func contest(flips []audit.Flip) (conflict, bool) {
	between := map[[2]string]*conflict{}
	worst := &conflict{}
	for i := 1; i < len(flips); i++ {
		one, other := flips[i-1], flips[i]
		pair := [2]string{one.Writer.Name(), other.Writer.Name()}
		slices.Sort(pair[:])
		c := between[pair]
		if c == nil {
			c = &conflict{first: one.Writer.Time}
			between[pair] = c
		}
		c.flips, c.last, c.one, c.other = c.flips+1, other.Writer.Time, one, other
		if c.flips > worst.flips {
			worst = c
		}
	}
	return *worst, worst.flips >= contestedFlips
}

// difference is the one that there is whenever the field holds what the writer before the last one gave it: Git's own
// value came last.
func (c conflict) difference(declared gitops.Object, path gitops.Path) detect.Difference {
	d := detect.Difference{
		Path: path, Git: gitops.Lookup(declared.Content, path), Live: c.one.Value, Differs: true, Kind: detect.Changed, Owners: []detect.Writer{c.one.Writer},
	}
	if !d.Live.Set {
		d.Kind = detect.Removed
	}
	return d
}

// settle gives the field the conflict as its cause. Its writer is who of the two is a person, else who wrote last.
func (c conflict) settle(f *detect.Field) {
	one, other := c.one.Writer, c.other.Writer
	writer := other
	if one.IsPerson() && !other.IsPerson() {
		writer = one
	}
	f.Cause, f.Drift, f.Writer = detect.CauseContested, true, &writer
	f.Reason = fmt.Sprintf("%s and %s keep overwriting each other: it changed hands %d times between %s and %s.",
		one.Name(), other.Name(), c.flips, c.first.UTC().Format("2006-01-02 15:04"), c.last.UTC().Format("15:04 UTC"))
}

// leaves gives the paths of the values of an object that are neither mappings nor lists, but for the identity. Entries
// of lists are told by their name; those without one are looked at as a whole list.
func leaves(path gitops.Path, v any) []gitops.Path {
	switch v := v.(type) {
	case map[string]any:
		var out []gitops.Path
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key == "" || len(path) == 0 && (key == "apiVersion" || key == "kind" || key == "metadata") {
				continue
			}
			out = append(out, leaves(path.Child(gitops.Field(key)), v[key])...)
		}
		return out
	case []any:
		var out []gitops.Path
		for _, item := range v {
			entry, _ := item.(map[string]any)
			name, ok := entry["name"].(string)
			if !ok {
				return []gitops.Path{path}
			}
			out = append(out, leaves(path.Child(gitops.Entry(gitops.Key{Name: "name", Value: name})), entry)...)
		}
		return out
	}
	return []gitops.Path{path}
}
