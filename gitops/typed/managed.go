package typed

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/gitops"
)

// FieldSet is one entry of metadata.managedFields: the fields that one manager wrote through one operation
// and subresource. It is read without a schema, since an entry may be of a version that is no longer served.
type FieldSet struct {
	Manager, Operation, Subresource, APIVersion string
	// Time is when this manager last changed its set; zero in entries that carry none, such as those
	// written through the scale subresource.
	Time   time.Time
	fields map[string]any
}

// ParseManagedFields reads the entries of an object's metadata. What cannot be read is left out and told by
// the error, which joins one for each bad entry; the sets are good beside it.
func ParseManagedFields(metadata map[string]any) ([]FieldSet, error) {
	raw, ok := metadata["managedFields"]
	if !ok || raw == nil {
		return nil, nil
	}
	entries, ok := raw.([]any)
	if !ok {
		return nil, errors.New("metadata.managedFields is no list")
	}
	sets := make([]FieldSet, 0, len(entries))
	var problems []error
	for i, entry := range entries {
		set, err := parseEntry(entry)
		if err != nil {
			problems = append(problems, fmt.Errorf("metadata.managedFields[%d]: %w", i, err))
			continue
		}
		sets = append(sets, set)
	}
	return sets, errors.Join(problems...)
}

func parseEntry(entry any) (FieldSet, error) {
	m, ok := entry.(map[string]any)
	if !ok {
		return FieldSet{}, errors.New("is no mapping")
	}
	var set FieldSet
	for name, to := range map[string]*string{
		"manager": &set.Manager, "operation": &set.Operation,
		"subresource": &set.Subresource, "apiVersion": &set.APIVersion,
	} {
		if *to, ok = m[name].(string); !ok && m[name] != nil {
			return FieldSet{}, fmt.Errorf("%s is no string", name)
		}
	}
	if kind, there := m["fieldsType"]; there && kind != "FieldsV1" {
		return FieldSet{}, fmt.Errorf("fieldsType %v is not FieldsV1", kind)
	}
	if text, there := m["time"].(string); there {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return FieldSet{}, fmt.Errorf("time %q is no RFC 3339 time", text)
		}
		set.Time = at.UTC()
	}
	if fields := m["fieldsV1"]; fields != nil {
		if set.fields, ok = fields.(map[string]any); !ok {
			return FieldSet{}, errors.New("fieldsV1 is no mapping")
		}
	}
	if err := checkFields(set.fields, 0); err != nil {
		return FieldSet{}, err
	}
	return set, nil
}

// maxDepth is far beyond what an object can have and keeps a made-up entry from exhausting the stack.
const maxDepth = 500

func checkFields(fields map[string]any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("fieldsV1 is nested deeper than %d", maxDepth)
	}
	for key, value := range fields {
		inner, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("fieldsV1: the value of %q is no mapping", key)
		}
		if key != "." && (len(key) < 2 || key[1] != ':') {
			return fmt.Errorf("fieldsV1: %q is no path element", key)
		}
		if len(inner) == 0 {
			continue
		}
		if err := checkFields(inner, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Fields is a node of a FieldSet: what its manager owns at and below one value.
type Fields struct {
	children map[string]any
}

// Field steps into a mapping.
func (f Fields) Field(name string) (Fields, bool) { return f.child("f:" + name) }

// Entry steps to a list entry: by its merge keys, by its value when it is a scalar, else by its index.
func (f Fields) Entry(entry any, index int) (Fields, bool) {
	m, isMap := entry.(map[string]any)
	for key := range f.children {
		switch {
		case isMap && strings.HasPrefix(key, "k:") && hasKeys(m, key[2:]),
			!isMap && strings.HasPrefix(key, "v:") && isValue(entry, key[2:]):
			return f.child(key)
		}
	}
	if len(f.children) == 0 {
		return Fields{}, false
	}
	return f.child(fmt.Sprintf("i:%d", index))
}

func (f Fields) child(key string) (Fields, bool) {
	m, ok := f.children[key].(map[string]any)
	return Fields{m}, ok
}

// hasKeys says whether the entry has all the merge keys of a path element such as {"name":"web"}.
func hasKeys(entry map[string]any, text string) bool {
	keys, err := decode(text)
	m, ok := keys.(map[string]any)
	if err != nil || !ok || len(m) == 0 {
		return false
	}
	for name, want := range m {
		if !Plain.SameScalar(entry[name], want) {
			return false
		}
	}
	return true
}

func isValue(entry any, text string) bool {
	want, err := decode(text)
	return err == nil && Plain.SameScalar(entry, want)
}

// Hold says how a manager owns a value.
type Hold uint8

// The holds, weakest first.
const (
	NotHeld Hold = iota
	// HeldWhole: the manager owns an atomic value around it.
	HeldWhole
	// Held: the manager owns the value itself or something below it.
	Held
)

// Holds says how the manager owns the value at path in live, an object of type t. For a path that live does
// not have, it is HeldWhole where the manager owns an atomic value around it.
func (s FieldSet) Holds(t *Type, live any, path gitops.Path) Hold {
	if len(s.fields) == 0 {
		return NotHeld
	}
	fields, at := Fields{s.fields}, live
	for _, step := range path {
		if len(fields.children) == 0 && ownedWhole(t, at) {
			return HeldWhole
		}
		var ok bool
		if step.IsField() {
			m, _ := at.(map[string]any)
			at = m[step.Field]
			t = cmp.Or(t.Child(step.Field), anything)
			if fields, ok = fields.Field(step.Field); !ok {
				return NotHeld
			}
			continue
		}
		list, _ := at.([]any)
		index := step.Index
		if step.IsEntry() {
			index = gitops.FindEntry(list, step.Keys)
		}
		if index < 0 || index >= len(list) {
			return NotHeld
		}
		at, t = list[index], cmp.Or(t.Elem, anything)
		if fields, ok = fields.Entry(at, index); !ok {
			return NotHeld
		}
		if len(fields.children) == 0 {
			return HeldWhole // an entry whose merge keys repeat has one owner
		}
	}
	return Held
}

// ownedWhole says whether one owner holds all of the value: an atomic structure, map or list. Of a value
// whose type is not known, lists are.
func ownedWhole(t *Type, v any) bool {
	switch t.Kind {
	case Struct, Map:
		return t.Atomic
	case List:
		return t.List == AtomicList
	}
	_, isList := v.([]any)
	return isList
}
