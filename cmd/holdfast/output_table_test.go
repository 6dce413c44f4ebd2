package main

import (
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

func TestWhatKeepsAnEngineFromCorrectingIsTold(t *testing.T) {
	night := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	app := detect.AssessedApplication{
		Application: gitops.Application{Cluster: "north", Namespace: "flux-system", Name: "shop", Engine: gitops.Flux},
		State:       detect.Rendered, Reason: "its last apply failed: dry run failed",
		Conditions: []detect.Condition{
			{Type: detect.Suspended, Since: night, Message: "spec.suspend", Writer: &detect.Writer{Manager: "kubectl-patch", User: "alice"}},
			{Type: detect.SwitchedOff, Message: "deny sync window"},
			{Type: detect.Failing, Since: night, Message: "dry run  failed"},
			{Type: detect.Stale, Message: "not reconciled for 3h, interval 10m"},
		},
	}
	var out strings.Builder
	table{w: &out}.applications(detect.Scan{Applications: []detect.AssessedApplication{app}})
	want := `note north/flux-system/shop: its last apply failed: dry run failed
suspended north/flux-system/shop since 2026-03-01 02:00 UTC (spec.suspend, by alice through kubectl-patch): flux does not correct it
switched-off north/flux-system/shop (deny sync window)
failing north/flux-system/shop since 2026-03-01 02:00 UTC
stale north/flux-system/shop: not reconciled for 3h, interval 10m
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

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
