package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/templates"
)

// The widest that cells may get in the table; the JSON has all of it whole.
const (
	maxPath   = 56
	maxValue  = 28
	maxObject = 100
	maxWriter = 48

	maxCondition = 300
)

// table prints a scan for a person: drift first, worst first, then what could not be judged, then a summary.
type table struct {
	w     io.Writer
	color bool
	now   time.Time
	all   bool
}

func (t table) scan(s detect.Scan) {
	rows := [][]string{{"RISK", "OBJECT", "FIELD", "GIT", "LIVE", "CAUSE", "BY", "DO"}}
	for _, f := range s.Findings {
		rows = append(rows, t.rows(f)...)
	}
	if len(rows) > 1 {
		t.grid(rows)
		fmt.Fprintln(t.w)
	}
	t.applications(s)
	t.unknown(s)
	t.notes(s)
	t.summary(s)
}

// rows gives one row a field, explained differences only with all.
func (t table) rows(f detect.Finding) [][]string {
	object := clip(templates.Printable(objectName(f.Object)), maxObject)
	if f.Presence != detect.Both || f.ObjectLevel {
		if !f.Drift && !t.all {
			return nil
		}
		note := map[detect.Presence]string{detect.GitOnly: "(not in the cluster)", detect.LiveOnly: "(not in Git)", detect.Both: "(object)"}[f.Presence]
		return [][]string{{f.Risk.String(), object, note, "", "", string(f.Cause), t.writer(f.Writer), string(f.Disposition)}}
	}
	var rows [][]string
	fields := slices.Clone(f.Fields)
	slices.SortStableFunc(fields, func(a, b detect.Field) int { return int(b.Risk - a.Risk) })
	for _, field := range fields {
		if !field.Drift && !t.all {
			continue
		}
		git, live := values(field.Git, field.Live)
		rows = append(rows, []string{
			field.Risk.String(), object, clip(templates.Printable(shortPath(field.Path)), maxPath), git, live,
			string(field.Cause), t.writer(field.Writer), string(field.Disposition),
		})
		object = "" // named once
	}
	return rows
}

// shortPath leaves out the way to a pod template, which all workloads share.
func shortPath(p gitops.Path) string {
	text := p.String()
	for _, prefix := range []string{"spec.jobTemplate.spec.template.spec.", "spec.template.spec."} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			return "…" + rest
		}
	}
	return text
}

func (t table) writer(w *detect.Writer) string {
	if w == nil {
		return ""
	}
	who := clip(templates.Printable(w.Name()), maxWriter)
	if who == "" {
		return string(w.Confidence)
	}
	if !w.Time.IsZero() {
		who += ", " + detect.Age(t.now.Sub(w.Time)) + " ago"
	}
	return who
}

func (t table) applications(s detect.Scan) {
	for _, a := range s.Applications {
		name := templates.Printable(strings.ReplaceAll(a.Application.ID(), "//", "/")) // a plain folder need not have a namespace
		switch {
		case a.State == detect.Unknown:
			fmt.Fprintf(t.w, "%s %s could not be assessed: %s\n", t.paint(detect.High, "unknown"), name, oneLine(a.Reason))
		case a.Reason != "":
			fmt.Fprintf(t.w, "note %s: %s\n", name, oneLine(a.Reason))
		}
		for _, c := range a.Conditions {
			if strings.Contains(a.Reason, strings.Join(strings.Fields(c.Message), " ")) {
				c.Message = "" // it was said a line above
			}
			text := conditionText(a.Application, c)
			fmt.Fprintln(t.w, t.paint(detect.Medium, string(c.Type))+strings.TrimPrefix(text, string(c.Type)))
		}
	}
}

// conditionText says what keeps an engine from correcting an Application, since when, and who asked for it:
// suspended north/flux-system/shop since 2026-03-01 02:00 UTC (spec.suspend, by alice through kubectl): flux does not
// correct it.
func conditionText(app gitops.Application, c detect.Condition) string {
	text := string(c.Type) + " " + app.ID()
	if !c.Since.IsZero() {
		text += " since " + c.Since.UTC().Format("2006-01-02 15:04 UTC")
	}
	detail := oneLine(clip(c.Message, maxCondition))
	switch c.Type {
	case detect.Suspended, detect.SwitchedOff:
		if w := c.Writer; w != nil {
			detail += ", by " + w.Name()
			if w.User != "" && w.Manager != "" {
				detail += " through " + w.Manager
			}
		}
		if detail = strings.TrimPrefix(detail, ", "); detail != "" {
			text += " (" + detail + ")"
		}
		if c.Type == detect.Suspended {
			text += ": " + string(app.Engine) + " does not correct it"
		}
	default:
		if detail != "" {
			text += ": " + detail
		}
	}
	return templates.Printable(text)
}

