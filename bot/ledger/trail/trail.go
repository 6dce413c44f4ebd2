// Package trail makes the records of a run: of what was scanned, what was proposed, and what became of it on the
// forge. It tells what is so now, not what was done, so that a run that died before it wrote its records is made up
// for by the next; the ledger leaves out what it says already.
package trail

import (
	"encoding/json"
	"slices"
	"time"

	"holdfast/bot"
	"holdfast/bot/ledger"
	"holdfast/bot/propose"
	"holdfast/bot/publish"
	"holdfast/detect"
	"holdfast/gitops"
)

// Input is a run about one repository.
type Input struct {
	// Repository is its URL, as Applications name it.
	Repository string
	Scan       detect.Scan
	Outcomes   []publish.Outcome
	// Merged are pull requests of the bot's that were merged, and whose merge is to be recorded.
	Merged []bot.PullRequest
	// Policy gives the policy that decided about an Application.
	Policy func(gitops.Application) ledger.Policy
}

// Records gives the records of a run, in the order of a drift's life.
func Records(in Input) []ledger.Record {
	b := builder{in: in, first: firstSeen(in.Outcomes), apps: map[string]detect.AssessedApplication{}, drifts: map[string]bool{}}
	for _, a := range in.Scan.Applications {
		if a.Application.Source.Repo == in.Repository {
			b.apps[a.Application.Cluster+"/"+a.Application.Namespace+"/"+a.Application.Name] = a
		}
	}
	for _, f := range in.Scan.Findings {
		if !f.Drift {
			continue
		}
		b.drifts[f.ID] = true
		if app, ours := b.apps[f.Cluster+"/"+f.Application]; ours {
			b.finding(app, f)
		}
	}
	for _, p := range in.Merged {
		b.merged(p)
	}
	for _, o := range in.Outcomes {
		if o.Err == nil && o.Waits.IsZero() {
			b.outcome(o)
		}
	}
	return b.records
}

type builder struct {
	in      Input
	first   map[string]time.Time
	apps    map[string]detect.AssessedApplication
	drifts  map[string]bool
	records []ledger.Record
}

func (b *builder) add(k ledger.Kind, subject string, content, observed any) {
	b.records = append(b.records, ledger.Record{Kind: k, Subject: subject, Content: content, Observed: observed})
}

// firstSeen gives when the issues say that their findings were first seen.
func firstSeen(outcomes []publish.Outcome) map[string]time.Time {
	out := map[string]time.Time{}
	for _, o := range outcomes {
		if o.Action.Proposal.Kind != bot.AsIssue {
			continue
		}
		at := bot.ParseRecord(o.Action.Proposal.Body).FirstSeen
		for _, f := range o.Action.Proposal.Findings {
			out[f] = at
		}
	}
	return out
}

// The most that a record lists: it tells of a drift, it does not replace a scan.
const (
	maxFields = 200
	maxLines  = 50
	maxText   = 1000
	maxValue  = 4 << 10
)

func (b *builder) finding(app detect.AssessedApplication, f detect.Finding) {
	secret := f.Object.ID().Kind == "Secret" && f.Object.ID().Group == ""
	content := ledger.Finding{
		ID: f.ID, Fingerprint: f.Fingerprint, Cluster: f.Cluster, Application: f.Application, Object: f.Object, Presence: f.Presence,
		Cause: f.Cause, Risk: f.Risk.String(), Class: f.Class, Sensitive: f.Sensitive, Reason: cut(f.Reason), Controls: f.Controls, Writer: writer(f.Writer, f.Cause),
	}
	for _, field := range f.Fields {
		if !field.Drift {
			continue
		}
		if len(content.Fields) == maxFields {
			content.FieldsLeftOut++
			continue
		}
		content.Fields = append(content.Fields, fieldOf(field, secret))
	}
	observed := ledger.FindingObserved{FirstSeen: b.first[f.ID], Applied: app.Application.Source.Applied}
	if observed.FirstSeen.IsZero() {
		observed.FirstSeen = f.FirstSeen
	}
	observed.FirstSeen = observed.FirstSeen.UTC().Truncate(time.Second)
	hidden := secret || slices.ContainsFunc(f.Fields, func(field detect.Field) bool { return field.Masked })
	if !hidden {
		if f.Declared != nil {
			observed.DeclaredSHA256 = digest(f.Declared.Content)
		}
		if f.Live != nil {
			observed.LiveSHA256 = digest(f.Live.Content)
		}
	}
	b.add(ledger.FindingSeen, ledger.SubjectOfFinding(f.ID), content, observed)
	b.add(ledger.Decided, ledger.SubjectOfFinding(f.ID), b.decision(app, f), nil)
}

