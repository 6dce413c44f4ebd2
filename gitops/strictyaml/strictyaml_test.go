package strictyaml

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type level int

func (l *level) UnmarshalText(text []byte) error {
	if string(text) != "high" {
		return errors.New("want high")
	}
	*l = 3
	return nil
}

type item struct {
	Name string `json:"name"`
	Size int    `json:"size,omitempty"`
	line int
}

func (i *item) SetLine(line int) { i.line = line }

type block struct {
	text string
	line int
}

func (b *block) UnmarshalText(text []byte) error { b.text = string(text); return nil }
func (b *block) SetLine(line int)                { b.line = line }

type inline struct {
	Color string `json:"color,omitempty" jsonschema:"enum=red,enum=blue"`
}

type document struct {
	inline    `json:",inline"`
	Items     []item            `json:"items,omitempty"`
	Level     level             `json:"level,omitempty"`
	On        *bool             `json:"on,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Any       any               `json:"any,omitempty"`
	Block     block             `json:"block,omitzero"`
	TokenFile string            `json:"tokenFile,omitempty"`
	hidden    string            //nolint:unused // it is there to be refused
}

func TestDecode(t *testing.T) {
	var d document
	err := Decode("f.yaml", []byte(`
color: red
items:
- name: a
- {name: b, size: 2}
level: high
on: false
labels: {x: "1"}
any: {a: [1, true]}
block: |
  one
  two
`), &d)
	if err != nil {
		t.Fatal(err)
	}
	off := false
	want := document{
		inline: inline{Color: "red"}, Items: []item{{"a", 0, 4}, {"b", 2, 5}}, Level: 3, On: &off,
		Labels: map[string]string{"x": "1"}, Any: map[string]any{"a": []any{1, true}}, Block: block{"one\ntwo\n", 11},
	}
	if diff := cmp.Diff(want, d, cmp.AllowUnexported(document{}, item{}, block{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                    {"", "f.yaml: is empty; want one YAML document"},
		"only a comment":             {"# x", "f.yaml: is empty"},
		"a list":                     {"- a", "f.yaml:1: want a mapping of keys, not a list"},
		"no YAML":                    {"a: b\nc: d: e", "f.yaml:2: no valid YAML: mapping values are not allowed"},
		"two documents":              {"color: red\n---\ncolor: blue", "a second document starts here; want exactly one"},
		"a broken second document":   {"color: red\n---\na: [", "no valid YAML"},
		"an unknown key":             {"colour: red", `f.yaml:1: unknown key "colour"; allowed are color, items, level, on, labels, any, block, tokenFile`},
		"a hidden field":             {"hidden: x", `unknown key "hidden"`},
		"an unknown key in a list":   {"items:\n- {name: a, weight: 1}", `f.yaml:2: unknown key "weight" in items; allowed are name, size`},
		"a repeated key":             {"color: red\ncolor: red", `f.yaml:2: key "color" repeats; it is already on line 1`},
		"a repeated key in a map":    {"labels:\n  a: x\n  a: y", `f.yaml:3: key "a" repeats`},
		"a merge key":                {"labels:\n  <<: {a: x}", `f.yaml:2: want a plain key`},
		"a missing key":              {"items:\n- {size: 1}", `f.yaml:2: key "name" is missing in items`},
		"a number for a text":        {"color: 12", `f.yaml:1: color: want a text, not a number (put it in quotes`},
		"nothing for a text":         {"color:", `color: want a text, not nothing`},
		"a text for a number":        {"items: [{name: a, size: big}]", `size: want a whole number, not a text`},
		"a fraction":                 {"items: [{name: a, size: 1.5}]", `size: want a whole number, not a number`},
		"yes for true":               {"on: yes", `on: want true or false, not a text`},
		"a mapping for a list":       {"items: {a: b}", `items: want a list, as in [a, b], not a mapping`},
		"a text for a struct":        {"items: [a]", `items: want a mapping with name or size, not a text`},
		"a text for a map":           {"labels: a", `labels: want a mapping of keys, not a text`},
		"another value than allowed": {"color: green", `color: "green" is not allowed; want red or blue`},
		"a type's own error":         {"level: low", `f.yaml:1: level: want high`},
		"a list for a level":         {"level: []", `level: want a text, not a list`},
		"an anchor":                  {"color: &a red", `an anchor or alias is not allowed here`},
		"an alias in a free value":   {"any: &a [1]", `an anchor or alias is not allowed here`},
		"a secret written out":       {"token: hunter2", `f.yaml:1: key "token": a secret is never written here; use tokenFile`},
		"more than one":              {"color: 1\nlevel: low", "f.yaml:1: color: want a text, not a number (put it in quotes if a text is meant)\nf.yaml:2: level: want high"},
		"too much":                   {"# " + strings.Repeat("x", MaxBytes), "f.yaml: has "},
	} {
		t.Run(name, func(t *testing.T) {
			var d document
			err := Decode("f.yaml", []byte(c.text), &d)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the error prints a value that may be a secret")
			}
			var one *Error
			if !errors.As(err, &one) || one.File != "f.yaml" {
				t.Errorf("no *Error with the file: %#v", err)
			}
		})
	}
}

func TestErrorsAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		text.WriteString(strings.Repeat("k", i+1) + ": 1\n")
	}
	var d document
	err := Decode("f.yaml", []byte(text.String()), &d)
	if n := strings.Count(err.Error(), "\n") + 1; n != maxErrors {
		t.Errorf("%d errors, want %d", n, maxErrors)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("color: red\nitems: [{name: a}]\nblock: |\n  x\n"))
	f.Add([]byte("any: &a [*a]"))
	f.Add([]byte("? {a: b}\n: c"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d document
		_ = Decode("f.yaml", data, &d)
	})
}
