package codify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// write gives the candidates that bring a change of values about: at the place of highest rank that sets the value
// now, else in the narrowest place that outranks it. The chart's own values come last.
func (r *chartRelease) write(ctx context.Context, s site, e valueEdit) []Candidate {
	next := e.next(r.all)
	if sealedIn(gitops.Lookup(r.all, e.at).V) {
		s.refuse("the chart's value "+e.at.String()+" is not written", errSealed)
		return nil
	}
	winner, beaten := r.winner(e.at)
	places := r.places(s)
	var out []Candidate
	for i, p := range places {
		if p.rank < winner {
			continue
		}
		what, added := p.words(e.at, next, p.rank == winner, places), addsEntry
		switch {
		case p.single() && !p.parameter.Equal(e.at):
			continue
		case p.rank == winner && p.kind == ownValues:
			added = lastResort
		case p.kind == ownValues:
			continue // what the chart says is not added to for one Application
		case p.rank == winner && p.general && !p.others:
			added = addsSection // else what others read tells whether it is right for all of them
		case p.rank == winner:
			added = changesValue
		case p.general:
			added = addsFile
		case p.kind != valuesFile:
			added = addsSection
		}
		for n, c := range r.writeTo(ctx, s, p, e.at, next, p.rank == winner, beaten, what, added) {
			c.rank = (len(places)-i)*maxWays + min(n, maxWays-1) // the narrowest first
			c.choice = c.What
			out = append(out, c)
		}
	}
	return out
}

var errSealed = errors.New("SOPS has encrypted it, so the live value is a secret: change it with sops, and commit that")

// sealedIn says whether SOPS has encrypted a text in v.
func sealedIn(v any) bool {
	return slices.ContainsFunc(textsIn(v), func(text string) bool { return strings.Contains(text, "ENC[AES256_GCM,") })
}

// writeAll gives the candidates that bring several changes of values about, one on top of the other.
func (r *chartRelease) writeAll(ctx context.Context, s site, edits []valueEdit) []Candidate {
	first := r.write(ctx, s, edits[0])
	if len(edits) == 1 {
		return first
	}
	var out []Candidate
	for _, c := range first {
		on := s
		on.tree = s.tree.With(c.Edits)
		rest := r.writeAll(ctx, on, edits[1:])
		if len(rest) == 0 {
			continue
		}
		best := slices.MinFunc(rest, func(a, b Candidate) int {
			beside := func(c Candidate, files []string) int {
				if slices.Equal(c.files(), files) {
					return 0
				}
				return 1
			}
			return cmp.Or(beside(a, c.files())-beside(b, c.files()), a.Added-b.Added, a.rank-b.rank)
		})
		c.Edits, c.engine = joined(c.Edits, best.Edits), slices.Concat(c.engine, best.engine)
		c.Added = max(c.Added, best.Added)
		c.What += "; " + best.What
		c.choice = c.What
		out = append(out, c)
	}
	return out
}

// maxWays is how many ways there are to change one object.
const maxWays = 20

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
func (p place) words(at gitops.Path, next gitops.Value, wins bool, places []place) wording {
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
	return wording{head: verb + " the chart's value " + at.String(), label: p.label, tail: why}
}

// writeTo gives the candidates of one place.
func (r *chartRelease) writeTo(ctx context.Context, s site, p place, at gitops.Path, next gitops.Value, wins, beaten bool, what wording, added int) []Candidate {
	if p.single() {
		return p.writeOne(ctx, s, next, what, added)
	}
	value := next.V
	root, rest := listRoot(at)
	values := p.values()
	if len(rest) > 0 && !gitops.Lookup(values, root).Set { // a list is replaced whole
		list := gitops.Lookup(r.all, root).V
		at = root
		if next.Set {
			value = with(list, rest, next.V)
		} else {
			value, next = without(list, rest), gitops.Present(nil)
		}
	}
	if next.Set {
		return p.splice(ctx, s, at, gitops.Present(value), what, added)
	}
	var out []Candidate
	if wins && gitops.Lookup(values, at).Set {
		out = p.splice(ctx, s, at, gitops.Value{}, what, added)
	}
	if len(rest) == 0 && (beaten || !wins) && p.kind != ownValues {
		what.tail += ", by null"
		out = append(out, p.splice(ctx, s, at, gitops.Present(nil), what, max(added, addsEntry))...)
		// Helm leaves a null where the chart's own values have no such key, which templates may see.
		for at = at[:len(at)-1]; len(at) > 0 && single(r.all, at); at = at[:len(at)-1] {
			out = append(out, p.splice(ctx, s, at, gitops.Present(nil), what, max(added, addsEntry))...)
		}
	}
	return out
}

