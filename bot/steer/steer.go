// Package steer answers what people ask for in comments on the threads that Holdfast opened.
//
// An event is only a hint: the comments are read anew from the forge, and each command is acted on once. What it asks
// for becomes a record of the ledger, in one batch with the record of the command itself; the next round of the
// clusters takes the orders and exceptions from there (Standing). One comment on each thread holds the answers, and
// remembers which comments are answered. It is a cache: where it is gone or was changed by somebody, the ledger still
// tells what was acted on.
//
// decide is pure; Desk reads and writes around it.
package steer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/command"
	"holdfast/bot/forge"
	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/detect/policy"
)

// Forge is what is needed of one.
type Forge interface {
	forge.Finder
	forge.Conversation
	forge.Authority
	forge.Inspector
}

// Ledger is where commands are recorded, and where what they asked for stands.
type Ledger interface {
	Read(ctx context.Context) (ledger.Said, error)
	// Newest reads one record, as ledger.Standing does.
	Newest(ctx context.Context, kind ledger.Kind, subject string) (e ledger.Entry, ok bool, err error)
	Append(ctx context.Context, records []ledger.Record) error
}

// Rules are who may ask for what, and how often.
type Rules struct {
	Rights command.Rights
	// Teams gives the teams of an account; TeamsKnown says that they are configured.
	Teams      func(login string) []string
	TeamsKnown bool
	Floor      policy.Floor
	// PerThread and PerAuthor bound the comments with commands of one author that are acted on in an hour, on one thread
	// and on all of the repository.
	PerThread, PerAuthor int
}

// Facts are what the last rounds found of a repository's Applications.
type Facts struct {
	Findings []detect.Finding
	// Files are those that declare what a finding is about, by its ID.
	Files map[string][]string
	// Scanned is when each cluster was scanned last, Failing why its last round failed.
	Scanned map[string]time.Time
	Failing map[string]string
}

// Desk answers the threads of one repository. Answer must not run twice at the same time for one thread.
type Desk struct {
	Forge Forge
	// Repository is its URL, as records name it.
	Repository string
	Rules      Rules
	// Owners gives the CODEOWNERS of the default branch; nil for none.
	Owners func(ctx context.Context) (*command.Owners, error)
	Facts  func(ctx context.Context) (Facts, error)
	// Ledger is nil where none is kept: then nothing can be asked for that has an effect.
	Ledger Ledger
	Floods *Floods
	Now    func() time.Time
}

// Asks says whether a text may hold a command, for leaving the rest alone without asking the forge for anything.
func Asks(body string) bool { return len(command.Parse(body).Commands) > 0 }

// Answer reads a thread's comments and acts on the commands that are not answered yet. It gives whether the clusters
// shall be scanned again.
func (d *Desk) Answer(ctx context.Context, kind bot.Kind, number int) (rescan bool, err error) {
	own, err := d.Forge.Account(ctx)
	if err != nil {
		return false, err
	}
	comments, err := d.Forge.Comments(ctx, kind, number, time.Time{})
	if err != nil {
		return false, err
	}
	board := boardOf(comments, own.Login)
	asking := board.unanswered(comments, own.Login)
	if len(asking) == 0 {
		return false, nil
	}
	s, err := d.situation(ctx, kind, number, own.Login)
	if err != nil {
		return false, err
	}
	for _, c := range asking {
		one, err := d.answer(ctx, &s, c, comments)
		if err != nil {
			return rescan, err
		}
		rescan = rescan || one.rescan
		board.add(c, one)
	}
	if err := d.say(ctx, kind, number, board, s); err != nil {
		return rescan, err
	}
	return rescan, nil
}

// situation gathers what decides about every command of a thread.
func (d *Desk) situation(ctx context.Context, kind bot.Kind, number int, own string) (situation, error) {
	s := situation{rights: d.Rules.Rights, floor: d.Rules.Floor, ledger: d.Ledger != nil, now: d.Now(), repository: d.Repository}
	var err error
	if s.facts, err = d.Facts(ctx); err != nil {
		return s, err
	}
	thread := bot.Thread{Kind: kind, Number: number}
	var files []string
	if kind == bot.AsPullRequest {
		pull, err := d.Forge.PullRequest(ctx, number)
		if err != nil {
			return s, err
		}
		if pull.SameRepository && strings.EqualFold(pull.Author, own) {
			thread = pull.Thread
		}
		files = pull.Files
	} else {
		threads, err := d.Forge.Threads(ctx, kind)
		if err != nil {
			return s, err
		}
		if i := slices.IndexFunc(threads, func(t bot.Thread) bool { return t.Number == number }); i >= 0 {
			thread = threads[i]
		}
	}
	s.topic = topicOf(thread, s.facts, files)
	if s.owners, err = d.Owners(ctx); err != nil {
		return s, err
	}
	if d.Ledger != nil {
		said, err := d.Ledger.Read(ctx)
		if err != nil {
			return s, err
		}
		s.standing, s.known = StandingOf(said, d.Repository), said.Knows
	}
	return s, nil
}

