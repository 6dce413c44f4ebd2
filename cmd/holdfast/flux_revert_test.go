package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/deploy/lab"
)

// gitWins reverts whatever a person did, also what a new revision does not undo.
const gitWins = `apiVersion: holdfast/v1
kind: Policy
extends: production
rules:
  - name: Git wins
    cause: [manual, missing]
    drift: true
    disposition: revert
`

// TestRevertIsAnOrdinaryCommit: a merge makes a new revision, and Flux applies it in full.
//
// The clock of the bot goes ahead of the cluster's to let the drift outlive two intervals: on the real
// controller that happens where its applies fail, or while it does not run.
func TestRevertIsAnOrdinaryCommit(t *testing.T) {
	s := newFluxShop(t, "reverts", gitWins)
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.alice(t, "set", "image", "deployment/api", "api=registry.example.test/shop/api:2.4.2")
	s.alice(t, "set", "env", "deployment/api", "CACHE_TTL=30s") // an addition, by a manager that Flux takes over
	s.alice(t, "label", "deployment/web", "team=checkout")
	s.alice(t, "patch", "deployment/api", "--field-manager=k9s", "--type=merge", `--patch={"metadata":{"labels":{"seen-by":"k9s"}}}`)
	s.alice(t, "delete", "service/web")
	s.propose(t, 1)
	if pulls := s.threads(t, bot.AsPullRequest); len(pulls) != 0 {
		t.Fatalf("a pull request before Flux had its time to heal: %+v", pulls)
	}
	wantTitles(t, s.threads(t, bot.AsIssue), "Drift: Deployment reverts/api on north", "Drift: Deployment reverts/web on north", "Drift: Service reverts/web on north")

	s.ahead = 2*shopInterval + time.Minute
	s.propose(t, 1)
	pulls := s.threads(t, bot.AsPullRequest)
	if len(pulls) != 1 || !strings.Contains(strings.Join(pulls[0].Labels, " "), "drift/revert") {
		t.Fatalf("want one pull request, to revert: %+v", pulls)
	}
	for _, want := range []string{"spec.replicas", "CACHE_TTL", "deleted", "metadata.labels.seen-by of Deployment reverts/api stays"} {
		if !strings.Contains(pulls[0].Body, want) {
			t.Errorf("the pull request does not say %q:\n%s", want, pulls[0].Body)
		}
	}
	changed := s.verify(t, pulls[0].Branch)
	if len(changed) != 1 || !strings.HasPrefix(changed[0], "A\t.holdfast/reverts/") || !strings.HasSuffix(changed[0], ".md") {
		t.Errorf("the commit changes %q, want one added record", changed)
	}
	before, after := s.clone(t), s.clone(t)
	git(t, after, "checkout", "--quiet", "origin/"+pulls[0].Branch)
	for _, overlay := range []string{"apps/shop/production", "apps/shop/staging"} {
		if kustomize(t, s.Cluster, before, overlay) != kustomize(t, s.Cluster, after, overlay) {
			t.Errorf("the render of %s moves", overlay)
		}
	}
	record, err := os.ReadFile(filepath.Join(after, strings.TrimPrefix(changed[0], "A\t")))
	if err != nil || !strings.Contains(string(record), "What remains") || !strings.Contains(string(record), "seen-by") {
		t.Errorf("the record does not say what remains: %v\n%s", err, record)
	}
	s.still(t, 1)

	s.merge(t, pulls[0])
	s.propose(t, 1) // before Flux has fetched it
	if pulls := s.threads(t, bot.AsPullRequest); len(pulls) != 1 {
		t.Errorf("another pull request for what is merged and not applied yet: %+v", pulls)
	}
	s.follow(t)
	for _, check := range []struct{ object, path, want string }{
		{"deployment/web", "{.spec.replicas}", "2"},
		{"deployment/api", "{.spec.template.spec.containers[0].image}", "registry.example.test/shop/api:2.4.0"},
		{"deployment/api", "{.spec.template.spec.containers[0].env[*].name}", "REGION"},
		{"deployment/web", "{.metadata.labels.team}", ""},
		{"deployment/api", "{.metadata.labels.seen-by}", "k9s"},
		{"service/web", "{.spec.ports[0].port}", "80"},
	} {
		if got := s.get(t, check.object, check.path); got != check.want {
			t.Errorf("after the merge %s %s is %q, want %q", check.object, check.path, got, check.want)
		}
	}
	s.propose(t, 1)
	states := map[string]bot.State{}
	for _, issue := range s.threads(t, bot.AsIssue) {
		states[issue.Title] = issue.State
	}
	for title, want := range map[string]bot.State{
		"Drift: Deployment reverts/api on north": bot.Open, // k9s's label
		"Drift: Deployment reverts/web on north": bot.Closed,
		"Drift: Service reverts/web on north":    bot.Closed,
	} {
		if states[title] != want {
			t.Errorf("%s is %s, want %s", title, states[title], want)
		}
	}
	if pulls := s.threads(t, bot.AsPullRequest); len(pulls) != 1 || pulls[0].State != bot.Merged {
		t.Errorf("a revert of what no revision undoes is proposed: %+v", pulls)
	}
	s.still(t, 1)

	t.Run("the same drift again is a new decision", func(t *testing.T) {
		s.ahead = 0
		s.alice(t, "set", "image", "deployment/web", "web=registry.example.test/shop/web:2.4.1")
		for range 2 {
			s.propose(t, 1)
			s.ahead += 2*shopInterval + time.Minute
			s.propose(t, 1)
			pulls := s.threads(t, bot.AsPullRequest)
			if pulls[0].State != bot.Open {
				t.Fatalf("no open pull request: %+v", pulls)
			}
			s.merge(t, pulls[0])
			s.follow(t)
			if got := s.get(t, "deployment/web", "{.spec.template.spec.containers[0].image}"); got != "registry.example.test/shop/web:2.4.0" {
				t.Errorf("image %s after the merge", got)
			}
			s.propose(t, 1)
			s.alice(t, "set", "image", "deployment/web", "web=registry.example.test/shop/web:2.4.1")
		}
		if pulls := s.threads(t, bot.AsPullRequest); len(pulls) != 3 {
			t.Errorf("%d pull requests, want one for each decision", len(pulls))
		}
	})
}

