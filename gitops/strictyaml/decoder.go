package strictyaml

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder walks a node and a value of the wanted type in step, and goes on after an error.
type decoder struct {
	file  string
	errs  []error
	known map[reflect.Type][]structField
}

func (d *decoder) fail(node *yaml.Node, format string, args ...any) {
	if len(d.errs) < maxErrors {
		d.errs = append(d.errs, Errorf(d.file, node.Line, format, args...))
	}
}

// value decodes node into v. key is the key it stands under, for errors; enum the allowed texts, nil for any.
func (d *decoder) value(node *yaml.Node, v reflect.Value, key string, enum []string) {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		d.fail(node, "%san anchor or alias is not allowed here; write the value out", prefix(key))
		return
	}
	if p, ok := v.Addr().Interface().(Positioned); ok {
		p.SetLine(firstLine(node))
	}
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		d.value(node, fresh.Elem(), key, enum)
		v.Set(fresh)
		return
	}
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.textValue(node, text, key, enum)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structValue(node, v, key)
	case reflect.Slice:
		d.list(node, v, key, enum)
	case reflect.Map:
		d.mapping(node, v, key, enum)
	case reflect.Interface:
		var out any
		if err := node.Decode(&out); err != nil {
			d.fail(node, "%s%s", prefix(key), err)
			return
		}
		if out != nil {
			v.Set(reflect.ValueOf(out))
		}
	default:
		d.scalar(node, v, key, enum)
	}
}

func (d *decoder) textValue(node *yaml.Node, into encoding.TextUnmarshaler, key string, enum []string) {
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" {
		d.fail(node, "%swant a text, not %s", prefix(key), describe(node))
		return
	}
	if !d.allowed(node, key, enum) {
		return
	}
	if err := into.UnmarshalText([]byte(node.Value)); err != nil {
		d.fail(node, "%s%s", prefix(key), err)
	}
}

func (d *decoder) scalar(node *yaml.Node, v reflect.Value, key string, enum []string) {
	if node.Kind != yaml.ScalarNode {
		d.fail(node, "%swant %s, not %s", prefix(key), wanted(v), describe(node))
		return
	}
	switch v.Kind() {
	case reflect.String:
		if node.Tag != "!!str" && node.Tag != "!!timestamp" {
			d.fail(node, "%swant a text, not %s (put it in quotes if a text is meant)", prefix(key), describe(node))
			return
		}
		if d.allowed(node, key, enum) {
			v.SetString(node.Value)
		}
	case reflect.Bool:
		b, err := strconv.ParseBool(node.Value)
		if node.Tag != "!!bool" || err != nil {
			d.fail(node, "%swant true or false, not %s", prefix(key), describe(node))
			return
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64, reflect.Int32:
		n, err := strconv.ParseInt(node.Value, 10, v.Type().Bits())
		if node.Tag != "!!int" || err != nil {
			d.fail(node, "%swant a whole number, not %s", prefix(key), describe(node))
			return
		}
		v.SetInt(n)
	default:
		panic("strictyaml: no way to decode a " + v.Type().String())
	}
}

func (d *decoder) allowed(node *yaml.Node, key string, enum []string) bool {
	if enum == nil || slices.Contains(enum, node.Value) {
		return true
	}
	d.fail(node, "%s%q is not allowed; want %s", prefix(key), node.Value, orList(enum))
	return false
}

func (d *decoder) list(node *yaml.Node, v reflect.Value, key string, enum []string) {
	if node.Kind != yaml.SequenceNode {
		d.fail(node, "%swant a list, as in [a, b], not %s", prefix(key), describe(node))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		d.value(item, out.Index(i), key, enum)
	}
	v.Set(out)
}

func (d *decoder) mapping(node *yaml.Node, v reflect.Value, key string, enum []string) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, "%swant a mapping of keys, not %s", prefix(key), describe(node))
		return
	}
	out := reflect.MakeMap(v.Type())
	for name, item := range d.entries(node) {
		k := reflect.New(v.Type().Key()).Elem()
		d.value(name, k, key, nil)
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(item, element, name.Value, enum)
		out.SetMapIndex(k, element)
	}
	v.Set(out)
}

