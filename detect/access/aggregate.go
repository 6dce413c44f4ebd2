package access

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"holdfast/gitops"
)

// selector is a label selector of an aggregation rule.
type selector struct {
	labels      map[string]string
	expressions []expression
}

type expression struct {
	key, operator string
	values        []string
}

func decodeSelector(s map[string]any) selector {
	var out selector
	labels, _ := s["matchLabels"].(map[string]any)
	for key, value := range labels {
		if out.labels == nil {
			out.labels = map[string]string{}
		}
		out.labels[key] = text(value)
	}
	expressions, _ := s["matchExpressions"].([]any)
	for _, raw := range expressions {
		e, _ := raw.(map[string]any)
		out.expressions = append(out.expressions, expression{text(e["key"]), text(e["operator"]), texts(e["values"])})
	}
	return out
}

// matches follows the rules of label selectors; an empty one selects all.
func (s selector) matches(labels map[string]string) bool {
	for key, want := range s.labels {
		if have, ok := labels[key]; !ok || have != want {
			return false
		}
	}
	for _, e := range s.expressions {
		have, ok := labels[e.key]
		switch e.operator {
		case "In":
			ok = ok && slices.Contains(e.values, have)
		case "NotIn":
			ok = !ok || !slices.Contains(e.values, have)
		case "Exists":
		case "DoesNotExist":
			ok = !ok
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// aggregate finds the parts of every aggregate. What an aggregate allows is what its own rules say, since a controller
// writes the parts' rules there; where they do not say it, that is told: somebody changed one of the two, or the
// controller does not run. Aggregates may select each other, in a circle too.
func (x *RBAC) aggregate() {
	var aggregates, all []*Role
	for id, r := range x.roles {
		if id.Kind != "ClusterRole" {
			continue
		}
		all = append(all, r)
		if len(r.selectors) > 0 {
			aggregates = append(aggregates, r)
		}
	}
	byName := func(a, b *Role) int { return strings.Compare(a.ID.Name, b.ID.Name) }
	slices.SortFunc(all, byName)
	slices.SortFunc(aggregates, byName)
	direct := make(map[*Role][]*Role, len(aggregates))
	for _, a := range aggregates {
		for _, r := range all {
			if r != a && slices.ContainsFunc(a.selectors, func(s selector) bool { return s.matches(r.labels) }) {
				direct[a] = append(direct[a], r)
			}
		}
	}
	for _, a := range aggregates {
		reached := map[*Role]bool{a: true}
		for next := []*Role{a}; len(next) > 0; next = next[1:] {
			for _, part := range direct[next[0]] {
				if !reached[part] {
					reached[part] = true
					next = append(next, part)
				}
			}
		}
		delete(reached, a)
		parts := slices.SortedFunc(maps.Keys(reached), byName)
		a.Parts = []string{}
		for _, p := range parts {
			a.Parts = append(a.Parts, p.ID.Name)
		}
		x.compare(a, parts)
	}
}

// compare says where an aggregate's rules are not what its parts give.
func (x *RBAC) compare(a *Role, parts []*Role) {
	holds := func(rules []Rule, r Rule) bool {
		return slices.ContainsFunc(rules, func(o Rule) bool { return reflect.DeepEqual(o, r) })
	}
	var given []Rule
	var late []string
	for _, p := range parts {
		given = append(given, p.Rules...)
		if slices.ContainsFunc(p.Rules, func(r Rule) bool { return !holds(a.Rules, r) }) {
			late = append(late, p.ID.Name)
		}
	}
	if len(late) > 0 {
		x.Problems = append(x.Problems, Problem{a.ID, "is an aggregate and does not have all the rules of " + Listed(late, 3) +
			" yet: it will get them when the controller-manager's aggregation runs"})
	}
	if extra := slices.DeleteFunc(slices.Clone(a.Rules), func(r Rule) bool { return holds(given, r) }); len(extra) > 0 {
		x.Problems = append(x.Problems, Problem{a.ID, fmt.Sprintf("is an aggregate with %d rules that none of its parts gives: the controller-manager's aggregation will take them away", len(extra))})
	}
}

// from names the parts of an aggregate that allow a request by themselves; empty for a role that is no aggregate.
func (x *RBAC) from(r *Role, q Request) []string {
	var out []string
	for _, name := range r.Parts {
		part := x.roles[gitops.ObjectID{Group: rbacGroup, Kind: "ClusterRole", Name: name}]
		if part != nil && part.Parts == nil && slices.ContainsFunc(part.Rules, func(rule Rule) bool { return rule.Allows(q) }) {
			out = append(out, name)
		}
	}
	return out
}

// Listed names the first few of many, and says how many more there are.
func Listed(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
