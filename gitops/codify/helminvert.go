package codify

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast/gitops"
)

// invert guesses what values give what is wished, from what the chart made of a marker: after is the object with
// it. A guess need not be right; each is rendered.
func (p *prober) invert(n node, m marker, after map[string]any) []valueEdit {
	if p.remove || m.kind == asFlip {
		return []valueEdit{sets(n.at, m.value.V)}
	}
	switch m.kind {
	case asPair:
		form, _ := m.value.V.(map[string]any)
		return p.pairs(n, form[markKey], after)
	case asItem, asRecord:
		return p.items(n, m, after)
	}
	return p.scalars(n, m, after)
}

// scalars guesses a text, a number or a boolean.
func (p *prober) scalars(n node, m marker, after map[string]any) []valueEdit {
	want := p.change.After
	if !want.Set {
		return append(p.beside(n, m, after), unsets(n.at), sets(n.at, ""), sets(n.at, false))
	}
	text, ok := shown(want.V)
	if !ok {
		return append(p.beside(n, m, after), sets(n.at, want.V))
	}
	texts := []string{text}
	mark, _ := shown(m.value.V)
	if now, ok := shown(gitops.Lookup(after, p.change.Path).V); ok && strings.Contains(now, mark) {
		texts = append(solved(now, mark, text), text)
	}
	if template, ok := n.value.V.(string); ok {
		if now, ok := shown(p.declaredValue().V); ok {
			texts = append(retold(template, now, text), texts...)
		}
	}
	var out []valueEdit
	for _, t := range texts {
		for _, v := range typedLike(n.value, want.V, t) {
			out = append(out, sets(n.at, v))
		}
	}
	return out
}

// retold gives a value that is a template for tpl with other text around its actions: those that made a part of
// now, which want has too.
func retold(template, now, want string) []string {
	first, last := strings.Index(template, "{{"), strings.LastIndex(template, "}}")
	if first < 0 || last < first {
		return nil
	}
	head, actions, tail := template[:first], template[first:last+2], template[last+2:]
	made, ok := strings.CutPrefix(now, head)
	if !ok {
		return nil
	}
	if made, ok = strings.CutSuffix(made, tail); !ok || made == "" || strings.Count(want, made) != 1 {
		return nil
	}
	return []string{strings.Replace(want, made, actions, 1)}
}

// solved gives the texts with which pattern reads as want, if they stood where mark does.
func solved(pattern, mark, want string) []string {
	parts := strings.Split(pattern, mark)
	match := func(separators func(i int) string) []string {
		var b strings.Builder
		b.WriteString(`(?s)\A` + regexp.QuoteMeta(parts[0]))
		for i, part := range parts[1:] {
			b.WriteString(separators(i) + regexp.QuoteMeta(part))
		}
		re, err := regexp.Compile(b.String() + `\z`)
		if err != nil {
			return nil
		}
		groups := re.FindStringSubmatch(want)
		if len(groups) < 2 || slices.ContainsFunc(groups[2:], func(g string) bool { return g != groups[1] }) {
			return nil
		}
		return groups[1:2]
	}
	out := match(func(int) string { return `(.*)` })
	for at := 0; len(parts) > 2 && at < len(parts)-1; at++ { // the mark may stand there by chance too
		out = append(out, match(func(i int) string {
			if i == at {
				return `(.*)`
			}
			return regexp.QuoteMeta(mark)
		})...)
	}
	return out
}

// typedLike gives a text as the values that it may stand for, first the one of the type that stands there now.
// A text stays a text; a number may have to become one, since templates print large numbers as 1e+06.
func typedLike(now gitops.Value, want any, text string) []any {
	var out []any
	natural := func() {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			out = append(out, i)
		} else if f, err := strconv.ParseFloat(text, 64); err == nil && !strings.ContainsAny(text, "xXpPiInN_") {
			out = append(out, f)
		}
	}
	whole, _ := shown(want)
	switch now.V.(type) {
	case string:
		out = append(out, text)
	case int64, float64:
		natural()
		out = append(out, text)
	case bool:
		if b, err := strconv.ParseBool(text); err == nil {
			out = append(out, b)
		}
		out = append(out, text)
	default:
		if whole == text {
			out = append(out, want)
		}
		out = append(out, text)
		natural()
	}
	return out
}

