package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/bot/report/plot"
	"holdfast/detect"
	"holdfast/detect/setting"
	"holdfast/templates"
)

// Document lays a report out for its readers: the sections in their order, each table with what it rests on.
func (r Report) Document() templates.Document {
	d := templates.Document{Title: r.Title, Time: r.Time.Format("2 January 2006, 15:04 MST"), Mark: r.Synthetic}
	switch {
	case r.Synthetic != "":
		d.Mark = "Synthetic data: " + r.Synthetic
	case r.NoData:
		d.Mark = "Nothing was observed: this report has no figures"
	}
	for _, s := range []struct {
		id, title string
		blocks    []templates.Block
	}{
		{"brief", SectionBrief, []templates.Block{{Text: r.Brief.Text}, {Note: fmt.Sprintf("%d words. Source: %s. Sample: %s.", r.Brief.Words, r.Brief.Basis.Source, r.Brief.Basis.Sample)}}},
		{"mechanism", SectionMechanism, r.mechanismBlocks()}, {"matrix", SectionMatrix, r.matrixBlocks()}, {"bottleneck", SectionBottleneck, r.bottleneckBlocks()},
		{"detection", SectionDetection, r.detectionBlocks()}, {"compliance", SectionCompliance, r.complianceBlocks()}, {"plan", SectionPlan, r.planBlocks()},
		{"review", SectionReview, r.reviewBlocks()},
	} {
		d.Sections = append(d.Sections, templates.DocumentSection{ID: s.id, Title: s.title, Blocks: s.blocks})
	}
	return d
}

func text(s string) templates.Block { return templates.Block{Text: s} }

func table(caption string, b Basis, columns []string, rows [][]string) templates.Block {
	return templates.Block{Table: &templates.Table{Caption: caption, Basis: fmt.Sprintf("Source: %s. Sample: %s.", b.Source, b.Sample), Columns: columns, Rows: rows}}
}

// controlNames prints references with their standard, each standard once.
func controlNames(list []detect.Control) string {
	var standards []string
	by := map[string][]string{}
	for _, c := range list {
		if !slices.Contains(standards, c.Standard) {
			standards = append(standards, c.Standard)
		}
		by[c.Standard] = append(by[c.Standard], c.ID+" "+c.Title)
	}
	var out []string
	for _, s := range standards {
		out = append(out, setting.StandardName(s)+": "+strings.Join(by[s], "; "))
	}
	return strings.Join(out, ". ")
}

func whenOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

func count(n *int) string {
	if n == nil {
		return unknown
	}
	return fmt.Sprint(*n)
}

func (r Report) mechanismBlocks() []templates.Block {
	out := []templates.Block{text(r.Mechanism.Scope)}
	var rows [][]string
	for _, v := range r.Variables {
		const most = 3
		note := strings.Join(v.Because[:min(len(v.Because), most)], "; ")
		if n := len(v.Because) - most; n > 0 {
			note += fmt.Sprintf("; and %d more", n)
		}
		if v.Differs {
			note = strings.TrimPrefix("given and observed differ; "+note, "; ")
		}
		rows = append(rows, []string{v.Name, v.Given, v.Observed, v.Used, note})
	}
	out = append(out, table("What this analysis is about", Basis{Source: "the command line and what was read", Sample: "six variables"},
		[]string{"Variable", "Given", "Observed", "Used", "Because"}, rows))
	for _, e := range r.Mechanism.Engines {
		out = append(out, templates.Block{Heading: e.Engine, Text: e.Detects}, text(e.Corrects), text(e.Records),
			templates.Block{Text: "It does not see:", List: e.Blind})
		if len(e.Notes) > 0 {
			out = append(out, templates.Block{Text: "At this version:", List: e.Notes})
		}
	}
	for _, p := range r.Mechanism.Providers {
		out = append(out, templates.Block{Heading: p.Provider, List: []string{"Admission: " + p.Admission + ".", "Autoscaling: " + p.Autoscaling + ".", "Audit log: " + p.Audit + "."}})
	}
	if len(r.Mechanism.Corrections) > 0 {
		rows = nil
		for _, c := range r.Mechanism.Corrections {
			rows = append(rows, []string{strings.TrimSpace(c.Engine + " " + c.Kind), fmt.Sprint(c.Heals), fmt.Sprint(c.OnCommit), fmt.Sprint(c.ByHand), fmt.Sprint(c.Suspended), fmt.Sprint(c.NotTold), fmt.Sprint(c.Conditions)})
		}
		out = append(out, table("When live changes are corrected", r.Mechanism.Basis, []string{"Applications", "By itself", "At the next commit", "By hand or never", "Suspended", "Not told", "With a condition against it"}, rows))
	}
	rows = nil
	for _, in := range r.Data.Inputs {
		rows = append(rows, []string{in.What, in.Source, in.Sample, whenOf(in.From), whenOf(in.To)})
	}
	if len(rows) > 0 {
		const most = 12
		block := table("What was read", Basis{Source: "the inputs themselves", Sample: counted(len(rows), "input")}, []string{"Input", "Source", "Sample", "From", "To"}, rows[:min(len(rows), most)])
		if n := len(rows) - most; n > 0 {
			block.Note = fmt.Sprintf("And %d more; the JSON has all.", n)
		}
		out = append(out, block)
	}
	var unread []string
	for _, u := range r.Data.Unread[:min(len(r.Data.Unread), 20)] {
		unread = append(unread, strings.TrimPrefix(u.Cluster+": ", ": ")+u.What+": "+u.Reason)
	}
	if n := len(r.Data.Unread) - len(unread); n > 0 {
		unread = append(unread, fmt.Sprintf("%d more; the JSON has all", n))
	}
	if len(unread) > 0 {
		out = append(out, templates.Block{Text: "What could not be read or judged; all else stands:", List: unread})
	}
	if n := r.Data.WrongClocks; n > 0 {
		out = append(out, text(fmt.Sprintf("%s dated after they were seen: clocks differ, and these are in no duration.", counted(n, "change"))))
	}
	return out
}

