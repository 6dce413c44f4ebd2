package propose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
)

// environments gives the fixture's clusters a base and an overlay each, named as they are.
func environments(t *testing.T, clusters ...string) *fixture {
	t.Helper()
	f := newFixture(t, clusters...)
	files := map[string]gitops.File{
		"base/kustomization.yaml": {Data: []byte("resources:\n- c.yaml\n- d.yaml\n")},
		"base/c.yaml":             {Data: []byte(strings.ReplaceAll(configMap, "%s", "c"))},
		"base/d.yaml":             {Data: []byte(strings.ReplaceAll(configMap, "%s", "d"))},
	}
	for _, cluster := range clusters {
		files[cluster+"/kustomization.yaml"] = gitops.File{Data: []byte("# " + cluster + "\nresources:\n- ../base\n")}
	}
	tree := gitops.NewTree(files)
	for i := range f.in.Scan.Applications {
		app := &f.in.Scan.Applications[i].Application
		app.Source.Path, app.Render.Kustomize = app.Cluster, &gitops.Kustomize{}
		f.sources[app.ID()] = Source{Repo: app.Source.Repo, Base: "main", BaseCommit: "c0ffee", Tree: tree}
	}
	return f
}

func narrow(f *detect.Finding) { f.Fields[0].AllowWide = false }

// files gives a line a pull request: its branch's base, title and changed files.
func files(proposals []bot.Proposal) []string {
	var out []string
	for _, p := range proposals {
		if p.Kind != bot.AsPullRequest {
			continue
		}
		var names []string
		for _, f := range p.Files {
			names = append(names, f.Path)
		}
		out = append(out, p.Title+": "+strings.Join(names, " "))
	}
	return out
}

func TestWhereTheSameDriftGoes(t *testing.T) {
	scope := func(s gitops.Scope) func(*detect.Finding) {
		return func(f *detect.Finding) { f.Fields[0].Grant = detect.Grant{Scope: s} }
	}
	for name, c := range map[string]struct {
		drifts func(*fixture)
		want   []string
	}{
		"in one environment it goes to its overlay": {func(f *fixture) {
			f.drift("eu", "c", "x", "2", detect.Codify, narrow)
		}, []string{"Codify ConfigMap a/c x of shop on eu: eu/kustomization.yaml eu/patch-configmap-c.yaml"}},
		"in all of them to the base, in one pull request": {func(f *fixture) {
			f.drift("eu", "c", "x", "2", detect.Codify, narrow)
			f.drift("us", "c", "x", "2", detect.Codify, narrow)
		}, []string{"Codify 2 changes of shop on 2 clusters: base/c.yaml"}},
		"with another value each, to the overlays": {func(f *fixture) {
			f.drift("eu", "c", "x", "2", detect.Codify, narrow)
			f.drift("us", "c", "x", "3", detect.Codify, narrow)
		}, []string{
			"Codify ConfigMap a/c x of shop on eu: eu/kustomization.yaml eu/patch-configmap-c.yaml",
			"Codify ConfigMap a/c x of shop on us: us/kustomization.yaml us/patch-configmap-c.yaml",
		}},
		"what each has beside goes to its overlay, in the same pull request": {func(f *fixture) {
			f.drift("eu", "c", "x", "2", detect.Codify, narrow)
			f.drift("us", "c", "x", "2", detect.Codify, narrow)
			f.drift("us", "d", "z", "7", detect.Codify, narrow)
		}, []string{"Codify 3 changes of shop on 2 clusters: base/c.yaml us/kustomization.yaml us/patch-configmap-d.yaml"}},
		"policy may keep it in the overlays": {func(f *fixture) {
			f.drift("eu", "c", "x", "2", detect.Codify, scope(gitops.ScopeOverlay))
			f.drift("us", "c", "x", "2", detect.Codify, scope(gitops.ScopeOverlay))
		}, []string{"Codify 2 changes of shop on 2 clusters: eu/kustomization.yaml eu/patch-configmap-c.yaml us/kustomization.yaml us/patch-configmap-c.yaml"}},
		"policy may want it in the base, although the others then take it": {func(f *fixture) {
			f.drift("eu", "c", "x", "2", detect.Codify, scope(gitops.ScopeBase))
		}, []string{"Codify ConfigMap a/c x of shop on eu: base/c.yaml"}},
		"what policy grants to one field is not another's": {func(f *fixture) {
			f.drift("eu", "c", "x", "2", detect.Codify, scope(gitops.ScopeBase))
			f.drift("eu", "d", "x", "2", detect.Codify, narrow)
		}, []string{"Codify 2 changes of shop on eu: base/c.yaml eu/kustomization.yaml eu/patch-configmap-d.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := environments(t, "eu", "us")
			c.drifts(f)
			proposals, skipped := f.build(t)
			if diff := cmp.Diff(c.want, files(proposals)); diff != "" || len(skipped) > 0 {
				t.Errorf("%s\nskipped %+v", diff, skipped)
			}
			for _, p := range proposals {
				if p.Kind == bot.AsPullRequest && (!p.Proof.Verified || len(p.Proof.Applications) == 0) {
					t.Errorf("%s: proof %+v", p.Title, p.Proof)
				}
			}
		})
	}
}

