package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast/bot/ledger"
	"holdfast/gitops/repo/repotest"
)

// ledgerShop is one ConfigMap that drifted.
const ledgerShop = `
-- live.yaml --
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {color: green}}
-- healed.yaml --
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {color: red}}
-- other.yaml --
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {color: blue}}
-- git/apps/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: red}
-- app.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: shop, namespace: shop}
spec: {engine: none, managers: [deployer], repo: "https://git.test/shop.git", path: apps}
`

// evidenceShop is a repository with a forge in a folder and a ledger, and a key whose public half is in allowed.
type evidenceShop struct {
	dir, git, allowed string
}

func newEvidenceShop(t *testing.T, settings map[string]any) evidenceShop {
	t.Helper()
	dir := unpackInto(t, t.TempDir(), ledgerShop)
	s := evidenceShop{dir: dir, git: filepath.Join(dir, "git"), allowed: filepath.Join(dir, "allowed_signers")}
	git(t, s.git, "init", "--quiet", "--initial-branch=main")
	git(t, s.git, "add", "--all")
	git(t, s.git, "-c", "user.name=Bob", "-c", "user.email=bob@example.test", "commit", "--quiet", "--message=shop")
	private, public := repotest.SSHKey(t, "ed25519", "")
	writeFile(t, filepath.Join(dir, "key"), string(private))
	writeFile(t, s.allowed, "holdfast@example.test "+public+"\n")
	config := map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Config",
		"clusters":     []any{map[string]any{"name": "north"}},
		"repositories": []any{map[string]any{"url": "https://git.test/shop.git", "clusters": []any{"north"}, "namespaces": []any{"shop"}, "forge": map[string]any{"type": "folder", "path": "forge"}}},
		"signing":      map[string]any{"keyFile": "key", "name": "Holdfast", "email": "holdfast@example.test"},
	}
	for k, v := range settings {
		config[k] = v
	}
	writeYAMLFile(t, filepath.Join(dir, "holdfast.yaml"), config)
	return s
}

// propose publishes for a dump, and gives what is said.
func (s evidenceShop) propose(t *testing.T, live string, want int) string {
	t.Helper()
	out, said, code := runAll(t, "propose", "--config", filepath.Join(s.dir, "holdfast.yaml"), "--live", filepath.Join(s.dir, live),
		"--git", "https://git.test/shop.git="+s.git, "--application", filepath.Join(s.dir, "app.yaml"), "--disposition", "codify")
	if code != want {
		t.Fatalf("propose: exit %d, want %d\n%s%s", code, want, out, said)
	}
	return out
}

// verify gives the report of the ledger, and the exit code.
func (s evidenceShop) verify(t *testing.T, more ...string) (verificationJSON, int) {
	t.Helper()
	out, said, code := runAll(t, append([]string{"verify", "--git", s.git, "--allowed-signers", s.allowed, "-o", "json"}, more...)...)
	var doc verificationJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, said)
	}
	return doc, code
}

// TestALedgerFromFirstSightToProof runs propose on a drift, on the same again, and on its end, and lets the auditor
// look at what is left.
func TestALedgerFromFirstSightToProof(t *testing.T) {
	s := newEvidenceShop(t, map[string]any{"ledger": map[string]any{}})
	if out := s.propose(t, "live.yaml", 1); !strings.Contains(out, "recorded") {
		t.Errorf("nothing is said of the ledger:\n%s", out)
	}
	doc, code := s.verify(t)
	if code != 0 || doc.Verdict != ledger.Unanchored || doc.Kinds[ledger.FindingSeen] != 1 || doc.Kinds[ledger.Decided] != 1 || doc.Kinds[ledger.Proposed] != 2 {
		t.Fatalf("exit %d, %s, %v: %v", code, doc.Verdict, doc.Kinds, doc.Problems)
	}
	first := doc.Head
	if out := s.propose(t, "live.yaml", 1); strings.Contains(out, "recorded") {
		t.Errorf("the same again is recorded:\n%s", out)
	}
	s.propose(t, "healed.yaml", 0)
	doc, _ = s.verify(t)
	if doc.Batches != 2 || doc.Kinds[ledger.Converged] != 1 || doc.Kinds[ledger.ThreadClosed]+doc.Kinds[ledger.Healed] != 2 {
		t.Errorf("%d batches, %v", doc.Batches, doc.Kinds)
	}

	// The closing comment quotes the head that holds its evidence, and so does the commit of the next pull request.
	comments := ""
	files, err := filepath.Glob(filepath.Join(s.dir, "forge", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			comments += string(data)
		}
	}
	quoted := regexp.MustCompile(`Ledger: holdfast/ledger at ([0-9a-f]{40})`).FindStringSubmatch(comments)
	if quoted == nil || quoted[1] != doc.Head {
		t.Fatalf("no comment quotes %s:\n%s", doc.Head, comments)
	}
	anchors := filepath.Join(s.dir, "anchors")
	writeFile(t, anchors, "# from the forge\n"+quoted[1]+" 2026-03-10T12:00:00Z the closing of an issue\n")
	if doc, code := s.verify(t, "--anchors", anchors); code != 0 || doc.Verdict != ledger.Whole || doc.Anchors.After != 0 {
		t.Errorf("exit %d, %s, %+v", code, doc.Verdict, doc.Anchors)
	}

	second := doc.Head
	s.propose(t, "other.yaml", 1)
	quotes := git(t, s.git, "log", "--all", "--not", "main", "--format=%(trailers:key=Holdfast-Ledger,valueonly,separator=)")
	if !strings.Contains(quotes, second) {
		t.Errorf("no commit's trailer quotes %s: %q", second, quotes)
	}
	if doc, _ = s.verify(t); doc.Verdict != ledger.Unanchored || doc.Batches != 3 {
		t.Errorf("%s, %d batches: %v", doc.Verdict, doc.Batches, doc.Problems)
	}

	git(t, s.git, "update-ref", "refs/heads/holdfast/ledger", first+"~0")
	writeFile(t, anchors, doc.Head+" 2026-03-10T12:00:00Z elsewhere\n")
	if doc, code := s.verify(t, "--anchors", anchors); code != 1 || len(doc.Problems) != 1 || doc.Problems[0].Fault != ledger.Truncated {
		t.Errorf("cut off: exit %d, %v", code, doc.Problems)
	}
}

