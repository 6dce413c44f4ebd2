package flux

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"holdfast/gitops"
)

// sourceObject has the fields of all kinds of sources that matter here. They are few, and the kinds differ
// in which they have.
type sourceObject struct {
	Spec struct {
		URL string `json:"url"`
		Ref struct {
			Branch string `json:"branch"`
			Tag    string `json:"tag"`
			SemVer string `json:"semver"`
			Name   string `json:"name"`
			Commit string `json:"commit"`
		} `json:"ref"`
		Ignore     *string `json:"ignore"`
		Include    []any   `json:"include"`
		Endpoint   string  `json:"endpoint"`
		BucketName string  `json:"bucketName"`
	} `json:"spec"`
}

// source tells where a Kustomization's files come from.
func (d *decoder) source(id gitops.ObjectID, k kustomizev1.Kustomization) gitops.Source {
	ref := gitops.ObjectID{
		Group: SourceGroup, Kind: k.Spec.SourceRef.Kind, Name: k.Spec.SourceRef.Name,
		Namespace: cmp.Or(k.Spec.SourceRef.Namespace, id.Namespace),
	}
	out := gitops.Source{Path: folder(k.Spec.Path), Kind: ref.Kind, Ref: ref}
	if ref.Kind == "GitRepository" {
		out.Applied = Commit(k.Status.LastAppliedRevision)
	}
	o, ok := d.find(ref)
	if !ok {
		d.problem(id, gitops.NoSource, false, "its %s %s/%s is not among the objects read; repository and branch are not known", ref.Kind, ref.Namespace, ref.Name)
		return out
	}
	var s sourceObject
	if err := into(o, &s); err != nil {
		d.problem(o.ID, gitops.Undecodable, false, "%s: %v", o.APIVersion, err)
		return out
	}
	switch ref.Kind {
	case "GitRepository":
		out.Repo, out.Branch = gitops.WithoutCredentials(s.Spec.URL), s.branch()
	case "OCIRepository":
		out.Repo = gitops.WithoutCredentials(s.Spec.URL)
	case "Bucket":
		out.Repo = fmt.Sprintf("%s/%s", s.Spec.Endpoint, s.Spec.BucketName)
	}
	if len(s.Spec.Include) > 0 {
		d.problem(id, gitops.OutsideRepository, true, "its %s %s includes files of other repositories (spec.include), which are not read", ref.Kind, ref.Name)
	}
	if s.Spec.Ignore != nil {
		d.problem(id, gitops.OutsideRepository, false, "its %s %s leaves files out (spec.ignore), which the render does not know", ref.Kind, ref.Name)
	}
	return out
}

// branch is the branch that a GitRepository follows. A commit, a ref name, a semver range and a tag go
// before it, in this order; without any of them it is master
// (https://fluxcd.io/flux/components/source/gitrepositories/#reference).
func (s sourceObject) branch() string {
	ref := s.Spec.Ref
	switch {
	case ref.Commit != "":
		return ""
	case ref.Name != "":
		if branch, ok := strings.CutPrefix(ref.Name, "refs/heads/"); ok {
			return branch
		}
		return ""
	case ref.SemVer != "" || ref.Tag != "":
		return ""
	}
	return cmp.Or(ref.Branch, "master")
}

var revisionPattern = regexp.MustCompile(`^(?:.*@)?(?:sha1|sha256):([0-9a-f]{40}(?:[0-9a-f]{24})?)$`)

var oldRevisionPattern = regexp.MustCompile(`^(?:.*/)?([0-9a-f]{40})$`)

// Commit takes the commit out of a revision of a GitRepository: main@sha1:<hex>, sha1:<hex>, or
// main/<hex> of old controllers. Empty when there is none.
func Commit(revision string) string {
	for _, pattern := range []*regexp.Regexp{revisionPattern, oldRevisionPattern} {
		if match := pattern.FindStringSubmatch(revision); match != nil {
			return match[1]
		}
	}
	return ""
}

// ParseInventory reads an entry of status.inventory: <namespace>_<name>_<group>_<kind>, where namespace
// and group may be empty and a colon in the name, which RBAC allows, is written as two underscores.
func ParseInventory(id string) (gitops.ObjectID, error) {
	namespace, rest, ok := strings.Cut(id, "_")
	last := strings.LastIndex(rest, "_")
	if !ok || last < 0 {
		return gitops.ObjectID{}, fmt.Errorf("inventory entry %q is not namespace_name_group_kind", id)
	}
	kind, rest := rest[last+1:], rest[:last]
	last = strings.LastIndex(rest, "_")
	if last < 0 {
		return gitops.ObjectID{}, fmt.Errorf("inventory entry %q is not namespace_name_group_kind", id)
	}
	return gitops.ObjectID{
		Group: rest[last+1:], Kind: kind, Namespace: namespace,
		Name: strings.ReplaceAll(rest[:last], "__", ":"),
	}, nil
}
