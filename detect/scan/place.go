package scan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/detect/classify"
	"holdfast/detect/live"
	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/packed"
)

// place is a namespace that Applications manage.
type place struct {
	// keeper answers for what people make there: the Application that declares most objects in the namespace, of
	// several the one that declares the Namespace itself, then the first by name. One whose sources are not known in full
	// keeps only where no other does, and only what people's tools alone have written: it may well declare the rest.
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
		if m.whole() {
			out.keep(m)
		}
	}
	broken := places{}
	for _, m := range members {
		if !m.whole() && m.policy != nil {
			broken.keep(m)
		}
	}
	for name, p := range broken {
		if out[name] == nil {
			out[name] = p
		}
	}
	return out
}

// keep enters the namespaces in which a member declares something, or in which its engine lists something, where its
// sources are not known in full.
func (p places) keep(m *member) {
	objects, kinds := map[string]float64{}, map[string]map[gitops.GroupKind]bool{}
	for _, id := range m.manages() {
		if id.Group == "" && id.Kind == "Namespace" {
			objects[id.Name] += 0.5
		} else if id.Namespace != "" {
			objects[id.Namespace]++
			if kinds[id.Namespace] == nil {
				kinds[id.Namespace] = map[gitops.GroupKind]bool{}
			}
			kinds[id.Namespace][id.GroupKind()] = true
		}
	}
	for name, n := range objects {
		at := p[name]
		if at == nil {
			at = &place{}
			p[name] = at
		}
		if at.keeper == nil || n > at.objects || n == at.objects && m.app.ID() < at.keeper.app.ID() {
			at.keeper, at.objects = m, n
		}
		at.kinds = slices.AppendSeq(at.kinds, maps.Keys(kinds[name]))
	}
}

// manages are the objects that a member is known to manage.
func (m *member) manages() []gitops.ObjectID {
	var out []gitops.ObjectID
	for _, d := range m.declared {
		out = append(out, d.ID)
	}
	if !m.whole() {
		for _, id := range m.app.Inventory {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// notes says where strays are told with less than all that Git declares.
func (p places) notes() []string {
	var names []string
	for name, at := range p {
		if !at.keeper.whole() {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{fmt.Sprintf("what people made past Git in %s is known in part: not all that is declared there could be read, so that only what people's tools alone have written is told from it", namespaces(names))}
}

// boundRoles are the roles that bindings in Git name.
func boundRoles(members []*member) func(gitops.ObjectID) bool {
	named := map[gitops.ObjectID]bool{}
	for _, m := range members {
		for _, d := range m.declared {
			if d.ID.Group != rbacGroup || d.ID.Kind != "RoleBinding" && d.ID.Kind != "ClusterRoleBinding" {
				continue
			}
			ref, _ := d.Content["roleRef"].(map[string]any)
			kind, _ := ref["kind"].(string)
			name, _ := ref["name"].(string)
			id := gitops.ObjectID{Group: rbacGroup, Kind: kind, Name: name}
			if kind == "Role" {
				id.Namespace = d.ID.Namespace
			}
			named[id] = true
		}
	}
	return func(id gitops.ObjectID) bool { return named[id] }
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
		for _, id := range m.manages() {
			if id.Namespace == namespace {
				declares = true
				consider(id, j.snapshot.Objects)
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
