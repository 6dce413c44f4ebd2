package live

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"holdfast/gitops"
)

// manyMissing is how many missing objects of one kind in one namespace are cheaper to list than to get.
const manyMissing = 10

// wantNeighbours adds the Namespaces of wanted objects and the CustomResourceDefinitions of wanted kinds.
// Nothing depends on them alone: an unread one is optional.
func (r *reader) wantNeighbours() {
	namespaces := map[string]bool{}
	for id := range r.ids {
		if id.Namespace != "" {
			namespaces[id.Namespace] = true
		}
	}
	for name := range namespaces {
		r.want(gitops.ObjectID{Kind: namespaceKind.Kind, Name: name}, false)
	}
	for kind := range r.kinds {
		if _, builtin := gitops.BuiltinNamespaced(kind); builtin && !engineKind(kind) {
			continue
		}
		if res, ok := r.served.find(kind, ""); ok {
			r.want(gitops.ObjectID{Group: crdKind.Group, Kind: crdKind.Kind, Name: res.plural + "." + res.group}, false)
		}
	}
}

// bunch is the objects of one kind in one namespace that no list returned.
type bunch struct {
	resource  resource
	namespace string
	ids       []gitops.ObjectID
}

// fetchMissing asks for wanted objects that no list returned. Kinds whose list broke are left out: they are
// unread already, and a server in trouble is not asked a thousand times more.
func (r *reader) fetchMissing(ctx context.Context) {
	type place struct {
		kind      gitops.GroupKind
		namespace string
	}
	bunches := map[place]*bunch{}
	for id := range r.ids {
		kind := id.GroupKind()
		if r.objects.Has(id) || r.failed[kind] || r.listedWhole(kind) {
			continue
		}
		at := place{kind, id.Namespace}
		if bunches[at] == nil {
			res, _ := r.served.find(kind, r.wanted.Versions[kind])
			bunches[at] = &bunch{resource: res, namespace: id.Namespace}
		}
		bunches[at].ids = append(bunches[at].ids, id)
	}
	var wg sync.WaitGroup
	for _, b := range bunches {
		wg.Go(func() { r.fetch(ctx, b) })
	}
	wg.Wait()
}

// listedWhole says whether a list of every object of the kind was read, so that what it lacks does not exist.
func (r *reader) listedWhole(kind gitops.GroupKind) bool {
	for _, l := range r.lists {
		if l.resource.groupKind() == kind && l.selector == "" && l.keep == nil {
			for u := range r.unread {
				if u.Group == kind.Group && u.Kind == kind.Kind {
					return false
				}
			}
			return true
		}
	}
	return false
}

func (r *reader) fetch(ctx context.Context, b *bunch) {
	if len(b.ids) >= manyMissing && b.resource.list || !b.resource.get {
		l := listing{resource: b.resource, namespace: b.namespace, keep: r.isWanted}
		objects, err := r.cluster.list(ctx, l, r.objects)
		r.objects.Add(objects...)
		if err == nil {
			return
		}
		if !isStatus(err, http.StatusForbidden) || !b.resource.get {
			r.broke(l, err, !b.verdict(r.ids))
			return
		}
	}
	// The first one tells whether getting works at all; if not, the others are unread alike.
	if err := r.fetchOne(ctx, b, b.ids[0]); err != nil {
		unread := b.ids[0]
		if len(b.ids) > 1 {
			unread.Name = ""
		}
		r.missOne(b, unread, !b.verdict(r.ids), err)
		return
	}
	var wg sync.WaitGroup
	for _, id := range b.ids[1:] {
		wg.Go(func() {
			if err := r.fetchOne(ctx, b, id); err != nil {
				r.missOne(b, id, !r.ids[id], err)
			}
		})
	}
	wg.Wait()
}

func (r *reader) isWanted(o gitops.Object) bool {
	_, wanted := r.ids[o.ID]
	return wanted
}

// verdict says whether any object of the bunch is more than context.
func (b *bunch) verdict(ids map[gitops.ObjectID]bool) bool {
	return slices.ContainsFunc(b.ids, func(id gitops.ObjectID) bool { return ids[id] })
}

func (r *reader) fetchOne(ctx context.Context, b *bunch, id gitops.ObjectID) error {
	object, found, err := r.cluster.getOne(ctx, b.resource, id)
	if found {
		r.objects.Add(r.objects.Pack(object))
	}
	return err
}

func (r *reader) missOne(b *bunch, id gitops.ObjectID, optional bool, err error) {
	r.miss(Unread{
		Verb: "get", Group: id.Group, Kind: id.Kind, Resource: b.resource.plural,
		Namespace: id.Namespace, Name: id.Name, Reason: err.Error(), Optional: optional,
	})
}
