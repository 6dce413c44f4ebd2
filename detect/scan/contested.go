package scan

import (
	"fmt"
	"slices"
	"time"

	"holdfast/detect"
	"holdfast/detect/audit"
	"holdfast/gitops"
)

const (
	// contestedFlips is how often a field changes hands between two writers in contestedTime before it counts as
	// contested: corrected twice, and twice changed again.
	contestedFlips = 3
	contestedTime  = 24 * time.Hour
)

// contested finds fields that two writers keep overwriting, as only an audit log shows: two owners in managedFields may
// well agree. A field that stands as Git has it at the moment is added, for it will not stay so.
func (j *judge) contested(m *member, declared gitops.Object, live *gitops.Object, fields []detect.Field) []detect.Field {
	if j.in.Audit == nil {
		return fields
	}
	since := j.in.Now.Add(-contestedTime)
	history := j.in.Audit.Of(live.ID, m.app, live)
	if history.Writes(since) <= contestedFlips {
		return fields
	}
	for i := range fields {
		if c, ok := contest(history.Writers(fields[i].Path, since)); ok && fields[i].Differs {
			c.settle(&fields[i])
		}
	}
	for _, path := range leaves(nil, declared.Content) {
		if slices.ContainsFunc(fields, func(f detect.Field) bool { return overlap(f.Path, path) }) {
			continue
		}
		if c, ok := contest(history.Writers(path, since)); ok {
			field := detect.Field{Path: path, Git: gitops.Lookup(declared.Content, path), Live: gitops.Lookup(live.Content, path), Kind: detect.Changed}
			if declared.IsSecret() && path[0].Field == "data" {
				field.Git, field.Live, field.Masked = mask(field.Git), mask(field.Live), true
			}
			c.settle(&field)
			fields = append(fields, field)
		}
	}
	return fields
}

// conflict is how two writers fight over a field.
type conflict struct {
	one, other  detect.Writer
	flips       int
	first, last time.Time
}

// contest looks for the two writers between whom the field changed hands most often.
func contest(flips []audit.Flip) (conflict, bool) {
	var worst conflict
	for i := 1; i < len(flips); i++ {
		c := conflict{one: flips[i-1].Writer, other: flips[i].Writer}
		for k := 1; k < len(flips); k++ {
			a, b := flips[k-1].Writer, flips[k].Writer
			if a.Name() == c.one.Name() && b.Name() == c.other.Name() || a.Name() == c.other.Name() && b.Name() == c.one.Name() {
				if c.flips == 0 {
					c.first = a.Time
				}
				c.flips, c.last, c.other, c.one = c.flips+1, b.Time, b, a
			}
		}
		if c.flips > worst.flips {
			worst = c
		}
	}
	return worst, worst.flips >= contestedFlips
}

// settle gives the field the conflict as its cause. Its writer is who of the two is a person, else who wrote last.
func (c conflict) settle(f *detect.Field) {
	writer := c.other
	if c.one.IsPerson() && !c.other.IsPerson() {
		writer = c.one
	}
	f.Cause, f.Drift, f.Writer = detect.CauseContested, true, &writer
	f.Reason = fmt.Sprintf("%s and %s keep overwriting each other: it changed hands %d times between %s and %s.",
		c.one.Name(), c.other.Name(), c.flips, c.first.UTC().Format("2006-01-02 15:04"), c.last.UTC().Format("15:04 UTC"))
}

// leaves gives the paths of the values of an object that are neither mappings nor lists, but for the identity. Entries
// of lists are told by their name; those without one are looked at as a whole list.
func leaves(path gitops.Path, v any) []gitops.Path {
	switch v := v.(type) {
	case map[string]any:
		var out []gitops.Path
		for key, item := range v {
			if key == "" || len(path) == 0 && (key == "apiVersion" || key == "kind" || key == "metadata") {
				continue
			}
			out = append(out, leaves(path.Child(gitops.Field(key)), item)...)
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
