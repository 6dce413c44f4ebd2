package codify

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"holdfast/gitops"
)

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

// firstNumber is below the numbers that stand in for values: 7101 to 7199.
const firstNumber = 7100

// marks are the stand-ins of records in texts: for a key, for values, each by its number, and for numbers.
var marks = regexp.MustCompile(markKey + `|` + markValue + `(?:\d+q)?|71\d\d`)

// numberMark gives the text by which a number that stands in for a value is known.
func numberMark(v any) (string, bool) {
	n, ok := v.(int64)
	return strconv.FormatInt(n, 10), ok && n > firstNumber && n < firstNumber+100
}

// markers are the other values with which a node is tried, in order.
func (p *prober) markers(n node) []marker {
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
		return append([]marker{pair}, p.recordPairs(v)...)
	case []any:
		return p.listMarkers(v)
	}
	flip := marker{gitops.Present(true), asFlip}
	number := marker{gitops.Present(int64(7001)), asOther}
	lists := p.listMarkers(nil)
	switch p.change.After.V.(type) {
	case map[string]any:
		return append([]marker{pair, flip, lists[0]}, lists[2:]...)
	case []any:
		return append(lists, flip)
	case int64, float64:
		return []marker{number, text, flip, pair, lists[1]}
	case bool:
		return []marker{flip, text, pair}
	}
	return []marker{text, number, pair, flip, lists[0], lists[1]}
}

// structural says whether the goal may be that an entry of a list or mapping comes, goes, or is another one.
func (p *prober) structural() bool {
	switch p.change.After.V.(type) {
	case map[string]any, []any:
		return true
	}
	return !p.change.After.Set || !p.declaredValue().Set
}

// recordPairs are a mapping with one more key whose value is a mapping: formed like one that is there, else of the
// fields that the template asks for.
func (p *prober) recordPairs(m map[string]any) []marker {
	if !p.structural() {
		return nil
	}
	form := p.record()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if like, ok := m[k].(map[string]any); ok {
			form = stamped(like)
			break
		}
	}
	if len(form) == 0 {
		return nil
	}
	return []marker{{gitops.Present(map[string]any{markKey: form}), asPair}}
}

// listMarkers are a list with one more entry: a text, a mapping of name and value, one formed like the last, and one of
// the fields that the template asks for.
func (p *prober) listMarkers(list []any) []marker {
	one := func(e any, kind markerKind) marker {
		return marker{gitops.Present(append(slices.Clone(list), e)), kind}
	}
	out := []marker{
		one(markValue, asItem),
		one(map[string]any{"name": markKey, "value": markValue}, asRecord),
	}
	if !p.structural() {
		return out
	}
	if len(list) > 0 {
		if m, ok := list[len(list)-1].(map[string]any); ok {
			return append(out, one(stamped(m), asRecord))
		}
		return out
	}
	if form := p.record(); len(form) > 0 {
		out = append(out, one(form, asRecord))
	}
	return out
}

// maxFields bounds the fields of a record.
const maxFields = 40

// record is a mapping of all fields that the template asks of something.
func (p *prober) record() map[string]any {
	form := map[string]any{}
	for _, f := range p.release.chart.Fields(p.declared.Origin.File) {
		if len(f) == 1 && len(form) < maxFields {
			form[f[0].Field] = ""
		}
	}
	return stamped(form)
}

// stamped gives a mapping with marks for its texts and numbers, each another one: markKey for the first name.
func stamped(m map[string]any) map[string]any {
	texts, numbers, named := 0, 0, false
	var stamp func(v any, key string) any
	stamp = func(v any, key string) any {
		switch v := v.(type) {
		case map[string]any:
			out := make(map[string]any, len(v))
			for _, k := range slices.Sorted(maps.Keys(v)) {
				out[k] = stamp(v[k], k)
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i, e := range v {
				out[i] = stamp(e, "")
			}
			return out
		case string:
			if key == "name" && !named {
				named = true
				return markKey
			}
			texts++
			return fmt.Sprintf("%s%dq", markValue, texts)
		case int64, float64:
			if numbers < 98 {
				numbers++
			}
			return int64(firstNumber + numbers)
		}
		return v
	}
	out, _ := stamp(m, "").(map[string]any)
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
