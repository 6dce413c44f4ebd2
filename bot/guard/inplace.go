package guard

import (
	"strings"

	"holdfast/gitops"
)

// inPlace compares what should be in the cluster with what is.
func (a *assessment) inPlace(manifests []Manifest) []Guarded {
	live := map[gitops.ObjectID]gitops.Object{}
	for o := range a.cluster.Objects() {
		if strings.HasPrefix(o.ID.Kind, "ValidatingAdmissionPolicy") {
			live[o.ID] = o
		}
	}
	var out []Guarded
	for _, m := range manifests {
		if !strings.HasPrefix(m.Object.ID.Kind, "ValidatingAdmissionPolicy") {
			continue
		}
		g := Guarded{Name: m.Object.ID.Kind + " " + m.Object.ID.Name}
		switch o, ok := live[m.Object.ID]; {
		case !ok:
			g.Why = "not in the cluster"
		case !covers(o.Content["spec"], m.Object.Content["spec"]):
			g.Why = "is not as it should be"
		default:
			g.InPlace = true
		}
		out = append(out, g)
	}
	return out
}

// covers says whether a live value holds all that is wanted; an API server adds defaults to mappings only.
func covers(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, _ := live.(map[string]any)
		for key, value := range want {
			if !covers(have[key], value) {
				return false
			}
		}
		return true
	case []any:
		have, _ := live.([]any)
		if len(have) != len(want) {
			return false
		}
		for i := range want {
			if !covers(have[i], want[i]) {
				return false
			}
		}
		return true
	}
	return live == want
}
