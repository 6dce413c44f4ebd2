package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/detect"
)

const recordedTests = `apiVersion: holdfast/v1
kind: PolicyTest
now: 2026-11-01T12:00:00Z
scan: recorded.json
tests:
- name: replicas by hand go back
  finding:
    id: f1
    cluster: north
    application: flux-system/shop
    object: {apiVersion: apps/v1, kind: Deployment, namespace: shop, name: web}
    presence: both
    drift: true
    cause: manual
    disposition: issue
    risk: medium
    fingerprint: x
    fields:
    - {path: spec.replicas, git: 2, live: 5, differs: true, drift: true, cause: manual, disposition: issue, risk: medium}
  want: {disposition: revert, rule: manual-declared, afterHeal: close}
- name: a label of kubectl goes
  engine: flux
  finding:
    {"object": {"apiVersion": "v1", "kind": "Service", "namespace": "shop", "name": "web"}, "presence": "both", "drift": true, "cause": "manual",
     "fields": [{"path": "metadata.labels.team", "live": "a", "differs": true, "drift": true, "cause": "manual", "risk": "low",
                 "writer": {"manager": "kubectl-label", "operation": "Update", "time": "2026-10-31T01:02:03Z", "confidence": "manager"}}]}
  want: {disposition: revert, rule: addition-that-the-engine-removes}
- name: by id, and it fails
  id: f2
  want: {disposition: codify, rule: anything, offer: revert}
`

func TestUsersTestTheirPolicy(t *testing.T) {
	f, err := DecodeTests("policy_test.yaml", []byte(recordedTests))
	if err != nil {
		t.Fatal(err)
	}
	gone := deployment()
	gone.ID, gone.Presence, gone.Cause = "f2", detect.GitOnly, detect.CauseMissing
	results, err := f.Run(Builtin(detect.Production), []detect.Finding{gone})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, strings.Join(append([]string{r.Name}, r.Failures...), "; "))
	}
	want := []string{
		"replicas by hand go back",
		"a label of kubectl goes",
		"by id, and it fails; disposition is revert, want codify; rule is missing, want anything; offer is none, want revert",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := f.Run(Builtin(detect.Production), nil); err == nil || !strings.Contains(err.Error(), `policy_test.yaml:28: test "by id, and it fails": recorded.json has no finding with id "f2"`) {
		t.Errorf("an id that is not recorded: %v", err)
	}
}

func TestDecodeTestsRefuses(t *testing.T) {
	object := "object: {apiVersion: v1, kind: Service, name: web}, presence: both, "
	for name, c := range map[string]struct{ text, want string }{
		"no tests":                    {"tests: []", `tests: the list is empty`},
		"neither finding nor id":      {"tests: [{name: a, want: {disposition: issue}}]", `t.yaml:3: test "a": want either finding, or id`},
		"an id without a scan":        {"tests: [{name: a, id: x, want: {disposition: issue}}]", `the file names no scan`},
		"a finding with a typo":       {"tests: [{name: a, finding: {" + object + "cuase: manual}, want: {disposition: issue}}]", `finding: unknown field "cuase"`},
		"a finding without an object": {"tests: [{name: a, finding: {presence: both}, want: {disposition: issue}}]", `object: want apiVersion, kind, name`},
		"a finding without presence":  {"tests: [{name: a, finding: {object: {apiVersion: v1, kind: Service, name: web}}, want: {disposition: issue}}]", `presence "": want both`},
		"a field that is not there":   {"now: 2026-11-01T00:00:00Z\ntests: [{name: a, field: spec.x, finding: {" + object + "fields: [{path: spec.y}]}, want: {disposition: issue}}]", `field "spec.x": the finding has spec.y`},
		"two fields and no choice":    {"now: 2026-11-01T00:00:00Z\ntests: [{name: a, finding: {" + object + "fields: [{path: spec.y}, {path: spec.z}]}, want: {disposition: issue}}]", `the finding has spec.y, spec.z`},
		"no time":                     {"tests: [{name: a, finding: {" + object + "}, want: {disposition: issue}}]", `give the file a now`},
		"a want of nothing":           {"tests: [{name: a, finding: {" + object + "}, want: {rule: x}}]", `key "disposition" is missing in want`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeTests("t.yaml", []byte("apiVersion: holdfast/v1\nkind: PolicyTest\n"+c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// TestPoliciesRoundTrip writes each policy and reads it back: it decides alike and writes alike.
func TestPoliciesRoundTrip(t *testing.T) {
	policies := []*Policy{decode(t, `
tier: staging
extends: production
rules:
- {name: unknown, cause: [unknown], namespace: ["", "a*"], drift: false, when: 'field.path == "true"', disposition: codify, wide: true, incomplete: true, afterHeal: close}
- {name: "true", risk: [high], path: ['**.image'], disposition: issue, offer: codify}
exceptions:
- {object: A.b/c/*, cluster: [north], path: "**", owner: alice, reason: "because: yes", until: 2027-01-31}
imageRewrites: [{from: a, to: b}]`)}
	for _, tier := range []detect.Tier{detect.Dev, detect.Staging, detect.Production, detect.Regulated} {
		policies = append(policies, Builtin(tier))
	}
	for _, p := range policies {
		first, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(p.Name, first)
		if err != nil {
			t.Fatalf("%s: %v\n%s", p.Name, err, first)
		}
		second, err := again.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(first), string(second)); diff != "" {
			t.Errorf("%s: %s", p.Name, diff)
		}
		in := Input{Finding: deployment(), Field: field(t, "spec.replicas"), Now: now}
		if a, b := p.Decide(in), again.Decide(in); a.Disposition != b.Disposition || RuleName(a.Rule) != RuleName(b.Rule) {
			t.Errorf("%s decides %s by %s, and read back %s by %s", p.Name, a.Disposition, a.Rule, b.Disposition, b.Rule)
		}
	}
}
