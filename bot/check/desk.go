package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/bot"
	"holdfast/bot/command"
	"holdfast/bot/forge"
	"holdfast/bot/identity"
	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/gitops"
)

// Forge is what is needed of one.
type Forge interface {
	forge.Authority
	forge.Inspector
	forge.Checker
}

// Ledger is where approvals are recorded, and where it stands who made a change that is not live any more.
type Ledger interface {
	Newest(ctx context.Context, kind ledger.Kind, subject string) (e ledger.Entry, ok bool, err error)
	Append(ctx context.Context, records []ledger.Record) error
}

// World is what the last rounds found of a repository's Applications.
type World struct {
	Findings []detect.Finding
	Files    map[string][]string
	Drifts   map[string]string
	Unknown  map[string]bool
	// Unread are the scopes (bot.ScopeMark) of the Applications of which the last round could not tell.
	Unread  map[string]bool
	Scanned bool
}

// Desk reports on the pull requests of one repository.
type Desk struct {
	Forge Forge
	// Repository is its URL, as records name it.
	Repository string
	Identities *identity.Identities
	// Need is what somebody needs whose approval counts. Teams gives the teams of an account.
	Need   command.Need
	Teams  func(login string) []string
	Owners func(ctx context.Context) (*command.Owners, error)
	World  func(ctx context.Context) (World, error)
	// Head reads the head of a pull request's branch in the repository.
	Head func(ctx context.Context, p bot.PullRequest) (Commit, error)
	// Ledger is nil where none is kept.
	Ledger Ledger
}

// Check looks at a pull request and reports on its head. One that is not open is left alone.
func (d *Desk) Check(ctx context.Context, number int) (Verdict, error) {
	own, err := d.Forge.Account(ctx)
	if err != nil {
		return Verdict{}, err
	}
	pull, err := d.Forge.PullRequest(ctx, number)
	if err != nil || pull.State != bot.Open || pull.Head == "" {
		return Verdict{}, err
	}
	world, err := d.World(ctx)
	if err != nil {
		return Verdict{}, err
	}
	f := Facts{Pull: pull, Account: own.Login, Scanned: world.Scanned, Drifts: world.Drifts, Unknown: world.Unknown}
	for _, one := range world.Findings {
		if one.Drift {
			f.Open = append(f.Open, Open{Finding: one, Files: world.Files[one.ID]})
		}
	}
	if Own(pull, own.Login) && pull.SameRepository {
		if err := d.look(ctx, &f, world); err != nil {
			return Verdict{}, err
		}
	}
	v := Decide(d.Identities, f)
	if err := d.record(ctx, f, v); err != nil {
		return v, err
	}
	return v, d.Forge.Report(ctx, v.Check)
}

// look reads what decides about a pull request of Holdfast's beyond the rest.
func (d *Desk) look(ctx context.Context, f *Facts, world World) error {
	var err error
	if f.Head, err = d.Head(ctx, f.Pull); err != nil || f.Head.Unsigned != "" {
		return err
	}
	f.unread(world)
	if f.Makers, err = d.makers(ctx, f, world); err != nil {
		return err
	}
	if f.Approvals, err = d.Forge.Approvals(ctx, f.Pull.Number); err != nil {
		return err
	}
	f.Entitled, err = d.entitled(ctx, f)
	return err
}

// unread takes all that a pull request is about for unknown where its Application, or one of its objects, could not be
// read.
func (f *Facts) unread(w World) {
	key, _, _ := bot.ParseMarker(f.Pull.Body)
	unknown := func(id string) bool { return w.Unknown[id] }
	if !w.Unread[bot.ScopeOf(key)] && !slices.ContainsFunc(f.Head.Findings, unknown) {
		return
	}
	f.Unknown = map[string]bool{}
	for name := range bot.ParseRecord(f.Pull.Body).About {
		f.Unknown[name] = true
	}
}

// makers gives who made the live changes that a pull request is about: by the last rounds or, of what is not live any
// more, by the ledger.
func (d *Desk) makers(ctx context.Context, facts *Facts, world World) ([]identity.Maker, error) {
	about := bot.ParseRecord(facts.Pull.Body).About
	var writers []detect.Writer
	for _, id := range facts.Head.Findings {
		found := writersIn(world.Findings, id, about)
		if len(found) == 0 && d.Ledger != nil {
			var err error
			if found, err = d.recorded(ctx, id); err != nil {
				return nil, err
			}
		}
		if len(found) == 0 {
			found = []detect.Writer{{Confidence: detect.Unresolved}}
		}
		writers = append(writers, found...)
	}
	makers := d.Identities.Makers(writers)
	for i, m := range makers {
		if m.Login == "" || !m.Certain {
			continue
		}
		// An account that was renamed, or is gone, must not leave its owner free to approve by another name.
		role, err := d.role(ctx, facts, m.Login)
		if err != nil {
			return nil, err
		}
		if role == bot.NoRole {
			makers[i].Certain, makers[i].Why = false, "no account of this name can see the repository, so the person may have another one"
		}
	}
	return makers, nil
}

