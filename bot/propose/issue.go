package propose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/templates"
)

// issues gives one issue for each drift. The same change of the same object on several clusters is one root
// cause, with one issue.
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
		cause := rootCause(f)
		if byCause[cause] == nil {
			order = append(order, cause)
		}
		byCause[cause] = append(byCause[cause], f)
	}
	var out []bot.Proposal
	for _, cause := range order {
		p, err := issue(in, byCause[cause], plans)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// rootCause is the same for findings that say the same of the same object, on whichever cluster.
func rootCause(f detect.Finding) string {
	parts := []string{f.Object.ID().String(), string(f.Presence), string(f.Cause)}
	for _, field := range f.Fields {
		if field.Drift {
			change, _ := json.Marshal([]any{field.Path, field.Git, field.Live})
			parts = append(parts, string(change))
		}
	}
	return strings.Join(parts, "\x00")
}

// RootScope is the scope of threads about one root cause on several clusters.
const RootScope = "root cause"

func issue(in Input, same []detect.Finding, plans map[string]plan) (bot.Proposal, error) {
	f := same[0]
	object := name(f.Object)
	p := bot.Proposal{Kind: bot.AsIssue, Disposition: f.Disposition, Risk: f.Risk, Labels: labels(f.Risk, f.Disposition)}
	view := templates.Issue{
		Disposition: string(f.Disposition), Object: object, Presence: string(f.Presence), Risk: f.Risk.String(),
		Cause: string(f.Cause), Reason: f.Reason, Controls: controlsOf(same), Rules: rulesOf(same[:1], ""),
		Changes: changesOf(same[:1], ""), Explained: explained(f), Answers: issueAnswers(f),
		Codify: plans[f.ID].codify, Revert: plans[f.ID].revert, PullRequest: plans[f.ID].pullRequest,
	}
	if f.Declared != nil && f.Declared.Origin.File != "" {
		view.Declared = f.Declared.Origin.File
	}
	var prints []string
	for _, one := range same {
		view.Applications = append(view.Applications, one.Cluster+"/"+one.Application)
		p.Findings = append(p.Findings, one.ID)
		prints = append(prints, one.Fingerprint)
		p.Risk = max(p.Risk, one.Risk)
		if one.FirstSeen.Before(f.FirstSeen) {
			f.FirstSeen = one.FirstSeen
		}
	}
	view.FirstSeen = day(f.FirstSeen)
	if t := latest(f); !t.IsZero() {
		view.FirstSeen = day(f.FirstSeen) + ", written " + day(t)
	}
	for _, a := range in.Scan.Applications {
		if a.Application.Cluster == f.Cluster && a.Application.Namespace+"/"+a.Application.Name == f.Application {
			p.Repo = a.Application.Source.Repo
		}
	}
	if len(same) == 1 {
		p.Key = bot.Key(f.Cluster+"/"+f.Application, f.Object.ID().String(), string(bot.AsIssue))
		p.Title = templates.Title(fmt.Sprintf("Drift: %s on %s", object, f.Cluster))
	} else {
		p.Key = bot.Key(RootScope, rootCause(f), string(bot.AsIssue))
		p.Title = templates.Title(fmt.Sprintf("Drift: %s on %d clusters", object, len(same)))
	}
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

func issueAnswers(f detect.Finding) []templates.Answer {
	command := func(d detect.Disposition) string {
		return "`holdfast propose --finding " + f.ID + " --disposition " + string(d) + "`"
	}
	out := []templates.Answer{}
	if f.Presence == detect.Both && f.Disposition != detect.Codify {
		out = append(out, templates.Answer{How: "to keep the live value", Effect: command(detect.Codify) + " opens a pull request that writes it to Git"})
	}
	if f.Disposition != detect.Revert && (f.Offer == detect.Revert || f.Presence != detect.LiveOnly) {
		out = append(out, templates.Answer{How: "to bring Git's state back", Effect: command(detect.Revert) + " opens a pull request whose merge makes the engine apply Git again, where an engine does so"})
	}
	return append(out, templates.Answer{How: "to leave it for a while", Effect: "add an exception with owner, reason and end date to the policy (`holdfast policy show` prints the one in force)"})
}

func pullRequestAnswers(d detect.Disposition) []templates.Answer {
	other := "close it: the same content is not proposed again"
	if d == detect.Codify {
		return []templates.Answer{{How: "Git should win instead", Effect: other}}
	}
	return []templates.Answer{{How: "the live state should stay", Effect: other + "; then codify it, or add an exception to the policy"}}
}
