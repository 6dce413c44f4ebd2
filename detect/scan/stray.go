package scan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
)

// strayKinds are the namespaced kinds among which people's own objects are looked for: those that open access or
// isolation, and whatever runs pods.
func strayKinds() []live.PlacedKind {
	return []live.PlacedKind{
		{Kind: gitops.GroupKind{Group: rbacGroup, Kind: "RoleBinding"}},
		{Kind: gitops.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}},
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
		{Group: admissionGroup, Kind: "MutatingWebhookConfiguration"},
		{Group: admissionGroup, Kind: "ValidatingWebhookConfiguration"},
		{Group: admissionGroup, Kind: "MutatingAdmissionPolicy"},
		{Group: admissionGroup, Kind: "MutatingAdmissionPolicyBinding"},
		{Group: admissionGroup, Kind: "ValidatingAdmissionPolicy"},
		{Group: admissionGroup, Kind: "ValidatingAdmissionPolicyBinding"},
	}
}

// place is a namespace that Applications manage.
type place struct {
	// keeper answers for what people make there: the Application that declares most objects in the namespace, of
	// several the one that declares the Namespace itself, then the first by name. One whose sources are not known
	// in full keeps none, for it may well declare what looks like a stray.
	keeper *member
	// objects counts what the keeper declares there, half more for the Namespace itself.
	objects float64
	// kinds are what any Application declares there.
	kinds []gitops.GroupKind
	// since is kept once it was asked for.
	since *time.Time
}

// places are the managed namespaces by name: those in which an Application declares an object, or which it declares.
type places map[string]*place

func manage(members []*member) places {
	out := places{}
	for _, m := range members {
		if !m.whole() {
			continue
		}
		objects, kinds := map[string]float64{}, map[string]map[gitops.GroupKind]bool{}
		for _, d := range m.declared {
			if d.ID.Group == "" && d.ID.Kind == "Namespace" {
				objects[d.ID.Name] += 0.5
			} else if d.ID.Namespace != "" {
				objects[d.ID.Namespace]++
				if kinds[d.ID.Namespace] == nil {
					kinds[d.ID.Namespace] = map[gitops.GroupKind]bool{}
				}
				kinds[d.ID.Namespace][d.ID.GroupKind()] = true
			}
		}
		for name, n := range objects {
			p := out[name]
			if p == nil {
				p = &place{}
				out[name] = p
			}
			if p.keeper == nil || n > p.objects || n == p.objects && m.app.ID() < p.keeper.app.ID() {
				p.keeper, p.objects = m, n
			}
			p.kinds = slices.AppendSeq(p.kinds, maps.Keys(kinds[name]))
		}
	}
	return out
}

// want adds what has to be read to find strays.
func (p places) want(w live.Wanted, rules *classify.Rules) live.Wanted {
	if len(p) == 0 {
		return w
	}
	w.WholeKinds = append(w.WholeKinds, strayClusterKinds()...)
	w.Places, w.PlacedKinds, w.Keep = slices.Sorted(maps.Keys(p)), strayKinds(), rules.WorthReading
	return w
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
		case known[o.ID]:
		case o.ID.Namespace == "":
			s := stray{o.ID, p.bears(j, o, facts, members)}
			if keeper := p.keeper(s.bears); keeper != nil {
				out[keeper] = append(out[keeper], s)
			}
		case at != nil:
			out[at.keeper] = append(out[at.keeper], stray{id: o.ID})
		}
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b stray) int { return a.id.Compare(b.id) })
	}
	return out
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
func absent(s *live.Snapshot) func(gitops.ObjectID) bool {
	if !s.Time.IsZero() {
		return func(id gitops.ObjectID) bool {
			if len(s.APIVersions) == 0 {
				return false
			}
			_, known := s.Namespaced(id.GroupKind())
			return !known
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

// bears gives the managed namespaces that an object of the whole cluster bears on, in order. People's rights bear on
// those that were managed already when the rights were given: what people may do in a cluster before that, or in the same
// second, for times are no finer, is how it was set up.
func (p places) bears(j *judge, o gitops.Object, facts *classify.Facts, members []*member) []string {
	people := classify.EmpowersPeople(o)
	var out []string
	for name, at := range p {
		bears := facts.Bears(o, name, at.kinds)
		if !bears && people {
			since := p.since(j, name, members)
			bears = since.IsZero() || o.Created().After(since)
		}
		if bears {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// since is from when on Applications manage a namespace: the oldest of the Namespace itself, of the engine's objects of
// the Applications that declare something there, and of what they declare. It does not move when a declared object is
// renamed or made anew. The Namespaces that come with every cluster tell nothing. Zero when nothing is known.
func (p places) since(j *judge, namespace string, members []*member) time.Time {
	at := p[namespace]
	if at.since != nil {
		return *at.since
	}
	var first time.Time
	consider := func(id gitops.ObjectID, objects *packed.Set) {
		if o, ok := objects.Get(id); ok && !o.Created().IsZero() && (first.IsZero() || o.Created().Before(first)) {
			first = o.Created()
		}
	}
	if !slices.Contains([]string{"default", "kube-system", "kube-public", "kube-node-lease"}, namespace) {
		consider(gitops.ObjectID{Kind: "Namespace", Name: namespace}, j.snapshot.Objects)
	}
	for _, m := range members {
		declares := false
		for _, d := range m.declared {
			if d.ID.Namespace == namespace {
				declares = true
				consider(d.ID, j.snapshot.Objects)
			}
		}
		if declares {
			consider(engines.ObjectID(m.app), j.engines)
		}
	}
	at.since = &first
	return first
}

// keeper is the Application that manages most in the named namespaces; in all, where none is named.
func (p places) keeper(names []string) *member {
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(p))
	}
	objects := map[*member]float64{}
	for _, name := range names {
		objects[p[name].keeper] += p[name].objects
	}
	var best *member
	for m, n := range objects {
		if best == nil || n > objects[best] || n == objects[best] && m.app.ID() < best.app.ID() {
			best = m
		}
	}
	return best
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
// the same; what a controller's own account made is the controller's.
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
	if f.Cause == detect.CauseUnknown && f.Drift && w.IsComponent() && !m.facts.Rules.IsEngine(f.Writer.Manager) {
		f.Cause, f.Drift, f.Writer = detect.CauseController, false, w
		f.Reason = fmt.Sprintf("%s made it, as the audit log shows.", w.Name())
	}
	if f.Drift {
		f.Writer = w
	}
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
