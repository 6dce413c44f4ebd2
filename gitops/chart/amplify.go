package chart

import (
	"fmt"
	"reflect"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// limits puts a bound to the functions that make much of little in a single call.
func (s *session) limits(own template.FuncMap) {
	all := sprig.TxtFuncMap()
	own["print"] = s.bounded(fmt.Sprint, textsOf)
	own["println"] = s.bounded(fmt.Sprintln, textsOf)
	own["printf"] = s.bounded(fmt.Sprintf, func(args []reflect.Value) int64 {
		return textsOf(args) * max(1, int64(strings.Count(args[0].String(), "%")))
	})
	for name, size := range map[string]func(args []reflect.Value) int64{
		"cat":  textsOf,
		"join": func(args []reflect.Value) int64 { return joined(args[1], len(args[0].String())) },
		"repeat": func(args []reflect.Value) int64 {
			return product(args[0].Int(), int64(len(args[1].String())))
		},
		"indent": indented, "nindent": indented,
		"wrapWith": func(args []reflect.Value) int64 {
			return product(int64(len(args[2].String())+1), int64(len(args[1].String())+1))
		},
		"replace": func(args []reflect.Value) int64 {
			count := int64(strings.Count(args[2].String(), args[0].String()))
			return int64(len(args[2].String())) + product(count, int64(len(args[1].String())))
		},
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

// textsOf is the length of all texts among the arguments.
func textsOf(args []reflect.Value) int64 {
	var n int64
	for _, a := range args {
		n += joined(a, 1)
	}
	return n
}

func joined(v reflect.Value, separator int) int64 {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Slice:
		var n int64
		for i := range v.Len() {
			e := v.Index(i)
			if e.Kind() == reflect.Interface {
				e = e.Elem()
			}
			n += int64(separator)
			if e.Kind() == reflect.String {
				n += int64(e.Len())
			}
		}
		return n
	}
	return 8
}

func indented(args []reflect.Value) int64 {
	text := args[1].String()
	return int64(len(text)) + product(args[0].Int(), int64(strings.Count(text, "\n")+1))
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
