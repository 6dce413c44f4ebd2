package codify

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
)

// pairedIn lists the mappings in v that have markKey as a key.
func pairedIn(v any, at gitops.Path) []gitops.Path {
	var out []gitops.Path
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[markKey]; ok {
			return []gitops.Path{at}
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, pairedIn(v[k], at.Child(gitops.Field(k)))...)
		}
	case []any:
		for i, e := range v {
			out = append(out, pairedIn(e, at.Child(gitops.Index(i)))...)
		}
	}
	return out
}

// listed lists the innermost lists in v that have an entry with a mark.
func listed(v any, at gitops.Path) []gitops.Path {
	var out []gitops.Path
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, listed(v[k], at.Child(gitops.Field(k)))...)
		}
	case []any:
		for i, e := range v {
			out = append(out, listed(e, at.Child(gitops.Index(i)))...)
		}
		if len(out) == 0 && slices.ContainsFunc(v, hasMark) {
			return []gitops.Path{at}
		}
	}
	return out
}

// hasMark says whether a text in v holds the mark of a key or a value.
func hasMark(v any) bool {
	return slices.ContainsFunc(textsIn(v), func(text string) bool {
		return strings.Contains(text, markKey) || strings.Contains(text, markValue)
	})
}

var marks = regexp.MustCompile(markKey + "|" + markValue)

// unify finds what stands in want for the marks of pattern.
func unify(pattern, want any, bound map[string]any) bool {
	bind := func(mark string, v any) bool {
		old, there := bound[mark]
		bound[mark] = v
		return !there || reflect.DeepEqual(old, v)
	}
	switch pattern := pattern.(type) {
	case map[string]any:
		m, ok := want.(map[string]any)
		if !ok || len(m) != len(pattern) {
			return false
		}
		for _, k := range slices.Sorted(maps.Keys(pattern)) {
			v, there := m[k]
			if !there || !unify(pattern[k], v, bound) {
				return false
			}
		}
		return true
	case []any:
		list, ok := want.([]any)
		if !ok || len(list) != len(pattern) {
			return false
		}
		for i := range pattern {
			if !unify(pattern[i], list[i], bound) {
				return false
			}
		}
		return true
	case string:
		if pattern == markKey || pattern == markValue {
			return bind(pattern, want)
		}
		found := marks.FindAllString(pattern, -1)
		text, ok := want.(string)
		if !ok || len(found) == 0 {
			return reflect.DeepEqual(any(pattern), want)
		}
		re, err := regexp.Compile(`(?s)\A` + strings.Join(quoted(marks.Split(pattern, -1)), `(.*?)`) + `\z`)
		if err != nil {
			return false
		}
		groups := re.FindStringSubmatch(text)
		for i := range groups {
			if i > 0 && !bind(found[i-1], groups[i]) {
				return false
			}
		}
		return groups != nil
	}
	return reflect.DeepEqual(pattern, want)
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = regexp.QuoteMeta(text)
	}
	return out
}

// filled gives a form with what its marks stand for.
func filled(form any, bound map[string]any) any {
	switch form := form.(type) {
	case map[string]any:
		out := make(map[string]any, len(form))
		for k, v := range form {
			out[k] = filled(v, bound)
		}
		return out
	case string:
		if v, ok := bound[form]; ok {
			return v
		}
	}
	return form
}
