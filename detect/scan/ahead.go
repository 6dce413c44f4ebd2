package scan

import (
	"fmt"
	"slices"

	"holdfast/detect"
	"holdfast/gitops"
)

// pending lays the source's newest commit, where the engine has not applied it in full, over the fields of an
// object: those in which it asks for something else are added, and what the engine alone has made as it asks,
// on the way there, is no drift. What a person made so stays one until the engine has applied it.
func (j *judge) pending(m *member, head *gitops.Declared, live *gitops.Object, fields []detect.Field) []detect.Field {
	if head == nil {
		return fields
	}
	ahead, err := j.compare(m, head.Object, *live)
	if err != nil {
		return fields // the comparison with the applied revision has said so
	}
	ahead = slices.DeleteFunc(ahead, func(d detect.Difference) bool { return !d.Differs })
	for i := range fields {
		field := &fields[i]
		open := slices.ContainsFunc(ahead, func(d detect.Difference) bool { return overlap(d.Path, field.Path) })
		if w := field.Writer; field.Differs && !open && (w == nil || w.Manager == "" && w.User == "" || m.writes(*w)) {
			field.Drift, field.Cause = false, detect.CausePending
			field.Reason = fmt.Sprintf("Git is ahead: commit %.12s, not applied in full yet, declares it as it is.", m.headCommit)
		}
	}
	known := fields
	for _, d := range m.masked(head.Object, ahead) {
		same := slices.ContainsFunc(known, func(k detect.Field) bool {
			return k.Path.Equal(d.Path) && fmt.Sprint(k.Git.V) == fmt.Sprint(d.Git.V)
		})
		if !same {
			fields = append(fields, detect.Field{
				Path: d.Path, Git: d.Git, Live: d.Live, Differs: true, Cause: detect.CausePending, Kind: d.Kind, Masked: d.Masked,
				Reason: fmt.Sprintf("Git is ahead: commit %.12s is not applied yet.", m.headCommit),
			})
		}
	}
	return fields
}

func overlap(a, b gitops.Path) bool { return a.HasPrefix(b) || b.HasPrefix(a) }
