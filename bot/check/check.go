// Package check decides about the status check that Holdfast reports on pull requests: whether one of its own holds
// what was proven and was seen by four eyes, and whether one of others touches what drifts.
//
// Nothing of others' is rendered: the names of the files that it changes are all that is looked at. What is Holdfast's
// own is told by the account, the place of the branch, and the signature of its commit, which also names the
// findings: what stands in a body, a maintainer may have changed.
package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/identity"
	"holdfast/bot/publish"
	"holdfast/detect"
	"holdfast/templates"
)

// Commit is the head of a pull request's branch, as far as Git tells.
type Commit struct {
	// Unsigned says why it is not Holdfast's own: not signed, signed by another key, or not a commit on top of another.
	// Empty for one that is.
	Unsigned string
	// Key, Disposition and Findings are those of its message.
	Key         string
	Disposition detect.Disposition
	Findings    []string
	// Files is a hash of what it changes (propose.FilesHash).
	Files string
	When  time.Time
}

// Open is a drift that is open, and where it is declared.
type Open struct {
	Finding detect.Finding
	Files   []string
}

// Facts are all that decides about one pull request.
type Facts struct {
	Pull bot.PullRequest
	// Account is the bot's own login.
	Account string
	// Head is looked at for Holdfast's own alone.
	Head Commit
	// Open are the drifts of the repository's Applications. Scanned is false while no cluster was scanned yet.
	Open    []Open
	Scanned bool
	// Drifts and Unknown are as publish.LiveOf takes them.
	Drifts  map[string]string
	Unknown map[string]bool
	// Makers, Approvals and Entitled are as identity.Situation has them.
	Makers    []identity.Maker
	Approvals []bot.Approval
	Entitled  func(login string) bool
	// Hidden says that the forge does not tell this credential what role anybody has, so that nobody is entitled.
	Hidden string
}

// Verdict is a status check with what it rests on.
type Verdict struct {
	bot.Check
	// Own says that it is about a pull request of Holdfast's.
	Own bool
	// Eyes is the decision about approvals, where it came to that.
	Eyes *identity.Decision
}

// Own says whether a pull request is Holdfast's by its account. One of a fork is not, whatever its branch is called.
func Own(p bot.PullRequest, account string) bool {
	return account != "" && strings.EqualFold(p.Author, account)
}

// Decide gives the status check of a pull request.
func Decide(ids *identity.Identities, f Facts) Verdict {
	v := Verdict{Own: Own(f.Pull, f.Account)}
	if v.Own {
		v.own(ids, f)
	} else {
		v.others(f)
	}
	v.Commit = f.Pull.Head
	return v
}

// others looks at the names of the changed files only.
func (v *Verdict) others(f Facts) {
	var about []string
	for _, o := range f.Open {
		hit := false
		for _, file := range o.Files {
			if !slices.Contains(f.Pull.Files, file) {
				continue
			}
			hit = true
			if len(v.Notes) < mostNotes {
				v.Notes = append(v.Notes, bot.CheckNote{Path: file, Line: 1, Message: plain(fmt.Sprintf(
					"%s on %s drifts from what this file declares, and is %s: merging this may overwrite what is live.", name(o.Finding.Object), o.Finding.Cluster, answered(o.Finding)))})
			}
		}
		if hit {
			about = append(about, name(o.Finding.Object)+" on "+o.Finding.Cluster)
		}
	}
	switch {
	case len(about) > 0:
		v.Verdict = bot.Neutral
		v.Title = plain("overwrites an open drift: " + about[0])
		if n := len(about) - 1; n > 0 {
			v.Title += fmt.Sprintf(", and %d more", n)
		}
		v.Summary = "What these declare drifts now. Look at the drift before this is merged.\n\n"
		for _, a := range about[:min(len(about), mostNotes)] {
			v.Summary += "- " + templates.Code(a) + "\n"
		}
	case f.Pull.FilesCut:
		v.Verdict, v.Title = bot.Neutral, "more files than the forge lists: whether this overwrites an open drift is not known"
	case !f.Scanned:
		v.Verdict, v.Title = bot.Pending, "no cluster was scanned yet"
	default:
		v.Verdict, v.Title = bot.Success, "nothing to prove"
	}
}

const mostNotes = 20

