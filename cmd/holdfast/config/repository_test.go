package config

import (
	"testing"

	"holdfast/detect"
)

func TestTheTierOfAPolicyIsTheStrictestOfItsClusters(t *testing.T) {
	for name, c := range map[string]struct {
		tiers []detect.Tier // of the clusters a-0, a-1 and so on
		all   detect.Tier
		names []string
		want  detect.Tier
	}{
		"one cluster":                     {[]detect.Tier{detect.Dev}, "", []string{"a-0"}, detect.Dev},
		"the strictest of several":        {[]detect.Tier{detect.Dev, detect.Regulated, detect.Production}, "", []string{"a-*"}, detect.Regulated},
		"those that may not name it":      {[]detect.Tier{detect.Staging, detect.Regulated}, "", []string{"a-0"}, detect.Staging},
		"the tier of those without one":   {[]detect.Tier{""}, detect.Staging, []string{"*"}, detect.Staging},
		"production without any":          {[]detect.Tier{""}, "", []string{"*"}, detect.Production},
		"disaster recovery is production": {[]detect.Tier{detect.DR, detect.Staging}, "", []string{"*"}, detect.Production},
		"no cluster at all":               {nil, "", []string{"*"}, detect.Production},
	} {
		config := Config{Tier: c.all}
		for i, tier := range c.tiers {
			config.Clusters = append(config.Clusters, Cluster{Name: "a-" + string(rune('0'+i)), Tier: tier})
		}
		if got := config.TierFor(Repository{Clusters: c.names}); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestDashboardAndOnboardingAreOnUnlessSwitchedOff(t *testing.T) {
	off := false
	if r := (Repository{}); !r.Lists() || !r.Onboards() {
		t.Error("off by default")
	}
	if r := (Repository{DashboardIssue: &off, Onboarding: &off}); r.Lists() || r.Onboards() {
		t.Error("on though switched off")
	}
}
