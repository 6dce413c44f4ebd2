package render

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// Flux replaces variables in the YAML text of each object after the build
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution). Where a
// ConfigMap or Secret with variables is not known, the text is evaluated with several stand-ins: fields
// that move with them are unsure. Fields that come from a Secret are found in the same way.

const substituteKey = "kustomize.toolkit.fluxcd.io/substitute"

var variablePattern = regexp.MustCompile(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

// variables are what a Flux Kustomization substitutes.
type variables struct {
	*gitops.PostBuild
}

// newVariables checks the names, as Flux does. No value is in the error.
func newVariables(p *gitops.PostBuild) (*variables, error) {
	names := slices.Sorted(maps.Keys(p.Substitute))
	for _, from := range p.SubstituteFrom {
		names = append(names, slices.Sorted(maps.Keys(from.Values))...)
	}
	for _, name := range names {
		if !variablePattern.MatchString(name) {
			return nil, fmt.Errorf("variable name %q in postBuild: Flux takes letters, digits and _ only", name)
		}
	}
	return &variables{p}, nil
}

// active says whether Flux looks for variables at all.
func (v *variables) active() bool {
	if v.Always || len(v.Substitute) > 0 {
		return true
	}
	return slices.ContainsFunc(v.SubstituteFrom, func(f gitops.SubstituteFrom) bool { return !f.Known || len(f.Values) > 0 })
}

// valueSource is where the value of a variable comes from.
type valueSource int

const (
	undefined valueSource = iota
	inline
	fromSecret
	notKnown
)

// lookup gives a value: inline ones win, then the last reference that has the name. A reference that is
// not known could have any name.
func (v *variables) lookup(name string) (string, valueSource) {
	if value, ok := v.Substitute[name]; ok {
		return strings.ReplaceAll(value, "\n", ""), inline
	}
	for _, from := range slices.Backward(v.SubstituteFrom) {
		if !from.Known {
			return "", notKnown
		}
		if value, ok := from.Values[name]; ok {
			value = strings.ReplaceAll(value, "\n", "")
			if from.Kind == "Secret" {
				return value, fromSecret
			}
			return value, inline
		}
	}
	return "", undefined
}

// standIns take the place of a value in turn. They differ in every letter and in length, so that a field
// that hangs on the value in any way moves; the empty one takes the defaults in ${name:-default}.
func standIns() []string { return []string{"holdfast-unknown", "0ther", ""} }

// substituted is an object after substitution.
type substituted struct {
	content map[string]any
	changed bool
	unsure  []gitops.Path
	secret  []gitops.Path
	// lost says that the object cannot be told without the values that are not known.
	lost bool
}

// substitute evaluates the text of one resource.
func (v *variables) substitute(res *resource.Resource) (substituted, error) {
	off := func(m map[string]string) bool { return m[substituteKey] == "disabled" }
	if !v.active() || off(res.GetLabels()) || off(res.GetAnnotations()) {
		c, err := content(res)
		return substituted{content: c}, err
	}
	encoded, err := res.AsYAML()
	if err != nil {
		return substituted{}, err
	}
	text := string(encoded)
	used := map[valueSource]bool{}
	base, err := v.evaluate(text, notKnown, standIns()[0], used)
	if err != nil {
		return substituted{}, err
	}
	out := substituted{changed: base != text}
	if out.content, err = parseObject(base); err != nil {
		if used[notKnown] {
			return substituted{lost: true}, nil
		}
		return substituted{}, fmt.Errorf("no YAML object any more after variables were replaced")
	}
	if used[notKnown] {
		if out.unsure, out.lost, err = v.vary(text, notKnown, standIns()[1:], out.content); err != nil {
			return substituted{}, err
		}
	}
	if used[fromSecret] {
		if out.secret, _, err = v.vary(text, fromSecret, standIns(), out.content); err != nil {
			return substituted{}, err
		}
	}
	return out, nil
}

// evaluate replaces the variables of a text; those of one source get a stand-in.
func (v *variables) evaluate(text string, source valueSource, standIn string, used map[valueSource]bool) (string, error) {
	out, err := envsubst.Eval(text, func(name string) (string, bool) {
		value, from := v.lookup(name)
		used[from] = true
		switch from {
		case source:
			return standIn, true
		case notKnown:
			return standIns()[0], true
		case undefined:
			return "", !v.Strict
		}
		return value, true
	})
	if err != nil {
		return "", fmt.Errorf("postBuild substitution: %w", err) // it holds names, never values
	}
	return out, nil
}

// vary finds the fields that move when the values of one source change. lost says that the identity moves
// too, or that nothing readable comes out.
func (v *variables) vary(text string, source valueSource, with []string, base map[string]any) (moving []gitops.Path, lost bool, err error) {
	for _, standIn := range with {
		other, err := v.evaluate(text, source, standIn, map[valueSource]bool{})
		if err != nil {
			return nil, false, err
		}
		varied, err := parseObject(other)
		if err != nil {
			if standIn == "" {
				continue
			}
			return []gitops.Path{nil}, true, nil
		}
		was, is := gitops.NewObject(base), gitops.NewObject(varied)
		lost = lost || was.ID != is.ID && standIn != ""
		moved(base, varied, nil, func(p gitops.Path) {
			if !slices.ContainsFunc(moving, p.Equal) {
				moving = append(moving, p)
			}
		})
	}
	return moving, lost, nil
}

func parseObject(text string) (map[string]any, error) {
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := utiljson.Unmarshal(encoded, &out); err != nil {
		return nil, err
	}
	if out == nil {
		return nil, fmt.Errorf("empty")
	}
	return out, nil
}

// moved reports the innermost paths at which two values differ. Where keys or lengths differ it is the
// mapping or list as a whole: a value that is not known, or is secret, may stand under any key there. For what a
// chart makes anew at each render see varied.
func moved(a, b any, at gitops.Path, report func(gitops.Path)) {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(other))) {
			report(at)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(a)) {
			moved(a[key], other[key], at.Child(gitops.Field(key)), report)
		}
	case []any:
		other, ok := b.([]any)
		if !ok || len(a) != len(other) {
			report(at)
			return
		}
		for i := range a {
			moved(a[i], other[i], at.Child(gitops.Index(i)), report)
		}
	default:
		if !sameScalar(a, b) {
			report(at)
		}
	}
}

func sameScalar(a, b any) bool {
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// encrypted lists the fields of an object that SOPS has encrypted: what the cluster holds there is not
// known. Nil when the object is not encrypted.
func encrypted(content map[string]any) []gitops.Path {
	if _, ok := content["sops"].(map[string]any); !ok {
		return nil
	}
	body := maps.Clone(content)
	delete(body, "sops")
	sealed := textsWhere(body, IsSealed)
	return append([]gitops.Path{{gitops.Field("sops")}}, sealed...)
}

// IsSealed says whether a text is a value that SOPS has encrypted.
func IsSealed(text string) bool { return strings.HasPrefix(text, "ENC[") }

// textsWhere lists, in order, the fields whose text is as asked.
func textsWhere(content map[string]any, is func(string) bool) []gitops.Path {
	var out []gitops.Path
	var walk func(v any, at gitops.Path)
	walk = func(v any, at gitops.Path) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key], at.Child(gitops.Field(key)))
			}
		case []any:
			for i, e := range v {
				walk(e, at.Child(gitops.Index(i)))
			}
		case string:
			if is(v) {
				out = append(out, at)
			}
		}
	}
	walk(content, nil)
	return out
}
