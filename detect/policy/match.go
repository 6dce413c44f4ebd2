package policy

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/glob"
	"holdfast/gitops/strictyaml"
)

// Matcher is the plain part of a rule. Texts may hold * (any characters) and ? (one character).
type Matcher struct {
	Cause []detect.Cause `json:"cause,omitempty" jsonschema:"enum=none,enum=manual,enum=admission,enum=autoscaler,enum=controller,enum=api,enum=render,enum=missing,enum=orphaned,enum=pending,enum=contested,enum=unknown"`
	Risk  []detect.Risk  `json:"risk,omitempty" jsonschema:"enum=low,enum=medium,enum=high,enum=critical"`
	// Kind is Kind for any group, or Kind.group; .core names the core group.
	Kind []string `json:"kind,omitempty"`
	// Namespace is the object's; "" is a cluster-scoped object.
	Namespace []string `json:"namespace,omitempty"`
	Cluster   []string `json:"cluster,omitempty"`
	// Application is namespace/name, or a name in any namespace.
	Application []string `json:"application,omitempty"`
	// Path matches the field and everything below it: spec.replicas, spec.containers[*].image,
	// metadata.labels["example.com/*"], **.resources. ** alone also matches the object as a whole.
	Path     []string          `json:"path,omitempty"`
	Presence []detect.Presence `json:"presence,omitempty" jsonschema:"enum=both,enum=git-only,enum=live-only"`
	// Change is compare's verdict on the field.
	Change    []detect.DifferenceKind `json:"change,omitempty" jsonschema:"enum=spelling,enum=defaulted,enum=server-set,enum=reordered,enum=changed,enum=removed,enum=added,enum=unknown-field,enum=repeated-keys"`
	Drift     *bool                   `json:"drift,omitempty"`
	Sensitive *bool                   `json:"sensitive,omitempty"`
	// Undeclared is true for a field that Git does not have, and for an object that is live only.
	Undeclared *bool `json:"undeclared,omitempty"`
	// EngineRemoves is true for an addition that the engine takes away by itself.
	EngineRemoves *bool    `json:"engineRemoves,omitempty"`
	Class         []string `json:"class,omitempty"`

	paths []pathGlob
}

// compile reads the path globs and refuses lists without an entry, which nothing could match.
func (m *Matcher) compile(file string, line int, rule string) (errs []error) {
	empty := map[string]bool{
		"cause": m.Cause != nil && len(m.Cause) == 0, "risk": m.Risk != nil && len(m.Risk) == 0,
		"kind": m.Kind != nil && len(m.Kind) == 0, "namespace": m.Namespace != nil && len(m.Namespace) == 0,
		"cluster": m.Cluster != nil && len(m.Cluster) == 0, "application": m.Application != nil && len(m.Application) == 0,
		"path": m.Path != nil && len(m.Path) == 0, "presence": m.Presence != nil && len(m.Presence) == 0,
		"change": m.Change != nil && len(m.Change) == 0, "class": m.Class != nil && len(m.Class) == 0,
	}
	for key, is := range empty {
		if is {
			errs = append(errs, strictyaml.Errorf(file, line, "rule %q: %s: the list is empty, so the rule can never match; leave the key out", rule, key))
		}
	}
	for _, text := range m.Path {
		glob, err := parsePathGlob(text)
		if err != nil {
			errs = append(errs, strictyaml.Errorf(file, line, "rule %q: %v", rule, err))
		}
		m.paths = append(m.paths, glob)
	}
	return errs
}

// mismatch says why the matcher does not match, or "" when it does.
func (m *Matcher) mismatch(s subject) string {
	object := s.in.Finding.Object
	switch {
	case m.Drift != nil && *m.Drift != s.field.Drift:
		return wantsBool("drift", s.field.Drift)
	case m.Cause != nil && !slices.Contains(m.Cause, s.field.Cause):
		return wants("cause", string(s.field.Cause), m.Cause)
	case m.Risk != nil && !slices.Contains(m.Risk, s.field.Risk):
		return wants("risk", s.field.Risk.String(), m.Risk)
	case m.Presence != nil && !slices.Contains(m.Presence, s.in.Finding.Presence):
		return wants("presence", string(s.in.Finding.Presence), m.Presence)
	case m.Change != nil && !slices.Contains(m.Change, s.field.Kind):
		return wants("change", string(s.field.Kind), m.Change)
	case m.Undeclared != nil && *m.Undeclared != s.undeclared():
		return wantsBool("undeclared", s.undeclared())
	case m.EngineRemoves != nil && *m.EngineRemoves != s.in.EngineRemoves:
		return wantsBool("engineRemoves", s.in.EngineRemoves)
	case m.Sensitive != nil && *m.Sensitive != s.field.Sensitive:
		return wantsBool("sensitive", s.field.Sensitive)
	case m.Class != nil && !anyGlob(m.Class, s.field.Class):
		return wants("class", s.field.Class, m.Class)
	case m.Kind != nil && !anyKind(m.Kind, object.ID().GroupKind()):
		return wants("kind", kindName(object.ID().GroupKind()), m.Kind)
	case m.Namespace != nil && !anyGlob(m.Namespace, object.Namespace):
		return wants("namespace", object.Namespace, m.Namespace)
	case m.Cluster != nil && !anyGlob(m.Cluster, s.in.Finding.Cluster):
		return wants("cluster", s.in.Finding.Cluster, m.Cluster)
	case m.Application != nil && !anyApplication(m.Application, s.in.Finding.Application):
		return wants("application", s.in.Finding.Application, m.Application)
	case m.paths != nil && !anyPath(m.paths, s.field.Path):
		return wants("path", s.field.Path.String(), m.Path)
	}
	return ""
}

func wants[T any](what, is string, want []T) string {
	var b strings.Builder
	b.WriteString(what + " is " + orNone(is) + ", the rule wants ")
	for i, w := range want {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteString(orNone(fmt.Sprint(w)))
	}
	return b.String()
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func wantsBool(what string, is bool) string {
	if is {
		return what + " is true, the rule wants false"
	}
	return what + " is false, the rule wants true"
}

// kindName prints a kind as rules name it.
func kindName(gk gitops.GroupKind) string {
	if gk.Group == "" {
		return gk.Kind
	}
	return gk.Kind + "." + gk.Group
}

// anyKind matches Kind (any group), Kind.group and Kind.core.
func anyKind(patterns []string, gk gitops.GroupKind) bool {
	group := gk.Group
	if group == "" {
		group = "core"
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		if strings.Contains(p, ".") {
			return glob.Match(p, gk.Kind+"."+group)
		}
		return glob.Match(p, gk.Kind)
	})
}

// anyApplication matches namespace/name, or a pattern without a slash against the name alone.
func anyApplication(patterns []string, application string) bool {
	name := application[strings.LastIndex(application, "/")+1:]
	return slices.ContainsFunc(patterns, func(p string) bool {
		if strings.Contains(p, "/") {
			return glob.Match(p, application)
		}
		return glob.Match(p, name)
	})
}

func anyGlob(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return glob.Match(p, text) })
}
