package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/strictyaml"
)

// TestFile is a user's test of a policy: recorded findings and what the policy must say about them.
type TestFile struct {
	APIVersion string `json:"apiVersion" jsonschema:"enum=holdfast/v1"`
	Kind       string `json:"kind" jsonschema:"enum=PolicyTest"`
	// Policy is the file to test; without it, the built-in policy of the tier.
	Policy string `json:"policy,omitempty"`
	// Config is a holdfast.yaml whose floor the policy is held to.
	Config string `json:"config,omitempty"`
	// Scan is a recorded `holdfast scan -o json`, from which tests pick findings by id.
	Scan string `json:"scan,omitempty"`
	// Tier is that of tests that name none. Default: the policy's own, else production.
	Tier detect.Tier `json:"tier,omitempty" jsonschema:"enum=dev,enum=staging,enum=production,enum=regulated,enum=dr"`
	// Now is the time of the decisions (RFC 3339). Default: when the finding was last seen.
	Now   time.Time `json:"now,omitzero"`
	Tests []Test    `json:"tests"`

	name string
}

// Test is one test: a finding, given in full or by its id in the recorded scan.
type Test struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
	// Finding is one of the findings that `holdfast scan -o json` prints, as YAML or JSON.
	Finding any `json:"finding,omitempty"`
	// Field is the path of the field that is decided on. Default: the only field of the finding, or its
	// object as a whole where it has none.
	Field string      `json:"field,omitempty"`
	Tier  detect.Tier `json:"tier,omitempty" jsonschema:"enum=dev,enum=staging,enum=production,enum=regulated,enum=dr"`
	// Engine tells, with the field's writer, whether an addition is removed by the engine; EngineRemoves
	// says it outright.
	Engine        gitops.Engine `json:"engine,omitempty" jsonschema:"enum=flux,enum=argocd,enum=none"`
	EngineRemoves *bool         `json:"engineRemoves,omitempty"`
	Want          Want          `json:"want"`

	line    int
	finding detect.Finding
	field   *detect.Field
}

// SetLine keeps where the test stands.
func (t *Test) SetLine(line int) { t.line = line }

// Want is what the decision must be. What is left out may be anything.
type Want struct {
	Disposition detect.Disposition `json:"disposition" jsonschema:"enum=ignore,enum=codify,enum=revert,enum=issue"`
	// Rule is the bare name of the rule that decides; exception, no-drift and no-rule-matched are names too.
	Rule      string             `json:"rule,omitempty"`
	Offer     detect.Disposition `json:"offer,omitempty" jsonschema:"enum=codify,enum=revert"`
	AfterHeal string             `json:"afterHeal,omitempty" jsonschema:"enum=keep,enum=close"`
}

// TestResult is what came of one test. It passed when Failures is empty.
type TestResult struct {
	Name     string
	Line     int
	Failures []string
	Got      detect.Decision
}

// DecodeTests reads a test file. name is used in errors. Findings are checked as strictly as keys.
func DecodeTests(name string, data []byte) (*TestFile, error) {
	f := TestFile{name: name}
	if err := strictyaml.Decode(name, data, &f); err != nil {
		return nil, err
	}
	var errs []error
	for i := range f.Tests {
		t := &f.Tests[i]
		if (t.Finding == nil) == (t.ID == "") {
			errs = append(errs, strictyaml.Errorf(name, t.line, "test %q: want either finding, or id with the file's scan", t.Name))
			continue
		}
		if t.ID != "" {
			if f.Scan == "" {
				errs = append(errs, strictyaml.Errorf(name, t.line, "test %q: has an id, but the file names no scan", t.Name))
			}
			continue
		}
		finding, err := recordedFinding(t.Finding)
		if err != nil {
			errs = append(errs, strictyaml.Errorf(name, t.line, "test %q: finding: %v", t.Name, err))
			continue
		}
		t.finding = finding
		errs = append(errs, f.pick(t))
	}
	if len(f.Tests) == 0 {
		errs = append(errs, strictyaml.Errorf(name, 0, "tests: the list is empty"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &f, nil
}

// recordedFinding reads a finding as scan prints it.
func recordedFinding(raw any) (detect.Finding, error) {
	var f detect.Finding
	data, err := json.Marshal(raw)
	if err != nil {
		return f, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return f, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if f.Object.Kind == "" || f.Object.Name == "" || f.Object.APIVersion == "" {
		return f, fmt.Errorf("object: want apiVersion, kind, name and, where it has one, namespace")
	}
	if !slices.Contains([]detect.Presence{detect.Both, detect.GitOnly, detect.LiveOnly}, f.Presence) {
		return f, fmt.Errorf("presence %q: want both, git-only or live-only", f.Presence)
	}
	return f, nil
}

// pick finds the field that a test is about, and checks that there is a time.
func (f *TestFile) pick(t *Test) error {
	if f.Now.IsZero() && t.finding.LastSeen.IsZero() {
		return strictyaml.Errorf(f.name, t.line, "test %q: its finding has no lastSeen; give the file a now, such as 2027-01-31T12:00:00Z", t.Name)
	}
	fields := t.finding.Fields
	switch {
	case t.Field == "" && len(fields) == 0:
		return nil
	case t.Field == "" && len(fields) == 1:
		t.field = &fields[0]
		return nil
	}
	var paths []string
	for i := range fields {
		if fields[i].Path.String() == t.Field {
			t.field = &fields[i]
			return nil
		}
		paths = append(paths, fields[i].Path.String())
	}
	return strictyaml.Errorf(f.name, t.line, "test %q: field %q: the finding has %s", t.Name, t.Field, strings.Join(paths, ", "))
}

// Run decides on every test's finding. recorded are the findings of the file's scan; an id that is not
// among them is an error.
func (f *TestFile) Run(p *Policy, recorded []detect.Finding) ([]TestResult, error) {
	var out []TestResult
	for _, t := range f.Tests {
		if t.ID != "" {
			i := slices.IndexFunc(recorded, func(r detect.Finding) bool { return r.ID == t.ID })
			if i < 0 {
				return nil, strictyaml.Errorf(f.name, t.line, "test %q: %s has no finding with id %q", t.Name, f.Scan, t.ID)
			}
			t.finding = recorded[i]
			if err := f.pick(&t); err != nil {
				return nil, err
			}
		}
		out = append(out, f.run(p, t))
	}
	return out, nil
}

func (f *TestFile) run(p *Policy, t Test) TestResult {
	in := Input{Finding: t.finding, Field: t.field, Tier: t.Tier, Engine: t.Engine, Now: f.Now}
	if in.Tier == "" {
		in.Tier = f.Tier
	}
	if in.Now.IsZero() {
		in.Now = t.finding.LastSeen
	}
	in.EngineRemoves = EngineRemoves(gitops.Application{Engine: t.Engine}, t.finding, t.field)
	if t.EngineRemoves != nil {
		in.EngineRemoves = *t.EngineRemoves
	}
	result := TestResult{Name: t.Name, Line: t.line, Got: p.Decide(in)}
	for _, c := range []struct{ what, want, got string }{
		{"disposition", string(t.Want.Disposition), string(result.Got.Disposition)},
		{"rule", t.Want.Rule, RuleName(result.Got.Rule)},
		{"offer", string(t.Want.Offer), string(result.Got.Offer)},
		{"afterHeal", t.Want.AfterHeal, result.Got.AfterHeal},
	} {
		if c.want != "" && c.want != c.got {
			got := c.got
			if got == "" {
				got = "none"
			}
			result.Failures = append(result.Failures, fmt.Sprintf("%s is %s, want %s", c.what, got, c.want))
		}
	}
	return result
}