// TestABranchThatAPersonTookOver is left alone, and a base that moved is what the next push stands on.
func TestABranchThatAPersonTookOver(t *testing.T) {
	s := newFluxShop(t, "taken", keepHotfixes)
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.propose(t, 1)
	branch := s.threads(t, bot.AsPullRequest)[0].Branch
	parent := func() string { return s.git.Git(t, shopRepository, "rev-parse", branch+"^") }

	t.Run("a commit to the base that touches nothing of it moves nothing", func(t *testing.T) {
		s.git.Commit(t, shopRepository, "main", "README", map[string]string{"README.md": "The shop, still.\n"})
		s.still(t, 1)
	})
	t.Run("new content is pushed from the new head", func(t *testing.T) {
		s.alice(t, "scale", "deployment/web", "--replicas=6")
		s.propose(t, 1)
		if got, want := parent(), s.git.Git(t, shopRepository, "rev-parse", "main"); got != want {
			t.Errorf("the branch stands on %s, want main's head %s", got, want)
		}
		s.verify(t, branch)
	})
	t.Run("so is the same content when a file of it changed", func(t *testing.T) {
		base, err := os.ReadFile(filepath.Join(s.clone(t), "apps/shop/production/kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		s.git.Commit(t, shopRepository, "main", "Comment", map[string]string{"apps/shop/production/kustomization.yaml": "# What customers see.\n" + string(base)})
		s.propose(t, 1)
		if got, want := parent(), s.git.Git(t, shopRepository, "rev-parse", "main"); got != want {
			t.Errorf("the branch stands on %s, want main's head %s", got, want)
		}
		if got := s.git.Git(t, shopRepository, "show", branch+":apps/shop/production/kustomization.yaml"); !strings.Contains(got, "# What customers see.") {
			t.Errorf("the branch loses the base's change:\n%s", got)
		}
		s.still(t, 1)
	})
	for _, c := range []struct {
		name   string
		commit []string
	}{
		{"a person's commit on top", []string{"commit", "--quiet", "--message=Not so many"}},
		{"a person's amend, which keeps the message", []string{"commit", "--quiet", "--amend", "--no-edit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			made := s.git.Git(t, shopRepository, "rev-parse", branch)
			defer func() { s.git.Git(t, shopRepository, "update-ref", "refs/heads/"+branch, made) }()
			dir := s.clone(t)
			git(t, dir, "checkout", "--quiet", branch)
			if err := os.WriteFile(filepath.Join(dir, "NOTES.md"), []byte("Ask Bob.\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "add", "--all")
			git(t, dir, c.commit...)
			git(t, dir, "push", "--quiet", "--force", "origin", branch)
			mine := s.git.Git(t, shopRepository, "rev-parse", branch)

			replicas := map[string]string{"6": "7", "7": "8"}[s.get(t, "deployment/web", "{.spec.replicas}")]
			s.alice(t, "scale", "deployment/web", "--replicas="+replicas)
			out := s.propose(t, 2)
			if !strings.Contains(out, "was not made by Holdfast: it is left as it is") || !strings.Contains(out, branch) {
				t.Errorf("it does not say that the branch is left alone:\n%s", out)
			}
			if got := s.git.Git(t, shopRepository, "rev-parse", branch); got != mine {
				t.Errorf("the person's commit %s is gone, the branch is at %s", mine, got)
			}
		})
	}
}

// TestWhatScanSaysOfAnEngineThatDoesNotCorrect: a suspended Kustomization, and one that cannot apply.
func TestWhatScanSaysOfAnEngineThatDoesNotCorrect(t *testing.T) {
	s := newFluxShop(t, "stuck", "")
	kustomization := []string{"--namespace=flux-system", "patch", "kustomization/" + s.name, "--type=merge"}
	suspend := func(yes string) {
		s.Kubectl(t, lab.Alice, "", append(kustomization, `--patch={"spec":{"suspend":`+yes+`}}`)...)
	}

	t.Run("suspended", func(t *testing.T) {
		suspend("true")
		s.alice(t, "set", "image", "deployment/web", "web=registry.example.test/shop/web:2.4.1")
		out, code := s.run(t, "scan")
		said := strings.Contains(out, "suspended north/flux-system/stuck since ") && strings.Contains(out, "(spec.suspend, by kubectl-patch): flux does not correct it")
		if code != 1 || !said || !strings.Contains(out, "2.4.1") {
			t.Errorf("exit %d:\n%s", code, out)
		}
		s.propose(t, 1)
		if pulls := s.threads(t, bot.AsPullRequest); len(pulls) != 0 {
			t.Errorf("a revert that nothing would apply: %+v", pulls)
		}
		issues := s.threads(t, bot.AsIssue)
		if len(issues) != 1 || !strings.Contains(issues[0].Body, "the Application is suspended: resume it") {
			t.Errorf("the issue must say what would bring Git back: %+v", issues)
		}
		suspend("false")
		eventually(t, "Flux heals once it is resumed", func() bool {
			return s.get(t, "deployment/web", "{.spec.template.spec.containers[0].image}") == "registry.example.test/shop/web:2.4.0"
		})
		s.propose(t, 0)
	})

	t.Run("its last apply failed", func(t *testing.T) {
		s.alice(t, "scale", "deployment/web", "--replicas=5")
		s.git.Commit(t, shopRepository, "main", "Broken", map[string]string{"apps/shop/production/kustomization.yaml": `resources:
  - ../base
patches:
  - target: {kind: Deployment, name: api}
    patch: |
      - op: replace
        path: /spec/selector/matchLabels
        value: {app: other}
`})
		s.Reconcile(t, lab.FluxObject{Kind: "GitRepository", Namespace: "flux-system", Name: s.name})
		eventually(t, "Flux says that it cannot apply the commit", func() bool {
			return s.Kubectl(t, lab.Admin, "", "--namespace=flux-system", "get", "kustomization/"+s.name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`) == "False"
		})
		out, code := s.run(t, "scan")
		if code != 1 || !strings.Contains(out, "its last apply failed") {
			t.Errorf("exit %d, want 1 and that Flux could not apply the newest commit:\n%s", code, out)
		}
		out, _ = s.run(t, "scan", "-o", "json")
		drifts := findingsOf(t, out, true)
		if len(drifts) != 1 || len(drifts[0].Fields) != 1 || drifts[0].Fields[0].Path.String() != "spec.replicas" {
			t.Errorf("drift is what differs from what was applied last, not what Flux has yet to apply: %+v", drifts)
		}
	})
}
