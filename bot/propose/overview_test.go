package propose

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
)

func TestTheDashboardIssueListsWhatIsOpen(t *testing.T) {
	thread := func(kind bot.Kind, n int, state bot.State, title string, labels ...string) bot.Thread {
		return bot.Thread{Kind: kind, Number: n, State: state, Title: title, Labels: labels, URL: fmt.Sprintf("https://git.example/%d", n)}
	}
	threads := []bot.Thread{
		thread(bot.AsIssue, 1, bot.Open, "Drift: a", "drift", "drift/low", "drift/revert"),
		thread(bot.AsIssue, 2, bot.Open, "Drift: @alice <b>", "drift", "drift/critical", "drift/issue"),
		thread(bot.AsIssue, 3, bot.Closed, "Drift: gone", "drift", "drift/low", "drift/issue"),
		thread(bot.AsPullRequest, 4, bot.Open, "Codify x", "drift", "drift/medium", "drift/codify", "mine"),
		thread(bot.AsPullRequest, 5, bot.Merged, "Codify y", "drift", "drift/medium", "drift/codify"),
	}
	first, err := Overview(threads, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := "## To review\n\n| Risk | Answer | |\n|---|---|---|\n| medium | codify | [Codify x](https://git.example/4) |\n\n" +
		"## Drift\n\n| Risk | Answer | |\n|---|---|---|\n| critical | issue | [Drift: @\u200balice \\<b>](https://git.example/2) |\n| low | revert | [Drift: a](https://git.example/1) |\n"
	if !strings.Contains(first.Body, want) || strings.Contains(first.Body, "gone") || strings.Contains(first.Body, "wait") {
		t.Errorf("body:\n%s\nwant in it:\n%s", first.Body, want)
	}
	itself := thread(bot.AsIssue, 6, bot.Open, first.Title, first.Labels...)
	itself.Body = first.Body
	again, err := Overview(append(threads, itself), 0)
	if err != nil || again.Hash != first.Hash || again.Body != first.Body || again.Key != first.Key {
		t.Errorf("the same state gives another text, %v:\n%s", err, again.Body)
	}
	waiting, err := Overview(threads, 7)
	if err != nil || waiting.Hash == first.Hash || !strings.Contains(waiting.Body, "7 more wait") {
		t.Errorf("it does not say what waits, %v:\n%s", err, waiting.Body)
	}
	none, err := Overview([]bot.Thread{itself}, 0)
	if err != nil || !strings.Contains(none.Body, "Nothing is open") {
		t.Errorf("%v:\n%s", err, none.Body)
	}
	var many []bot.Thread
	for i := range 5000 {
		many = append(many, thread(bot.AsIssue, i, bot.Open, strings.Repeat("x", 200)+fmt.Sprint(i), "drift/high", "drift/issue"))
	}
	long, err := Overview(many, 0)
	if err != nil || len(long.Body) > 65536 || !strings.Contains(long.Body, "and 4850 more") || !strings.HasSuffix(long.Body, bot.Marker(long.Key, long.Hash)+"\n") {
		t.Errorf("%d bytes, %v: want a list that fits, says what it leaves out, and keeps its marker", len(long.Body), err)
	}
}

func TestAPolicyIsProposedWhereThereIsNone(t *testing.T) {
	propose := func(t *testing.T, change func(*fixture, map[string]gitops.File)) *bot.Proposal {
		t.Helper()
		f := newFixture(t, "north")
		app := f.in.Scan.Applications[0].Application
		files := map[string]gitops.File{"app/c.yaml": {Data: fmt.Appendf(nil, configMap, "c")}}
		change(f, files)
		source := f.sources[app.ID()]
		source.Tree = gitops.NewTree(files)
		f.sources[app.ID()] = source
		p, err := Onboarding(t.Context(), f.in, f.in.Scan.Applications[0].Application, ".holdfast.yaml", detect.Staging)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := propose(t, func(*fixture, map[string]gitops.File) {})
	if p == nil || len(p.Files) != 1 || p.Files[0].Path != ".holdfast.yaml" || !strings.Contains(string(p.Files[0].After), "\nextends: staging\n") {
		t.Fatalf("got %+v", p)
	}
	if !p.Once || !p.Proof.Verified || p.Branch != "holdfast/onboarding" || !strings.Contains(p.Message, "\nHoldfast-Key: "+p.Key+"\n") || strings.Contains(p.Body, "Set `policy:") {
		t.Errorf("got %+v\n%s", p, p.Body)
	}
	t.Run("not in the root where it would be rendered", func(t *testing.T) {
		p := propose(t, func(f *fixture, _ map[string]gitops.File) {
			f.in.Scan.Applications[0].Application.Source.Path = "."
			f.in.Scan.Applications[0].Application.Render.Kustomize = &gitops.Kustomize{Generate: true} // as Flux does
		})
		if p == nil || p.Files[0].Path != ".holdfast/policy" || !strings.Contains(p.Body, "**Set `policy: .holdfast/policy`**") {
			t.Errorf("got %+v", p)
		}
	})
	for name, path := range map[string]string{"not beside a policy": ".holdfast.yaml", "nor beside one that was put aside": ".holdfast/policy"} {
		t.Run(name, func(t *testing.T) {
			if p := propose(t, func(_ *fixture, files map[string]gitops.File) {
				files[path] = gitops.File{Data: []byte("kind: Policy\n")}
			}); p != nil {
				t.Errorf("got %+v", p)
			}
		})
	}
	t.Run("nor where a commit reaches no cluster", func(t *testing.T) {
		f := newFixture(t, "north")
		app := f.in.Scan.Applications[0].Application
		source := f.sources[app.ID()]
		source.Base = ""
		f.sources[app.ID()] = source
		if p, err := Onboarding(t.Context(), f.in, app, ".holdfast.yaml", detect.Dev); p != nil || err != nil {
			t.Errorf("got %+v, %v", p, err)
		}
	})
}
