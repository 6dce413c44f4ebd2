package propose

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/templates"
)

// timeLayout is how times stand in texts: absolute, so that an unchanged drift gives an unchanged text.
const timeLayout = "2006-01-02 15:04:05 UTC"

// Scope names the threads of one Application on one cluster.
func Scope(app gitops.Application) string { return app.ID() }

// scope is the Application's, or one of its own for a run that answers picked findings only: the threads of
// such a run are not those of the whole.
func (g *group) scope() string {
	if g.in.Picked == "" {
		return Scope(g.app)
	}
	return Scope(g.app) + " " + g.in.Picked
}

// start fills what the pull requests of a group have in common.
func (g *group) start(d detect.Disposition, key string, findings []detect.Finding) bot.Proposal {
	p := bot.Proposal{
		Key: key, Kind: bot.AsPullRequest, Disposition: d, Repo: g.source.Repo, Base: g.source.Base, BaseCommit: g.source.BaseCommit,
		Branch: fmt.Sprintf("holdfast/%s/%s-%s", d, slug(g.app.Cluster+"-"+g.app.Name), key[len(key)-8:]),
	}
	for _, f := range findings {
		p.Findings = append(p.Findings, f.ID)
		p.Risk = max(p.Risk, f.Risk)
	}
	p.Labels = labels(p.Risk, d)
	return p
}

// finish writes body, hash and commit message of a pull request about the findings in used.
func (g *group) finish(p *bot.Proposal, view templates.PullRequest, used []detect.Finding) error {
	remembered := about(used, p.Disposition)
	closes := closesAfterHeal(used, p.Disposition)
	view.Disposition, view.Application, view.Cluster = string(p.Disposition), g.app.Namespace+"/"+g.app.Name, g.app.Cluster
	view.Risk, view.Base, view.BaseCommit = p.Risk.String(), p.Base, p.BaseCommit
	for _, f := range p.Files {
		view.Files = append(view.Files, templates.File{Path: f.Path, Diff: f.Diff})
	}
	view.Proof = proofView(*p.Proof)
	view.Reach = reach(*p.Proof)
	view.Answers = pullRequestAnswers(p.Disposition)
	body, err := templates.PullRequestBody(view)
	if err != nil {
		return err
	}
	// The hash tells new content from old: what drifted, how much it matters and what becomes of it. Times,
	// the base commit and the rest of the text are left out, or a pull request that a person closed would
	// come back with every commit to the base.
	content := []string{p.Key, p.Risk.String()}
	for _, name := range slices.Sorted(maps.Keys(remembered)) {
		content = append(content, name, remembered[name])
	}
	p.Hash = bot.Hash(content...)
	record := bot.Record{Files: FilesHash(p.Files), Base: p.BaseCommit, CloseAfterHeal: closes, About: remembered}
	if p.Disposition == detect.Codify {
		record.Proof = restsOn(*p.Proof)
	}
	p.Body = templates.Cut(body, "the commit on branch "+p.Branch+" has the whole change", record.String()+"\n"+bot.Marker(p.Key, p.Hash)+"\n")
	p.Message, err = templates.CommitMessage(templates.Commit{
		Subject: p.Title, Changes: view.Changes,
		Trailers: []templates.Trailer{
			{Key: "Holdfast-Key", Value: p.Key}, {Key: "Holdfast-Disposition", Value: string(p.Disposition)},
			{Key: "Holdfast-Findings", Value: strings.Join(p.Findings, " ")},
		},
	})
	return err
}

// changesOf gives the rows of a table of changes. With an empty disposition, every drift is in it.
func changesOf(findings []detect.Finding, d detect.Disposition) []templates.Change {
	var out []templates.Change
	for _, f := range findings {
		if len(f.Fields) == 0 {
			out = append(out, objectChange(f))
			continue
		}
		for _, field := range fieldsOf(f, d) {
			out = append(out, fieldChange(f, field))
		}
	}
	return out
}

func objectChange(f detect.Finding) templates.Change {
	c := templates.Change{Object: name(f.Object), Cause: string(f.Cause), Risk: f.Risk.String(), Reason: f.Reason}
	switch f.Presence {
	case detect.GitOnly:
		c.Note, c.Git = "deleted", "declared"
	case detect.LiveOnly:
		c.Note, c.Live = "extra object", "present"
	default:
		c.Note = "whole object"
	}
	by(&c, f.Writer)
	return c
}

