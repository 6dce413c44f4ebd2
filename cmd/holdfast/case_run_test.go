package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/gitops"
)

// testStreams are the ends of a command under test: no terminal, and a clock that stands still.
func testStreams(out, err io.Writer) streams {
	return streams{in: strings.NewReader(""), out: out, err: err, now: func() time.Time {
		return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	}}
}

func runCase(t *testing.T, dir string) {
	c := readCase(t, dir)
	temporary := t.TempDir()
	application, policy := filepath.Join(temporary, "application.yaml"), filepath.Join(temporary, "policy.yaml")
	root, prefix := dir, ""
	switch object := c.Render.object(); {
	case object == "":
		c.application(t, application)
	case strings.HasPrefix(c.Render.Path, "git/"), c.Render.Application == "":
		// The engine object's paths start at the repository's root, which is the folder git.
		root, prefix = filepath.Join(dir, "git"), "git/"
		fallthrough
	default:
		application = c.engineObject(t, filepath.Join(dir, object), strings.TrimPrefix(c.Render.Path, prefix), application)
	}
	c.policy(t, policy)
	input := []string{"--git", root, "--application", application, "--policy", policy, "--live", filepath.Join(dir, "live.yaml")}
	if c.Render.CRDs != "" {
		input = append(input, "--live", filepath.Join(dir, c.Render.CRDs))
	}

	out, _ := holdfast(t, append([]string{"scan", "-o", "json", "--all"}, input...)...)
	var scan scanJSON
	if err := json.Unmarshal([]byte(out), &scan); err != nil {
		t.Fatalf("scan -o json: %v\n%s", err, out)
	}
	for _, a := range scan.Applications {
		if a.State != detect.Rendered && c.Render.Fails == nil {
			t.Fatalf("application %s is %s: %s", a.Name, a.State, a.Reason)
		}
	}
	proposed, _ := holdfast(t, append([]string{"propose", "--dry-run", "-o", "json"}, input...)...)
	findings := answered(t, scan.Findings, proposed)
	c.checkFindings(t, findings)
	if !slices.ContainsFunc(findings, codified) {
		c.Codify = nil // with another disposition, which the case must accept, no edit is due
	}
	c.checkEdits(t, dir, prefix, proposed)
	c.checkText(t, append(input, "--all"), out, proposed)
}

// codified says whether any field of a finding is to be written to Git.
func codified(f detect.Finding) bool {
	return f.Disposition == detect.Codify || slices.ContainsFunc(f.Fields, func(field detect.Field) bool { return field.Disposition == detect.Codify })
}

// answered gives the findings with what became of them: a codify that could not be placed is an issue.
func answered(t *testing.T, findings []detect.Finding, proposed string) []detect.Finding {
	t.Helper()
	var doc proposalsJSON
	if err := json.Unmarshal([]byte(proposed), &doc); err != nil {
		t.Fatalf("propose --dry-run -o json: %v\n%s", err, proposed)
	}
	for _, s := range doc.Skipped {
		for i := range findings {
			for j := range findings[i].Fields {
				field := &findings[i].Fields[j]
				if findings[i].ID == s.Finding && field.Path.String() == s.Path && field.Disposition == detect.Codify {
					field.Disposition = detect.AsIssue
				}
			}
		}
	}
	return findings
}

// checkFindings compares what is reported with what the case expects, both ways.
func (c caseFile) checkFindings(t *testing.T, findings []detect.Finding) {
	t.Helper()
	expected := map[string]bool{}
	for _, want := range c.Objects {
		id := want.Ref.ID()
		i := slices.IndexFunc(findings, func(f detect.Finding) bool { return f.Object.ID() == id })
		expected[id.String()] = true
		if i < 0 {
			if want.Drift && !slices.Contains(c.accepted(want.Ref, "").Drift, false) {
				t.Errorf("%s: drift is not reported", id)
			}
			continue
		}
		c.checkObject(t, want, findings[i])
	}
	for _, f := range findings {
		if f.Drift && !expected[f.Object.ID().String()] {
			t.Errorf("%s: reported as drift (%s), and the case does not list it", f.Object.ID(), f.Cause)
		}
		for _, not := range c.NotListed {
			if matchesAll(not, f) {
				t.Errorf("%s: listed, and must not be", f.Object.ID())
			}
		}
	}
}

func matchesAll(keys map[string]string, f detect.Finding) bool {
	have := map[string]string{
		"apiVersion": f.Object.APIVersion, "kind": f.Object.Kind, "namespace": f.Object.Namespace, "name": f.Object.Name,
		"presence": string(f.Presence), "cause": string(f.Cause),
	}
	for k, v := range keys {
		if have[k] != v {
			return false
		}
	}
	return true
}

func (c caseFile) checkObject(t *testing.T, want objectForm, got detect.Finding) {
	t.Helper()
	id := want.Ref.ID()
	if got.Presence != want.Presence {
		t.Errorf("%s: presence %s, want %s", id, got.Presence, want.Presence)
	}
	if want.Presence != detect.Both || want.ObjectLevel {
		wanted := judged{want.Drift, want.Cause, want.Disposition}
		if m := c.accepted(want.Ref, "").mismatch(wanted, judged{got.Drift, got.Cause, got.Disposition}); m != "" {
			t.Errorf("%s: %s (%s)", id, m, got.Reason)
		}
		return
	}
	if got.Drift != want.Drift && !slices.Contains(c.accepted(want.Ref, "").Drift, got.Drift) {
		t.Errorf("%s: drift %v, want %v", id, got.Drift, want.Drift)
	}
	listed := map[string]bool{}
	for _, field := range want.Fields {
		listed[canonicalPath(t, field.Path)] = true
		c.checkField(t, want, field, got)
	}
	for _, field := range got.Fields {
		if field.Drift && !listed[field.Path.String()] {
			t.Errorf("%s %s: reported as drift (%s, git %v, live %v), and the case does not list it", id, field.Path, field.Cause, field.Git.V, field.Live.V)
		}
	}
}

