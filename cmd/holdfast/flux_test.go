package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
)

// keepHotfixes codifies what people do to a running shop; the rest is as in production.
const keepHotfixes = `apiVersion: holdfast/v1
kind: Policy
extends: production
rules:
  - name: keep hotfixes
    cause: [manual]
    drift: true
    path: ["spec.replicas", "**.image", "**.env**"]
    disposition: codify
`

// hotfix is what alice does at two in the morning.
func (s *fluxShop) hotfix(t *testing.T) {
	t.Helper()
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.alice(t, "set", "image", "deployment/api", "api=registry.example.test/shop/api:2.4.2")
	s.alice(t, "set", "env", "deployment/api", "CACHE_TTL=30s")
	s.alice(t, "delete", "service/web")
}

// TestWhereFluxHealsNothingFlaps: the engine undoes a hotfix before anybody has reviewed it.
func TestWhereFluxHealsNothingFlaps(t *testing.T) {
	s := newFluxShop(t, "heals", keepHotfixes)
	s.propose(t, 0)
	if files := s.files(t); len(files) != 0 {
		t.Fatalf("before any change: %v", files)
	}

	s.hotfix(t)
	s.propose(t, 1)
	pulls, issues := s.threads(t, bot.AsPullRequest), s.threads(t, bot.AsIssue)
	if len(pulls) != 1 || !slices.Contains(pulls[0].Labels, "drift/codify") {
		t.Fatalf("want one pull request, to codify: %+v", pulls)
	}
	wantTitles(t, issues, "Drift: Deployment heals/api on north", "Drift: Deployment heals/web on north", "Drift: Service heals/web on north")
	for _, path := range []string{"spec.replicas", "image", "CACHE_TTL"} {
		if !strings.Contains(pulls[0].Body, path) {
			t.Errorf("the pull request does not name %s", path)
		}
	}
	if got := s.verify(t, pulls[0].Branch); len(got) == 0 {
		t.Error("the commit changes no file")
	}
	s.still(t, 1)

	s.heal(t)
	s.propose(t, 0)
	pulls = s.threads(t, bot.AsPullRequest)
	if len(pulls) != 1 || pulls[0].State != bot.Open || !strings.Contains(pulls[0].Body, "Undone by the engine") {
		t.Fatalf("after Flux healed, the codify must stay open and say so: %+v", pulls)
	}
	for _, issue := range s.threads(t, bot.AsIssue) {
		if issue.State != bot.Closed {
			t.Errorf("issue %d is %s", issue.Number, issue.State)
		}
	}
	for name, text := range s.files(t) {
		if strings.HasPrefix(name, "issues/") && !strings.Contains(text, "the cluster and Git agree") {
			t.Errorf("%s closes without a word of what was seen:\n%s", name, text)
		}
	}
	s.still(t, 0)

	before := s.refs(t)
	s.hotfix(t)
	s.propose(t, 1)
	again := s.threads(t, bot.AsPullRequest)
	if len(again) != 1 || again[0].Number != pulls[0].Number || again[0].State != bot.Open || strings.Contains(again[0].Body, "Undone by the engine") {
		t.Errorf("the same change again must be on the same pull request: %+v", again)
	}
	for _, issue := range s.threads(t, bot.AsIssue) {
		if issue.State != bot.Open {
			t.Errorf("issue %d is %s", issue.Number, issue.State)
		}
	}
	if n := len(s.threads(t, bot.AsIssue)); n != len(issues) {
		t.Errorf("%d issues, want the %d of before", n, len(issues))
	}
	if now := s.refs(t); now != before {
		t.Errorf("the branch was pushed anew with the content that it had:\n%s\nwas\n%s", now, before)
	}
	s.still(t, 1)
}

// TestFluxHealsOnItsOwnTimer: nobody asks Flux to correct, and the bot runs between its corrections.
func TestFluxHealsOnItsOwnTimer(t *testing.T) {
	s := newFluxShopAt(t, "timer", keepHotfixes, time.Minute) // Flux takes no less
	var number, issues int
	for range 2 {
		s.hotfix(t) // right after Flux has applied, so that it is seen before the next time
		s.propose(t, 1)
		s.still(t, 1)
		pulls := s.threads(t, bot.AsPullRequest)
		if len(pulls) != 1 || pulls[0].State != bot.Open || !slices.Contains(pulls[0].Labels, "drift/codify") {
			t.Fatalf("want one pull request, to codify: %+v", pulls)
		}
		if number != 0 && (pulls[0].Number != number || len(s.threads(t, bot.AsIssue)) != issues) {
			t.Fatalf("the same change again must be on the same threads: %+v", pulls)
		}
		number, issues = pulls[0].Number, len(s.threads(t, bot.AsIssue))

		patiently(t, 90*time.Second, "Flux has corrected by itself", func() bool {
			return s.get(t, "deployment/web", "{.spec.replicas}") == "2" &&
				s.get(t, "service", "{.items[*].metadata.name}") == "web" &&
				!strings.Contains(s.get(t, "deployment/api", "{.spec.template.spec}"), "CACHE_TTL")
		})
		s.propose(t, 0)
		pulls = s.threads(t, bot.AsPullRequest)
		if len(pulls) != 1 || pulls[0].State != bot.Open || !strings.Contains(pulls[0].Body, "Undone by the engine") {
			t.Fatalf("after Flux healed, the codify must stay open and say so, and no revert must open: %+v", pulls)
		}
		for _, issue := range s.threads(t, bot.AsIssue) {
			if issue.State != bot.Closed {
				t.Errorf("issue %d is %s", issue.Number, issue.State)
			}
		}
		s.still(t, 0)
	}
}

