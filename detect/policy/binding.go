package policy

import (
	"fmt"

	"holdfast/gitops"
)

// Binding lets Applications of some clusters and namespaces name a repository.
type Binding struct {
	// URL is the repository's, in any of the spellings that gitops.SameRepository takes for one.
	URL string
	// Clusters and Namespaces are names, with * and ? as in rules. Empty lists allow nothing.
	Clusters, Namespaces []string
}

// Bindings are all repositories that a server may read for an Application.
type Bindings []Binding

// Allows says whether an Application in namespace of cluster may name the repository; else why not, as
// the reason of an unknown Application. A repository that is not bound must not be cloned.
func (b Bindings) Allows(repoURL, cluster, namespace string) (ok bool, reason string) {
	known, clusterKnown := false, false
	for _, binding := range b {
		if !gitops.SameRepository(binding.URL, repoURL) {
			continue
		}
		known = true
		if !anyGlob(binding.Clusters, cluster) {
			continue
		}
		clusterKnown = true
		if anyGlob(binding.Namespaces, namespace) {
			return true, ""
		}
	}
	name := gitops.WithoutCredentials(repoURL)
	switch {
	case !known:
		return false, fmt.Sprintf("not bound: no repositories entry of holdfast.yaml has the url %s", name)
	case !clusterKnown:
		return false, fmt.Sprintf("not bound: holdfast.yaml does not bind %s to cluster %s", name, cluster)
	}
	return false, fmt.Sprintf("not bound: holdfast.yaml binds %s to cluster %s, but not to namespace %s", name, cluster, namespace)
}
