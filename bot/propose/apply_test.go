package propose

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"holdfast/bot"
	"holdfast/gitops"
)

// variant writes the same edits as another editor, system or person would have the files.
type variant struct {
	name string
	text func([]byte) []byte
	path func(string) string
}

func variants() []variant {
	same := func(p string) string { return p }
	asIs := func(b []byte) []byte { return b }
	return []variant{
		{"as it is", asIs, same},
		{"with CRLF", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }, same},
		{"without an end of line at the end", func(b []byte) []byte { return bytes.TrimRight(b, "\n") }, same},
		{"with a byte order mark", func(b []byte) []byte { return append([]byte("\ufeff"), b...) }, same},
		{"under names with blanks", asIs, func(p string) string { return "my apps/" + path.Dir(p) + " of shop/" + path.Base(p) }},
		{"under names of any letters", asIs, func(p string) string { return "größe/日本 \"x\"\\\t/" + p }},
	}
}

// edited are the edits of one of codify's scenarios.
func edited(t *testing.T, file string) []gitops.Edit {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string][]byte{}
	var out []gitops.Edit
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "tree/"); ok {
			before[name] = f.Data
			continue
		}
		name, ok := strings.CutPrefix(f.Name, "after/")
		if !ok {
			continue
		}
		e := gitops.Edit{Path: name, Before: before[name], After: bytes.TrimSuffix(f.Data, []byte("(no final newline)\n"))}
		if string(f.Data) == "(removed)\n" {
			e.Remove, e.After = true, nil
		}
		out = append(out, e)
	}
	return out
}

// TestGitAppliesEveryPatch lets git apply what codify's scenarios change, in all variants, and wants the bytes of the
// edits.
func TestGitAppliesEveryPatch(t *testing.T) {
	var files []string
	for _, glob := range []string{"*.txtar", "helm/*.txtar"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "gitops", "codify", "testdata", glob))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	tried := 0
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			// The scenarios lie side by side, each in a folder of its own: one patch for all of them.
			var edits []gitops.Edit
			for i, file := range files {
				for _, e := range edited(t, file) {
					e.Path = v.path(fmt.Sprintf("%d/%s", i, e.Path))
					if e.Before != nil {
						e.Before = v.text(e.Before)
					}
					if !e.Remove {
						e.After = v.text(e.After)
					}
					if e.Remove || !bytes.Equal(e.Before, e.After) {
						edits = append(edits, e)
					}
				}
			}
			applies(t, edits)
			tried += len(edits)
		})
	}
	if tried < 300 {
		t.Errorf("only %d edits were tried", tried)
	}
}

// applies lets git apply the edits as one patch, and compares the outcome.
func applies(t *testing.T, edits []gitops.Edit) {
	t.Helper()
	p := bot.Proposal{Title: "all"}
	shown := edits[:0:0]
	for _, e := range edits {
		f, err := fileChange(e)
		if err != nil {
			t.Fatal(err)
		}
		if f.Hidden {
			if _, err := Combined([]bot.Proposal{{Title: "one", Files: []bot.FileChange{f}}}); err == nil || !strings.Contains(err.Error(), "beside a Secret's value") {
				t.Errorf("%s: hides what git apply needs, and is printed: %v", e.Path, err)
			}
			continue
		}
		shown = append(shown, e)
		p.Files = append(p.Files, f)
	}
	if len(edits)-len(shown) > 3 {
		t.Errorf("%d edits hide what git apply needs", len(edits)-len(shown))
	}
	edits = shown
	dir := t.TempDir()
	for _, e := range edits {
		if e.Before != nil {
			put(t, filepath.Join(dir, e.Path), e.Before)
		}
	}
	gitApply(t, dir, []bot.Proposal{p})
	for _, e := range edits {
		got, err := os.ReadFile(filepath.Join(dir, e.Path))
		switch {
		case e.Remove && !os.IsNotExist(err):
			t.Errorf("%s is still there", e.Path)
		case e.Remove:
		case err != nil:
			t.Error(err)
		case !bytes.Equal(got, e.After):
			t.Errorf("%s (-want +got):\n%s", e.Path, cmp.Diff(string(e.After), string(got)))
		}
	}
}

func put(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func gitApply(t *testing.T, dir string, proposals []bot.Proposal) {
	t.Helper()
	combined, err := Combined(proposals)
	if err != nil {
		t.Fatal(err)
	}
	var patch strings.Builder
	for _, f := range combined {
		patch.WriteString(f.Diff)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"apply", "--check", "-"}, {"apply", "-"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch.String())
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

// TestTwoPullRequestsAreOnePatch changes the same file in two ways at random. Where they keep apart, the patch of both
// gives both changes; where they meet it is refused.
func TestTwoPullRequestsAreOnePatch(t *testing.T) {
	met, apart := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(7, seed))
		lines := make([]string, 2+r.IntN(30))
		for i := range lines {
			lines[i] = fmt.Sprintf("line %d", r.IntN(12)) // the same line may stand there twice
		}
		before := strings.Join(lines, "\n") + strings.Repeat("\n", r.IntN(2))
		change := func(name string) (bot.Proposal, int) {
			at := r.IntN(len(lines))
			changed := append([]string{}, lines...)
			changed[at] = name
			e := gitops.Edit{Path: "a.yaml", Before: []byte(before), After: []byte(strings.Join(changed, "\n") + before[len(strings.Join(lines, "\n")):])}
			f, err := fileChange(e)
			if err != nil {
				t.Fatal(err)
			}
			return bot.Proposal{Title: name, Files: []bot.FileChange{f}}, at
		}
		one, i := change("one")
		two, j := change("two")
		combined, err := Combined([]bot.Proposal{one, two})
		if i == j || i+1 == j || j+1 == i {
			if err == nil || !strings.Contains(err.Error(), `"one" and "two" change the same lines`) {
				t.Errorf("seed %d: they meet, and are put together: %v", seed, err)
			}
			met++
			continue
		}
		if err != nil {
			t.Errorf("seed %d: lines %d and %d: %v", seed, i, j, err)
			continue
		}
		want := append([]string{}, lines...)
		want[i], want[j] = "one", "two"
		dir := t.TempDir()
		put(t, filepath.Join(dir, "a.yaml"), []byte(before))
		gitApply(t, dir, []bot.Proposal{one, two})
		got, _ := os.ReadFile(filepath.Join(dir, "a.yaml"))
		if string(got) != strings.Join(want, "\n")+before[len(strings.Join(lines, "\n")):] || !bytes.Equal(got, combined[0].After) {
			t.Errorf("seed %d: got\n%s", seed, got)
		}
		apart++
	}
	if met == 0 || apart == 0 {
		t.Errorf("%d met, %d kept apart", met, apart)
	}
}