// wished is the object as the goal wants it.
func (p *prober) wished() any {
	before := any(p.objects[p.declared.ID])
	at, change := p.change.Path, p.change
	if !change.After.Set {
		return without(before, at)
	}
	if len(at) > 0 && at[len(at)-1].IsEntry() && !gitops.Lookup(before, at).Set {
		parent := at[:len(at)-1]
		list, _ := gitops.Lookup(before, parent).V.([]any)
		list = slices.Insert(slices.Clone(list), p.insertion(parent, list, at[len(at)-1].Keys), change.After.V)
		return with(before, parent, list)
	}
	return with(before, at, change.After.V)
}

// pairs guesses keys of a mapping from what became of one more key: a key of a rendered mapping, or an entry of a
// rendered list.
func (p *prober) pairs(n node, form any, after map[string]any) []valueEdit {
	before, wished := any(p.objects[p.declared.ID]), p.wished()
	var out []valueEdit
	for _, q := range pairedIn(after, nil) {
		pattern := gitops.Lookup(after, q.Child(gitops.Field(markKey))).V
		was, _ := gitops.Lookup(before, q).V.(map[string]any)
		want, _ := gitops.Lookup(wished, q).V.(map[string]any)
		changed, all := map[string]gitops.Value{}, map[string]any{}
		maps.Copy(all, was)
		maps.Copy(all, want)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			v, wants := want[key]
			if old, had := was[key]; had == wants && reflect.DeepEqual(old, v) {
				continue
			}
			changed[key] = gitops.Value{}
			if bound := map[string]any{}; wants && unify(pattern, v, bound) && len(bound) > 0 {
				if value, ok := filled(form, bound); ok {
					v = value
				}
			}
			if wants {
				changed[key] = gitops.Present(v)
			}
		}
		out = append(out, p.keys(n, changed)...)
	}
	for _, q := range listed(after, nil) {
		list, _ := gitops.Lookup(after, q).V.([]any)
		entry := list[slices.IndexFunc(list, hasMark)]
		was, _ := gitops.Lookup(before, q).V.([]any)
		want, _ := gitops.Lookup(wished, q).V.([]any)
		changed := map[string]gitops.Value{}
		for _, e := range leftOver(was, want) {
			if bound := map[string]any{}; unify(entry, e, bound) {
				if key, ok := bound[markKey].(string); ok {
					changed[key] = gitops.Value{}
				}
			}
		}
		for _, e := range leftOver(want, was) {
			if bound := map[string]any{}; unify(entry, e, bound) {
				value, ok := filled(form, bound)
				if key, named := bound[markKey].(string); named && ok {
					changed[key] = gitops.Present(value)
				}
			}
		}
		out = append(out, p.keys(n, changed)...)
	}
	return out
}

// keys gives the edits of some keys of a mapping in the values.
func (p *prober) keys(n node, changed map[string]gitops.Value) []valueEdit {
	current, _ := n.value.V.(map[string]any)
	like := func(key string, v any) any {
		text, scalar := shown(v)
		if old, there := current[key]; there && scalar {
			return typedLike(gitops.Present(old), v, text)[0]
		}
		return v
	}
	switch len(changed) {
	case 0:
		return nil
	case 1:
		for key, v := range changed {
			at := n.at.Child(gitops.Field(key))
			if v.Set {
				return []valueEdit{sets(at, like(key, v.V)), sets(at, v.V)}
			}
			return []valueEdit{unsets(at)}
		}
	}
	return []valueEdit{{n.at, func(now gitops.Value) gitops.Value {
		m, _ := now.V.(map[string]any)
		m = maps.Clone(m)
		if m == nil {
			m = map[string]any{}
		}
		for key, v := range changed {
			if v.Set {
				m[key] = like(key, v.V)
			} else {
				delete(m, key)
			}
		}
		return gitops.Present(m)
	}}}
}