// unknown lists what could not be judged, alike reasons together.
func (t table) unknown(s detect.Scan) {
	byReason := map[string][]string{}
	for _, u := range s.Unknown {
		byReason[u.Reason] = append(byReason[u.Reason], unknownName(u))
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		names := slices.Compact(slices.Sorted(slices.Values(byReason[reason])))
		text := strings.Join(names[:min(3, len(names))], ", ")
		if len(names) > 3 {
			text += fmt.Sprintf(" and %d more", len(names)-3)
		}
		fmt.Fprintf(t.w, "%s %s: %s\n", t.paint(detect.Medium, "unknown"), oneLine(text), oneLine(reason))
	}
}

// unknownName names an unknown object, else what it belongs to.
func unknownName(u detect.UnknownObject) string {
	switch {
	case u.Object.Kind != "":
		return objectName(u.Object)
	case u.Application != "":
		return "objects of " + strings.TrimPrefix(u.Application, "/")
	}
	return "cluster " + u.Cluster
}

func objectName(r detect.ObjectRef) string {
	return strings.TrimSpace(r.Kind + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/"))
}

// oneLine prints a text, such as several errors in one, on a line.
func oneLine(text string) string { return templates.Printable(strings.ReplaceAll(text, "\n", "; ")) }

func (t table) notes(s detect.Scan) {
	for _, note := range s.Notes {
		fmt.Fprintf(t.w, "note: %s\n", oneLine(note))
	}
}

func (t table) summary(s detect.Scan) {
	sum := summarize(s)
	apps := plural(len(s.Applications), "application")
	if sum.Drifted == 0 {
		fmt.Fprintf(t.w, "%s in %s: %s", plural(sum.Objects, "object"), apps, noDrift(s))
	} else {
		var risks []string
		for r := detect.Critical; r >= detect.Low; r-- {
			if n := sum.ByRisk[r.String()]; n > 0 {
				risks = append(risks, fmt.Sprintf("%d %s", n, t.paint(r, r.String())))
			}
		}
		fmt.Fprintf(t.w, "%s in %s: %d drifted (%s)", plural(sum.Objects, "object"), apps, sum.Drifted, strings.Join(risks, ", "))
	}
	if explained := len(s.Findings) - sum.Drifted; explained > 0 {
		fmt.Fprintf(t.w, ", %s explained", plural(explained, "difference"))
		if !t.all {
			fmt.Fprint(t.w, " (--all lists them)")
		}
	}
	if sum.Unknown > 0 {
		fmt.Fprintf(t.w, ", %d unknown", sum.Unknown)
	}
	fmt.Fprintln(t.w)
}

// noDrift says that nothing drifted, as far as can be told.
func noDrift(s detect.Scan) string {
	if incomplete(s) {
		return "no drift in what could be assessed"
	}
	return "no drift"
}

// grid prints rows as aligned columns; widths count runes, colour comes after the padding.
func (t table) grid(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			padded := cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 && n > 0 {
				var r detect.Risk
				if r.UnmarshalText([]byte(cell)) == nil {
					padded = t.paint(r, padded)
				}
			}
			line.WriteString(padded + "  ")
		}
		fmt.Fprintln(t.w, strings.TrimRight(line.String(), " "))
	}
}

func (t table) paint(r detect.Risk, text string) string {
	if !t.color {
		return text
	}
	code := map[detect.Risk]string{detect.Critical: "1;31", detect.High: "31", detect.Medium: "33", detect.Low: "2"}[r]
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// values prints both sides on one line each. Long ones are cut to where they differ.
func values(git, live gitops.Value) (a, b string) {
	one, two := []rune(whole(git)), []rune(whole(live))
	same := 0
	for same < min(len(one), len(two)) && one[same] == two[same] {
		same++
	}
	a, b = clip(string(one), maxValue), clip(string(two), maxValue)
	if a != b || same == len(one) && same == len(two) {
		return a, b
	}
	from := max(0, same-maxValue/3)
	return window(one, from), window(two, from)
}

// window gives what a column has room for, from a place inside the text on.
func window(text []rune, from int) string {
	rest := string(text[from:])
	if from > 0 {
		rest = "…" + rest
	}
	if runes := []rune(rest); len(runes) > maxValue {
		rest = string(runes[:maxValue-1]) + "…"
	}
	return rest
}

// value prints a value on one line; – stands for an absent one.
func value(v gitops.Value) string { return clip(whole(v), maxValue) }

func whole(v gitops.Value) string {
	if !v.Set {
		return "–"
	}
	text, ok := v.V.(string)
	if !ok {
		raw, err := json.Marshal(v.V)
		if err != nil {
			return "?"
		}
		text = string(raw)
	}
	return templates.Printable(text)
}

// clip shortens in the middle, since both ends of a path or image tell things apart.
func clip(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	head := (most - 1) / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-1-head):])
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