func TestTheTrailIsExported(t *testing.T) {
	s := newEvidenceShop(t, map[string]any{"ledger": map[string]any{}})
	s.propose(t, "live.yaml", 1)
	oscal, table := filepath.Join(s.dir, "trail.json"), filepath.Join(s.dir, "trail.csv")
	if _, code := s.verify(t, "--export", "oscal="+oscal, "--export", "csv="+table); code != 0 {
		t.Fatalf("exit %d", code)
	}
	data, err := os.ReadFile(oscal)
	if err != nil || !bytes.Contains(data, []byte(`"oscal-version": "1.1.3"`)) {
		t.Errorf("%v: %s", err, data)
	}
	data, err = os.ReadFile(table)
	if err != nil || bytes.Count(data, []byte("\n")) != 5 {
		t.Errorf("%v: %s", err, data)
	}
	// What is broken is not exported, and leaves nothing behind.
	writeFile(t, s.allowed, "bob "+otherKey(t)+"\n")
	gone := filepath.Join(s.dir, "gone")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, code := s.verify(t, "--export", "csv="+filepath.Join(gone, "trail.csv")); code != 1 {
		t.Errorf("exit %d", code)
	}
	if left, err := os.ReadDir(gone); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func otherKey(t *testing.T) string {
	t.Helper()
	_, public := repotest.SSHKey(t, "ed25519", "")
	return public
}

func TestALedgerIsKeptWhereTheConfigurationSays(t *testing.T) {
	own := filepath.Join(t.TempDir(), "ledger.git")
	repotest.Git(t, t.TempDir(), "init", "-q", "--bare", own)
	for _, c := range []struct {
		name     string
		settings map[string]any
		dir      func(evidenceShop) string
		branch   string
	}{
		{"nowhere, with a forge in a folder", nil, nil, ""},
		{"nowhere, when it is off", map[string]any{"ledger": map[string]any{"off": true}}, nil, ""},
		{"in the repository", map[string]any{"ledger": map[string]any{}}, func(s evidenceShop) string { return s.git }, "holdfast/ledger"},
		{"in another branch", map[string]any{"ledger": map[string]any{"branch": "evidence"}}, func(s evidenceShop) string { return s.git }, "evidence"},
		{"in a repository of its own", map[string]any{"ledger": map[string]any{"repository": own, "branch": "shop"}}, func(evidenceShop) string { return own }, "shop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newEvidenceShop(t, c.settings)
			s.propose(t, "live.yaml", 1)
			if c.dir == nil {
				if out, _ := repotest.TryGit(s.git, "branch", "--list", "holdfast/ledger"); strings.TrimSpace(out) != "" {
					t.Errorf("there is %s", out)
				}
				return
			}
			out, said, code := runAll(t, "verify", "--git", c.dir(s), "--branch", c.branch, "--allowed-signers", s.allowed)
			if code != 0 || !strings.Contains(out, "Consistent, not anchored") || !strings.Contains(out, "4 good records") {
				t.Errorf("exit %d\n%s%s", code, out, said)
			}
		})
	}
}

