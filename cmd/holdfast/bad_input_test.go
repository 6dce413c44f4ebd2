package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// unpackInto writes the files of a txtar text below dir; names in the text are slash-separated.
func unpackInto(t *testing.T, dir, text string) string {
	t.Helper()
	for _, f := range txtar.Parse([]byte(text)).Files {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	return dir
}

// runAll runs a command and gives both of its outputs.
func runAll(t *testing.T, args ...string) (out, errors string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, testStreams(&stdout, &stderr))
	return stdout.String(), stderr.String(), code
}

// badInput holds one small file for each kind of mistake. The last line of cut.yaml is where the dump broke off.
const badInput = `
-- live.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: red}
-- cut.yaml --
apiVersion: v1
items:
- apiVersion: v1
  kind: ConfigMap
-- array.json --
[1, 2]
-- status.json --
{"kind": "Status", "apiVersion": "v1", "message": "no \u001b[31mway"}
-- git/apps/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: red}
-- git/broken/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: blue}
-- git/broken/other.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: shop}
---
kind: ConfigMap
  data: [
-- git/typo/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: red}
---
apiversion: v1
kind: ConfigMap
metadata: {name: typo, namespace: shop}
-- kubeconfig --
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: 7ok3n}}]
contexts: [{name: east, context: {cluster: c, user: u}}, {name: west, context: {cluster: c, user: u}}]
-- unknown-key.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: shop}
spec:
  engine: flux
  pathh: apps
-- key-twice.yaml --
apiVersion: holdfast/v1
kind: Application
metadata: {name: shop}
spec:
  engine: flux
  path: apps
  path: apps
-- config-key.yaml --
apiVersion: holdfast/v1
kind: Config
cluster: []
-- config-twice.yaml --
apiVersion: holdfast/v1
kind: Config
tier: dev
tier: staging
-- policy-key.yaml --
apiVersion: holdfast/v1
kind: Policy
extends: production
rule: []
-- audit.jsonl --
{"kind": "Event",
`

func TestBadInputIsToldWithItsPlace(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), badInput)
	good := []string{"scan", "--live", "live.yaml", "--git", "git", "--path", "apps"}
	cases := []struct {
		name string
		args []string
		want []string
	}{
		{"a command that there is not", []string{"bogus"}, []string{`unknown command "bogus"`}},
		{"a flag that there is not", []string{"scan", "--bogus"}, []string{"unknown flag: --bogus"}},
		{"a format that there is not", append(good, "-o", "xml"), []string{`--output "xml": want one of table, json`}},
		{"a dump and a cluster", append(good, "--context", "east"), []string{"leave out --kubeconfig and --context"}},
		{"nothing to scan", []string{"scan", "--live", "live.yaml"}, []string{"no Application", "--path"}},
		{"a context that there is not", []string{"scan", "--kubeconfig", "kubeconfig", "--context", "north"}, []string{`kubeconfig has no context "north"; there are east, west`}},
		{"no current context", []string{"scan", "--kubeconfig", "kubeconfig"}, []string{"no current context: name one with --context; there are east, west"}},
		{"no such kubeconfig", []string{"scan", "--kubeconfig", "absent"}, []string{"kubeconfig: stat absent: no such file"}},
		{"a server that cannot be reached", []string{"scan", "--kubeconfig", "kubeconfig", "--context", "east"}, []string{"cluster east: ", "https://127.0.0.1:1", "cannot be reached"}},
		{"no such dump", []string{"scan", "--live", "absent.yaml"}, []string{"stat absent.yaml: no such file"}},
		{"a dump that breaks off", []string{"scan", "--live", "cut.yaml"}, []string{"cut.yaml:1: ", "a list without its kind", "cut off"}},
		{"a dump that is no object", []string{"scan", "--live", "array.json"}, []string{"array.json:1: no Kubernetes object: a list stands where a mapping is wanted"}},
		{"the server's refusal instead of a dump", []string{"scan", "--live", "status.json"}, []string{"status.json:1: this is the server's refusal", `no \x1b[31mway`}},
		{"an unknown key in an Application", append(good[:5:5], "--application", "unknown-key.yaml"), []string{`unknown-key.yaml:6: unknown key "pathh" in spec; allowed are engine, managers`}},
		{"a key that stands twice in an Application", append(good[:5:5], "--application", "key-twice.yaml"), []string{`key-twice.yaml:7: `, `"path"`}},
		{"an unknown key in the configuration", append(good, "--config", "config-key.yaml"), []string{`config-key.yaml:3: unknown key "cluster"`}},
		{"a key that stands twice in the configuration", append(good, "--config", "config-twice.yaml"), []string{`config-twice.yaml:4: key "tier" repeats; it is already on line 3`}},
		{"an unknown key in a policy", append(good, "--policy", "policy-key.yaml"), []string{`policy-key.yaml:4: unknown key "rule"`}},
		{"an audit log that breaks off", append(good, "--audit", "audit.jsonl"), []string{"--audit audit.jsonl: no audit event in it: line 1: no audit event: invalid JSON"}},
	}
	t.Chdir(dir)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, errs, code := runAll(t, c.args...)
			if code != 2 || out != "" {
				t.Errorf("exit %d, want 2; printed %q", code, out)
			}
			for _, want := range c.want {
				if !strings.Contains(errs, want) {
					t.Errorf("said %q, want %q in it", errs, want)
				}
			}
		})
	}
}

