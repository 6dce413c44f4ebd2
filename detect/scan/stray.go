package scan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/detect/live"
	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/packed"
)

const (
	rbacGroup      = "rbac.authorization.k8s.io"
	admissionGroup = "admissionregistration.k8s.io"
	ciliumGroup    = "cilium.io"
)

// strayKinds are the namespaced kinds among which people's own objects are looked for: those that open access or
// isolation, and whatever runs pods.
func strayKinds() []live.PlacedKind {
	return []live.PlacedKind{
		{Kind: gitops.GroupKind{Group: rbacGroup, Kind: "RoleBinding"}},
		{Kind: gitops.GroupKind{Group: rbacGroup, Kind: "Role"}},
		{Kind: gitops.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}},
		{Kind: gitops.GroupKind{Group: ciliumGroup, Kind: "CiliumNetworkPolicy"}},
		{Kind: gitops.GroupKind{Group: "apps", Kind: "Deployment"}},
		{Kind: gitops.GroupKind{Group: "apps", Kind: "DaemonSet"}},
		{Kind: gitops.GroupKind{Group: "apps", Kind: "StatefulSet"}},
		{Kind: gitops.GroupKind{Group: "apps", Kind: "ReplicaSet"}, Crowded: true},
		{Kind: gitops.GroupKind{Kind: "ReplicationController"}},
		{Kind: gitops.GroupKind{Group: "batch", Kind: "Job"}, Crowded: true},
		{Kind: gitops.GroupKind{Group: "batch", Kind: "CronJob"}},
		{Kind: gitops.GroupKind{Kind: "Pod"}, Crowded: true},
	}
}

// strayClusterKinds are those of the whole cluster.
func strayClusterKinds() []gitops.GroupKind {
	return []gitops.GroupKind{
		{Group: rbacGroup, Kind: "ClusterRoleBinding"},
		{Group: rbacGroup, Kind: "ClusterRole"},
		{Group: admissionGroup, Kind: "MutatingWebhookConfiguration"},
		{Group: admissionGroup, Kind: "ValidatingWebhookConfiguration"},
		{Group: admissionGroup, Kind: "MutatingAdmissionPolicy"},
		{Group: admissionGroup, Kind: "MutatingAdmissionPolicyBinding"},
		{Group: admissionGroup, Kind: "ValidatingAdmissionPolicy"},
		{Group: admissionGroup, Kind: "ValidatingAdmissionPolicyBinding"},
	}
}

// isStrayKind says whether strays are looked for among objects like this one.
func isStrayKind(id gitops.ObjectID) bool {
	return slices.Contains(strayClusterKinds(), id.GroupKind()) ||
		slices.ContainsFunc(strayKinds(), func(k live.PlacedKind) bool { return k.Kind == id.GroupKind() })
}

// stray is an object that no Application declares, tracks or lists.
type stray struct {
	id gitops.ObjectID
	// bears are the managed namespaces that an object of the whole cluster bears on.
	bears []string
}

// strays gives each keeper the strays that it answers for, so that no two Applications report one.
func (p places) strays(j *judge, facts *classify.Facts, members []*member) map[*member][]stray {
	known := maps.Clone(j.claimed)
	for _, m := range members {
		for _, id := range m.app.Inventory {
			known[id] = true
		}
		for _, id := range m.tracked {
			known[id] = known[id] || isStrayKind(id) && j.answersFor(m, id)
		}
	}
	out := map[*member][]stray{}
	for o := range j.snapshot.Objects.Where(isStrayKind) {
		switch at := p[o.ID.Namespace]; {
		case known[o.ID], isRole(o.ID) && !facts.OpensAccess(o):
		case o.ID.Namespace == "":
			s := stray{o.ID, p.bears(j, o, facts, members)}
			if keeper := p.keeper(s.bears); keeper != nil && keeper.tells(o, facts) {
				out[keeper] = append(out[keeper], s)
			}
		case at != nil && at.keeper.tells(o, facts):
			out[at.keeper] = append(out[at.keeper], stray{id: o.ID})
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b stray) int { return a.id.Compare(b.id) })
	}
	return out
}

func isRole(id gitops.ObjectID) bool {
	return id.Group == rbacGroup && (id.Kind == "Role" || id.Kind == "ClusterRole")
}

// tells says whether a member can tell that Git does not declare an object.
func (m *member) tells(o gitops.Object, facts *classify.Facts) bool {
	return m.whole() || facts.PastEngines(classify.Subject{App: m.app, Live: &o})
}

// answersFor says whether a member whose mark an object carries is the one to judge it, or may be for all that is
// known of its sources.
func (j *judge) answersFor(m *member, id gitops.ObjectID) bool {
	subject := classify.Subject{App: m.app, Live: j.live(id)}
	if !m.whole() && m.facts.Copied(subject) {
		return false
	}
	cause, _, _, _ := m.facts.Extra(subject)
	return cause != detect.CauseNone
}

// outside are the engines' own objects whose Applications are not among the members.
func outside(objects *packed.Set, members []*member) map[gitops.ObjectID]bool {
	out := map[gitops.ObjectID]bool{}
	for _, id := range objects.IDs() {
		if engines.Becomes(id) {
			out[id] = true
		}
	}
	for _, m := range members {
		delete(out, engines.ObjectID(m.app))
	}
	return out
}

