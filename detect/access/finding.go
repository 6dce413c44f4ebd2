package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
)

// Path is how a subject gets past the pipeline.
type Path string

// The paths.
const (
	// Direct: it may write the objects itself.
	Direct Path = "direct"
	// Becomes: it can become somebody who may.
	Becomes Path = "becomes"
	// Opens: it can change what keeps the objects as they are.
	Opens Path = "opens"
)

// Finding is one way in which a subject can change what must change through the pipeline only.
type Finding struct {
	Subject Subject
	Sort    Sort
	Path    Path
	Risk    detect.Risk
	// Ways are the techniques, in order; none for Direct.
	Ways []Way
	// As is whom the subject becomes in the end, as text; for Becomes.
	As string
	// Chain are the grants that lead there, one step a line, in order.
	Chain []string
	// Bindings are the bindings that give the first step, in order: without them it is gone.
	Bindings []gitops.ObjectID
	// Objects counts the targets within reach, and Namespaces are where they are, those without a namespace left out.
	Objects    int
	Namespaces []string
	// Holds are the verbs by resource; for Direct.
	Holds []Hold
	// Everything says that what is within reach is the whole API.
	Everything bool
}

func compareFindings(a, b Finding) int {
	order := []Path{Direct, Becomes, Opens}
	return cmp.Or(
		cmp.Compare(b.Risk, a.Risk), cmp.Compare(b.Objects, a.Objects), a.Subject.Compare(b.Subject),
		cmp.Compare(slices.Index(order, a.Path), slices.Index(order, b.Path)), cmp.Compare(a.As, b.As), slices.Compare(a.Ways, b.Ways),
	)
}

// risk is what the sensitivity of what is within reach asks for, by who can reach it: people worst, what runs in the
// cluster less, and engines and the system itself, which must, least. A program with all rights is a door for whoever
// changes the program.
func risk(sort Sort, sensitivity int, everything bool) detect.Risk {
	if everything {
		sensitivity = 3
	}
	level := detect.Risk(max(sensitivity, 1)) + detect.Low
	switch sort {
	case Everyone:
		return level.Raise(1)
	case Controller:
		if everything {
			return level.Raise(-1)
		}
		return level.Raise(-2)
	case EngineAccount, System:
		return detect.Low
	case Person:
	}
	return level
}

// direct gives a finding for each role that lets the subject write targets, whatever number of bindings gives it.
func (s *survey) direct(subject Subject) []Finding {
	byRole := map[*Role]*Finding{}
	objects := map[*Role]power{}
	held := map[scope]bool{}
	var order []*Role
	for _, g := range s.rbac.grants[subject] {
		p := s.power(g)
		if p.count == 0 {
			continue
		}
		f := byRole[g.Role]
		if f == nil {
			f = &Finding{Subject: subject, Sort: SortOf(subject, s.engines), Path: Direct}
			byRole[g.Role] = f
			objects[g.Role] = s.none()
			order = append(order, g.Role)
		}
		all := objects[g.Role]
		all.join(p)
		objects[g.Role] = all
		if !held[scope{g.Role, ""}] && !held[scope{g.Role, g.Namespace}] {
			held[scope{g.Role, g.Namespace}] = true // a grant of the whole cluster comes first
			f.Holds = joined(f.Holds, s.reach(g).holds)
		}
		f.Bindings = append(f.Bindings, g.Binding)
		if len(f.Bindings) == 1 {
			f.Chain = []string{s.step(g, s.showing(g))}
		}
	}
	var out []Finding
	for _, role := range order {
		f := byRole[role]
		if n := len(f.Bindings) - 1; n > 0 {
			f.Chain[0] += fmt.Sprintf(" (and %d more bindings of the same role)", n)
		}
		p := objects[role]
		f.Objects, f.Namespaces, f.Everything = p.count, s.targets.namespaces(p.objects), p.everything
		f.Risk = risk(f.Sort, p.sensitivity, p.everything)
		out = append(out, *f)
	}
	return out
}

// showing gives a request that a grant allows and that writes a target.
func (s *survey) showing(g Grant) Request {
	h := s.reach(g).holds[0]
	resource, sub, _ := strings.Cut(h.Resource, "/")
	q := Request{Verb: h.Verbs[len(h.Verbs)-1], Group: h.Group, Resource: resource, Subresource: sub, Namespace: g.Namespace}
	for _, rule := range g.Role.Rules {
		if q.Name == "" && !rule.Allows(q) && len(rule.Names) > 0 {
			named := q
			named.Name = rule.Names[0]
			if rule.Allows(named) {
				q = named
			}
		}
	}
	return q
}

