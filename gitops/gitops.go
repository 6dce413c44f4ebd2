// Package gitops holds the nouns of declared state: objects and their identity, field paths and values,
// the origin of a rendered object, the Application that declares it and the Fleet of all Applications.
// It does no I/O and knows no engine, renderer or forge.
package gitops

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// ObjectID names one object of a cluster: group, kind, effective namespace and name. The API version is
// no part of it, since one object can be read at several versions. Namespace is empty for
// cluster-scoped objects, Group is empty for the core group.
type ObjectID struct {
	Group, Kind, Namespace, Name string
}

// String gives Kind.group/namespace/name, without the parts that are empty.
func (id ObjectID) String() string {
	var b strings.Builder
	b.WriteString(id.Kind)
	if id.Group != "" {
		b.WriteString("." + id.Group)
	}
	if id.Namespace != "" {
		b.WriteString("/" + id.Namespace)
	}
	b.WriteString("/" + id.Name)
	return b.String()
}

// Compare orders identities by namespace, kind, group and name: the order of every listing.
func (id ObjectID) Compare(other ObjectID) int {
	return cmp.Or(
		strings.Compare(id.Namespace, other.Namespace),
		strings.Compare(id.Kind, other.Kind),
		strings.Compare(id.Group, other.Group),
		strings.Compare(id.Name, other.Name),
	)
}

// GroupKind names a kind without its version.
type GroupKind struct {
	Group, Kind string
}

// GroupKind drops namespace and name.
func (id ObjectID) GroupKind() GroupKind { return GroupKind{id.Group, id.Kind} }

// Object is one Kubernetes object as plain JSON values (map[string]any, []any, string, bool, int64,
// float64, nil). Content is shared, never changed in place.
type Object struct {
	ID         ObjectID
	APIVersion string
	Content    map[string]any
}

// NewObject reads identity and version from content. The namespace is taken as written.
func NewObject(content map[string]any) Object {
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	group := ""
	if g, _, ok := strings.Cut(apiVersion, "/"); ok {
		group = g
	}
	metadata, _ := content["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return Object{
		ID:         ObjectID{Group: group, Kind: kind, Namespace: namespace, Name: name},
		APIVersion: apiVersion,
		Content:    content,
	}
}

// Labels gives metadata.labels; entries that are no strings are left out.
func (o Object) Labels() map[string]string { return o.stringMap("labels") }

// Annotations gives metadata.annotations; entries that are no strings are left out.
func (o Object) Annotations() map[string]string { return o.stringMap("annotations") }

// Created gives metadata.creationTimestamp; the zero time where there is none, as in Git.
func (o Object) Created() time.Time {
	metadata, _ := o.Content["metadata"].(map[string]any)
	text, _ := metadata["creationTimestamp"].(string)
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

func (o Object) stringMap(key string) map[string]string {
	metadata, _ := o.Content["metadata"].(map[string]any)
	raw, _ := metadata[key].(map[string]any)
	out := make(map[string]string, len(raw))
	for k, v := range raw {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

// IsSecret says whether the object is a core Secret, whose values never leave compare.
func (o Object) IsSecret() bool { return o.ID.Group == "" && o.ID.Kind == "Secret" }

// Declared is an object as Git declares it, after rendering.
type Declared struct {
	Object
	Origin Origin
}

// Origin tells which file a rendered object stands in and what changed it on the way.
type Origin struct {
	// File is the slash path from the root of the repository; empty for what a generator made.
	File string
	// Document is the index of the YAML document in File, from 0, empty documents counted.
	Document int
	// Item is the index in the items of a List document, or -1.
	Item int
	// Written is the identity as File has it, before prefixes, suffixes, hashes and namespaces.
	Written ObjectID
	// Transformers are what touched the object, in order of application.
	Transformers []Transformer
}

// Transformer is one step of a render that made or changed an object.
type Transformer struct {
	// Kind is the builtin's name (PatchTransformer, ImageTagTransformer, ReplicaCountTransformer,
	// NamespaceTransformer, PrefixTransformer, ReplacementTransformer, ConfigMapGenerator …), or
	// Substitution for Flux post-build variables.
	Kind string
	// File is the kustomization file, or engine object, that asks for the step.
	File string
}

// SortDeclared orders objects by identity.
func SortDeclared(objects []Declared) {
	slices.SortFunc(objects, func(a, b Declared) int { return a.ID.Compare(b.ID) })
}
