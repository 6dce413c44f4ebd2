package scan

import (
	"slices"

	"holdfast/detect"
	"holdfast/gitops"
)

// unstable ends the drift of fields to which the chart gives another value at each render: what Git declares there
// is nothing that live could hold.
func unstable(m *member, object gitops.Object, fields []detect.Field) {
	paths := m.result.Unstable[object.ID]
	if object.IsSecret() { // live has what stringData declares in data
		for _, p := range paths {
			if len(p) > 0 && p[0].Field == "stringData" {
				paths = append(slices.Clip(paths), slices.Concat(gitops.Path{gitops.Field("data")}, p[1:]))
			}
		}
	}
	for i := range fields {
		f := &fields[i]
		if f.Differs && slices.ContainsFunc(paths, func(p gitops.Path) bool { return gitops.Overlap(object.Content, p, f.Path) }) {
			f.Cause, f.Drift, f.Writer = detect.CauseRender, false, nil
			f.Reason = "The chart gives another value at each render: it depends on chance, on the time, or on what the cluster holds at that moment."
		}
	}
}
