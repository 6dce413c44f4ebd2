package codify

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/argocd"
	"holdfast/gitops/codify/splice"
)

// element is an entry of a list generator of an ApplicationSet, from which one Application is made. Other generators ask
// Git, clusters or services, so what they make is not known here
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-List/).
type element struct {
	generator, index int
	// name is that of the Application that it makes.
	name string
}

// elements lists the Applications that an ApplicationSet makes. One of which not all can be told makes none.
func elements(set gitops.Object) []element {
	if set.ID.Group != argocd.Group || set.ID.Kind != "ApplicationSet" {
		return nil
	}
	var out []element
	generators, _ := splice.Lookup(set.Content, setPath("generators")).V.([]any)
	for g, v := range generators {
		generator, _ := v.(map[string]any)
		list, ok := splice.Lookup(generator, gitops.Path{gitops.Field("list"), gitops.Field("elements")}).V.([]any)
		if !ok || len(generator) != 1 {
			return nil
		}
		for i := range list {
			e := element{generator: g, index: i}
			made, ok := e.made(set)
			if !ok {
				return nil
			}
			e.name = made.ID.Name
			out = append(out, e)
		}
	}
	return out
}

func setPath(field string) gitops.Path { return gitops.Path{gitops.Field("spec"), gitops.Field(field)} }

// made gives the Application that an ApplicationSet makes of the element. ok is false where its template does more than
// to put in parameters.
func (e element) made(set gitops.Object) (gitops.Object, bool) {
	spec, _ := set.Content["spec"].(map[string]any)
	template, ok := spec["template"].(map[string]any)
	if !ok || spec["templatePatch"] != nil {
		return gitops.Object{}, false
	}
	parameters, ok := e.parameters(set)
	if !ok {
		return gitops.Object{}, false
	}
	done, ok := filledIn(template, parameters)
	if !ok {
		return gitops.Object{}, false
	}
	content, _ := done.(map[string]any)
	content["apiVersion"], content["kind"] = set.APIVersion, argocd.Kind
	out := gitops.NewObject(content)
	out.ID.Namespace = set.ID.Namespace // an ApplicationSet makes Applications beside itself
	return out, out.ID.Name != ""
}

// parameters are what an element says, nested ones by dotted names.
func (e element) parameters(set gitops.Object) (map[string]string, bool) {
	v := splice.Lookup(set.Content, e.path())
	m, ok := v.V.(map[string]any)
	if !ok {
		return nil, false
	}
	out := map[string]string{}
	var add func(prefix string, v any)
	add = func(prefix string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				add(strings.TrimPrefix(prefix+"."+k, "."), e)
			}
		case []any, nil:
		default:
			out[prefix] = fmt.Sprint(v)
		}
	}
	add("", m)
	return out, true
}

// path is where the element stands in its ApplicationSet.
func (e element) path() gitops.Path {
	return append(setPath("generators"), gitops.Index(e.generator), gitops.Field("list"), gitops.Field("elements"), gitops.Index(e.index))
}

// parameter is a place in a template that takes a parameter: {{name}}, or {{.name}} of a Go template.
var parameter = regexp.MustCompile(`\{\{-?\s*\.?([A-Za-z0-9_][A-Za-z0-9_.-]*?)\s*-?\}\}`)

// filledIn puts parameters into all texts.
func filledIn(v any, parameters map[string]string) (any, bool) {
	ok := true
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			done, fine := filledIn(e, parameters)
			out[k], ok = done, ok && fine && !strings.Contains(k, "{{")
		}
		return out, ok
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			done, fine := filledIn(e, parameters)
			out[i], ok = done, ok && fine
		}
		return out, ok
	case string:
		done := parameter.ReplaceAllStringFunc(v, func(ref string) string {
			value, there := parameters[parameter.FindStringSubmatch(ref)[1]]
			ok = ok && there
			return value
		})
		return done, ok && !strings.Contains(parameter.ReplaceAllString(v, ""), "{{")
	}
	return v, true
}

// inSet gives the candidates that make a change of an Application in the ApplicationSet that makes it: in the element of
// its list generator, where the template takes the value from there, else in the template, where that is all the same for
// the other Applications that it makes.
func (s site) inSet(ctx context.Context, p provided, what wording, change gitops.FieldChange, added int) []Candidate {
	d, ok := s.work.now.renders[p.member].find(p.id)
	if !ok {
		return nil
	}
	before, _ := p.element.made(d.Object)
	wanted := without(before.Content, change.Path)
	if change.After.Set {
		wanted = with(before.Content, change.Path, splice.Normal(change.After.V))
	}
	if change, ok = edited(any(before.Content), wanted); !ok {
		return nil
	}
	at := append(setPath("template"), change.Path...)
	text, isText := splice.Lookup(d.Content, at).V.(string)
	if isText && strings.Contains(text, "{{") {
		return s.inElement(ctx, p, d, what, change, text, added)
	}
	next := with(d.Content, at, change.After.V)
	if !change.After.Set {
		next = without(d.Content, at)
	}
	if strings.Contains(fmt.Sprint(splice.Lookup(d.Content, at).V), "{{") {
		s.refuse(what.of(p.id, "edit its template"), fmt.Errorf("the template puts parameters together there"))
		return nil
	}
	set, _ := next.(map[string]any)
	if other := s.work.strangers(p, d.Object, gitops.NewObject(set)); len(other) > 0 {
		s.refuse(what.of(p.id, "edit its template"), fmt.Errorf("it makes %s of the same template, which would move too", named(other)))
		return nil
	}
	if what.label != "" {
		what.label += " of the template"
	}
	return s.through(ctx, p, what, gitops.FieldChange{Path: at, After: change.After}, setPath("template"), max(added, addsSection))
}

// inElement gives the candidates that give a parameter of the element another value.
func (s site) inElement(ctx context.Context, p provided, d gitops.Declared, what wording, change gitops.FieldChange, text string, added int) []Candidate {
	parameters, ok := p.element.parameters(d.Object)
	want, isText := change.After.V.(string)
	if !ok || !isText {
		return nil
	}
	var out []Candidate
	for _, m := range parameter.FindAllStringSubmatch(text, -1) {
		value, ok := solvedBy(parameter, text, m[1], parameters, want)
		if !ok {
			continue
		}
		at := p.element.path()
		for _, name := range strings.Split(m[1], ".") {
			at = at.Child(gitops.Field(name))
		}
		what.label = "the element of " + p.element.name
		out = append(out, s.through(ctx, p, what, gitops.FieldChange{Path: at, After: gitops.Present(value)}, p.element.path(), added)...)
	}
	return out
}

// strangers are Applications, apart from the own one, that another ApplicationSet makes otherwise than before and that no
// member is: what an edit of the template does to them is not seen.
func (w *work) strangers(own provided, before, after gitops.Object) []string {
	var out []string
	for _, e := range elements(before) {
		was, _ := e.made(before)
		if now, ok := e.made(after); ok && len(differences(any(was.Content), any(now.Content), nil)) == 0 || e == *own.element {
			continue
		}
		known := slices.ContainsFunc(w.members, func(m *member) bool {
			return m.inputs != nil && m.inputs.object != nil && m.inputs.object.id == own.id && m.inputs.object.element != nil && *m.inputs.object.element == e
		})
		if !known {
			out = append(out, e.name)
		}
	}
	return out
}
