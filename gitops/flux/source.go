package flux

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

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
			Digest string `json:"digest"`
		} `json:"ref"`
		Ignore     *string `json:"ignore"`
		Include    []any   `json:"include"`
		Endpoint   string  `json:"endpoint"`
		BucketName string  `json:"bucketName"`
	} `json:"spec"`
	Status struct {
		Artifact struct {
			Revision string `json:"revision"`
		} `json:"artifact"`
	} `json:"status"`
}

// source tells where the files of an object come from: ref is the source object that it names, whose artifact
// is at revision. The path is left to the caller.
func (d *decoder) source(id, ref gitops.ObjectID) (out gitops.Source, revision string) {
	out = gitops.Source{Kind: ref.Kind, Ref: ref}
	s, ok := d.sourceObject(id, ref)
	if !ok {
		return out, ""
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
	return out, s.Status.Artifact.Revision
}

// sourceObject finds and decodes a source object; what goes wrong is a problem of the object that names it.
func (d *decoder) sourceObject(id, ref gitops.ObjectID) (sourceObject, bool) {
	var s sourceObject
	o, ok := d.find(ref)
	if !ok {
		d.problem(id, gitops.NoSource, false, "its %s %s/%s is not among the objects read; repository and branch are not known", ref.Kind, ref.Namespace, ref.Name)
		return s, false
	}
	if err := into(o, &s); err != nil {
		d.problem(o.ID, gitops.Undecodable, false, "%s: %v", o.APIVersion, err)
		return s, false
	}
	return s, true
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
