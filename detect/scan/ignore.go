package scan

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"holdfast/detect/classify"
	"holdfast/gitops"
	"holdfast/gitops/jqpath"
)

// ignore gives the engine's own ignore rules, named by where they stand. They are made once, since jq
// expressions take time to compile.
func (m *member) ignore() []classify.IgnoreRule {
	m.rulesOnce.Do(func() {
		for i, rule := range m.app.Ignore {
			name := rule.Name
			switch {
			case name == "":
				name = fmt.Sprintf("ignore[%d] of %s %s", i, m.app.Kind, appName(m.app))
			case strings.HasPrefix(name, "spec."):
				name = fmt.Sprintf("%s of %s %s", name, m.app.Kind, appName(m.app))
			}
			m.rules = append(m.rules, classify.IgnoreRule{
				Name: name, Target: rule.Target, Exact: rule.Exact, Pointers: rule.Paths, Managers: rule.Managers,
				Select: m.selection(name, rule.JQ),
			})
		}
	})
	return m.rules
}

// selection evaluates the jq expressions of a rule. One that cannot be compiled or evaluated selects nothing,
// as for the engine, and is noted once; after a timeout it is not tried again.
func (m *member) selection(name string, expressions []string) func(map[string]any) []gitops.Path {
	var compiled []*expression
	for _, text := range expressions {
		e, err := jqpath.Compile(text)
		if err != nil {
			m.note(fmt.Sprintf("the ignore rule %s matches nothing: %v", name, err))
			continue
		}
		compiled = append(compiled, &expression{code: e})
	}
	if len(compiled) == 0 {
		return nil
	}
	var mu sync.Mutex
	last := make([]selected, 0, sidesKept)
	return func(content map[string]any) []gitops.Path {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range last {
			if reflect.ValueOf(s.content).UnsafePointer() == reflect.ValueOf(content).UnsafePointer() {
				return s.paths
			}
		}
		var paths []gitops.Path
		for _, e := range compiled {
			more, err := e.paths(content)
			if err != nil && !e.noted {
				e.noted = true
				m.note(fmt.Sprintf("the ignore rule %s matches nothing where it fails: %v", name, err))
			}
			paths = append(paths, more...)
		}
		if len(last) == sidesKept {
			last = last[1:]
		}
		last = append(last, selected{content, paths})
		return paths
	}
}

// sidesKept: each field of an object asks for the same two sides, live and declared.
const sidesKept = 2

// selected is what a rule selects in one object. Holding the object keeps its address from being used again.
type selected struct {
	content map[string]any
	paths   []gitops.Path
}

type expression struct {
	code         *jqpath.Expression
	noted, tired bool
}

func (e *expression) paths(content map[string]any) ([]gitops.Path, error) {
	if e.tired {
		return nil, nil
	}
	// Nobody waits longer than the limit of an expression, so there is nothing to cancel before.
	paths, err := e.code.Paths(context.Background(), content)
	e.tired = e.tired || errors.Is(err, jqpath.ErrLimit)
	return paths, err
}