// role asks what somebody is. Where the forge does not tell, nobody is anything, and the facts say so.
func (d *Desk) role(ctx context.Context, f *Facts, login string) (bot.Role, error) {
	role, err := d.Forge.Role(ctx, login)
	if errors.Is(err, forge.ErrForbidden) {
		f.Hidden = err.Error()
		return bot.NoRole, nil
	}
	return role, err
}

// writersIn gives the writers of what drifts of a finding and is part of a pull request, which remembers it in about.
func writersIn(findings []detect.Finding, id string, about map[string]string) []detect.Writer {
	i := slices.IndexFunc(findings, func(f detect.Finding) bool { return f.ID == id && f.Drift })
	if i < 0 {
		return nil
	}
	f := findings[i]
	var out []detect.Writer
	add := func(w *detect.Writer) {
		if w == nil {
			w = &detect.Writer{Confidence: detect.Unresolved}
		}
		out = append(out, *w)
	}
	if len(f.Fields) == 0 {
		add(f.Writer)
	}
	for _, field := range f.Fields {
		if _, ours := about[bot.FieldName(f.ID, field.Path.String())]; field.Drift && ours {
			add(field.Writer)
		}
	}
	return out
}

// recorded gives the writers that the ledger's newest record of a finding names.
func (d *Desk) recorded(ctx context.Context, id string) ([]detect.Writer, error) {
	e, ok, err := d.Ledger.Newest(ctx, ledger.FindingSeen, ledger.SubjectOfFinding(id))
	if err != nil || !ok {
		return nil, err
	}
	var f ledger.Finding
	if err := json.Unmarshal(e.Statement.Predicate.Content, &f); err != nil {
		return nil, fmt.Errorf("ledger: %s: %w", e.Path, err)
	}
	if len(f.Fields) == 0 && f.Writer != nil {
		return []detect.Writer{*f.Writer}, nil
	}
	var out []detect.Writer
	for _, field := range f.Fields {
		if field.Writer == nil {
			field.Writer = &detect.Writer{Confidence: detect.Unresolved}
		}
		out = append(out, *field.Writer)
	}
	if f.FieldsLeftOut > 0 {
		out = append(out, detect.Writer{Confidence: detect.Unresolved})
	}
	return out, nil
}

// entitled asks what the reviewers are, and gives who of them may answer for the files.
func (d *Desk) entitled(ctx context.Context, f *Facts) (func(string) bool, error) {
	may := map[string]bool{}
	if len(f.Approvals) == 0 {
		return nil, nil
	}
	owners, err := d.Owners(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range f.Approvals {
		by := command.Person{Login: a.By.Login, TeamsKnown: true}
		if d.Teams != nil {
			by.Teams = d.Teams(by.Login)
		}
		if by.Role, err = d.role(ctx, f, by.Login); err != nil {
			return nil, err
		}
		may[strings.ToLower(by.Login)] = by.Role >= d.Need.Role && (!d.Need.Owner || !f.Pull.FilesCut && owners.Entitled(by, f.Pull.Files))
	}
	return func(login string) bool { return may[strings.ToLower(login)] }, nil
}

// record tells the ledger of each approval whether it counts.
func (d *Desk) record(ctx context.Context, f Facts, v Verdict) error {
	if d.Ledger == nil || v.Eyes == nil || len(f.Approvals) == 0 {
		return nil
	}
	key, _, _ := bot.ParseMarker(f.Pull.Body)
	thread := ledger.Thread{
		Repository: gitops.WithoutCredentials(d.Repository), Key: key, Kind: string(bot.AsPullRequest), Number: f.Pull.Number, URL: gitops.WithoutCredentials(f.Pull.URL),
	}
	var records []ledger.Record
	for _, a := range f.Approvals {
		content := ledger.Approval{Thread: thread, By: a.By.Login, Commit: a.Commit, Rejected: a.Rejected, URL: a.URL, At: a.Time.UTC(), Counts: slices.Contains(v.Eyes.By, a.By.Login)}
		for _, line := range v.Eyes.Trace {
			if strings.HasPrefix(line, "the approval of "+a.By.Login+" does not count") || strings.HasPrefix(line, a.By.Login+" asks for changes") {
				content.Reason = line
			}
		}
		where := a.URL
		if where == "" {
			where = fmt.Sprintf("%s %d %s", thread.Repository, f.Pull.Number, a.By.Login)
		}
		records = append(records, ledger.Record{Kind: ledger.Approved, Subject: ledger.SubjectOfEvent(ledger.Approved, where), Content: content})
	}
	return d.Ledger.Append(ctx, records)
}
