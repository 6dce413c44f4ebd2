package codify

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// write gives the candidates that bring a change of values about: at the place of highest rank that sets the value
// now, else in the narrowest place that outranks it. The chart's own values come last.
func (r *chartRelease) write(s site, e valueEdit) []Candidate {
	next := e.next(r.all)
	winner, beaten := r.winner(e.at)
	places := r.places(s)
	var out []Candidate
	for i, p := range places {
		if p.rank < winner {
			continue
		}
		what, added := p.words(e.at, next, p.rank == winner, places), addsEntry
		switch {
		case p.kind == oneParameter && !p.parameter.Equal(e.at):
			continue
		case p.rank == winner && p.kind == ownValues:
			added = lastResort
		case p.kind == ownValues:
			continue // what the chart says is not added to for one Application
		case p.rank == winner && p.general:
			added = addsSection
		case p.rank == winner:
			added = changesValue
		case p.general:
			added = addsFile
		case p.kind != valuesFile:
			added = addsSection
		}
		for _, c := range r.writeTo(s, p, e.at, next, p.rank == winner, beaten, what, added) {
			c.rank = len(places) - i // the narrowest first
			c.choice = c.What
			if p.engine != nil {
				c.engine = []engineEdit{{*p.engine, engineField(p.at)}}
			}
			out = append(out, c)
		}
	}
	return out
}

// winner is the rank of the source that sets a value now, or something around it; beaten says that others set it
// too. It is below all ranks where nothing sets it.
func (r *chartRelease) winner(at gitops.Path) (rank int, beaten bool) {
	sources := r.values.Provenance(r.chart).Of(at)
	if len(sources) == 0 {
		return ownRank, false
	}
	rank = sources[0].Entry
	if rank < 0 {
		rank = ownRank
		for i, v := range r.how.Helm.ValuesFiles {
			if v.File == sources[0].File {
				rank = ownRank + 1 + i
			}
		}
	}
	return rank, len(sources) > 1
}

// words say what an edit does and why there.
func (p place) words(at gitops.Path, next gitops.Value, wins bool, places []place) string {
	verb := "set"
	switch {
	case !next.Set:
		verb = "remove"
	case wins:
		verb = "change"
	}
	why := ""
	outranks := func(kind placeKind) bool {
		for _, o := range places {
			if o.rank < p.rank && o.kind == kind {
				return true
			}
		}
		return false
	}
	switch {
	case p.kind == ownValues && len(places) == 1:
		why = ", the only place in the repository that can set it"
	case p.kind == oneParameter && outranks(valuesFile):
		why = ", which outranks the values files"
	case p.kind == oneParameter:
		why = ", which outranks other values"
	case wins && outranks(p.kind):
		why = ", which sets it last"
	case !wins && p.kind == valuesFile:
		why = ", the narrowest values file of this Application"
	case !wins && outranks(valuesFile):
		why = ", which outranks the values files"
	case !wins:
		why = ", which outranks the chart's own values"
	}
	return fmt.Sprintf("%s the chart's value %s in %s%s", verb, at, p.name, why)
}

// writeTo gives the candidates of one place.
func (r *chartRelease) writeTo(s site, p place, at gitops.Path, next gitops.Value, wins, beaten bool, what string, added int) []Candidate {
	if p.kind == oneParameter {
		return p.writeParameter(s, next, what, added)
	}
	value := next.V
	root, rest := listRoot(at)
	if len(rest) > 0 && !gitops.Lookup(p.content, root).Set { // a list is replaced whole
		list := gitops.Lookup(r.all, root).V
		at = root
		if next.Set {
			value = with(list, rest, next.V)
		} else {
			value, next = without(list, rest), gitops.Present(nil)
		}
	}
	if next.Set {
		after, err := p.splice(at, value, splice.Set)
		return s.one(what, p.file, after, err, added)
	}
	var out []Candidate
	if wins && gitops.Lookup(p.content, at).Set {
		after, err := p.splice(at, nil, func(data []byte, doc int, at gitops.Path, _ any) ([]byte, error) { return splice.Remove(data, doc, at) })
		out = append(out, s.one(what, p.file, after, err, added)...)
	}
	if len(rest) == 0 && (beaten || !wins) && p.kind != ownValues {
		after, err := p.splice(at, nil, splice.Set)
		out = append(out, s.one(what+", by null", p.file, after, err, max(added, addsEntry))...)
	}
	return out
}

// splice edits the values of a place. Those in a text are YAML of their own.
func (p place) splice(at gitops.Path, value any, edit func([]byte, int, gitops.Path, any) ([]byte, error)) ([]byte, error) {
	if p.kind != textValues {
		whole := append(p.at[:len(p.at):len(p.at)], at...)
		if p.kind == valuesFile && p.content == nil && value != nil {
			return p.begin(at, value)
		}
		return edit(p.data, p.doc, whole, value)
	}
	text, _ := p.content.(string)
	inner, err := edit([]byte(text), 0, at, value)
	if err != nil {
		return nil, err
	}
	return splice.Set(p.data, p.doc, p.at, string(inner))
}

// begin writes the first value of a file that has none yet, below its comments.
func (p place) begin(at gitops.Path, value any) ([]byte, error) {
	text, err := yaml.Marshal(with(nil, at, value))
	if err != nil {
		return nil, err
	}
	eol := "\n"
	if bytes.Contains(p.data, []byte("\r\n")) {
		eol = "\r\n"
	}
	out := slices.Clone(p.data)
	if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, eol...)
	}
	out = append(out, strings.ReplaceAll(string(text), "\n", eol)...)
	docs, err := splice.Documents(out)
	if err != nil || len(docs) != 1 || !reflect.DeepEqual(splice.Normal(docs[0]), splice.Normal(with(nil, at, value))) {
		return nil, fmt.Errorf("%w: a values file without values", splice.ErrUnsupported)
	}
	return out, nil
}

// writeParameter gives the parameter another value, or takes it away. A text that Helm would read as a number or a
// boolean is forced to stay one.
func (p place) writeParameter(s site, next gitops.Value, what string, added int) []Candidate {
	if !next.Set {
		after, err := splice.Remove(p.data, p.doc, p.at)
		return s.one(what, p.file, after, err, added)
	}
	text, scalar := shown(next.V)
	if !scalar {
		return nil
	}
	after, err := splice.Set(p.data, p.doc, p.at.Child(gitops.Field("value")), text)
	_, isText := next.V.(string)
	if err == nil && isText && !p.text && readAsOther(text) {
		after, err = splice.Set(after, p.doc, p.at.Child(gitops.Field("forceString")), true)
	}
	return s.one(what, p.file, after, err, added)
}

// readAsOther says whether Helm's --set takes a text for something else
// (https://pkg.go.dev/helm.sh/helm/v4/pkg/strvals): a boolean, null, or an integer without leading zeros.
func readAsOther(text string) bool {
	switch strings.ToLower(text) {
	case "true", "false", "null", "0":
		return true
	}
	return text != "" && strings.Trim(text, "0123456789-+") == "" && !strings.HasPrefix(text, "0")
}

// engineField cuts a path in the engine's object to the options that it is part of.
func engineField(at gitops.Path) gitops.Path {
	for i, step := range at {
		if step.Field == "helm" || step.Field == "values" {
			return at[:i+1]
		}
	}
	return at
}