func (b *builder) decision(app detect.AssessedApplication, f detect.Finding) ledger.Decision {
	d := ledger.Decision{Finding: f.ID, Disposition: f.Disposition, Rule: cut(f.Rule), Policy: b.in.Policy(app.Application)}
	for _, line := range f.Trace[:min(len(f.Trace), maxLines)] {
		d.Trace = append(d.Trace, cut(line))
	}
	for _, field := range f.Fields {
		if field.Drift && len(d.Fields) < maxFields {
			d.Fields = append(d.Fields, ledger.FieldDecision{Path: cut(field.Path.String()), Disposition: field.Disposition, Rule: cut(field.Rule)})
		}
	}
	return d
}

// fieldOf leaves a Secret's values out, and so their digests, by which they could be guessed.
func fieldOf(f detect.Field, secret bool) ledger.Field {
	out := ledger.Field{Path: cut(f.Path.String()), Cause: f.Cause, Risk: f.Risk.String(), Writer: writer(f.Writer, f.Cause)}
	if secret || f.Masked {
		out.Changed = true
		return out
	}
	out.Declared = valueOf(f.Git)
	if f.Cause != detect.CauseContested { // it changes all the time, and is no new drift each time
		out.Live = valueOf(f.Live)
	}
	return out
}

func valueOf(v gitops.Value) *ledger.Value {
	if !v.Set {
		return nil
	}
	data, err := json.Marshal(v.V)
	if err != nil { // values are decoded JSON
		return nil
	}
	out := &ledger.Value{SHA256: sum(data)}
	if len(data) <= maxValue {
		out.JSON = data
	}
	return out
}

// writer leaves the time out where two writers take turns.
func writer(w *detect.Writer, cause detect.Cause) *detect.Writer {
	if w == nil {
		return nil
	}
	out := *w
	if cause == detect.CauseContested {
		out.Time = time.Time{}
	}
	return &out
}

func (b *builder) outcome(o publish.Outcome) {
	thread, ok := b.thread(o)
	if !ok {
		return
	}
	subject := ledger.SubjectOfThread(b.in.Repository, thread.Key)
	switch o.Action.Verb {
	case publish.Open, publish.Update, publish.Reopen:
		b.proposal(subject, thread, o)
	case publish.Healed:
		b.add(ledger.Healed, subject, ledger.Healing{Thread: &thread, Reason: cut(o.Action.Reason)}, nil)
	case publish.Close:
		b.add(ledger.ThreadClosed, subject, ledger.Closing{Thread: thread, Reason: cut(o.Action.Reason)}, nil)
		b.converged(thread, o)
	case publish.Nothing:
		b.unchanged(subject, thread, o)
	}
}

// unchanged tells of a thread that nothing was done about how it stands: what an earlier run did may not be in the
// ledger yet, or somebody else did it.
func (b *builder) unchanged(subject string, thread ledger.Thread, o publish.Outcome) {
	switch {
	case o.Thread.State == bot.Merged: // Input.Merged tells it
	case o.Thread.State == bot.Closed:
		b.add(ledger.ThreadClosed, subject, ledger.Closing{Thread: thread, Reason: cut(o.Action.Reason)}, nil)
	case o.Action.Proposal.Key != "" && shows(o.Thread, o.Action.Proposal):
		b.proposal(subject, thread, o)
	}
}

// merged tells of a merge: which commit it made, and who did it.
func (b *builder) merged(p bot.PullRequest) {
	thread, ok := b.thread(publish.Outcome{Action: publish.Action{Thread: p.Thread}, Thread: p.Thread})
	if !ok {
		return
	}
	b.add(ledger.Merged, ledger.SubjectOfThread(b.in.Repository, thread.Key), ledger.Merge{
		Thread: thread, Commit: p.MergeCommit, By: p.MergedBy.Login, At: p.MergedAt.UTC().Truncate(time.Second),
	}, nil)
}

