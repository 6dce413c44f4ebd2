package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"holdfast/bot/guard"
	"holdfast/detect"
	"holdfast/detect/access"
	"holdfast/templates"
)

func writeGuard(s streams, flags inputFlags, r guardReport) error {
	switch flags.output {
	case "json":
		return writeGuardJSON(s.out, s.now(), r)
	case "yaml":
		return writeGuardManifests(s, r)
	case "markdown":
		return writeGuardMarkdown(s.out, s.now(), flags.all, r)
	}
	guardTable{table: table{w: s.out, color: s.color, now: s.now(), all: flags.all}}.print(r)
	return nil
}

// writeGuardManifests prints what to commit. Of several clusters it must be the same, since it goes into one file.
func writeGuardManifests(s streams, r guardReport) error {
	var first []byte
	for i, c := range r.clusters {
		text, err := guard.YAML(c.Manifests)
		if err != nil {
			return err
		}
		if i == 0 {
			first = text
		} else if string(text) != string(first) {
			return fmt.Errorf("the clusters %s and %s need different manifests: name one with --context", r.clusters[0].Cluster, c.Cluster)
		}
	}
	for _, u := range r.unknown {
		fmt.Fprintf(s.err, "holdfast: unknown %s: %s\n", oneLine(unknownName(u)), oneLine(u.Reason))
	}
	if len(first) == 0 {
		fmt.Fprintln(s.err, "holdfast: nothing is managed by an engine that is known, so there is nothing to guard")
		return nil
	}
	_, err := s.out.Write(first)
	return err
}

// guardTable prints findings for a person.
type guardTable struct{ table }

func (t guardTable) print(r guardReport) {
	rows := [][]string{{"RISK", "WHO", "KIND", "HOW", "OBJECTS", "USED", "BY"}}
	several := len(r.clusters) > 1
	hidden := 0
	for _, c := range r.clusters {
		for _, f := range c.Findings {
			if !t.all && (f.Sort == access.EngineAccount || f.Sort == access.System) {
				hidden++
				continue
			}
			rows = append(rows, t.row(c.Cluster, f, several))
		}
	}
	if len(rows) > 1 {
		t.grid(rows)
		fmt.Fprintln(t.w)
	}
	for _, c := range r.clusters {
		t.cluster(c)
	}
	t.unknown(detect.Scan{Unknown: r.unknown})
	t.sum(r, hidden)
}

func (t guardTable) row(cluster string, f guard.Finding, several bool) []string {
	who := f.Subject.String()
	if several {
		who = cluster + ": " + who
	}
	held := ""
	if f.Held {
		held = " (held)"
	}
	return []string{f.Risk.String(), clip(templates.Printable(who), maxPath), string(f.Sort), clip(templates.Printable(howText(f)), maxObject) + held,
		objectsText(f), usedText(f), clip(templates.Printable(firstBinding(f)), maxPath)}
}

// howText says in a few words what the subject does.
func howText(f guard.Finding) string {
	switch {
	case f.Path == access.Direct && f.Everything:
		return "may do everything"
	case f.Path == access.Direct:
		var parts []string
		for _, h := range f.Holds {
			parts = append(parts, h.String())
		}
		if len(parts) > 2 {
			return fmt.Sprintf("%s and %d more", strings.Join(parts[:2], "; "), len(parts)-2)
		}
		return strings.Join(parts, "; ")
	}
	var ways []string
	for _, w := range f.Ways {
		ways = append(ways, string(w))
	}
	text := ways[0]
	if n := len(ways) - 1; n > 0 {
		text += " and " + plural(n, "more way")
	}
	if f.As != "" {
		text = "becomes " + f.As + ": " + text
	}
	return text
}

func objectsText(f guard.Finding) string {
	if f.Objects == 0 {
		return "–"
	}
	if len(f.Namespaces) == 1 {
		return fmt.Sprintf("%d in %s", f.Objects, templates.Printable(f.Namespaces[0]))
	}
	return fmt.Sprintf("%d", f.Objects)
}

