package dashboard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"holdfast/bot/serve"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/templates"
)

const (
	// mostFields is how many fields of one drift are shown.
	mostFields = 200
	// mostValue bounds a value, in bytes.
	mostValue = 16 << 10
	// mostLines and mostShown bound a diff, in lines and in bytes; mostLine bounds one line, in characters.
	mostLines = 400
	mostShown = 32 << 10
	mostLine  = 2000
	// mostURL bounds what is linked, in bytes: no forge has longer addresses.
	mostURL = 2000
)

// hidden stands for a value of a Secret.
const hidden = "(a value of a Secret, not shown)"

// drift is the page about one drift, also of one that is gone.
func (d *Dashboard) drift(w http.ResponseWriter, r *http.Request, who viewer) {
	id := r.PathValue("id")
	d.show(w, r, who, func(x *index) (func(io.Writer) error, bool) {
		one, known := x.byID[id]
		past, settled := x.goneByID[id]
		var v templates.DriftPage
		switch {
		case known:
			v = x.driftPage(one)
			v.Since = when(one.since, d.options.Now())
		case settled:
			v = templates.DriftPage{Gone: true, Cluster: past.cluster, Application: past.past.Application, Object: objectName(past.past.Object), History: historyOf(past.past)}
		default:
			return nil, false
		}
		for _, t := range x.threads[id] {
			v.Threads = append(v.Threads, threadView(t))
		}
		if key := applicationKey(v.Cluster, v.Application); x.byKey[key].key != "" {
			v.ApplicationHref = "/application/" + key
		}
		v.Frame = d.frame(who, "drifts", v.Object)
		return func(out io.Writer) error { return d.pages.Drift(out, v) }, true
	})
}

func (x *index) driftPage(one drift) templates.DriftPage {
	f := *one.finding
	v := templates.DriftPage{
		Cluster: f.Cluster, Application: f.Application, Object: objectName(f.Object), Risk: f.Risk.String(), Class: f.Class,
		What: presence(f.Presence), Cause: string(f.Cause), Reason: f.Reason, Writer: writer(f.Writer),
		Disposition: string(f.Disposition), Rule: f.Rule, Trace: f.Trace, History: historyOf(one.report.History[f.ID]),
	}
	plan := one.report.Published.Plans[f.ID]
	for _, p := range []templates.NamedText{{Name: "Codify", Text: plan.Codify}, {Name: "Revert", Text: plan.Revert}} {
		if p.Text != "" {
			v.Plans = append(v.Plans, p)
		}
	}
	for _, c := range f.Controls {
		v.Controls = append(v.Controls, c.Standard+" "+c.ID+", "+c.Title)
	}
	for _, field := range f.Fields {
		switch {
		case len(v.Fields)+len(v.Explained) >= mostFields:
			v.FieldsCut++
		case field.Drift:
			v.Fields = append(v.Fields, fieldView(f.Object, field))
		default:
			v.Explained = append(v.Explained, fieldView(f.Object, field))
		}
	}
	return v
}

func presence(p detect.Presence) string {
	switch p {
	case detect.GitOnly:
		return "in Git, not in the cluster"
	case detect.LiveOnly:
		return "in the cluster, not in Git"
	}
	return "the cluster is not as Git declares"
}

func fieldView(object detect.ObjectRef, field detect.Field) templates.FieldView {
	v := templates.FieldView{
		Path: field.Path.String(), Risk: field.Risk.String(), Cause: string(field.Cause), Reason: field.Reason,
		Disposition: string(field.Disposition), Writer: writer(field.Writer),
	}
	git, live := field.Git, field.Live
	if field.Masked || secret(object, field.Path) {
		git, live = masked(git), masked(live)
	}
	v.Lines = valueDiff(git, live)
	return v
}

// secret says whether a field holds values of a Secret. Compare masks them all; a mistake there is not shown here.
func secret(object detect.ObjectRef, at gitops.Path) bool {
	if object.Kind != "Secret" || object.APIVersion != "v1" {
		return false
	}
	return len(at) == 0 || slices.Contains([]string{"data", "stringData"}, at[0].Field) || strings.Contains(at.String(), "last-applied-configuration")
}

func masked(v gitops.Value) gitops.Value {
	if !v.Set {
		return v
	}
	return gitops.Present(hidden)
}

