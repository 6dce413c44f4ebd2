package propose

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/detect"
)

// runOf builds for one cluster alone, beside what the others found and planned, as it comes back from a store.
func runOf(t *testing.T, f *fixture, cluster string, elsewhere ...Elsewhere) ([]bot.Proposal, Elsewhere) {
	t.Helper()
	one := *f
	one.in.Scan.Applications, one.in.Scan.Findings = nil, nil
	for _, a := range f.in.Scan.Applications {
		if a.Application.Cluster == cluster {
			one.in.Scan.Applications = append(one.in.Scan.Applications, a)
		}
	}
	for _, finding := range f.in.Scan.Findings {
		if finding.Cluster == cluster {
			one.in.Scan.Findings = append(one.in.Scan.Findings, finding)
		}
	}
	one.in.Elsewhere, one.in.Planned = elsewhere, map[string]Plan{}
	proposals, _ := one.build(t)
	data, err := json.Marshal(Elsewhere{Scan: one.in.Scan, Plans: one.in.Planned, Shared: SharedOf(one.in.Scan)})
	if err != nil {
		t.Fatal(err)
	}
	var stored Elsewhere
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	return proposals, stored
}

func issuesOf(proposals []bot.Proposal) []bot.Proposal {
	var out []bot.Proposal
	for _, p := range proposals {
		if p.Kind == bot.AsIssue {
			out = append(out, p)
		}
	}
	return out
}

func TestEveryClustersRunWritesTheSameIssueOfARootCause(t *testing.T) {
	f := newFixture(t, "north", "south")
	for _, cluster := range []string{"south", "north"} {
		f.drift(cluster, "c", "x", "2", detect.Codify)
	}
	f.drift("south", "d", "x", "3", detect.Revert)
	alone, north := runOf(t, f, "north")
	if got := issuesOf(alone); len(got) != 1 || len(got[0].Findings) != 1 {
		t.Errorf("north alone: %q", lines(got))
	}
	fromSouth, south := runOf(t, f, "south", north)
	if diff := cmp.Diff([]string{
		"issue | Drift: ConfigMap a/c on 2 clusters | drift drift/medium drift/codify | 2",
		"issue | Drift: ConfigMap a/d on south | drift drift/medium drift/revert | 1",
	}, lines(issuesOf(fromSouth))); diff != "" {
		t.Error(diff)
	}
	fromNorth, _ := runOf(t, f, "north", south)
	if got := issuesOf(fromNorth); len(got) != 1 {
		t.Fatalf("north beside south: %q; want the root cause alone, not what only south has", lines(got))
	}
	a, b := issuesOf(fromNorth)[0], issuesOf(fromSouth)[0]
	if a.Key != b.Key || a.Hash != b.Hash {
		t.Errorf("north writes %s %s, south %s %s", a.Key, a.Hash, b.Key, b.Hash)
	}
	if diff := cmp.Diff(a.Body, b.Body); diff != "" {
		t.Errorf("the bodies differ:\n%s", diff)
	}
	if len(fromNorth) != 2 {
		t.Errorf("north proposes %q; want its own pull request and the issue", lines(fromNorth))
	}
}

// TestAnIssueGoesOnWhileItsDriftSpreadsAndChanges follows one drift over two clusters: as long as it is one root cause,
// it has the thread that it began with.
func TestAnIssueGoesOnWhileItsDriftSpreadsAndChanges(t *testing.T) {
	f := newFixture(t, "north", "south")
	one := func(cluster, live string) Elsewhere {
		f.in.Scan.Findings = nil
		f.drift(cluster, "c", "x", live, detect.Revert)
		_, kept := runOf(t, f, cluster)
		return kept
	}
	key := func(cluster, live string, elsewhere ...Elsewhere) string {
		t.Helper()
		f.in.Scan.Findings = nil
		f.drift(cluster, "c", "x", live, detect.Revert)
		proposals, _ := runOf(t, f, cluster, elsewhere...)
		if got := issuesOf(proposals); len(got) == 1 {
			f.in.Threads = append(f.in.Threads[:0:0], opened(got[0]))
			return got[0].Key
		}
		t.Fatalf("%q, want one issue", lines(issuesOf(proposals)))
		return ""
	}
	none := Elsewhere{}
	first := key("north", "2", none)
	for name, got := range map[string]string{
		"it spread":                      key("south", "2", one("north", "2")),
		"north sees the same":            key("north", "2", one("south", "2")),
		"it changed on both":             key("south", "3", one("north", "3")),
		"north's engine undid it":        key("south", "3", none),
		"it is back there":               key("north", "3", one("south", "3")),
		"and south's engine undid it":    key("north", "3", none),
		"then it is another value there": key("north", "4", none),
	} {
		if got != first {
			t.Errorf("%s: another issue, %s in place of %s", name, got, first)
		}
	}
	key("south", "4", one("north", "4")) // both again
	if got := key("south", "5", one("north", "4")); got == first {
		t.Error("another value on one cluster is another root cause: want another issue, beside the one that north goes on with")
	}
}