// canonicalPath spells a path as outputs do: a case may quote a key that needs no quotes.
func canonicalPath(t *testing.T, text string) string {
	t.Helper()
	path, err := gitops.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return path.String()
}

func (c caseFile) checkField(t *testing.T, object objectForm, want fieldForm, finding detect.Finding) {
	t.Helper()
	i := slices.IndexFunc(finding.Fields, func(f detect.Field) bool { return f.Path.String() == canonicalPath(t, want.Path) })
	if i < 0 {
		if want.Differs {
			var have []string
			for _, f := range finding.Fields {
				have = append(have, f.Path.String())
			}
			t.Errorf("%s %s: not reported; reported are %s", object.Ref.ID(), want.Path, strings.Join(have, ", "))
		}
		return
	}
	got := finding.Fields[i]
	secret := object.Ref.Kind == "Secret"
	if got.Differs != want.Differs {
		t.Errorf("%s %s: differs %v, want %v", object.Ref.ID(), want.Path, got.Differs, want.Differs)
	}
	if !equalValue(want.Git, got.Git, secret) {
		t.Errorf("%s %s: git %v (%v), want %v (%v)", object.Ref.ID(), want.Path, got.Git.V, got.Git.Set, want.Git.V, want.Git.Set)
	}
	if !equalValue(want.Live, got.Live, secret) {
		t.Errorf("%s %s: live %v (%v), want %v (%v)", object.Ref.ID(), want.Path, got.Live.V, got.Live.Set, want.Live.V, want.Live.Set)
	}
	wanted := judged{want.Drift, want.Cause, want.Disposition}
	if m := c.accepted(object.Ref, want.Path).mismatch(wanted, judged{got.Drift, got.Cause, got.Disposition}); m != "" {
		t.Errorf("%s %s: %s (%s)", object.Ref.ID(), want.Path, m, got.Reason)
	}
}

// checkEdits compares the files of the codify pull requests with the case's, and the rest with what is
// there.
func (c caseFile) checkEdits(t *testing.T, dir, prefix, proposed string) {
	t.Helper()
	var doc proposalsJSON
	if err := json.Unmarshal([]byte(proposed), &doc); err != nil {
		t.Fatalf("propose --dry-run -o json: %v\n%s", err, proposed)
	}
	after := map[string]string{}
	for _, p := range doc.Proposals {
		if p.Disposition != detect.Codify {
			continue
		}
		for _, f := range p.Files {
			if f.After == nil {
				after[prefix+f.Path] = "<removed>"
				continue
			}
			after[prefix+f.Path] = *f.After
		}
	}
	for _, want := range c.Codify {
		got, ok := after[want.File]
		if !ok {
			t.Errorf("%s: no edit is proposed", want.File)
			continue
		}
		delete(after, want.File)
		data, err := os.ReadFile(filepath.Join(dir, want.After))
		if err != nil {
			t.Fatal(err)
		}
		if want.Match == "yaml+comments" {
			checkKept(t, dir, want.File, string(data), got)
			continue
		}
		if diff := cmp.Diff(string(data), got); diff != "" {
			t.Errorf("%s after the edit (-want +got):\n%s", want.File, diff)
		}
	}
	for _, name := range c.Unchanged {
		if _, edited := after[name]; edited {
			t.Errorf("%s is edited, and must not be", name)
		}
	}
	for name, text := range after {
		t.Errorf("%s is edited, and the case does not ask for it:\n%s", name, text)
	}
	for _, bad := range c.FilesWithout {
		for _, p := range doc.Proposals {
			for _, f := range p.Files {
				if p.Disposition == detect.Codify && f.After != nil && strings.Contains(*f.After, bad) {
					t.Errorf("%s contains %q after the edit", f.Path, bad)
				}
			}
		}
	}
}

// checkKept accepts another wording of the same content that keeps every line it does not replace.
func checkKept(t *testing.T, dir, name, want, got string) {
	t.Helper()
	var a, b any
	if err := yaml.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(got), &b); err != nil {
		t.Errorf("%s does not parse after the edit: %v", name, err)
		return
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("%s after the edit (-want +got):\n%s", name, diff)
	}
	before, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Split(got, "\n")
	for _, line := range strings.Split(string(before), "\n") {
		if !strings.Contains(line, "#") {
			continue
		}
		i := slices.Index(kept, line)
		if i < 0 {
			t.Errorf("%s loses the line %q", name, line)
			continue
		}
		kept = kept[i+1:]
	}
}

// checkText looks for what no output may contain, in every format.
func (c caseFile) checkText(t *testing.T, input []string, outputs ...string) {
	t.Helper()
	if len(c.Without) == 0 {
		return
	}
	for _, format := range []string{"table", "yaml", "markdown", "sarif"} {
		out, _ := holdfast(t, append([]string{"scan", "-o", format}, input...)...)
		outputs = append(outputs, out)
	}
	for _, format := range []string{"markdown", "patch"} {
		out, _ := holdfast(t, append([]string{"propose", "--dry-run", "-o", format}, input...)...)
		outputs = append(outputs, out)
	}
	for _, bad := range c.Without {
		for _, out := range outputs {
			if strings.Contains(out, bad) {
				t.Errorf("an output contains %q", bad)
			}
		}
	}
}
