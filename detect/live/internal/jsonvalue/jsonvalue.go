// Package jsonvalue decodes JSON into plain values (map[string]any, []any, string, bool, int64, float64,
// nil) as Kubernetes' own decoder does, in a third of the time and half the memory: names, short strings and
// whole field sets repeat from object to object and are held once. A whole number that fits is an int64, any
// other number a float64; of a repeated name the last value counts.
package jsonvalue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Decoder decodes many texts and shares what repeats among them, so its values must not be changed in
// place. It is not safe for concurrent use.
type Decoder struct {
	data    []byte
	at      int
	depth   int
	strings map[string]any // each boxed once
	shared  map[string]any // by their JSON text
}

// The bounds: how deep values nest, how long a string is worth sharing, and how much is shared before
// a decoder forgets and starts again.
const (
	maxDepth     = 1000
	shareUpTo    = 64
	maxStrings   = 1 << 14
	maxShared    = 1 << 12
	sharedMember = "fieldsV1"
)

// NewDecoder gives a Decoder that shares nothing yet.
func NewDecoder() *Decoder {
	return &Decoder{strings: map[string]any{}, shared: map[string]any{}}
}

// Decode reads one value and nothing after it. Errors give the offset in bytes and quote nothing of the
// text but one character.
func (d *Decoder) Decode(data []byte) (any, error) {
	d.data, d.at, d.depth = data, 0, 0
	defer func() { d.data = nil }()
	value, err := d.value()
	if err != nil {
		return nil, err
	}
	if d.space(); d.at != len(d.data) {
		return nil, d.wrong("after the value")
	}
	return value, nil
}

func (d *Decoder) wrong(where string) error {
	if d.at >= len(d.data) {
		return errors.New("JSON: unexpected end")
	}
	return fmt.Errorf("JSON: unexpected %q %s at byte %d", d.data[d.at], where, d.at)
}

func (d *Decoder) space() {
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case ' ', '\n', '\t', '\r':
			d.at++
		default:
			return
		}
	}
}

func (d *Decoder) value() (any, error) {
	d.space()
	if d.at >= len(d.data) {
		return nil, d.wrong("")
	}
	switch c := d.data[d.at]; {
	case c == '{':
		return d.object()
	case c == '[':
		return d.array()
	case c == '"':
		return d.text()
	case c == 't':
		return true, d.literal("true")
	case c == 'f':
		return false, d.literal("false")
	case c == 'n':
		return nil, d.literal("null")
	case c == '-' || '0' <= c && c <= '9':
		return d.number()
	}
	return nil, d.wrong("where a value should begin")
}

func (d *Decoder) literal(word string) error {
	for i := range len(word) {
		if d.at >= len(d.data) || d.data[d.at] != word[i] {
			return d.wrong("in " + word)
		}
		d.at++
	}
	return nil
}

func (d *Decoder) enter() error {
	d.at++ // the bracket
	if d.depth++; d.depth > maxDepth {
		return fmt.Errorf("JSON: values nest deeper than %d", maxDepth)
	}
	d.space()
	return nil
}

// next moves past a comma or the closing bracket and says whether it was the latter.
func (d *Decoder) next(closing byte) (done bool, err error) {
	d.space()
	switch {
	case d.at >= len(d.data):
		return false, d.wrong("")
	case d.data[d.at] == closing:
		d.at++
		d.depth--
		return true, nil
	case d.data[d.at] == ',':
		d.at++
		d.space()
		return false, nil
	}
	return false, d.wrong("where a comma or a closing bracket should be")
}

func (d *Decoder) empty(closing byte) bool {
	if d.at < len(d.data) && d.data[d.at] == closing {
		d.at++
		d.depth--
		return true
	}
	return false
}

func (d *Decoder) object() (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	out := map[string]any{}
	if d.empty('}') {
		return out, nil
	}
	for {
		if d.at >= len(d.data) || d.data[d.at] != '"' {
			return nil, d.wrong("where a name should begin")
		}
		boxed, err := d.text()
		if err != nil {
			return nil, err
		}
		name, _ := boxed.(string)
		if d.space(); d.at >= len(d.data) || d.data[d.at] != ':' {
			return nil, d.wrong("where a colon should be")
		}
		d.at++
		if out[name], err = d.member(name); err != nil {
			return nil, err
		}
		if done, err := d.next('}'); done || err != nil {
			return out, err
		}
	}
}

