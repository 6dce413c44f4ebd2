// Package crd says whether a manifest is one that the engine's own CustomResourceDefinition, or Kubernetes itself, takes: types,
// fields, values that are enumerated, patterns. It holds the definitions of Flux and Argo CD without their texts. Rules in CEL,
// which only an API server evaluates, are not looked at. It does no I/O.
package crd

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed schemas.json
var schemasFile []byte

// Schemas are the definitions that are known, by "group/version, kind".
type Schemas struct {
	all map[string]definition
}

// definition is one version of a CustomResourceDefinition.
type definition struct {
	// Source is the project and version that the definition is of.
	Source string `json:"source"`
	Schema schema `json:"schema"`
}

// schema is a structural schema, as far as values are held against it.
type schema struct {
	Type        string            `json:"type,omitempty"`
	Properties  map[string]schema `json:"properties,omitempty"`
	Additional  *additional       `json:"additionalProperties,omitempty"`
	Items       *schema           `json:"items,omitempty"`
	Required    []string          `json:"required,omitempty"`
	Enum        []any             `json:"enum,omitempty"`
	Pattern     string            `json:"pattern,omitempty"`
	Minimum     *float64          `json:"minimum,omitempty"`
	Maximum     *float64          `json:"maximum,omitempty"`
	MinLength   *int              `json:"minLength,omitempty"`
	MaxLength   *int              `json:"maxLength,omitempty"`
	MaxItems    *int              `json:"maxItems,omitempty"`
	MinItems    *int              `json:"minItems,omitempty"`
	Nullable    bool              `json:"nullable,omitempty"`
	Preserve    bool              `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	IntOrString bool              `json:"x-kubernetes-int-or-string,omitempty"`
}

// additional is additionalProperties: a schema, or true for anything.
type additional struct {
	anything bool
	schema   schema
}

func (a *additional) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		a.anything = true
		return nil
	}
	return json.Unmarshal(data, &a.schema)
}

func (a additional) MarshalJSON() ([]byte, error) {
	if a.anything {
		return []byte("true"), nil
	}
	return json.Marshal(a.schema)
}

// Load reads the embedded definitions.
func Load() (*Schemas, error) {
	var s Schemas
	if err := json.Unmarshal(schemasFile, &s.all); err != nil {
		return nil, fmt.Errorf("definitions of the engines' kinds: %w", err)
	}
	return &s, nil
}

// Source gives the project and version whose definition a kind is held against; Kubernetes' own kinds say so.
func (s *Schemas) Source(apiVersion, kind string) (string, bool) {
	if d, ok := s.all[apiVersion+", "+kind]; ok {
		return d.Source, true
	}
	if builtin(apiVersion, kind) != nil {
		return "Kubernetes", true
	}
	return "", false
}

// Check says what is wrong with a manifest of one document. A patch is laid over an object that is there, so it may leave out
// what the whole must have. Nothing is wrong when the list is empty.
func (s *Schemas) Check(manifest string, patch bool) []string {
	data, err := yaml.YAMLToJSONStrict([]byte(manifest))
	if err != nil {
		return []string{err.Error()}
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return []string{"no mapping: " + err.Error()}
	}
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	if name, _ := metadata["name"].(string); name == "" {
		return []string{"metadata.name is missing"}
	}
	if d, ok := s.all[apiVersion+", "+kind]; ok {
		c := checker{patch: patch}
		delete(object, "metadata") // the API server's own, not the definition's
		c.check("", object, d.Schema)
		return c.faults
	}
	into := builtin(apiVersion, kind)
	if into == nil {
		return []string{fmt.Sprintf("%s %s: no definition of this kind is known", apiVersion, kind)}
	}
	if err := yaml.UnmarshalStrict([]byte(manifest), into); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// builtin gives an empty object of one of Kubernetes' own kinds; nil for another.
func builtin(apiVersion, kind string) any {
	switch apiVersion + ", " + kind {
	case "v1, ConfigMap":
		return &corev1.ConfigMap{}
	case "v1, Secret":
		return &corev1.Secret{}
	case "rbac.authorization.k8s.io/v1, Role":
		return &rbacv1.Role{}
	case "rbac.authorization.k8s.io/v1, ClusterRole":
		return &rbacv1.ClusterRole{}
	case "rbac.authorization.k8s.io/v1, RoleBinding":
		return &rbacv1.RoleBinding{}
	case "rbac.authorization.k8s.io/v1, ClusterRoleBinding":
		return &rbacv1.ClusterRoleBinding{}
	case "admissionregistration.k8s.io/v1, ValidatingAdmissionPolicy":
		return &admissionv1.ValidatingAdmissionPolicy{}
	case "admissionregistration.k8s.io/v1, ValidatingAdmissionPolicyBinding":
		return &admissionv1.ValidatingAdmissionPolicyBinding{}
	}
	return nil
}

type checker struct {
	patch  bool
	faults []string
}

func (c *checker) fault(at, format string, args ...any) {
	if at == "" {
		at = "the object"
	}
	c.faults = append(c.faults, at+": "+fmt.Sprintf(format, args...))
}

func (c *checker) check(at string, value any, s schema) {
	if value == nil {
		if !s.Nullable && !s.Preserve {
			c.fault(at, "null is not taken")
		}
		return
	}
	if s.IntOrString {
		if _, text := value.(string); !text && !whole(value) {
			c.fault(at, "%v: want a whole number or a text", value)
		}
		return
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
		c.fault(at, "%v: want one of %v", value, s.Enum)
	}
	switch s.Type {
	case "object":
		c.object(at, value, s)
	case "array":
		c.array(at, value, s)
	case "string":
		c.text(at, value, s)
	case "boolean":
		if _, ok := value.(bool); !ok {
			c.fault(at, "%v: want true or false", value)
		}
	case "integer", "number":
		c.number(at, value, s)
	}
}

func (c *checker) object(at string, value any, s schema) {
	object, ok := value.(map[string]any)
	if !ok {
		c.fault(at, "%v: want a mapping", value)
		return
	}
	if !c.patch {
		for _, name := range s.Required {
			if _, ok := object[name]; !ok && !(at == "" && name == "metadata") {
				c.fault(at, "%s is missing", name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		child := name
		if at != "" {
			child = at + "." + name
		}
		property, known := s.Properties[name]
		switch {
		case known:
			c.check(child, object[name], property)
		case s.Additional != nil && s.Additional.anything, s.Preserve:
		case s.Additional != nil:
			c.check(child, object[name], s.Additional.schema)
		case at == "" && (name == "apiVersion" || name == "kind"):
		default:
			c.fault(child, "no such field")
		}
	}
}

func (c *checker) array(at string, value any, s schema) {
	list, ok := value.([]any)
	if !ok {
		c.fault(at, "%v: want a list", value)
		return
	}
	if s.MinItems != nil && len(list) < *s.MinItems || s.MaxItems != nil && len(list) > *s.MaxItems {
		c.fault(at, "%d entries are too few or too many", len(list))
	}
	for i, entry := range list {
		if s.Items != nil {
			c.check(fmt.Sprintf("%s[%d]", at, i), entry, *s.Items)
		}
	}
}

func (c *checker) text(at string, value any, s schema) {
	text, ok := value.(string)
	if !ok {
		c.fault(at, "%v: want a text", value)
		return
	}
	if s.MinLength != nil && len(text) < *s.MinLength || s.MaxLength != nil && len(text) > *s.MaxLength {
		c.fault(at, "%d characters are too few or too many", len(text))
	}
	if s.Pattern == "" {
		return
	}
	if form, err := regexp.Compile(s.Pattern); err == nil && !form.MatchString(text) {
		c.fault(at, "%q does not have the form %s", text, s.Pattern)
	}
}

func (c *checker) number(at string, value any, s schema) {
	n, ok := value.(float64)
	if !ok || s.Type == "integer" && !whole(value) {
		c.fault(at, "%v: want a %s", value, s.Type)
		return
	}
	if s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum {
		c.fault(at, "%v is too little or too much", value)
	}
}

func whole(value any) bool {
	n, ok := value.(float64)
	return ok && n == math.Trunc(n)
}