// answered is what became of one comment.
type answered struct {
	rows   []row
	rescan bool
	// react is empty for a comment that is left alone.
	react bot.Reaction
	shows []command.Verb
}

// answer acts on the commands of one comment, and records them before anything else shows that it did.
func (d *Desk) answer(ctx context.Context, s *situation, c bot.Comment, all []bot.Comment) (answered, error) {
	var out answered
	parsed, _ := command.Read(c)
	flood := d.Floods.judge(d.Rules, c, all)
	if flood == drop {
		return out, nil
	}
	if err := d.Forge.React(ctx, c, bot.Seen); err != nil {
		return out, err
	}
	by, err := d.person(ctx, c.Author.Login)
	if err != nil {
		return out, err
	}
	var records []ledger.Record
	for _, one := range parsed.Commands {
		subject := subjectOf(d.Repository, c, one)
		if s.known != nil && s.known(subject) {
			v, err := d.recall(ctx, subject)
			if err != nil {
				return out, err
			}
			// What it asked for stands in the same batch; the round may not have been asked for.
			out.take(c, one, v, v.outcome == accepted && acts(one.Verb))
			continue
		}
		v := s.refuseOr(flood, one, by, c)
		records = append(records, ledger.Record{Kind: ledger.Commanded, Subject: subject, Content: s.record(c, one, by, v)})
		records = append(records, v.records...)
		s.standing.take(v.records)
		out.take(c, one, v, v.rescan)
	}
	if len(records) > 0 && d.Ledger != nil {
		if err := d.Ledger.Append(ctx, records); err != nil {
			return out, err
		}
	}
	if parsed.Dropped > 0 {
		out.rows = append(out.rows, row{By: c.Author.Login, Text: fmt.Sprintf("%d more", parsed.Dropped), Outcome: refused,
			Reason: fmt.Sprintf("A comment may hold %d commands.", command.MaxCommands)})
	}
	return out, nil
}

// take adds what became of one command.
func (a *answered) take(c bot.Comment, one command.Command, v verdict, rescan bool) {
	a.rows = append(a.rows, row{By: c.Author.Login, Text: one.Text, Outcome: v.outcome, Reason: v.reason, At: c.Created, URL: c.URL})
	a.rescan = a.rescan || rescan
	switch {
	case v.outcome == accepted && shows(one.Verb):
		a.shows = append(a.shows, one.Verb)
	case v.outcome == unknown:
		a.shows = append(a.shows, command.Help)
	}
	// Of several answers the worst shows: what was not understood, then what was refused.
	now := map[outcome]bot.Reaction{accepted: bot.Done, refused: bot.Refused, unknown: bot.Confused}[v.outcome]
	weight := []bot.Reaction{"", bot.Done, bot.Refused, bot.Confused}
	if slices.Index(weight, now) > slices.Index(weight, a.react) {
		a.react = now
	}
}

// person asks the forge what somebody is. Where it does not tell roles to this credential, nobody has one.
func (d *Desk) person(ctx context.Context, login string) (person, error) {
	p := person{Person: command.Person{Login: login, TeamsKnown: d.Rules.TeamsKnown}}
	if d.Rules.Teams != nil {
		p.Teams = d.Rules.Teams(login)
	}
	var err error
	p.Role, err = d.Forge.Role(ctx, login)
	if errors.Is(err, forge.ErrForbidden) {
		p.hidden, err = "The forge does not tell this bot what anybody's role is, so nothing can be allowed: "+err.Error(), nil
	}
	return p, err
}

// recall gives what was recorded of a command before, by a run that did not come to its answer.
func (d *Desk) recall(ctx context.Context, subject string) (verdict, error) {
	e, ok, err := d.Ledger.Newest(ctx, ledger.Commanded, subject)
	if err != nil {
		return verdict{}, err
	}
	if !ok {
		return verdict{outcome: refused, reason: "The ledger's record of it does not count, since it is not signed by Holdfast."}, nil
	}
	return verdictOf(e)
}

// say writes the answers, then shows by reactions what became of each comment.
func (d *Desk) say(ctx context.Context, kind bot.Kind, number int, board board, s situation) error {
	body, err := board.body(s)
	if err != nil {
		return err
	}
	if board.comment.ID == 0 {
		_, err = d.Forge.Answer(ctx, kind, number, body)
	} else if body != board.comment.Body {
		err = d.Forge.Rewrite(ctx, board.comment, body)
	}
	if err != nil {
		return err
	}
	for _, one := range board.reactions {
		if err := d.Forge.React(ctx, one.comment, one.reaction); err != nil {
			return err
		}
	}
	return nil
}
