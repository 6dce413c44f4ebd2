package main

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// servedSince is the oldest minor version of Kubernetes whose API the table covers: versions of kinds
// that were removed before it are left out.
const servedSince = 36

type generator struct {
	merge *schema.Schema
	kinds []string
	roots []reflect.Type
	defs  map[string]string // short name -> text of the definition
}

func newGenerator(merge *schema.Schema) *generator {
	return &generator{merge: merge, defs: map[string]string{}}
}

// addBuiltins adds every kind of client-go's scheme that is an object with metadata and is still served.
func (g *generator) addBuiltins() {
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") || removed(t) {
			continue
		}
		if m, ok := t.FieldByName("ObjectMeta"); !ok || !m.Anonymous {
			continue
		}
		g.addKind(gvk.GroupVersion().String(), gvk.Kind, t)
	}
}

// addExtensions adds CustomResourceDefinition, which client-go's schema lacks. The lists of its spec are atomic.
func (g *generator) addExtensions() {
	t := reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()
	g.addKind("apiextensions.k8s.io/v1", t.Name(), t)
}

func (g *generator) addKind(apiVersion, kind string, t reflect.Type) {
	g.kinds = append(g.kinds, fmt.Sprintf("kind %s %s %s\n", apiVersion, kind, shortName(t)))
	g.roots = append(g.roots, t)
}

// defineAll writes the definitions of all kinds and of what they refer to.
func (g *generator) defineAll() {
	for _, t := range g.roots {
		g.define(t, g.mergeAtom(named(t)))
	}
}

func removed(t reflect.Type) bool {
	object, ok := reflect.New(t).Interface().(interface {
		APILifecycleRemoved() (major, minor int)
	})
	if !ok {
		return false
	}
	major, minor := object.APILifecycleRemoved()
	return major == 1 && minor <= servedSince
}

func named(t reflect.Type) *schema.TypeRef {
	name := mergeName(t.PkgPath(), t.Name())
	return &schema.TypeRef{NamedType: &name}
}

// shortName is core/v1.Container for k8s.io/api/core/v1.Container.
func shortName(t reflect.Type) string {
	pkg := t.PkgPath()
	for _, prefix := range []string{"k8s.io/api/", "k8s.io/apimachinery/pkg/apis/", "k8s.io/apiextensions-apiserver/pkg/apis/"} {
		pkg = strings.TrimPrefix(pkg, prefix)
	}
	return pkg + "." + t.Name()
}

// define writes the definition of a structure and of all that it refers to.
func (g *generator) define(t reflect.Type, atom *schema.Atom) {
	name := shortName(t)
	if _, done := g.defs[name]; done {
		return
	}
	g.defs[name] = "" // recursion ends here
	var b strings.Builder
	b.WriteString("def " + name)
	if atom != nil && atom.Map != nil && atom.Map.ElementRelationship == schema.Atomic {
		b.WriteString(" atomic")
	}
	b.WriteByte('\n')
	for _, f := range fieldsOf(t) {
		if f.name == "status" && slices.Contains(g.roots, t) {
			b.WriteString("\tstatus any\n") // never compared
			continue
		}
		merge := mergeField(atom, f.name)
		var ref *schema.TypeRef
		if merge != nil {
			ref = &merge.Type
		}
		text := g.typeText(f.goType, g.mergeAtom(ref))
		if elem, isList := strings.CutPrefix(text, "[] "); isList && atom == nil && f.mergeKey != "" {
			text = "[" + f.mergeKey + "] " + elem
		}
		b.WriteString("\t" + f.name + " " + text)
		if merge != nil && publishes(merge.Default) {
			fmt.Fprintf(&b, " = %#v", merge.Default)
		}
		b.WriteByte('\n')
	}
	g.defs[name] = b.String()
}

// publishes says whether a default of the embedded schema says anything: most are zero values that only
// mark a field as required.
func publishes(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case bool:
		return v
	case int, int64, float64:
		return !reflect.ValueOf(v).IsZero()
	}
	return false
}

