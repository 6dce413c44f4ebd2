package typed

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"sync"

	"holdfast/gitops"
)

var (
	//go:embed builtin.txt
	builtinText string
	//go:embed extra.txt
	extraText string
	//go:embed rules.txt
	rulesText string
	//go:embed defaults.txt
	defaultsText string
)

// Schemas knows the types of kinds. It is safe for concurrent use.
type Schemas struct {
	builtin map[string]*Type
	meta    *Type
	untyped *Type
	crds    map[string]*lazyType
}

// lazyType compiles the schema of a custom resource when it is first asked for.
type lazyType struct {
	once           sync.Once
	schema, stored map[string]any
	t              *Type
}

// Builtin gives the types of Kubernetes' own kinds, compiled once. It fails only when the embedded text is broken.
func Builtin() (*Schemas, error) { return builtin() }

var builtin = sync.OnceValues(func() (*Schemas, error) {
	return load([]source{{"rules.txt", rulesText}, {"defaults.txt", defaultsText}})
})

// BuiltinWithoutDefaults leaves defaults.txt out. internal/learn, which writes that file, asks for it.
func BuiltinWithoutDefaults() (*Schemas, error) {
	return load([]source{{"rules.txt", rulesText}})
}

func load(rules []source) (*Schemas, error) {
	d := definitions{kinds: map[string]string{}, text: map[string]string{}}
	if err := errors.Join(d.read("builtin.txt", builtinText), d.read("extra.txt", extraText)); err != nil {
		return nil, err
	}
	seen := make(map[string]*Type, len(d.text))
	for name := range d.text {
		if _, err := d.compile(name, seen); err != nil {
			return nil, err
		}
	}
	if err := apply(rules, seen); err != nil {
		return nil, err
	}
	s := &Schemas{builtin: make(map[string]*Type, len(d.kinds)), meta: seen["meta/v1.ObjectMeta"]}
	for kind, name := range d.kinds {
		t, ok := seen[name]
		if !ok {
			return nil, fmt.Errorf("kind %s has no definition %s", kind, name)
		}
		s.builtin[kind] = t
	}
	s.untyped = s.object(&Type{Kind: Struct, Open: true, Custom: true})
	return s, nil
}

// WithCRDs gives the same types and those of custom resources. A definition that cannot be read is
// reported, named, and left out; its kind is then unknown, as is a version without a schema.
func (s *Schemas) WithCRDs(crds []gitops.Object) (*Schemas, []error) {
	out := *s
	out.crds = maps.Clone(s.crds)
	if out.crds == nil {
		out.crds = map[string]*lazyType{}
	}
	var problems []error
	for _, crd := range crds {
		if err := out.addCRD(crd.Content); err != nil {
			problems = append(problems, fmt.Errorf("CustomResourceDefinition %s: %w", crd.ID.Name, err))
		}
	}
	return &out, problems
}

// Lookup gives the type of a kind. ok is false for a kind whose definition was not given; Untyped serves then.
func (s *Schemas) Lookup(apiVersion, kind string) (t *Type, ok bool) {
	key := apiVersion + " " + kind
	if t, ok := s.builtin[key]; ok {
		return t, true
	}
	lazy, ok := s.crds[key]
	if !ok {
		return nil, false
	}
	lazy.once.Do(func() {
		lazy.t = s.object(fromOpenAPI(withStoredDefaults(lazy.schema, lazy.stored)))
		lazy.schema, lazy.stored = nil, nil
	})
	return lazy.t, true
}

// Untyped is the type of objects of which nothing but their metadata is known.
func (s *Schemas) Untyped() *Type { return s.untyped }

// object completes the type of a custom resource with what every object has.
func (s *Schemas) object(t *Type) *Type {
	if t.Kind != Struct {
		t = &Type{Kind: Struct, Open: true, Custom: true}
	}
	if t.fields == nil {
		t.fields = map[string]*Field{}
	}
	for _, name := range []string{"apiVersion", "kind"} {
		t.fields[name] = &Field{Name: name, Type: scalar("string")}
	}
	t.fields["metadata"] = &Field{Name: "metadata", Type: s.meta, Zero: true}
	t.fields["status"] = &Field{Name: "status", Type: anything}
	return t
}
