package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/detect"
	"holdfast/gitops"
)

// Commits makes and pushes the branches of pull requests.
type Commits interface {
	// Push makes one signed commit of the files on top of the proposal's base commit and sets the branch
	// to it. It leaves alone a branch whose head Holdfast did not make, and says so.
	Push(ctx context.Context, p bot.Proposal, files []gitops.Edit) (commit string, err error)
}

// Outcome is what became of an action.
type Outcome struct {
	Action Action
	Thread bot.Thread
	Commit string
	// Waits says that nothing was done, since the budget of what may be created is used up until then; zero for all else.
	Waits time.Time
	Err   error
}

// Publishing is what actions are carried out with.
type Publishing struct {
	Forge   forge.Publisher
	Commits Commits
	Now     time.Time
	// Budget bounds what is created; nil does not. Claimant is who asks for it, mostly a repository.
	Budget   *Budget
	Claimant string
}

// Apply carries actions out, in order, and goes on after a failure: the next run heals what failed. Each
// effect reads nothing that an earlier one of the same run changed. What the budget has no room for waits for a
// later run.
func (x Publishing) Apply(ctx context.Context, actions []Action) []Outcome {
	var out []Outcome
	for _, a := range actions {
		o := Outcome{Action: a, Thread: a.Thread}
		if o.Err = ctx.Err(); o.Err == nil && x.Budget != nil {
			o.Waits = x.Budget.take(x.Claimant, cost(a), a.Proposal.Risk == detect.Critical)
		}
		if o.Err == nil && o.Waits.IsZero() {
			o.Thread, o.Commit, o.Err = x.apply(ctx, a)
		}
		out = append(out, o)
	}
	return out
}

func (x Publishing) apply(ctx context.Context, a Action) (bot.Thread, string, error) {
	f, commits := x.Forge, x.Commits
	p, t := a.Proposal, a.Thread
	content := forge.Content{Title: p.Title, Body: p.Body, Labels: p.Labels}
	switch a.Verb {
	case Open:
		if p.Kind == bot.AsIssue {
			t, err := f.OpenIssue(ctx, content)
			return t, "", wrap(err, "opening issue %q", p.Title)
		}
		commit, err := commits.Push(ctx, p, edits(p))
		if err != nil {
			return t, "", wrap(err, "pushing branch %s", p.Branch)
		}
		t, err := f.OpenPullRequest(ctx, p.Branch, p.Base, content)
		return t, commit, wrap(err, "opening pull request %q", p.Title)
	case Reopen:
		err := setOpen(ctx, f, t, true)
		if errors.Is(err, forge.ErrInvalid) && t.Kind == bot.AsPullRequest { // its branch is gone, or is another one by now
			return x.apply(ctx, Action{Verb: Open, Proposal: p})
		}
		if err != nil {
			return t, "", wrap(err, "reopening %s %d", t.Kind, t.Number)
		}
		return update(ctx, f, commits, p, t, content)
	case Update:
		return update(ctx, f, commits, p, t, content)
	case Healed:
		return rewrite(ctx, f, t, note(fmt.Sprintf("Undone by the engine, seen at %s. Merging brings the recorded value back.", stamp(x.Now)), healedMark))
	case Changed:
		return rewrite(ctx, f, t, note(fmt.Sprintf("Another value is live, seen at %s. Merging brings the recorded value back in its place.", stamp(x.Now)), changedMark))
	case Close:
		return x.close(ctx, t, a)
	case Nothing:
		return t, "", nil
	}
	return t, "", fmt.Errorf("unknown action %q", a.Verb)
}

// close marks the thread, tells in a comment why it closes, and closes it. The mark names the closing, so that one which
// ended half way is taken up again and says nothing twice.
func (x Publishing) close(ctx context.Context, t bot.Thread, a Action) (bot.Thread, string, error) {
	name, said := closedAt(t.Body), false
	if name == "" {
		mark := closingMark(x.Now)
		if _, _, err := rewrite(ctx, x.Forge, t, mark); err != nil {
			return t, "", err
		}
		name = closedAt(mark)
	} else {
		comments, err := x.Forge.Comments(ctx, t.Kind, t.Number, time.Time{})
		if err != nil {
			return t, "", wrap(err, "reading the comments of %s %d", t.Kind, t.Number)
		}
		said = slices.ContainsFunc(comments, func(c bot.Comment) bool { return strings.Contains(c.Body, closingComment(name)) })
	}
	if !said {
		text := fmt.Sprintf("Seen at %s: %s. Closed.", stamp(x.Now), a.Reason)
		if a.Note != "" {
			text += "\n\n" + a.Note
		}
		if err := x.Forge.Comment(ctx, t.Kind, t.Number, text+"\n\n"+closingComment(name)); err != nil {
			return t, "", wrap(err, "commenting on %s %d", t.Kind, t.Number)
		}
	}
	return t, "", wrap(setOpen(ctx, x.Forge, t, false), "closing %s %d", t.Kind, t.Number)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func update(ctx context.Context, f forge.Publisher, commits Commits, p bot.Proposal, t bot.Thread, content forge.Content) (bot.Thread, string, error) {
	if p.Kind == bot.AsIssue {
		t, err := f.UpdateIssue(ctx, t.Number, content)
		return t, "", wrap(err, "updating issue %d", t.Number)
	}
	commit, err := commits.Push(ctx, p, edits(p))
	if err != nil {
		return t, "", wrap(err, "pushing branch %s", p.Branch)
	}
	t, err = f.UpdatePullRequest(ctx, t.Number, content)
	return t, commit, wrap(err, "updating pull request %d", t.Number)
}

// rewrite puts a note before the marker of a thread's body, which stays the last line. An earlier note goes.
func rewrite(ctx context.Context, f forge.Publisher, t bot.Thread, note string) (bot.Thread, string, error) {
	t.Body = withoutNote(t.Body)
	key, hash, ok := bot.ParseMarker(t.Body)
	if !ok {
		return t, "", errors.New("the thread has lost its marker")
	}
	marker := bot.Marker(key, hash)
	at := strings.LastIndex(t.Body, marker)
	content := forge.Content{Title: t.Title, Labels: t.Labels, Body: t.Body[:at] + note + t.Body[at:]}
	var err error
	if t.Kind == bot.AsIssue {
		t, err = f.UpdateIssue(ctx, t.Number, content)
	} else {
		t, err = f.UpdatePullRequest(ctx, t.Number, content)
	}
	return t, "", wrap(err, "updating %s %d", t.Kind, t.Number)
}

func setOpen(ctx context.Context, f forge.Publisher, t bot.Thread, open bool) error {
	if t.Kind == bot.AsIssue {
		return f.SetIssueOpen(ctx, t.Number, open)
	}
	return f.SetPullRequestOpen(ctx, t.Number, open)
}

func edits(p bot.Proposal) []gitops.Edit {
	var out []gitops.Edit
	for _, f := range p.Files {
		out = append(out, f.Edit)
	}
	return out
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
