package chart

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// limits puts a bound to the functions that make much of little in a single call.
func (s *session) limits(own template.FuncMap) {
	all := sprig.TxtFuncMap()
	texts := func(args []reflect.Value) int64 { return s.size(plainly(), args...) }
	escaped := func(args []reflect.Value) int64 { return s.size(quoted(), args...) }
	own["print"], own["println"] = s.bounded(fmt.Sprint, texts), s.bounded(fmt.Sprintln, texts)
	own["printf"] = s.bounded(fmt.Sprintf, s.format)
	own["html"], own["js"] = s.bounded(template.HTMLEscaper, escaped), s.bounded(template.JSEscaper, escaped)
	own["urlquery"] = s.bounded(template.URLQueryEscaper, escaped)
	// These print what they get: as their answer, or in the error of a value that is no number, which nobody sees.
	for _, name := range []string{
		"cat", "toString", "toStrings", "sortAlpha", "deepCopy", "mustDeepCopy", "int", "int64", "float64", "toDecimal",
		"add", "add1", "sub", "mul", "div", "mod", "max", "min", "biggest", "ceil", "floor", "round",
		"addf", "add1f", "subf", "mulf", "divf", "maxf", "minf",
	} {
		own[name] = s.bounded(all[name], texts)
	}
	own["quote"], own["squote"] = s.bounded(all["quote"], escaped), s.bounded(all["squote"], escaped)
	// These walk through what they get, and make no more of it.
	for _, name := range []string{"merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"} {
		own[name] = s.bounded(all[name], func(args []reflect.Value) int64 {
			if n := texts(args); n > s.left {
				return n
			}
			return 0
		})
	}
	for name, size := range map[string]func(args []reflect.Value) int64{
		"join": func(args []reflect.Value) int64 {
			n := texts(args[1:])
			if list := args[1].Elem(); list.Kind() == reflect.Slice {
				n += product(int64(len(args[0].String())), int64(list.Len()))
			}
			return n
		},
		"concat": func(args []reflect.Value) int64 {
			var n int64
			for i := range args[0].Len() {
				if list := args[0].Index(i).Elem(); list.Kind() == reflect.Slice {
					n += product(16, int64(list.Len()))
				}
			}
			return n
		},
		"repeat": func(args []reflect.Value) int64 {
			return product(args[0].Int(), int64(len(args[1].String())))
		},
		"indent": shifted, "nindent": shifted,
		"wrapWith": func(args []reflect.Value) int64 {
			return product(int64(len(args[2].String())+1), int64(len(args[1].String())+1))
		},
		"replace": func(args []reflect.Value) int64 {
			count := int64(strings.Count(args[2].String(), args[0].String()))
			return int64(len(args[2].String())) + product(count, int64(len(args[1].String())))
		},
		"regexReplaceAll": replaced, "mustRegexReplaceAll": replaced,
		"regexReplaceAllLiteral": replaced, "mustRegexReplaceAllLiteral": replaced,
		"until": func(args []reflect.Value) int64 { return product(8, distance(0, args[0].Int(), 1)) },
		"untilStep": func(args []reflect.Value) int64 {
			return product(8, distance(args[0].Int(), args[1].Int(), args[2].Int()))
		},
		"seq": func(args []reflect.Value) int64 {
			switch n := args[0]; n.Len() {
			case 1:
				return product(32, distance(1, n.Index(0).Int(), 1))
			case 2:
				return product(32, distance(n.Index(0).Int(), n.Index(1).Int(), 1))
			case 3:
				return product(32, distance(n.Index(0).Int(), n.Index(2).Int(), n.Index(1).Int()))
			}
			return 0
		},
	} {
		own[name] = s.bounded(all[name], size)
	}
}

// bounded calls a function only when the size of what it makes, in bytes, is still allowed. A panic is what the
// engine turns into an error of the function; nothing else gets through the types of all functions.
func (s *session) bounded(function any, size func(args []reflect.Value) int64) any {
	f := reflect.ValueOf(function)
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		if err := s.spend(size(args)); err != nil {
			panic(err)
		}
		if f.Type().IsVariadic() {
			return f.CallSlice(args)
		}
		return f.Call(args)
	}).Interface()
}

func shifted(args []reflect.Value) int64 {
	text := args[1].String()
	return int64(len(text)) + product(args[0].Int(), int64(strings.Count(text, "\n")+1))
}

// replaced bounds what replacing all matches of a regular expression makes: the replacement for each match, in which
// each $ may stand for what was matched.
func replaced(args []reflect.Value) int64 {
	text, with := args[1].String(), args[2].String()
	r, err := regexp.Compile(args[0].String())
	if err != nil {
		return 0 // the function says so itself
	}
	matches := int64(len(r.FindAllStringIndex(text, -1)))
	return int64(len(text)) + product(matches, int64(len(with))) + product(int64(strings.Count(with, "$")), int64(len(text)))
}

// product multiplies sizes; what overflows is more than any limit.
func product(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > maxOutput*2/b {
		return maxOutput * 2
	}
	return a * b
}

func distance(from, to, step int64) int64 {
	if step == 0 {
		return 0
	}
	n := float64(to) - float64(from)
	if n = n / float64(step); n < 0 {
		n = -n
	}
	return int64(min(n+1, maxOutput*2))
}
