package typed

import (
	"strconv"
	"strings"
)

// Default gives what the API server puts into the field when it is absent. around are the mappings of the
// object from the root to the one that the field stands in. The value may have structures that are
// completed by the defaults of their own fields, and is shared: do not change it.
func (f *Field) Default(around []map[string]any) (value any, ok bool) {
	for i := range f.defaults {
		r := &f.defaults[i]
		if !r.holds(around) {
			continue
		}
		switch r.from {
		case "":
			return r.value, true
		case "sibling":
			value, ok = dig(around[len(around)-1], r.path)
		case "twin":
			if value, ok = dig(around[len(around)-1], r.path); !ok {
				continue
			}
		case "beside":
			if len(around) < 2 {
				continue
			}
			if value, ok = dig(around[len(around)-2], r.path); !ok {
				continue
			}
		case "root":
			value, ok = dig(around[0], r.path)
		case "pullPolicy":
			image, _ := dig(around[len(around)-1], r.path)
			text, _ := image.(string)
			value, ok = pullPolicy(text), true
		case "listOf", "lower":
			kind, _ := dig(around[len(around)-1], r.path)
			text, _ := kind.(string)
			if value, ok = text+"List", text != ""; r.from == "lower" {
				value = strings.ToLower(text)
			}
		}
		return value, ok
	}
	return nil, false
}

// HasDefault says whether the field has a default on any condition.
func (f *Field) HasDefault() bool { return len(f.defaults) > 0 }

// Twin names the field beside it of which this one is the default, and which is this one's: two names of one setting.
// They explain each other only for an author who gave one of them.
func (f *Field) Twin() (name string, ok bool) {
	for i := range f.defaults {
		if f.defaults[i].from == "twin" {
			return f.defaults[i].path[0], true
		}
	}
	return "", false
}

// Constant gives the default of a field that has one on no condition.
func (f *Field) Constant() (value any, ok bool) {
	if len(f.defaults) != 1 || f.defaults[0].from != "" || len(f.defaults[0].when) > 0 {
		return nil, false
	}
	return f.defaults[0].value, true
}

// ServerSet says whether the API server itself chooses the value of the field for each object, such as a
// Service's clusterIP.
func (f *Field) ServerSet(around []map[string]any) bool {
	for i := range f.serverSet {
		if f.serverSet[i].holds(around) {
			return true
		}
	}
	return false
}

func (r *rule) holds(around []map[string]any) bool {
	for i := range r.when {
		if r.when[i].holds(around) == r.when[i].not {
			return false
		}
	}
	return true
}

func (c *condition) holds(around []map[string]any) bool {
	value, ok := any(nil), false
	for i := len(around) - 1; i >= 0; i-- {
		if value, ok = dig(around[i], c.path); ok || !c.up {
			break
		}
	}
	if !ok || value == nil {
		return false
	}
	if len(c.values) == 0 {
		return true
	}
	text := ""
	switch v := value.(type) {
	case string:
		text = v
	case bool:
		text = strconv.FormatBool(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	default:
		return false
	}
	for _, want := range c.values {
		if text == want {
			return true
		}
	}
	return false
}

func dig(at map[string]any, path []string) (any, bool) {
	for i, name := range path {
		v, ok := at[name]
		if i == len(path)-1 {
			return v, ok && v != nil
		}
		if at, ok = v.(map[string]any); !ok {
			return nil, false
		}
	}
	return nil, false
}

// pullPolicy is the default of imagePullPolicy: Always for a tag latest, named or implied by neither tag nor
// digest, else IfNotPresent, as for a name that is no image reference
// (kubernetes/pkg/apis/core/v1/defaults.go, SetDefaults_Container; pkg/util/parsers).
func pullPolicy(image string) string {
	name, _, digested := strings.Cut(image, "@")
	slash := strings.LastIndexByte(name, '/')
	repository, tag, tagged := strings.Cut(name[slash+1:], ":")
	if tag == "latest" || !tagged && !digested {
		if isRepository(name[:slash+1] + repository) {
			return "Always"
		}
	}
	return "IfNotPresent"
}

// isRepository says whether a name without tag and digest follows the grammar of image references: lower
// case, but for the host.
func isRepository(name string) bool {
	for i, part := range strings.Split(name, "/") {
		if part == "" {
			return false
		}
		host := i == 0 && len(part) < len(name) && (strings.ContainsAny(part, ".:") || part == "localhost")
		for _, r := range part {
			lower := r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
			if !lower && !(host && (r == ':' || r >= 'A' && r <= 'Z')) {
				return false
			}
		}
	}
	return !strings.Contains(name, ":/")
}
