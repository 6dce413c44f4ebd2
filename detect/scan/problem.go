package scan

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/render"
)

// whole says whether all that the member's sources declare is known.
func (m *member) whole() bool {
	return m.result != nil && !slices.ContainsFunc(m.result.Problems, func(p render.Problem) bool { return p.Kind != render.DuplicateKey })
}

// problems turns faults of the sources into unknown objects; repeated keys, which still render, become one
// finding about their object.
func (j *judge) problems(out *detect.Scan, m *member) {
	repeated := map[gitops.ObjectID][]string{}
	for _, p := range m.result.Problems {
		text := fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
		if p.Line == 0 {
			text = fmt.Sprintf("%s: %s", p.File, p.Message)
		}
		if p.Kind == render.DuplicateKey {
			repeated[p.Object] = append(repeated[p.Object], text)
			continue
		}
		out.Unknown = append(out.Unknown, detect.UnknownObject{
			Cluster: j.target.Name, Application: appName(m.app), Object: refOf(p.Object, j.snapshot.Objects), Reason: text,
		})
	}
	for i := range m.declared {
		d := &m.declared[i]
		texts, ok := repeated[d.ID]
		if !ok {
			continue
		}
		f := j.finding(m, detect.Ref(d.Object), detect.Both)
		f.ID = detect.Digest(f.ID, "repeated keys")[:12] // the object's own drift is another finding
		f.Declared, f.Live = d, j.live(d.ID)
		f.ObjectLevel, f.Drift, f.Cause = true, true, detect.CauseNone
		f.Reason = strings.Join(texts, "; ") + ": strict parsers refuse the file, lenient ones take the last value"
		j.settleObject(&f, m)
		out.Findings = append(out.Findings, f)
	}
}
