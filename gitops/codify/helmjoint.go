package codify

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// Bounds of a search for several values that go together.
const (
	maxMovers = 5
	maxGates  = 4
	maxJoint  = 12 // solutions that are rendered
)

// remember notes that a value moves the field: as a mover, where the field's text shows it, else as a gate.
func (p *prober) remember(n node, m marker, after map[string]any) {
	now, ok := splice.Lookup(after, p.change.Path).V.(string)
	text, scalar := shown(m.value.V)
	switch {
	case p.remove || !p.change.After.Set:
	case ok && m.kind == asText && strings.Contains(now, markText):
		if len(p.movers) < maxMovers {
			p.movers = append(p.movers, sets(n.at, markText))
		}
	case m.kind == asFlip || ok && scalar && !strings.Contains(now, text):
		if len(p.gates) < maxGates {
			p.gates = append(p.gates, valueEdit{n.at, func(gitops.Value) gitops.Value { return m.value }})
		}
	}
}

// beside guesses a value from what shows it elsewhere in the object than in the goal's field: where a port changes that
// names its entry, the goals are that one entry goes and another comes.
func (p *prober) beside(n node, m marker, after map[string]any) []valueEdit {
	mark, ok := shown(m.value.V)
	if !ok {
		return nil
	}
	before := any(p.objects[p.declared.ID])
	var out []valueEdit
	for _, d := range differences(before, any(after), nil) {
		now, isText := shown(gitops.Lookup(after, d).V)
		was, _ := shown(gitops.Lookup(before, d).V)
		want := gitops.Lookup(p.live.Content, d)
		text, scalar := shown(want.V)
		if !isText || !scalar || text == was || !strings.Contains(now, mark) {
			continue
		}
		for _, t := range solved(now, mark, text) {
			for _, v := range typedLike(n.value, want.V, t) {
				out = append(out, sets(n.at, v))
			}
		}
	}
	return out
}

// jointly looks for several values that give what is wished together: parts of one text, such as an image's repository and
// tag, and a value that chooses how the text is made.
func (p *prober) jointly(ctx context.Context) {
	want, ok := p.change.After.V.(string)
	if !ok || p.remove {
		return
	}
	p.parts(ctx, nil, p.movers, want)
	for _, at := range p.switches() {
		if len(p.out) > 0 || ctx.Err() != nil {
			return
		}
		p.parts(ctx, []valueEdit{at}, p.showing(ctx, at), want)
	}
}

// switches are values that choose how the field is made: gates, and texts that may be there or not.
func (p *prober) switches() []valueEdit {
	out := slices.Clone(p.gates)
	for _, e := range p.movers {
		if now, ok := gitops.Lookup(p.release.all, e.at).V.(string); ok && now != "" {
			out = append(out, sets(e.at, ""))
		}
	}
	return out
}

// showing gives the values whose text shows in the field once another value is set.
func (p *prober) showing(ctx context.Context, on valueEdit) []valueEdit {
	var out []valueEdit
	tried := 0
	for _, n := range p.nodes() {
		_, scalar := shown(n.value.V)
		if tried == maxNodes/4 || len(out) == maxMovers || p.left <= 0 || ctx.Err() != nil {
			break
		}
		if n.at.Equal(on.at) || n.value.Set && n.value.V != nil && !scalar {
			continue
		}
		tried++
		e := sets(n.at, markText)
		if now, ok := p.fieldWith(ctx, []valueEdit{on, e}); ok && strings.Contains(now, markText) {
			out = append(out, e)
		}
	}
	return out
}

// fieldWith gives the text of the field with some edits.
func (p *prober) fieldWith(ctx context.Context, edits []valueEdit) (string, bool) {
	with := p.probe(ctx, overlays(p.release.all, edits), false)
	if with.err != nil {
		return "", false
	}
	content, moved := with.moved[p.declared.ID]
	if !moved {
		content = p.objects[p.declared.ID]
	}
	text, ok := splice.Lookup(content, p.change.Path).V.(string)
	return text, ok
}

