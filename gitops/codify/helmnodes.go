package codify

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/chart"
)

// node is a place in a chart's values that is tried: what stands there, or a place that a template names and
// nothing sets.
type node struct {
	at    gitops.Path
	value gitops.Value
	score int
}

// Texts that stand in for values. They are lower-case names, so that they pass where names are asked for.
const (
	markText  = "zqv7x"
	markKey   = "zqk7x"
	markValue = "zqe7x"
)

// marker is another value for a node.
type marker struct {
	value gitops.Value
	kind  markerKind
}

type markerKind int

const (
	asText   markerKind = iota // a text, or a text around markText
	asOther                    // another number, another text
	asFlip                     // the other boolean
	asPair                     // a mapping with one more key
	asItem                     // a list with one more text
	asRecord                   // a list with one more mapping
)

// nodes lists the values that the object's template names, the likeliest for the goal's field first.
func (p *prober) nodes() []node {
	refs := p.release.chart.Uses(p.declared.Origin.File)
	if len(refs) == 0 {
		refs = []gitops.Path{nil}
	}
	seen := map[string]bool{}
	var out []node
	var add func(at gitops.Path, v any)
	add = func(at gitops.Path, v any) {
		key := at.String()
		if seen[key] || len(out) > maxCollected {
			return
		}
		seen[key] = true
		if len(at) > 0 {
			out = append(out, node{at: at, value: gitops.Present(v)})
		}
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				add(at.Child(gitops.Field(k)), v[k])
			}
		case []any:
			for i, e := range v {
				add(at.Child(gitops.Index(i)), e)
			}
		case string:
			if strings.Contains(v, ".Values") { // for tpl
				for _, ref := range chart.References(v) {
					if inner := gitops.Lookup(p.release.all, ref); inner.Set && len(ref) > 0 {
						add(ref, inner.V)
					}
				}
			}
		}
	}
	for _, ref := range refs {
		v := gitops.Lookup(p.release.all, ref)
		switch {
		case v.Set:
			add(ref, v.V)
		case !seen[ref.String()] && len(ref) > 0:
			seen[ref.String()] = true
			out = append(out, node{at: ref})
		}
	}
	out = append(out, p.unset(out)...)
	if p.remove {
		out = slices.DeleteFunc(out, func(n node) bool { _, gate := n.value.V.(bool); return n.value.Set && !gate })
	}
	for i := range out {
		out[i].score = p.score(out[i])
	}
	slices.SortStableFunc(out, func(a, b node) int { return cmp.Compare(b.score, a.score) })
	return out[:min(len(out), maxNodes)]
}

// maxCollected bounds the values of a chart that are looked at.
const maxCollected = 20000

// maxUnset bounds the values that nothing sets and that a template may take from a mapping.
const maxUnset = 40

// unset lists fields that the template asks of something, in the mappings that it may be: those whose names have to do
// with the goal's field.
func (p *prober) unset(known []node) []node {
	words := wordsOf(p.change.Path)
	var fields []gitops.Path
	for _, f := range p.release.chart.Fields(p.declared.Origin.File) {
		last := plainWord(f[len(f)-1].Field)
		if slices.ContainsFunc(words, func(w string) bool {
			return w == last || len(w) > 3 && len(last) > 3 && (strings.Contains(w, last) || strings.Contains(last, w))
		}) {
			fields = append(fields, f)
		}
	}
	var out []node
	for _, n := range known {
		if _, isMap := n.value.V.(map[string]any); !isMap {
			continue
		}
		for _, f := range fields {
			at := slices.Concat(n.at, f)
			if len(out) == maxUnset || gitops.Lookup(p.release.all, at).Set || slices.ContainsFunc(known, func(o node) bool { return o.at.Equal(at) }) {
				continue
			}
			out = append(out, node{at: at})
		}
	}
	return out
}

