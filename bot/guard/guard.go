// Package guard makes what closes the ways past the pipeline that detect/access finds: admission policies that keep
// people from changing what a GitOps engine applies, and read-only roles in the place of rights to write. It gives
// manifests, to be committed to Git like everything else; it applies nothing.
//
// Admission sees objects, not who owns which field. So the policies protect objects as a whole: whoever is a person may
// read a tracked object and annotate it, and changes everything else in Git. A break-glass group may do it all the same,
// with a reason that the API server writes to its audit log.
package guard

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/detect/access"
	"holdfast/gitops"
)

// ReasonAnnotation is where a member of the break-glass group says why.
const ReasonAnnotation = "holdfast/break-glass"

// DefaultBreakGlass is the group of those who may, unless another one is named.
const DefaultBreakGlass = "holdfast:break-glass"

// Input says what to guard, and against whom.
type Input struct {
	// Marks are how each engine in use tells its objects.
	Marks []Marks
	// Homes are the namespaces in which the engines run, in order.
	Homes []string
	// Doors are user names of service accounts through which people act: Argo CD's API server changes an object of an
	// Application when somebody asks it to.
	Doors []string
	// Namespaces are those with tracked objects that do not carry an engine's mark themselves, in order.
	Namespaces []string
	// Resources are those of the tracked objects, for people to read.
	Resources []Resource
	// Readers are the people who can write now, and where they are to read instead.
	Readers []Reader
	// BreakGlass is the group; empty takes DefaultBreakGlass.
	BreakGlass string
	// Accounts, when set, are the user names of the only service accounts that are let through, beside those of
	// kube-system; nil lets all of them through, but for Doors.
	Accounts []string
	// Users are user names that are let through: a cloud's own, or a pipeline's.
	Users []string
}

// Marks are the labels and annotations by which an engine tells its objects. An object that has any of them is
// tracked.
type Marks struct {
	Engine      gitops.Engine
	Labels      []string
	Annotations []string
}

// Resource names a resource of the API.
type Resource struct{ Group, Resource string }

// Reader is a person, or a group of people, with the namespaces that they read in; none means the whole cluster.
type Reader struct {
	Subject    access.Subject
	Namespaces []string
}

// Manifest is one object to commit, and what it is for.
type Manifest struct {
	Comment string
	Object  gitops.Object
}

// Manifests gives what to commit, in order. It is empty where nothing is to be guarded. The error is for an input that
// cannot be written down safely.
func Manifests(in Input) ([]Manifest, error) {
	if in.BreakGlass == "" {
		in.BreakGlass = DefaultBreakGlass
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	var out []Manifest
	if len(in.Marks) == 0 {
		return nil, nil
	}
	for _, m := range in.Marks {
		out = append(out, in.tracked(m)...)
	}
	out = append(out, in.engine()...)
	out = append(out, in.places()...)
	out = append(out, in.roles()...)
	return out, nil
}

// check refuses names that no API server has: they would stand in expressions.
func (in Input) check() error {
	name := func(what, text string) error {
		if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\'' || r == '\\' || r == '"' || r > '~' }) {
			return fmt.Errorf("%s %q: cannot stand in an expression of a policy", what, text)
		}
		return nil
	}
	if err := name("the break-glass group", in.BreakGlass); err != nil {
		return err
	}
	if strings.HasPrefix(in.BreakGlass, "system:") {
		return fmt.Errorf("the break-glass group %q: groups of the system are not people's: name a group of your identity provider", in.BreakGlass)
	}
	for what, list := range map[string][]string{"namespace": slices.Concat(in.Homes, in.Namespaces), "account": slices.Concat(in.Doors, in.Accounts), "user": in.Users} {
		for _, text := range list {
			if err := name("the "+what, text); err != nil {
				return err
			}
		}
	}
	for _, m := range in.Marks {
		for _, text := range slices.Concat(m.Labels, m.Annotations) {
			if err := name("the tracking mark", text); err != nil {
				return err
			}
		}
	}
	return nil
}

// YAML prints manifests as one file for Git, each with its comment.
func YAML(manifests []Manifest) ([]byte, error) {
	var out strings.Builder
	for i, m := range manifests {
		if i > 0 {
			out.WriteString("---\n")
		}
		for line := range strings.SplitSeq(m.Comment, "\n") {
			if line != "" {
				out.WriteString("# " + line + "\n")
			}
		}
		data, err := yaml.Marshal(m.Object.Content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Object.ID, err)
		}
		out.Write(data)
	}
	return []byte(out.String()), nil
}

// object makes a manifest of the whole cluster, or with a namespace one in it.
func object(apiVersion, kind, namespace, name, comment string, parts map[string]any) Manifest {
	metadata := map[string]any{"name": name, "labels": map[string]any{"app.kubernetes.io/part-of": "holdfast", "app.kubernetes.io/component": "guard"}}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	content := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	for key, value := range parts {
		content[key] = value
	}
	return Manifest{Comment: comment, Object: gitops.NewObject(content)}
}

// list gives texts as JSON values.
func list(items ...string) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = item
	}
	return out
}
