package access

import (
	"maps"
	"slices"
	"strings"

	"holdfast/gitops"
)

// Survey says who can change the targets past the pipeline, worst first. Engines are the accounts by which GitOps
// engines apply. The time it takes grows with the grants, not with their square.
//
// What a subject can do counts by its own name: a user's groups stand in no cluster, so what is granted to a group is
// the group's.
func (x *RBAC) Survey(all []Target, engines []Subject) []Finding {
	s := &survey{
		rbac: x, targets: indexed(all), engines: map[Subject]bool{},
		graph: graph{subjects: map[Subject]int{}, pools: map[string]int{}}, reaches: map[scope]reach{}, abilities: map[*Role][abilities]able{},
	}
	for _, e := range engines {
		s.engines[e] = true
	}
	s.build()
	s.graph.solve()
	var out []Finding
	for _, subject := range x.Subjects() {
		out = append(out, s.direct(subject)...)
		out = append(out, s.becomes(subject)...)
		out = append(out, s.opens(subject)...)
	}
	slices.SortStableFunc(out, compareFindings)
	return out
}

type scope struct {
	role      *Role
	namespace string
}

// survey is one survey in progress.
type survey struct {
	rbac      *RBAC
	targets   *targets
	engines   map[Subject]bool
	graph     graph
	reaches   map[scope]reach
	abilities map[*Role][abilities]able
}

func (s *survey) reach(g Grant) reach {
	key := scope{g.Role, g.Namespace}
	r, ok := s.reaches[key]
	if !ok {
		r = s.targets.reach(g.Role, g.Namespace)
		s.reaches[key] = r
	}
	return r
}

func (s *survey) able(r *Role) [abilities]able {
	a, ok := s.abilities[r]
	if !ok {
		a = abilitiesOf(r)
		s.abilities[r] = a
	}
	return a
}

func (s *survey) power(g Grant) power {
	r := s.reach(g)
	p := power{
		everything: g.Namespace == "" && slices.ContainsFunc(g.Role.Rules, Rule.whole),
		objects:    r.objects, count: r.objects.len(),
	}
	for _, h := range r.holds {
		p.sensitivity = max(p.sensitivity, sensitivity(h.Group, h.Resource))
	}
	if p.everything {
		p.sensitivity = 3
	}
	return p
}

func (s *survey) none() power { return power{objects: s.targets.none()} }

// build makes the graph: every subject with its own power, and the ways from one to the other.
func (s *survey) build() {
	for _, subject := range s.rbac.Subjects() {
		n := s.graph.nodes[s.graph.subject(subject)]
		n.own = s.none()
		for _, g := range s.rbac.grants[subject] {
			n.own.join(s.power(g))
		}
	}
	for namespace, names := range s.rbac.accounts {
		for name := range names {
			s.graph.subject(Subject{ServiceAccount, namespace, name})
		}
	}
	for _, subject := range slices.SortedFunc(maps.Keys(s.graph.subjects), Subject.Compare) {
		s.enroll(subject)
	}
	for _, subject := range s.rbac.Subjects() {
		if !s.graph.nodes[s.graph.subject(subject)].own.everything {
			s.ways(subject)
		}
	}
	for _, n := range s.graph.nodes {
		if n.own.objects == nil {
			n.own.objects = s.targets.none()
		}
	}
}

// enroll makes the members of the groups that the API server keeps by itself.
func (s *survey) enroll(subject Subject) {
	if subject.Kind == Group {
		return
	}
	from := s.graph.subject(subject)
	for _, group := range subject.Identity().Groups {
		if to, ok := s.graph.subjects[Subject{Kind: Group, Name: group}]; ok {
			s.graph.connect(from, to, "", Grant{}, Request{})
		}
	}
}

// Pools.

func (s *survey) anyone() int {
	return s.graph.pool("any user or group", func(i int) {
		n := s.graph.nodes[i]
		n.own = power{everything: true, sensitivity: 3, objects: s.targets.every, count: len(s.targets.all), steps: 1} // an account at hand is nearer
	})
}

func (s *survey) users() int {
	return s.graph.pool("any user", func(pool int) {
		for _, subject := range s.rbac.Subjects() {
			if subject.Kind == User {
				s.graph.connect(pool, s.graph.subject(subject), "", Grant{}, Request{})
			}
		}
	})
}