func TestWhatCannotBeAssessedLeavesTheRest(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), badInput)
	t.Chdir(dir)
	cases := []struct {
		name    string
		args    []string
		want    []string // in the reasons of the JSON, and in the table
		objects int
		drifted int
	}{
		{"broken YAML: its file and line are told, the rest is compared", []string{"--git", "git", "--path", "broken"}, []string{"broken/other.yaml:6: broken YAML"}, 2, 2},
		{"an object whose apiVersion is misspelt is none", []string{"--git", "git", "--path", "typo"}, []string{"typo/settings.yaml:5: ", "apiVersion or kind is missing"}, 1, 0},
		{"a path that is not in the repository", []string{"--git", "git", "--path", "absent"}, []string{"render absent: not in the repository"}, 0, 0},
		{"a repository that is not there", []string{"--git", "absent", "--path", "apps"}, []string{"absent: not found: there is no such folder"}, 0, 0},
		{"a file for a repository", []string{"--git", "live.yaml", "--path", "apps"}, []string{"--git live.yaml: is a file"}, 0, 0},
		{"a server that does not answer", []string{"--git", "http://127.0.0.1:1/fleet.git", "--path", "apps"}, []string{"http://127.0.0.1:1/fleet.git: it cannot be reached"}, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out, _, code := runAll(t, append([]string{"scan", "--live", "live.yaml", "-o", "json"}, c.args...)...)
			var doc scanJSON
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			reasons := ""
			for _, a := range doc.Applications {
				reasons += a.Reason + "\n"
			}
			for _, u := range doc.Unknown {
				reasons += u.Reason + "\n"
			}
			shown, _, _ := runAll(t, append([]string{"scan", "--live", "live.yaml"}, c.args...)...)
			for _, want := range c.want {
				if !strings.Contains(reasons, want) || !strings.Contains(shown, want) {
					t.Errorf("%q is missing in %q, or in\n%s", want, reasons, shown)
				}
			}
			if code != 2 || doc.Summary.Objects != c.objects || doc.Summary.Drifted != c.drifted {
				t.Errorf("exit %d, %+v; want 2, %d objects, %d drifted", code, doc.Summary, c.objects, c.drifted)
			}
			if c.drifted == 0 && !strings.Contains(shown, "no drift in what could be assessed") {
				t.Errorf("the table claims too much:\n%s", shown)
			}
		})
	}
}

func TestAClusterThatCannotBeReadIsInTheJSON(t *testing.T) {
	t.Chdir(unpackInto(t, t.TempDir(), badInput))
	out, errs, code := runAll(t, "scan", "-o", "json", "--kubeconfig", "kubeconfig", "--context", "east,west", "--git", "git", "--path", "apps")
	var doc scanJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != 2 || len(doc.Unknown) != 2 || doc.Unknown[0].Cluster != "east" || doc.Unknown[1].Cluster != "west" || !strings.Contains(errs, "cluster west: ") {
		t.Errorf("exit %d, %+v, said %q", code, doc.Unknown, errs)
	}
	if strings.Contains(out+errs, "7ok3n") {
		t.Error("the token is printed")
	}
}

func TestASourceThatNoApplicationHasIsNoted(t *testing.T) {
	t.Chdir(unpackInto(t, t.TempDir(), badInput))
	out, _, code := runAll(t, "scan", "--live", "live.yaml", "--git", "git", "--path", "apps", "--git", "https://git.example.test/typo.git=git")
	if want := "note: --git https://git.example.test/typo.git=git: no Application has this source\n"; code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit %d, want %q in %q", code, want, out)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnAnswerThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Chdir(unpackInto(t, t.TempDir(), badInput))
	for _, format := range []string{"table", "json", "yaml", "markdown", "sarif"} {
		var stderr bytes.Buffer
		code := run(t.Context(), []string{"scan", "--live", "live.yaml", "--git", "git", "--path", "apps", "-o", format}, testStreams(full{}, &stderr))
		if code != 2 || !strings.Contains(stderr.String(), "writing the result: no space left on device") {
			t.Errorf("%s: exit %d, said %q", format, code, stderr.String())
		}
	}
}

func TestAFolderWhoseNameLooksLikeAMapping(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), badInput)
	t.Chdir(dir)
	if err := os.Rename("git", "alice@host=git"); err != nil {
		t.Fatal(err)
	}
	for _, git := range []string{"alice@host=git", "https://git.example.test/fleet.git=alice@host=git"} {
		out, errs, code := runAll(t, "scan", "--live", "live.yaml", "--git", git, "--path", "apps")
		if code != 0 || !strings.Contains(out, "1 object in 1 application: no drift\n") {
			t.Errorf("--git %s: exit %d, %s%s", git, code, out, errs)
		}
	}
}