// score says how likely a value is the one that makes the goal's field.
func (p *prober) score(n node) int {
	score := 0
	text, scalar := shown(n.value.V)
	now, isScalar := shown(p.declaredValue().V)
	switch {
	case !scalar || !isScalar || len(text) == 0:
	case text == now:
		score += 6 + min(len(text), 6)
	case len(text) > 2 && strings.Contains(now, text):
		score += 5
	}
	words := wordsOf(p.change.Path)
	if p.remove {
		words = []string{plainWord(p.declared.ID.Kind), plainWord(p.declared.ID.Name), "enabled", "create"}
	}
	for i, step := range n.at {
		if !step.IsField() {
			continue
		}
		word := plainWord(step.Field)
		last := i == len(n.at)-1
		alike := func(w string) bool {
			return len(w) > 2 && len(word) > 2 && (strings.Contains(w, word) || strings.Contains(word, w))
		}
		switch known := slices.Contains(words, word); {
		case known && last:
			score += 6
		case known, last && slices.ContainsFunc(words, alike):
			score += 3
		case slices.ContainsFunc(words, alike):
			score += 2
		}
	}
	_, isMap := n.value.V.(map[string]any)
	list, isList := n.value.V.([]any)
	if isScalar && len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool { text, ok := shown(e); return !ok || !strings.Contains(now, text) }) {
		score += 15 // joined to one text: more likely than one of its entries
	}
	adds := !p.declaredValue().Set || !p.change.After.Set
	switch {
	case !n.value.Set || n.value.V == nil:
		score--
	case adds && (isMap || isList):
		score += 2
	case adds && scalar && text != "" && text != "true" && text != "false":
		score -= 2
	}
	return score
}

// wordsOf gives the names on a path: its fields and the keys of its list entries.
func wordsOf(path gitops.Path) []string {
	var out []string
	for _, step := range path {
		if step.IsField() {
			out = append(out, plainWord(step.Field))
		}
		for _, k := range step.Keys {
			out = append(out, plainWord(k.Value))
		}
	}
	return out
}

// plainWord leaves letters and digits, in lower case and without a plural's s.
func plainWord(text string) string {
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(text))
	return strings.TrimSuffix(text, "s")
}

// markers are the other values with which a node is tried, in order.
func (n node) markers(s site) []marker {
	text := marker{gitops.Present(markText), asText}
	pair := marker{gitops.Present(map[string]any{markKey: markValue}), asPair}
	switch v := n.value.V.(type) {
	case string:
		if v == "" {
			return []marker{text, {gitops.Present(int64(7001)), asOther}}
		}
		return []marker{text, {gitops.Present(varied(v)), asOther}}
	case int64:
		return []marker{{gitops.Present(v + 1), asOther}, text}
	case float64:
		return []marker{{gitops.Present(v + 1), asOther}}
	case bool:
		return []marker{{gitops.Present(!v), asFlip}}
	case map[string]any:
		return []marker{pair}
	case []any:
		return listMarkers(v)
	}
	flip := marker{gitops.Present(true), asFlip}
	number := marker{gitops.Present(int64(7001)), asOther}
	lists := listMarkers(nil)
	switch s.change.After.V.(type) {
	case map[string]any:
		return []marker{pair, flip, lists[0]}
	case []any:
		return append(lists, flip)
	case int64, float64:
		return []marker{number, text, flip, pair, lists[1]}
	case bool:
		return []marker{flip, text, pair}
	}
	return []marker{text, number, pair, flip, lists[0], lists[1]}
}

// listMarkers are a list with one more entry: a text, a mapping of name and value, one formed like the last.
func listMarkers(list []any) []marker {
	with := func(e any, kind markerKind) marker {
		return marker{gitops.Present(append(slices.Clone(list), e)), kind}
	}
	out := []marker{
		with(markValue, asItem),
		with(map[string]any{"name": markKey, "value": markValue}, asRecord),
	}
	if len(list) > 0 {
		if m, ok := list[len(list)-1].(map[string]any); ok {
			out = append(out, with(stamped(m), asRecord))
		}
	}
	return out
}

// stamped gives a mapping with marks for its texts: markKey for the name, markValue for others.
func stamped(m map[string]any) map[string]any {
	out := maps.Clone(m)
	for k, v := range m {
		if _, text := v.(string); text && k == "name" {
			out[k] = markKey
		} else if text {
			out[k] = markValue
		}
	}
	return out
}

// varied gives another text of the same form: its last digit, or else its last letter, is another one.
func varied(text string) string {
	b := []byte(text)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] >= '0' && b[i] <= '9' {
			b[i] = '0' + (b[i]-'0'+1)%10
			return string(b)
		}
	}
	return text + "x"
}