// accounts is the pool of the service accounts of a namespace, or with "" of all of them.
func (s *survey) accounts(namespace string) int {
	if namespace == "" {
		return s.graph.pool("any service account", func(pool int) {
			for _, namespace := range slices.Sorted(maps.Keys(s.rbac.accounts)) {
				s.graph.connect(pool, s.accounts(namespace), "", Grant{}, Request{})
			}
		})
	}
	return s.graph.pool("any service account of "+namespace, func(pool int) {
		for _, name := range slices.Sorted(maps.Keys(s.rbac.accounts[namespace])) {
			s.graph.connect(pool, s.graph.subject(Subject{ServiceAccount, namespace, name}), "", Grant{}, Request{})
		}
	})
}

// running is the pool of the accounts that pods of a namespace run as, as far as workloads were read; where none was,
// any account may run there.
func (s *survey) running(namespace string) int {
	if namespace == "" {
		return s.graph.pool("any pod", func(pool int) {
			for _, namespace := range slices.Sorted(maps.Keys(s.rbac.accounts)) {
				s.graph.connect(pool, s.running(namespace), "", Grant{}, Request{})
			}
		})
	}
	used := s.rbac.used[namespace]
	if len(used) == 0 {
		return s.accounts(namespace)
	}
	return s.graph.pool("any pod of "+namespace, func(pool int) {
		for _, name := range slices.Sorted(maps.Keys(used)) {
			s.graph.connect(pool, s.graph.subject(Subject{ServiceAccount, namespace, name}), "", Grant{}, Request{})
		}
	})
}

// named connects to the accounts of some names in a namespace, or of all where the names are not narrowed.
func (s *survey) named(from int, way Way, g Grant, a able) {
	if len(a.names) == 0 {
		s.graph.connect(from, s.accounts(g.Namespace), way, g, a.by)
		return
	}
	namespaces := []string{g.Namespace}
	if g.Namespace == "" {
		namespaces = slices.Sorted(maps.Keys(s.rbac.accounts))
	}
	for _, namespace := range namespaces {
		for _, name := range a.names {
			if s.rbac.accounts[namespace][name] {
				s.graph.connect(from, s.graph.subject(Subject{ServiceAccount, namespace, name}), way, g, a.by)
			}
		}
	}
}

// ways connects a subject to whom it can become.
func (s *survey) ways(subject Subject) {
	from := s.graph.subject(subject)
	grants := s.rbac.grants[subject]
	for _, g := range grants {
		can := s.able(g.Role)
		if a := can[impersonateAccount]; a.has {
			s.named(from, ImpersonateAccount, g, a)
		}
		if a := can[createToken]; a.has {
			s.named(from, MintToken, g, a)
		}
		if a := can[createPods]; a.has {
			s.graph.connect(from, s.accounts(g.Namespace), RunPods, g, a.by)
		}
		if a := can[execInPods]; a.has {
			s.graph.connect(from, s.running(g.Namespace), Exec, g, a.by)
		}
		if a := can[debugPods]; a.has {
			s.graph.connect(from, s.running(g.Namespace), Debug, g, a.by)
		}
		if a := can[readSecrets]; a.has && len(a.names) == 0 {
			s.graph.connect(from, s.accounts(g.Namespace), ReadTokens, g, a.by)
		}
		if g.Namespace != "" {
			continue
		}
		if a := can[proxyNodes]; a.has {
			s.graph.connect(from, s.running(""), ReachNodes, g, a.by)
		}
		if a := can[impersonateUser]; a.has {
			s.impersonates(from, g, a)
		}
	}
	s.combined(from, grants)
}

func (s *survey) impersonates(from int, g Grant, a able) {
	if len(a.names) == 0 {
		s.graph.connect(from, s.users(), ImpersonateUser, g, a.by)
	}
	for _, name := range a.names {
		if to, ok := s.graph.subjects[SubjectOf(name)]; ok {
			s.graph.connect(from, to, ImpersonateUser, g, a.by)
		}
	}
}

