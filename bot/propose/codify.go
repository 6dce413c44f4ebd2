package propose

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/codify"
	"holdfast/templates"
)

// joint is groups whose codifies are one pull request: the same change of what they share, which goes to the base that
// all of them read. Mostly it is one group.
type joint []*group

// lead is the group whose Application names the pull request.
func (j joint) lead() *group { return j[0] }

// joined gives the groups that codify, those together that read a file in common and wish the same.
func joined(groups []*group) []joint {
	label := make([]int, len(groups)) // the same number for all of a joint
	wishing := map[string][]int{}
	for n, g := range groups {
		label[n] = n
		for _, w := range g.wishes {
			for _, sign := range g.signs(w) {
				for _, other := range wishing[sign] {
					from, into := label[n], label[other]
					if from == into || !g.readsWith(groups[other]) {
						continue
					}
					for i := range label[:n+1] {
						if label[i] == from {
							label[i] = into
						}
					}
				}
				wishing[sign] = append(wishing[sign], n)
			}
		}
	}
	var out []joint
	at := map[int]int{}
	for n, g := range groups {
		if len(g.wishes) == 0 {
			continue
		}
		if _, begun := at[label[n]]; !begun {
			at[label[n]] = len(out)
			out = append(out, nil)
		}
		out[at[label[n]]] = append(out[at[label[n]]], g)
	}
	for i, j := range out {
		slices.SortStableFunc(j, func(a, b *group) int { return strings.Compare(a.app.ID(), b.app.ID()) })
		out[i] = j.led()
	}
	return out
}

// readsWith says whether two Applications read a file of the same branch.
func (g *group) readsWith(o *group) bool {
	if g.source.Repo != o.source.Repo || g.source.Base != o.source.Base || g.source.BaseCommit != o.source.BaseCommit {
		return false
	}
	return slices.ContainsFunc(g.reads, func(file string) bool {
		_, both := slices.BinarySearch(o.reads, file)
		return both
	})
}

// signs name what a wish asks for, in the same words as a wish of another environment that asks for the same.
func (g *group) signs(w codify.Wish) []string {
	id := w.Declared.Origin.Written
	if id.Name == "" {
		id = w.Declared.ID
	}
	where := []any{w.Declared.Origin.File, id.Group, id.Kind, id.Name, w.RemoveObject, w.CreateObject}
	sign := func(what ...any) string {
		text, _ := json.Marshal(append(slices.Clip(where), what...))
		return string(text)
	}
	if w.RemoveObject || w.CreateObject {
		return []string{sign()}
	}
	var out []string
	for _, c := range w.Changes {
		out = append(out, sign(c.Path, c.After.Set, c.After.V))
	}
	return out
}