func (r Report) matrixBlocks() []templates.Block {
	m := r.Matrix
	out := []templates.Block{text(m.Scope)}
	var rows [][]string
	for _, row := range m.Rows {
		frequency := unknown
		if row.Count != nil {
			frequency = fmt.Sprintf("%d (%d open)", *row.Count, *row.Open)
			if row.PerClusterDay != nil {
				frequency += fmt.Sprintf("; %s a cluster-day", plainNumber(*row.PerClusterDay))
			}
			if row.Trend != nil {
				frequency += "; trend " + row.Trend.Direction
				if row.Trend.Why != "" {
					frequency += " (" + row.Trend.Why + ")"
				}
			}
		}
		part := figure(row.Share, percent)
		if !row.Drift {
			part = "no drift"
		} else if row.Count != nil && row.Share == nil {
			part = "0 of 0"
		}
		risk := row.Risk
		if risk == "" {
			risk = unknown
		}
		rows = append(rows, []string{row.Name, frequency, part, strings.Join(row.EngineSees, ". "), row.OnlyHoldfast, risk + ": " + row.Looms, controlNames(row.Controls)})
	}
	out = append(out, table("Drift by source", m.Basis, []string{"Drift vector", "Frequency", "Share of drift", "The engine sees", "Only Holdfast sees", "Risk", "Control references"}, rows))
	if svg := m.plot(); svg != "" {
		out = append(out, templates.Block{SVG: svg})
	}
	a := m.Autoscaling
	scaling := "Unknown: " + a.Basis.Source + "."
	if a.Fields != nil {
		scaling = fmt.Sprintf("Autoscalers hold %s on %s within their bounds, which is no drift and in no count above. On %s Git declares the same field: engine and autoscaler take it from each other.",
			counted(*a.Fields, "field"), counted(*a.Objects, "object"), counted(*a.Contradictions, "object"))
	}
	out = append(out, templates.Block{Heading: "Intentional autoscaling, counted apart", Text: scaling, List: a.Examples, Note: fmt.Sprintf("Source: %s. Sample: %s.", a.Basis.Source, a.Basis.Sample)})
	out = append(out, m.tierBlocks()...)
	if len(m.Worst) > 0 {
		rows = nil
		for _, w := range m.Worst {
			rows = append(rows, []string{w.Risk, w.Cluster, w.Application, fmt.Sprintf("%s %s", w.Object.Kind, strings.TrimPrefix(w.Object.Namespace+"/"+w.Object.Name, "/")), w.Vector, w.Writer, w.Finding})
		}
		out = append(out, table("Open drift that weighs most", m.Basis, []string{"Risk", "Cluster", "Application", "Object", "Vector", "Writer (how well known)", "Finding"}, rows))
	}
	return out
}

func (m Matrix) tierBlocks() []templates.Block {
	lead := "No second tier was observed to compare with: these causes are from the catalogue, the counts beside them observed."
	if m.Tier.Compared {
		lead = "Tiers were observed side by side: a vector stands here when its share of a tier's drift is at least twice that of the others."
	}
	out := []templates.Block{{Heading: "Causes that belong to the tier", Text: lead}}
	var rows [][]string
	for _, c := range m.Tier.Causes {
		rows = append(rows, []string{c.Tier, c.Vector, c.Cause, c.Sign, count(c.Observed), c.Origin})
	}
	if len(rows) == 0 {
		rows = [][]string{{"", "", "none stands out", "", "", ""}}
	}
	out = append(out, table("", m.Tier.Basis, []string{"Tier", "Vector", "Cause", "Sign", "Drifts observed", "Origin"}, rows))
	if len(m.Tier.Rows) > 0 {
		rows = nil
		for _, t := range m.Tier.Rows {
			var by []string
			for _, v := range sortedKeys(t.ByVector) {
				by = append(by, fmt.Sprintf("%s %d", v, t.ByVector[v]))
			}
			rows = append(rows, []string{t.Tier, fmt.Sprint(t.Clusters), fmt.Sprint(t.Drifts), strings.Join(by, ", ")})
		}
		out = append(out, table("Drift by tier", m.Tier.Basis, []string{"Tier", "Clusters", "Drifts", "By vector"}, rows))
	}
	return out
}

// plot draws drifts over time, the vectors stacked.
func (m Matrix) plot() string {
	if len(m.Buckets) < 2 {
		return ""
	}
	bars := plot.Bars{
		Title: "Drifts by when they were detected", Text: "The table above has the same counts by vector.", Print: plainNumber,
	}
	form := "01-02"
	if m.Buckets[0].To.Sub(m.Buckets[0].From) < 24*time.Hour {
		form = "01-02 15:04"
	}
	for _, b := range m.Buckets {
		bars.Labels = append(bars.Labels, b.From.Format(form))
	}
	for _, row := range m.Rows {
		if row.Count == nil || *row.Count == 0 {
			continue
		}
		s := plot.Series{Name: row.Name}
		for _, b := range m.Buckets {
			s.Values = append(s.Values, float64(b.ByVector[row.ID]))
		}
		bars.Series = append(bars.Series, s)
	}
	return bars.SVG()
}