// union gives what grants allow together in a namespace, or with "" in the whole cluster, and which grant gives each.
func (s *survey) union(grants []Grant, namespace string) (can [abilities]able, by [abilities]Grant) {
	for _, g := range grants {
		if g.Namespace != "" && g.Namespace != namespace {
			continue
		}
		for a, have := range s.able(g.Role) {
			switch {
			case !have.has || g.Namespace != "" && ability(a).clusterOnly():
			case !can[a].has, len(have.names) == 0 && len(can[a].names) > 0:
				can[a], by[a] = have, g
			case len(can[a].names) > 0:
				can[a].names = append(slices.Clip(can[a].names), have.names...)
			}
		}
	}
	return can, by
}

// combined connects by the ways that need more than one right, of one grant or of several.
func (s *survey) combined(from int, grants []Grant) {
	namespaces := []string{""}
	for _, g := range grants {
		if g.Namespace != "" && !slices.Contains(namespaces, g.Namespace) && s.touchesRBAC(g.Role) {
			namespaces = append(namespaces, g.Namespace)
		}
	}
	for _, namespace := range namespaces {
		can, by := s.union(grants, namespace)
		link := func(a ability, to int, way Way) { s.graph.connect(from, to, way, by[a], can[a].by) }
		if can[createSecrets].has && can[readSecrets].has && len(can[readSecrets].names) > 0 {
			link(createSecrets, s.accounts(namespace), MakeTokens)
		}
		if namespace == "" {
			if a := can[impersonateGroup]; a.has && (can[impersonateUser].has || can[impersonateAccount].has) {
				if a.allows(Masters) {
					link(impersonateGroup, s.anyone(), ImpersonateGroup)
				}
				for _, name := range a.names {
					if to, ok := s.graph.subjects[Subject{Kind: Group, Name: name}]; ok {
						link(impersonateGroup, to, ImpersonateGroup)
					}
				}
			}
			if can[createCSR].has && can[approveCSR].has && can[useSigner].signs() {
				link(approveCSR, s.anyone(), SignCertificates)
			}
			if can[escalateClusterRoles].has && can[writeClusterRoles].has {
				link(escalateClusterRoles, s.anyone(), EscalateRoles)
			}
			if can[writeClusterBindings].has {
				s.binds(from, can[bindClusterRoles], by[bindClusterRoles], "ClusterRole", "")
			}
		}
		if can[writeBindings].has {
			s.binds(from, can[bindClusterRoles], by[bindClusterRoles], "ClusterRole", namespace)
			if namespace != "" {
				s.binds(from, can[bindRoles], by[bindRoles], "Role", namespace)
			}
		}
		if namespace != "" && can[escalateRoles].has && can[writeRoles].has {
			link(escalateRoles, s.ruler(namespace), EscalateRoles)
		}
	}
}

// touchesRBAC says whether a role has any of the abilities that count in combination.
func (s *survey) touchesRBAC(r *Role) bool {
	can := s.able(r)
	return can[createSecrets].has || can[bindClusterRoles].has || can[bindRoles].has || can[escalateRoles].has
}

// ruler is who may do everything in a namespace.
func (s *survey) ruler(namespace string) int {
	return s.graph.pool("any right in "+namespace, func(i int) {
		n := s.graph.nodes[i]
		n.own = s.none()
		if in := s.targets.places[namespace]; in != nil {
			n.own.join(power{objects: in, sensitivity: 3})
		}
		s.graph.connect(i, s.accounts(namespace), "", Grant{}, Request{})
	})
}

// binds connects to the roles that may be bound: any, or those of some names.
func (s *survey) binds(from int, a able, g Grant, kind, namespace string) {
	switch {
	case !a.has:
	case len(a.names) > 0:
		for _, name := range a.names {
			id := gitops.ObjectID{Group: rbacGroup, Kind: kind, Name: name}
			if kind == "Role" {
				id.Namespace = namespace
			}
			role, ok := s.rbac.roles[id]
			if !ok {
				continue
			}
			given := Grant{Role: role, Namespace: namespace}
			pool := s.graph.pool(strings.TrimSuffix(kind+" "+name+" in "+namespace, " in "), func(i int) { s.graph.nodes[i].own = s.power(given) })
			s.graph.connect(from, pool, BindRoles, g, a.by)
		}
	case namespace == "":
		s.graph.connect(from, s.anyone(), BindRoles, g, a.by)
	default:
		s.graph.connect(from, s.ruler(namespace), BindRoles, g, a.by)
	}
}
