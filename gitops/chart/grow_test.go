package chart_test

import (
	"errors"
	"strings"
	"testing"

	"holdfast/gitops/chart"
)

// TestValuesThatGrow: what shares its parts is small until it is written, or copied.
func TestValuesThatGrow(t *testing.T) {
	const (
		lists = `{{ $x := list "a" }}{{ range until 40 }}{{ $x = list $x $x }}{{ end }}`
		dicts = `{{ $x := dict "k" "v" }}{{ range until 40 }}{{ $x = dict "a" $x "b" $x }}{{ end }}`
		wide  = `{{ $x := list "a" }}{{ range until 20 }}{{ $x = list $x $x }}{{ end }}`
		deep  = `{{ $x := list "a" }}{{ range until 2000 }}{{ $x = list $x }}{{ end }}`
		round = `{{ $x := dict }}{{ $_ := set $x "x" $x }}`
	)
	type row struct{ name, text string }
	rows := []row{
		{"an action", lists + `{{ $x }}`},
		{"a value in a call", lists + `{{ $x | len | print $x }}`},
		{"more than one verb", wide + `{{ printf "%v%[1]v%[1]v%[1]v%[1]v%[1]v" $x }}`},
		{"a width for every entry", wide + `{{ printf "%1000v" $x | len }}`},
		{"a width that is an argument", wide + `{{ printf "%*v" 1000 $x | len }}`},
		{"a text that is joined", lists + `{{ join "," $x | len }}`},
		{"lists laid end to end", `{{ $x := list 1 }}{{ range until 40 }}{{ $x = concat $x $x }}{{ end }}{{ len $x }}`},
		{"dictionaries merged", dicts + `{{ merge (dict) $x | len }}`},
		{"a replacement for every match", `{{ $x := repeat 1000000 "a" }}{{ regexReplaceAll "a" $x $x | len }}`},
		{"matches repeated in their replacement", `{{ $x := repeat 1000000 "a" }}{{ regexReplaceAll ".*" $x (repeat 1000 "${0}") | len }}`},
		{"deep indentation", `{{ $x := until 100000 }}{{ range until 990 }}{{ $x = list $x }}{{ end }}{{ toYaml $x | len }}`},
		{"long keys in TOML", `{{ $k := repeat 100000 "k" }}{{ $x := dict "a" 1 }}{{ range until 900 }}{{ $x = dict $k $x }}{{ end }}{{ toToml $x | len }}`},
	}
	for _, call := range []string{"print", "println", `printf "%v"`, "toString", "quote", "squote", "toStrings", "cat", "html", "js", "urlquery", "int", "add 1",
		"toJson", "mustToJson", "toPrettyJson", "toRawJson", "toYaml", "mustToYaml", "toYamlPretty", "deepCopy"} {
		rows = append(rows, row{call + " of lists", lists + "{{ " + call + " $x | len }}"}, row{call + " of what is deep", deep + "{{ " + call + " $x | len }}"},
			row{call + " of what holds itself", round + "{{ " + call + " $x | len }}"})
	}
	for _, call := range []string{"toToml", "mustToToml", "toYaml", "toJson"} {
		rows = append(rows, row{call + " of dictionaries", dicts + "{{ " + call + " $x | len }}"})
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, _, err := render(t.Context(), one(r.text, ""), chart.Release{}, chart.First)
			if !errors.Is(err, chart.ErrLimit) || !strings.Contains(err.Error(), "more than 128 MiB") && !strings.Contains(err.Error(), "deeper than 1000 levels") {
				t.Errorf("error %v, want the limit of the output", err)
			}
		})
	}
	got, _, err := render(t.Context(), one(`{{ $x := list "a" }}{{ range until 10 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x | len }} {{ print $x | len }} {{ printf "%5d|%-4s" 7 "a" }}`, ""), chart.Release{}, chart.First)
	if err != nil || strings.TrimSpace(got) != "8189 6141     7|a" {
		t.Errorf("what is within the limit: %q, %v", got, err)
	}
}
