package gitops

import "testing"

func TestMessagesOfParsersQuoteNoValue(t *testing.T) {
	for message, want := range map[string]string{
		"line 3: cannot decode !!str `hunter2` as a !!int":                          "line 3: cannot decode !!str as a !!int",
		"yaml: unmarshal errors:\n  line 1: cannot decode !!str `a`b\n` as a !!int": "yaml: unmarshal errors:\n  line 1: cannot decode !!str as a !!int",
		`invalid map key: []interface {}{"hunter2"}`:                                "invalid map key",
		`strconv.ParseFloat: parsing "hunter2": invalid syntax`:                     "strconv.ParseFloat: invalid syntax",
		"line 2: did not find expected ',' or '}'":                                  "line 2: did not find expected ',' or '}'",
	} {
		if got := WithoutValues(message); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
