package live

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/gitops"
	"holdfast/gitops/packed"
)

// EngineObjects reads the objects that drive GitOps engines: Kustomizations, HelmReleases, Applications and
// their sources, of every kind that the API serves, and the ConfigMaps and Secrets that they refer to. None
// served is an empty snapshot, not an error.
func (c *Cluster) EngineObjects(ctx context.Context) (*Snapshot, error) {
	r, err := c.reader(ctx, Wanted{}, 0)
	if err != nil {
		return nil, err
	}
	for kind := range r.served.byKind {
		if engineKind(kind) {
			r.wantKind(kind)
			r.plan(kind, listing{})
		}
	}
	r.unreadGroups(func(group string) bool {
		return strings.HasSuffix(group, ".toolkit.fluxcd.io") || group == "argoproj.io"
	})
	r.runLists(ctx)
	r.wantSettings()
	r.fetchMissing(ctx)
	s := r.snapshot()
	s.Notes = append(s.Notes, unreadSettings(s.Unread)...)
	return s, ctx.Err()
}

// Read reads what w names, and what classification needs to know around it: autoscalers, admission
// webhooks and mutating policies, the Namespaces of wanted objects and the CustomResourceDefinitions of
// wanted kinds.
//
// Lists by label come first; wanted objects that they did not return are fetched by name, or by a list of
// their namespace where they are many, so that a label removed by hand does not look like a deletion.
// What is refused or breaks is in Snapshot.Unread. The error is for a server that does not say what it
// serves, and for an ended context.
func (c *Cluster) Read(ctx context.Context, w Wanted) (*Snapshot, error) {
	r, err := c.reader(ctx, w, discoveryAge)
	if err != nil {
		return nil, err
	}
	r.planWhole()
	r.planContext()
	r.planTracked()
	r.planPlaces()
	r.runLists(ctx)
	r.wantFound()
	r.wantNeighbours()
	r.fetchMissing(ctx)
	r.fetchReleases(ctx)
	return r.snapshot(), ctx.Err()
}

// reader is one reading in progress.
type reader struct {
	cluster *Cluster
	served  *served
	wanted  Wanted
	time    time.Time

	// ids are the wanted objects; false for those that are context only.
	ids map[gitops.ObjectID]bool
	// kinds are those that a verdict depends on: a list of them that fails is not optional.
	kinds map[gitops.GroupKind]bool
	lists []listing

	objects *packed.Set

	mu sync.Mutex
	// found are objects of which only metadata was listed.
	found  []gitops.ObjectID
	unread map[Unread]bool
	// failed lists did not answer (as opposed to: were refused), so nothing more is asked of that kind.
	failed map[gitops.GroupKind]bool
}

func (c *Cluster) reader(ctx context.Context, w Wanted, age time.Duration) (*reader, error) {
	start := time.Now()
	s, err := c.kinds(ctx, age)
	if err != nil {
		return nil, err
	}
	r := &reader{
		cluster: c, served: s, wanted: w, time: start,
		ids: map[gitops.ObjectID]bool{}, kinds: map[gitops.GroupKind]bool{},
		objects: packed.New(), unread: map[Unread]bool{}, failed: map[gitops.GroupKind]bool{},
	}
	for _, id := range w.IDs {
		r.want(id, true)
	}
	return r, nil
}

func (r *reader) wantKind(kind gitops.GroupKind) { r.kinds[kind] = true }