// codify asks for the edits that write the live values to Git, and makes a pull request of what was proven.
func (j joint) codify(ctx context.Context, plans map[string]plan) ([]bot.Proposal, []Skipped, error) {
	lead := j.lead()
	held, err := lead.in.Policy(lead.app, lead.source.Tree)
	if err != nil {
		return nil, nil, err
	}
	request := codify.Request{
		Tree: lead.source.Tree, Fleet: lead.fleets.of(lead.source), Render: lead.in.Render, Schemas: lead.in.Schemas,
		Timeout: cmp.Or(lead.in.Codifying, codify.DefaultTimeout) * time.Duration(len(j)), Forbidden: held.ForbidsFile, AllowKind: held.AllowsKind,
	}
	for _, g := range j {
		request.Wishes = append(request.Wishes, g.wishes...)
	}
	answer, skipped, err := lead.in.shown(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	for _, failed := range answer.Failed {
		reason := failed.Reason
		if failed.NearestMiss != "" {
			reason += "; nearest miss: " + failed.NearestMiss
		}
		skipped = append(skipped, Skipped{failed.FindingID, failed.Path.String(), reason})
	}
	tell(plans, skipped)
	if len(answer.Edits) == 0 {
		return nil, skipped, nil
	}
	answer.Proof.Unproven = append(answer.Proof.Unproven, unreadClusters(lead.in.Scan)...)
	if answer.Proof.Complete && len(answer.Proof.Unproven) > 0 {
		answer.Proof.Complete, answer.Proof.Reason = false, "a cluster could not be read, so what its Applications read is not known"
	}
	proposal, err := j.proposal(answer, skipped)
	if err != nil {
		return nil, nil, err
	}
	for _, placed := range answer.Placed {
		note(plans, placed.FindingID, func(p *plan) {
			p.codify, p.pullRequest = "proposed in a pull request from branch "+proposal.Branch, proposal.Title
		})
	}
	return []bot.Proposal{proposal}, skipped, nil
}

// unreadClusters are the clusters of which nothing could be read: what their Applications read is not known.
func unreadClusters(s detect.Scan) []gitops.UnprovenMember {
	var out []gitops.UnprovenMember
	for _, u := range s.Unknown {
		if u.Application == "" && u.Object.Kind == "" && !slices.ContainsFunc(s.Applications, func(a detect.AssessedApplication) bool { return a.Application.Cluster == u.Cluster }) {
			out = append(out, gitops.UnprovenMember{Cluster: u.Cluster, Name: "all of its Applications", Path: "any", Reason: u.Reason})
		}
	}
	return out
}

// proposal makes the pull request of an answer.
func (j joint) proposal(answer *codify.Answer, skipped []Skipped) (bot.Proposal, error) {
	lead := j.lead()
	placed := map[string]bool{}
	for _, o := range answer.Placed {
		placed[o.FindingID+" "+o.Path.String()] = true
	}
	var wanted, used []detect.Finding
	for _, g := range j {
		wanted = append(wanted, g.of(detect.Codify)...)
	}
	for _, f := range wanted {
		f.Fields = slices.DeleteFunc(slices.Clone(f.Fields), func(field detect.Field) bool {
			return !placed[f.ID+" "+field.Path.String()]
		})
		if len(f.Fields) > 0 || placed[f.ID+" "] {
			used = append(used, f)
		}
	}
	key, branch := j.place()
	p := lead.start(detect.Codify, key, used)
	p.Branch = cmp.Or(branch, p.Branch)
	name, where := j.names()
	p.Title = templates.Title(fmt.Sprintf("Codify %s of %s on %s", count(used, detect.Codify), name, where))
	proof := answer.Proof
	p.Proof = &proof
	for _, e := range answer.Edits {
		file, err := fileChange(e)
		if err != nil {
			return p, err
		}
		p.Files = append(p.Files, file)
	}
	view := templates.PullRequest{
		Changes: changesOf(used, detect.Codify), Rules: rulesOf(used, detect.Codify), Controls: controlsOf(used),
		Unplaced: unplaced(wanted, skipped), Choices: append(choices(wanted, answer.Placed), leaving(used)...), AfterMerge: j.afterMerge(answer),
	}
	for _, g := range j[1:] {
		view.Also = append(view.Also, g.app.ID())
	}
	return p, lead.finish(&p, view, used)
}

// names gives the Applications and the clusters for a title.
func (j joint) names() (applications, clusters string) {
	var apps, where []string
	for _, g := range j {
		apps, where = append(apps, g.app.Name), append(where, g.app.Cluster)
	}
	slices.Sort(apps)
	slices.Sort(where)
	apps, where = slices.Compact(apps), slices.Compact(where)
	applications, clusters = apps[0], where[0]
	if len(apps) > 1 {
		applications = fmt.Sprintf("%d Applications", len(apps))
	}
	if len(where) > 1 {
		clusters = fmt.Sprintf("%d clusters", len(where))
	}
	return applications, clusters
}

// afterMerge says what the engines do once it is merged.
func (j joint) afterMerge(answer *codify.Answer) string {
	after := []string{"The engine applies the merge commit and finds the values that Git now declares."}
	for _, g := range j {
		if g.app.Engine != gitops.Flux || g.app.Suspended || g.app.Interval <= 0 {
			continue
		}
		text := fmt.Sprintf("%s corrects drift every %s; where it has undone the live value before the merge, merging brings the recorded value back.",
			g.app.Engine, interval(g.app.Interval))
		if !slices.Contains(after, text) {
			after = append(after, text)
		}
	}
	for _, o := range answer.Placed {
		if _, note, ok := strings.Cut(o.How, "; merging "); ok {
			after = append(after, "For "+templates.Code(o.Path.String())+", merging "+note+".")
		}
	}
	return strings.Join(after, " ")
}

// choices says why values are written where they are.
func choices(findings []detect.Finding, placed []codify.Outcome) []templates.Change {
	var out []templates.Change
	for _, o := range placed {
		i := slices.IndexFunc(findings, func(f detect.Finding) bool { return f.ID == o.FindingID })
		if i >= 0 && o.Choice != "" {
			out = append(out, templates.Change{Object: name(findings[i].Object), Path: orWhole(o.Path.String()), Reason: o.Choice})
		}
	}
	return out
}

// leaving says of the fields that leave Git why they are not written to it, and what merging that takes.
func leaving(findings []detect.Finding) []templates.Change {
	var out []templates.Change
	for _, f := range findings {
		for _, field := range fieldsOf(f, detect.Codify) {
			if field.Leaves == "" {
				continue
			}
			out = append(out, templates.Change{Object: name(f.Object), Path: field.Path.String(), Reason: "it leaves Git, and the live value is not written there: " + field.Leaves +
				". Where nobody but the engine owns the field at the time of the merge, the count drops to 1 until the autoscaler acts; after kubectl scale, or once the autoscaler has acted, it stays"})
		}
	}
	return out
}

func unplaced(findings []detect.Finding, skipped []Skipped) []templates.Change {
	var out []templates.Change
	for _, s := range skipped {
		i := slices.IndexFunc(findings, func(f detect.Finding) bool { return f.ID == s.Finding })
		if i >= 0 {
			out = append(out, templates.Change{Object: name(findings[i].Object), Path: orWhole(s.Path), Reason: s.Reason})
		}
	}
	return out
}