func TestHoldfastsOwnCommitsAreVerified(t *testing.T) {
	s := newEvidenceShop(t, nil)
	s.propose(t, "live.yaml", 1)
	branch := strings.TrimSpace(git(t, s.git, "branch", "--list", "--format=%(refname:short)", "holdfast/*"))
	out, said, code := runAll(t, "verify", "--git", s.git, "--allowed-signers", s.allowed, "--commits", "main.."+branch)
	if code != 0 || !strings.Contains(out, "of which Holdfast made 1") {
		t.Errorf("exit %d\n%s%s", code, out, said)
	}
	writeFile(t, s.allowed, "bob "+otherKey(t)+"\n")
	out, _, code = runAll(t, "verify", "--git", s.git, "--allowed-signers", s.allowed, "--commits", "main.."+branch)
	if code != 1 || !strings.Contains(out, "foreign-key") {
		t.Errorf("by another key: exit %d\n%s", code, out)
	}
}

func TestWhatVerifyCannotReadIsTold(t *testing.T) {
	s := newEvidenceShop(t, map[string]any{"ledger": map[string]any{}})
	s.propose(t, "live.yaml", 1)
	bad := filepath.Join(s.dir, "bad")
	writeFile(t, bad, "*@example.test cert-authority "+otherKey(t)+"\n")
	base := []string{"verify", "--git", s.git}
	allowed := append(base, "--allowed-signers", s.allowed)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no keys", base, "--allowed-signers is missing"},
		{"keys that are not there", append(base, "--allowed-signers", filepath.Join(s.dir, "none")), "no such file"},
		{"an authority of certificates", append(base, "--allowed-signers", bad), "bad:1: option cert-authority"},
		{"a principal that nobody is", append(allowed, "--principal", "bob"), "no key is left"},
		{"anchors that are none", append(allowed, "--anchors", s.allowed), "allowed_signers:1: want a full commit hash"},
		{"an export of another form", append(allowed, "--export", "pdf=x"), "want oscal=FILE or csv=FILE"},
		{"an export into a folder that is not there", append(allowed, "--export", "csv="+filepath.Join(s.dir, "none", "x")), "no such file"},
		{"no such branch", append(allowed, "--branch", "none"), "no such branch"},
		{"no such repository", []string{"verify", "--git", filepath.Join(s.dir, "none"), "--allowed-signers", s.allowed}, "no such folder"},
		{"a range of nothing", append(allowed, "--commits", "none..main"), "none"},
		{"a range and an export", append(allowed, "--commits", "main", "--export", "csv=x"), "leave out"},
		{"another output", append(allowed, "-o", "xml"), "want one of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, said, code := runAll(t, c.args...)
			if code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit %d, %q; want 2 and %q", code, said, c.want)
			}
		})
	}
}

// TestNoSecretValueReachesTheLedger: no value of a Secret, and no digest of one, in any record.
func TestNoSecretValueReachesTheLedger(t *testing.T) {
	s := newSecretShop(t)
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", s.path("key")).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	writeYAMLFile(t, s.path("holdfast.yaml"), map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Config",
		"clusters":     []any{map[string]any{"name": "north"}},
		"repositories": []any{map[string]any{"url": "https://git.example.test/fleet.git", "clusters": []any{"north"}, "namespaces": []any{"flux-system"}, "forge": map[string]any{"type": "folder", "path": "forge"}}},
		"signing":      map[string]any{"keyFile": "key", "name": "Holdfast", "email": "holdfast@example.test"},
		"ledger":       map[string]any{},
	})
	input := []string{"--config", s.path("holdfast.yaml"), "--live", s.path("live.yaml"), "--live", s.path("engine.yaml"),
		"--git", "https://git.example.test/fleet.git=" + s.path("git"), "--audit", s.path("audit.jsonl")}
	for _, disposition := range []string{"codify", "revert"} {
		s.run(t, append([]string{"propose", "--disposition", disposition}, input...)...)
	}
	files := strings.Fields(git(t, s.path("git"), "ls-tree", "-r", "--name-only", "holdfast/ledger"))
	if len(files) < 10 {
		t.Fatalf("only %d records", len(files))
	}
	for _, name := range files {
		var e struct{ Payload []byte }
		if err := json.Unmarshal([]byte(git(t, s.path("git"), "show", "holdfast/ledger:"+name)), &e); err != nil {
			t.Fatal(err)
		}
		s.check(t, name, string(e.Payload))
		for _, value := range s.values {
			for _, text := range []string{value, fmt.Sprintf("%q", value)} {
				if h := sha256.Sum256([]byte(text)); bytes.Contains(e.Payload, []byte(hex.EncodeToString(h[:]))) {
					t.Errorf("%s holds a digest of a secret value", name)
				}
			}
		}
	}
}