func fieldChange(f detect.Finding, field detect.Field) templates.Change {
	c := templates.Change{
		Object: name(f.Object), Path: field.Path.String(), Git: text(field.Git), Live: text(field.Live),
		Cause: string(field.Cause), Risk: field.Risk.String(), Reason: field.Reason,
	}
	by(&c, field.Writer)
	return c
}

func by(c *templates.Change, w *detect.Writer) {
	if w == nil {
		return
	}
	c.By = w.Name()
	if !w.Time.IsZero() {
		c.When = w.Time.UTC().Format(timeLayout)
	}
	c.Confidence = w.How()
}

// text prints a value on one line; an absent one is empty, an empty one visible.
func text(v gitops.Value) string {
	if !v.Set {
		return ""
	}
	if s, ok := v.V.(string); ok && s != "" {
		return s
	}
	raw, err := json.Marshal(v.V)
	if err != nil {
		return "?"
	}
	return string(raw)
}

// rulesOf gives each rule that decided, once, with what it decided and why earlier rules did not match there.
func rulesOf(findings []detect.Finding, d detect.Disposition) []templates.Rule {
	var out []templates.Rule
	add := func(rule string, disposition detect.Disposition, what string, trace []string) {
		i := slices.IndexFunc(out, func(r templates.Rule) bool { return r.Name == rule && r.Disposition == string(disposition) })
		if i >= 0 {
			out[i].Decided = append(out[i].Decided, what)
			return
		}
		out = append(out, templates.Rule{Name: rule, Disposition: string(disposition), Decided: []string{what}, Trace: trace})
	}
	for _, f := range findings {
		if len(f.Fields) == 0 {
			add(f.Rule, f.Disposition, name(f.Object), f.Trace)
		}
		for _, field := range fieldsOf(f, d) {
			add(field.Rule, field.Disposition, field.Path.String(), traceOf(f, field.Path.String()))
		}
	}
	return out
}

// traceOf gives the lines of a finding's trace that are about one field.
func traceOf(f detect.Finding, path string) []string {
	var out []string
	for _, line := range f.Trace {
		if rest, ok := strings.CutPrefix(line, path+": "); ok {
			out = append(out, rest)
		}
	}
	return out
}

func controlsOf(findings []detect.Finding) []templates.Control {
	var out []templates.Control
	for _, f := range findings {
		for _, c := range f.Controls {
			if v := (templates.Control{Standard: c.Standard, ID: c.ID, Title: c.Title}); !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b templates.Control) int { return strings.Compare(a.Standard, b.Standard) })
	return out
}

func proofView(p gitops.Proof) templates.Proof {
	v := templates.Proof{Complete: p.Complete, Moved: p.Moved}
	for _, m := range p.Applications {
		v.Checked = append(v.Checked, templates.Member{Name: member(m.Cluster, m.Namespace, m.Name), Path: m.Path, Before: m.Before, After: m.After})
	}
	for _, m := range p.Unproven {
		v.Unproven = append(v.Unproven, templates.Member{Name: member(m.Cluster, "", m.Name), Path: m.Path, Reason: m.Reason})
	}
	return v
}

// reach says which members the edit changes.
func reach(p gitops.Proof) []string {
	var out []string
	for _, m := range p.Applications {
		if m.Before != m.After {
			out = append(out, "changes what "+templates.Code(member(m.Cluster, m.Namespace, m.Name))+" declares")
		}
	}
	if len(out) == 0 {
		out = append(out, "changes what no Application declares")
	}
	return out
}

func member(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}

func labels(r detect.Risk, d detect.Disposition) []string {
	return []string{"drift", "drift/" + r.String(), "drift/" + string(d)}
}

// count says how many changes there are, in words for a title; a single one is named.
func count(findings []detect.Finding, d detect.Disposition) string {
	changes := changesOf(findings, d)
	if len(changes) == 1 {
		if c := changes[0]; c.Path != "" {
			return c.Object + " " + lastStep(c.Path)
		}
		return changes[0].Object
	}
	return fmt.Sprintf("%d changes", len(changes))
}

// lastStep shortens a path to its end, for titles.
func lastStep(path string) string {
	if i := strings.LastIndexAny(path, ".["); i > 0 {
		return strings.Trim(path[i:], ".")
	}
	return path
}

func name(r detect.ObjectRef) string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// maxSlug bounds the readable part of a branch name: a file system holds 255 bytes, "refs" and locks included.
const maxSlug = 100

// slug keeps what a branch name may hold.
func slug(text string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return '-'
	}, text[:min(maxSlug, len(text))]), "-")
}

// interval prints a duration without its zero parts: 10m, 1h.
func interval(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func day(t time.Time) string { return t.UTC().Format(timeLayout) }
