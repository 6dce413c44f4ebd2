package scan

import (
	"fmt"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/packed"
)

// presence tells what stands in a cluster, for what is not found where it is looked for.
type presence struct {
	kinds map[gitops.GroupKind]bool
	// homes are the namespaces in which there is an object of a kind, or of a kind and a name.
	homes map[gitops.ObjectID][]string
	// unplaced are the objects of a dump that do not say their namespace themselves, by kind and name.
	unplaced map[gitops.ObjectID]bool
}

func presenceOf(objects *packed.Set) presence {
	p := presence{kinds: map[gitops.GroupKind]bool{}, homes: map[gitops.ObjectID][]string{}, unplaced: map[gitops.ObjectID]bool{}}
	for o := range objects.All() {
		id := o.ID
		p.kinds[id.GroupKind()] = true
		named := gitops.ObjectID{Group: id.Group, Kind: id.Kind, Name: id.Name}
		p.homes[named] = append(p.homes[named], id.Namespace)
		kind := gitops.ObjectID{Group: id.Group, Kind: id.Kind}
		if !slices.Contains(p.homes[kind], id.Namespace) {
			p.homes[kind] = append(p.homes[kind], id.Namespace)
		}
		if written(o) == "" && id.Namespace != "" {
			p.unplaced[named] = true
		}
	}
	return p
}

// written is the namespace that an object's manifest names.
func written(o gitops.Object) string {
	namespace, _ := gitops.Lookup(o.Content, gitops.Path{gitops.Field("metadata"), gitops.Field("namespace")}).V.(string)
	return namespace
}

// adrift says why it cannot be told whether a declared object that was not found is there: its namespace is not known
// for sure, and an object like it stands in another one. Empty where that is no question.
func (j *judge) adrift(m *member, d gitops.Declared) string {
	named := gitops.ObjectID{Group: d.ID.Group, Kind: d.ID.Kind, Name: d.ID.Name}
	homes := slices.Sorted(slices.Values(j.present().homes[named]))
	switch namespaced, known := j.scope(d.ID.GroupKind()); {
	case known && !namespaced:
		return ""
	case known && d.ID.Namespace == "":
		return fmt.Sprintf("neither it nor its Application names a namespace, so where it stands is not known: %s does not apply such an object", m.app.Engine)
	case j.present().unplaced[named]:
		return "the dump holds one of its name that says no namespace, so it may be this one: dump whole objects, as kubectl get -o yaml prints them"
	case m.app.Render.NamespaceAssumed && written(d.Object) == "" && len(homes) > 0:
		return fmt.Sprintf("it names no namespace, and one of its name stands in %s: a holdfast/v1 Application with spec.namespace says where it belongs", namespaces(homes))
	}
	return ""
}

// doubt says why a declared object that was not found may stand in the cluster all the same; empty where it is known
// that it does not. That is enough to report it, and too little to take it out of Git.
func (j *judge) doubt(m *member, d gitops.Declared) string {
	if why, ok := j.snapshot.Why(d.ID); ok && why.NotServed {
		return "the cluster does not serve " + d.ID.Kind + " now"
	}
	if j.snapshot.Cluster != "" {
		if m.app.Render.NamespaceAssumed && d.ID.Namespace != "" && written(d.Object) == "" {
			return "it names no namespace, and was looked for in " + d.ID.Namespace + " alone"
		}
		return ""
	}
	homes := j.present().homes[gitops.ObjectID{Group: d.ID.Group, Kind: d.ID.Kind}]
	switch {
	case len(homes) == 0:
		return "the dump holds no " + d.ID.Kind + " at all: it may just not have been dumped"
	case !slices.Contains(homes, d.ID.Namespace):
		return fmt.Sprintf("the dump holds no %s of namespace %s: it may just not have been dumped", d.ID.Kind, d.ID.Namespace)
	}
	return ""
}

// scope tells whether a kind has namespaces, as the cluster says, or as every cluster does.
func (j *judge) scope(kind gitops.GroupKind) (namespaced, known bool) {
	if j.snapshot.Namespaced != nil {
		if namespaced, known = j.snapshot.Namespaced(kind); known {
			return namespaced, known
		}
	}
	return gitops.BuiltinNamespaced(kind)
}
