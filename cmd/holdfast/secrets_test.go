package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"holdfast/gitops/release/releasetest"
)

// secretShop is a scenario of testdata in a folder, git as a repository, and every value that must not appear. Files
// of its folder helm become Helm's records of releases.
type secretShop struct {
	dir    string
	values []string
}

func newSecretShop(t *testing.T) secretShop {
	t.Helper()
	s := unpackSecretShop(t, "secrets.txtar")
	if len(s.values) < 30 {
		t.Fatalf("only %d values: %q", len(s.values), s.values)
	}
	return s
}

func unpackSecretShop(t *testing.T, scenario string) secretShop {
	t.Helper()
	archive, err := os.ReadFile(filepath.Join("testdata", scenario))
	if err != nil {
		t.Fatal(err)
	}
	s := secretShop{dir: t.TempDir()}
	for _, f := range txtar.Parse(archive).Files {
		text := string(f.Data)
		if strings.HasPrefix(f.Name, "helm/") {
			text = releasetest.Object(t, f.Data)
		}
		writeFile(t, s.path(f.Name), text)
	}
	repository := s.path("git")
	git(t, repository, "init", "--quiet", "--initial-branch=main")
	git(t, repository, "add", "--all")
	git(t, repository, "-c", "user.name=Bob", "-c", "user.email=bob@example.test", "commit", "--quiet", "--message=shop")
	revision := strings.TrimSpace(git(t, repository, "rev-parse", "HEAD"))
	engine, err := os.ReadFile(s.path("engine.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.path("engine.yaml"), strings.ReplaceAll(string(engine), "REVISION", revision))

	for _, encoded := range regexp.MustCompile(`Y25yeS[0-9A-Za-z+/]+=*`).FindAllString(string(archive), -1) {
		plain, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		s.values = append(s.values, string(plain))
	}
	s.values = append(s.values, regexp.MustCompile(`cnry-[a-z-]*[a-z]`).FindAllString(string(archive), -1)...)
	slices.Sort(s.values)
	s.values = slices.Compact(s.values)
	return s
}

func (s secretShop) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// check looks for any value, as it is and as base64, wherever in a longer text it begins.
func (s secretShop) check(t *testing.T, what, text string) {
	t.Helper()
	for _, v := range s.values {
		for _, form := range append(base64Forms(v), v) {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s prints the value %s: …%s…", what, v, text[max(0, i-120):min(len(text), i+60)])
				return
			}
		}
	}
	// A part of a value is a leak too.
	if i := strings.Index(text, "cnry"); i >= 0 {
		t.Errorf("%s prints a part of a value: …%s…", what, text[max(0, i-120):min(len(text), i+60)])
	}
}

// base64Forms gives what base64 makes of text at each of the three places of its alphabet where it can begin,
// without the characters that depend on its neighbours.
func base64Forms(text string) []string {
	var out []string
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
		encoded = strings.TrimRight(encoded, "=")
		start := []int{0, 2, 3}[shift]
		out = append(out, encoded[start:len(encoded)-1])
	}
	return out
}

var formats = map[string][]string{
	"scan":    {"table", "json", "yaml", "markdown", "sarif"},
	"propose": {"markdown", "json", "yaml", "patch"},
}

// everywhere runs each command in each of its formats with and without the audit log and --all, and looks for
// values in all that is printed. It gives the outputs of the JSON formats.
func (s secretShop) everywhere(t *testing.T, input ...string) (scanned, proposed string) {
	t.Helper()
	for _, extra := range [][]string{nil, {"--all", "--audit", s.path("audit.jsonl")}} {
		args := append(slices.Clone(input), extra...)
		for _, format := range formats["scan"] {
			out := s.run(t, append([]string{"scan", "-o", format}, args...)...)
			if format == "json" {
				scanned = out
			}
		}
		for _, disposition := range []string{"", "codify", "revert", "issue"} {
			for _, format := range formats["propose"] {
				call := append([]string{"propose", "--dry-run", "-o", format}, args...)
				if disposition != "" {
					call = append(call, "--disposition", disposition)
				}
				out := s.run(t, call...)
				if format == "json" && disposition == "codify" {
					proposed = out
				}
			}
		}
	}
	recorded := filepath.Join(t.TempDir(), "scan.json")
	writeFile(t, recorded, scanned)
	s.run(t, "policy", "explain", recorded)
	return scanned, proposed
}

// run runs one command as on a terminal, so that progress is shown, and checks both of its outputs.
func (s secretShop) run(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := testStreams(&stdout, &stderr)
	streams.progress, streams.color, streams.width = true, true, 200
	run(t.Context(), args, streams)
	what := strings.ReplaceAll("holdfast "+strings.Join(args, " "), s.dir, "")
	s.check(t, what, stdout.String())
	s.check(t, what+" (standard error)", stderr.String())
	return stdout.String()
}

func TestNoSecretValueIsPrinted(t *testing.T) {
	s := newSecretShop(t)
	repository := "https://git.example.test/fleet.git=" + s.path("git")
	scanned, proposed := s.everywhere(t, "--live", s.path("live.yaml"), "--live", s.path("engine.yaml"), "--git", repository)

	// The scenario must have found what it is about, or the silence above would prove nothing.
	for _, want := range []string{
		`"name": "drifted"`, `"name": "stray"`, `"name": "missing"`, `"name": "generated"`, `"name": "patched"`,
		`"path": "data.password"`, `"path": "spec.template.spec.containers[name=web].image"`, `"path": "data.color"`, "<secret>",
	} {
		if !strings.Contains(scanned, want) {
			t.Errorf("the scan does not speak of %s", want)
		}
	}
	var doc proposalsJSON
	if err := json.Unmarshal([]byte(proposed), &doc); err != nil {
		t.Fatal(err)
	}
	changed := map[string]bool{}
	for _, p := range doc.Proposals {
		for _, f := range p.Files {
			changed[f.Path] = true
		}
	}
	if !changed["app/all.yaml"] || !changed["app/kustomization.yaml"] {
		t.Errorf("codify changes %v; want the file between two Secrets and the one with a generator of Secrets", changed)
	}
}