// shows says whether a thread has the content that is wanted. One that is left as it was on purpose has not.
func shows(t bot.Thread, p bot.Proposal) bool {
	_, hash, _ := bot.ParseMarker(t.Body)
	return hash == p.Hash
}

// converged tells of the findings that a closed issue was about and that drift no more.
func (b *builder) converged(thread ledger.Thread, o publish.Outcome) {
	if o.Thread.Kind != bot.AsIssue {
		return
	}
	about := bot.ParseRecord(o.Action.Thread.Body).About
	for _, finding := range sortedKeys(about) {
		if b.drifts[finding] {
			continue
		}
		b.add(ledger.Converged, ledger.SubjectOfFinding(finding), ledger.Convergence{Finding: finding, Thread: &thread, Reason: cut(o.Action.Reason)}, nil)
	}
}

func (b *builder) thread(o publish.Outcome) (ledger.Thread, bool) {
	key := o.Action.Proposal.Key
	if key == "" {
		key, _, _ = bot.ParseMarker(o.Action.Thread.Body)
	}
	kind := o.Thread.Kind
	if kind == "" {
		kind = o.Action.Proposal.Kind
	}
	return ledger.Thread{Repository: gitops.WithoutCredentials(b.in.Repository), Key: key, Kind: string(kind), Number: o.Thread.Number, URL: gitops.WithoutCredentials(o.Thread.URL)}, key != ""
}

func (b *builder) proposal(subject string, thread ledger.Thread, o publish.Outcome) {
	p := o.Action.Proposal
	content := ledger.Proposal{
		Thread: thread, Hash: p.Hash, Title: cut(p.Title), Disposition: p.Disposition, Risk: p.Risk.String(),
		Findings: slices.Sorted(slices.Values(p.Findings)), Branch: p.Branch, Base: p.Base, Proof: b.proof(p.Proof),
	}
	for _, f := range p.Files[:min(len(p.Files), maxFields)] {
		content.Files = append(content.Files, fileOf(f))
	}
	commit := o.Commit
	if commit == "" {
		commit = o.Thread.Head
	}
	b.add(ledger.Proposed, subject, content, ledger.ProposalObserved{Action: string(o.Action.Verb), Commit: commit, BaseCommit: p.BaseCommit})
}

func fileOf(f bot.FileChange) ledger.File {
	out := ledger.File{Path: f.Path}
	if hidesSecrets(f.Before) || hidesSecrets(f.After) {
		out.Changed = true
		return out
	}
	if f.Before != nil {
		out.BeforeSHA256 = sum(f.Before)
	}
	if !f.Remove {
		out.AfterSHA256 = sum(f.After)
	}
	return out
}

func hidesSecrets(data []byte) bool { return string(propose.Masked(data)) != string(data) }

func (b *builder) proof(p *gitops.Proof) *ledger.Proof {
	if p == nil {
		return nil
	}
	out := &ledger.Proof{Verified: p.Verified, Complete: p.Complete, Reason: cut(p.Reason)}
	for _, m := range p.Applications[:min(len(p.Applications), maxFields)] {
		member := ledger.Member{Cluster: m.Cluster, Namespace: m.Namespace, Name: m.Name, Path: m.Path, Changed: m.Before != m.After}
		if b.withoutSecrets(m) {
			member.BeforeSHA256, member.AfterSHA256 = m.Before, m.After
		}
		out.Members = append(out.Members, member)
	}
	for _, m := range p.Unproven[:min(len(p.Unproven), maxFields)] {
		m.Reason = cut(m.Reason)
		out.Unproven = append(out.Unproven, m)
	}
	for _, line := range p.Closed[:min(len(p.Closed), maxFields)] {
		out.Closed = append(out.Closed, cut(line))
	}
	for _, line := range p.Moved[:min(len(p.Moved), maxFields)] {
		out.Moved = append(out.Moved, cut(line))
	}
	return out
}

// withoutSecrets says that what an Application declares is known, and no Secret is among it.
func (b *builder) withoutSecrets(m gitops.ProvenMember) bool {
	app, known := b.apps[m.Cluster+"/"+m.Namespace+"/"+m.Name]
	if !known || app.Declared == nil {
		return false
	}
	return !slices.ContainsFunc(app.Declared, func(d gitops.Declared) bool { return d.IsSecret() })
}
