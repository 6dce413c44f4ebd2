package propose

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
)

// pulls gives the pull requests of proposals.
func pulls(proposals []bot.Proposal) []bot.Proposal {
	var out []bot.Proposal
	for _, p := range proposals {
		if p.Kind == bot.AsPullRequest {
			out = append(out, p)
		}
	}
	return out
}

// opened is the thread that a proposal became.
func opened(p bot.Proposal) bot.Thread {
	return bot.Thread{Kind: p.Kind, Number: 1, State: bot.Open, Title: p.Title, Body: p.Body, Labels: p.Labels, Branch: p.Branch}
}

// TestWhatClustersShareIsOnePullRequest follows the rounds of two clusters, each of which knows the other by what is
// kept of it.
func TestWhatClustersShareIsOnePullRequest(t *testing.T) {
	f := environments(t, "eu", "us")
	f.drift("eu", "c", "x", "2", detect.Codify, narrow)
	f.drift("us", "c", "x", "2", detect.Codify, narrow)

	alone, us := runOf(t, f, "us") // the first round: of eu nothing is known
	if diff := cmp.Diff([]string{"Codify ConfigMap a/c x of shop on us: us/kustomization.yaml us/patch-configmap-c.yaml"}, files(alone)); diff != "" {
		t.Fatal(diff)
	}
	fromEU, eu := runOf(t, f, "eu", us)
	fromUS, us := runOf(t, f, "us", eu)
	again, _ := runOf(t, f, "eu", us)
	want := []string{"Codify 2 changes of shop on 2 clusters: base/c.yaml"}
	for name, run := range map[string][]bot.Proposal{"eu": fromEU, "us": fromUS, "eu again": again} {
		if diff := cmp.Diff(want, files(run)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		a, b := pulls(run)[0], pulls(fromUS)[0]
		if a.Key != b.Key || a.Hash != b.Hash || a.Branch != b.Branch || a.Body != b.Body {
			t.Errorf("%s writes another pull request: %s %s %s, want %s %s %s", name, a.Key, a.Hash, a.Branch, b.Key, b.Hash, b.Branch)
		}
	}
	if a, b := issuesOf(fromUS)[0], issuesOf(again)[0]; a.Body != b.Body || a.Key != b.Key {
		t.Errorf("the issues differ:\n%s", cmp.Diff(a.Body, b.Body))
	}

	t.Run("a pull request that is open already is joined", func(t *testing.T) {
		f.in.Threads = []bot.Thread{opened(pulls(alone)[0])}
		defer func() { f.in.Threads = nil }()
		joined, _ := runOf(t, f, "eu", us)
		if got := pulls(joined); len(got) != 1 || got[0].Key != pulls(alone)[0].Key || got[0].Branch != pulls(alone)[0].Branch {
			t.Errorf("got %q, want the pull request of us, about both", lines(got))
		}
	})
	t.Run("where one engine undid it, the other goes on with the pull request of both", func(t *testing.T) {
		f.in.Threads = []bot.Thread{opened(pulls(fromUS)[0])}
		all := f.in.Scan.Findings
		defer func() { f.in.Threads, f.in.Scan.Findings = nil, all }()
		f.in.Scan.Findings = all[1:] // of us
		_, eu := runOf(t, f, "eu")
		left, _ := runOf(t, f, "us", eu)
		if got := pulls(left); len(got) != 1 || got[0].Key != pulls(fromUS)[0].Key || got[0].Branch != pulls(fromUS)[0].Branch {
			t.Errorf("got %q, want no second pull request", lines(got))
		}
	})
	t.Run("another value on the other cluster is another pull request", func(t *testing.T) {
		all := f.in.Scan.Findings
		defer func() { f.in.Scan.Findings = all }()
		f.in.Scan.Findings = all[:1]
		f.drift("us", "c", "x", "3", detect.Codify, narrow)
		_, us := runOf(t, f, "us")
		fromEU, _ := runOf(t, f, "eu", us)
		if diff := cmp.Diff([]string{"Codify ConfigMap a/c x of shop on eu: eu/kustomization.yaml eu/patch-configmap-c.yaml"}, files(fromEU)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhatIsKeptForOtherClustersHoldsNoSecret(t *testing.T) {
	f := environments(t, "eu", "us")
	f.drift("eu", "c", "x", "2", detect.Codify)
	app := &f.in.Scan.Applications[0].Application
	from := gitops.SubstituteFrom{Kind: "ConfigMap", Name: "c", Known: true, Values: map[string]string{"a": "open"}}
	app.Render.Kustomize.PostBuild = &gitops.PostBuild{SubstituteFrom: []gitops.SubstituteFrom{from}}
	if got := SharedOf(f.in.Scan); len(got) != 1 {
		t.Fatalf("with a ConfigMap %d are kept, want 1", len(got))
	}
	from.Kind, from.Values = "Secret", map[string]string{"a": "hidden"}
	app.Render.Kustomize.PostBuild.SubstituteFrom = append(app.Render.Kustomize.PostBuild.SubstituteFrom, from)
	data, err := json.Marshal(SharedOf(f.in.Scan))
	if err != nil || strings.Contains(string(data), "hidden") || string(data) != "null" {
		t.Errorf("with a Secret: %s, %v", data, err)
	}
	app.Render = gitops.Render{Helm: &gitops.Helm{Values: []gitops.Values{{Inline: map[string]any{"n": 3}}}}}
	if got := SharedOf(f.in.Scan); len(got) != 1 {
		t.Fatalf("with inline values %d are kept, want 1", len(got))
	}
	app.Render.Helm.Values = append(app.Render.Helm.Values, gitops.Values{From: &gitops.ValuesFrom{Kind: "Secret", Known: true, Text: "hidden"}})
	if got := SharedOf(f.in.Scan); len(got) != 0 {
		t.Errorf("with values of a Secret: %+v", got)
	}
}

func TestNumbersComeBackFromTheStoreAsTheyWere(t *testing.T) {
	values := map[string]any{"n": int64(3), "f": 1.5, "list": []any{int64(1), "x"}, "deep": map[string]any{"big": int64(1) << 40}}
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	got := wholeNumbers(&gitops.Helm{Values: []gitops.Values{{Inline: back}}})
	if diff := cmp.Diff(values, got.Values[0].Inline); diff != "" {
		t.Error(diff)
	}
}
