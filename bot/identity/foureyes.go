package identity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/detect"
)

// Maker is who made a live change, as far as it is known. Login is empty for somebody who is not.
type Maker struct {
	Login string
	// Certain says that this is proven: an audit event with the change in it, by a known person. Whoever may be a maker
	// cannot approve; only where all makers are certain is one approval enough.
	Certain bool
	// Why says why Login is empty or not certain.
	Why string
}

// Makers gives who made the live changes of some writers: every known person once, and one Maker without a login where
// somebody stays unknown. No writers is somebody unknown.
func (ids *Identities) Makers(writers []detect.Writer) []Maker {
	var out []Maker
	for _, w := range writers {
		m := ids.makerOf(w)
		i := slices.IndexFunc(out, func(o Maker) bool { return ids.Same(o.Login, m.Login) })
		switch {
		case i < 0:
			out = append(out, m)
		case !m.Certain:
			out[i] = m
		}
	}
	if len(out) == 0 {
		out = []Maker{{Why: "nothing names who made the change"}}
	}
	return out
}

// makerOf gives who is behind one writer: whoever signed in, not whom they impersonated. Where a program signed in and
// impersonated a person, as a portal does for its users, that person may be the maker, or somebody else with the
// program's credentials.
func (ids *Identities) makerOf(w detect.Writer) Maker {
	if w.Confidence != detect.ByAudit && w.Confidence != detect.ByAuditMetadata {
		return Maker{Why: "no audit event names a user, and a field's manager is a name that its client chose"}
	}
	login, unknown := ids.Login(User{Name: w.User})
	if unknown != Known {
		if as, none := ids.Login(User{Name: w.As}); none == Known {
			return Maker{Login: as, Why: "somebody who is not known impersonated the user"}
		}
		return Maker{Why: string(unknown)}
	}
	if w.Confidence == detect.ByAuditMetadata {
		return Maker{Login: login, Why: "the audit event names who wrote the object, not what of it"}
	}
	return Maker{Login: login, Certain: true}
}

// Situation is a pull request of Holdfast's, as the forge shows it.
type Situation struct {
	Makers []Maker
	// Head is the commit that is asked about. HeadSince is when Holdfast saw it there first; it decides where the
	// forge does not tell which commit was approved. Zero means not known, and such an approval does not count.
	Head      string
	HeadSince time.Time
	Approvals []bot.Approval
	// Entitled says whether an account may answer for the files that change, by CODEOWNERS or policy. Nil is nobody.
	Entitled func(login string) bool
}

func (s Situation) entitled(login string) bool { return s.Entitled != nil && s.Entitled(login) }

// Decision is the verdict of the status check.
type Decision struct {
	Verdict bot.Verdict
	// Title is one line for the status check.
	Title string
	// By are the accounts whose approvals count, one a person, oldest first. Needed is how many have to.
	By     []string
	Needed int
	// Trace says of each other approval why it does not count.
	Trace []string
}

// Decide says whether enough people who did not make the change have approved it.
func (ids *Identities) Decide(s Situation) Decision {
	d := Decision{Verdict: bot.Failure, Needed: 1}
	if len(s.Makers) == 0 || slices.ContainsFunc(s.Makers, func(m Maker) bool { return m.Login == "" || !m.Certain }) {
		d.Needed = 2
	}
	var against []string
	for _, a := range s.Approvals {
		login := a.By.Login
		why := ids.discounted(s, a, d.By)
		switch {
		case a.Rejected && !a.By.Bot && login != "" && s.entitled(login):
			// Whoever may approve may also object, be it to an older head or to a change of their own.
			against = append(against, login)
		case a.Rejected:
			d.Trace = append(d.Trace, fmt.Sprintf("%s asks for changes, and is not entitled to", login))
		case why != "":
			d.Trace = append(d.Trace, fmt.Sprintf("the approval of %s does not count: %s", login, why))
		default:
			d.By = append(d.By, login)
		}
	}
	switch {
	case len(against) > 0:
		d.Title = strings.Join(against, ", ") + " asks for changes"
	case len(d.By) >= d.Needed:
		d.Verdict, d.Title = bot.Success, "approved by "+strings.Join(d.By, ", ")
	default:
		d.Title = d.missing(s.Makers)
	}
	return d
}

// discounted says why an approval does not count; empty for one that does.
func (ids *Identities) discounted(s Situation, a bot.Approval, counted []string) string {
	login := a.By.Login
	same := func(other string) bool { return ids.Same(login, other) }
	switch {
	case login == "":
		return "its account is not known"
	case a.By.Bot:
		return "it is a bot's"
	case slices.ContainsFunc(s.Makers, func(m Maker) bool { return m.Login != "" && same(m.Login) }):
		return "the change is their own"
	case s.Head == "":
		return "the head is not known"
	case a.Commit != "" && a.Commit != s.Head:
		return "it is of another head, " + short(a.Commit)
	case a.Commit == "" && (s.HeadSince.IsZero() || !a.Time.After(s.HeadSince)):
		return "it may be of an older head"
	case !s.entitled(login):
		return "neither CODEOWNERS nor policy entitles them"
	case slices.ContainsFunc(counted, same):
		return "the same person has approved by another account"
	}
	return ""
}

// missing is the title while approvals are missing.
func (d Decision) missing(makers []Maker) string {
	var known []string
	for _, m := range makers {
		if m.Login != "" {
			known = append(known, m.Login)
		}
	}
	who := ""
	if len(known) > 0 {
		who = " by others than " + strings.Join(known, ", ")
	}
	if d.Needed == 1 {
		return "needs an approval" + who
	}
	title := "who made the change is not proven: needs two approvals" + who
	if len(d.By) > 0 {
		title += ", has that of " + strings.Join(d.By, ", ")
	}
	return title
}

func short(commit string) string { return commit[:min(len(commit), 12)] }