// absent tells what is known not to be there: of a cluster, what it does not serve; of a dump, what it does not hold
// though it holds others of the kind in the namespace.
//
// The kinds of strays are read in full in the places, but for what a controller made without a hold on its node: that is
// as good as not there.
func absent(s *live.Snapshot, p places) func(gitops.ObjectID) bool {
	if !s.Time.IsZero() {
		return func(id gitops.ObjectID) bool {
			if len(s.APIVersions) == 0 {
				return false
			}
			if _, known := s.Namespaced(id.GroupKind()); !known {
				return true
			}
			_, unread := s.Why(id)
			return !unread && p[id.Namespace] != nil && isStrayKind(id) && !s.Objects.Has(id)
		}
	}
	dumped := map[gitops.ObjectID]bool{}
	for _, id := range s.Objects.IDs() {
		id.Name = ""
		dumped[id] = true
	}
	return func(id gitops.ObjectID) bool {
		whole := gitops.ObjectID{Group: id.Group, Kind: id.Kind}
		id.Name = ""
		return dumped[id] || dumped[whole]
	}
}

// bears gives the managed namespaces that an object of the whole cluster bears on, in order. Rights in the whole cluster
// bear on those that were managed already when the rights were given, or last changed by a person: what people may do in
// a cluster before that, or in the same second, for times are no finer, is how it was set up.
func (p places) bears(j *judge, o gitops.Object, facts *classify.Facts, members []*member) []string {
	everywhere := facts.Everywhere(o)
	var out []string
	for name, at := range p {
		bears := facts.Bears(o, name, at.kinds)
		if !bears && everywhere {
			since := p.since(j, name, members)
			bears = since.IsZero() || facts.GivenAt(o).After(since)
		}
		if bears {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// strays judges the strays that a member answers for. What is no drift is listed on request only, and what
// controllers make not even then.
func (j *judge) strays(out *detect.Scan, m *member, list []stray) {
	for _, s := range list {
		if f, ok := j.stray(m, s); ok {
			out.Findings = append(out.Findings, f)
		}
	}
}

func (j *judge) stray(m *member, s stray) (detect.Finding, bool) {
	o := j.live(s.id)
	f := j.finding(m, detect.Ref(*o), detect.LiveOnly)
	f.Live = o
	f.Cause, f.Drift, f.Writer, f.Reason = m.facts.Stray(classify.Subject{App: m.app, Live: o, History: m.earlier(o.ID), Ignore: m.ignore()})
	j.nameMaker(&f, m)
	switch {
	case s.id.Namespace != "":
	case len(s.bears) == 0:
		f.Drift = false
		f.Reason += " It bears on no namespace that an Application manages."
	default:
		f.Reason += fmt.Sprintf(" It bears on %s, which an Application manages.", namespaces(s.bears))
	}
	if !f.Drift && f.Cause == detect.CauseController {
		return f, false
	}
	j.settleObject(&f, m)
	if !f.Drift && !j.in.All && f.Disposition != detect.Codify { // policy may want in Git what is no drift
		return f, false
	}
	f.Unauthored = j.unauthored(m, *o)
	return f, true
}

// nameMaker asks the audit log who made a stray. A person who borrowed a controller's or an engine's name is one all
// the same; what a controller's own account made is the controller's, but for what an account of the namespace itself
// opens there: whoever runs a pod in it may be that account.
func (j *judge) nameMaker(f *detect.Finding, m *member) {
	if j.in.Audit == nil {
		return
	}
	w, ok := j.in.Audit.Of(f.Object.ID(), m.app, f.Live).Object(f.Presence)
	if !ok {
		return
	}
	if (f.Cause == detect.CauseController || f.Cause == detect.CauseUnknown) && w.IsPerson() && m.facts.OpensAccess(*f.Live) {
		f.Cause, f.Drift = detect.CauseManual, true
		f.Reason = fmt.Sprintf("%s made it under the name %s, and such an object changes who may do what.", w.Name(), w.Manager)
	}
	if f.Cause == detect.CauseUnknown && f.Drift && w.IsComponent() && !m.facts.Rules.IsEngine(f.Writer.Manager) && !(livesBeside(*w, f.Object.Namespace) && m.facts.OpensAccess(*f.Live)) {
		f.Cause, f.Drift, f.Writer = detect.CauseController, false, w
		f.Reason = fmt.Sprintf("%s made it, as the audit log shows.", w.Name())
	}
	if f.Drift {
		f.Writer = w
	}
}

// livesBeside says whether an account is one of a namespace of users.
func livesBeside(w detect.Writer, namespace string) bool {
	return namespace != "" && !strings.HasPrefix(namespace, "kube-") && strings.HasPrefix(w.User, "system:serviceaccount:"+namespace+":")
}

func namespaces(names []string) string {
	const most = 3
	if len(names) == 1 {
		return "namespace " + names[0]
	}
	text := "namespaces " + strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// unreadStrays says which kinds could not be searched for what people made past Git.
func unreadStrays(unread []live.Unread) []string {
	var kinds []string
	for _, u := range unread {
		if u.Optional && !u.NotServed && isStrayKind(gitops.ObjectID{Group: u.Group, Kind: u.Kind}) && u.Verb == "list" {
			kinds = append(kinds, u.Kind)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	slices.Sort(kinds)
	return []string{"what people made past Git was not looked for among " + strings.Join(slices.Compact(kinds), ", ") +
		": the list was refused or broke off (deploy/rbac has the role that is needed)"}
}