type jsonField struct {
	name   string
	goType reflect.Type
	// mergeKey is the key of a list's entries according to the Go type; kinds that the merge schema lacks have no other.
	mergeKey string
}

// fieldsOf lists the fields as JSON has them, embedded structures included, sorted by name.
func fieldsOf(t reflect.Type) []jsonField {
	found := map[string]jsonField{}
	var collect func(reflect.Type)
	collect = func(t reflect.Type) {
		for f := range fieldSeq(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-":
			case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
				inner := f.Type
				if inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
				}
				collect(inner)
			case name != "":
				found[name] = jsonField{name, f.Type, f.Tag.Get("patchMergeKey")}
			}
		}
	}
	collect(t)
	var out []jsonField
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[name])
	}
	return out
}

func fieldSeq(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// formats are Go types that marshal as scalars, or as anything at all.
var formats = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():                               "quantity",
	reflect.TypeFor[intstr.IntOrString]():                              "intstr",
	reflect.TypeFor[metav1.Time]():                                     "time",
	reflect.TypeFor[metav1.MicroTime]():                                "time",
	reflect.TypeFor[metav1.Duration]():                                 "duration",
	reflect.TypeFor[[]byte]():                                          "bytes",
	reflect.TypeFor[metav1.FieldsV1]():                                 "any",
	reflect.TypeFor[runtime.RawExtension]():                            "any",
	reflect.TypeFor[apiextensionsv1.JSON]():                            "any",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():    "any",
	reflect.TypeFor[apiextensionsv1.CustomResourceSubresourceStatus](): "any",
}

// typeText writes a type: * before a pointer, whose zero value the server keeps.
func (g *generator) typeText(t reflect.Type, atom *schema.Atom) string {
	if t.Kind() == reflect.Pointer {
		return "*" + g.typeText(t.Elem(), atom)
	}
	if t == reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]() || t == reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]() {
		t = reflect.TypeFor[apiextensionsv1.JSONSchemaProps]() // marshalled in its place
	}
	if format, ok := formats[t]; ok {
		return format
	}
	switch t.Kind() {
	case reflect.Struct:
		g.define(t, g.mergeAtom(named(t)))
		return shortName(t)
	case reflect.Slice:
		return "[" + listSemantics(atom) + "] " + g.typeText(t.Elem(), g.mergeAtom(elemOfList(atom)))
	case reflect.Map:
		semantics := ""
		if atom != nil && atom.Map != nil && atom.Map.ElementRelationship == schema.Atomic {
			semantics = "atomic"
		}
		return "{" + semantics + "} " + g.typeText(t.Elem(), g.mergeAtom(elemOfMap(atom)))
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32:
		return "int"
	case reflect.Float32, reflect.Float64:
		return "number"
	}
	return "any"
}

func listSemantics(atom *schema.Atom) string {
	if atom == nil || atom.List == nil || atom.List.ElementRelationship != schema.Associative {
		return ""
	}
	if len(atom.List.Keys) == 0 {
		return "set"
	}
	return strings.Join(atom.List.Keys, ",")
}

func elemOfList(atom *schema.Atom) *schema.TypeRef {
	if atom == nil || atom.List == nil {
		return nil
	}
	return &atom.List.ElementType
}

func elemOfMap(atom *schema.Atom) *schema.TypeRef {
	if atom == nil || atom.Map == nil {
		return nil
	}
	return &atom.Map.ElementType
}

func (g *generator) text() []byte {
	g.defineAll()
	var b bytes.Buffer
	b.WriteString("# Generated by internal/gen; do not edit. The form is described in parse.go.\n")
	slices.Sort(g.kinds)
	for _, kind := range slices.Compact(g.kinds) {
		b.WriteString(kind)
	}
	for _, name := range slices.Sorted(maps.Keys(g.defs)) {
		b.WriteString(g.defs[name])
	}
	return b.Bytes()
}