// parts solves for several values that show in the field's text at once: those that are texts already, and with them
// one of those that are not.
func (p *prober) parts(ctx context.Context, on, movers []valueEdit, want string) {
	var there, open []valueEdit
	for _, e := range movers {
		if now, _ := shown(gitops.Lookup(p.release.all, e.at).V); now != "" {
			there = append(there, e)
		} else {
			open = append(open, e)
		}
	}
	p.solve(ctx, on, there, want)
	for _, e := range open {
		if len(p.out) == 0 && ctx.Err() == nil {
			p.solve(ctx, on, append(slices.Clip(there), e), want)
		}
	}
}

// solve gives each of some values a mark of its own, and finds what stands for the marks in what is wished.
func (p *prober) solve(ctx context.Context, on, movers []valueEdit, want string) {
	if len(movers)+len(on) < 2 {
		return
	}
	edits := slices.Clone(on)
	names := make([]string, len(movers))
	now := make([]string, len(movers))
	for i, e := range movers {
		names[i] = fmt.Sprintf("%s%cx", markText, 'a'+i)
		now[i], _ = shown(gitops.Lookup(p.release.all, e.at).V)
		edits = append(edits, sets(e.at, names[i]))
	}
	pattern, ok := p.fieldWith(ctx, edits)
	if !ok {
		return
	}
	for i, texts := range divided(pattern, names, now, want) {
		if i == maxJoint || len(p.out) > 0 || ctx.Err() != nil {
			return
		}
		solution := slices.Clone(on)
		for j, e := range movers {
			if texts[j] != now[j] {
				solution = append(solution, sets(e.at, typedLike(gitops.Lookup(p.release.all, e.at), texts[j], texts[j])[0]))
			}
		}
		if len(solution) > 1 {
			p.confirm(ctx, solution...)
		}
	}
}

// divided gives the texts that may stand in want for the marks of a pattern, those that are most like the present ones
// first: of the same form, and as few others as can be.
func divided(pattern string, names, now []string, want string) [][]string {
	if len(names) == 0 {
		return nil
	}
	split := regexp.MustCompile(strings.Join(quoted(names), "|"))
	found := split.FindAllString(pattern, -1)
	around := quoted(split.Split(pattern, -1))
	if len(found) == 0 || len(found) > maxMovers {
		return nil
	}
	var out [][]string
	for choice := range 1 << (2 * len(found)) { // of each mark: the present text, or as little or as much as fits
		var b strings.Builder
		b.WriteString(`(?s)\A` + around[0])
		for i, name := range found {
			switch choice >> (2 * i) & 3 {
			case 0:
				b.WriteString(`(` + regexp.QuoteMeta(now[slices.Index(names, name)]) + `)`)
			case 1:
				b.WriteString(`(.*?)`)
			case 2:
				b.WriteString(`(.*)`)
			default:
				b.Reset()
			}
			if b.Len() == 0 {
				break
			}
			b.WriteString(around[i+1])
		}
		re, err := regexp.Compile(b.String() + `\z`)
		if b.Len() == 0 || err != nil {
			continue
		}
		groups := re.FindStringSubmatch(want)
		texts := slices.Clone(now)
		fits := groups != nil
		bound := map[string]string{}
		for i, name := range found {
			if !fits {
				break
			}
			old, twice := bound[name]
			fits = !twice || old == groups[i+1]
			bound[name] = groups[i+1]
			texts[slices.Index(names, name)] = groups[i+1]
		}
		if fits && !slices.ContainsFunc(out, func(o []string) bool { return reflect.DeepEqual(o, texts) }) {
			out = append(out, texts)
		}
	}
	slices.SortStableFunc(out, func(a, b []string) int {
		return cmp.Or(cmp.Compare(unlike(a, now), unlike(b, now)), cmp.Compare(changedTexts(a, now), changedTexts(b, now)))
	})
	return out
}

// unlike counts by how many separators texts differ from those before them.
func unlike(texts, before []string) int {
	n := 0
	for i, text := range texts {
		for _, separator := range []string{"/", ":", "@", ",", "="} {
			d := strings.Count(text, separator) - strings.Count(before[i], separator)
			n += max(d, -d)
		}
		if text == "" && before[i] != "" {
			n += 3
		}
	}
	return n
}

func changedTexts(a, b []string) int {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
