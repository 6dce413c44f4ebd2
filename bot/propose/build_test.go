package propose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// fixture is a repository of one folder, and what drifted of it on some clusters.
type fixture struct {
	in      Input
	sources map[string]Source
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: a}\ndata:\n  x: \"1\" # kept\n  z: \"1\"\n"

func newFixture(t *testing.T, clusters ...string) *fixture {
	t.Helper()
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	tree := gitops.NewTree(map[string]gitops.File{
		"app/c.yaml": {Data: fmt.Appendf(nil, configMap, "c")}, "app/d.yaml": {Data: fmt.Appendf(nil, configMap, "d")},
	})
	f := &fixture{sources: map[string]Source{}}
	for _, cluster := range clusters {
		app := gitops.Application{
			Cluster: cluster, Namespace: "flux-system", Name: "shop", Engine: gitops.Flux, Kind: "Kustomization", Ready: true,
			Interval: 10 * time.Minute, Managers: []gitops.Manager{{Name: "kustomize-controller"}},
			Source: gitops.Source{Repo: "https://git.example/shop", Path: "app", Branch: "main", Applied: "c0ffee"},
		}
		f.in.Scan.Applications = append(f.in.Scan.Applications, detect.AssessedApplication{Application: app, State: detect.Rendered})
		f.sources[app.ID()] = Source{Repo: app.Source.Repo, Base: "main", BaseCommit: "c0ffee", Tree: tree}
	}
	f.in.Now, f.in.Schemas = noon, schemas
	f.in.Source = func(_ context.Context, app gitops.Application) (Source, error) { return f.sources[app.ID()], nil }
	f.in.Render = func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
		return render.Render(ctx, tree, app.Source.Path, app.Render, render.Env{})
	}
	f.in.Fleet = func(gitops.Tree, string) []gitops.Application {
		var out []gitops.Application
		for _, a := range f.in.Scan.Applications {
			out = append(out, a.Application)
		}
		return out
	}
	f.in.Policy = func(gitops.Application, gitops.Tree) (*policy.Policy, error) {
		return policy.Builtin(detect.Production), nil
	}
	return f
}

// drift adds a drifting field of ConfigMap a/name, seen a day ago.
func (f *fixture) drift(cluster, name, key, live string, d detect.Disposition, change ...func(*detect.Finding)) {
	object := detect.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: name}
	one := detect.Finding{
		ID: detect.FindingID(cluster, "flux-system/shop", object.ID()), Cluster: cluster, Application: "flux-system/shop",
		Object: object, Presence: detect.Both, Drift: true, Cause: detect.CauseManual, Disposition: d, Risk: detect.Medium,
		Rule: "test", FirstSeen: noon.Add(-24 * time.Hour), Fingerprint: detect.Digest(cluster, name, key, live)[:16],
		Live: &gitops.Object{},
		Fields: []detect.Field{{
			Path: gitops.Path{gitops.Field("data"), gitops.Field(key)}, Git: gitops.Present("1"), Live: gitops.Present(live),
			Differs: true, Drift: true, Cause: detect.CauseManual, Kind: detect.Changed, Disposition: d, Risk: detect.Medium, Rule: "test",
			Writer: &detect.Writer{Manager: "kubectl-edit", Confidence: detect.ByManager},
			Grant:  detect.Grant{AllowWide: true}, // the base is shared by the clusters of a test
		}},
	}
	content := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "a"}, "data": map[string]any{"x": "1", "z": "1"}}
	content["data"].(map[string]any)[key] = live
	*one.Live = gitops.NewObject(content)
	for _, c := range change {
		c(&one)
	}
	f.in.Scan.Findings = append(f.in.Scan.Findings, one)
}

func (f *fixture) build(t *testing.T) ([]bot.Proposal, []Skipped) {
	t.Helper()
	proposals, skipped, err := Build(t.Context(), f.in)
	if err != nil {
		t.Fatal(err)
	}
	return proposals, skipped
}

// lines gives a line a proposal: kind, title, labels, and the number of its findings.
func lines(proposals []bot.Proposal) []string {
	var out []string
	for _, p := range proposals {
		out = append(out, fmt.Sprintf("%s | %s | %s | %d", p.Kind, p.Title, strings.Join(p.Labels, " "), len(p.Findings)))
	}
	return out
}

