package templates

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestCode(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain text", "web", "`web`"},
		{"a backtick needs a longer fence", "a`b", "``a`b``"},
		{"backticks at the ends need room", "`a`", "`` `a` ``"},
		{"a mention stays inert", "@team", "`@team`"},
		{"a line break is shown", "a\nb", "`a⏎b`"},
		{"nothing is nothing", "", ""},
	} {
		if got := Code(c.text); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCellEscapesBordersAndCutsLongValues(t *testing.T) {
	if got := Cell("a|b"); got != "`a\\|b`" {
		t.Errorf("got %s", got)
	}
	if got := Cell(strings.Repeat("ä", 500)); utf8.RuneCountInString(got) > 130 {
		t.Errorf("%d characters", utf8.RuneCountInString(got))
	}
}

func TestAFenceCannotBeClosedFromWithin(t *testing.T) {
	got := fence("diff", "+```\n+text\n")
	if !strings.HasPrefix(got, "````diff\n") || !strings.HasSuffix(got, "\n````") {
		t.Errorf("got %s", got)
	}
}

func TestCutKeepsTheTailAndTheLimit(t *testing.T) {
	body := strings.Repeat("| a row of a table |\n", 10_000)
	got := Cut(body, "the branch has the rest", "<!-- marker -->\n")
	if n := utf8.RuneCountInString(got); n > MaxBody {
		t.Errorf("%d characters, want at most %d", n, MaxBody)
	}
	if !strings.HasSuffix(got, "<!-- marker -->\n") || !strings.Contains(got, "the branch has the rest") {
		t.Error("marker or pointer is lost")
	}
	if short := Cut("text\n", "hint", "tail"); short != "text\ntail" {
		t.Errorf("a short body is changed: %q", short)
	}
}

func change() Change {
	return Change{
		Object: "Deployment shop/api", Path: "spec.template.spec.containers[name=api].image", Git: "registry.example.test/api:1", Live: "registry.example.test/api:2",
		Cause: "manual", Risk: "high", By: "alice@example.test", When: "2026-11-02 09:00:00 UTC", Confidence: "audit log", Reason: "kubectl-set changed it past Git.",
	}
}

// TestTexts compares whole texts with goldens: go test ./templates -update.
func TestTexts(t *testing.T) {
	rules := []Rule{{Name: "keep hotfixes (.holdfast.yaml, rule 1)", Disposition: "codify", Decided: []string{"spec.replicas"}, Trace: []string{"exceptions: none matches"}}}
	controls := []Control{{"nist-800-53r5", "CM-3", "Configuration Change Control"}}
	for name, text := range map[string]func() (string, error){
		"pull-request": func() (string, error) {
			return PullRequestBody(PullRequest{
				Disposition: "codify", Application: "flux-system/shop", Cluster: "production", Risk: "high", Base: "main", BaseCommit: "0123456789abcdef",
				Changes: []Change{change()}, Rules: rules, Controls: controls, AfterMerge: "The engine applies it.",
				Files:    []File{{"apps/shop/kustomization.yaml", "--- a\n+++ b\n@@ -1 +1 @@\n-newTag: 1\n+newTag: 2\n"}},
				Choices:  []Change{{Object: "Deployment shop/api", Path: "spec.replicas", Reason: "set in the narrowest file"}},
				Unplaced: []Change{{Object: "Deployment shop/api", Path: "metadata.labels.team", Reason: "no file sets it"}},
				Proof: Proof{Complete: true, Checked: []Member{{Name: "production/flux-system/shop", Path: "apps/shop", Before: "aaaa", After: "bbbb"},
					{Name: "flux-system/staging", Path: "apps/staging", Before: "cccc", After: "cccc"}}},
				Reach: []string{"changes what `production/flux-system/shop` declares"}, Answers: []Answer{{"Git should win instead", "close it"}},
			})
		},
		"issue": func() (string, error) {
			return IssueBody(Issue{
				Disposition: "revert", Object: "Deployment shop/api", Applications: []string{"production/flux-system/shop"}, Presence: "both", Risk: "high",
				Cause: "manual", FirstSeen: "2026-11-02 09:00:00 UTC", Declared: "apps/shop/api.yaml", Changes: []Change{change()},
				Explained: []Change{{Object: "Deployment shop/api", Path: "spec.replicas", Live: "3", Cause: "autoscaler", Reason: "within its bounds"}},
				Controls:  controls, Rules: rules, Revert: "flux corrects this by itself every 10m", Answers: []Answer{{"to keep it", "codify"}},
			})
		},
		"revert-record": func() (string, error) {
			return RevertRecord(Record{ID: "0123", Application: "flux-system/shop", Cluster: "production", Branch: "main", Changes: []Change{change()}, Rules: rules, Controls: controls, Remains: []string{"nothing"}, How: "Flux applies it."})
		},
		"commit": func() (string, error) {
			return CommitMessage(Commit{Subject: "Codify image of shop", Changes: []Change{change()}, Trailers: []Trailer{{"Holdfast-Key", "00ff"}, {"Holdfast-Findings", "0a"}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := text()
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".md")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
