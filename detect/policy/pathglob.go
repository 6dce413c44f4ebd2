package policy

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/glob"
)

// pathGlob is a pattern of field paths, in the form in which outputs print paths. A pattern matches the
// field that it names and everything below it:
//
//	spec.replicas
//	spec.template.spec.containers[name=web].image    the entry with this key
//	spec.template.spec.containers[*].env             every entry, by key or by position
//	metadata.annotations["example.com/*"]            * and ? within a name
//	spec.*.image                                     * alone is one field of any name
//	**.resources                                     ** is any number of steps, none included
//
// The pattern ** alone matches every field, and also the object as a whole, whose path is empty.
type pathGlob struct {
	steps gitops.Path
}

const (
	anyDepth = "**"
	// maxDeep bounds the steps of a match: each ** multiplies them by the length of the path.
	maxDeep = 3
)

func parsePathGlob(text string) (pathGlob, error) {
	if text == "" {
		return pathGlob{}, fmt.Errorf(`path: a pattern is empty; "**" is every field and the object itself`)
	}
	// [*] is neither an index nor a key: write it as a key that matches any.
	steps, err := gitops.ParsePath(strings.ReplaceAll(text, "[*]", "[*=*]"))
	if err != nil {
		return pathGlob{}, err
	}
	deep := 0
	for _, step := range steps {
		if step.Field == anyDepth {
			deep++
		}
	}
	if deep > maxDeep {
		return pathGlob{}, fmt.Errorf("path %q: has %d times **; at most %d are allowed", text, deep, maxDeep)
	}
	return pathGlob{steps: steps}, nil
}

func (g pathGlob) matches(path gitops.Path) bool { return matchSteps(g.steps, path) }

// overlaps says whether the pattern, without **, names path, something below it, or something above it.
func (g pathGlob) overlaps(path gitops.Path) bool {
	n := min(len(g.steps), len(path))
	return slices.EqualFunc(g.steps[:n], path[:n], matchStep)
}

// matchSteps walks greedily: after a ** the rest is tried at each later step.
func matchSteps(pattern, path gitops.Path) bool {
	if len(pattern) == 0 {
		return true
	}
	if pattern[0].Field == anyDepth {
		rest := pattern[1:]
		for len(rest) > 0 && rest[0].Field == anyDepth {
			rest = rest[1:]
		}
		for i := 0; i <= len(path); i++ {
			if matchSteps(rest, path[i:]) {
				return true
			}
		}
		return false
	}
	if len(path) == 0 || !matchStep(pattern[0], path[0]) {
		return false
	}
	return matchSteps(pattern[1:], path[1:])
}

func matchStep(want, step gitops.Step) bool {
	switch {
	case want.IsField():
		return step.IsField() && glob.Match(want.Field, step.Field)
	case want.IsEntry() && want.Keys[0] == gitops.Key{Name: "*", Value: "*"}:
		return !step.IsField()
	case want.IsEntry():
		return step.IsEntry() && !slices.ContainsFunc(want.Keys, func(k gitops.Key) bool {
			return !slices.ContainsFunc(step.Keys, func(have gitops.Key) bool {
				return have.Name == k.Name && glob.Match(k.Value, have.Value)
			})
		})
	}
	return step.IsIndex() && step.Index == want.Index
}

func anyPath(globs []pathGlob, path gitops.Path) bool {
	return slices.ContainsFunc(globs, func(g pathGlob) bool { return g.matches(path) })
}
