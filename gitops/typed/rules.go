package typed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/gitops"
)

// The form of rules.txt and defaults.txt: a definition of builtin.txt or extra.txt, a path below it, and
// what is known of the field there. An index in the path stands for every entry of the list; a path of
// several steps holds below this definition only.
//
//	core/v1.Container terminationMessagePath = "/dev/termination-log"    the default, as JSON
//	core/v1.ServicePort targetPort = sibling port                        the value of a field beside it
//	core/v1.PodSpec serviceAccount = twin serviceAccountName             the same, where each is the other's default
//	core/v1.Namespace metadata.labels["kubernetes.io/metadata.name"] = root metadata.name
//	core/v1.Container imagePullPolicy = pullPolicy image                 by the tag of the image beside it
//	apiextensions/v1.CustomResourceDefinitionNames singular = lower kind   the field beside it in lower case; listOf adds List
//	core/v1.LimitRangeItem default each max                              for each key of a map: its value in the map beside it
//	core/v1.ServiceSpec clusterIP server                                 the server chooses it for each object
//	core/v1.Container args ordered                                       the order of the list has a meaning
//	apiextensions/v1.CustomResourceDefinitionSpec versions keys name     entries of an atomic list that people know by a key
//
//	core/v1.PersistentVolumeSpec claimRef granular                       its parts have owners, although elsewhere the type has one
//
// `if` adds conditions, all of which must hold: type=A|B a field beside it has one of these values, ports
// it is there, !ports it is not, and ^hostNetwork=true asks the nearest mapping around it that has the field.

// rule is a default (value, or where to take it from) or the mark of a server-set field, and its conditions.
type rule struct {
	value any
	// from says how to find the value when it is no constant: the word before the path in the text.
	from string
	path []string
	when []condition
}

type condition struct {
	up, not bool
	path    []string
	values  []string
}

// source is a file of rules.
type source struct {
	name, text string
}

// apply reads rules and puts them on the definitions in seen: those of one step first, since those of several
// copy what they pass.
func apply(sources []source, seen map[string]*Type) error {
	for _, deep := range []bool{false, true} {
		for _, src := range sources {
			number := 0
			for line := range strings.Lines(src.text) {
				number++
				line = strings.TrimSpace(line)
				if line == "" || line[0] == '#' {
					continue
				}
				if err := applyLine(line, deep, seen); err != nil {
					return fmt.Errorf("%s:%d: %w", src.name, number, err)
				}
			}
		}
	}
	return nil
}

func applyLine(line string, deep bool, seen map[string]*Type) error {
	name, rest, _ := strings.Cut(line, " ")
	pathText, rest, _ := strings.Cut(rest, " ")
	t, ok := seen[name]
	if !ok {
		return fmt.Errorf("no definition %s", name)
	}
	path, err := gitops.ParsePath(pathText)
	if err != nil {
		return err
	}
	if deep != (len(path) > 1) {
		return nil
	}
	f, err := fieldFor(t, path)
	if err != nil {
		return err
	}
	body, when, _ := strings.Cut(rest, " if ")
	conditions, err := parseConditions(when)
	if err != nil {
		return err
	}
	switch {
	case body == "server":
		f.serverSet = append(f.serverSet, rule{when: conditions})
	case body == "ordered":
		if f.Type.Kind != List {
			return fmt.Errorf("%s %s is no list", name, pathText)
		}
		clone := *f.Type
		clone.Ordered, clone.Unordered = true, false
		f.Type = &clone
	case body == "granular":
		clone := *f.Type
		clone.Atomic = false
		f.Type = &clone
	case strings.HasPrefix(body, "each "):
		if f.Type.Kind != Map {
			return fmt.Errorf("%s %s is no map", name, pathText)
		}
		clone := *f.Type
		clone.each = append(slices.Clip(clone.each), rule{from: "beside", path: strings.Split(body[len("each "):], "."), when: conditions})
		f.Type = &clone
	case strings.HasPrefix(body, "keys "):
		if f.Type.Kind != List {
			return fmt.Errorf("%s %s is no list", name, pathText)
		}
		clone := *f.Type
		clone.Keys = strings.Split(body[len("keys "):], ",")
		f.Type = &clone
	case strings.HasPrefix(body, "= "):
		r, err := parseValue(body[2:])
		if err != nil {
			return err
		}
		r.when = conditions
		f.defaults = append(f.defaults, r)
	default:
		return fmt.Errorf("want = VALUE, each, server, ordered, keys or granular, got %q", body)
	}
	return nil
}

func parseValue(text string) (rule, error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "sibling", "twin", "root", "pullPolicy", "listOf", "lower":
		return rule{from: word, path: strings.Split(rest, ".")}, nil
	}
	v, err := decode(text)
	return rule{value: v}, err
}

func parseConditions(text string) ([]condition, error) {
	var out []condition
	for part := range strings.SplitSeq(text, " & ") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		var c condition
		part, c.not = cutPrefix(part, "!")
		part, c.up = cutPrefix(part, "^")
		path, values, hasValues := strings.Cut(part, "=")
		if path == "" {
			return nil, fmt.Errorf("condition %q names no field", text)
		}
		c.path = strings.Split(path, ".")
		if hasValues {
			c.values = strings.Split(values, "|")
		}
		out = append(out, c)
	}
	return out, nil
}

func cutPrefix(s, prefix string) (string, bool) {
	rest, found := strings.CutPrefix(s, prefix)
	return rest, found
}

// fieldFor gives the field at path below t for a rule to change. What lies between is copied, so that the
// rule holds below t alone.
func fieldFor(t *Type, path gitops.Path) (*Field, error) {
	for i, step := range path {
		if !step.IsField() {
			elem := *t.Elem
			elem.fields = maps.Clone(elem.fields)
			t.Elem = &elem
			t = &elem
			continue
		}
		f := t.fields[step.Field]
		switch {
		case f == nil && t.Kind == Map:
			f = &Field{Name: step.Field, Type: t.Elem, Zero: true}
			if t.fields == nil {
				t.fields = map[string]*Field{}
			}
			t.fields[step.Field] = f
		case f == nil:
			return nil, fmt.Errorf("%s does not know the field %s", t.Name, path[:i+1])
		}
		if len(path) > 1 {
			own := *f
			own.defaults, own.serverSet = slices.Clip(own.defaults), slices.Clip(own.serverSet)
			f, t.fields[step.Field] = &own, &own
		}
		if i == len(path)-1 {
			return f, nil
		}
		inner := *f.Type
		inner.fields = maps.Clone(inner.fields)
		f.Type, t = &inner, &inner
	}
	return nil, fmt.Errorf("the path %q ends in no field", path)
}