func TestBuild(t *testing.T) {
	high := func(f *detect.Finding) { f.Risk = detect.High }
	fresh := func(f *detect.Finding) { f.FirstSeen = noon.Add(-time.Minute) }
	for name, c := range map[string]struct {
		clusters []string
		drifts   func(*fixture)
		want     []string
		skipped  []string
	}{
		"no drift, nothing": {clusters: []string{"one"}, drifts: func(*fixture) {}},
		"codify and revert of one Application are a pull request each, and each object has its issue": {
			[]string{"one"}, func(f *fixture) {
				f.drift("one", "c", "x", "2", detect.Codify)
				f.drift("one", "d", "x", "2", detect.Revert, high)
			}, []string{
				"pull-request | Revert ConfigMap a/d x of shop on one to Git | drift drift/high drift/revert | 1",
				"pull-request | Codify ConfigMap a/c x of shop on one | drift drift/medium drift/codify | 1",
				"issue | Drift: ConfigMap a/d on one | drift drift/high drift/revert | 1",
				"issue | Drift: ConfigMap a/c on one | drift drift/medium drift/codify | 1",
			}, nil,
		},
		"several codifies are one pull request": {
			[]string{"one"}, func(f *fixture) {
				f.drift("one", "c", "x", "2", detect.Codify)
				f.drift("one", "d", "z", "2", detect.Codify)
			}, []string{
				"pull-request | Codify 2 changes of shop on one | drift drift/medium drift/codify | 2",
				"issue | Drift: ConfigMap a/c on one | drift drift/medium drift/codify | 1",
				"issue | Drift: ConfigMap a/d on one | drift drift/medium drift/codify | 1",
			}, nil,
		},
		"the same change on two clusters is one issue, as weighty as the weightiest": {
			[]string{"one", "two"}, func(f *fixture) {
				f.drift("one", "c", "x", "2", detect.AsIssue)
				f.drift("two", "c", "x", "2", detect.AsIssue, high)
			}, []string{"issue | Drift: ConfigMap a/c on 2 clusters | drift drift/high drift/issue | 2"}, nil,
		},
		"another change on the second cluster is another issue": {
			[]string{"one", "two"}, func(f *fixture) {
				f.drift("one", "c", "x", "2", detect.AsIssue)
				f.drift("two", "c", "x", "3", detect.AsIssue)
			}, []string{
				"issue | Drift: ConfigMap a/c on one | drift drift/medium drift/issue | 1",
				"issue | Drift: ConfigMap a/c on two | drift drift/medium drift/issue | 1",
			}, nil,
		},
		"hidden values are not taken for the same": {
			[]string{"one", "two"}, func(f *fixture) {
				masked := func(f *detect.Finding) {
					f.Fields[0].Masked, f.Fields[0].Git.V, f.Fields[0].Live.V = true, "<secret>", "<secret>"
				}
				f.drift("one", "c", "x", "2", detect.AsIssue, masked)
				f.drift("two", "c", "x", "2", detect.AsIssue, masked)
			}, []string{
				"issue | Drift: ConfigMap a/c on one | drift drift/medium drift/issue | 1",
				"issue | Drift: ConfigMap a/c on two | drift drift/medium drift/issue | 1",
			}, nil,
		},
		"clusters of other repositories have issues of their own": {
			[]string{"one", "two"}, func(f *fixture) {
				f.in.Scan.Applications[1].Application.Source.Repo = "https://git.example/other"
				f.drift("one", "c", "x", "2", detect.AsIssue)
				f.drift("two", "c", "x", "2", detect.AsIssue)
			}, []string{
				"issue | Drift: ConfigMap a/c on one | drift drift/medium drift/issue | 1",
				"issue | Drift: ConfigMap a/c on two | drift drift/medium drift/issue | 1",
			}, nil,
		},
		"a revert waits while the engine heals": {
			[]string{"one"}, func(f *fixture) { f.drift("one", "c", "x", "2", detect.Revert, fresh) },
			[]string{"issue | Drift: ConfigMap a/c on one | drift drift/medium drift/revert | 1"}, nil,
		},
		"a suspended Application is not reverted by a commit": {
			[]string{"one"}, func(f *fixture) {
				f.in.Scan.Applications[0].Application.Suspended = true
				f.drift("one", "c", "x", "2", detect.Revert)
			}, []string{"issue | Drift: ConfigMap a/c on one | drift drift/medium drift/revert | 1"},
			[]string{"the Application is suspended: resume it, then a new revision is applied"},
		},
		"a source that follows a tag takes no commit": {
			[]string{"one"}, func(f *fixture) {
				f.sources["one/flux-system/shop"] = Source{Reason: "it follows a tag"}
				f.drift("one", "c", "x", "2", detect.Codify)
			}, []string{"issue | Drift: ConfigMap a/c on one | drift drift/medium drift/codify | 1"}, []string{"it follows a tag"},
		},
		"what the head does not declare is not codified": {
			[]string{"one"}, func(f *fixture) { f.drift("one", "gone", "x", "2", detect.Codify) },
			[]string{"issue | Drift: ConfigMap a/gone on one | drift drift/medium drift/codify | 1"},
			[]string{"the head of main does not declare it any more"},
		},
		"of a shared base that is codified for which policy allows to move others": {
			[]string{"one", "two"}, func(f *fixture) {
				narrow := func(f *detect.Finding) { f.Fields[0].AllowWide = false }
				f.drift("one", "c", "x", "2", detect.Codify)
				f.drift("one", "d", "x", "2", detect.Codify, narrow)
			}, []string{
				"pull-request | Codify ConfigMap a/c x of shop on one | drift drift/medium drift/codify | 1",
				"issue | Drift: ConfigMap a/c on one | drift drift/medium drift/codify | 1",
				"issue | Drift: ConfigMap a/d on one | drift drift/medium drift/codify | 1",
			}, []string{"*"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, c.clusters...)
			c.drifts(f)
			proposals, skipped := f.build(t)
			if diff := cmp.Diff(c.want, lines(proposals)); diff != "" {
				t.Error(diff)
			}
			if len(skipped) != len(c.skipped) {
				t.Fatalf("skipped %+v", skipped)
			}
			for i, s := range skipped {
				if c.skipped[i] != "*" && s.Reason != c.skipped[i] {
					t.Errorf("skipped: %q, want %q", s.Reason, c.skipped[i])
				}
			}
		})
	}
}