// becomes gives a finding for each identity with more power that the subject can become in the end.
func (s *survey) becomes(subject Subject) []Finding {
	from := s.graph.nodes[s.graph.subject(subject)]
	if from.own.everything {
		return nil
	}
	byEnd := map[string]*Finding{}
	var ends []string
	for _, e := range from.out {
		to := s.graph.nodes[e.to]
		if e.way == "" || !to.best.adds(from.own) {
			continue
		}
		end, steps := s.graph.final(e.to)
		last := s.graph.nodes[end]
		if last == from || slices.ContainsFunc(steps, func(step edge) bool { return step.grant.Subject == subject }) {
			continue // it leads back to where it began
		}
		f := byEnd[last.String()]
		if f == nil {
			f = &Finding{
				Subject: subject, Sort: SortOf(subject, s.engines), Path: Becomes, As: last.String(),
				Objects: to.best.count, Namespaces: s.targets.namespaces(to.best.objects), Everything: to.best.everything,
			}
			f.Risk = risk(f.Sort, to.best.sensitivity, to.best.everything)
			f.Chain = []string{string(e.way) + ": " + s.step(e.grant, e.by)}
			who := to.String()
			for _, next := range steps {
				f.Chain = append(f.Chain, fmt.Sprintf("%s %s: %s", next.grant.Subject, next.way, s.step(next.grant, next.by)))
			}
			if g, ok := s.strongest(last.subject); ok && last.pool == "" {
				f.Chain = append(f.Chain, fmt.Sprintf("%s: %s", last, s.step(g, s.showing(g))))
			} else if who != last.String() || len(f.Chain) == 0 {
				f.Chain = append(f.Chain, last.String())
			}
			byEnd[last.String()] = f
			ends = append(ends, last.String())
		}
		if !slices.Contains(f.Ways, e.way) {
			f.Ways = append(f.Ways, e.way)
		}
		if !slices.Contains(f.Bindings, e.grant.Binding) {
			f.Bindings = append(f.Bindings, e.grant.Binding)
		}
	}
	var out []Finding
	for _, end := range ends {
		out = append(out, *byEnd[end])
	}
	return out
}

// strongest gives the grant of a subject that lets it change most.
func (s *survey) strongest(subject Subject) (best Grant, ok bool) {
	var most power
	for _, g := range s.rbac.grants[subject] {
		if p := s.power(g); p.count > 0 && (!ok || p.above(most)) {
			best, most, ok = g, p, true
		}
	}
	return best, ok
}

// opens gives what lets targets be changed by others, or without a right on them.
func (s *survey) opens(subject Subject) []Finding {
	if s.graph.nodes[s.graph.subject(subject)].own.everything || len(s.targets.all) == 0 {
		return nil
	}
	byWay := map[Way]*Finding{}
	var order []Way
	add := func(way Way, g Grant, q Request, level detect.Risk, objects set) {
		f := byWay[way]
		if f == nil {
			f = &Finding{Subject: subject, Sort: SortOf(subject, s.engines), Path: Opens, Ways: []Way{way}, Chain: []string{s.step(g, q)}}
			f.Objects, f.Namespaces = objects.len(), s.targets.namespaces(objects)
			if f.Risk = level; f.Sort == EngineAccount || f.Sort == System {
				f.Risk = detect.Low
			} else if f.Sort == Controller {
				f.Risk = level.Raise(-2)
			} else if f.Sort == Everyone {
				f.Risk = level.Raise(1)
			}
			byWay[way] = f
			order = append(order, way)
		}
		if !slices.Contains(f.Bindings, g.Binding) {
			f.Bindings = append(f.Bindings, g.Binding)
		}
	}
	for _, g := range s.rbac.grants[subject] {
		can := s.able(g.Role)
		for _, o := range []struct {
			ability ability
			way     Way
			level   detect.Risk
		}{
			{writeWebhooks, RewriteWebhooks, detect.Critical}, {writeAPIServices, RewriteAPIs, detect.Critical}, {writePolicies, RewritePolicies, detect.High},
		} {
			if a := can[o.ability]; a.has && g.Namespace == "" {
				add(o.way, g, a.by, o.level, s.targets.every)
			}
		}
		if a := can[writeNamespaces]; a.has {
			if in := s.inNamespaces(a, g.Namespace); in.len() > 0 {
				add(ChangeNamespaces, g, a.by, detect.High, in)
			}
		}
		own := s.reach(g).objects
		if a := can[forwardPorts]; a.has && s.manages(g.Namespace) {
			add(ForwardPorts, g, a.by, detect.Low, s.targets.none())
		}
		if a := can[writeBindings]; a.has && own.len() > 0 {
			add(HandOn, g, a.by, detect.Medium, own)
		}
	}
	var out []Finding
	for _, way := range order {
		out = append(out, *byWay[way])
	}
	return out
}

// inNamespaces gives the targets in the namespaces that an ability on namespaces is for.
func (s *survey) inNamespaces(a able, namespace string) set {
	out := s.targets.none()
	for name, in := range s.targets.places {
		if name != "" && a.allows(name) && (namespace == "" || namespace == name) {
			out.join(in)
		}
	}
	return out
}

// manages says whether there are targets in a namespace, or with "" anywhere.
func (s *survey) manages(namespace string) bool {
	return namespace == "" && len(s.targets.all) > 0 || s.targets.places[namespace] != nil
}

// step tells one grant: RoleBinding shop/deployers gives Role shop/deployer, which allows patch deployments.apps.
func (s *survey) step(g Grant, q Request) string {
	if g.Binding.Name == "" {
		return q.String()
	}
	text := fmt.Sprintf("%s gives %s", Named(g.Binding), Named(g.Role.ID))
	if parts := s.rbac.from(g.Role, q); len(parts) > 0 {
		text += " (by its part " + Listed(parts, 2) + ")"
	}
	return text + ", which allows " + q.String()
}

// Named gives kind, namespace and name of a role or binding: RoleBinding shop/deployers.
func Named(id gitops.ObjectID) string {
	return id.Kind + " " + strings.TrimPrefix(id.Namespace+"/"+id.Name, "/")
}

// joined adds holds of the same resources up. Their objects lie in different namespaces.
func joined(a, b []Hold) []Hold {
	for _, h := range b {
		i := slices.IndexFunc(a, func(o Hold) bool { return o.Group == h.Group && o.Resource == h.Resource })
		if i < 0 {
			a = append(slices.Clip(a), h)
			continue
		}
		a[i].Objects += h.Objects
		a[i].Verbs = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(a[i].Verbs), h.Verbs...))))
	}
	return a
}