// want notes one object; what can never be read is noted as unread at once.
func (r *reader) want(id gitops.ObjectID, verdict bool) {
	kind := id.GroupKind()
	res, ok := r.served.find(kind, r.wanted.Versions[kind])
	switch reason, failed := r.served.failed[id.Group]; {
	case !ok && failed:
		r.miss(Unread{Verb: "get", Group: id.Group, Kind: id.Kind, Reason: reason, Optional: !verdict})
	case !ok:
		r.miss(Unread{Verb: "get", Group: id.Group, Kind: id.Kind, Reason: "not served", NotServed: true, Optional: !verdict})
	case kind == secretKind && r.cluster.secrets == SecretsNone:
		r.missSecrets(!verdict)
	case !res.get && !res.list:
		r.miss(Unread{Verb: "get", Group: id.Group, Kind: id.Kind, Resource: res.plural, Reason: "the API cannot read this kind", Optional: !verdict})
	case !validSegment(id.Name) || !validSegment(id.Namespace):
		// No such object can exist, and no such path may be asked for.
	default:
		if !res.namespaced {
			id.Namespace = ""
		} else if id.Namespace == "" {
			id.Namespace = "default"
		}
		r.ids[id] = r.ids[id] || verdict
		if verdict {
			r.wantKind(kind)
		}
	}
}

func (r *reader) missSecrets(optional bool) {
	r.miss(Unread{Verb: "list", Kind: "Secret", Resource: "secrets", Reason: "Secrets are not read, by choice", ByChoice: true, Optional: optional})
}

func (r *reader) miss(u Unread) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unread[u] = true
}

// plan adds a list of a kind, unless the same or a wider one is planned.
func (r *reader) plan(kind gitops.GroupKind, l listing) {
	res, ok := r.served.find(kind, r.wanted.Versions[kind])
	if !ok || !res.list || kind == secretKind && r.cluster.secrets == SecretsNone {
		return
	}
	wider := func(o listing) bool {
		return o.resource == res && (o.selector == l.selector && o.namespace == l.namespace || o.selector == "" && o.keep == nil && o.namespace == "")
	}
	if slices.ContainsFunc(r.lists, wider) {
		return
	}
	l.resource = res
	r.lists = append(r.lists, l)
}

func (r *reader) planWhole() {
	for _, kind := range r.wanted.WholeKinds {
		if kind == secretKind && r.cluster.secrets == SecretsNone {
			r.missSecrets(true)
		}
		if reason, failed := r.served.failed[kind.Group]; failed {
			r.miss(Unread{Verb: "list", Group: kind.Group, Kind: kind.Kind, Reason: reason, Optional: true})
		}
		r.plan(kind, listing{})
	}
}

