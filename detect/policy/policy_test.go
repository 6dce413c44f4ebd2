package policy

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/detect"
	"holdfast/gitops"
)

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// deployment gives a finding about a Deployment that somebody changed by hand.
func deployment() detect.Finding {
	return detect.Finding{
		ID: "f1", Cluster: "north", Application: "flux-system/shop", Presence: detect.Both, Drift: true,
		Object: detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
		Cause:  detect.CauseManual, Risk: detect.Medium,
	}
}

// field gives a drifted field of it; edits change it.
func field(t *testing.T, path string, edits ...func(*detect.Field)) *detect.Field {
	t.Helper()
	parsed, err := gitops.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &detect.Field{
		Path: parsed, Git: gitops.Present(int64(2)), Live: gitops.Present(int64(5)), Differs: true, Drift: true,
		Cause: detect.CauseManual, Risk: detect.Medium, Kind: detect.Changed,
		Writer: &detect.Writer{Manager: "kubectl-edit", Operation: "Update", Confidence: detect.ByManager},
	}
	for _, edit := range edits {
		edit(f)
	}
	return f
}

func added(f *detect.Field) { f.Git, f.Kind = gitops.Value{}, detect.Added }

func decode(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Decode("policy.yaml", []byte("apiVersion: holdfast/v1\nkind: Policy\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBuiltinPolicies(t *testing.T) {
	risk := func(r detect.Risk) func(*detect.Field) { return func(f *detect.Field) { f.Risk = r } }
	cause := func(c detect.Cause, drift bool) func(*detect.Field) {
		return func(f *detect.Field) { f.Cause, f.Drift = c, drift }
	}
	sensitive := func(f *detect.Field) { f.Sensitive = true }
	gone := deployment()
	gone.Presence, gone.Cause = detect.GitOnly, detect.CauseMissing
	stray := deployment()
	stray.Presence = detect.LiveOnly
	orphan := stray
	orphan.Cause = detect.CauseOrphaned

	replicas := "spec.replicas"
	image := "spec.template.spec.containers[name=web].image"
	for name, c := range map[string]struct {
		in   Input
		want map[detect.Tier]string
	}{
		"a declared value changed by hand": {
			Input{Finding: deployment(), Field: field(t, replicas)},
			map[detect.Tier]string{
				"dev": "codify manual-field", "staging": "codify small-change-of-a-declared-field",
				"production": "revert manual-declared", "regulated": "revert manual-declared",
			},
		},
		"an image changed by hand": {
			Input{Finding: deployment(), Field: field(t, image, risk(detect.High), sensitive)},
			map[detect.Tier]string{
				"dev": "codify image-that-was-tried", "staging": "revert manual-declared",
				"production": "revert manual-declared", "regulated": "issue high-and-critical",
			},
		},
		"an addition that the engine removes": {
			Input{Finding: deployment(), Field: field(t, "metadata.labels.team", added), EngineRemoves: true},
			map[detect.Tier]string{
				"dev": "codify manual-field", "staging": "revert addition-that-the-engine-removes",
				"production": "revert addition-that-the-engine-removes", "regulated": "issue addition-that-the-engine-removes",
			},
		},
		"an addition that stays": {
			Input{Finding: deployment(), Field: field(t, "metadata.labels.team", added)},
			map[detect.Tier]string{
				"dev": "codify manual-field", "staging": "issue addition-that-stays",
				"production": "issue addition-that-stays", "regulated": "issue addition-that-stays",
			},
		},
		"a critical change": {
			Input{Finding: deployment(), Field: field(t, "spec.template.spec.hostNetwork", added, risk(detect.Critical)), EngineRemoves: true},
			map[detect.Tier]string{
				"dev": "issue critical", "staging": "issue critical", "production": "issue critical", "regulated": "issue high-and-critical",
			},
		},
		"an object that is gone": {
			Input{Finding: gone},
			map[detect.Tier]string{
				"dev": "revert missing", "staging": "revert missing", "production": "revert missing", "regulated": "revert missing",
			},
		},
		"an object made by hand": {
			Input{Finding: stray},
			map[detect.Tier]string{
				"dev": "issue manual-object", "staging": "issue addition-that-stays",
				"production": "issue addition-that-stays", "regulated": "issue addition-that-stays",
			},
		},
		"an object left from an earlier Git": {
			Input{Finding: orphan},
			map[detect.Tier]string{
				"dev": "issue neither-side-is-right", "staging": "issue addition-that-stays",
				"production": "issue addition-that-stays", "regulated": "issue addition-that-stays",
			},
		},
		"a drift of unknown cause": {
			Input{Finding: deployment(), Field: field(t, replicas, cause(detect.CauseUnknown, true))},
			map[detect.Tier]string{
				"dev": "issue unknown", "staging": "issue unknown", "production": "issue unknown", "regulated": "issue unknown",
			},
		},
		"a state that cannot be known": {
			Input{Finding: deployment(), Field: field(t, replicas, cause(detect.CauseUnknown, false))},
			map[detect.Tier]string{
				"dev": "issue unknown", "staging": "issue unknown", "production": "issue unknown", "regulated": "issue unknown",
			},
		},
		"a value that the renderer gives anew each time": {
			Input{Finding: deployment(), Field: field(t, replicas, cause(detect.CauseRender, false))},
			map[detect.Tier]string{
				"dev": "issue unknown", "staging": "issue unknown", "production": "issue unknown", "regulated": "issue unknown",
			},
		},
		"an autoscaler's replicas": {
			Input{Finding: deployment(), Field: field(t, replicas, cause(detect.CauseAutoscaler, false), risk(detect.Critical))},
			map[detect.Tier]string{
				"dev": "ignore no-drift", "staging": "ignore no-drift", "production": "ignore no-drift", "regulated": "ignore no-drift",
			},
		},
		"a field that the schema does not know": {
			Input{Finding: deployment(), Field: field(t, replicas, cause(detect.CauseAPI, true))},
			map[detect.Tier]string{
				"dev": "issue neither-side-is-right", "staging": "issue neither-side-is-right",
				"production": "issue neither-side-is-right", "regulated": "issue neither-side-is-right",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for tier, want := range c.want {
				in := c.in
				in.Now, in.Tier = now, tier
				got := Builtin(tier).Decide(in)
				if is := string(got.Disposition) + " " + RuleName(got.Rule); is != want {
					t.Errorf("%s: got %s, want %s\n%s", tier, is, want, strings.Join(got.Trace, "\n"))
				}
			}
		})
	}
}

func TestCriticalOffersTheRevertAndDRIsProduction(t *testing.T) {
	f := field(t, "rules")
	f.Risk = detect.Critical
	got := Builtin(detect.DR).Decide(Input{Finding: deployment(), Field: f, Now: now})
	want := detect.Decision{
		Disposition: detect.AsIssue, Offer: detect.Revert, Rule: "critical (production, rule 3)", AfterHeal: Close,
		Trace: []string{
			"unknown (production, rule 1): cause is manual, the rule wants unknown or render",
			"no-drift (production, rule 2): drift is true, the rule wants false",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecide(t *testing.T) {
	in := func(path string, edits ...func(*detect.Field)) Input {
		return Input{Finding: deployment(), Field: field(t, path, edits...), Now: now, Tier: detect.Production, Engine: gitops.Flux}
	}
	noDrift := func(f *detect.Field) { f.Drift, f.Cause = false, detect.CauseAutoscaler }
	revertAll := "\n- {name: rest, disposition: revert}\n"
	for name, c := range map[string]struct {
		policy string
		in     Input
		want   string // disposition and rule
		trace  string // must be part of the trace
	}{
		"no rule: a drift is an issue": {"", in("spec.replicas"), "issue no-rule-matched", ""},
		"no rule: what is no drift is ignored": {
			"", in("spec.replicas", noDrift), "ignore no-drift", ""},
		"a rule that does not speak of drift leaves what is no drift alone": {
			"rules:" + revertAll, in("spec.replicas", noDrift), "ignore no-drift", "it is no drift, and the rule does not ask for drift: false"},
		"a rule can ask for what is no drift": {
			"rules: [{name: show-it, drift: false, disposition: issue}]", in("spec.replicas", noDrift), "issue show-it", ""},
		"the first rule wins": {
			"rules: [{name: one, disposition: codify}, {name: two, disposition: revert}]", in("spec.replicas"), "codify one", ""},
		"a kind without a group matches any group": {
			"rules: [{name: one, kind: [Deployment], disposition: codify}]" + "", in("spec.replicas"), "codify one", ""},
		"a kind with another group does not match": {
			"rules:\n- {name: one, kind: [Deployment.extensions], disposition: codify}" + revertAll, in("spec.replicas"), "revert rest",
			"one (policy.yaml, rule 1): kind is Deployment.apps, the rule wants Deployment.extensions"},
		"a path matches what is below it": {
			"rules:\n- {name: one, path: [spec.template], disposition: codify}" + revertAll, in("spec.template.spec.hostNetwork"), "codify one", ""},
		"a path does not match what is above it": {
			"rules:\n- {name: one, path: [spec.template.spec], disposition: codify}" + revertAll, in("spec.template"), "revert rest", "path is spec.template"},
		"an application's name matches in any namespace": {
			"rules: [{name: one, application: [sh*], disposition: codify}]", in("spec.replicas"), "codify one", ""},
		"an application with a namespace matches that one only": {
			"rules:\n- {name: one, application: [default/shop], disposition: codify}" + revertAll, in("spec.replicas"), "revert rest", "application is flux-system/shop"},
		"lists are any of, keys are all of": {
			"rules:\n- {name: one, namespace: [a, shop], cluster: [south], disposition: codify}" + revertAll, in("spec.replicas"), "revert rest", "cluster is north"},
		"a condition sees the values": {
			`rules: [{name: one, when: "field.live > field.git && field.live <= 5", disposition: codify}]`, in("spec.replicas"), "codify one", ""},
		"a condition sees the writer, the object, the application, the tier and the time": {
			`rules: [{name: one, when: "field.writer.known && field.writer.manager.startsWith('kubectl') && object.group == 'apps' && application.name == 'shop' && application.engine == 'flux' && tier == 'production' && now > timestamp('2026-01-01T00:00:00Z')", disposition: codify}]`,
			in("spec.replicas"), "codify one", ""},
		"a condition can use Kubernetes quantities": {
			`rules: [{name: one, when: "quantity(field.live).isGreaterThan(quantity('100Mi'))", disposition: codify}]`,
			in("spec.limit", func(f *detect.Field) { f.Live = gitops.Present("1Gi") }), "codify one", ""},
		"a condition that is false says so": {
			"rules:\n- {name: one, when: 'field.riskLevel > 3', disposition: codify}" + revertAll, in("spec.replicas"), "revert rest", "one (policy.yaml, rule 1): when is false"},
		"a condition that fails at run time does not match and says why": {
			"rules:\n- {name: one, when: 'field.git > 3', disposition: ignore}" + revertAll, in("spec.replicas", added), "revert rest", "when cannot be evaluated, so it does not match: no such key: git"},
		"a condition of the wrong type at run time does not match": {
			"rules:\n- {name: one, when: 'field.live.startsWith(\"x\")', disposition: ignore}" + revertAll, in("spec.replicas"), "revert rest", "when cannot be evaluated"},
		"a condition that costs too much does not match": {
			"rules:\n- {name: one, when: '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, a+b+c+d+e > 0)))))', disposition: ignore}" + revertAll,
			in("spec.replicas"), "revert rest", "cost limit exceeded"},
		"has tells an absent value": {
			`rules: [{name: one, when: "!has(field.git) && field.undeclared", disposition: codify}]`, in("spec.replicas", added), "codify one", ""},
		"own rules come before those of the policy that is extended": {
			"extends: production\nrules: [{name: own, path: [spec.replicas], disposition: codify}]", in("spec.replicas"), "codify own", ""},
		"the extended policy decides the rest": {
			"extends: production\nrules: [{name: own, path: [spec.replicas], disposition: codify}]", in("spec.paused"), "revert manual-declared", "own (policy.yaml, rule 1): path is spec.paused"},
		"codify of RBAC is refused": {
			"rules: [{name: one, disposition: codify}]",
			func() Input {
				i := in("rules")
				i.Finding.Object = detect.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Namespace: "shop", Name: "web"}
				return i
			}(), "issue one", "codify of Role.rbac.authorization.k8s.io is not allowed"},
		"codify of where a Kustomization reads from is refused": {
			"rules: [{name: one, disposition: codify}]", onKustomization(in("spec.sourceRef.name")), "issue one", "says where declared state comes from"},
		"codify of a whole spec that holds where it reads from is refused": {
			"rules: [{name: one, disposition: codify}]", onKustomization(in("spec")), "issue one", "says where declared state comes from"},
		"codify of another field of a Kustomization is not": {
			"rules: [{name: one, disposition: codify}]", onKustomization(in("spec.interval")), "codify one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := decode(t, c.policy).Decide(c.in)
			if is := string(got.Disposition) + " " + RuleName(got.Rule); is != c.want {
				t.Errorf("got %s, want %s\n%s", is, c.want, strings.Join(got.Trace, "\n"))
			}
			if trace := strings.Join(got.Trace, "\n"); !strings.Contains(trace, c.trace) {
				t.Errorf("the trace lacks %q:\n%s", c.trace, trace)
			}
		})
	}
}

func onKustomization(in Input) Input {
	in.Finding.Object = detect.ObjectRef{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Namespace: "flux-system", Name: "shop"}
	return in
}

func TestObjectsAsAWhole(t *testing.T) {
	finding := deployment()
	finding.Presence = detect.LiveOnly
	p := decode(t, `rules: [
  {name: by-path, path: [metadata], disposition: ignore},
  {name: by-condition, when: 'field.path == "" && field.undeclared && finding.presence == "live-only"', disposition: codify}]`)
	got := p.Decide(Input{Finding: finding, Now: now})
	if got.Disposition != detect.Codify {
		t.Errorf("got %s by %s: %s", got.Disposition, got.Rule, got.Trace)
	}
	if got.AfterHeal != Keep {
		t.Errorf("a codify is kept after the engine healed, got %q", got.AfterHeal)
	}
}

// TestCasePolicy writes the policy under which the cases of CONTRACT.md run: dispositions by cause, else
// revert what is manual, missing or orphaned, else an issue; no drift is ignored.
func TestCasePolicy(t *testing.T) {
	p := decode(t, `
rules:
- {name: cannot-be-known, cause: [unknown, render], disposition: issue}
- {name: given manual, cause: [manual], drift: true, disposition: codify}
- {name: git-wins, cause: [manual, missing, orphaned], drift: true, disposition: revert}
- {name: other-drift, drift: true, disposition: issue}
- {name: no-drift, drift: false, disposition: ignore}
imageRewrites: [{from: docker.io/, to: mirror.example.test/hub/}]
`)
	for cause, want := range map[detect.Cause]detect.Disposition{
		detect.CauseManual: detect.Codify, detect.CauseMissing: detect.Revert, detect.CauseOrphaned: detect.Revert,
		detect.CauseAPI: detect.AsIssue, detect.CauseUnknown: detect.AsIssue,
	} {
		f := field(t, "spec.replicas", added)
		f.Cause, f.Risk = cause, detect.Critical
		if got := p.Decide(Input{Finding: deployment(), Field: f, Now: now}); got.Disposition != want {
			t.Errorf("%s: got %s by %s, want %s", cause, got.Disposition, got.Rule, want)
		}
	}
	f := field(t, "spec.replicas")
	f.Drift, f.Cause = false, detect.CauseAdmission
	if got := p.Decide(Input{Finding: deployment(), Field: f, Now: now}); got.Disposition != detect.Ignore {
		t.Errorf("no drift: got %s", got.Disposition)
	}
	if len(p.ImageRewrites) != 1 || p.ImageRewrites[0].To != "mirror.example.test/hub/" {
		t.Errorf("image rewrites: %v", p.ImageRewrites)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key":                  {"rules:\n- {name: a, disposition: issue, colour: red}", `policy.yaml:4: unknown key "colour" in rules; allowed are name, cause`},
		"an unknown section":              {"rule: []", `policy.yaml:3: unknown key "rule"; allowed are apiVersion, kind, tier, extends, rules, exceptions, imageRewrites`},
		"a repeated key":                  {"tier: dev\ntier: dev", `policy.yaml:4: key "tier" repeats; it is already on line 3`},
		"a missing disposition":           {"rules:\n- name: a", `policy.yaml:4: key "disposition" is missing in rules`},
		"a cause that does not exist":     {"rules:\n- {name: a, cause: [magic], disposition: issue}", `policy.yaml:4: cause: "magic" is not allowed; want none, manual`},
		"a text where a list is wanted":   {"rules:\n- {name: a, cause: manual, disposition: issue}", `policy.yaml:4: cause: want a list, as in [a, b], not a text`},
		"an empty list":                   {"rules:\n- {name: a, kind: [], disposition: issue}", `policy.yaml:4: rule "a": kind: the list is empty`},
		"another disposition":             {"rules:\n- {name: a, disposition: delete}", `policy.yaml:4: disposition: "delete" is not allowed; want ignore, codify, revert or issue`},
		"a name with parentheses":         {"rules:\n- {name: my rule (1), disposition: issue}", `policy.yaml:4: rule "my rule (1)": a name has up to 80 letters`},
		"a repeated name":                 {"rules:\n- {name: a, disposition: issue}\n- {name: a, disposition: issue}", `policy.yaml:5: rule name "a" repeats; it is already on line 4`},
		"a condition with a typo":         {"rules:\n- name: a\n  disposition: issue\n  when: field.drfit", `policy.yaml:6: rule "a": when: undefined field 'drfit'`},
		"a typo deep in a block":          {"rules:\n- name: a\n  disposition: issue\n  when: |\n    field.drift &&\n    nobody == 1", `policy.yaml:8: rule "a": when: undeclared reference to 'nobody'`},
		"a condition that is no yes/no":   {"rules:\n- {name: a, disposition: issue, when: field.path}", `policy.yaml:4: rule "a": when: gives string; want true or false`},
		"a wrong comparison":              {"rules:\n- {name: a, disposition: issue, when: 'field.drift == \"yes\"'}", `no matching overload`},
		"a condition that is unfinished":  {"rules:\n- {name: a, disposition: issue, when: 'field.drift &&'}", `policy.yaml:4: rule "a": when: Syntax error`},
		"an empty condition":              {"rules:\n- {name: a, disposition: issue, when: ''}", `policy.yaml:4: when: want a CEL expression`},
		"wide without codify":             {"rules:\n- {name: a, disposition: revert, wide: true}", `scope, wide and incomplete are about codify; the disposition is revert`},
		"scope without codify":            {"rules:\n- {name: a, disposition: revert, scope: base}", `scope, wide and incomplete are about codify; the disposition is revert`},
		"wide in the overlay":             {"rules:\n- {name: a, disposition: codify, scope: overlay, wide: true}", `wide contradicts it`},
		"an offer without an issue":       {"rules:\n- {name: a, disposition: revert, offer: codify}", `offer is about an issue`},
		"afterHeal of what is ignored":    {"rules:\n- {name: a, disposition: ignore, afterHeal: keep}", `ignore makes none`},
		"a broken path":                   {"rules:\n- {name: a, disposition: issue, path: ['spec.[x']}", `policy.yaml:4: rule "a": path "spec.[x"`},
		"too many **":                     {"rules:\n- {name: a, disposition: issue, path: ['**.a.**.b.**.c.**']}", `at most 3 are allowed`},
		"an exception without an owner":   {"exceptions:\n- {object: Deployment/shop/web, path: spec, reason: r, until: 2027-01-01}", `policy.yaml:4: key "owner" is missing in exceptions`},
		"an exception with a disposition": {"exceptions:\n- {object: Deployment/shop/web, path: spec, owner: alice, reason: r, until: 2027-01-01, disposition: codify}", `unknown key "disposition" in exceptions`},
		"an exception for ever":           {"exceptions:\n- {object: Deployment/shop/web, path: spec, owner: alice, reason: r, until: never}", `exception 1: until: "never": want a date such as 2027-01-31`},
		"an exception of no object":       {"exceptions:\n- {object: Deployment, path: spec, owner: alice, reason: r, until: 2027-01-01}", `want Kind.group/namespace/name`},
		"a rewrite of nothing":            {"imageRewrites:\n- {from: '', to: x}", `policy.yaml:4: imageRewrites: from and to are two different`},
		"an alias":                        {"rules: &x []\nexceptions: *x", `policy.yaml:3: rules: an anchor or alias is not allowed here`},
		"a second document":               {"---\n{}", `a second document starts here`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("policy.yaml", []byte("apiVersion: holdfast/v1\nkind: Policy\n"+c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
	for name, text := range map[string]string{"another kind": "apiVersion: holdfast/v1\nkind: Scan\n", "nothing": "", "a list": "[]", "no YAML": "a: [", "comments": "# x\n"} {
		if _, err := Decode("policy.yaml", []byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestEmbeddedPoliciesAreWhatTheirTierSays(t *testing.T) {
	files, err := os.ReadDir("builtin")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tier := detect.Tier(strings.TrimSuffix(file.Name(), ".yaml"))
		if p := Builtin(tier); p.Tier != tier || p.Name != string(tier) {
			t.Errorf("%s: is named %s and for tier %s", file.Name(), p.Name, p.Tier)
		}
	}
	if len(files) != 4 {
		t.Errorf("%d built-in policies, want 4", len(files))
	}
}

func FuzzDecode(f *testing.F) {
	for _, tier := range []detect.Tier{detect.Dev, detect.Production} {
		_, data := BuiltinSource(tier)
		f.Add(data)
	}
	f.Add([]byte("apiVersion: holdfast/v1\nkind: Policy\nexceptions: [{object: A/b/c, path: '**', owner: alice, reason: r, until: 2027-01-01}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode("fuzz.yaml", data)
		if err != nil {
			return
		}
		in := Input{Finding: deployment(), Now: now}
		if got := p.Decide(in); got.Disposition == "" || got.Rule == "" {
			t.Errorf("decision without answer: %+v", got)
		}
	})
}