// items guesses entries of a list from what became of one more entry.
func (p *prober) items(n node, m marker, after map[string]any) []valueEdit {
	before, wished := any(p.objects[p.declared.ID]), p.wished()
	current, _ := n.value.V.([]any)
	marked := m.value.V.([]any)
	form := marked[len(marked)-1]
	var out []valueEdit
	if now, ok := gitops.Lookup(after, p.change.Path).V.(string); ok && form == any(markValue) {
		if want, ok := p.change.After.V.(string); ok {
			if next, ok := unjoined(current, now, want); ok {
				out = append(out, relist(n.at, current, next))
			}
		}
	}
	for _, q := range listed(after, nil) {
		list, _ := gitops.Lookup(after, q).V.([]any)
		last := slices.IndexFunc(list, hasMark)
		first := last - len(current) // where the list's own entries begin in the rendered one
		was, _ := gitops.Lookup(before, q).V.([]any)
		want, _ := gitops.Lookup(wished, q).V.([]any)
		if next, ok := rewritten(current, first, was, want, list[last], form); ok && first >= 0 {
			out = append(out, relist(n.at, current, next))
		}
	}
	return out
}

// unjoined gives the list whose entries, joined as in pattern, make want. pattern is what the chart makes of the
// present list with markValue behind it.
func unjoined(current []any, pattern, want string) ([]any, bool) {
	const longest = 3 // of what stands between entries
	at := strings.Index(pattern, markValue)
	for n := 1; len(current) > 0 && n <= min(longest, at); n++ {
		between := pattern[at-n : at]
		texts := make([]string, len(current))
		numbers := true
		for i, e := range current {
			texts[i], _ = shown(e)
			_, text := e.(string)
			numbers = numbers && !text
		}
		head, ok := strings.CutSuffix(pattern[:at-n], strings.Join(texts, between))
		if !ok {
			continue
		}
		inner, starts := strings.CutPrefix(want, head)
		inner, ends := strings.CutSuffix(inner, pattern[at+len(markValue):])
		if !starts || !ends || inner == "" {
			return nil, false
		}
		var out []any
		for _, text := range strings.Split(inner, between) {
			if numbers {
				out = append(out, typedLike(gitops.Present(current[0]), text, text)[0])
			} else {
				out = append(out, text)
			}
		}
		return out, true
	}
	return nil, false
}

// rewritten gives the list of values with which the rendered list reads as want instead of was. entry is what the
// chart makes of form.
func rewritten(current []any, first int, was, want []any, entry, form any) ([]any, bool) {
	next := []any{}
	at := 0
	for _, w := range want {
		i := slices.IndexFunc(was[min(at, len(was)):], func(old any) bool { return reflect.DeepEqual(old, w) })
		if i >= 0 {
			at += i + 1
			if own := at - 1 - first; own >= 0 && own < len(current) {
				next = append(next, current[own])
			}
			continue
		}
		bound := map[string]any{}
		if !unify(entry, w, bound) {
			if !reflect.DeepEqual(entry, form) {
				return nil, false
			}
			next = append(next, w) // printed as it is
			continue
		}
		value, ok := filled(form, bound)
		if !ok {
			return nil, false
		}
		next = append(next, value)
	}
	return next, !reflect.DeepEqual(next, current)
}

// relist turns a list from one value into another by the entries that come and go, so that it does the same to a
// list that has changed since.
func relist(at gitops.Path, from, to []any) valueEdit {
	gone, came := leftOver(from, to), leftOver(to, from)
	return valueEdit{at, func(now gitops.Value) gitops.Value {
		list, _ := now.V.([]any)
		if reflect.DeepEqual(list, from) || len(list) == 0 && len(from) == 0 {
			return gitops.Present(to)
		}
		list = slices.Clone(list)
		for _, e := range gone {
			if i := slices.IndexFunc(list, func(o any) bool { return reflect.DeepEqual(o, e) }); i >= 0 {
				list = slices.Delete(list, i, i+1)
			}
		}
		for _, e := range came {
			if !slices.ContainsFunc(list, func(o any) bool { return reflect.DeepEqual(o, e) }) {
				list = append(list, e)
			}
		}
		return gitops.Present(list)
	}}
}

// leftOver gives the entries of a that b does not have.
func leftOver(a, b []any) []any {
	rest := slices.Clone(b)
	var out []any
	for _, e := range a {
		if i := slices.IndexFunc(rest, func(o any) bool { return reflect.DeepEqual(o, e) }); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		out = append(out, e)
	}
	return out
}
