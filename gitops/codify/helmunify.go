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

// listed lists the lists in v that have an entry with a mark, outer ones first.
func listed(v any, at gitops.Path) []gitops.Path {
	var out []gitops.Path
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, listed(v[k], at.Child(gitops.Field(k)))...)
		}
	case []any:
		if slices.ContainsFunc(v, hasMark) {
			out = append(out, at)
		}
		for i, e := range v {
			out = append(out, listed(e, at.Child(gitops.Index(i)))...)
		}
	}
	return out
}

// hasMark says whether v holds the mark of a key or a value.
func hasMark(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if hasMark(e) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, hasMark)
	}
	if _, ok := numberMark(v); ok {
		return true
	}
	return slices.ContainsFunc(textsIn(v), func(text string) bool {
		return strings.Contains(text, markKey) || strings.Contains(text, markValue)
	})
}

// unify finds what stands in want for the marks of pattern.
func unify(pattern, want any, bound map[string]any) bool {
	bind := func(mark string, v any) bool {
		old, there := bound[mark]
		bound[mark] = v
		return !there || reflect.DeepEqual(old, v) || alikeTexts(old, v)
	}
	if mark, ok := numberMark(pattern); ok {
		return bind(mark, want)
	}
	switch pattern := pattern.(type) {
	case map[string]any:
		m, ok := want.(map[string]any)
		if !ok {
			return false
		}
		for k := range m {
			if _, there := pattern[k]; !there {
				return false
			}
		}
		for _, k := range slices.Sorted(maps.Keys(pattern)) { // what want leaves out may be a default
			if v, there := m[k]; there && !unify(pattern[k], v, bound) {
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
		if marks.FindString(pattern) == pattern && pattern != "" {
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

// alikeTexts says whether two scalars print alike.
func alikeTexts(a, b any) bool {
	x, scalar := shown(a)
	y, also := shown(b)
	return scalar && also && x == y
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = regexp.QuoteMeta(text)
	}
	return out
}

// filled gives a form with what its marks stand for. Fields whose marks stand for nothing are left out; ok is false for
// a form that is nothing else.
func filled(form any, bound map[string]any) (v any, ok bool) {
	switch form := form.(type) {
	case map[string]any:
		out := make(map[string]any, len(form))
		for k, e := range form {
			if v, ok := filled(e, bound); ok {
				out[k] = v
			}
		}
		return out, len(out) > 0
	case []any:
		out := make([]any, 0, len(form))
		for _, e := range form {
			if v, ok := filled(e, bound); ok {
				out = append(out, v)
			}
		}
		return out, len(out) > 0
	case string:
		if marks.FindString(form) == form && form != "" {
			v, ok := bound[form]
			return v, ok
		}
	case int64:
		if mark, ok := numberMark(form); ok {
			v, there := bound[mark]
			if text, isText := v.(string); isText {
				return typedLike(gitops.Present(form), text, text)[0], there
			}
			return v, there
		}
	}
	return form, true
}
