package typed

import (
	"errors"
	"maps"
	"strings"
)

func (s *Schemas) addCRD(content map[string]any) error {
	spec, _ := content["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, _ := spec["group"].(string)
	kind, _ := names["kind"].(string)
	versions, _ := spec["versions"].([]any)
	if group == "" || kind == "" || len(versions) == 0 {
		return errors.New("spec names no group, kind or version")
	}
	var stored map[string]any
	for _, item := range versions {
		if version, _ := item.(map[string]any); is(version, "storage") && !convertsByWebhook(spec) {
			stored = schemaOf(version)
		}
	}
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		if name == "" {
			return errors.New("spec.versions has an entry without a name")
		}
		if schema := schemaOf(version); schema != nil {
			s.crds[group+"/"+name+" "+kind] = &lazyType{schema: schema, stored: stored}
		}
	}
	return nil
}

// schemaOf gives the schema of a version, nil where it has none.
func schemaOf(version map[string]any) map[string]any {
	wrapper, _ := version["schema"].(map[string]any)
	schema, _ := wrapper["openAPIV3Schema"].(map[string]any)
	return schema
}

func convertsByWebhook(spec map[string]any) bool {
	conversion, _ := spec["conversion"].(map[string]any)
	return conversion["strategy"] == "Webhook"
}

// withStoredDefaults gives the schema of a version with the defaults of the one that objects are stored at: reading
// from storage puts those in too, before the object is brought to the version that was asked for (kubernetes.io/docs,
// Defaulting). Where a version prunes a field, its default goes with it.
func withStoredDefaults(schema, stored map[string]any) map[string]any {
	if len(schema) == 0 || len(stored) == 0 {
		return schema
	}
	out := maps.Clone(schema)
	if value, ok := stored["default"]; ok {
		if _, own := out["default"]; !own {
			out["default"] = value
		}
	}
	for _, part := range []string{"items", "additionalProperties"} {
		mine, ok := schema[part].(map[string]any)
		theirs, _ := stored[part].(map[string]any)
		if ok {
			out[part] = withStoredDefaults(mine, theirs)
		}
	}
	theirs, _ := stored["properties"].(map[string]any)
	if len(theirs) == 0 {
		return out
	}
	mine, _ := schema["properties"].(map[string]any)
	properties := maps.Clone(mine)
	if properties == nil {
		properties = map[string]any{}
	}
	for name, raw := range theirs {
		other, _ := raw.(map[string]any)
		own, ok := properties[name].(map[string]any)
		switch {
		case ok:
			properties[name] = withStoredDefaults(own, other)
		case is(schema, preserve) && holdsDefault(other):
			properties[name] = other
		}
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	return out
}

func holdsDefault(schema map[string]any) bool {
	if _, ok := schema["default"]; ok {
		return true
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, raw := range properties {
		if property, ok := raw.(map[string]any); ok && holdsDefault(property) {
			return true
		}
	}
	for _, part := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[part].(map[string]any); ok && holdsDefault(inner) {
			return true
		}
	}
	return false
}

const preserve = "x-kubernetes-preserve-unknown-fields"

// fromOpenAPI compiles the structural schema of a custom resource
// (kubernetes.io/docs, Extend the Kubernetes API with CustomResourceDefinitions).
func fromOpenAPI(schema map[string]any) *Type {
	if is(schema, "x-kubernetes-int-or-string") {
		if pattern, _ := schema["pattern"].(string); isQuantityPattern(pattern) {
			return &Type{Kind: Scalar, Format: Quantity}
		}
		return &Type{Kind: Scalar, Format: IntOrString}
	}
	properties, _ := schema["properties"].(map[string]any)
	additional, hasAdditional := schema["additionalProperties"].(map[string]any)
	switch kind, _ := schema["type"].(string); {
	case kind == "array":
		return listFromOpenAPI(schema)
	case kind == "object" && len(properties) == 0 && hasAdditional:
		return &Type{Kind: Map, Custom: true, Elem: fromOpenAPI(additional), Atomic: schema["x-kubernetes-map-type"] == "atomic"}
	case kind == "object" || len(properties) > 0:
		return structFromOpenAPI(schema, properties)
	case kind == "string":
		return &Type{Kind: Scalar, Format: stringFormat(schema)}
	case kind == "integer", kind == "number", kind == "boolean":
		return &Type{Kind: Scalar}
	}
	return anything
}

func structFromOpenAPI(schema, properties map[string]any) *Type {
	t := &Type{Kind: Struct, Custom: true, fields: make(map[string]*Field, len(properties)), Atomic: schema["x-kubernetes-map-type"] == "atomic"}
	anyKey, _ := schema["additionalProperties"].(bool)
	t.Open = is(schema, preserve) || is(schema, "x-kubernetes-embedded-resource") || anyKey
	if len(properties) == 0 && t.Open {
		return anything
	}
	for name, raw := range properties {
		property, _ := raw.(map[string]any)
		f := &Field{Name: name, Type: fromOpenAPI(property)}
		if value, ok := property["default"]; ok {
			f.defaults = []rule{{value: value}}
		}
		t.fields[name] = f
	}
	return t
}

func listFromOpenAPI(schema map[string]any) *Type {
	items, _ := schema["items"].(map[string]any)
	t := &Type{Kind: List, Custom: true, Elem: fromOpenAPI(items)}
	switch schema["x-kubernetes-list-type"] {
	case "set":
		t.List, t.Unordered = SetList, true
	case "map":
		keys, _ := schema["x-kubernetes-list-map-keys"].([]any)
		for _, key := range keys {
			if name, ok := key.(string); ok {
				t.Keys = append(t.Keys, name)
			}
		}
		if len(t.Keys) > 0 {
			t.List, t.Unordered = KeyedList, true
		}
	}
	return t
}

func is(schema map[string]any, flag string) bool {
	on, _ := schema[flag].(bool)
	return on
}

// isDurationPattern knows how Flux's and the Gateway API's schemas ask for a Go duration without a format:
// a number and one of some units, repeated.
func isDurationPattern(pattern string) bool {
	for _, form := range [][2]string{{`^([0-9]+(\.[0-9]+)?(`, `))+$`}, {`^([0-9]{1,5}(`, `)){1,4}$`}} {
		units, ok := strings.CutPrefix(pattern, form[0])
		if !ok {
			continue
		}
		if units, ok = strings.CutSuffix(units, form[1]); ok && strings.Trim(units, "nuµmsh|") == "" {
			return true
		}
	}
	return false
}

func stringFormat(schema map[string]any) Format {
	pattern, _ := schema["pattern"].(string)
	switch format, _ := schema["format"].(string); {
	case format == "date-time":
		return Time
	case format == "byte":
		return Bytes
	case format == "duration", isDurationPattern(pattern):
		return Duration
	case isQuantityPattern(pattern):
		return Quantity
	}
	return Text
}

// isQuantityPattern knows the pattern that controller-gen writes for a resource.Quantity.
func isQuantityPattern(pattern string) bool {
	const written = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	return pattern == written
}
