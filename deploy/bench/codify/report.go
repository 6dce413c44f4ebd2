package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tally counts the cases of a cell of the table.
type tally struct {
	tried, codified, refused, forbidden, late, wrong int
	// expressible are the refused ones for which a chart has a value that moves the field alone.
	expressible, own int
	lines            []int
}

func (t *tally) add(o outcome) {
	t.tried++
	switch o.Result {
	case codified:
		t.codified++
		t.lines = append(t.lines, o.Lines)
	case wrong:
		t.wrong++
	case timedOut:
		t.late++
	case forbidden:
		t.forbidden++
	default:
		t.refused++
		if o.Value != "" {
			t.expressible++
		}
	}
	if o.JudgedBy == ownRender {
		t.own++
	}
}

// rate is the part that was codified, in percent of what may be written: of Helm's, of what some value can express.
func (t *tally) rate(helm bool) string {
	of := t.tried - t.forbidden
	if helm {
		of = t.codified + t.wrong + t.late + t.expressible
	}
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*float64(t.codified)/float64(of))
}

func (t *tally) quantile(q float64) string {
	if len(t.lines) == 0 {
		return "-"
	}
	slices.Sort(t.lines)
	return fmt.Sprint(t.lines[min(len(t.lines)-1, int(q*float64(len(t.lines))))])
}

// The rows of a source that sum up others.
const (
	oneScalar  = "of these, one scalar to another"
	allChanges = "**all**"
)

// table writes the results by kind of source and kind of change, in Markdown.
func table(w io.Writer, all []outcome) {
	cells := map[[2]string]*tally{}
	at := func(source, change string) *tally {
		key := [2]string{source, change}
		if cells[key] == nil {
			cells[key] = &tally{}
		}
		return cells[key]
	}
	for _, o := range all {
		at(o.Source, o.Change).add(o)
		at(o.Source, allChanges).add(o)
		if o.Scalar {
			at(o.Source, oneScalar).add(o)
		}
	}
	fmt.Fprintln(w, "| source | change | tried | codified | refused | of these some value can | not to be written | out of time | wrong | % | lines: median | p90 |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	changes := []string{}
	for _, m := range mutators() {
		changes = append(changes, m.kind)
	}
	for _, source := range sourceKinds() {
		for _, change := range append(changes, oneScalar, allChanges) {
			t := cells[[2]string{source, change}]
			if t == nil {
				continue
			}
			can := "-"
			if helmSource(source) {
				can = fmt.Sprint(t.expressible)
			}
			fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %s | %d | %d | %d | %s | %s | %s |\n", source, change, t.tried, t.codified, t.refused, can, t.forbidden, t.late, t.wrong,
				t.rate(helmSource(source)), t.quantile(0.5), t.quantile(0.9))
		}
	}
}

// judges counts who judged.
func judges(w io.Writer, all []outcome) {
	by := map[string]int{}
	reordered := 0
	for _, o := range all {
		if o.JudgedBy != "" {
			by[o.JudgedBy]++
		}
		if o.Reordered {
			reordered++
		}
	}
	fmt.Fprintln(w, "\njudged by:")
	for _, who := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(w, "  %5d %s\n", by[who], who)
	}
	fmt.Fprintf(w, "  %5d have a list in another order than live\n", reordered)
}

// group is the failures of one reason.
type group struct {
	reason string
	cases  []outcome
}

var particular = regexp.MustCompile(`"[^"]*"|\S*[/.\[]\S*|\d+`)

// grouped gathers failures by result and reason, the wrong ones first, then those of which there are most.
func grouped(all []outcome) []group {
	at := map[string]int{}
	var out []group
	for _, o := range all {
		if o.Result == codified || o.Result == untouched {
			continue
		}
		reason := o.Reason
		switch {
		case o.Result == wrong:
			reason = "it claimed proof and is not right"
		case helmSource(o.Source) && o.Value != "":
			reason += " (some value can)"
		}
		reason = o.Result + ": " + particular.ReplaceAllString(reason, "_")
		if o.Result != wrong {
			reason += " [" + o.Change + "]"
		}
		if _, begun := at[reason]; !begun {
			at[reason] = len(out)
			out = append(out, group{reason: reason})
		}
		out[at[reason]].cases = append(out[at[reason]].cases, o)
	}
	slices.SortStableFunc(out, func(a, b group) int {
		first := func(g group) int {
			if strings.HasPrefix(g.reason, wrong) {
				return 0
			}
			return 1
		}
		return cmp.Or(first(a)-first(b), len(b.cases)-len(a.cases))
	})
	return out
}

// reasons writes how often each reason came up.
func reasons(w io.Writer, all []outcome) {
	fmt.Fprintln(w, "\nrefused, by reason:")
	for _, g := range grouped(all) {
		fmt.Fprintf(w, "  %5d %s\n", len(g.cases), g.reason)
	}
}

// writeGroups writes the failures for people: those of Helm and the engines' options in one file, all others in another.
func writeGroups(folder string, all []outcome) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, of := range map[string]func(outcome) bool{
		"helm.txt":      func(o outcome) bool { return helmSource(o.Source) || o.Source == sourceArgo || o.Source == sourceFlux },
		"kustomize.txt": func(o outcome) bool { return o.Source == sourceRaw || o.Source == sourceKustomize },
	} {
		var text strings.Builder
		for _, g := range grouped(slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return !of(o) })) {
			fmt.Fprintf(&text, "== %d x %s\n\n", len(g.cases), g.reason)
			for _, o := range g.cases {
				o.describe(&text)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// describe writes a failure with the command that repeats it.
func (o outcome) describe(w io.Writer) {
	fmt.Fprintf(w, "%s %s: %s of %s (%s; %d renders, %s)\n", o.Repo, o.App, o.Change, o.Object, o.Source, o.Renders, o.Took.Round(1e7))
	for _, f := range o.Fields {
		fmt.Fprintf(w, "    %s\n", f)
	}
	fmt.Fprintf(w, "    %s: %s\n", o.Result, o.Reason)
	if o.NearestMiss != "" {
		fmt.Fprintf(w, "    nearest miss: %s\n", o.NearestMiss)
	}
	if o.How != "" {
		fmt.Fprintf(w, "    how: %s\n", o.How)
	}
	if o.Value != "" || o.Along != "" {
		fmt.Fprintf(w, "    value that moves it alone: %q, along with others: %q\n", o.Value, o.Along)
	}
	for _, text := range o.Wrong {
		fmt.Fprintf(w, "    wrong: %s\n", text)
	}
	fmt.Fprintf(w, "    go run ./deploy/bench/codify -repo %s -app %q -seed %d -case %d -v\n\n", o.Repo, o.App, o.Seed, o.Case)
}

// writeJSON writes the failures, one JSON object a line.
func writeJSON(file string, all []outcome) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(f)
	for _, o := range all {
		if o.Result == codified || o.Result == untouched {
			continue
		}
		if err := encoder.Encode(o); err != nil {
			return err
		}
	}
	return f.Close()
}