func TestKeysStayAndHashesFollowTheContent(t *testing.T) {
	at := func(now time.Time, live string) []bot.Proposal {
		f := newFixture(t, "one")
		f.in.Now = now
		f.drift("one", "c", "x", live, detect.Codify)
		f.drift("one", "d", "x", live, detect.Revert)
		proposals, _ := f.build(t)
		return proposals
	}
	first, later, other := at(noon, "2"), at(noon.Add(240*time.Hour), "2"), at(noon, "3")
	if len(first) != 4 {
		t.Fatalf("got %v", lines(first))
	}
	keys := map[string]bool{}
	for i, p := range first {
		keys[p.Key] = true
		if later[i].Key != p.Key || later[i].Hash != p.Hash || later[i].Branch != p.Branch {
			t.Errorf("%s: time alone changed key, hash or branch", p.Title)
		}
		if other[i].Key != p.Key || other[i].Hash == p.Hash {
			t.Errorf("%s: another value keeps the key and changes the hash", p.Title)
		}
		key, hash, ok := bot.ParseMarker(p.Body)
		if !ok || key != p.Key || hash != p.Hash {
			t.Errorf("%s: the body's marker says %s %s", p.Title, key, hash)
		}
	}
	if len(keys) != len(first) {
		t.Errorf("%d proposals share %d keys", len(first), len(keys))
	}
}

func TestOneObjectMayHaveTwoFindings(t *testing.T) {
	f := newFixture(t, "one")
	f.drift("one", "c", "x", "2", detect.AsIssue)
	f.drift("one", "c", "x", "2", detect.AsIssue, func(f *detect.Finding) {
		f.ID, f.ObjectLevel, f.Cause, f.Fields = detect.Digest(f.ID)[:12], true, detect.CauseNone, nil
	})
	proposals, _ := f.build(t)
	if len(proposals) != 2 || proposals[0].Key == proposals[1].Key {
		t.Errorf("got %v", lines(proposals))
	}
}

func TestARootCauseKeepsItsThreadWhenOneClusterIsLeft(t *testing.T) {
	f := newFixture(t, "one", "two")
	f.drift("one", "c", "x", "2", detect.AsIssue)
	f.drift("two", "c", "x", "2", detect.AsIssue)
	both, _ := f.build(t)
	f.in.Scan.Findings = f.in.Scan.Findings[:1]
	alone, _ := f.build(t)
	if alone[0].Key == both[0].Key {
		t.Error("without a thread, a drift of one cluster has a key of its own")
	}
	f.in.Threads = []bot.Thread{{Kind: bot.AsIssue, Number: 1, State: bot.Open, Body: both[0].Body}}
	left, _ := f.build(t)
	if left[0].Key != both[0].Key {
		t.Error("the open thread about both is not kept for the one that is left")
	}
}

