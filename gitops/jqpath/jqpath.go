// Package jqpath evaluates jq path expressions, as Argo CD's ignore rules use them: which places of an object
// does the expression select? Expressions are written by others. They see the object and nothing else: no
// environment, no input, no modules. They have a time limit, and neither a panic nor a hang of theirs gets out.
package jqpath

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/itchyny/gojq"

	"holdfast/gitops"
)

// Limit is how long one evaluation may take: the engine's own limit
// (argoproj/argo-cd, ignore.normalizer.jq.timeout).
const Limit = time.Second

// most is how many paths one evaluation may give: more than any object that a server stores has fields for.
const most = 100_000

// The longest expression, in bytes, and the deepest one, in open brackets. jq's parser and compiler call themselves
// at each level, and a stack that overflows ends the whole program.
const (
	longest = 16 << 10
	deepest = 100
)

// ErrLimit is for an expression that is too long or too deep, took longer than Limit, or selected more than can be.
var ErrLimit = errors.New("it exceeds the limit of an ignore rule")

// Expression is a compiled path expression. It may be used by several goroutines.
type Expression struct {
	text string
	code *gojq.Code
}

// Compile reads an expression, such as .spec.containers[] | select(.name == "web") | .resources. One of more than
// 16 KiB, or with more than 100 brackets open at one place, is refused with ErrLimit.
func Compile(text string) (e *Expression, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("jq expression %q: it cannot be compiled (%T)", text, r)
		}
	}()
	if len(text) > longest {
		return nil, fmt.Errorf("jq expression %.40q...: %w: it has %d bytes, and %d KiB are allowed", text, ErrLimit, len(text), longest>>10)
	}
	if depth(text) > deepest {
		return nil, fmt.Errorf("jq expression %.40q...: %w: its brackets are nested deeper than %d", text, ErrLimit, deepest)
	}
	// The parentheses keep a comma or a pipe inside; a definition or a comment must not get out of them.
	inner, err := gojq.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("jq expression %q: %w", text, err)
	}
	query, err := gojq.Parse("path(" + inner.String() + ")")
	if err != nil {
		return nil, fmt.Errorf("jq expression %q: %w", text, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("jq expression %q: %w", text, err)
	}
	return &Expression{text: text, code: code}, nil
}

// depth counts how many brackets are open at most, outside of texts and comments. Those of \(…) in a text count.
func depth(text string) int {
	most, open := 0, []byte(nil) // a " is a text
	for i := 0; i < len(text); i++ {
		c := text[i]
		inText := len(open) > 0 && open[len(open)-1] == '"'
		switch {
		case inText && c == '\\':
			if i++; i < len(text) && text[i] == '(' {
				open = append(open, '(')
			}
		case c == '"' && inText, !inText && (c == ')' || c == ']' || c == '}') && len(open) > 0:
			open = open[:len(open)-1]
		case c == '"', !inText && (c == '(' || c == '[' || c == '{'):
			open = append(open, c)
		case !inText && c == '#':
			for i+1 < len(text) && text[i+1] != '\n' && text[i+1] != '\r' {
				i++
			}
		}
		most = max(most, len(open))
	}
	return most
}

// answer is what an evaluation came to.
type answer struct {
	paths []gitops.Path
	err   error
}

// Paths gives the places that the expression selects in content, which is not changed. A slice selects each of
// its entries. An error, which never holds a value of content, comes with no path: what was selected before is
// dropped, since the engine drops it too.
func (e *Expression) Paths(ctx context.Context, content map[string]any) ([]gitops.Path, error) {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	// jq looks at the context between its steps. A single step can take long too, so it is left behind then.
	done := make(chan answer, 1)
	go func() { done <- e.run(ctx, content) }()
	select {
	case a := <-done:
		if a.err != nil {
			return nil, fmt.Errorf("jq expression %q: %w", e.text, a.err)
		}
		return a.paths, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("jq expression %q: %w: %w", e.text, ErrLimit, ctx.Err())
	}
}

func (e *Expression) run(ctx context.Context, content map[string]any) (out answer) {
	defer func() {
		if r := recover(); r != nil {
			out = answer{err: fmt.Errorf("it gave up in an unforeseen way (%T)", r)}
		}
	}()
	input := plain(content)
	results := e.code.RunWithContext(ctx, input)
	for {
		v, more := results.Next()
		if !more {
			return out
		}
		if err, failed := v.(error); failed {
			if errors.Is(err, context.DeadlineExceeded) {
				return answer{err: ErrLimit}
			}
			// jq's own messages quote values.
			return answer{err: errors.New("it cannot be applied to this object")}
		}
		steps, _ := v.([]any)
		out.paths = append(out.paths, spread(steps, input)...)
		if len(out.paths) > most {
			return answer{err: ErrLimit}
		}
	}
}

// spread turns a path of jq into paths of ours: a slice gives a path for each entry.
func spread(steps []any, root any) []gitops.Path {
	type place struct {
		path gitops.Path
		at   any
	}
	places := []place{{path: gitops.Path{}, at: root}}
	for _, step := range steps {
		var next []place
		for _, p := range places {
			switch step := step.(type) {
			case string:
				at, _ := p.at.(map[string]any)
				if step != "" { // a step without a name would be taken for an index
					next = append(next, place{p.path.Child(gitops.Field(step)), at[step]})
				}
			case map[string]any:
				list, _ := p.at.([]any)
				from, to := bounds(step, len(list))
				for i := from; i < to; i++ {
					next = append(next, place{p.path.Child(gitops.Index(i)), list[i]})
				}
			default:
				list, _ := p.at.([]any)
				i, whole := index(step)
				if i < 0 {
					i += len(list)
				}
				if whole && i >= 0 && i < len(list) {
					next = append(next, place{p.path.Child(gitops.Index(i)), list[i]})
				}
			}
		}
		places = next
	}
	out := make([]gitops.Path, 0, len(places))
	for _, p := range places {
		out = append(out, p.path)
	}
	return out
}

// bounds gives the entries that a slice step {"start": a, "end": b} of jq covers; null leaves a side open.
func bounds(step map[string]any, length int) (from, to int) {
	side := func(key string, open int) int {
		i, whole := index(step[key])
		switch {
		case !whole:
			return open
		case i < 0:
			return max(i+length, 0)
		}
		return min(i, length)
	}
	return side("start", 0), side("end", length)
}

func index(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case float64:
		return int(v), v > -1e9 && v < 1e9
	}
	return 0, false
}

// plain copies a value into the types that jq knows.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = plain(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = plain(value)
		}
		return out
	case int64:
		if int64(int(v)) == v {
			return int(v)
		}
		return big.NewInt(v)
	case nil, bool, string, int, float64, *big.Int:
		return v
	}
	return fmt.Sprint(v)
}