func TestAJointPullRequestIsTheFirstOnesThread(t *testing.T) {
	f := environments(t, "eu", "us")
	f.drift("eu", "c", "x", "2", detect.Codify, narrow)
	alone, _ := f.build(t)
	f.drift("us", "c", "x", "2", detect.Codify, narrow)
	both, _ := f.build(t)
	if alone[0].Key != both[0].Key || alone[0].Hash == both[0].Hash {
		t.Error("when a drift spreads, its pull request is updated in place")
	}
	if !strings.Contains(both[0].Body, "on cluster `eu`, `us/flux-system/shop`") {
		t.Errorf("the body does not name the second Application:\n%s", both[0].Body)
	}
	if len(both[0].Proof.Applications) != 2 {
		t.Errorf("proof %+v", both[0].Proof)
	}
}

func TestAClusterThatCannotBeReadMakesTheProofIncomplete(t *testing.T) {
	f := environments(t, "eu", "us")
	f.in.Scan.Unknown = []detect.UnknownObject{{Cluster: "dr", Reason: "no answer"}, {Cluster: "us", Application: "flux-system/shop", Reason: "a file"}}
	f.drift("eu", "c", "x", "2", detect.Codify, narrow)
	proposals, _ := f.build(t)
	p := proposals[0].Proof
	if p.Complete || len(p.Unproven) != 1 || p.Unproven[0].Cluster != "dr" || !strings.Contains(proposals[0].Body, "no answer") {
		t.Errorf("proof %+v", p)
	}
}

func TestWhatIsPlacedIsProposedAndTheRestIsListed(t *testing.T) {
	f := environments(t, "eu", "us")
	f.drift("eu", "c", "x", "2", detect.Codify, narrow)
	status := detect.Field{
		Path: gitops.Path{gitops.Field("status"), gitops.Field("a")}, Live: gitops.Present("1"), Drift: true, Disposition: detect.Codify, Rule: "test",
	}
	f.in.Scan.Findings[0].Fields = append(f.in.Scan.Findings[0].Fields, status)
	proposals, skipped := f.build(t)
	if len(proposals) != 2 || len(skipped) != 1 || skipped[0].Path != "status.a" {
		t.Fatalf("got %v, skipped %+v", lines(proposals), skipped)
	}
	if !strings.Contains(proposals[0].Body, "## What it does not") || !strings.Contains(proposals[0].Body, "status.a") {
		t.Errorf("the pull request does not list what it leaves out:\n%s", proposals[0].Body)
	}
	if !strings.Contains(proposals[1].Body, "proposed in a pull request") || !strings.Contains(proposals[1].Body, "not possible for status.a") {
		t.Errorf("the issue does not tell both:\n%s", proposals[1].Body)
	}
}

func TestAFieldThatLeavesGit(t *testing.T) {
	f := newFixture(t, "one")
	f.drift("one", "c", "x", "2", detect.Codify, func(f *detect.Finding) { f.Fields[0].Leaves = "HorizontalPodAutoscaler c sets it" })
	// One that is no drift leaves where policy says so, and has no issue.
	f.drift("one", "d", "z", "2", detect.Codify, func(f *detect.Finding) {
		f.Drift, f.Fields[0].Drift, f.Fields[0].Leaves = false, false, "HorizontalPodAutoscaler d sets it"
	})
	proposals, skipped := f.build(t)
	if len(proposals) != 2 || len(skipped) != 0 {
		t.Fatalf("got %v, skipped %+v", lines(proposals), skipped)
	}
	for _, file := range proposals[0].Files {
		gone := map[string]string{"app/c.yaml": "  x:", "app/d.yaml": "  z:"}[file.Path]
		if gone == "" || strings.Contains(string(file.After), gone) {
			t.Errorf("%s:\n%s", file.Path, file.After)
		}
	}
	if !strings.Contains(proposals[0].Body, "HorizontalPodAutoscaler d sets it") {
		t.Errorf("the body does not say why:\n%s", proposals[0].Body)
	}
}
