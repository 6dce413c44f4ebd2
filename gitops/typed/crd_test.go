package typed_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// FuzzCRD looks for definitions on which the loader, the comparison of values or the search for defaults fails.
func FuzzCRD(f *testing.F) {
	const definition = `{"spec":{"group":"example.test","names":{"kind":"Widget"},"versions":[{"name":"v1","schema":{"openAPIV3Schema":%s}},{"name":"v2","storage":true,"schema":{"openAPIV3Schema":%s}}]}}`
	for _, schema := range []string{
		`{"type":"object","properties":{"spec":{"type":"object","default":{},"properties":{"a":{"type":"string","default":"x"}}}}}`,
		`{"type":"object","properties":{"spec":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a",7],"items":{"type":"object","properties":{"a":{"default":1}}}}}}`,
		`{"x-kubernetes-preserve-unknown-fields":true,"properties":{"metadata":7,"spec":{"additionalProperties":{"x-kubernetes-int-or-string":true}}}}`,
		`{"type":"array","items":{"type":"array"}}`,
	} {
		f.Add([]byte(fmt.Sprintf(definition, schema, `{"type":"object"}`)), []byte(`{"spec":{"a":"y"}}`))
		f.Add([]byte(fmt.Sprintf(definition, `{"type":"object"}`, schema)), []byte(`{"spec":[{"a":1}]}`))
	}
	f.Add([]byte(`{"spec":{"group":"example.test","names":{"kind":"Widget"},"versions":[7,{"name":"v1","schema":7}]}}`), []byte(`{}`))
	builtins, err := typed.Builtin()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, definition, instance []byte) {
		var content, object map[string]any
		if json.Unmarshal(definition, &content) != nil || json.Unmarshal(instance, &object) != nil {
			t.Skip()
		}
		schemas, problems := builtins.WithCRDs([]gitops.Object{{Content: content}})
		for _, version := range []string{"v1", "v2"} {
			typ, ok := schemas.Lookup("example.test/"+version, "Widget")
			if !ok {
				continue
			}
			if len(problems) > 0 {
				t.Errorf("a definition that has %v serves all the same", problems)
			}
			if !typed.Equal(typ, object, object) {
				t.Errorf("an object is not equal to itself")
			}
			defaults(typ, object, nil)
			typ.Child("metadata").Child("labels")
		}
	})
}

// defaults asks for the default of every field of an object.
func defaults(typ *typed.Type, v any, around []map[string]any) {
	switch v := v.(type) {
	case map[string]any:
		around = append(around, v)
		for name, inner := range v {
			if f := typ.Field(name); f != nil {
				f.Default(around)
				f.Constant()
			}
			if child := typ.Child(name); child != nil {
				defaults(child, inner, around)
			}
		}
	case []any:
		for _, inner := range v {
			if typ.Elem != nil {
				defaults(typ.Elem, inner, around)
			}
		}
	}
}