// planContext lists what may have changed wanted objects on its own: autoscalers, admission and what fills Secrets.
func (r *reader) planContext() {
	if len(r.ids) == 0 && !r.wanted.AllKinds {
		return
	}
	for _, kind := range []gitops.GroupKind{
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"},
		{Group: "autoscaling.k8s.io", Kind: "VerticalPodAutoscaler"},
		{Group: "keda.sh", Kind: "ScaledObject"},
		{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"},
		{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"},
		{Group: "kyverno.io", Kind: "ClusterPolicy"},
		{Group: "kyverno.io", Kind: "Policy"},
		{Group: "policies.kyverno.io", Kind: "MutatingPolicy"},
		{Group: "policies.kyverno.io", Kind: "NamespacedMutatingPolicy"},
		{Group: "mutations.gatekeeper.sh", Kind: "Assign"},
		{Group: "mutations.gatekeeper.sh", Kind: "AssignImage"},
		{Group: "mutations.gatekeeper.sh", Kind: "AssignMetadata"},
		{Group: "mutations.gatekeeper.sh", Kind: "ModifySet"},
		{Group: "external-secrets.io", Kind: "ExternalSecret"},
	} {
		r.plan(kind, listing{})
	}
}

// planTracked lists by the engines' labels: the wanted kinds, or every kind.
func (r *reader) planTracked() {
	kinds := slices.Collect(maps.Keys(r.kinds))
	if r.wanted.AllKinds {
		kinds = slices.Collect(maps.Keys(r.served.byKind))
		if r.cluster.secrets == SecretsNone {
			r.missSecrets(true)
		}
		for group, reason := range r.served.failed {
			r.miss(Unread{Verb: "list", Group: group, Reason: reason, Optional: true})
		}
	}
	slices.SortFunc(kinds, func(a, b gitops.GroupKind) int { return strings.Compare(a.Group+"/"+a.Kind, b.Group+"/"+b.Kind) })
	for _, kind := range kinds {
		if res, ok := r.served.find(kind, ""); !ok || neverTracked(res) && !r.kinds[kind] {
			continue
		}
		for _, selector := range r.wanted.Selectors {
			r.plan(kind, listing{selector: selector})
		}
	}
}

func (r *reader) unreadGroups(of func(group string) bool) {
	for group, reason := range r.served.failed {
		if of(group) {
			r.miss(Unread{Verb: "list", Group: group, Reason: reason})
		}
	}
}

func (r *reader) runLists(ctx context.Context) {
	var wg sync.WaitGroup
	for _, l := range r.lists {
		wg.Go(func() { r.runList(ctx, l) })
	}
	wg.Wait()
}

// runList reads one list of the whole cluster, and namespace by namespace where that is forbidden.
func (r *reader) runList(ctx context.Context, l listing) {
	objects, err := r.cluster.list(ctx, l, r.objects)
	r.take(l, objects)
	switch {
	case err == nil:
	case isStatus(err, http.StatusForbidden) && l.resource.namespaced && l.namespace == "":
		r.runNamespaces(ctx, l, err)
	case isStatus(err, http.StatusForbidden):
		r.missList(l, err, true)
	default:
		r.broke(l, err, !r.kinds[l.resource.groupKind()])
	}
}

// runNamespaces lists the namespaces that matter, after the whole list was forbidden. Wanted objects of a
// refused namespace are still asked for by name. For a kind that no verdict depends on, the first refusal
// ends it: many namespaces times many kinds of refusals would only fill the audit log.
func (r *reader) runNamespaces(ctx context.Context, l listing, forbidden error) {
	kind := l.resource.groupKind()
	// Objects that nobody declares may live in namespaces that were not asked. Engine objects are found by
	// list alone, so there the operator must have named the namespaces.
	r.missList(l, forbidden, !r.discovers() || r.cluster.scoped)
	for _, l.namespace = range r.namespacesOf(kind) {
		objects, err := r.cluster.list(ctx, l, r.objects)
		r.take(l, objects)
		switch {
		case err == nil:
		case isStatus(err, http.StatusForbidden):
			r.missList(l, err, !r.discovers())
			if !r.kinds[kind] {
				return
			}
		default:
			r.broke(l, err, !r.kinds[kind])
		}
	}
}

// discovers says that this reading looks for engine objects, of which no names are known beforehand.
func (r *reader) discovers() bool { return len(r.wanted.IDs) == 0 && len(r.kinds) > 0 }

// missList notes a refused list. It is optional where wanted objects are asked for by name afterwards.
func (r *reader) missList(l listing, err error, optional bool) {
	r.miss(Unread{
		Verb: "list", Group: l.resource.group, Kind: l.resource.kind, Resource: l.resource.plural,
		Namespace: l.namespace, Reason: err.Error(), Optional: optional,
	})
}

// broke notes a list that did not answer, or not to its end. Nothing more is asked of its kind.
func (r *reader) broke(l listing, err error, optional bool) {
	r.mu.Lock()
	r.failed[l.resource.groupKind()] = true
	r.mu.Unlock()
	r.missList(l, err, optional)
}

// namespacesOf are the namespaces to ask one by one: those of wanted objects of the kind, or of all wanted
// objects where none is of the kind, and those that the operator named.
func (r *reader) namespacesOf(kind gitops.GroupKind) []string {
	set := map[string]bool{}
	for _, n := range r.cluster.namespaces {
		set[n] = true
	}
	for id := range r.ids {
		if id.Namespace != "" && (id.GroupKind() == kind || !r.kinds[kind] || r.wanted.AllKinds) {
			set[id.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func (r *reader) snapshot() *Snapshot {
	s := &Snapshot{
		Cluster: r.cluster.name, Version: r.cluster.version, Time: r.time, Secrets: r.cluster.secrets,
		Objects: r.objects,
		Unread:  slices.Collect(maps.Keys(r.unread)),
	}
	s.Namespaced, s.APIVersions = r.served.namespaced, r.served.apiVersions()
	s.finish()
	return s
}
