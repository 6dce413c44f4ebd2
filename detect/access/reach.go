package access

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"holdfast/gitops"
)

// Target is an object that must change through the pipeline only. Resource is its kind's name in URLs and in rules.
type Target struct {
	ID       gitops.ObjectID
	Resource string
}

// namespace is where the API server places a request for the target.
func (t Target) namespace() string {
	if t.ID.Group == "" && t.ID.Kind == "Namespace" {
		return t.ID.Name
	}
	return t.ID.Namespace
}

// Hold is what a grant allows on one resource of the targets.
type Hold struct {
	// Group and Resource name it; Resource may be a subresource: deployments/scale.
	Group, Resource string
	// Verbs are in order: delete, deletecollection, patch, update.
	Verbs []string
	// Objects counts the targets.
	Objects int
}

// String gives "patch, update deployments.apps".
func (h Hold) String() string {
	resource, subresource, _ := strings.Cut(h.Resource, "/")
	return strings.Join(h.Verbs, ", ") + " " + resourceName(h.Group, resource, subresource)
}

// writes are the verbs that change an object which is there. Creating one beside it changes none.
func writes() []string { return []string{"delete", "deletecollection", "patch", "update"} }

// subresources are those through which the object itself changes, with the verbs that do it.
func subresources(group, resource string) []string {
	var out []string
	if scales(group, resource) {
		out = append(out, "scale")
	}
	if group == "" && resource == "pods" {
		out = append(out, "ephemeralcontainers", "resize")
	}
	if group == "" && resource == "namespaces" {
		out = append(out, "finalize")
	}
	return out
}

// scales says whether a resource may have a scale: of Kubernetes' own these have one, and a custom one may.
func scales(group, resource string) bool {
	switch group {
	case "":
		return resource == "replicationcontrollers"
	case "apps":
		return resource == "deployments" || resource == "statefulsets" || resource == "replicasets"
	}
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// set is a set of targets, by index.
type set []uint64

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

// join adds what is in o, a set of the same targets.
func (s set) join(o set) {
	for i, w := range o {
		s[i] |= w
	}
}

func (s set) len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// within says whether all of s is in o.
func (s set) within(o set) bool {
	for i, w := range s {
		if w != 0 && (i >= len(o) || w&^o[i] != 0) {
			return false
		}
	}
	return true
}

// kindKey is a resource of the targets.
type kindKey struct{ group, resource string }

// targets are all targets, found by resource, namespace and name.
type targets struct {
	all   []Target
	kinds map[kindKey]map[string][]int // by namespace
	order []kindKey
	// places are the targets of a namespace, cluster-scoped ones under "".
	places map[string]set
	every  set
	// names are the namespaces in order, and in tells of each target which of them it is in; -1 for none.
	names []string
	in    []int
}

func indexed(all []Target) *targets {
	t := &targets{all: slices.Clone(all), kinds: map[kindKey]map[string][]int{}, places: map[string]set{}}
	slices.SortFunc(t.all, func(a, b Target) int { return a.ID.Compare(b.ID) })
	t.all = slices.CompactFunc(t.all, func(a, b Target) bool { return a.ID == b.ID })
	t.every = t.none()
	for i, one := range t.all {
		key, namespace := kindKey{one.ID.Group, one.Resource}, one.namespace()
		if t.kinds[key] == nil {
			t.kinds[key] = map[string][]int{}
			t.order = append(t.order, key)
		}
		t.kinds[key][namespace] = append(t.kinds[key][namespace], i)
		if t.places[namespace] == nil {
			t.places[namespace] = t.none()
		}
		t.places[namespace].add(i)
		t.every.add(i)
	}
	slices.SortFunc(t.order, func(a, b kindKey) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource))
	})
	for name := range t.places {
		if name != "" {
			t.names = append(t.names, name)
		}
	}
	slices.Sort(t.names)
	for _, one := range t.all {
		i, ok := slices.BinarySearch(t.names, one.namespace())
		if !ok {
			i = -1
		}
		t.in = append(t.in, i)
	}
	return t
}

// namespaces gives the namespaces that targets of a set are in, in order.
func (t *targets) namespaces(s set) []string {
	var out []string
	found := make([]bool, len(t.names))
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			if n := t.in[i*64+bits.TrailingZeros64(w)]; n >= 0 {
				found[n] = true
			}
		}
	}
	for i, name := range t.names {
		if found[i] {
			out = append(out, name)
		}
	}
	return out
}

func (t *targets) none() set { return make(set, (len(t.all)+63)/64) }

// reach is what a role lets change where it holds.
type reach struct {
	objects set
	holds   []Hold
}

// reach finds what a role lets change in a namespace, or with "" in the whole cluster. Only the role's own rules are
// looked at, against the resources that there are: no object is compared with a rule that does not name it.
func (t *targets) reach(r *Role, namespace string) reach {
	out := reach{objects: t.none()}
	for _, key := range t.order {
		places := t.kinds[key]
		if namespace != "" {
			places = map[string][]int{namespace: places[namespace]}
			if len(places[namespace]) == 0 {
				continue
			}
		}
		for _, sub := range append([]string{""}, subresources(key.group, key.resource)...) {
			h, objects := t.hold(r, key, sub, places)
			if h.Objects > 0 {
				out.holds = append(out.holds, h)
				out.objects.join(objects)
			}
		}
	}
	return out
}

func (t *targets) hold(r *Role, key kindKey, sub string, places map[string][]int) (Hold, set) {
	h := Hold{Group: key.group, Resource: key.resource}
	if sub != "" {
		h.Resource += "/" + sub
	}
	var objects set
	for _, rule := range r.Rules {
		if !holds(rule.Groups, key.group) || !rule.covers(key.resource, sub) {
			continue
		}
		var verbs []string
		for _, v := range writes() {
			collection := v == "deletecollection" && (len(rule.Names) > 0 || sub != "")
			if holds(rule.Verbs, v) && !collection && (sub == "" || v != "delete") {
				verbs = append(verbs, v)
			}
		}
		if len(verbs) == 0 {
			continue
		}
		if objects == nil {
			objects = t.none()
		}
		before := objects.len()
		for _, indexes := range places {
			for _, i := range indexes {
				if len(rule.Names) == 0 || slices.Contains(rule.Names, t.all[i].ID.Name) {
					objects.add(i)
				}
			}
		}
		if objects.len() > before || len(rule.Names) == 0 {
			h.Verbs = append(h.Verbs, verbs...)
		}
	}
	if objects == nil {
		return h, nil
	}
	slices.Sort(h.Verbs)
	h.Verbs, h.Objects = slices.Compact(h.Verbs), objects.len()
	return h, objects
}

// sensitivity ranks resources by what a change of them opens: 3 hands out rights, or steers what is applied or
// admitted; 2 runs code or lets traffic through; 1 is all the rest.
func sensitivity(group, resource string) int {
	resource, _, _ = strings.Cut(resource, "/")
	switch group {
	case rbacGroup, "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "argoproj.io":
		return 3
	case "apps", "batch", "networking.k8s.io":
		return 2
	case "":
		switch resource {
		case "namespaces", "secrets":
			return 3
		case "pods", "serviceaccounts", "replicationcontrollers":
			return 2
		}
	}
	if strings.HasSuffix(group, ".toolkit.fluxcd.io") {
		return 3
	}
	return 1
}
