package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/gitops"
)

// closedMark stands in the body of an issue that Holdfast itself closed, so that a person's closing is told
// from it.
const closedMark = "<!-- holdfast closed -->"

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
	Err    error
}

// Apply carries actions out, in order, and goes on after a failure: the next run heals what failed. Each
// effect reads nothing that an earlier one of the same run changed.
func Apply(ctx context.Context, f forge.Publisher, commits Commits, actions []Action, now time.Time) []Outcome {
	var out []Outcome
	for _, a := range actions {
		o := Outcome{Action: a, Thread: a.Thread}
		if err := ctx.Err(); err != nil {
			o.Err = err
		} else {
			o.Thread, o.Commit, o.Err = apply(ctx, f, commits, a, now)
		}
		out = append(out, o)
	}
	return out
}

func apply(ctx context.Context, f forge.Publisher, commits Commits, a Action, now time.Time) (bot.Thread, string, error) {
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
		if err := setOpen(ctx, f, t, true); err != nil {
			return t, "", wrap(err, "reopening %s %d", t.Kind, t.Number)
		}
		return update(ctx, f, commits, p, t, content)
	case Update:
		return update(ctx, f, commits, p, t, content)
	case Healed:
		note := fmt.Sprintf("\n> Undone by the engine, seen at %s. Merging brings the recorded value back.\n%s\n", now.UTC().Format(time.RFC3339), healedMark)
		return rewrite(ctx, f, t, note)
	case Close:
		text := fmt.Sprintf("Seen at %s: %s. Closed.", now.UTC().Format(time.RFC3339), a.Reason)
		if a.Note != "" {
			text += "\n\n" + a.Note
		}
		if err := f.Comment(ctx, t.Kind, t.Number, text); err != nil {
			return t, "", wrap(err, "commenting on %s %d", t.Kind, t.Number)
		}
		if t.Kind == bot.AsIssue {
			if _, _, err := rewrite(ctx, f, t, closedMark+"\n"); err != nil {
				return t, "", err
			}
		}
		return t, "", wrap(setOpen(ctx, f, t, false), "closing %s %d", t.Kind, t.Number)
	case Nothing:
		return t, "", nil
	}
	return t, "", fmt.Errorf("unknown action %q", a.Verb)
}

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

// rewrite puts a note before the marker of a thread's body, which stays the last line.
func rewrite(ctx context.Context, f forge.Publisher, t bot.Thread, note string) (bot.Thread, string, error) {
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
