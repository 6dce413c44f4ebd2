package live

import (
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/packed"
)

// manyPlaces is how many namespaces are cheaper to ask by one list of the cluster than one by one.
const manyPlaces = 10

// planPlaces lists the placed kinds: namespace by namespace, or, where these are many, in one list of which the
// other namespaces' objects are dropped. What the engines' labels find is not asked for again.
func (r *reader) planPlaces() {
	for _, placed := range r.wanted.PlacedKinds {
		res, ok := r.served.find(placed.Kind, r.wanted.Versions[placed.Kind])
		if !ok || !res.namespaced || placed.Kind == secretKind {
			continue
		}
		l := listing{metadata: placed.Crowded && res.get, selector: r.untracked(placed.Kind, res), keep: r.keeps}
		if len(r.wanted.Places) > manyPlaces {
			r.plan(placed.Kind, l)
			continue
		}
		for _, l.namespace = range r.wanted.Places {
			r.plan(placed.Kind, l)
		}
	}
}

// untracked selects what no list by an engine's label returns; all, where no such list is made.
func (r *reader) untracked(kind gitops.GroupKind, res resource) string {
	var none []string
	for _, selector := range r.wanted.Selectors {
		listed := slices.ContainsFunc(r.lists, func(l listing) bool { return l.resource == res && l.selector == selector })
		if listed && !strings.ContainsAny(selector, "=!, ") { // a bare key, which can be negated
			none = append(none, "!"+selector)
		}
	}
	return strings.Join(none, ",")
}

// keeps says whether an object of a placed kind is worth holding.
func (r *reader) keeps(o gitops.Object) bool {
	if !slices.Contains(r.wanted.Places, o.ID.Namespace) {
		return false
	}
	return r.wanted.Keep == nil || r.wanted.Keep(o) || r.isWanted(o)
}

// take holds what a list returned. Objects of which it returned metadata only are to be read.
func (r *reader) take(l listing, objects []packed.Object) {
	if !l.metadata {
		r.objects.Add(objects...)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range objects {
		r.found = append(r.found, o.ID)
	}
}

func (r *reader) wantFound() {
	for _, id := range r.found {
		r.want(id, false)
	}
}