func usedText(f guard.Finding) string {
	switch {
	case f.Seen == nil:
		return "?"
	case f.Path != access.Direct:
		return "–"
	case f.Seen.Writes == 0:
		return "never"
	}
	return plural(f.Seen.Writes, "write")
}

func firstBinding(f guard.Finding) string {
	if len(f.Bindings) == 0 {
		return ""
	}
	text := access.Named(f.Bindings[0])
	if n := len(f.Bindings) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// maxChains is how many chains of grants the table tells; the JSON has all.
const maxChains = 8

// cluster prints the chains of what is worst, who did write, and what else is to be known.
func (t guardTable) cluster(c guard.Result) {
	told := 0
	for _, f := range c.Findings {
		if f.Path == access.Becomes && f.Risk >= detect.High {
			if told++; told > maxChains {
				continue
			}
			fmt.Fprintf(t.w, "%s %s becomes %s:\n", t.paint(f.Risk, f.Risk.String()), templates.Printable(f.Subject.String()), templates.Printable(f.As))
			for _, step := range f.Chain {
				fmt.Fprintf(t.w, "  %s\n", templates.Printable(step))
			}
		}
	}
	if told > maxChains {
		fmt.Fprintf(t.w, "%s of the same kind: -o json tells each\n", plural(told-maxChains, "more chain"))
	}
	for _, a := range c.Actors {
		if t.all || a.Sort == access.Person || a.Sort == access.Everyone || a.Sort == access.Controller {
			fmt.Fprintln(t.w, actorText(a, t.now))
		}
	}
	for _, p := range c.Problems {
		fmt.Fprintf(t.w, "note: %s %s\n", templates.Printable(access.Named(p.Object)), oneLine(p.Message))
	}
	for _, note := range c.Notes {
		fmt.Fprintf(t.w, "note: %s\n", oneLine(note))
	}
	var missing []string
	for _, g := range c.Guards {
		if !g.InPlace {
			missing = append(missing, g.Name+" "+g.Why)
		}
	}
	switch {
	case len(c.Guards) == 0:
		fmt.Fprintf(t.w, "%s: nothing is managed by an engine that is known, so there is nothing to guard\n", templates.Printable(orDefault(c.Cluster, "the cluster")))
	case len(missing) == len(c.Guards):
		fmt.Fprintf(t.w, "%s: no guard is in place; -o yaml prints them\n", templates.Printable(orDefault(c.Cluster, "the cluster")))
	case len(missing) > 0:
		fmt.Fprintf(t.w, "%s: not all guards are in place: %s; -o yaml prints them\n", templates.Printable(orDefault(c.Cluster, "the cluster")), oneLine(strings.Join(missing, ", ")))
	default:
		fmt.Fprintf(t.w, "%s: the guards are in place\n", templates.Printable(orDefault(c.Cluster, "the cluster")))
	}
}

// actorText says who wrote how often, and by which right: alice wrote 3 times to 2 objects (patch), last 2 hours ago, by Group sre.
func actorText(a guard.Actor, now time.Time) string {
	who := a.User
	if a.As != "" {
		who += " as " + a.As
	}
	by := "by no right that is known here: it is gone, or comes from a group that the log does not tell"
	if len(a.By) > 0 {
		by = "by " + strings.Join(a.By[:min(2, len(a.By))], ", ")
	}
	return templates.Printable(fmt.Sprintf("%s wrote %s to %s (%s), last %s ago, %s", who, times(a.Writes), plural(a.Objects, "managed object"),
		strings.Join(a.Verbs, ", "), detect.Age(now.Sub(a.Last)), by))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (t guardTable) sum(r guardReport, hidden int) {
	objects, ways, byRisk, people := 0, 0, map[detect.Risk]int{}, 0
	for _, c := range r.clusters {
		objects += c.Objects
		for _, f := range c.Findings {
			if f.Sort != access.EngineAccount && f.Sort != access.System {
				byRisk[f.Risk]++
				ways++
			}
			if concernsPeople(f) {
				people++
			}
		}
	}
	var risks []string
	for level := detect.Critical; level >= detect.Low; level-- {
		if n := byRisk[level]; n > 0 {
			risks = append(risks, fmt.Sprintf("%d %s", n, t.paint(level, level.String())))
		}
	}
	fmt.Fprintf(t.w, "%s: %s past the pipeline", plural(objects, "managed object"), plural(ways, "way"))
	if len(risks) > 0 {
		fmt.Fprintf(t.w, " (%s), %d of them open to people", strings.Join(risks, ", "), people)
	}
	if hidden > 0 {
		fmt.Fprintf(t.w, ", %d of engines and the system (--all lists them)", hidden)
	}
	if len(r.unknown) > 0 {
		fmt.Fprintf(t.w, ", %d unknown", len(r.unknown))
	}
	fmt.Fprintln(t.w)
}

func writeGuardMarkdown(w io.Writer, now time.Time, all bool, r guardReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Who can write past the pipeline\n\nRead %s.\n", now.UTC().Format("2006-01-02 15:04 UTC"))
	for _, c := range r.clusters {
		fmt.Fprintf(&b, "\n## %s\n\n%s in %s are applied from Git.\n", templates.Prose(orDefault(c.Cluster, "The cluster")), plural(c.Objects, "object"), plural(len(c.Namespaces), "namespace"))
		header := false
		for _, f := range c.Findings {
			if !all && (f.Sort == access.EngineAccount || f.Sort == access.System) {
				continue
			}
			if !header {
				b.WriteString("\n| Risk | Who | Kind | How | Objects | Used | By | Answer |\n|---|---|---|---|---|---|---|---|\n")
				header = true
			}
			row := (guardTable{}).row(c.Cluster, f, false)
			for i := range row {
				if i > 0 {
					row[i] = templates.Cell(row[i])
				}
			}
			fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(row, " | "), templates.Cell(f.Fix))
		}
		writeGuardDetails(&b, c, now)
	}
	if len(r.unknown) > 0 {
		b.WriteString("\n## Not known\n\n")
		for _, u := range r.unknown {
			fmt.Fprintf(&b, "- %s: %s\n", templates.Prose(unknownName(u)), templates.Prose(oneLine(u.Reason)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeGuardDetails(b *strings.Builder, c guard.Result, now time.Time) {
	var chains, rest []string
	for _, f := range c.Findings {
		if f.Path == access.Becomes && f.Risk >= detect.High {
			text := fmt.Sprintf("- %s becomes %s\n", templates.Prose(f.Subject.String()), templates.Prose(f.As))
			for _, step := range f.Chain {
				text += fmt.Sprintf("  1. %s\n", templates.Prose(step))
			}
			chains = append(chains, text)
		}
	}
	if len(chains) > 0 {
		fmt.Fprintf(b, "\n### How\n\n%s", strings.Join(chains, ""))
	}
	if len(c.Actors) > 0 {
		b.WriteString("\n### Who did\n\n")
		for _, a := range c.Actors {
			fmt.Fprintf(b, "- %s\n", templates.Prose(actorText(a, now)))
		}
	}
	for _, p := range c.Problems {
		rest = append(rest, access.Named(p.Object)+" "+p.Message)
	}
	rest = append(rest, c.Notes...)
	for _, g := range c.Guards {
		if !g.InPlace {
			rest = append(rest, g.Name+" "+g.Why)
		}
	}
	if len(rest) > 0 {
		b.WriteString("\n### Notes\n\n")
		for _, text := range rest {
			fmt.Fprintf(b, "- %s\n", templates.Prose(oneLine(text)))
		}
	}
	if text, err := guard.YAML(c.Manifests); err == nil && len(text) > 0 {
		fmt.Fprintf(b, "\n### Manifests\n\n```yaml\n%s```\n", text)
	}
}
