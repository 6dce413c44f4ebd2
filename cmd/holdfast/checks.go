package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/bot"
	"holdfast/bot/check"
	"holdfast/bot/command"
	"holdfast/bot/propose"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// checks reports on pull requests.
func (p *site) checks() *check.Desk {
	c := p.session.config.Commands
	need := c.Approval
	if need == (command.Need{}) {
		need = command.Need{Role: bot.Writer, Owner: true}
	}
	d := &check.Desk{
		Forge: p.forge, Repository: p.config.URL, Identities: p.identities, Need: need, Teams: c.TeamsOf, Owners: p.owners, World: p.world, Head: p.head,
	}
	if ledger, err := p.evidence.standing(p.config.URL); err != nil {
		p.log.Error("approvals cannot be recorded", "repository", gitops.WithoutCredentials(p.config.URL), "error", err.Error())
	} else if ledger != nil {
		d.Ledger = ledger
	}
	return d
}

func (p *site) world(context.Context) (check.World, error) {
	out := check.World{Files: map[string][]string{}, Drifts: map[string]string{}, Unknown: map[string]bool{}, Unread: map[string]bool{}, Scanned: p.found}
	for _, s := range p.scans {
		out.Findings = append(out.Findings, s.scan.Findings...)
		maps.Copy(out.Files, s.report.Files)
		maps.Copy(out.Drifts, propose.Drifting(s.scan))
		for _, u := range s.scan.Unknown {
			out.Unknown[detect.FindingID(u.Cluster, u.Application, u.Object.ID())] = true
		}
		for _, a := range s.scan.Applications {
			if a.State != detect.Rendered || s.report.Error != "" && s.report.Scanned.Before(s.report.Began) {
				out.Unread[bot.ScopeMark(propose.Scope(a.Application))] = true
			}
		}
	}
	return out, nil
}

// head reads the commit at the head of a pull request's branch. It counts as Holdfast's when it is signed with its key
// and stands on one other commit, which the signature covers.
func (p *site) head(ctx context.Context, pull bot.PullRequest) (check.Commit, error) {
	var out check.Commit
	source, err := p.session.sources.get(ctx, p.config.URL)
	if err != nil {
		return out, err
	}
	if source.git == nil {
		return out, fmt.Errorf("%s is a plain folder: it holds no commits", source.location)
	}
	c, err := source.git.Raw(pull.Head)
	if err != nil {
		return out, err
	}
	keys, err := sign.Own(p.evidence.signer, "holdfast")
	if err != nil {
		return out, err
	}
	if _, err := keys.Verify(sign.CommitNamespace, c.Payload, c.Signature, c.When); err != nil {
		out.Unsigned = err.Error()
		return out, nil
	}
	if len(c.Parents) != 1 {
		out.Unsigned = "it does not stand on one other commit"
		return out, nil
	}
	out.When = c.When
	for key, value := range trailers(c.Message) {
		switch key {
		case "Holdfast-Key":
			out.Key = value
		case "Holdfast-Disposition":
			out.Disposition = detect.Disposition(value)
		case "Holdfast-Findings":
			out.Findings = strings.Fields(value)
		}
	}
	out.Files, err = changed(source.git, c.Parents[0], pull.Head)
	return out, err
}

// trailers reads the last paragraph of a commit's message.
func trailers(message string) map[string]string {
	message = strings.TrimSpace(message)
	out := map[string]string{}
	for line := range strings.Lines(message[strings.LastIndex(message, "\n\n")+1:]) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			out[key] = value
		}
	}
	return out
}

// changed is a hash of what a commit changes.
func changed(git *repo.Repository, parent, head string) (string, error) {
	before, err := git.Tree(parent)
	if err != nil {
		return "", err
	}
	after, err := git.Tree(head)
	if err != nil {
		return "", err
	}
	var files []bot.FileChange
	for _, path := range before.Differing(after) {
		var f bot.FileChange
		f.Path = path
		if old, ok := before.File(path); ok {
			f.Before = append([]byte{}, old.Data...)
		}
		now, ok := after.File(path)
		f.After, f.Remove = now.Data, !ok
		files = append(files, f)
	}
	return propose.FilesHash(files), nil
}

func (p *site) checkOpen(ctx context.Context) error {
	threads, err := p.forge.Threads(ctx, bot.AsPullRequest)
	if err != nil {
		return err
	}
	var own []int
	for _, t := range threads {
		if t.State == bot.Open {
			own = append(own, t.Number)
		}
	}
	var failed []error
	for _, n := range own {
		failed = append(failed, p.check(ctx, n))
	}
	open := p.opens()
	p.memory.mu.Lock()
	same := p.memory.open == open
	p.memory.mu.Unlock()
	if same {
		return errors.Join(failed...)
	}
	numbers, err := p.forge.OpenPullRequests(ctx)
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	for _, n := range numbers[:min(len(numbers), mostChecked)] {
		if !slices.Contains(own, n) {
			failed = append(failed, p.check(ctx, n))
		}
	}
	err = errors.Join(failed...)
	if err == nil {
		p.memory.mu.Lock()
		p.memory.open = open
		p.memory.mu.Unlock()
	}
	return err
}

// opens tells one set of open drifts, with where they are declared, from another.
func (p *site) opens() string {
	var parts []string
	for _, s := range p.scans {
		for _, f := range s.scan.Findings {
			if f.Drift {
				parts = append(parts, f.ID+" "+string(f.Disposition)+" "+strings.Join(s.report.Files[f.ID], " "))
			}
		}
	}
	slices.Sort(parts)
	return detect.Digest(parts...)
}