func TestPullRequestOfACodify(t *testing.T) {
	f := newFixture(t, "Prod.EU_1")
	f.drift("Prod.EU_1", "c", "x", "2", detect.Codify)
	proposals, _ := f.build(t)
	p := proposals[0]
	if !strings.HasPrefix(p.Branch, "holdfast/codify/prod-eu-1-shop-") || p.Base != "main" || p.BaseCommit != "c0ffee" {
		t.Errorf("branch %s to %s at %s", p.Branch, p.Base, p.BaseCommit)
	}
	if len(p.Files) != 1 || string(p.Files[0].After) != strings.Replace(fmt.Sprintf(configMap, "c"), `x: "1"`, `x: "2"`, 1) {
		t.Errorf("files %+v", p.Files)
	}
	if p.Proof == nil || !p.Proof.Verified || !p.Proof.Complete {
		t.Errorf("proof %+v", p.Proof)
	}
	if !strings.Contains(p.Message, "\nHoldfast-Key: "+p.Key+"\n") {
		t.Errorf("message without its key:\n%s", p.Message)
	}
}

func TestBodiesFit(t *testing.T) {
	f := newFixture(t, "one")
	f.drift("one", "c", "x", "2", detect.AsIssue, func(f *detect.Finding) {
		for i := range 3000 {
			field := f.Fields[0]
			field.Path = gitops.Path{gitops.Field("data"), gitops.Field(fmt.Sprintf("key-%d", i))}
			f.Fields = append(f.Fields, field)
		}
	})
	proposals, _ := f.build(t)
	if n := len([]rune(proposals[0].Body)); n > 65536 {
		t.Errorf("the body has %d characters", n)
	}
	if _, _, ok := bot.ParseMarker(proposals[0].Body); !ok {
		t.Error("the cut took the marker")
	}
}

func TestAnOverrideReplacesPolicy(t *testing.T) {
	f := newFixture(t, "one")
	f.in.Override = detect.Codify
	f.drift("one", "c", "x", "2", detect.Revert)
	proposals, _ := f.build(t)
	if proposals[0].Disposition != detect.Codify || len(proposals) != 2 || proposals[1].Disposition != detect.Codify {
		t.Errorf("got %v", lines(proposals))
	}
}

func TestARevertRecordRendersNothing(t *testing.T) {
	f := newFixture(t, "one")
	f.drift("one", "c", "x", "2", detect.Revert)
	proposals, _ := f.build(t)
	p := proposals[0]
	if p.Disposition != detect.Revert || len(p.Files) != 1 || !strings.HasPrefix(p.Files[0].Path, ".holdfast/reverts/") || !strings.HasSuffix(p.Files[0].Path, ".md") {
		t.Fatalf("got %v, files %v", lines(proposals), p.Files)
	}
	if !p.Proof.Verified || len(p.Proof.Moved) > 0 {
		t.Errorf("proof %+v", p.Proof)
	}
	if !strings.Contains(p.Body, "| `one/flux-system/shop` | `app` |") {
		t.Errorf("the body does not show what was rendered:\n%s", p.Body)
	}
	f.in.Render = func(context.Context, gitops.Tree, gitops.Application) (*render.Result, error) {
		return nil, errors.New("it does not render")
	}
	proposals, _ = f.build(t)
	if p := proposals[0]; p.Proof == nil || p.Proof.Complete || p.Proof.Verified {
		t.Errorf("a proof without any render passes for one: %+v", p.Proof)
	}
	f.in.Render = func(_ context.Context, tree gitops.Tree, _ gitops.Application) (*render.Result, error) {
		object := gitops.NewObject(map[string]any{"kind": "ConfigMap", "data": map[string]any{"files": int64(tree.Len())}})
		return &render.Result{Objects: []gitops.Declared{{Object: object}}}, nil
	}
	proposals, skipped := f.build(t)
	if len(proposals) != 1 || proposals[0].Kind != bot.AsIssue || len(skipped) != 1 {
		t.Errorf("a record that moves a render is proposed: %v, skipped %v", lines(proposals), skipped)
	}
}
