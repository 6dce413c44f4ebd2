package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// embeddedSchema gives client-go's schema, through the one public door that it has: a typed value.
func embeddedSchema() (*schema.Schema, error) {
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	value, err := converter.ObjectToTyped(&appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}})
	if err != nil {
		return nil, fmt.Errorf("read client-go's embedded schema: %w", err)
	}
	return value.Schema(), nil
}

// mergeName gives the name that the schema has for a Go package and type.
func mergeName(pkg, name string) string {
	host, rest, _ := strings.Cut(pkg, "/")
	parts := strings.Split(host, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(rest, "/", ".") + "." + name
}

// mergeAtom resolves a reference; nil where the schema has nothing.
func (g *generator) mergeAtom(ref *schema.TypeRef) *schema.Atom {
	if ref == nil {
		return nil
	}
	atom, ok := g.merge.Resolve(*ref)
	if !ok {
		return nil
	}
	return &atom
}

// mergeField finds a field of a named structure; nil where the schema has nothing.
func mergeField(atom *schema.Atom, name string) *schema.StructField {
	if atom == nil || atom.Map == nil {
		return nil
	}
	field, ok := atom.Map.FindField(name)
	if !ok {
		return nil
	}
	return &field
}
