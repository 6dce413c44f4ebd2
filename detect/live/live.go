// Package live reads the objects that a cluster really has: from an API server, with get and list only, or
// from a dump of one. What could not be read is part of the answer, never left out of it: an object is
// missing only when its kind could be read.
//
// Objects come as plain JSON values with their managedFields. Status is dropped, except for the few kinds
// whose status says what an engine or an autoscaler did.
package live

import (
	"cmp"
	"slices"
	"time"

	"holdfast/gitops"
	"holdfast/gitops/packed"
)

// Secrets says how far Secrets are read.
type Secrets string

// The modes. RBAC cannot tell the last two apart: both need get and list on Secrets.
const (
	// SecretsNone never requests a Secret. It is the zero value's meaning too.
	SecretsNone Secrets = "none"
	// SecretsMetadata requests metadata alone, managedFields included; values are never sent.
	SecretsMetadata Secrets = "metadata"
	// SecretsValues requests whole Secrets, for comparison in memory.
	SecretsValues Secrets = "values"
)

// Snapshot is what was read of one cluster.
type Snapshot struct {
	// Cluster is the name that outputs print; empty for a dump.
	Cluster string
	// Version is the server's git version, such as v1.36.3; empty for a dump.
	Version string
	// APIVersions are what the server serves, as charts see it: "apps/v1" and "apps/v1/Deployment", in order; nil for
	// a dump.
	APIVersions []string
	// Time is when reading began; zero for a dump, which does not say.
	Time time.Time
	// Objects are held packed: they are unpacked one at a time.
	Objects *packed.Set
	// Unread lists what could not, or by choice should not, be read.
	Unread []Unread
	// Namespaced tells the scope of a kind, as discovery, CustomResourceDefinitions, the built-in table and
	// the objects themselves have it, in this order.
	Namespaced func(gitops.GroupKind) (namespaced, known bool)
	// CRDs are the CustomResourceDefinitions among Objects.
	CRDs []gitops.Object
	// Secrets tells whether Secrets among Objects carry values.
	Secrets Secrets
	// Notes are remarks for a person about the quality of the snapshot.
	Notes []string
}

// Unread is something that was not read.
type Unread struct {
	// Verb is get or list.
	Verb string
	// Group, Resource and Kind name what was asked for; Resource is empty when the API does not serve it.
	Group, Resource, Kind string
	// Namespace and Name narrow it; both empty mean all objects of the kind.
	Namespace, Name string
	// Reason is the server's own word, or why nothing was asked.
	Reason string
	// ByChoice says that the operator chose not to read it.
	ByChoice bool
	// NotServed says that the API has no such kind, so that no object of it can exist.
	NotServed bool
	// Optional says that every wanted object is known all the same: only context, or objects that no Git
	// declares, may be missing from the snapshot.
	Optional bool
	// Place is the file and line of a part of a dump that cannot be read. Kind, Namespace and Name are then what it
	// says of its object: any object may stand where they are empty.
	Place string
}

// Covers says whether the state of an object is unknown because of u. The caller asks about objects that
// are not in the snapshot.
func (u Unread) Covers(id gitops.ObjectID) bool {
	if u.Place != "" && u.Kind != "" && u.Kind != id.Kind {
		return false
	}
	return !u.Optional && (u.Place != "" || u.Group == id.Group && u.Kind == id.Kind) &&
		(u.Namespace == "" || u.Namespace == id.Namespace) && (u.Name == "" || u.Name == id.Name)
}

// Why gives the reason for which nothing can be said about an object that is not among Objects; ok is false
// when the object is known not to exist.
func (s *Snapshot) Why(id gitops.ObjectID) (why Unread, ok bool) {
	for _, u := range s.Unread {
		if u.Covers(id) {
			return u, true
		}
	}
	return Unread{}, false
}

// Wanted says what to read of a cluster.
type Wanted struct {
	// IDs are the objects that Git declares or an engine's inventory names.
	IDs []gitops.ObjectID
	// Versions are the API versions ("v1", without the group) to read kinds at; a kind that is not here, or
	// a version that is not served, is read at the server's preferred version.
	Versions map[gitops.GroupKind]string
	// Selectors are the label selectors by which engines track their objects.
	Selectors []string
	// AllKinds looks for tracked objects of every kind that the API can list, so that strays are found;
	// without it only kinds of IDs are listed.
	AllKinds bool
	// WholeKinds are listed without a selector in the whole cluster.
	WholeKinds []gitops.GroupKind
	// Places are namespaces in which every object of the namespaced PlacedKinds is read that Keep wants,
	// whoever made it. Keep is asked about metadata alone; nil keeps all.
	Places      []string
	PlacedKinds []PlacedKind
	Keep        func(gitops.Object) bool
	// Releases are Helm's records to read, where values of Secrets are read at all.
	Releases []StoredRelease
}

// StoredRelease names Helm's records of some revisions of a release, and the namespace that they are stored in.
type StoredRelease struct {
	Namespace, Name string
	Revisions       []int
}

// PlacedKind is a kind to read whole in some namespaces. Of a Crowded one most objects belong to others, as Pods
// do: they are listed by their metadata, and only those that are wanted are read.
type PlacedKind struct {
	Kind    gitops.GroupKind
	Crowded bool
}

// finish sorts what was not read and picks the CRDs.
func (s *Snapshot) finish() {
	slices.SortFunc(s.Unread, func(a, b Unread) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
	})
	s.CRDs = slices.Collect(s.Objects.Where(func(id gitops.ObjectID) bool { return id.GroupKind() == crdKind }))
}
