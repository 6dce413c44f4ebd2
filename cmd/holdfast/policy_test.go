package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// recordScan writes a scan with one Deployment that has two drifts and an autoscaler's replicas, and a
// Service that is gone.
func recordScan(t *testing.T, file string) {
	t.Helper()
	path := func(text string) gitops.Path {
		p, err := gitops.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	seen := time.Date(2026, 3, 9, 8, 0, 0, 0, time.UTC)
	kubectl := &detect.Writer{Manager: "kubectl-edit", Operation: "Update", Confidence: detect.ByManager}
	scan := detect.Scan{
		Time:         seen,
		Applications: []detect.AssessedApplication{{Application: gitops.Application{Cluster: "north", Namespace: "flux-system", Name: "shop", Engine: gitops.Flux, Kind: "Kustomization"}, State: detect.Rendered}},
		Findings: []detect.Finding{{
			ID: "3f2a9c0b1d4e", Cluster: "north", Application: "flux-system/shop", Presence: detect.Both, Drift: true,
			Object: detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
			Cause:  detect.CauseManual, Risk: detect.Medium, Disposition: detect.Revert, LastSeen: seen,
			Fields: []detect.Field{
				{Path: path("spec.paused"), Git: gitops.Present(false), Live: gitops.Present(true), Differs: true, Drift: true, Cause: detect.CauseManual, Risk: detect.Medium, Writer: kubectl, Disposition: detect.Revert, Kind: detect.Changed},
				{Path: path("metadata.labels.team"), Live: gitops.Present("a"), Differs: true, Drift: true, Cause: detect.CauseManual, Risk: detect.Low, Writer: kubectl, Disposition: detect.Revert, Kind: detect.Added},
				{Path: path("spec.replicas"), Git: gitops.Present(int64(2)), Live: gitops.Present(int64(5)), Differs: true, Cause: detect.CauseAutoscaler, Disposition: detect.Ignore, Kind: detect.Changed},
			},
		}, {
			ID: "77aa00000000", Cluster: "north", Application: "flux-system/shop", Presence: detect.GitOnly, Drift: true,
			Object: detect.ObjectRef{APIVersion: "v1", Kind: "Service", Namespace: "shop", Name: "web"},
			Cause:  detect.CauseMissing, Risk: detect.High, Disposition: detect.Revert, LastSeen: seen,
		}},
	}
	var out bytes.Buffer
	if err := writeScanJSON(&out, scan); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, out.String())
}

func writeFile(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// policyFolder is a folder with a scan, policies, a configuration and tests of the policy.
func policyFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	recordScan(t, filepath.Join(dir, "scan.json"))
	for name, content := range map[string]string{
		"codify.yaml":   "apiVersion: holdfast/v1\nkind: Policy\nrules: [{name: keep-it, disposition: codify}]\n",
		"extended.yaml": "apiVersion: holdfast/v1\nkind: Policy\nextends: regulated\nexceptions: [{object: Service/shop/web, path: '**', owner: alice, reason: moved, until: 2026-03-10}]\n",
		"broken.yaml":   "apiVersion: holdfast/v1\nkind: Policy\nrules:\n- {name: a, disposition: keep}\n",
		"floor.yaml":    "floor: {least: {medium: issue}}\n",
		"pass.yaml": `{apiVersion: holdfast/v1, kind: PolicyTest, scan: scan.json, tests: [
  {name: paused goes back, id: 3f2a9c0b1d4e, field: spec.paused, want: {disposition: revert, rule: manual-declared}},
  {name: the label goes, id: 3f2a9c0b1d4e, field: metadata.labels.team, engine: flux, want: {disposition: revert, rule: addition-that-the-engine-removes}}]}`,
		"fail.yaml": `{apiVersion: holdfast/v1, kind: PolicyTest, scan: scan.json, policy: codify.yaml, tests: [
  {name: the service comes back, id: "77aa00000000", want: {disposition: revert}}]}`,
		"floored.yaml": `{apiVersion: holdfast/v1, kind: PolicyTest, scan: scan.json, policy: codify.yaml, config: floor.yaml, tests: [
  {name: the floor holds, id: 3f2a9c0b1d4e, field: spec.paused, want: {disposition: issue, rule: keep-it}}]}`,
		"typo.yaml":   "{apiVersion: holdfast/v1, kind: PolicyTest, test: []}",
		"noscan.json": "{\n\"apiVersion\": oops}",
		"other.json":  `{"apiVersion": "v1", "kind": "List"}`,
	} {
		writeFile(t, filepath.Join(dir, name), content)
	}
	return dir
}

