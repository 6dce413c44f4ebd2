package chart_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/chart"
)

func parameter(name, value string) gitops.Values {
	return gitops.Values{Parameter: &gitops.Parameter{Name: name, Value: value}}
}

func TestMerge(t *testing.T) {
	files := tree("-- a.yaml --\na: {b: 1, c: [x, w]}\nopen: on\n-- b.yaml --\na: {b: null, d: two}\n-- note --\na=b,c\n-- broken.yaml --\na: [hunter2\n-- list.yaml --\n- a\n")
	from := func(known bool, target, text string) gitops.Values {
		return gitops.Values{From: &gitops.ValuesFrom{Kind: "Secret", Name: "s", Key: "k", TargetPath: target, Known: known, Text: text}}
	}
	for _, test := range []struct {
		name    string
		entries []gitops.Values
		want    map[string]any
		fails   string
	}{
		{"nothing", nil, map[string]any{}, ""},
		{"a later file wins, mappings are merged, lists replaced, null takes away in the end", []gitops.Values{{File: "a.yaml"}, {File: "b.yaml"}},
			map[string]any{"a": map[string]any{"b": nil, "c": []any{"x", "w"}, "d": "two"}, "open": true}, ""},
		{"numbers of files and mappings are floats", []gitops.Values{{Inline: map[string]any{"n": int64(1000000), "m": 1}}}, map[string]any{"n": 1e6, "m": 1.0}, ""},
		{"text of the engine's object", []gitops.Values{{Text: "a: 1\n---\nb: 2\n"}}, map[string]any{"a": 1.0, "b": 2.0}, ""},
		{"parameters are integers, booleans, null or text", []gitops.Values{parameter("a", "1000000"), parameter("b", "true"), parameter("c", "null"), parameter("d", "0123"), parameter("e", "")},
			map[string]any{"a": int64(1000000), "b": true, "c": nil, "d": "0123", "e": ""}, ""},
		{"a parameter that is text", []gitops.Values{{Parameter: &gitops.Parameter{Name: "a.b", Value: "4.10", String: true}}}, map[string]any{"a": map[string]any{"b": "4.10"}}, ""},
		{"a parameter changes one entry of a list", []gitops.Values{{File: "a.yaml"}, parameter("a.c[1]", "z")},
			map[string]any{"a": map[string]any{"b": 1.0, "c": []any{"x", "z"}}, "open": true}, ""},
		{"a comma begins no other parameter", []gitops.Values{parameter("a", "1,,b=2")}, map[string]any{"a": "1,,b=2"}, ""},
		{"an escaped comma stays one", []gitops.Values{parameter("a", `1\,2`)}, map[string]any{"a": "1,2"}, ""},
		{"a list in braces", []gitops.Values{parameter("a", "{x,y}")}, map[string]any{"a": []any{"x", "y"}}, ""},
		{"a dot in a name", []gitops.Values{parameter(`a.example\.test/b`, "c")}, map[string]any{"a": map[string]any{"example.test/b": "c"}}, ""},
		{"a file as the value", []gitops.Values{{Parameter: &gitops.Parameter{Name: "a", File: "note"}}}, map[string]any{"a": "a=b,c\n"}, ""},
		{"a missing file that may be missing", []gitops.Values{{File: "none.yaml", Optional: true}}, map[string]any{}, ""},
		{"a missing file", []gitops.Values{{File: "none.yaml"}}, nil, "values file none.yaml: not in the repository"},
		{"a missing file of a parameter", []gitops.Values{{Parameter: &gitops.Parameter{Name: "a", File: "none"}}}, nil, "file none of parameter a: not in the repository"},
		{"a file that is no YAML", []gitops.Values{{File: "broken.yaml"}}, nil, "broken.yaml: values: "},
		{"a file that is no mapping", []gitops.Values{{File: "list.yaml"}}, nil, "list.yaml: values: "},
		{"a parameter below a text", []gitops.Values{{Text: "a: hunter2"}, parameter("a.b", "c")}, nil, "parameter a.b: it is not in the form"},
		{"a parameter with a word for an index", []gitops.Values{parameter("a[x]", "hunter2")}, nil, "parameter a[x]: it is not in the form"},
		{"a key of a Secret", []gitops.Values{from(true, "", "a: {b: c}")}, map[string]any{"a": map[string]any{"b": "c"}}, ""},
		{"a key of a Secret with a target", []gitops.Values{from(true, "a.b", "3")}, map[string]any{"a": map[string]any{"b": int64(3)}}, ""},
		{"a quoted key of a Secret with a target", []gitops.Values{from(true, "a.b", `"3"`)}, map[string]any{"a": map[string]any{"b": "3"}}, ""},
		{"a literal key of a ConfigMap", []gitops.Values{{From: &gitops.ValuesFrom{Kind: "ConfigMap", Name: "c", Key: "k", TargetPath: `a.app\.yml[1]`, Literal: true, Known: true, Text: "'x' = [1],{y},\\\n"}}},
			map[string]any{"a": map[string]any{"app.yml": []any{nil, "'x' = [1],{y},\\\n"}}}, ""},
		{"a literal key without a target is YAML", []gitops.Values{{From: &gitops.ValuesFrom{Kind: "ConfigMap", Name: "c", Key: "k", Literal: true, Known: true, Text: "a: b"}}}, map[string]any{"a": "b"}, ""},
		{"a Secret that was not read", []gitops.Values{from(false, "", "")}, map[string]any{}, ""},
		{"a Secret with a target that was not read", []gitops.Values{from(false, "a.b", "")}, map[string]any{"a": map[string]any{"b": "stand-in"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := chart.Merge(files, test.entries, chart.StandIns{Unknown: "stand-in"})
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) || strings.Contains(err.Error(), "hunter2") {
					t.Fatalf("error %v, want %q", err, test.fails)
				}
				if strings.Contains(test.fails, "not in the repository") && !errors.Is(err, chart.ErrNotFound) {
					t.Error("it is no ErrNotFound")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Merged); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestProvenance(t *testing.T) {
	files := tree(`
-- c/Chart.yaml --
apiVersion: v2
name: c
version: 1.0.0
dependencies:
  - {name: db, alias: main, version: 1.x.x, import-values: [shown]}
-- c/values.yaml --
image: {tag: "1", name: app}
ports: [80, 443]
main: {port: 1}
global: {region: eu}
-- c/charts/db/Chart.yaml --
apiVersion: v2
name: db
version: 1.0.0
-- c/charts/db/values.yaml --
port: 5432
user: {name: app}
exports: {shown: {word: hi}}
global: {region: none, zone: a}
-- base.yaml --
image: {tag: "2"}
main: {port: 2}
-- prod.yaml --
image: {tag: "3"}
ports: [8080]
-- tag --
5
`)
	entries := []gitops.Values{
		{File: "base.yaml"},
		{File: "prod.yaml"},
		{Inline: map[string]any{"main": map[string]any{"user": "nobody"}}},
		parameter("ports[0]", "9090"),
		{Parameter: &gitops.Parameter{Name: "image.tag", File: "tag"}},
		{File: "none.yaml", Optional: true},
	}
	loaded, err := chart.Load(files, "c")
	if err != nil {
		t.Fatal(err)
	}
	values, err := chart.Merge(files, entries, chart.StandIns{})
	if err != nil {
		t.Fatal(err)
	}
	const own, sub = "c/values.yaml", "c/charts/db/values.yaml"
	at := func(entry int, file, where string) chart.Source {
		return chart.Source{Entry: entry, File: file, Path: path(t, where)}
	}
	for where, want := range map[string][]chart.Source{
		"image.tag":          {at(4, "tag", "image.tag"), at(1, "prod.yaml", "image.tag"), at(0, "base.yaml", "image.tag"), at(-1, own, "image.tag")},
		"image.name":         {at(-1, own, "image.name")},
		"image":              {at(4, "tag", "image"), at(1, "prod.yaml", "image"), at(0, "base.yaml", "image"), at(-1, own, "image")},
		"ports[0]":           {at(3, "", "ports[0]"), at(1, "prod.yaml", "ports[0]"), at(-1, own, "ports[0]")},
		"ports[1]":           {at(1, "prod.yaml", "ports"), at(-1, own, "ports[1]")},
		"main.port":          {at(0, "base.yaml", "main.port"), at(-1, own, "main.port"), at(-1, sub, "port")},
		"main.user.name":     {at(2, "", "main.user"), at(-1, sub, "user.name")},
		"main.global.region": {at(-1, own, "global.region"), at(-1, sub, "global.region")},
		"main.global.zone":   {at(-1, sub, "global.zone")},
		"word":               {at(-1, sub, "exports.shown.word")},
		"nobody.set.it":      nil,
	} {
		if diff := cmp.Diff(want, values.Provenance(loaded).Of(path(t, where))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", where, diff)
		}
	}
}

func TestFilesInPlaceOfTheChartsValues(t *testing.T) {
	files := tree("-- c/Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\n-- c/values.yaml --\na: own\nb: own\n" +
		"-- c/templates/t.yaml --\n{{ .Values.a }} {{ .Values.b }} {{ .Values.c }} {{ .Chart.Version }}\n-- one.yaml --\na: one\nc: 1000000\n-- two.yaml --\na: two\n")
	loaded, err := chart.Load(files, "c")
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.ReplaceValues(files, []gitops.Values{{File: "one.yaml"}, {File: "two.yaml"}, {File: "none.yaml", Optional: true}}); err != nil {
		t.Fatal(err)
	}
	out, err := loaded.Render(t.Context(), nil, chart.Release{ChartVersion: "1.0.0+abc"}, chart.First, nil)
	if err != nil || len(out.Documents) != 1 || strings.TrimSpace(out.Documents[0].Text) != "two  1e+06 1.0.0+abc" {
		t.Fatalf("%+v, %v", out, err)
	}
	values, err := chart.Merge(files, nil, chart.StandIns{})
	if err != nil {
		t.Fatal(err)
	}
	want := []chart.Source{{Entry: -1, File: "two.yaml", Path: path(t, "a")}, {Entry: -1, File: "one.yaml", Path: path(t, "a")}}
	if diff := cmp.Diff(want, values.Provenance(loaded).Of(path(t, "a"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := values.Provenance(loaded).Of(path(t, "b")); got != nil {
		t.Errorf("the chart's own values still count: %v", got)
	}
	if err := loaded.ReplaceValues(files, []gitops.Values{{File: "none.yaml"}}); !errors.Is(err, chart.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// FuzzParameter: whatever a parameter says, it is taken or refused, without a value in the refusal; what it sets is
// found again.
func FuzzParameter(f *testing.F) {
	for _, seed := range [][2]string{{"a.b", "1"}, {"a[0].b", "{x,y}"}, {`a\.b`, "null"}, {"a[1][2]", ","}, {"a", `\`}, {"[0]", "x"}, {"a.", "="}} {
		f.Add(seed[0], seed[1])
	}
	files := tree("-- c/Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\n-- c/values.yaml --\na: {b: [1, 2]}\nlist: [{x: 1}]\n")
	loaded, err := chart.Load(files, "c")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		entries := []gitops.Values{{Text: "a: {b: 1}\nlist: [{x: 1}]"}, parameter(name, value)}
		got, err := chart.Merge(files, entries, chart.StandIns{})
		if err != nil {
			if len(value) > 8 && strings.Contains(err.Error(), value) && !strings.Contains(name, value) {
				t.Errorf("the error shows the value: %v", err)
			}
			return
		}
		again, err := chart.Merge(files, entries, chart.StandIns{})
		if err != nil || !cmp.Equal(got.Merged, again.Merged) {
			t.Errorf("%q=%q gives %v, then %v (%v)", name, value, got.Merged, again.Merged, err)
		}
		sources := got.Provenance(loaded)
		for key := range got.Merged {
			if key != "" && len(sources.Of(gitops.Path{gitops.Field(key)})) == 0 {
				t.Errorf("%q=%q: nobody sets %q", name, value, key)
			}
		}
	})
}
