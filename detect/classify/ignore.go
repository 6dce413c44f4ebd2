package classify

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"holdfast/detect"
	"holdfast/gitops"
)

// IgnoreRule is an ignore rule of the engine, decoded: Flux's spec.ignore, a HelmRelease's
// driftDetection.ignore or Argo CD's ignoreDifferences. A field that it matches keeps its cause and is no
// drift.
type IgnoreRule struct {
	// Name is how the finding names the rule: where it stands.
	Name string
	// Target limits the rule to objects; nil means every object of the Application. Group, Version, Kind,
	// Namespace and Name are regular expressions that match whole, as Flux reads them.
	Target *gitops.PatchTarget
	// Exact reads Target as Argo CD does: Group and Kind with * for any run of characters, and an empty Group for
	// the core group; Namespace and Name as they are, empty for any.
	Exact bool
	// Pointers are JSON pointers; "" is the whole object. A pointer covers what lies below it.
	Pointers []string
	// Managers ignore every field that one of these field managers owns.
	Managers []string
	// Select gives further paths in a live or declared object, from a query language that this package
	// does not know. Nil selects nothing.
	Select func(content map[string]any) []gitops.Path
}

// applyIgnore lays the engine's ignore rules over a verdict.
func (a *about) applyIgnore(field detect.Field, diff detect.Difference) detect.Field {
	if !diff.Differs {
		return field
	}
	for _, rule := range a.Ignore {
		if !rule.targets(*a.Live) {
			continue
		}
		for _, owner := range diff.Owners {
			if slices.Contains(rule.Managers, owner.Manager) {
				owner.Confidence = detect.ByManager
				return ignored(field, detect.CauseController, &owner, fmt.Sprintf(
					"The ignore rule %s names the manager %s: the field is that controller's business.", rule.Name, owner.Manager))
			}
		}
		if rule.points(a, diff.Path) {
			return ignored(field, field.Cause, field.Writer, fmt.Sprintf("The ignore rule %s covers it. %s", rule.Name, field.Reason))
		}
	}
	return field
}

func ignored(field detect.Field, cause detect.Cause, writer *detect.Writer, reason string) detect.Field {
	field.Cause, field.Writer, field.Reason, field.Drift = cause, writer, reason, false
	return field
}

// points says whether a pointer or a selected path covers the field.
func (r IgnoreRule) points(a *about, path gitops.Path) bool {
	for _, side := range []map[string]any{a.Live.Content, a.Declared.Content} {
		at := positions(path, side)
		for _, pointer := range r.Pointers {
			if covers(pointer, at) {
				return true
			}
		}
		if r.Select == nil {
			continue
		}
		for _, selected := range r.Select(side) {
			if hasPrefix(at, positions(selected, side)) {
				return true
			}
		}
	}
	return false
}

// positions spells a path by field names and list positions, as a JSON pointer does. An entry that is not
// on this side keeps a step that no pointer names.
func positions(path gitops.Path, content map[string]any) []string {
	out := make([]string, 0, len(path))
	for i, step := range path {
		switch {
		case step.IsField():
			out = append(out, step.Field)
		case step.IsIndex():
			out = append(out, strconv.Itoa(step.Index))
		default:
			list, _ := gitops.Lookup(content, path[:i]).V.([]any)
			out = append(out, strconv.Itoa(gitops.FindEntry(list, step.Keys)))
		}
	}
	return out
}

// covers says whether a JSON pointer (RFC 6901) names the place or one above it.
func covers(pointer string, at []string) bool {
	if pointer == "" || pointer == "/" {
		return true
	}
	var steps []string
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		steps = append(steps, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return hasPrefix(at, steps)
}

func hasPrefix(at, prefix []string) bool {
	return len(at) >= len(prefix) && slices.Equal(at[:len(prefix)], prefix)
}

// targets says whether the rule is for this object. A broken expression or selector matches nothing.
func (r IgnoreRule) targets(object gitops.Object) bool {
	t := r.Target
	if t == nil {
		return true
	}
	if r.Exact {
		id := object.ID
		return gitops.Glob(t.Group, id.Group) && gitops.Glob(t.Kind, id.Kind) &&
			(t.Namespace == "" || t.Namespace == id.Namespace) && (t.Name == "" || t.Name == id.Name)
	}
	version := object.APIVersion
	if _, after, ok := strings.Cut(object.APIVersion, "/"); ok {
		version = after
	}
	for _, pair := range [][2]string{
		{t.Group, object.ID.Group}, {t.Version, version}, {t.Kind, object.ID.Kind},
		{t.Namespace, object.ID.Namespace}, {t.Name, object.ID.Name},
	} {
		if pair[0] == "" {
			continue
		}
		expression, err := regexp.Compile("^(?:" + pair[0] + ")$")
		if err != nil || !expression.MatchString(pair[1]) {
			return false
		}
	}
	return selects(t.LabelSelector, object.Labels()) && selects(t.AnnotationSelector, object.Annotations())
}

func selects(text string, set map[string]string) bool {
	if text == "" {
		return true
	}
	s, err := labels.Parse(text)
	return err == nil && s.Matches(labels.Set(set))
}