// valueDiff gives what Git has and what is live, line by line where both are texts of several lines.
func valueDiff(git, live gitops.Value) []templates.DiffLine {
	before, after := valueText(git), valueText(live)
	if git.Set && live.Set && strings.Contains(before, "\n") && strings.Contains(after, "\n") {
		return diffLines(string(diff.Diff("git", []byte(before+"\n"), "live", []byte(after+"\n"))))
	}
	var out []templates.DiffLine
	add := func(v gitops.Value, text, sign, class string) {
		if v.Set {
			for line := range strings.Lines(text) {
				out = append(out, templates.DiffLine{Text: sign + " " + shown(line), Class: class})
			}
		}
	}
	add(git, before, "-", "minus")
	add(live, after, "+", "plus")
	return cutLines(out)
}

// valueText prints a value: a text as it is, an empty one visibly, what is composed as JSON.
func valueText(v gitops.Value) string {
	text, is := v.V.(string)
	if !is || text == "" {
		data, err := json.MarshalIndent(v.V, "", "  ")
		if err != nil {
			return "?"
		}
		text = string(data)
	}
	if len(text) > mostValue {
		return fmt.Sprintf("%s\n(%d bytes in all)", strings.ToValidUTF8(text[:mostValue], ""), len(text))
	}
	return text
}

// diffLines gives a unified diff without its header.
func diffLines(text string) []templates.DiffLine {
	var out []templates.DiffLine
	inside := false
	for line := range strings.Lines(text) {
		if inside = inside || strings.HasPrefix(line, "@@"); !inside {
			continue
		}
		one := templates.DiffLine{Text: shown(line)}
		switch line[0] {
		case '-':
			one.Class = "minus"
		case '+':
			one.Class = "plus"
		}
		out = append(out, one)
	}
	return cutLines(out)
}

func cutLines(lines []templates.DiffLine) []templates.DiffLine {
	size := 0
	for i, line := range lines {
		if size += len(line.Text); i == mostLines || size > mostShown {
			return append(lines[:i:i], templates.DiffLine{Text: fmt.Sprintf("(%d more lines)", len(lines)-i)})
		}
	}
	return lines
}

// shown gives a line without its end, and without what a browser obeys.
func shown(line string) string {
	line = templates.Lines(strings.TrimRight(line, "\n"))
	if runes := []rune(line); len(runes) > mostLine {
		return fmt.Sprintf("%s… (%d characters)", string(runes[:mostLine]), len(runes))
	}
	return line
}

func writer(w *detect.Writer) templates.WriterView {
	if w == nil {
		return templates.WriterView{}
	}
	return templates.WriterView{Name: w.Name(), Time: w.Time, How: w.How()}
}

func threadLink(t serve.Thread) templates.ThreadView {
	v := templates.ThreadView{Kind: strings.ReplaceAll(string(t.Kind), "-", " "), Number: t.Number, State: string(t.State), Title: t.Title, Reason: t.Reason}
	if u, err := url.Parse(t.URL); err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && len(t.URL) <= mostURL {
		v.URL = u.String()
	}
	return v
}

// threadView gives what a thread does about a drift: the files of a pull request, and its proof.
func threadView(t serve.Thread) templates.ThreadView {
	v := threadLink(t)
	v.FilesCut = t.FilesCut
	for _, f := range t.Files {
		v.Files = append(v.Files, templates.FileView{Path: f.Path, Lines: diffLines(f.Diff)})
	}
	if t.Proof == nil {
		return v
	}
	p := &templates.ProofView{Sentence: proofSentence(*t.Proof), Moved: t.Proof.Moved}
	for _, m := range t.Proof.Applications {
		text := "unchanged"
		if m.Before != m.After {
			text = fmt.Sprintf("%.12s before, %.12s after", cmp.Or(m.Before, "nothing"), cmp.Or(m.After, "nothing"))
		}
		p.Rendered = append(p.Rendered, templates.NamedText{Name: strings.Trim(m.Cluster+"/"+m.Namespace+"/"+m.Name, "/"), Text: m.Path + ", " + text})
	}
	for _, m := range t.Proof.Unproven {
		p.Unproven = append(p.Unproven, templates.NamedText{Name: m.Name + " at " + m.Path, Text: m.Reason})
	}
	v.Proof = p
	return v
}

func proofSentence(p gitops.Proof) string {
	switch {
	case p.Verified && p.Complete:
		return "A render of everything that reads the changed files closes the drift and moves nothing else."
	case p.Verified:
		return "A render closes the drift and moves nothing else, but not everything that reads the changed files could be rendered."
	}
	return "Not proven: " + cmp.Or(p.Reason, "no reason is told") + "."
}

// historyOf gives what happened, the latest first. Links lead to the forge.
func historyOf(p serve.Past) []templates.HistoryView {
	var out []templates.HistoryView
	for _, e := range slices.Backward(p.Events) {
		out = append(out, templates.HistoryView{Time: e.Time, What: e.What, URL: threadLink(serve.Thread{URL: e.URL}).URL})
	}
	return out
}
