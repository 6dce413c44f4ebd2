package policy

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// Binding lets Applications of some clusters and namespaces name a repository.
type Binding struct {
	// URL is the repository's, in any of the spellings that SameRepository takes for one.
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
		if !SameRepository(binding.URL, repoURL) {
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
	name := withoutCredentials(repoURL)
	switch {
	case !known:
		return false, fmt.Sprintf("not bound: no repositories entry of holdfast.yaml has the url %s", name)
	case !clusterKnown:
		return false, fmt.Sprintf("not bound: holdfast.yaml does not bind %s to cluster %s", name, cluster)
	}
	return false, fmt.Sprintf("not bound: holdfast.yaml binds %s to cluster %s, but not to namespace %s", name, cluster, namespace)
}

// SameRepository says whether two URLs name one repository: user, password, default port, a final slash
// and .git do not count, nor whether it is reached by https or ssh, in either form of ssh. http is not
// https, and a file is only itself.
func SameRepository(a, b string) bool {
	ca, cb := canonical(a), canonical(b)
	return ca != "" && ca == cb
}

func canonical(raw string) string {
	u := parseRepository(raw)
	if u == nil {
		return ""
	}
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	switch {
	case scheme == "https" && (port == "" || port == "443"), strings.TrimPrefix(scheme, "git+") == "ssh" && (port == "" || port == "22"):
		scheme, port = "https", ""
	case scheme == "http" && port == "80":
		port = ""
	case scheme == "" || scheme == "file":
		return "file:" + path.Clean(u.Path)
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port + "/" +
		strings.TrimSuffix(strings.Trim(path.Clean("/"+u.Path), "/"), ".git")
}

// parseRepository also reads the user@host:path form of ssh.
func parseRepository(raw string) *url.URL {
	if raw == "" {
		return nil
	}
	if host, rest, ok := strings.Cut(raw, ":"); ok && !strings.Contains(host, "/") && !strings.HasPrefix(rest, "//") {
		return &url.URL{Scheme: "ssh", Host: host[strings.LastIndex(host, "@")+1:], Path: "/" + rest}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	return u
}

func withoutCredentials(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		// The user@host:path form; its user part is no secret, but nothing is lost without it.
		return raw[strings.LastIndex(raw, "@")+1:]
	}
	u.User = nil
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}