func answered(f detect.Finding) string {
	return map[detect.Disposition]string{
		detect.Codify: "to be written to Git", detect.Revert: "to be reverted", detect.AsIssue: "open", detect.Ignore: "left alone",
	}[f.Disposition]
}

// own holds a pull request of Holdfast's against its commit, what is live, and who approved it.
func (v *Verdict) own(ids *identity.Identities, f Facts) {
	record := bot.ParseRecord(f.Pull.Body)
	key, _, marked := bot.ParseMarker(f.Pull.Body)
	red := func(title, summary string) { v.Verdict, v.Title, v.Summary = bot.Failure, title, summary }
	change := f.Head.Disposition == detect.Codify || f.Head.Disposition == detect.Revert
	live := publish.LiveOf(record, f.Drifts, f.Unknown)
	switch {
	case !f.Pull.SameRepository:
		red("its branch is not in this repository", "Holdfast opens pull requests from branches of the repository itself alone.")
		return
	case f.Head.Unsigned != "":
		red("the branch holds what Holdfast did not make", "The head "+templates.Code(f.Pull.Head)+" is not taken for Holdfast's: "+templates.Prose(f.Head.Unsigned)+
			". Nothing of it was rendered. Delete the branch to have it made anew, or close this and open a pull request of your own.")
		return
	case !marked || f.Head.Key != key:
		red("the commit is not of this pull request", "The key in the signed commit is not that of the text above, which somebody changed, or the branch was pointed to another commit.")
		return
	case !change:
		v.Verdict, v.Title = bot.Success, "about no drift: reviewed like any other"
		return
	case record.Files == "" || record.Files != f.Head.Files:
		red("the branch is not what was proven", "The signed commit changes other files than the proof above is about. The next round proves it anew.")
		return
	case len(record.About) == 0:
		red("which drift this is about cannot be told", "The text above has lost what Holdfast remembers in it, or it is about too many fields at once.")
		return
	case f.Head.Disposition == detect.Codify && live == publish.ThirdValue:
		red("another value is live now", "In the place of something that this records, a value is live that is neither this one nor what Git declares. Merging would overwrite it. The next round says more.")
		return
	case f.Head.Disposition == detect.Codify && live == publish.NotKnown:
		v.Verdict, v.Title = bot.Pending, "what is live could not be read in the last round"
		return
	}
	eyes := ids.Decide(identity.Situation{Makers: f.Makers, Head: f.Pull.Head, HeadSince: f.Head.When, Approvals: f.Approvals, Entitled: f.Entitled})
	v.Eyes = &eyes
	v.Verdict, v.Title = eyes.Verdict, plain(eyes.Title)
	v.Summary = summary(f, eyes, live)
	if f.Hidden != "" && v.Verdict != bot.Success {
		v.Title = "who may approve cannot be seen with this credential"
		v.Summary += "\n" + templates.Prose(f.Hidden) + "\n"
	}
}

// summary tells what the verdict on approvals rests on.
func summary(f Facts, eyes identity.Decision, live publish.Live) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Signed by Holdfast, and proven as the text of the pull request says. It needs %d of those who may answer for its files, none of them a maker of the live change.\n\n", eyes.Needed)
	for _, m := range f.Makers {
		switch {
		case m.Login == "":
			fmt.Fprintf(&out, "- A maker is not known: %s.\n", templates.Prose(m.Why))
		case !m.Certain:
			fmt.Fprintf(&out, "- %s may be the maker: %s.\n", templates.Code(m.Login), templates.Prose(m.Why))
		default:
			fmt.Fprintf(&out, "- %s made the live change.\n", templates.Code(m.Login))
		}
	}
	for _, login := range eyes.By {
		fmt.Fprintf(&out, "- %s has approved this head.\n", templates.Code(login))
	}
	for _, line := range eyes.Trace {
		fmt.Fprintf(&out, "- %s.\n", templates.Prose(line))
	}
	if f.Head.Disposition == detect.Codify && live == publish.Undone {
		out.WriteString("\nThe recorded value is not live any more. Merging brings it back.\n")
	}
	return out.String()
}

func name(r detect.ObjectRef) string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// plain makes a title or remark of texts from outside: forges show them as text, on one line.
func plain(text string) string { return templates.Title(text) }
