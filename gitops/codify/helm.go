package codify

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/chart"
	"holdfast/gitops/codify/splice"
)

// helmValues edits the values of a chart. Which value moves a field is found by trying: one value at a time is
// changed and the chart rendered. What a chart makes is edited in no other way, since its templates are programs.
type helmValues struct{}

// templated says whether an object comes from a chart's templates.
func templated(d gitops.Declared) bool {
	return slices.ContainsFunc(d.Origin.Transformers, func(t gitops.Transformer) bool { return t.Kind == "HelmTemplate" })
}

func (helmValues) candidates(ctx context.Context, s site) []Candidate {
	r, err := s.chartRelease()
	if err != nil {
		s.refuse("its chart is not read", err)
		return nil
	}
	f := s.finds.of(ctx, s, r)
	if f.why != "" {
		s.refuse(f.what, errors.New(f.why))
	}
	var out []Candidate
	for i, edits := range f.edits {
		for _, c := range r.writeAll(ctx, s, edits) {
			c.rank += i * maxPlaces
			out = append(out, c)
		}
	}
	if len(out) == 0 && len(f.edits) > 0 {
		s.refuse("the chart's value "+f.edits[0][0].at.String()+" moves it", errors.New("no place in the repository that may be written outranks the one that sets it"))
	}
	return out
}

// maxPlaces is more than one value has places to be written to.
const maxPlaces = 100 * maxWays

// chartRelease is one chart of an Application with its values.
type chartRelease struct {
	// part is the index in the Application's Parts, -1 its own render.
	part int
	path string
	how  gitops.Render
	// whole is the tree with the mounts, from which the chart reads.
	whole  gitops.Tree
	chart  *chart.Chart
	values *chart.Values
	// all are the values that the templates see.
	all map[string]any
}

// chartRelease reads the chart that the goal's object comes from.
func (s site) chartRelease() (*chartRelease, error) {
	r := &chartRelease{part: -1, path: s.app.Source.Path, how: s.app.Render, whole: s.tree}
	for i, p := range s.app.Parts {
		if p.Render.Helm != nil && (r.how.Helm == nil || s.madeBy(p.Path)) {
			r.part, r.path, r.how = i, p.Path, p.Render
		}
	}
	if r.how.Helm == nil {
		return nil, errors.New("the Application names no chart")
	}
	for _, m := range s.app.Mounts {
		r.whole = r.whole.Mounted(m.At, m.Tree)
	}
	files := chart.InTree(r.whole)
	var err error
	if r.chart, err = chart.Load(files, r.path); err != nil {
		return nil, err
	}
	if err := r.chart.ReplaceValues(files, r.how.Helm.ValuesFiles); err != nil {
		return nil, err
	}
	if r.values, err = chart.Merge(files, r.how.Helm.Values, chart.StandIns{}); err != nil {
		return nil, err
	}
	r.all, _ = splice.Normal(r.values.All(r.chart)).(map[string]any)
	return r, nil
}

// madeBy says whether the goal's object was made by the chart in a folder.
func (s site) madeBy(folder string) bool {
	return slices.ContainsFunc(s.declared.Origin.Transformers, func(t gitops.Transformer) bool {
		return t.Kind == "HelmTemplate" && path.Dir(t.File) == path.Clean(folder)
	})
}

// valueEdit is a change of a chart's values: at at, from the present value to what to gives.
type valueEdit struct {
	at gitops.Path
	to func(now gitops.Value) gitops.Value
}

// next is what stands at the place of the edit after it.
func (e valueEdit) next(all map[string]any) gitops.Value {
	return e.to(gitops.Lookup(all, e.at))
}

func sets(at gitops.Path, v any) valueEdit {
	return valueEdit{at, func(gitops.Value) gitops.Value { return gitops.Present(splice.Normal(v)) }}
}

func unsets(at gitops.Path) valueEdit {
	return valueEdit{at, func(gitops.Value) gitops.Value { return gitops.Value{} }}
}

// overlay gives the values that, over all others, bring about that the value at at is next. Helm replaces lists
// whole, and takes away what is null.
func overlay(all map[string]any, at gitops.Path, next gitops.Value) map[string]any {
	root, rest := listRoot(at)
	leaf := next.V
	if len(rest) > 0 {
		list := gitops.Lookup(all, root).V
		if next.Set {
			leaf = with(list, rest, next.V)
		} else {
			leaf = without(list, rest)
		}
	}
	out, _ := with(nil, root, leaf).(map[string]any)
	return out
}

// overlays gives the values that, over all others, make several edits.
func overlays(all map[string]any, edits []valueEdit) map[string]any {
	now, out := any(all), any(nil)
	for _, e := range edits {
		root, _ := listRoot(e.at)
		leaf := overlay(now.(map[string]any), e.at, e.to(gitops.Lookup(now, e.at)))
		out = with(out, root, gitops.Lookup(leaf, root).V)
		now = with(now, root, gitops.Lookup(leaf, root).V)
	}
	m, _ := out.(map[string]any)
	return m
}

// listRoot cuts a path in front of its first step into a list.
func listRoot(at gitops.Path) (root, rest gitops.Path) {
	i := slices.IndexFunc(at, func(s gitops.Step) bool { return !s.IsField() })
	if i < 0 {
		return at, nil
	}
	return at[:i], at[i:]
}

// fixed says where a template has a field that no value moves, as far as a look at its text tells.
func (s site) fixed(r *chartRelease) string {
	file := s.declared.Origin.File
	data, ok := r.whole.Read(file)
	if !ok || strings.Contains(file, ".tgz") {
		return "the templates of its chart have it fixed"
	}
	lines, from, best := strings.Split(string(data), "\n"), 0, 0
	for _, step := range s.change.Path { // each key below the one before it
		if !step.IsField() {
			continue
		}
		best = 0
		if i := slices.IndexFunc(lines[from:], func(line string) bool {
			return strings.HasPrefix(strings.TrimLeft(line, " -{"), step.Field+":") || strings.Contains(line, " "+step.Field+":")
		}); i >= 0 {
			from += i
			best = from + 1
		}
	}
	switch {
	case best == 0 && !s.declaredValue().Set:
		return "the template " + file + " has no place for it"
	case best == 0:
		return "the template has it fixed in " + file
	}
	return fmt.Sprintf("the template has it fixed at %s:%d", file, best)
}
