package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/detect"
)

// The names of the rules in decisions that no rule made: a drift that none matched is an issue, and what
// is no drift is ignored.
const (
	NoRule  = "no-rule-matched"
	NoDrift = "no-drift"
)

// subject is what a decision is about: the input, with an object as a whole seen as a field without path.
type subject struct {
	in    Input
	field detect.Field
	tier  detect.Tier
}

func (p *Policy) subject(in Input) subject {
	s := subject{in: in, tier: cmp.Or(in.Tier, p.Tier, detect.Production)}
	if in.Field != nil {
		s.field = *in.Field
		return s
	}
	f := in.Finding
	s.field = detect.Field{
		Differs: f.Drift || f.Presence != detect.Both, Drift: f.Drift, Cause: f.Cause, Risk: f.Risk,
		Class: f.Class, Sensitive: f.Sensitive, Reason: f.Reason, Writer: f.Writer,
	}
	return s
}

// undeclared says that Git does not have the field or, as a whole, the object.
func (s subject) undeclared() bool {
	if s.in.Finding.Presence == detect.LiveOnly {
		return true
	}
	return s.in.Field != nil && !s.field.Git.Set
}

// open says that there is something to decide: a drift, or a state that cannot be known, as when a render
// gives another value each time.
func (s subject) open() bool {
	return s.field.Drift || s.field.Cause == detect.CauseUnknown || s.field.Cause == detect.CauseRender
}

// Decide answers for one field, or for an object as a whole. The first exception that covers the subject
// and holds decides, else what somebody commanded, else the first rule that matches, else a drift is an issue and what
// is no drift is ignored; then floors tighten the answer to a drift, and codify of what codify must not write becomes an
// issue.
func (p *Policy) Decide(in Input) detect.Decision {
	s := p.subject(in)
	decision := p.byException(s)
	if decision.Rule == "" {
		trace := decision.Trace
		if decision = p.byOrder(s, trace); decision.Rule == "" {
			decision = p.byRule(s, trace)
		}
	}
	if s.open() {
		for _, f := range p.floors {
			f.tighten(s, &decision)
		}
	}
	p.withoutForbiddenCodify(s, &decision)
	decision.Grant = p.Grants(decision.Grant)
	if decision.AfterHeal == "" {
		decision.AfterHeal = defaultAfterHeal(decision.Disposition)
	}
	return decision
}

// byException gives an empty Rule when no exception holds; the trace names those that cover the subject.
func (p *Policy) byException(s subject) detect.Decision {
	var trace []string
	if !s.open() {
		return detect.Decision{}
	}
	for _, e := range p.exceptions {
		if !e.covers(s) {
			continue
		}
		why := e.refusal(s, p.floors)
		if why == "" {
			return e.decision(trace)
		}
		trace = append(trace, e.String()+": "+why)
	}
	return detect.Decision{Trace: trace}
}

func (p *Policy) byRule(s subject, trace []string) detect.Decision {
	var variables map[string]any
	trace = slices.Grow(trace, len(p.rules))
	for _, r := range p.rules {
		why := r.mismatch(s)
		if r.Drift == nil && !s.open() {
			why = "it is no drift, and the rule does not ask for drift: false"
		}
		if why == "" && r.condition != nil {
			if variables == nil {
				variables = s.variables()
			}
			why = r.condition.mismatch(variables)
		}
		if why == "" {
			return detect.Decision{
				Disposition: r.Disposition, Offer: r.Offer, Rule: r.String(), Trace: trace,
				AfterHeal: r.AfterHeal, Grant: detect.Grant{Scope: r.Scope, AllowWide: r.Wide, AllowIncomplete: r.Incomplete},
			}
		}
		trace = append(trace, r.String()+": "+why)
	}
	if !s.open() {
		return detect.Decision{Disposition: detect.Ignore, Rule: fmt.Sprintf("%s (%s)", NoDrift, p.Name), Trace: trace}
	}
	return detect.Decision{Disposition: detect.AsIssue, Rule: fmt.Sprintf("%s (%s)", NoRule, p.Name), Trace: trace}
}

// defaultAfterHeal: a codify is about the recorded value, which stays right when the engine undid it; a
// revert that has happened needs no request any more, and an issue closes with what was seen.
func defaultAfterHeal(d detect.Disposition) string {
	switch d {
	case detect.Ignore:
		return ""
	case detect.Codify:
		return Keep
	}
	return Close
}

// What becomes of a proposal once the engine undid the drift.
const (
	Keep  = "keep"
	Close = "close"
)

// RuleName gives the bare name of a decision's rule, without file and place.
func RuleName(rule string) string {
	name, _, _ := strings.Cut(rule, " (")
	return name
}
