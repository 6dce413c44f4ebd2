// Package policy decides what is to be done about a difference: ignore it, codify it, revert it, or ask
// in an issue. A policy is YAML, strictly decoded; the first rule that matches wins, and a drift that none
// matches is an issue. Rules match by plain lists and by a CEL expression; every decision says which rule
// made it and why each earlier one did not match. Exceptions are ignored differences with an owner, a
// reason and an end. The server's Floor tightens a repository's policy and is never loosened by it.
//
// The package is pure: the time and what an engine can do are passed in.
package policy

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/strictyaml"
)

// Document is a policy as it is written.
type Document struct {
	APIVersion string `json:"apiVersion" jsonschema:"enum=holdfast/v1"`
	Kind       string `json:"kind" jsonschema:"enum=Policy"`
	// Tier is the tier for which the policy is meant, where the server's config names none.
	Tier detect.Tier `json:"tier,omitempty" jsonschema:"enum=dev,enum=staging,enum=production,enum=regulated,enum=dr"`
	// Extends names a built-in policy whose rules follow this policy's own.
	Extends       detect.Tier    `json:"extends,omitempty" jsonschema:"enum=dev,enum=staging,enum=production,enum=regulated,enum=dr"`
	Rules         []Rule         `json:"rules,omitempty"`
	Exceptions    []Exception    `json:"exceptions,omitempty"`
	ImageRewrites []ImageRewrite `json:"imageRewrites,omitempty"`
}

// Rule is one rule. Every matcher that is given must match; a list matches when one of its entries does.
// A rule is about drift, and about what cannot be known: only with drift: false does it match an explained
// difference. A rule without matchers matches every drift.
type Rule struct {
	Name    string `json:"name"`
	Matcher `json:",inline"`
	// When is a CEL expression over field, finding, object, application, tier, engineRemoves and now.
	When Expression `json:"when,omitzero"`

	Disposition detect.Disposition `json:"disposition" jsonschema:"enum=ignore,enum=codify,enum=revert,enum=issue"`
	// Offer is another answer that the issue offers as a command.
	Offer detect.Disposition `json:"offer,omitempty" jsonschema:"enum=codify,enum=revert"`
	// AfterHeal is what becomes of a proposal once the engine undid the drift. Default: keep for codify,
	// close for revert and issue.
	AfterHeal string `json:"afterHeal,omitempty" jsonschema:"enum=keep,enum=close"`
	// Scope is how far a codify reaches where environments share a file: auto goes to the shared base where all that
	// read it drift alike, else to the environment's own overlay; overlay always stays there; base goes to where the
	// value is declared for all, although others then take it too. Default: auto.
	Scope gitops.Scope `json:"scope,omitempty" jsonschema:"enum=auto,enum=overlay,enum=base"`
	// Wide lets a codify move other Applications that share the file, where nothing narrower is found.
	Wide bool `json:"wide,omitempty"`
	// Incomplete lets a codify stand whose proof could not render everything.
	Incomplete bool `json:"incomplete,omitempty"`

	line      int
	condition *condition
	file      string
	label     string // name, file and place, as decisions and traces print it
}

// SetLine keeps where the rule stands.
func (r *Rule) SetLine(line int) { r.line = line }

// ImageRewrite is a known admission rewrite of image references: what starts with From in Git starts with
// To on the cluster.
type ImageRewrite struct {
	From string `json:"from"`
	To   string `json:"to"`

	line int
}

// SetLine keeps where the rewrite stands.
func (r *ImageRewrite) SetLine(line int) { r.line = line }

// Policy is a compiled policy. It is never changed after Decode and safe for concurrent use.
type Policy struct {
	// Name is the file it came from, or the name of a built-in policy.
	Name string
	// Tier is the tier that the document names; empty for none.
	Tier          detect.Tier
	ImageRewrites []ImageRewrite

	rules      []*Rule
	exceptions []*Exception
	orders     []Commanded
	floors     []Floor
}

// ruleName leaves parentheses out, since a decision prints file and place in them after the name.
var ruleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._,/-]{0,79}$`)

// Decode reads and compiles a policy. name is the file, for errors and traces. It refuses unknown and
// repeated keys, expressions that do not compile, and rules that contradict themselves; each error names
// file and line.
func Decode(name string, data []byte) (*Policy, error) {
	var document Document
	if err := strictyaml.Decode(name, data, &document); err != nil {
		return nil, err
	}
	p := &Policy{Name: name, Tier: document.Tier, ImageRewrites: document.ImageRewrites}
	compiler := compiler{file: name}
	var errs []error
	fail := func(line int, format string, args ...any) {
		errs = append(errs, strictyaml.Errorf(name, line, format, args...))
	}
	lines := map[string]int{}
	for i := range document.Rules {
		r := &document.Rules[i]
		r.file, r.label = name, fmt.Sprintf("%s (%s, rule %d)", r.Name, name, i+1)
		if first, again := lines[r.Name]; again {
			fail(r.line, "rule name %q repeats; it is already on line %d", r.Name, first)
		}
		lines[r.Name] = r.line
		errs = append(errs, r.check(name)...)
		if r.When.text != "" {
			condition, err := compiler.compile(r.Name, r.When)
			r.condition, errs = condition, append(errs, err)
		}
		p.rules = append(p.rules, r)
	}
	for i := range document.Exceptions {
		e := &document.Exceptions[i]
		e.file, e.index = name, i+1
		errs = append(errs, e.check(name)...)
		p.exceptions = append(p.exceptions, e)
	}
	for _, r := range document.ImageRewrites {
		if r.From == "" || r.To == "" || r.From == r.To {
			fail(r.line, "imageRewrites: from and to are two different, non-empty prefixes of image references")
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if document.Extends != "" {
		p.rules = append(p.rules, Builtin(document.Extends).rules...)
	}
	return p, nil
}

// check finds contradictions within one rule.
func (r *Rule) check(file string) (errs []error) {
	fail := func(format string, args ...any) {
		errs = append(errs, strictyaml.Errorf(file, r.line, "rule %q: "+format, append([]any{r.Name}, args...)...))
	}
	if !ruleName.MatchString(r.Name) {
		fail("a name has up to 80 letters, digits, blanks and . _ , / -, and starts with a letter or digit")
	}
	if (r.Wide || r.Incomplete || r.Scope != "") && r.Disposition != detect.Codify && r.Offer != detect.Codify {
		fail("scope, wide and incomplete are about codify; the disposition is %s", r.Disposition)
	}
	if r.Wide && r.Scope == gitops.ScopeOverlay {
		fail("scope overlay keeps a codify in the environment's own files, so wide contradicts it")
	}
	if r.AfterHeal != "" && r.Disposition == detect.Ignore {
		fail("afterHeal is about a proposal; ignore makes none")
	}
	if r.Offer != "" && r.Disposition != detect.AsIssue {
		fail("offer is about an issue; the disposition is %s", r.Disposition)
	}
	return append(errs, r.Matcher.compile(file, r.line, r.Name)...)
}

// String names the rule, its file and its place.
func (r *Rule) String() string { return r.label }

// Input is what is decided on: a field of a finding, or, with Field nil, the finding's object as a whole.
type Input struct {
	Finding detect.Finding
	Field   *detect.Field
	// Tier is the cluster's; empty takes the policy's own, else production.
	Tier detect.Tier
	// Engine is whose Application it is; empty when not known.
	Engine gitops.Engine
	// EngineRemoves says that the engine takes this addition away by itself on its next apply: see
	// EngineRemoves. It has no meaning for what Git declares.
	EngineRemoves bool
	Now           time.Time
}