// splice gives the candidates in which a value of a place reads as asked, or is not there. Values in a text are YAML
// of their own.
func (p place) splice(ctx context.Context, s site, at gitops.Path, value gitops.Value, what wording, added int) []Candidate {
	switch {
	case p.kind == valuesFile && p.content == nil && value.Set && value.V != nil:
		after, err := p.begin(at, value.V)
		return p.mark(s.one(what.in(p.name), p.file, after, err, added))
	case p.kind != textValues:
		return p.change(ctx, s, what, gitops.FieldChange{Path: slices.Concat(p.at, at), After: value}, added)
	}
	text, _ := p.content.(string)
	if p.via != nil && p.via.element == nil {
		if now, ok := s.textIn(*p.via, p.at); ok {
			text = now
		}
	}
	inner, err := changedText([]byte(text), 0, gitops.FieldChange{Path: at, After: value})
	if err != nil {
		s.refuse(what.in(p.name), err)
		return nil
	}
	return p.change(ctx, s, what, gitops.FieldChange{Path: p.at, After: gitops.Present(string(inner))}, added)
}

// change makes a change of what holds the place: an object, or a file.
func (p place) change(ctx context.Context, s site, what wording, change gitops.FieldChange, added int) []Candidate {
	if p.engine != nil || p.via != nil {
		return s.changed(ctx, p, what, change, p.field(), added)
	}
	after, err := changedText(p.data, p.doc, change)
	return p.mark(s.one(what.in(p.name), p.file, after, err, added))
}

// values are what the place sets.
func (p place) values() any {
	text, ok := p.content.(string)
	if p.kind != textValues || !ok {
		return p.content
	}
	docs, err := splice.Documents([]byte(text))
	if err != nil || len(docs) != 1 {
		return nil
	}
	return docs[0]
}

// single says whether the place is one value rather than a mapping of them.
func (p place) single() bool {
	return p.kind == oneParameter || p.kind == oneText || p.kind == wholeFile
}

// mark says which object of a member moves with a file that it is made of.
func (p place) mark(candidates []Candidate) []Candidate {
	for i := range candidates {
		if p.made != nil {
			candidates[i].engine = append(candidates[i].engine, engineEdit{id: p.made.id, path: p.allow})
		}
	}
	return candidates
}

// field is the field of the object that may move with the place.
func (p place) field() gitops.Path {
	if p.allow != nil {
		return p.allow
	}
	return engineField(p.at)
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

// writeOne gives a place that is one value another one, or takes it away.
func (p place) writeOne(ctx context.Context, s site, next gitops.Value, what wording, added int) []Candidate {
	text, scalar := shown(next.V)
	_, isText := next.V.(string)
	switch {
	case !next.Set && p.kind == oneParameter:
		return p.change(ctx, s, what, gitops.FieldChange{Path: p.at}, added)
	case !next.Set || !scalar:
		return nil
	case p.kind == wholeFile:
		return s.one(what.in(p.name), p.file, []byte(text), nil, added)
	case p.kind == oneText:
		return p.change(ctx, s, what, gitops.FieldChange{Path: p.at, After: gitops.Present(p.quoted(text, isText))}, added)
	}
	entry, _ := p.content.(map[string]any)
	entry = maps.Clone(entry)
	if entry == nil {
		return nil
	}
	entry["value"] = text
	if isText && !p.text && readAsOther(text) {
		entry["forceString"] = true
	}
	return p.change(ctx, s, what, gitops.FieldChange{Path: p.at, After: gitops.Present(entry)}, added)
}

// quoted writes the value of a target path: in the quotes that it has, or in some where it would be read as no text
// (https://fluxcd.io/flux/components/helm/helmreleases/#values-references).
func (p place) quoted(text string, isText bool) string {
	old, _ := p.content.(string)
	for _, quote := range []string{"'", `"`} {
		if len(old) > 1 && strings.HasPrefix(old, quote) && strings.HasSuffix(old, quote) {
			return quote + text + quote
		}
	}
	if isText && !p.text && readAsOther(text) {
		return `"` + text + `"`
	}
	return text
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