// member decodes the value of a name. The field sets of managedFields are shared: one writer that applies
// many objects of one shape has the same set in each.
func (d *Decoder) member(name string) (any, error) {
	d.space()
	start := d.at
	if name != sharedMember || start >= len(d.data) || d.data[start] != '{' {
		return d.value()
	}
	end, err := d.skip()
	if err != nil {
		return nil, err
	}
	if value, known := d.shared[string(d.data[start:end])]; known {
		d.at = end
		return value, nil
	}
	value, err := d.value()
	if err != nil {
		return nil, err
	}
	if len(d.shared) >= maxShared {
		clear(d.shared)
	}
	d.shared[string(d.data[start:end])] = value
	return value, nil
}

// skip finds the end of the object that begins here, by its brackets and strings alone; decoding it tells
// whether it is well-formed.
func (d *Decoder) skip() (end int, err error) {
	depth := 0
	for i := d.at; i < len(d.data); i++ {
		switch d.data[i] {
		case '"':
			for i++; i < len(d.data) && d.data[i] != '"'; i++ {
				if d.data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
	}
	d.at = len(d.data)
	return 0, d.wrong("")
}

func (d *Decoder) array() (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	out := []any{}
	if d.empty(']') {
		return out, nil
	}
	for {
		item, err := d.value()
		if err != nil {
			return nil, err
		}
		out = append(out, item)
		if done, err := d.next(']'); done || err != nil {
			return out, err
		}
	}
}

// text gives a boxed string. Strings with escapes or broken UTF-8 go the long way of encoding/json.
func (d *Decoder) text() (any, error) {
	start := d.at
	plain := true
	for d.at++; d.at < len(d.data); d.at++ {
		switch c := d.data[d.at]; {
		case c == '"':
			d.at++
			return d.box(start, plain)
		case c == '\\':
			plain = false
			d.at++
		case c < ' ':
			return nil, d.wrong("in a string")
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	d.at = len(d.data)
	return nil, d.wrong("")
}

func (d *Decoder) box(start int, plain bool) (any, error) {
	raw := d.data[start+1 : d.at-1]
	if !plain {
		var s string
		if err := json.Unmarshal(d.data[start:d.at], &s); err != nil {
			d.at = start
			return nil, d.wrong("in front of a string that does not decode,")
		}
		return s, nil
	}
	if len(raw) > shareUpTo {
		return string(raw), nil
	}
	if boxed, known := d.strings[string(raw)]; known {
		return boxed, nil
	}
	if len(d.strings) >= maxStrings {
		clear(d.strings)
	}
	s := string(raw)
	var boxed any = s
	d.strings[s] = boxed
	return boxed, nil
}

func (d *Decoder) number() (any, error) {
	start, whole := d.at, true
	if d.data[d.at] == '-' {
		d.at++
	}
	if d.at < len(d.data) && d.data[d.at] == '0' {
		d.at++
	} else if !d.digits() {
		return nil, d.wrong("in a number")
	}
	if d.at < len(d.data) && d.data[d.at] == '.' {
		d.at++
		if whole = false; !d.digits() {
			return nil, d.wrong("in a number")
		}
	}
	if d.at < len(d.data) && (d.data[d.at] == 'e' || d.data[d.at] == 'E') {
		d.at++
		if d.at < len(d.data) && (d.data[d.at] == '+' || d.data[d.at] == '-') {
			d.at++
		}
		if whole = false; !d.digits() {
			return nil, d.wrong("in a number")
		}
	}
	raw := string(d.data[start:d.at])
	if whole {
		if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
			return n, nil
		}
	}
	n, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return nil, fmt.Errorf("JSON: the number at byte %d is out of range", start)
	}
	return n, nil
}

func (d *Decoder) digits() bool {
	start := d.at
	for d.at < len(d.data) && '0' <= d.data[d.at] && d.data[d.at] <= '9' {
		d.at++
	}
	return d.at > start
}