// TestNoValueOfAStoredReleaseIsPrinted scans a chart that makes passwords: Helm's record has them in plain text.
func TestNoValueOfAStoredReleaseIsPrinted(t *testing.T) {
	s := unpackSecretShop(t, "stored-release.txtar")
	repository := "https://git.example.test/fleet.git=" + s.path("git")
	input := []string{"--live", s.path("live.yaml"), "--live", s.path("engine.yaml"), "--git", repository}
	scanned, _ := s.everywhere(t, append(slices.Clone(input), "--live", s.path("helm/1.yaml"))...)
	var scan scanJSON
	if err := json.Unmarshal([]byte(scanned), &scan); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range scan.Findings {
		for _, field := range f.Fields {
			if field.Differs {
				got[f.Object.Name+" "+field.Path.String()] = fmt.Sprintf("%t %s %v", field.Drift, field.Cause, field.Masked)
			}
		}
	}
	want := map[string]string{
		"changed data.password": "true manual true", "web data.password": "true manual true", "web data.color": "true manual false",
		"web spec.template.metadata.annotations.checksum": "true manual true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is found (-want +got)\n%s", diff)
	}
	// Broken records: none of what they hold may be in an error either. What a ConfigMap has live is no secret then.
	record, err := os.ReadFile(s.path("helm/1.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{"SDRzSU", "SDRzSV"}, {"helm.sh/release.v1", "Opaque"}, {"shop.v1", "shop.v2"}} {
		broken := strings.Replace(string(record), change[0], change[1], 1)
		if broken == string(record) {
			t.Fatalf("the record has no %s", change[0])
		}
		writeFile(t, s.path("broken.yaml"), broken)
		out, errors, _ := runAll(t, append([]string{"scan", "--all"}, append(input, "--live", s.path("broken.yaml"))...)...)
		for _, value := range []string{"cnry-stored", "cnry-config", "cnry-remark", "cnry-same"} {
			if strings.Contains(out+errors, value) {
				t.Errorf("%s is told:\n%s%s", value, out, errors)
			}
		}
	}
}

func TestNoSecretValueIsInAnError(t *testing.T) {
	s := newSecretShop(t)
	live := []string{"--live", s.path("live.yaml"), "--git", s.path("git"), "--path"}
	for _, path := range []string{"plain", "plain/one.yaml", "plain/three.yaml", "badpatch", "badliteral", "badenv", "badenv/e.env"} {
		for _, format := range formats["scan"] {
			s.run(t, append([]string{"scan", "-o", format}, append(live, path)...)...)
		}
		s.run(t, append([]string{"propose", "--dry-run", "--disposition", "codify"}, append(live, path)...)...)
	}
	// The same broken files as dumps, as Applications, as policy, configuration and audit log.
	for _, name := range []string{"git/plain/one.yaml", "git/plain/two.yaml", "git/plain/three.yaml", "git/plain/four.yaml", "git/badenv/e.env", "audit.jsonl", "live.yaml"} {
		s.run(t, "scan", "--live", s.path(name), "--git", s.path("git"), "--path", "badpatch")
		for _, flag := range []string{"--application", "--policy", "--config", "--audit", "--kubeconfig"} {
			s.run(t, "scan", "--live", s.path("live.yaml"), "--git", s.path("git"), flag, s.path(name))
		}
		s.run(t, "scan", "--kubeconfig", s.path(name))
		s.run(t, "policy", "test", s.path(name))
		s.run(t, "policy", "explain", s.path(name))
	}
}

func TestNoSecretValueReachesTheForge(t *testing.T) {
	s := newSecretShop(t)
	key := s.path("key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	writeYAMLFile(t, s.path("holdfast.yaml"), map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Config",
		"clusters":     []any{map[string]any{"name": "north"}},
		"repositories": []any{map[string]any{"url": "https://git.example.test/fleet.git", "clusters": []any{"north"}, "namespaces": []any{"flux-system"}, "forge": map[string]any{"type": "folder", "path": "forge"}}},
		"signing":      map[string]any{"keyFile": "key", "name": "Holdfast", "email": "holdfast@example.test"},
	})
	input := []string{"--config", s.path("holdfast.yaml"), "--live", s.path("live.yaml"), "--live", s.path("engine.yaml"),
		"--git", "https://git.example.test/fleet.git=" + s.path("git"), "--audit", s.path("audit.jsonl")}
	for _, disposition := range []string{"codify", "revert"} {
		s.run(t, append([]string{"propose", "--disposition", disposition}, input...)...)
	}
	files, err := filepath.Glob(s.path("forge/*/*.md"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d threads, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s.check(t, name, string(data))
	}
	log := git(t, s.path("git"), "log", "--format=%B", "--all", "^main")
	s.check(t, "a commit message", log)
	// What commits add, against the base: a Secret's own lines are only ever context there.
	for _, line := range strings.Split(git(t, s.path("git"), "log", "--patch", "--unified=0", "--format=", "--all", "^main"), "\n") {
		s.check(t, "a commit", line)
	}
	if !strings.Contains(log, "Holdfast-Key: ") {
		t.Errorf("nothing was pushed: %q", log)
	}
}