func TestPolicyCommands(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want []string // in standard output or standard error, in this order
		not  string
	}{
		"show prints production's policy with its reasons": {
			[]string{"policy", "show"}, 0, []string{"Git was reviewed", "tier: production", "name: manual-declared"}, "floor"},
		"show prints that of a tier": {
			[]string{"policy", "show", "--tier", "regulated"}, 0, []string{"the record counts", "tier: regulated"}, ""},
		"show prints what a policy extends": {
			[]string{"policy", "show", "--policy", "extended.yaml"}, 0, []string{"# The policy of extended.yaml", "name: high-and-critical", "owner: alice"}, ""},
		"show adds the floor as a comment": {
			[]string{"policy", "show", "--config", "floor.yaml"}, 0, []string{"# Held to the floor of floor.yaml:", "#     medium: issue"}, ""},
		"show of a tier that does not exist": {
			[]string{"policy", "show", "--tier", "prod"}, 2, []string{`tier "prod": want dev, staging, production, regulated or dr`}, ""},
		"show of a broken policy": {
			[]string{"policy", "show", "--policy", "broken.yaml"}, 2, []string{`broken.yaml:4: disposition: "keep" is not allowed; want ignore, codify, revert or issue`}, ""},
		"show of no file": {
			[]string{"policy", "show", "--policy", "gone.yaml"}, 2, []string{"policy: open gone.yaml"}, ""},
		"show takes no arguments": {
			[]string{"policy", "show", "x"}, 2, []string{"unknown command"}, ""},
		"tests that pass": {
			[]string{"policy", "test", "pass.yaml"}, 0, []string{"ok    paused goes back", "ok    the label goes", "pass.yaml: 2 tests, 0 failed, with the policy production"}, "FAIL"},
		"a test that fails says why": {
			[]string{"policy", "test", "pass.yaml", "fail.yaml"}, 1,
			[]string{"FAIL  the service comes back (fail.yaml:2)", "disposition is codify, want revert", "decided by keep-it (codify.yaml, rule 1)", "1 tests, 1 failed"}, ""},
		"another policy can be put in place of the file's": {
			[]string{"policy", "test", "fail.yaml", "--policy", "extended.yaml"}, 1, []string{"disposition is ignore, want revert", "decided by exception (extended.yaml, exception 1)"}, ""},
		"tests know the floor": {
			[]string{"policy", "test", "floored.yaml"}, 0, []string{"ok    the floor holds"}, ""},
		"a test file with a typo": {
			[]string{"policy", "test", "typo.yaml"}, 2, []string{`typo.yaml:1: unknown key "test"`}, ""},
		"no test file": {
			[]string{"policy", "test"}, 2, []string{"requires at least 1 arg"}, ""},
		"explain tells every drift": {
			[]string{"policy", "explain", "scan.json"}, 0, []string{
				"Deployment.apps/shop/web  (cluster north, application flux-system/shop, id 3f2a9c0b1d4e)",
				"  spec.paused: git false, live true",
				"known     drift, cause manual, medium risk, written by kubectl-edit",
				"decided   revert (once the engine undid it: close), by manual-declared (production, rule 5)",
				"because   unknown (production, rule 1): cause is manual, the rule wants unknown or render",
				"  metadata.labels.team: git absent, live \"a\"",
				"by addition-that-the-engine-removes",
				"  spec.replicas: git 2, live 5",
				"decided   ignore, by no-drift",
				"Service/shop/web",
				"the object as a whole, git-only",
				"by missing",
			}, "recorded"},
		"explain tells one field, and where the answer is new": {
			[]string{"policy", "explain", "scan.json", "Deployment/shop/web", "spec.paused", "--policy", "codify.yaml"}, 0,
			[]string{"decided   codify (once the engine undid it: keep), by keep-it (codify.yaml, rule 1)", "recorded  revert, by no rule"}, "spec.replicas"},
		"explain says that the floor overrode": {
			[]string{"policy", "explain", "scan.json", "3f2a", "spec.paused", "--policy", "codify.yaml", "--config", "floor.yaml"}, 0,
			[]string{"decided   issue", "floor of the server: medium risk is at least issue, so codify of keep-it became issue"}, ""},
		"explain of an exception says when it ends": {
			[]string{"policy", "explain", "scan.json", "77aa", "--policy", "extended.yaml"}, 0, []string{"ignore until 2026-03-11 00:00 UTC, by exception (extended.yaml, exception 1)"}, ""},
		"explain of no such finding": {
			[]string{"policy", "explain", "scan.json", "Deployment/shop/api"}, 2, []string{`scan.json: no finding has the id, or is about the object, "Deployment/shop/api"`}, ""},
		"explain of no such field": {
			[]string{"policy", "explain", "scan.json", "3f2a", "spec.x"}, 2, []string{`has no field "spec.x"`}, ""},
		"explain of no JSON": {
			[]string{"policy", "explain", "noscan.json"}, 2, []string{"recorded scan noscan.json: no JSON", "line 2"}, ""},
		"explain of another document": {
			[]string{"policy", "explain", "other.json"}, 2, []string{`is apiVersion "v1", kind "List"; want holdfast/v1, Scan`}, ""},
		"an unknown subcommand": {
			[]string{"policy", "frobnicate"}, 2, []string{"unknown command"}, ""},
		"help has examples": {
			[]string{"policy", "explain", "--help"}, 0, []string{"Exit code", "Examples:", "holdfast policy explain scan.json"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(policyFolder(t))
			var out, err bytes.Buffer
			code := run(t.Context(), c.args, testStreams(&out, &err))
			all := out.String() + err.String()
			if code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			rest := all
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("the output lacks, or has not in order, %q:\n%s", want, all)
				}
				rest = after
			}
			if c.not != "" && strings.Contains(all, c.not) {
				t.Errorf("the output has %q:\n%s", c.not, all)
			}
		})
	}
}

