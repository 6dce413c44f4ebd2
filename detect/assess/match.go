package assess

import (
	"fmt"

	"holdfast/detect"
	"holdfast/gitops"
)

// switchClass is the class of marks that turn an engine's correction off.
const switchClass = "correction_switch"

// engineClass is the class of the engines' own objects.
const engineClass = "gitops_engine"

// fallbackClass holds what no row matches.
const fallbackClass = "custom_resource"

// classify gives the class of a field, or of the whole object when path is empty.
func (a *Assessor) classify(object detect.ObjectRef, path gitops.Path, git, live gitops.Value) string {
	id := object.ID()
	for _, m := range a.matches {
		if m.names(id) && m.covers(object, path, git, live) {
			return m.Class
		}
	}
	return fallbackClass
}

// Sensitive says whether a field is never excused by a field manager's name alone: RBAC rules and
// subjects, webhooks, policies, network policies, images, security contexts and host access, the data of
// Secrets, engine objects, Pod Security labels and opt-out marks. A value that holds such a field below it
// is sensitive too.
func (a *Assessor) Sensitive(object detect.ObjectRef, path gitops.Path, git, live gitops.Value) bool {
	id := object.ID()
	for _, m := range a.sensitive {
		if m.names(id) && (m.covers(object, path, git, live) || m.below(object, path, git, 0) || m.below(object, path, live, 0)) {
			return true
		}
	}
	return false
}

// Weighty says whether a field matters too much for its looks alone to say who wrote it: its risk in production is high,
// or it is one of the table's.
func (a *Assessor) Weighty(in Input) bool {
	in.Tier, in.Field.Drift, in.Presence = detect.Production, true, detect.Both
	id, f := in.Object.ID(), in.Field
	for _, m := range a.weighty {
		if m.names(id) && (m.covers(in.Object, f.Path, f.Git, f.Live) || m.below(in.Object, f.Path, f.Live, 0)) {
			return true
		}
	}
	return a.risk(a.classify(in.Object, f.Path, f.Git, f.Live), fieldCategory(f), in) >= detect.High
}

// sensitiveObject says whether the object as a whole is: some row without a pod part is about all of it,
// or its pods hold host access or a security context that falls below the declared one.
func (a *Assessor) sensitiveObject(in Input) bool {
	for _, m := range a.sensitive {
		if len(m.Objects) > 0 && m.names(in.Object.ID()) && len(m.pod) == 0 {
			return true
		}
	}
	return in.Live != nil && a.podLevel(in.Live) == levelPrivileged
}

// names says whether the row is for such an object.
func (m match) names(id gitops.ObjectID) bool {
	if len(m.Objects) == 0 {
		return true
	}
	for _, k := range m.Objects {
		if gitops.Glob(k.Group, id.Group) && anyGlob(k.Kinds, id.Kind) && anyGlob(k.Names, id.Name) && anyGlob(k.Namespaces, id.Namespace) {
			return true
		}
	}
	return false
}

// covers says whether the row is for such a field. A row with neither fields nor pod is for every field,
// and alone speaks for the object as a whole.
func (m match) covers(object detect.ObjectRef, path gitops.Path, git, live gitops.Value) bool {
	if m.Holds != "" && !hasKey(git.V, m.Holds) && !hasKey(live.V, m.Holds) {
		return false
	}
	if len(m.fields) == 0 && len(m.pod) == 0 {
		return true
	}
	if coveredBy(m.fields, path) {
		return true
	}
	inPod, ok := podPath(object, path)
	return ok && coveredBy(m.pod, inPod)
}

// below looks into a value for a field that the row covers.
func (m match) below(object detect.ObjectRef, path gitops.Path, value gitops.Value, depth int) bool {
	if !value.Set || depth > 16 {
		return false
	}
	visit := func(step gitops.Step, v any) bool {
		child, present := path.Child(step), gitops.Present(v)
		return m.covers(object, child, present, present) && (len(m.fields) > 0 || len(m.pod) > 0) ||
			m.below(object, child, present, depth+1)
	}
	switch v := value.V.(type) {
	case map[string]any:
		for key, item := range v {
			if key != "" && visit(gitops.Field(key), item) {
				return true
			}
		}
	case []any:
		for i, item := range v {
			if visit(gitops.Index(i), item) {
				return true
			}
		}
	}
	return false
}

func coveredBy(patterns []gitops.Pattern, path gitops.Path) bool {
	for _, p := range patterns {
		if p.Covers(path, nil) {
			return true
		}
	}
	return false
}

func hasKey(v any, key string) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	_, there := m[key]
	return there
}

func anyGlob(patterns []string, text string) bool {
	for _, p := range patterns {
		if gitops.Glob(p, text) {
			return true
		}
	}
	return len(patterns) == 0
}

// podSpecs are the places of a pod spec: in a Pod, in a CronJob, and in every other kind with a template.
func podSpecs(kind string) []gitops.Path {
	template := gitops.Path{gitops.Field("spec"), gitops.Field("template"), gitops.Field("spec")}
	switch kind {
	case "Pod":
		return []gitops.Path{{gitops.Field("spec")}}
	case "CronJob":
		return []gitops.Path{append(gitops.Path{gitops.Field("spec"), gitops.Field("jobTemplate")}, template...)}
	case "PodTemplate":
		return []gitops.Path{{gitops.Field("template"), gitops.Field("spec")}}
	}
	return []gitops.Path{template}
}

// podPath gives the part of path below the pod spec.
func podPath(object detect.ObjectRef, path gitops.Path) (gitops.Path, bool) {
	for _, prefix := range podSpecs(object.Kind) {
		if len(path) > len(prefix) && path.HasPrefix(prefix) {
			return path[len(prefix):], true
		}
	}
	return nil, false
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
