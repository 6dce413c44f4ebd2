package chart

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// maxNesting is how deep values may be nested that a template writes. What writes them calls itself at each level, and
// a mapping can be put into itself.
const maxNesting = 1000

// writing says how much a function makes of a value. The figures are upper bounds, in bytes.
type writing struct {
	// each is for a number, and for what stands around any value.
	each int64
	// level is the indentation that a line gets for each level of nesting.
	level int64
	// paths says that the keys of all levels above stand before a value (TOML).
	paths bool
	// escapes says that letters may be written as \uxxxx.
	escapes bool
}

// The ways to write. A number needs 24 bytes at most, and a text's quotes, comma and line break less.
func plainly() writing  { return writing{each: 24} }
func quoted() writing   { return writing{each: 24, escapes: true} }
func indented() writing { return writing{each: 24, escapes: true, level: 2} }

// size measures values before they are written. A value that many places share is written, and so counted, at each
// of them: that makes lists of lists grow without end. Counting ends where the session's limit does.
func (s *session) size(w writing, values ...reflect.Value) int64 {
	left := s.left
	for _, v := range values {
		if left >= 0 {
			left = s.after(w, v, 0, 0, left)
		}
	}
	return s.left - left
}

// after gives what is left when a value is written, or less than nothing. indent is what stands before each line.
func (s *session) after(w writing, v reflect.Value, depth int, indent, left int64) int64 {
	if depth > maxNesting {
		s.stopped = cmp.Or(s.stopped, fmt.Errorf("%w: the templates write a value that is nested deeper than %d levels", ErrLimit, maxNesting))
		return -1
	}
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	left -= w.each + indent
	inner := indent + w.level
	switch v.Kind() {
	case reflect.String:
		return left - w.text(v.String(), indent)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return left - product(4, int64(v.Len()))
		}
		for i := 0; i < v.Len() && left >= 0; i++ {
			left = s.after(w, v.Index(i), depth+1, inner, left)
		}
	case reflect.Map:
		for entries := v.MapRange(); left >= 0 && entries.Next(); {
			key, below := entries.Key(), inner
			left = s.after(w, key, depth+1, inner, left)
			if w.paths && key.Kind() == reflect.String {
				below += int64(key.Len())
			}
			left = s.after(w, entries.Value(), depth+1, below, left)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && left >= 0; i++ {
			left = s.after(w, v.Field(i), depth+1, inner, left-int64(len(v.Type().Field(i).Name)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return s.after(w, v.Elem(), depth+1, indent, left)
		}
	}
	return left
}

// text is the length of a text. Its lines are indented, and may be broken at every space.
func (w writing) text(text string, indent int64) int64 {
	n := int64(len(text))
	if indent > 0 {
		n += product(int64(strings.Count(text, " ")+strings.Count(text, "\n")), indent)
	}
	if w.escapes {
		for i := range len(text) {
			if c := text[i]; c < ' ' || c >= 0x7f || strings.IndexByte("\"'\\<>&", c) >= 0 {
				n += 5
			}
		}
	}
	return n
}

// The widest field that fmt writes, and the longest number (%f of 1e308).
const (
	widest  = 1_000_000
	longest = 320
)

// format is what printf writes at most: each verb may name any of the arguments, ask for a width, and for
// hexadecimal digits.
func (s *session) format(args []reflect.Value) int64 {
	parts := strings.Split(args[0].String(), "%")
	w, times := writing{each: 72, escapes: true}, int64(max(1, len(parts)-1))
	for _, part := range parts[1:] {
		verb := strings.TrimLeft(part, "+-# 0123456789.*[]")
		number := int64(0)
		for _, c := range part[:len(part)-len(verb)] {
			switch {
			case c >= '0' && c <= '9':
				number = min(number*10+int64(c-'0'), widest)
			case c == '*':
				number = largest(args[1])
			default:
				number = 0
			}
			w.each = max(w.each, 72+number)
		}
		switch {
		case strings.HasPrefix(verb, "f"), strings.HasPrefix(verb, "F"):
			w.each = max(w.each, 72+longest)
		case strings.HasPrefix(verb, "x"), strings.HasPrefix(verb, "X"):
			times = max(times, product(5, int64(len(parts)-1)))
		}
	}
	return product(times, s.size(w, args...))
}

// largest is the width that the arguments of a printf can ask for.
func largest(args reflect.Value) int64 {
	var out int64
	for i := range args.Len() {
		if v := args.Index(i).Elem(); v.CanInt() {
			out = max(out, v.Int(), -v.Int())
		}
	}
	return min(out, widest)
}