// TestCodifyMergedIsAppliedWithoutARollout: what was live before the merge is what Flux finds after it.
func TestCodifyMergedIsAppliedWithoutARollout(t *testing.T) {
	s := newFluxShop(t, "codified", keepHotfixes)
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.alice(t, "set", "image", "deployment/api", "api=registry.example.test/shop/api:2.4.2")
	s.alice(t, "set", "env", "deployment/api", "CACHE_TTL=30s")
	s.propose(t, 1)
	const spec = "{.metadata.generation} {.spec}"
	api, web := s.get(t, "deployment/api", spec), s.get(t, "deployment/web", spec)

	s.merge(t, s.threads(t, bot.AsPullRequest)[0])
	s.follow(t)
	if now := s.get(t, "deployment/api", spec); now != api {
		t.Errorf("the merge changed api:\n%s\nwas\n%s", now, api)
	}
	if now := s.get(t, "deployment/web", spec); now != web {
		t.Errorf("the merge changed web:\n%s\nwas\n%s", now, web)
	}
	s.propose(t, 0)
	pulls := s.threads(t, bot.AsPullRequest)
	if len(pulls) != 1 || pulls[0].State != bot.Merged {
		t.Errorf("the merged pull request must stay as it is: %+v", pulls)
	}
	for _, issue := range s.threads(t, bot.AsIssue) {
		if issue.State != bot.Closed {
			t.Errorf("issue %d is %s", issue.Number, issue.State)
		}
	}
	s.still(t, 0)

	// What Git now says is what Flux corrects to.
	s.alice(t, "scale", "deployment/web", "--replicas=2")
	s.heal(t)
	if got := s.get(t, "deployment/web", "{.spec.replicas}"); got != "5" {
		t.Errorf("replicas %s, want the 5 that were codified", got)
	}
}

func wantTitles(t *testing.T, threads []bot.Thread, want ...string) {
	t.Helper()
	var got []string
	for _, thread := range threads {
		got = append(got, thread.Title)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("threads:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAHotfixAfterAnother: the first one is undone and waits for a person; the second does not take its place.
func TestAHotfixAfterAnother(t *testing.T) {
	s := newFluxShop(t, "twice", keepHotfixes)
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.propose(t, 1)
	s.heal(t)
	s.propose(t, 0)
	s.alice(t, "set", "image", "deployment/web", "web=registry.example.test/shop/web:2.4.1")
	s.propose(t, 1)
	pulls := s.threads(t, bot.AsPullRequest)
	if len(pulls) != 2 {
		t.Fatalf("%d pull requests, want one for each hotfix", len(pulls))
	}
	image, replicas := pulls[0], pulls[1]
	if !strings.Contains(replicas.Body, "spec.replicas") || !strings.Contains(replicas.Body, "Undone by the engine") || replicas.State != bot.Open {
		t.Errorf("the first hotfix is lost:\n%s", replicas.Body)
	}
	if strings.Contains(image.Body, "spec.replicas") || strings.Contains(image.Body, "Undone by the engine") || image.Branch == replicas.Branch {
		t.Errorf("the second hotfix has something of the first:\n%s", image.Body)
	}
	s.still(t, 1)

	// Bob wants the second one only: what he closed stays closed, whatever is committed meanwhile.
	s.close(t, replicas)
	s.git.Commit(t, shopRepository, "main", "README", map[string]string{"README.md": "The shop, still.\n"})
	s.follow(t)
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.propose(t, 1)
	s.heal(t)
	s.propose(t, 0)
	for _, pull := range s.threads(t, bot.AsPullRequest) {
		if pull.Number == replicas.Number && pull.State != bot.Closed {
			t.Errorf("pull request %d, which Bob closed, is %s", pull.Number, pull.State)
		}
	}
}
