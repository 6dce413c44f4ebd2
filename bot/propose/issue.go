package propose

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/templates"
)

// issues gives one issue for each drift of the scan. The same change of the same object on several clusters is one
// root cause, with one issue.
func issues(in Input, plans map[string]plan) ([]bot.Proposal, error) {
	byCause := map[string][]detect.Finding{}
	var order []string
	for _, f := range in.Scan.Findings {
		if !f.Drift {
			continue
		}
		if in.Override != "" {
			f = overridden(f, in.Override)
		}
		cause := repoOf(in, f) + "\x00" + rootCause(f)
		if byCause[cause] == nil {
			order = append(order, cause)
		}
		byCause[cause] = append(byCause[cause], f)
	}
	var out []bot.Proposal
	for _, cause := range order {
		if !slices.ContainsFunc(byCause[cause], in.here) {
			continue
		}
		p, err := issue(in, cause, byCause[cause], plans)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// repoOf gives the repository behind a finding's Application.
func repoOf(in Input, f detect.Finding) string {
	for _, a := range in.Scan.Applications {
		if a.Application.Cluster == f.Cluster && a.Application.Namespace+"/"+a.Application.Name == f.Application {
			return a.Application.Source.Repo
		}
	}
	return ""
}

// rootCause is the same for findings that say the same of the same object, on whichever cluster. Of hidden
// values it cannot be told whether they are the same.
func rootCause(f detect.Finding) string {
	parts := []string{f.Object.ID().String(), string(f.Presence), string(f.Cause)}
	for _, field := range f.Fields {
		if field.Drift {
			change, _ := json.Marshal([]any{field.Path, field.Git, field.Live})
			parts = append(parts, string(change))
		}
		if field.Drift && field.Masked {
			parts = append(parts, f.ID)
		}
	}
	return strings.Join(parts, "\x00")
}

// RootScope is the scope of threads about one root cause on several clusters.
const RootScope = "root cause"

// issue makes the issue of findings that have one cause, of which the weightiest speaks for all.
func issue(in Input, cause string, same []detect.Finding, plans map[string]plan) (bot.Proposal, error) {
	slices.SortStableFunc(same, func(a, b detect.Finding) int {
		return cmp.Or(cmp.Compare(b.Risk, a.Risk), cmp.Compare(policy.Strictness(b.Disposition), policy.Strictness(a.Disposition)))
	})
	f := same[0]
	object := name(f.Object)
	p := bot.Proposal{
		Kind: bot.AsIssue, Disposition: f.Disposition, Risk: f.Risk, Labels: labels(f.Risk, f.Disposition), Repo: repoOf(in, f),
	}
	view := templates.Issue{
		Disposition: string(f.Disposition), Object: object, Presence: string(f.Presence), Risk: f.Risk.String(),
		Cause: string(f.Cause), Reason: f.Reason, Controls: controlsOf(same), Rules: rulesOf(same[:1], ""),
		Changes: changesOf(same[:1], ""), Explained: explained(f), Answers: issueAnswers(f, in.Commands),
		Codify: planned(same, plans, plan.codifies),
		Revert: planned(same, plans, func(p plan) string { return p.revert }), PullRequest: plans[f.ID].pullRequest,
	}
	if f.Declared != nil && f.Declared.Origin.File != "" {
		view.Declared = f.Declared.Origin.File
	}
	var prints []string
	clusters := map[string]bool{}
	for _, one := range same {
		view.Applications = append(view.Applications, one.Cluster+"/"+one.Application)
		p.Findings = append(p.Findings, one.ID)
		prints = append(prints, one.Fingerprint)
		clusters[one.Cluster] = true
		if one.FirstSeen.Before(f.FirstSeen) {
			f.FirstSeen = one.FirstSeen
		}
	}
	view.FirstSeen = day(f.FirstSeen)
	if t := latest(f); !t.IsZero() {
		view.FirstSeen = day(f.FirstSeen) + ", written " + day(t)
	}
	p.Key = bot.Key(RootScope, cause, string(bot.AsIssue))
	if len(same) == 1 && !isOpen(in.Threads, p.Key) { // one that has been about several stays the thread of what is left
		p.Key = bot.Key(f.Cluster+"/"+f.Application, f.ID, string(bot.AsIssue))
	}
	if !isOpen(in.Threads, p.Key) {
		p.Key = cmp.Or(carriedOn(in, same), p.Key)
	}
	where := f.Cluster
	if len(clusters) > 1 {
		where = fmt.Sprintf("%d clusters", len(clusters))
	}
	p.Title = templates.Title(fmt.Sprintf("Drift: %s on %s", object, where))
	slices.Sort(prints)
	body, err := templates.IssueBody(view)
	if err != nil {
		return p, err
	}
	p.Hash = bot.Hash(append([]string{p.Key, string(f.Disposition), p.Risk.String(), view.Codify, view.Revert}, prints...)...)
	record := bot.Record{FirstSeen: f.FirstSeen, About: fingerprints(same)}
	p.Body = templates.Cut(body, "`holdfast scan -o json` has the whole finding "+f.ID, record.String()+"\n"+bot.Marker(p.Key, p.Hash)+"\n")
	return p, nil
}

// carriedOn gives the key of the open issue that findings go on with, where they have spread to other clusters or changed
// alike on several: one that is about nothing else that drifts. Of several it is the oldest.
func carriedOn(in Input, same []detect.Finding) (key string) {
	is := func(id string) bool {
		return slices.ContainsFunc(same, func(f detect.Finding) bool { return f.ID == id })
	}
	others := map[string]bool{}
	for _, f := range in.Scan.Findings {
		if f.Drift && !is(f.ID) {
			others[f.ID] = true
		}
	}
	oldest := 0
	for _, t := range in.Threads {
		has, _, ok := bot.ParseMarker(t.Body)
		if !ok || t.Kind != bot.AsIssue || t.State != bot.Open || oldest > 0 && t.Number > oldest {
			continue
		}
		mine, theirs := false, false
		for id := range bot.ParseRecord(t.Body).About {
			mine, theirs = mine || is(id), theirs || others[id]
		}
		if mine && !theirs {
			key, oldest = has, t.Number
		}
	}
	return key
}

// planned says what pull requests do about findings of one cause: once where it is the same for all, else by
// Application.
func planned(same []detect.Finding, plans map[string]plan, of func(plan) string) string {
	first := of(plans[same[0].ID])
	if !slices.ContainsFunc(same, func(f detect.Finding) bool { return of(plans[f.ID]) != first }) {
		return first
	}
	var out []string
	for _, f := range same {
		if text := of(plans[f.ID]); text != "" {
			out = append(out, f.Cluster+"/"+f.Application+": "+text)
		}
	}
	return strings.Join(out, "; ")
}

func isOpen(threads []bot.Thread, key string) bool {
	return slices.ContainsFunc(threads, func(t bot.Thread) bool {
		has, _, ok := bot.ParseMarker(t.Body)
		return ok && has == key && t.State == bot.Open
	})
}

// explained gives the differences of the object that are no drift.
func explained(f detect.Finding) []templates.Change {
	var out []templates.Change
	for _, field := range f.Fields {
		if !field.Drift && field.Differs {
			out = append(out, fieldChange(f, field))
		}
	}
	return out
}

func issueAnswers(f detect.Finding, commands bool) []templates.Answer {
	command := func(d detect.Disposition) string {
		if commands {
			return "a comment `/drift " + string(d) + "`"
		}
		return "`holdfast propose --finding " + f.ID + " --disposition " + string(d) + "`"
	}
	out := []templates.Answer{}
	if f.Disposition != detect.Codify {
		how, effect := "to keep the live value", " opens a pull request that writes it to Git"
		switch f.Presence {
		case detect.LiveOnly:
			how, effect = "to keep the object", " opens a pull request that declares it in Git"
		case detect.GitOnly:
			how, effect = "to leave it deleted", " opens a pull request that removes it from Git"
		}
		out = append(out, templates.Answer{How: how, Effect: command(detect.Codify) + effect})
	}
	if f.Disposition != detect.Revert && (f.Offer == detect.Revert || f.Presence != detect.LiveOnly) {
		out = append(out, templates.Answer{How: "to bring Git's state back", Effect: command(detect.Revert) + " opens a pull request whose merge makes the engine apply Git again, where an engine does so"})
	}
	const exception = "add an exception with owner, reason and end date to the policy (`holdfast policy show` prints the one in force)"
	if commands {
		return append(out,
			templates.Answer{How: "to leave it for a while", Effect: "a comment `/drift ignore <duration> <reason>`, such as `/drift ignore 12h load test`; or " + exception},
			templates.Answer{How: "to know more", Effect: "a comment `/drift explain`, `/drift status` or `/drift help`"})
	}
	return append(out, templates.Answer{How: "to leave it for a while", Effect: exception})
}

func pullRequestAnswers(d detect.Disposition) []templates.Answer {
	other := "close it: the same content is not proposed again"
	if d == detect.Codify {
		return []templates.Answer{{How: "Git should win instead", Effect: other}}
	}
	return []templates.Answer{{How: "the live state should stay", Effect: other + "; then codify it, or add an exception to the policy"}}
}