func TestPolicyCommandsTakeTheFilesOfTheFolder(t *testing.T) {
	dir := policyFolder(t)
	t.Chdir(dir)
	for from, to := range map[string]string{"codify.yaml": ".holdfast.yaml", "floor.yaml": "holdfast.yaml"} {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	scan, err := os.ReadFile("scan.json")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := testStreams(&out, &out)
	s.in = bytes.NewReader(scan)
	if code := run(t.Context(), []string{"policy", "explain", "-", "3f2a", "spec.paused"}, s); code != 0 {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	for _, want := range []string{"issue", "keep-it (.holdfast.yaml, rule 1)", "floor of the server"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}

// TestShownPoliciesAreTakenBack: what show prints can be written to a file and used.
func TestShownPoliciesAreTakenBack(t *testing.T) {
	dir := policyFolder(t)
	t.Chdir(dir)
	for _, args := range [][]string{
		{"--tier", "dev"}, {"--tier", "staging"}, {"--tier", "production"}, {"--tier", "regulated"}, {"--tier", "dr"},
		{"--policy", "extended.yaml"}, {"--config", "floor.yaml"},
	} {
		var out, err bytes.Buffer
		if code := run(t.Context(), append([]string{"policy", "show"}, args...), testStreams(&out, &err)); code != 0 {
			t.Fatalf("%s: exit %d: %s", args, code, err.String())
		}
		writeFile(t, filepath.Join(dir, "shown.yaml"), out.String())
		if code := run(t.Context(), []string{"policy", "show", "--policy", "shown.yaml"}, testStreams(&out, &err)); code != 0 {
			t.Errorf("%s: what is shown is refused: %s", args, err.String())
		}
	}
}
