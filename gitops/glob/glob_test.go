package glob

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "acd", false},
		{"?", "a", true}, {"?", "", false}, {"*a*b*", "xxaxxbxx", true}, {"*a*b", "ba", false}, {"[a]", "a", false},
	} {
		if got := Match(c.pattern, c.text); got != c.want {
			t.Errorf("%q on %q: got %t", c.pattern, c.text, got)
		}
	}
}
