package typed

import (
	"slices"

	"holdfast/gitops"
)

// Kind tells the shapes of a value apart.
type Kind uint8

// The kinds. Any is a value of which nothing is known: maps in it merge, lists do not.
const (
	Any Kind = iota
	Scalar
	Struct // a mapping with known fields
	Map    // a mapping with free keys and values of one type
	List
)

// Format is how a scalar is spelled and when two spellings mean the same.
type Format uint8

// The formats. Plain scalars are equal when their JSON values are; numbers are equal by value.
const (
	Plain       Format = iota
	Text               // a string; a number of the same value is how some YAML writers print it without quotes
	Quantity           // resource.Quantity: 0.5 is 500m
	IntOrString        // 80 and "80" are kept apart, as the API server does
	Duration           // 1h is 1h0m0s
	Time               // RFC 3339: equal as instants
	Bytes              // base64: equal decoded
)

// ListKind is how the entries of a list merge.
type ListKind uint8

// The list kinds. An atomic list has one owner; a set has scalars; a keyed list has merge keys.
const (
	AtomicList ListKind = iota
	SetList
	KeyedList
)

// Type is a compiled node of a schema. Types are shared between goroutines and never changed.
type Type struct {
	// Name is the definition that a structure was compiled from; empty in custom resources.
	Name   string
	Kind   Kind
	Format Format
	// Atomic says that a Struct or Map has one owner as a whole.
	Atomic bool
	// Open says that a Struct keeps fields which it does not know.
	Open bool
	// Elem is the type of the values of a Map or the entries of a List.
	Elem *Type
	List ListKind
	// Keys are the merge keys of a KeyedList, or the keys by which people know the entries of an atomic list.
	Keys []string
	// Ordered says that the order of a list's entries has a meaning: args, initContainers, DNS servers.
	Ordered bool
	// Unordered says that it has none. A list that is neither belongs to a custom resource and may or may
	// not have one.
	Unordered bool

	// Custom says that the type is not of a built-in kind.
	Custom bool

	fields map[string]*Field
	// each holds the defaults of the keys of a Map that has them: where to take a key's value from.
	each []rule
}

// Field is a field of a Struct, or a key of a Map about which something special is known.
type Field struct {
	Name string
	Type *Type
	// Zero says that the API server does not tell the zero value (false, 0, "", [], {}) from absence.
	// False for what its Go type holds by a pointer, and for fields of custom resources.
	Zero bool

	defaults  []rule
	serverSet []rule
}

// Field gives a known field, or nil. A key of a Map is a field of the map's element type.
func (t *Type) Field(name string) *Field {
	if f, ok := t.fields[name]; ok {
		return f
	}
	if len(t.each) == 0 {
		return nil
	}
	f := &Field{Name: name, Type: t.Elem, defaults: slices.Clone(t.each)}
	for i := range f.defaults {
		f.defaults[i].path = append(slices.Clip(f.defaults[i].path), name)
	}
	return f
}

// Child gives the type of the value at key of a mapping: anything where nothing is known, nil where the
// type is closed and does not know the key, or is no mapping.
func (t *Type) Child(key string) *Type {
	if f, ok := t.fields[key]; ok {
		return f.Type
	}
	switch {
	case t.Kind == Map:
		return t.Elem
	case t.Kind == Any, t.Kind == Struct && t.Open:
		return anything
	}
	return nil
}

// At gives the type at path. ok is false where a closed structure does not know a field.
func (t *Type) At(path gitops.Path) (at *Type, ok bool) {
	at = t
	for _, step := range path {
		switch {
		case step.IsField():
			at = at.Child(step.Field)
		case at.Kind == List:
			at = at.Elem
		case at.Kind != Any:
			at = nil
		}
		if at == nil {
			return nil, false
		}
	}
	return at, true
}

// anything is the type of a value of which nothing is known. Nobody writes to it.
var anything = &Type{Kind: Any, Open: true, Custom: true}

// Anything is the type of a value of which nothing is known.
func Anything() *Type { return anything }

// scalar gives the type that a word of builtin.txt names, or nil.
func scalar(word string) *Type {
	switch word {
	case "any":
		return anything
	case "string":
		return &Type{Kind: Scalar, Format: Text}
	case "int", "number", "bool":
		return &Type{Kind: Scalar}
	case "quantity":
		return &Type{Kind: Scalar, Format: Quantity}
	case "intstr":
		return &Type{Kind: Scalar, Format: IntOrString}
	case "duration":
		return &Type{Kind: Scalar, Format: Duration}
	case "time":
		return &Type{Kind: Scalar, Format: Time}
	case "bytes":
		return &Type{Kind: Scalar, Format: Bytes}
	}
	return nil
}
