package propose

import (
	"strings"
	"testing"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
)

const release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: shop\n  namespace: flux-system # home\nspec: {interval: 10m}\n"

func TestHowAnEngineIsBroughtBack(t *testing.T) {
	argo := func(c gitops.Correction) func(*gitops.Application) {
		return func(a *gitops.Application) {
			a.Engine, a.Kind, a.Correction, a.Interval = gitops.ArgoCD, "Application", c, 0
		}
	}
	helm := func(c gitops.Correction) func(*gitops.Application) {
		return func(a *gitops.Application) { a.Kind, a.Correction = "HelmRelease", c }
	}
	addition := func(f *detect.Finding) { f.Fields[0].Git, f.Fields[0].Kind = gitops.Value{}, detect.Added }
	fresh := func(f *detect.Finding) { f.FirstSeen = noon }
	for name, c := range map[string]struct {
		app     func(*gitops.Application)
		finding func(*detect.Finding)
		// folder is where the record lies; empty where there is no pull request, and says then is the reason.
		folder, says string
	}{
		"an automated Application of Argo CD": {argo(gitops.OnCommit), nil, ".holdfast/reverts/", "once for each commit"},
		"one that heals, after its time":      {argo(gitops.Heals), nil, ".holdfast/reverts/", "once for each commit"},
		"one that heals, at once":             {argo(gitops.Heals), fresh, "", "argocd corrects this by itself every 5m"},
		"one that a person syncs":             {argo(gitops.ByHand), nil, "", "argocd app sync shop"},
		"an addition, which Argo CD leaves":   {argo(gitops.OnCommit), addition, "", "Argo CD puts back what Git declares and leaves additions alone"},
		"an addition, where Argo CD replaces": {func(a *gitops.Application) {
			argo(gitops.OnCommit)(a)
			a.Options = []string{"Replace=true"}
		}, addition, ".holdfast/reverts/", "once for each commit"},
		"Argo CD that looks at some paths only": {func(a *gitops.Application) {
			argo(gitops.OnCommit)(a)
			a.GeneratePaths = []string{"app/*.json", "app"}
		}, nil, "app/.holdfast/reverts/", "once for each commit"},
		"a HelmRelease": {helm(gitops.ByHand), nil, ".holdfast/reverts/", "not tried on a real helm-controller"},
		"a HelmRelease whose file is not known": {func(a *gitops.Application) {
			helm(gitops.ByHand)(a)
			a.Render.File = ""
		}, nil, "", "flux reconcile helmrelease shop --namespace=flux-system --force"},
		"a HelmRelease that heals, at once": {helm(gitops.Heals), fresh, "", "corrects this by itself every 10m"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "one")
			app := &f.in.Scan.Applications[0].Application
			app.Render.File = "release.yaml"
			c.app(app)
			source := f.sources[app.ID()]
			source.Tree = source.Tree.With([]gitops.Edit{{Path: "release.yaml", After: []byte(release)}})
			f.sources[app.ID()] = source
			f.drift("one", "c", "x", "2", detect.Revert, func(one *detect.Finding) {
				if c.finding != nil {
					c.finding(one)
				}
			})
			proposals, skipped := f.build(t)
			last := proposals[len(proposals)-1]
			if c.folder == "" {
				if len(proposals) != 1 || last.Kind != bot.AsIssue {
					t.Fatalf("got %v", lines(proposals))
				}
				if !strings.Contains(last.Body, c.says) && (len(skipped) != 1 || !strings.Contains(skipped[0].Reason, c.says)) {
					t.Errorf("%q is not said: %+v\n%s", c.says, skipped, last.Body)
				}
				return
			}
			p := proposals[0]
			if p.Kind != bot.AsPullRequest || !strings.HasPrefix(p.Files[0].Path, c.folder) || !p.Proof.Verified || !strings.Contains(p.Body, c.says) {
				t.Fatalf("got %v, files %+v, proof %+v\n%s", lines(proposals), p.Files, p.Proof, p.Body)
			}
			if app.Kind != "HelmRelease" {
				return
			}
			id := strings.TrimSuffix(strings.TrimPrefix(p.Files[0].Path, c.folder), ".md")
			want := strings.Replace(release, " # home\n", " # home\n  annotations:\n    reconcile.fluxcd.io/requestedAt: holdfast-"+id+"\n    reconcile.fluxcd.io/forceAt: holdfast-"+id+"\n", 1)
			if len(p.Files) != 2 || string(p.Files[1].After) != want {
				t.Errorf("the release becomes\n%s", p.Files[1].After)
			}
		})
	}
}

func TestWithoutRequest(t *testing.T) {
	object := func(annotations map[string]any) []gitops.Declared {
		metadata := map[string]any{"name": "x"}
		if annotations != nil {
			metadata["annotations"] = annotations
		}
		return []gitops.Declared{{Object: gitops.NewObject(map[string]any{
			"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": metadata,
		})}}
	}
	digest := func(objects []gitops.Declared) string {
		d, err := gitops.DigestDeclared(withoutRequest(objects))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if digest(object(nil)) != digest(object(map[string]any{requestedAt: "a", forceAt: "a"})) {
		t.Error("the request counts as a change")
	}
	if digest(object(nil)) == digest(object(map[string]any{requestedAt: "a", "other": "b"})) {
		t.Error("another annotation does not count")
	}
}