func (d *decoder) structValue(node *yaml.Node, v reflect.Value, key string) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, "%swant a mapping with %s, not %s", prefix(key), orList(d.names(v.Type())), describe(node))
		return
	}
	seen := map[string]bool{}
	for name, item := range d.entries(node) {
		seen[name.Value] = true
		field, ok := d.field(v.Type(), name.Value)
		if !ok {
			if by := d.references(v.Type(), name.Value); by != nil {
				d.fail(name, "key %q%s: a secret is never written here; use %s", name.Value, within(key), orList(by))
				continue
			}
			d.fail(name, "unknown key %q%s; allowed are %s", name.Value, within(key), strings.Join(d.names(v.Type()), ", "))
			continue
		}
		d.value(item, v.FieldByIndex(field.index), name.Value, field.enum)
	}
	for _, f := range d.fields(v.Type()) {
		if f.required && !seen[f.name] {
			d.fail(node, "key %q is missing%s", f.name, within(key))
		}
	}
}

// entries goes through a mapping's keys and values, and reports and leaves out what repeats.
func (d *decoder) entries(node *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		lines := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Tag == "!!merge" {
				d.fail(key, "want a plain key, not %s", describe(key))
				continue
			}
			if first, again := lines[key.Value]; again {
				d.fail(key, "key %q repeats; it is already on line %d", key.Value, first)
				continue
			}
			lines[key.Value] = key.Line
			if !yield(key, node.Content[i+1]) {
				return
			}
		}
	}
}

// structField is one key of a struct.
type structField struct {
	name     string
	index    []int
	required bool
	enum     []string
}

// fields lists the keys of a struct in order of declaration, embedded structs included.
func (d *decoder) fields(t reflect.Type) []structField {
	out, ok := d.known[t]
	if ok {
		return out
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "" || name == "-" {
			continue
		}
		field := structField{name: name, index: f.Index, required: !strings.Contains(options, "omit")}
		for part := range strings.SplitSeq(f.Tag.Get("jsonschema"), ",") {
			if value, ok := strings.CutPrefix(part, "enum="); ok {
				field.enum = append(field.enum, value)
			}
		}
		out = append(out, field)
	}
	if d.known == nil {
		d.known = map[reflect.Type][]structField{}
	}
	d.known[t] = out
	return out
}

func (d *decoder) field(t reflect.Type, name string) (structField, bool) {
	all := d.fields(t)
	i := slices.IndexFunc(all, func(f structField) bool { return f.name == name })
	if i < 0 {
		return structField{}, false
	}
	return all[i], true
}

func (d *decoder) names(t reflect.Type) []string {
	var out []string
	for _, f := range d.fields(t) {
		out = append(out, f.name)
	}
	return out
}

// references gives the keys through which a struct takes a secret that was written out.
func (d *decoder) references(t reflect.Type, name string) (by []string) {
	for _, suffix := range []string{"File", "Env"} {
		if _, ok := d.field(t, name+suffix); ok && name != "" {
			by = append(by, name+suffix)
		}
	}
	return by
}

func prefix(key string) string {
	if key == "" {
		return ""
	}
	return key + ": "
}

func within(key string) string {
	if key == "" {
		return ""
	}
	return " in " + key
}

func wanted(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	}
	return "a whole number"
}

// describe names what a node is without its value: a mistyped file may hold a secret anywhere.
func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch node.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "a number"
	case "!!str":
		return "a text"
	}
	return fmt.Sprintf("a value tagged %s", node.Tag)
}

func orList(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

// firstLine is where the content of a node starts: a block scalar's is below its indicator.
func firstLine(node *yaml.Node) int {
	if node.Kind == yaml.ScalarNode && node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return node.Line + 1
	}
	return node.Line
}
