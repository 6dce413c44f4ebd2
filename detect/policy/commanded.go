package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/detect"
)

// Commanded is what somebody entitled asked for about one finding, in place of what the rules say. It holds for the
// fields that drifted when it was asked for and, of a codify or revert, for their content then: what came later was
// not what was asked about. Floors hold for it as for rules and exceptions.
type Commanded struct {
	// Finding is the finding's ID.
	Finding string
	// Disposition is codify or revert, or ignore until Until.
	Disposition detect.Disposition
	// Fields are those asked about, by their paths as outputs print them, with ContentOf; the empty path is the object as
	// a whole.
	Fields map[string]string
	By     string
	Until  time.Time
}

// Commanded gives the policy with what was asked for beside its rules.
func (p *Policy) Commanded(all []Commanded) *Policy {
	if len(all) == 0 {
		return p
	}
	out := *p
	out.exceptions, out.orders = slices.Clone(p.exceptions), slices.Clone(p.orders)
	for _, c := range all {
		if c.Disposition != detect.Ignore {
			out.orders = append(out.orders, c)
			continue
		}
		out.exceptions = append(out.exceptions, &Exception{
			Owner: c.By, Until: c.Until.UTC().Format(time.RFC3339), expires: c.Until, label: c.String(), command: &c,
		})
	}
	return &out
}

// String names the command and who gave it, as decisions and traces print it.
func (c Commanded) String() string {
	return fmt.Sprintf("command (/drift %s by %s)", c.Disposition, c.By)
}

// about says whether the command is about the subject at all.
func (c Commanded) about(s subject) bool {
	if c.Finding != s.in.Finding.ID {
		return false
	}
	content, asked := c.Fields[s.field.Path.String()]
	return asked && (c.Disposition == detect.Ignore || content == ContentOf(s.field))
}

// byOrder gives an empty Rule when no command is about the subject.
func (p *Policy) byOrder(s subject, trace []string) detect.Decision {
	if !s.open() {
		return detect.Decision{}
	}
	for _, c := range p.orders {
		if !c.about(s) {
			continue
		}
		rule := p.byRule(s, nil) // how far a codify may reach is for the rules to say
		d := detect.Decision{Disposition: c.Disposition, Rule: c.String(), Trace: append(trace, "instead of "+string(rule.Disposition)+" by "+rule.Rule)}
		if rule.Disposition == detect.Codify || rule.Offer == detect.Codify {
			d.Grant = rule.Grant
		}
		return d
	}
	return detect.Decision{}
}

// ContentOf tells one drift of a field from another: what Git has, and what is live. The values of Secrets are
// placeholders here. A contested field's live value changes all the time, and is no new drift each time.
func ContentOf(f detect.Field) string {
	live := f.Live
	if f.Cause == detect.CauseContested {
		live.Set, live.V = false, nil
	}
	data, err := json.Marshal([]any{f.Git, live})
	if err != nil { // values are decoded JSON
		return ""
	}
	return detect.Digest(string(data))[:16]
}
