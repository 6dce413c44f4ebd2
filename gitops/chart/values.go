package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"holdfast/gitops"
)

// Values are what an Application gives a chart: merged, and each source by itself.
type Values struct {
	// Merged is what Helm would get by -f and --set. The chart's own values are not in it.
	Merged map[string]any
	// Open are the indexes of the sources whose text nobody could read and that could set anything: those without a
	// target path.
	Open   []int
	layers []layer
}

// layer is what one source sets.
type layer struct {
	entry int
	file  string
	set   map[string]any
	// sparse: lists hold what a --set names; a null is no entry.
	sparse bool
}

// StandIns take the place of texts. An empty Unknown leaves out the sources that could not be read.
type StandIns struct {
	// Unknown stands for the text of a ConfigMap or Secret that was not read.
	Unknown string
	// Vary is put in place of every value that comes from a Secret, when Varying is set.
	Vary    string
	Varying bool
}

// Merge puts together the values of an Application in their order; later ones win, null takes away. Numbers of
// files and of the engine's object are floats, as Helm reads them, so that large ones print as 1e+06; those of
// parameters are integers. An error names the file or the place in the engine's object, and repeats no value.
func Merge(files Files, entries []gitops.Values, with StandIns) (*Values, error) {
	v := &Values{Merged: map[string]any{}}
	for i, e := range entries {
		if err := v.add(files, i, e, with); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *Values) add(files Files, i int, e gitops.Values, with StandIns) error {
	switch {
	case e.File != "":
		data, ok, err := files.Read(e.File)
		if err != nil {
			return err
		}
		if !ok && e.Optional {
			return nil
		}
		if !ok {
			return fmt.Errorf("values file %s: %w", e.File, ErrNotFound)
		}
		return v.table(i, e.File, e.File, data)
	case e.Text != "":
		return v.table(i, "", place(i, e), []byte(e.Text))
	case e.Inline != nil:
		encoded, err := json.Marshal(e.Inline)
		if err != nil {
			return fmt.Errorf("%s: %w", place(i, e), err)
		}
		return v.table(i, "", place(i, e), encoded)
	case e.Parameter != nil:
		return v.parameter(files, i, e)
	case e.From != nil:
		return v.from(i, e, with)
	}
	return nil
}

// table merges a YAML mapping.
func (v *Values) table(i int, file, name string, data []byte) error {
	set, err := loader.LoadValues(strings.NewReader(string(data)))
	if err != nil {
		return fmt.Errorf("%s: values: %s", name, gitops.WithoutValues(oneLine(err.Error())))
	}
	v.layers = append(v.layers, layer{entry: i, file: file, set: set})
	v.Merged = loader.MergeMaps(v.Merged, gitops.Clone(set).(map[string]any))
	return nil
}

// parameter sets one value. A comma in it does not begin another one, as Argo CD sees to it too
// (util/helm/helm.go); a list in braces keeps its commas.
func (v *Values) parameter(files Files, i int, e gitops.Values) error {
	p := *e.Parameter
	if p.File == "" {
		return v.assign(i, "", place(i, e), p.Name+"="+oneValue(p.Value), p.String)
	}
	data, ok, err := files.Read(p.File)
	if err != nil {
		return err
	}
	if !ok && e.Optional {
		return nil
	}
	if !ok {
		return fmt.Errorf("file %s of parameter %s: %w", p.File, p.Name, ErrNotFound)
	}
	return v.set(i, p.File, place(i, e), func(into map[string]any) error {
		return verbatim(p.Name, string(data), into)
	})
}

// verbatim sets a text in which nothing has a meaning, at a path in which a backslash keeps a dot.
func verbatim(at, text string, into map[string]any) error {
	return strvals.ParseIntoFile(at+"=file", into, func([]rune) (any, error) { return text, nil })
}

func (v *Values) assign(i int, file, name, line string, asText bool) error {
	return v.set(i, file, name, func(into map[string]any) error {
		if asText {
			return strvals.ParseIntoString(line, into)
		}
		return strvals.ParseInto(line, into)
	})
}

// set runs a parameter twice: on the values so far, and alone to learn what it sets.
func (v *Values) set(i int, file, name string, parse func(map[string]any) error) error {
	alone := map[string]any{}
	if err := errors.Join(parse(v.Merged), parse(alone)); err != nil {
		return fmt.Errorf("%s: it is not in the form that Helm's --set takes, or sets a key below a value that is no mapping", name)
	}
	v.layers = append(v.layers, layer{entry: i, file: file, set: alone, sparse: true})
	return nil
}

// from takes the text of a ConfigMap or Secret. With a target path it is one value, quoted for a text, as Flux's
// helm-controller reads it (fluxcd/pkg chartutil/values.go); a literal one is taken as it is
// (https://fluxcd.io/flux/components/helm/helmreleases/#values-references).
func (v *Values) from(i int, e gitops.Values, with StandIns) error {
	f := *e.From
	name := fmt.Sprintf("%s %s, key %s", f.Kind, f.Name, f.Key)
	text := f.Text
	if !f.Known {
		if f.TargetPath == "" {
			v.Open = append(v.Open, i)
			return nil
		}
		text = with.Unknown
	}
	secret := f.Known && f.Kind == "Secret" && with.Varying
	if f.TargetPath != "" {
		if secret {
			text = with.Vary
		}
		if f.Literal {
			return v.set(i, "", name, func(into map[string]any) error { return verbatim(f.TargetPath, text, into) })
		}
		for _, quote := range []string{"'", `"`} {
			if len(text) > 1 && strings.HasPrefix(text, quote) && strings.HasSuffix(text, quote) {
				return v.assign(i, "", name, f.TargetPath+"="+strings.Trim(text, `'"`), true)
			}
		}
		return v.assign(i, "", name, f.TargetPath+"="+text, false)
	}
	if err := v.table(i, "", name, []byte(text)); err != nil || !secret {
		return err
	}
	varied := Vary(v.layers[len(v.layers)-1].set, with.Vary).(map[string]any)
	v.Merged = loader.MergeMaps(v.Merged, varied)
	return nil
}

// ReplaceValues merges values files into what stands for the chart's own values.yaml, as Flux's valuesFiles do
// (fluxcd/source-controller internal/helm/chart/builder.go). None leaves it.
func (c *Chart) ReplaceValues(files Files, with []gitops.Values) error {
	if len(with) == 0 {
		return nil
	}
	merged, err := Merge(files, with, StandIns{})
	if err != nil {
		return err
	}
	data, err := json.Marshal(merged.Merged) // which is YAML
	if err != nil {
		return fmt.Errorf("%s: values files: %w", c.root.home, err)
	}
	p := c.root
	p.values, p.replaced = merged.Merged, merged.layers
	p.files = slices.DeleteFunc(p.files, func(f *archive.BufferedFile) bool { return f.Name == valuesFile })
	p.files = append(p.files, &archive.BufferedFile{Name: valuesFile, Data: data})
	return nil
}

// Vary gives a value with another one at each leaf: standIn for texts, other numbers. Booleans stay.
func Vary(value any, standIn string) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for k, e := range value {
			out[k] = Vary(e, standIn)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, e := range value {
			out[i] = Vary(e, standIn)
		}
		return out
	case string:
		return standIn
	case float64:
		return value + float64(1+len(standIn))
	case int64:
		return value + int64(1+len(standIn))
	}
	return value
}

