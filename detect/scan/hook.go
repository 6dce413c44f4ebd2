package scan

import (
	"slices"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/gitops"
)

// claimHooks claims what the hooks of charts left.
func (j *judge) claimHooks(members []*member) {
	for _, m := range members {
		if m.result == nil {
			continue
		}
		for _, hook := range m.result.Hooks {
			if j.isHook(m, hook) {
				j.claimed[hook.ID] = true
			}
		}
	}
}

// isHook says whether a live object is what a chart's hook left: Helm keeps those that no deletion policy removes
// (https://helm.sh/docs/topics/charts_hooks/#hook-deletion-policies). One that somebody changed where it is sensitive
// is not: nothing else would tell.
func (j *judge) isHook(m *member, hook gitops.Declared) bool {
	o := j.live(hook.ID)
	if o == nil {
		return false
	}
	differences, err := j.comparer.Compare(hook.Object, *o, compare.Options{})
	if err != nil {
		return false
	}
	fields := m.facts.Fields(classify.Subject{App: m.app, Declared: &hook, Live: o}, differences)
	return !slices.ContainsFunc(fields, func(f detect.Field) bool { return f.Drift && f.Sensitive })
}
