package argocd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// settings is what argocd-cm says that matters here.
type settings struct {
	method, label, install string
	// interval is how often Git is asked; zero where it is not set, negative for never.
	interval time.Duration
	ignore   []gitops.IgnoreRule
}

// settings reads the argocd-cm that holds for an Application: that of the controller's namespace, or of the
// Application's own, or the only one.
func (d *decoder) settings(controller string, id gitops.ObjectID) settings {
	var all []gitops.Object
	for _, o := range d.objects {
		if o.ID.Group == "" && o.ID.Kind == "ConfigMap" && o.ID.Name == ConfigMap {
			all = append(all, o)
		}
	}
	for _, namespace := range []string{controller, id.Namespace} {
		i := slices.IndexFunc(all, func(o gitops.Object) bool { return o.ID.Namespace == namespace })
		if namespace != "" && i >= 0 {
			return d.configured(all[i])
		}
	}
	if len(all) == 1 && controller == "" {
		return d.configured(all[0])
	}
	return settings{label: InstanceLabel}
}

func (d *decoder) configured(o gitops.Object) settings {
	var c struct {
		Data map[string]string `json:"data"`
	}
	if err := into(o, &c); err != nil {
		d.once(o.ID, "its data: %v", err)
		return settings{label: InstanceLabel}
	}
	out := settings{
		method: c.Data["application.resourceTrackingMethod"],
		label:  c.Data["application.instanceLabelKey"], install: c.Data["installationID"],
	}
	if out.label == "" {
		out.label = InstanceLabel
	}
	if text, ok := c.Data["timeout.reconciliation"]; ok {
		interval, err := time.ParseDuration(text)
		switch {
		case err != nil:
			d.once(o.ID, "data.timeout.reconciliation is no duration such as 180s")
		case interval <= 0: // switched off
			out.interval = -1
		default:
			out.interval = interval
		}
	}
	out.ignore = d.customizations(o.ID, c.Data)
	return out
}

// once adds a problem of the settings, which all Applications share.
func (d *decoder) once(id gitops.ObjectID, format string, args ...any) {
	p := gitops.EngineProblem{Object: id, Kind: gitops.Undecodable, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(d.problems, p) {
		d.problems = append(d.problems, p)
	}
}

// tracking gives the marks by the configured method. The default is the annotation since 3.0 and was the label
// before; which version runs is not told, so without a setting both are taken.
func (s settings) tracking(name string) gitops.Tracking {
	label := map[string]string{s.label: name}
	switch s.method {
	case "label":
		return gitops.Tracking{Labels: label, Selector: s.label}
	case "annotation":
		return gitops.Tracking{Annotation: TrackingAnnotation, Installation: s.install}
	case "annotation+label": // the label is for people; it decides nothing
		return gitops.Tracking{Annotation: TrackingAnnotation, Installation: s.install, Selector: s.label}
	}
	return gitops.Tracking{Annotation: TrackingAnnotation, Installation: s.install, Labels: label, Selector: s.label}
}

const customizations = "resource.customizations"

// override is how argocd-cm customises a kind.
type override struct {
	JSONPointers          []string `json:"jsonPointers"`
	JQPathExpressions     []string `json:"jqPathExpressions"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers"`
}

// customizations gives the ignore rules of the whole instance: one key for each kind
// (resource.customizations.ignoreDifferences.<group>_<kind>, or .all), and the older form, one mapping of kinds.
func (d *decoder) customizations(id gitops.ObjectID, data map[string]string) []gitops.IgnoreRule {
	var out []gitops.IgnoreRule
	add := func(key, kind, text string) {
		var o override
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			d.once(id, "%s is not read: it is no mapping of jsonPointers, jqPathExpressions and managedFieldsManagers", key)
			return
		}
		group, kind, grouped := strings.Cut(kind, "/")
		if !grouped {
			group, kind = "", group
		}
		rule := ignoreDifference{
			Group: group, Kind: kind, JSONPointers: o.JSONPointers, JQPathExpressions: o.JQPathExpressions,
			ManagedFieldsManagers: o.ManagedFieldsManagers,
		}.rule(fmt.Sprintf("%s of ConfigMap %s/%s", key, id.Namespace, id.Name))
		if len(rule.Paths)+len(rule.JQ)+len(rule.Managers) > 0 {
			out = append(out, rule)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		kind, ok := strings.CutPrefix(key, customizations+".ignoreDifferences.")
		switch {
		case ok && kind == "all":
			add(key, "*/*", data[key])
		case ok:
			add(key, strings.Replace(kind, "_", "/", 1), data[key])
		}
	}
	var older map[string]struct {
		IgnoreDifferences string `json:"ignoreDifferences"`
	}
	if err := yaml.Unmarshal([]byte(data[customizations]), &older); err != nil {
		d.once(id, "%s is not read: it is no mapping of kinds", customizations)
	}
	for _, kind := range slices.Sorted(maps.Keys(older)) {
		add(customizations+`["`+kind+`"].ignoreDifferences`, kind, older[kind].IgnoreDifferences)
	}
	return out
}

// ignore gives the Application's own ignore rules.
func (a application) ignore() []gitops.IgnoreRule {
	var out []gitops.IgnoreRule
	for i, rule := range a.Spec.IgnoreDifferences {
		out = append(out, rule.rule(fmt.Sprintf("spec.ignoreDifferences[%d]", i)))
	}
	return out
}

// rule gives the noun. Group and kind are glob patterns, name and namespace are exact; an empty group is the
// core group.
func (r ignoreDifference) rule(name string) gitops.IgnoreRule {
	return gitops.IgnoreRule{
		Name: name, Paths: r.JSONPointers, JQ: r.JQPathExpressions, Managers: r.ManagedFieldsManagers, Exact: true,
		Target: &gitops.PatchTarget{Group: r.Group, Kind: r.Kind, Name: r.Name, Namespace: r.Namespace},
	}
}

// wideIgnores says which ignore rules amount to turning the correction off: those that leave a whole object or
// its spec alone, and those that leave every kind to a manager, whose name anybody can take.
func wideIgnores(rules []gitops.IgnoreRule) []string {
	var out []string
	for _, r := range rules {
		for _, path := range slices.Concat(r.Paths, r.JQ) {
			if path = strings.TrimSpace(path); slices.Contains([]string{"", "/", "/spec", ".", "..", ".spec", ".spec?", ".[]", ".spec[]"}, path) {
				out = append(out, fmt.Sprintf("%s ignores %q of %s whole", r.Name, path, selected(r.Target)))
			}
		}
		if len(r.Managers) > 0 && strings.Contains(r.Target.Kind, "*") {
			out = append(out, fmt.Sprintf("%s ignores whatever %s writes to %s", r.Name, strings.Join(r.Managers, ", "), selected(r.Target)))
		}
	}
	return out
}

func selected(t *gitops.PatchTarget) string {
	out := t.Kind
	if t.Kind == "*" {
		out = "every kind"
	} else if t.Group != "" {
		out += "." + t.Group
	}
	if t.Name != "" {
		out += " " + t.Name
	}
	return out
}
