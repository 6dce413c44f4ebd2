package scan

import (
	"slices"

	"holdfast/detect"
	"holdfast/gitops"
)

// unstablePaths are the fields of a declared object to which the chart gives another value at each render.
func (m *member) unstablePaths(object gitops.Object) []gitops.Path {
	var out []gitops.Path
	for _, p := range m.result.Unstable[object.ID] {
		out = append(out, asStored(object, p)...)
	}
	return out
}

// asStored gives a path, and the one at which the API server keeps it: what a Secret's stringData declares live has
// in data.
func asStored(object gitops.Object, p gitops.Path) []gitops.Path {
	if object.IsSecret() && len(p) > 0 && p[0].Field == "stringData" {
		return []gitops.Path{p, slices.Concat(gitops.Path{gitops.Field("data")}, p[1:])}
	}
	return []gitops.Path{p}
}

// unstable ends the drift of fields to which the chart gives another value at each render: what Git declares there
// is nothing that live could hold. Those whose value Helm's stored release tells are compared with that.
func unstable(m *member, object gitops.Object, fields []detect.Field) {
	paths := m.unstablePaths(object)
	for i := range fields {
		f := &fields[i]
		if f.Differs && !m.stored.covers(object, f.Path) &&
			slices.ContainsFunc(paths, func(p gitops.Path) bool { return gitops.Overlap(object.Content, p, f.Path) }) {
			f.Cause, f.Drift, f.Writer = detect.CauseRender, false, nil
			f.Reason = "The chart gives another value at each render: it depends on chance, on the time, or on what the cluster holds at that moment."
			if m.stored.why != "" {
				f.Reason += " Helm's stored release, which has what was applied, is not used: " + m.stored.why + "."
			}
		}
	}
}

// byChance turns a codify or revert of such a field, which Helm's stored release tells, into an issue: Git has no
// value for it, and the next render makes another. Only helm-controller's own correction brings back the stored one.
func (j *judge) byChance(m *member, object gitops.Object, field *detect.Field, d *detect.Decision) {
	if !field.Drift || !m.stored.covers(object, field.Path) ||
		field.Disposition != detect.Codify && (field.Disposition != detect.Revert || m.app.Correction == gitops.Heals) {
		return
	}
	field.Disposition, d.AfterHeal = detect.AsIssue, ""
	field.Rule += ", but Git declares no value that a commit could bring back"
	field.Reason += " The chart makes another value at each render: Helm's stored release has the right one, and spec.driftDetection.mode enabled puts it back."
}
