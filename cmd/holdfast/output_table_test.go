package main

import (
	"strings"
	"testing"

	"holdfast/gitops"
)

func TestValuesShowWhereTheyDiffer(t *testing.T) {
	long := strings.Repeat("key = value\n", 20)
	for _, c := range []struct {
		name      string
		git, live gitops.Value
		a, b      string
	}{
		{"short ones stand whole", gitops.Present("500Mi"), gitops.Present("500M"), "500Mi", "500M"},
		{"an absent one is a dash", gitops.Value{}, gitops.Present(true), "–", "true"},
		{"an empty one is told from an absent one", gitops.Present([]any{}), gitops.Value{}, "[]", "–"},
		{"the end of an image tells it apart", gitops.Present("registry.example.test/shop/api:2.4.1"), gitops.Present("registry.example.test/shop/api:2.4.2"), "registry.…est/shop/api:2.4.1", "registry.…est/shop/api:2.4.2"},
		{"long texts are cut to the difference", gitops.Present(long + "retries = 10" + long), gitops.Present(long + "retries = 20" + long), "10", "20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := values(c.git, c.live)
			if !strings.Contains(a, c.a) || !strings.Contains(b, c.b) || a == b {
				t.Errorf("got %q and %q, want %q and %q in them", a, b, c.a, c.b)
			}
			for _, text := range []string{a, b} {
				if n := len([]rune(text)); n > maxValue {
					t.Errorf("%q has %d characters, want at most %d", text, n, maxValue)
				}
			}
		})
	}
}
