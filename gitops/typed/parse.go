package typed

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The form of builtin.txt and extra.txt, line by line:
//
//	# a comment
//	kind apps/v1 Deployment apps/v1.Deployment     a kind and the definition of its type
//	def core/v1.Container [atomic] [open]          a definition; its fields follow, each after a tab
//		env [name] core/v1.EnvVar                  a list with merge keys; [] is atomic, [set] a set
//		labels {} string                           a map; {atomic} has one owner
//		replicas *int                              * before a type whose zero value the server keeps
//		protocol string = "TCP"                    a default, as JSON
//
// A scalar is any, string, int, number, bool, quantity, intstr, duration, time or bytes.

// definitions is the text of all definitions by name, parsed on first use, and the kinds by
// "apiVersion kind".
type definitions struct {
	kinds map[string]string
	text  map[string]string
}

func (d *definitions) read(file, text string) error {
	current, start := "", 0
	flush := func(end int) {
		if current != "" {
			d.text[current] = text[start:end]
		}
		current = ""
	}
	for offset, number := 0, 1; offset < len(text); number++ {
		line, _, _ := strings.Cut(text[offset:], "\n")
		next := min(offset+len(line)+1, len(text))
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "", line[0] == '#', line[0] == '\t':
		case word == "kind":
			flush(offset)
			parts := strings.Fields(rest)
			if len(parts) != 3 {
				return fmt.Errorf("%s:%d: want kind APIVERSION KIND DEFINITION", file, number)
			}
			d.kinds[parts[0]+" "+parts[1]] = parts[2]
		case word == "def":
			flush(offset)
			current, _, _ = strings.Cut(rest, " ")
			start = offset
		default:
			return fmt.Errorf("%s:%d: want kind or def, got %q", file, number, word)
		}
		offset = next
	}
	flush(len(text))
	return nil
}

// compile gives the type of a definition, and compiles what it refers to. seen holds what was compiled
// before, so that definitions may refer to themselves.
func (d *definitions) compile(name string, seen map[string]*Type) (*Type, error) {
	if t, ok := seen[name]; ok {
		return t, nil
	}
	text, ok := d.text[name]
	if !ok {
		return nil, fmt.Errorf("no definition %s", name)
	}
	t := &Type{Name: name, Kind: Struct, fields: map[string]*Field{}}
	seen[name] = t
	head, body, _ := strings.Cut(text, "\n")
	for _, flag := range strings.Fields(head)[2:] {
		switch flag {
		case "atomic":
			t.Atomic = true
		case "open":
			t.Open = true
		default:
			return nil, fmt.Errorf("definition %s: unknown flag %q", name, flag)
		}
	}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f, err := d.field(line, seen)
		if err != nil {
			return nil, fmt.Errorf("definition %s: %q: %w", name, line, err)
		}
		t.fields[f.Name] = f
	}
	return t, nil
}

func (d *definitions) field(line string, seen map[string]*Type) (*Field, error) {
	name, rest, _ := strings.Cut(line, " ")
	text, value, hasDefault := strings.Cut(rest, " = ")
	f := &Field{Name: name, Zero: !strings.HasPrefix(text, "*")}
	var err error
	if f.Type, err = d.typ(strings.TrimPrefix(text, "*"), seen); err != nil {
		return nil, err
	}
	if hasDefault {
		v, err := decode(value)
		if err != nil {
			return nil, err
		}
		f.defaults = []rule{{value: v}}
	}
	return f, nil
}

func (d *definitions) typ(text string, seen map[string]*Type) (*Type, error) {
	text = strings.TrimPrefix(text, "*")
	if t := scalar(text); t != nil {
		return t, nil
	}
	if text == "" {
		return nil, fmt.Errorf("no type")
	}
	switch text[0] {
	case '[':
		semantics, rest, ok := strings.Cut(text[1:], "] ")
		if !ok {
			return nil, fmt.Errorf("want ] and a type")
		}
		elem, err := d.typ(rest, seen)
		if err != nil {
			return nil, err
		}
		return listOf(semantics, elem), nil
	case '{':
		semantics, rest, ok := strings.Cut(text[1:], "} ")
		if !ok {
			return nil, fmt.Errorf("want } and a type")
		}
		elem, err := d.typ(rest, seen)
		if err != nil {
			return nil, err
		}
		return &Type{Kind: Map, Elem: elem, Atomic: semantics == "atomic"}, nil
	}
	return d.compile(text, seen)
}

func listOf(semantics string, elem *Type) *Type {
	t := &Type{Kind: List, Elem: elem, Unordered: true}
	switch semantics {
	case "":
	case "set":
		t.List = SetList
	default:
		t.List, t.Keys = KeyedList, strings.Split(semantics, ",")
	}
	return t
}

// decode reads a JSON value with whole numbers as int64, as objects hold them.
func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("default %q: %w", text, err)
	}
	return plainNumbers(v), nil
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}
