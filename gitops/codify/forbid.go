package codify

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// forbiddenFile says why a file must not be written. Holdfast's own files are out of everybody's reach.
func (r *Request) forbiddenFile(name string) (reason string, no bool) {
	for _, part := range strings.Split(path.Clean(name), "/") {
		if strings.HasPrefix(part, ".holdfast") {
			return name + " belongs to Holdfast", true
		}
	}
	if r.Forbidden != nil {
		return r.Forbidden(name)
	}
	parts := strings.Split(strings.ToLower(path.Clean(name)), "/")
	base := parts[len(parts)-1]
	ci := []string{".github", ".gitlab", ".gitea", ".forgejo", ".ci", ".circleci", ".buildkite", ".tekton", ".woodpecker"}
	switch {
	case base == "codeowners" || base == "owners":
		return name + " says who must approve", true
	case len(parts) > 1 && slices.Contains(ci, parts[0]), strings.HasPrefix(base, ".gitlab-ci"), base == "jenkinsfile", strings.HasPrefix(base, ".drone."):
		return name + " belongs to CI", true
	case parts[0] == ".git" || strings.HasPrefix(base, ".git") || base == ".sops.yaml":
		return name + " says how the repository is read", true
	}
	return "", false
}

// encrypted says whether a file carries the mark of SOPS.
func encrypted(data []byte) bool {
	if !bytes.Contains(data, []byte("sops")) {
		return false
	}
	docs, err := splice.Documents(data)
	return err == nil && slices.ContainsFunc(docs, func(d any) bool {
		mac := splice.Lookup(d, gitops.Path{gitops.Field("sops"), gitops.Field("mac")})
		return mac.Set
	})
}

// forbiddenChange says why a field of an object must not be written: credentials, what decides who may do
// what, where declared state comes from, and what only the server sets.
func (r *Request) forbiddenChange(id gitops.ObjectID, p gitops.Path) (reason string, no bool) {
	first := ""
	if len(p) > 0 {
		first = p[0].Field
	}
	switch {
	case id.Group == "" && id.Kind == "Secret" && (first == "data" || first == "stringData"):
		return SecretValue, true
	case first == "status":
		return "status is the cluster's to write", true
	case serverSet(p):
		return p.String() + " is set by the API server", true
	}
	why := sourceOf(id, p)
	if why == "" && r.AllowKind != nil && r.AllowKind(id.GroupKind()) {
		return "", false
	}
	switch {
	case why != "":
	case id.Group == "rbac.authorization.k8s.io":
		why = "RBAC decides who may do what"
	case id.Group == "admissionregistration.k8s.io":
		why = "admission decides what may be written"
	}
	if why == "" {
		return "", false
	}
	return fmt.Sprintf("%s is not written: %s", id.Kind, why), true
}

// What is said of Secrets, and what remains to be done about them.
const (
	SecretValue   = "a Secret's values are never written to Git: change the value where Git has it, encrypted or in a store, or revert the live one"
	secretRemains = "a Secret is never written to Git: put it where Git has its secrets, encrypted or in a store, or delete it from the cluster"
)

// serverSet are the fields of metadata that no manifest holds.
func serverSet(p gitops.Path) bool {
	if len(p) < 2 || p[0].Field != "metadata" {
		return false
	}
	return slices.Contains([]string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds"}, p[1].Field)
}

// sourceOf says why a field of an engine's object must stay: it names where declared state comes from.
func sourceOf(id gitops.ObjectID, p gitops.Path) string {
	const why = "it says where declared state comes from"
	under := func(prefixes ...string) bool {
		return len(p) == 0 || slices.ContainsFunc(prefixes, func(prefix string) bool {
			want, err := gitops.ParsePath(prefix)
			return err != nil || p.HasPrefix(want) || want.HasPrefix(p)
		})
	}
	switch {
	case id.Group == "source.toolkit.fluxcd.io", id.Group == "argoproj.io" && id.Kind == "AppProject":
		return why
	case id.Group == "kustomize.toolkit.fluxcd.io" && under("spec.sourceRef", "spec.path"),
		id.Group == "helm.toolkit.fluxcd.io" && under("spec.chart.spec.sourceRef", "spec.chart.spec.chart", "spec.chart.spec.version", "spec.chartRef"):
		return why
	case id.Group == "argoproj.io" && id.Kind == "Application" &&
		(under("spec.source.repoURL", "spec.source.targetRevision", "spec.source.path", "spec.source.chart") || len(p) > 1 && p[1].Field == "sources"):
		return why
	case id.Group == "argoproj.io" && id.Kind == "ApplicationSet" && under("spec.template", "spec.generators"):
		return why
	}
	return ""
}
