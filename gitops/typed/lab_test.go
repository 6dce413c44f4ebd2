package typed_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"

	"holdfast/deploy/lab"
	"holdfast/gitops/typed"
)

// TestTypesAgreeWithAnAPIServer walks the OpenAPI document of every group version that a real API server serves beside
// the types of the same kinds, CustomResourceDefinition and APIService among them: each field is known, and lists and
// maps have the same owners.
func TestTypesAgreeWithAnAPIServer(t *testing.T) {
	cluster := lab.Start(t, lab.Options{APIServerFlags: []string{"--runtime-config=api/all=true"}}).Clusters[0]
	d, err := discovery.NewDiscoveryClientForConfig(cluster.Config(lab.Admin))
	if err != nil {
		t.Fatal(err)
	}
	paths, err := d.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for path, group := range paths {
		if !strings.HasPrefix(path, "api") {
			continue
		}
		text, err := group.Schema("application/json")
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Components struct{ Schemas map[string]map[string]any }
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		w := openAPIWalk{t: t, schemas: doc.Components.Schemas, seen: map[*typed.Type]bool{}}
		for _, s := range doc.Components.Schemas {
			for _, kind := range kindsOf(s) {
				if typ, ok := schemas.Lookup(kind[0], kind[1]); ok && !kinds[kind[0]+" "+kind[1]] {
					kinds[kind[0]+" "+kind[1]] = true
					w.walk(kind[0]+" "+kind[1], typ, s)
				}
			}
		}
	}
	for _, kind := range []string{"apiextensions.k8s.io/v1 CustomResourceDefinition", "apiregistration.k8s.io/v1 APIService"} {
		if !kinds[kind] {
			t.Errorf("%s was not compared", kind)
		}
	}
	if len(kinds) < 85 {
		t.Errorf("only %d kinds compared", len(kinds))
	}
}

// kindsOf lists the apiVersions and kinds that a schema is for.
func kindsOf(s map[string]any) (out [][2]string) {
	list, _ := s["x-kubernetes-group-version-kind"].([]any)
	for _, raw := range list {
		m, _ := raw.(map[string]any)
		group, _ := m["group"].(string)
		version, _ := m["version"].(string)
		kind, _ := m["kind"].(string)
		out = append(out, [2]string{strings.TrimPrefix(group+"/"+version, "/"), kind})
	}
	return out
}

type openAPIWalk struct {
	t       *testing.T
	schemas map[string]map[string]any
	seen    map[*typed.Type]bool
}

func (w *openAPIWalk) walk(path string, typ *typed.Type, s map[string]any) {
	s = w.resolve(s)
	if typ.Kind == typed.Any || w.seen[typ] {
		return
	}
	w.seen[typ] = true
	switch kind, _ := s["type"].(string); kind {
	case "object":
		w.object(path, typ, s)
	case "array":
		if typ.Kind != typed.List {
			w.t.Errorf("%s: a list to the server", path)
			return
		}
		items, _ := s["items"].(map[string]any)
		w.list(path, typ, s)
		w.walk(path+"[]", typ.Elem, items)
	case "string", "integer", "number", "boolean":
		if typ.Kind != typed.Scalar {
			w.t.Errorf("%s: a %s to the server", path, kind)
		}
	}
}

func (w *openAPIWalk) object(path string, typ *typed.Type, s map[string]any) {
	if typ.Kind != typed.Struct && typ.Kind != typed.Map {
		w.t.Errorf("%s: an object to the server", path)
		return
	}
	if atomic := s["x-kubernetes-map-type"] == "atomic"; typ.Atomic != atomic && !strings.HasSuffix(path, ".claimRef") {
		w.t.Errorf("%s: atomic is %v, the server says %v", path, typ.Atomic, atomic)
	}
	if inner, ok := s["additionalProperties"].(map[string]any); ok && typ.Kind == typed.Map {
		w.walk(path+"{}", typ.Elem, inner)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, raw := range properties {
		property, _ := raw.(map[string]any)
		f := typ.Field(name)
		if f == nil && name == "nodeAllocatableResourceMappings" {
			continue // an alpha field of 1.36 that the libraries of 1.37 have under another name
		}
		if f == nil {
			w.t.Errorf("%s.%s is not known", path, name)
			continue
		}
		if name != "status" && name != "managedFields" {
			w.walk(path+"."+name, f.Type, property)
		}
	}
}

func (w *openAPIWalk) list(path string, typ *typed.Type, s map[string]any) {
	want, keys := typed.AtomicList, []string(nil)
	switch s["x-kubernetes-list-type"] {
	case "set":
		want = typed.SetList
	case "map":
		want = typed.KeyedList
		list, _ := s["x-kubernetes-list-map-keys"].([]any)
		for _, key := range list {
			keys = append(keys, key.(string))
		}
	}
	if typ.List != want || want == typed.KeyedList && !slices.Equal(typ.Keys, keys) {
		w.t.Errorf("%s: list %v by %v, the server says %v by %v", path, typ.List, typ.Keys, want, keys)
	}
}

// resolve follows a reference, which may stand alone in an allOf.
func (w *openAPIWalk) resolve(s map[string]any) map[string]any {
	if all, ok := s["allOf"].([]any); ok && len(all) == 1 {
		s, _ = all[0].(map[string]any)
	}
	if ref, ok := s["$ref"].(string); ok {
		return w.schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	return s
}
