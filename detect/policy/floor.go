package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// Floor is what a server demands of every repository's policy. Its zero value demands nothing, except
// that codify never writes what it must not.
//
// The order of dispositions, least strict first, is ignore, codify, revert, issue. It is the order of how
// much of a live change becomes accepted without a person who decides on it: ignore lets it stay unseen;
// codify asks to make it the declared state; revert asks to keep the reviewed state; issue does nothing
// at all until a person has decided, and stays open until the state is right.
type Floor struct {
	// Least is the least strict disposition of a drift, by risk.
	Least Least `json:"least,omitzero"`
	// Exceptions limits what exceptions may do.
	Exceptions ExceptionFloor `json:"exceptions,omitzero"`
	// Codify names what codify may write although it is forbidden by default.
	Codify CodifyFloor `json:"codify,omitzero"`
}

// Least is the least disposition per risk; empty is ignore. A drift whose risk was not assessed is held
// to that of critical.
type Least struct {
	Low      detect.Disposition `json:"low,omitempty" jsonschema:"enum=ignore,enum=codify,enum=revert,enum=issue"`
	Medium   detect.Disposition `json:"medium,omitempty" jsonschema:"enum=ignore,enum=codify,enum=revert,enum=issue"`
	High     detect.Disposition `json:"high,omitempty" jsonschema:"enum=ignore,enum=codify,enum=revert,enum=issue"`
	Critical detect.Disposition `json:"critical,omitempty" jsonschema:"enum=ignore,enum=codify,enum=revert,enum=issue"`
}

// ExceptionFloor limits exceptions.
type ExceptionFloor struct {
	// Longest is the longest time that an exception may still run, from now; 0 is any. One that ends
	// later does nothing until less is left, so renew exceptions rather than date them far ahead.
	Longest Duration `json:"longest,omitzero"`
	// Owners are who may own an exception; none given is anybody. * and ? as in rules.
	Owners []string `json:"owners,omitempty"`
	// UpTo is the highest risk that an exception may cover although Least asks for more than ignore.
	// Without it, exceptions are held to Least as rules are.
	UpTo detect.Risk `json:"upTo,omitempty" jsonschema:"enum=low,enum=medium,enum=high,enum=critical"`
}

// CodifyFloor allows by name, and bounds how far a codify reaches.
type CodifyFloor struct {
	// Kinds are Kind or Kind.group, as in rules.
	Kinds []string `json:"kinds,omitempty"`
	// Files are paths in the repository; * is any run of characters.
	Files []string `json:"files,omitempty"`
	// Scope is the furthest that any codify reaches, as in rules; with overlay or auto, wide and base of a rule
	// do nothing. Default: base.
	Scope gitops.Scope `json:"scope,omitempty" jsonschema:"enum=auto,enum=overlay,enum=base"`
}

// Grants gives what is left of a codify's grant under the policy's floors.
func (p *Policy) Grants(g detect.Grant) detect.Grant {
	for _, f := range p.floors {
		if f.Codify.Scope != "" {
			g.Scope = g.Scope.Within(f.Codify.Scope)
			g.AllowWide = g.AllowWide && f.Codify.Scope == gitops.ScopeBase
		}
	}
	return g
}

// Under gives the policy held to a floor, beside the floors that it is already under.
func (p *Policy) Under(f Floor) *Policy {
	held := *p
	held.floors = append(slices.Clip(p.floors), f)
	return &held
}

// least gives what the floor asks for at a risk.
func (f Floor) least(r detect.Risk) detect.Disposition {
	switch r {
	case detect.Low:
		return f.Least.Low
	case detect.Medium:
		return f.Least.Medium
	case detect.High:
		return f.Least.High
	}
	return f.Least.Critical
}

// Strictness orders dispositions, least strict first, from 0; see Floor.
func Strictness(d detect.Disposition) int {
	return max(0, slices.Index([]detect.Disposition{detect.Ignore, detect.Codify, detect.Revert, detect.AsIssue}, d))
}

// tighten raises a decision to what the floor asks for, and says so in the trace.
func (f Floor) tighten(s subject, d *detect.Decision) {
	least := f.least(s.field.Risk)
	if Strictness(d.Disposition) >= Strictness(least) {
		return
	}
	if !d.Until.IsZero() && s.field.Risk != 0 && s.field.Risk <= f.Exceptions.UpTo {
		return // an exception that the floor lets through
	}
	was := d.Disposition
	why := fmt.Sprintf("%s risk is at least %s", riskName(s.field.Risk), least)
	if least == detect.Revert && s.undeclared() && !s.in.EngineRemoves {
		least = detect.AsIssue
		why += ", and the engine does not remove this addition by itself"
	}
	*d = detect.Decision{
		Disposition: least, Rule: d.Rule,
		Trace: append(slices.Clip(d.Trace), fmt.Sprintf("floor of the server: %s, so %s of %s became %s", why, was, RuleName(d.Rule), least)),
	}
}

// refusesException says why the floor does not let an exception stand, or "".
func (f Floor) refusesException(e *Exception, s subject) string {
	limits := f.Exceptions
	if len(limits.Owners) > 0 && !anyGlob(limits.Owners, e.Owner) {
		return fmt.Sprintf("the server's floor does not let %s own exceptions", e.Owner)
	}
	if left := e.expires.Sub(s.in.Now); limits.Longest > 0 && left > time.Duration(limits.Longest) {
		return fmt.Sprintf("ends %s, later than the %s from now that the server's floor allows", e.Until, limits.Longest)
	}
	return ""
}

func riskName(r detect.Risk) string {
	if r == 0 {
		return "a not assessed"
	}
	return r.String()
}

// Duration is a length of time that may also be written in days: 90d, 12h, 1h30m.
type Duration time.Duration

// String gives whole days as days, else Go's form.
func (d Duration) String() string {
	const day = 24 * time.Hour
	if t := time.Duration(d); t >= day && t%day == 0 {
		return strconv.Itoa(int(t/day)) + "d"
	}
	return time.Duration(d).String()
}

// MarshalText prints as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what String prints. A length is positive.
func (d *Duration) UnmarshalText(text []byte) error {
	var parsed time.Duration
	days, ok := strings.CutSuffix(string(text), "d")
	n, err := strconv.Atoi(days)
	switch {
	case ok && err == nil && n < 100_000:
		parsed = time.Duration(n) * 24 * time.Hour
	default:
		parsed, err = time.ParseDuration(string(text))
	}
	if err != nil || parsed <= 0 {
		return fmt.Errorf("%q: want a length of time such as 90d, 12h or 1h30m", text)
	}
	*d = Duration(parsed)
	return nil
}