// Flip gives a mapping with every boolean turned over.
func Flip(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for k, e := range value {
			out[k] = Flip(e)
		}
		return out
	case bool:
		return !value
	}
	return value
}

// Below gives what the merged values and the chart's own would be for an open source: everything that no later
// source sets, changed by change.
func (v *Values) Below(c *Chart, change func(any) any) (map[string]any, error) {
	if len(v.Open) == 0 {
		return v.Merged, nil
	}
	first, last := v.Open[0], v.Open[len(v.Open)-1]
	// What stands below the last open source can be overridden by it, and what stands above it can not.
	low := c.defaults()
	high := map[string]any{}
	for _, l := range v.layers {
		switch {
		case l.entry < last:
			low = loader.MergeMaps(low, gitops.Clone(l.set).(map[string]any))
		case l.entry > first:
			high = loader.MergeMaps(high, gitops.Clone(l.set).(map[string]any))
		}
	}
	varied, _ := change(low).(map[string]any)
	return loader.MergeMaps(varied, high), nil
}

// defaults are the chart's own values, those of its dependencies below their names.
func (c *Chart) defaults() map[string]any { return c.root.defaults() }

func (p *part) defaults() map[string]any {
	out := map[string]any{}
	for name, sub := range p.named() {
		out[name] = sub.defaults()
	}
	return loader.MergeMaps(out, gitops.Clone(p.values).(map[string]any))
}

// named gives the dependencies by the names that their values have.
func (p *part) named() map[string]*part {
	out := map[string]*part{}
	for _, s := range p.subs {
		used := false
		for _, d := range p.metadata.Dependencies {
			if d.Name == s.metadata.Name {
				used = true
				name := d.Name
				if d.Alias != "" {
					name = d.Alias
				}
				out[name] = s
			}
		}
		if !used {
			out[s.metadata.Name] = s
		}
	}
	return out
}

// Secrets are the texts that come from Secrets, longest first: they appear in no error.
func Secrets(entries []gitops.Values) []string {
	var out []string
	var leaves func(v any)
	leaves = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, e := range v {
				leaves(e)
			}
		case []any:
			for _, e := range v {
				leaves(e)
			}
		case nil, bool:
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	for _, e := range entries {
		if e.From == nil || !e.From.Known || e.From.Kind != "Secret" {
			continue
		}
		out = append(out, e.From.Text, strings.Trim(e.From.Text, `'"`+"\n "))
		if table, err := loader.LoadValues(strings.NewReader(e.From.Text)); err == nil {
			leaves(table)
		}
	}
	return longestFirst(out)
}

var bareComma = regexp.MustCompile(`(^|[^\\]),`)

func oneValue(text string) string {
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		return text
	}
	// Twice, since commas that follow each other share a character.
	return bareComma.ReplaceAllString(bareComma.ReplaceAllString(text, `$1\,`), `$1\,`)
}

// place names a source for errors.
func place(i int, e gitops.Values) string {
	switch {
	case len(e.At) > 0:
		return e.At.String()
	case e.Parameter != nil:
		return "parameter " + e.Parameter.Name
	}
	return fmt.Sprintf("values[%d]", i)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func longestFirst(texts []string) []string {
	slices.SortFunc(texts, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(texts)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
