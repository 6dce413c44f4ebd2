package classify

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"holdfast/detect"
	"holdfast/gitops"
)

// aggregateLabel, with view, edit or admin, has a ClusterRole's rules added to those of the role of that name. Source:
// kubernetes.io/docs/reference/access-authn-authz/rbac, aggregated ClusterRoles.
const aggregateLabel = "rbac.authorization.k8s.io/aggregate-to-"

// widens says whether a person's role gives others more than they had: Git binds it, or a role of Git's or one that every
// cluster has takes its rules, which are not only about an add-on's own kinds. What Helm brings is not meant.
func (f *Facts) widens(role gitops.Object) bool {
	if role.ID.Kind != "Role" && role.ID.Kind != "ClusterRole" || ofOwnChart(role) || !f.byTool(role) {
		return false
	}
	if f.Named != nil && f.Named(role.ID) {
		return true
	}
	if role.ID.Kind == "Role" || !slices.ContainsFunc(mappings(role.Content["rules"]), aboutBuiltIn) {
		return false
	}
	for key, value := range role.Labels() {
		if strings.HasPrefix(key, aggregateLabel) && value == "true" {
			return true
		}
	}
	return slices.ContainsFunc(f.neighbours.roles, func(into gitops.Object) bool { return f.declares(into.ID) && takesFrom(into, role) })
}

// takesFrom says whether a ClusterRole's aggregationRule selects another one.
func takesFrom(into, from gitops.Object) bool {
	rule, _ := into.Content["aggregationRule"].(map[string]any)
	return into.ID != from.ID && slices.ContainsFunc(mappings(rule["clusterRoleSelectors"]), func(s map[string]any) bool {
		return selector(s).Matches(labels.Set(from.Labels()))
	})
}

// undeclaredRules finds a ClusterRole that gives an aggregated one rules which no role that is accounted for gives it.
func (f *Facts) undeclaredRules(into gitops.Object) (gitops.Object, bool) {
	var known []any
	var others []gitops.Object
	for _, from := range f.neighbours.roles {
		if !takesFrom(into, from) {
			continue
		}
		if rules, _ := from.Content["rules"].([]any); f.accountedFor(from) {
			known = append(known, rules...)
		} else {
			others = append(others, from)
		}
	}
	rules, _ := into.Content["rules"].([]any)
	for _, from := range others {
		given, _ := from.Content["rules"].([]any)
		if slices.ContainsFunc(given, func(r any) bool { return contains(rules, r) && !contains(known, r) }) {
			return from, true
		}
	}
	return gitops.Object{}, false
}

// accountedFor says whether Git, the API server, an engine or an operator stands behind a ClusterRole.
func (f *Facts) accountedFor(role gitops.Object) bool {
	maker := f.maker(gitops.Application{}, role)
	switch {
	case f.declares(role.ID):
		return true
	case maker.edited:
		return false
	case maker.writer != nil && f.Rules.IsEngine(maker.writer.Manager):
		delivered, _ := f.deliveredElsewhere(role, maker.writer.Manager, gitops.Application{})
		return delivered
	}
	own := role.Labels()["kubernetes.io/bootstrapping"] == "rbac-defaults" &&
		slices.Contains([]string{"system:aggregate-to-admin", "system:aggregate-to-edit", "system:aggregate-to-view"}, role.ID.Name)
	return own || !maker.tool && (f.installed(role, maker) != "" || slices.ContainsFunc(ownerReferences(role), func(ref gitops.ObjectID) bool {
		return f.ownsSuch(ref, ownerUIDs(role)[ref], role)
	}))
}

// isWidened recognises computed rules of an aggregated role that a role past Git adds to.
func isWidened(s *situation) bool {
	if s.about.Live.ID.Kind != "ClusterRole" || len(s.Path) == 0 || s.Path[0].Field != "rules" {
		return false
	}
	_, found := s.facts.undeclaredRules(*s.about.Live)
	return found
}

func widenedBy(s *situation) verdict {
	from, _ := s.facts.undeclaredRules(*s.about.Live)
	maker := s.facts.maker(gitops.Application{}, from)
	cause, writer, who := detect.CauseUnknown, unresolved(), "nobody known"
	if maker.writer != nil {
		writer, who = maker.writer, maker.writer.Manager
	}
	if maker.tool || maker.stranger {
		cause = detect.CauseManual
	}
	return verdict{cause, true, writer, fmt.Sprintf("The rules are computed from the ClusterRoles that the aggregationRule selects, and %s, which %s %s and Git does not declare, adds to them.", from.ID.Name, who, maker.act())}
}
