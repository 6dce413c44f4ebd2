package argocd

import (
	"fmt"
	"slices"

	"holdfast/gitops"
)

// windows names the sync windows of the Application's project that concern it. They hold up self-heal too.
// Whether one is open now is not told: that takes the clock.
func (d *decoder) windows(a application, id gitops.ObjectID) []string {
	var out []string
	for _, o := range d.objects {
		if o.ID.Group != Group || o.ID.Kind != "AppProject" || o.ID.Name != a.Spec.Project ||
			a.Status.ControllerNamespace != "" && o.ID.Namespace != a.Status.ControllerNamespace {
			continue
		}
		var p appProject
		if err := into(o, &p); err != nil {
			d.once(o.ID, "%s: %v", o.APIVersion, err)
			continue
		}
		for _, w := range p.Spec.SyncWindows {
			if w.concerns(a, id) {
				out = append(out, w.text(o.ID.Name))
			}
		}
	}
	return out
}

// concerns says whether the window selects the Application by its name, its destination's namespace or its
// cluster: by any of them, or by all that are given with andOperator.
func (w window) concerns(a application, id gitops.ObjectID) bool {
	to := a.Spec.Destination
	selects := func(patterns []string, texts ...string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			return slices.ContainsFunc(texts, func(t string) bool { return t != "" && gitops.Glob(p, t) })
		})
	}
	answers := []struct{ given, yes bool }{
		{len(w.Applications) > 0, selects(w.Applications, id.Name)},
		{len(w.Namespaces) > 0, selects(w.Namespaces, to.Namespace)},
		{len(w.Clusters) > 0, selects(w.Clusters, to.Server, to.Name)},
	}
	one, every := false, true
	for _, answer := range answers {
		if answer.given {
			one, every = one || answer.yes, every && answer.yes
		}
	}
	return one && (every || !w.AndOperator)
}

func (w window) text(project string) string {
	out := fmt.Sprintf("deny sync window %q for %s", w.Schedule, w.Duration)
	if w.Kind == "allow" {
		out = fmt.Sprintf("no sync outside the sync window %q for %s", w.Schedule, w.Duration)
	}
	if w.TimeZone != "" {
		out += " (" + w.TimeZone + ")"
	}
	out += " of AppProject " + project
	if w.ManualSync {
		out += ", but by hand"
	}
	return out
}
