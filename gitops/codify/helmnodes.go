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
