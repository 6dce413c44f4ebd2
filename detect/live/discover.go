package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"holdfast/gitops"
)

var (
	crdKind       = gitops.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	namespaceKind = gitops.GroupKind{Kind: "Namespace"}
	secretKind    = gitops.GroupKind{Kind: "Secret"}
)

// resource is one kind at one version, as the API serves it.
type resource struct {
	group, version, plural, kind string
	namespaced, get, list        bool
}

func (r resource) groupKind() gitops.GroupKind { return gitops.GroupKind{Group: r.group, Kind: r.kind} }

func (r resource) apiVersion() string {
	if r.group == "" {
		return r.version
	}
	return r.group + "/" + r.version
}

// path is the URL path of the resource in a namespace ("" for all, or none), and of one object.
func (r resource) path(namespace, name string) []string {
	var p []string
	if r.group == "" {
		p = append(p, "api", r.version)
	} else {
		p = append(p, "apis", r.group, r.version)
	}
	if namespace != "" {
		p = append(p, "namespaces", namespace)
	}
	p = append(p, r.plural)
	if name != "" {
		p = append(p, name)
	}
	return p
}

// served is what the API offers.
type served struct {
	// byKind holds the versions of each kind, the preferred one first.
	byKind map[gitops.GroupKind][]resource
	// failed are groups whose discovery did not answer, such as an aggregated API whose server is down.
	failed map[string]string
}

// find gives a kind at the wanted version, else at the preferred one.
func (s *served) find(kind gitops.GroupKind, version string) (resource, bool) {
	versions := s.byKind[kind]
	if len(versions) == 0 {
		return resource{}, false
	}
	if i := slices.IndexFunc(versions, func(r resource) bool { return r.version == version }); i >= 0 {
		return versions[i], true
	}
	return versions[0], true
}

// apiVersions lists groups with their versions, and each kind at its versions, as Helm gives them to charts.
func (s *served) apiVersions() []string {
	set := map[string]bool{}
	for _, versions := range s.byKind {
		for _, r := range versions {
			set[r.apiVersion()] = true
			set[r.apiVersion()+"/"+r.kind] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func (s *served) namespaced(kind gitops.GroupKind) (namespaced, known bool) {
	if versions := s.byKind[kind]; len(versions) > 0 {
		return versions[0].namespaced, true
	}
	return gitops.BuiltinNamespaced(kind)
}

// discoveryAge is how long Read takes EngineObjects' word for what the API serves: the two belong to one scan,
// and discovery costs the server more than most lists.
const discoveryAge = time.Minute

// kinds gives what the API serves, asked anew when the last answer is older than age.
func (c *Cluster) kinds(ctx context.Context, age time.Duration) (*served, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.served != nil && time.Since(c.servedAt) < age {
		return c.served, nil
	}
	s, err := c.discover(ctx)
	if err == nil {
		c.served, c.servedAt = s, time.Now()
	}
	return s, err
}

// discover asks what the API serves. Groups that do not answer are data; the error is for a server that
// does not answer at all.
func (c *Cluster) discover(ctx context.Context) (*served, error) {
	groups, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	s := &served{byKind: map[gitops.GroupKind][]resource{}, failed: map[string]string{}}
	if err != nil {
		failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
		if !partial {
			return nil, fmt.Errorf("cluster %q: which kinds the API serves: %w", c.name, err)
		}
		for gv, cause := range failed {
			s.failed[gv.Group] = fmt.Sprintf("the API group %s does not answer discovery: %v", gv, cause)
		}
	}
	preferred := map[string]string{}
	for _, g := range groups {
		preferred[g.Name] = g.PreferredVersion.Version
	}
	for _, list := range lists {
		s.add(list, preferred)
	}
	return s, nil
}

func (s *served) add(list *metav1.APIResourceList, preferred map[string]string) {
	group, version, grouped := strings.Cut(list.GroupVersion, "/")
	if !grouped {
		group, version = "", group
	}
	for _, item := range list.APIResources {
		if strings.Contains(item.Name, "/") { // a subresource
			continue
		}
		r := resource{
			group: group, version: version, plural: item.Name, kind: item.Kind, namespaced: item.Namespaced,
			get: slices.Contains(item.Verbs, "get"), list: slices.Contains(item.Verbs, "list"),
		}
		versions := s.byKind[r.groupKind()]
		if slices.ContainsFunc(versions, func(o resource) bool { return o.version == version }) {
			continue // two resources of one kind: the first is the one that objects live under
		}
		if version == preferred[group] {
			versions = slices.Insert(versions, 0, r)
		} else {
			versions = append(versions, r)
		}
		s.byKind[r.groupKind()] = versions
	}
}

// neverTracked are kinds that controllers make in great numbers, or that are no stored objects: no search
// for strays lists them.
func neverTracked(r resource) bool {
	switch r.group {
	case "events.k8s.io", "metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io",
		"coordination.k8s.io", "discovery.k8s.io", "internal.apiserver.k8s.io":
		return true
	case "":
		return r.kind == "Event" || r.kind == "Endpoints" || r.kind == "ComponentStatus"
	case "apps":
		return r.kind == "ReplicaSet" || r.kind == "ControllerRevision"
	}
	return strings.HasSuffix(r.kind, "Review")
}

// engineKind says whether objects of the kind drive a GitOps engine.
func engineKind(kind gitops.GroupKind) bool {
	switch kind.Group {
	case "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io":
		return true
	case "argoproj.io":
		return kind.Kind == "Application" || kind.Kind == "AppProject" || kind.Kind == "ApplicationSet"
	}
	return false
}
