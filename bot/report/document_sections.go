package report

import (
	"fmt"
	"strings"

	"holdfast/bot/report/plot"
	"holdfast/templates"
)

func (r Report) bottleneckBlocks() []templates.Block {
	x := r.Bottleneck
	out := []templates.Block{text(x.Scope)}
	var rows [][]string
	shown := x.shown()
	for _, c := range shown {
		duration, wait := unknown, unknown
		if c.Duration != nil {
			duration = c.Duration.print()
		}
		if c.Wait != nil {
			wait = c.Wait.print()
		}
		rows = append(rows, []string{
			c.Cluster, c.Name, fmt.Sprint(c.Applications), figure(c.Interval, seconds), duration, wait, figure(c.Depth, plainNumber), figure(c.Retries, plainNumber), figure(c.Oldest, seconds),
			fmt.Sprintf("%s of %d (%s)", figure(c.Busy, plainNumber), c.Workers, c.WorkersFrom), figure(c.Limit, seconds), c.Source,
		})
	}
	if len(rows) == 0 {
		out = append(out, text("No controller was seen: how well it keeps up is unknown."))
	} else {
		out = append(out, table("Controllers", x.Basis, []string{"Cluster", "Controller", "Applications", "Interval", "Turn (p50, p95, p99)", "Queue wait", "Queue depth", "Retries", "Oldest", "Workers busy", "Stable below a mean turn of", "Source"}, rows))
		if n := len(x.Controllers) - len(shown); n > 0 {
			out = append(out, templates.Block{Note: fmt.Sprintf("And %d more, whose turns were not measured; the JSON has all.", n)})
		}
		out = append(out, x.predictionBlocks()...)
	}
	out = append(out, templates.Block{Heading: "API servers and repositories", List: []string{"API servers: " + x.API.print(), "Repositories: " + x.Repository.print()}})
	out = append(out, templates.Block{Heading: "Sharding", List: x.Sharding})
	if len(x.Advice) > 0 {
		out = append(out, templates.Block{Text: "What follows:", List: x.Advice})
	}
	return out
}

// shown are the controllers that are printed: those that were measured, and others as far as there is room.
func (x Bottleneck) shown() []ControllerRow {
	const most = 12
	var out []ControllerRow
	for _, c := range x.Controllers {
		if c.Duration != nil || c.Wait != nil || c.Depth != nil {
			out = append(out, c)
		}
	}
	for _, c := range x.Controllers {
		if c.Duration == nil && c.Wait == nil && c.Depth == nil && len(out) < most {
			out = append(out, c)
		}
	}
	return out
}

func (l Load) print() string {
	if l.Fleet == nil {
		return l.Says
	}
	return fmt.Sprintf("%s a second over the fleet. %s", plainNumber(*l.Fleet), l.Says)
}

// print gives percentiles, those that the sample is too small for as unknown.
func (p Percentiles) print() string {
	if p.N == 0 {
		return unknown
	}
	return fmt.Sprintf("%s, %s, %s (n = %d)", figure(p.P50, seconds), figure(p.P95, seconds), figure(p.P99, seconds), p.N)
}

func (x Bottleneck) predictionBlocks() []templates.Block {
	var rows [][]string
	for _, p := range x.Predictions {
		if p.Formula == nil {
			continue
		}
		fleet := fmt.Sprintf("%d×", p.Factor)
		if p.Factor == 1 {
			fleet = "now"
		}
		if p.Rollout {
			fleet += ", rollout to all"
		}
		wait, simulated, off := "not stable", unknown, ""
		if p.Formula.Wait != nil {
			wait = seconds(*p.Formula.Wait)
		}
		if p.Rollout && p.Formula.RolloutWait != nil {
			wait = seconds(*p.Formula.RolloutWait)
		}
		if p.Simulated != nil {
			simulated = fmt.Sprintf("%s, %s busy (n = %d)", seconds(p.Simulated.Wait), percent(p.Simulated.Utilisation), p.Simulated.Turns)
			if p.Simulated.Drain != nil {
				simulated = fmt.Sprintf("%s, done after %s (n = %d)", seconds(*p.Simulated.RolloutWait), seconds(*p.Simulated.Drain), p.Applications)
			}
		}
		if p.Error != nil {
			off = fmt.Sprintf("%+.2f turns", *p.Error)
		}
		rows = append(rows, []string{p.Cluster, p.Controller, fleet, fmt.Sprint(p.Applications), percent(p.Formula.Utilisation), wait, simulated, off, p.Says})
	}
	if len(rows) == 0 {
		return []templates.Block{{Heading: "Predictions", Text: "Now, at 2× and 10× the clusters and in a rollout to all of them, utilisation and wait are unknown: no turn was measured. " +
			"How long a mean turn may be for the queue to stay stable stands in the table above; for Argo CD, whose controller serves all clusters, it falls as they grow."}}
	}
	out := []templates.Block{
		{Heading: "Predictions", Text: "Utilisation and wait by a queueing model (M/G/c: Applications by their intervals, turns as measured, workers as set), and by a simulation that shares nothing with it. " +
			"The simulation lets an Application come back an interval after its turn, so its queue always has an end; the formula says where it would have none. Controllers whose turns were not measured are left out."},
		table("", x.Basis, []string{"Cluster", "Controller", "Fleet", "Applications", "Workers' time asked for", "Wait by formula", "Simulated", "Formula against simulation", "That is"}, rows),
	}
	if svg := x.plot(); svg != "" {
		out = append(out, templates.Block{SVG: svg})
	}
	if len(x.Measured) > 0 {
		rows = nil
		for _, m := range x.Measured {
			rows = append(rows, []string{m.Cluster, m.Controller, fmt.Sprintf("%s (n = %d)", seconds(m.Measured), m.N), fmt.Sprintf("%s (%+.3g s)", seconds(m.Formula), m.Formula-m.Measured),
				fmt.Sprintf("%s (%+.3g s)", seconds(m.Simulation), m.Simulation-m.Measured)})
		}
		out = append(out, table("Predictions for now against the wait that was measured", x.Basis, []string{"Cluster", "Controller", "Measured", "Formula (error)", "Simulation (error)"}, rows))
	}
	return out
}

// plot draws the utilisation of the busiest controllers by size of the fleet.
func (x Bottleneck) plot() string {
	const most = 12
	bars := plot.Bars{Title: "Share of the workers' time that is asked for", Text: "The table above has the same figures.", Print: percent, Limit: 1, LimitName: "all there is", Series: []plot.Series{{}}}
	for _, p := range x.Predictions {
		if p.Rollout || p.Formula == nil || len(bars.Labels) == most {
			continue
		}
		bars.Labels = append(bars.Labels, fmt.Sprintf("%s %d×", strings.TrimSuffix(p.Controller, "-controller"), p.Factor))
		bars.Series[0].Values = append(bars.Series[0].Values, p.Formula.Utilisation)
	}
	return bars.SVG()
}

func (r Report) detectionBlocks() []templates.Block {
	d := r.Detection
	out := []templates.Block{text(d.Scope)}
	rows := [][]string{}
	for _, x := range []struct {
		name string
		p    Percentiles
	}{{"From change to detection", d.ChangeToDetection}, {"From detection to closure", d.DetectionToClosure}, {"From change to closure", d.ChangeToClosure}} {
		n := fmt.Sprint(x.p.N)
		if x.p.N == 0 {
			n = "none"
		}
		rows = append(rows, []string{x.name, figure(x.p.P50, seconds), figure(x.p.P95, seconds), figure(x.p.P99, seconds), figure(x.p.Max, seconds), n})
	}
	out = append(out, table("How long drift lasts", d.Basis, []string{"Time", "p50", "p95", "p99", "Longest", "Windows"}, rows))
	out = append(out, templates.Block{List: d.Says})
	if len(d.Missed) > 0 {
		bars := plot.Bars{Title: "Share of known drift windows that a poll would have missed", Text: "By polling interval.", Print: percent, Series: []plot.Series{{}}}
		rows = nil
		for _, m := range d.Missed {
			label := seconds(m.Interval)
			name := label
			if m.Used {
				name, bars.Marked = label+" (this analysis)", label
			}
			rows = append(rows, []string{name, percent(m.Share)})
			bars.Labels, bars.Series[0].Values = append(bars.Labels, label), append(bars.Series[0].Values, m.Share)
		}
		out = append(out, table("What polls would have missed", d.Basis, []string{"Polling interval", "Share of known windows missed"}, rows), templates.Block{SVG: bars.SVG()})
	} else {
		out = append(out, text("What share a poll at this interval would have missed is unknown: no drift is known from its change to its end."))
	}
	rows = nil
	for _, e := range d.Expectations {
		rows = append(rows, []string{controlNames(e.Control), e.What, e.Says + " (" + e.Force + ")", figure(e.Longest, seconds), e.Met, e.Why})
	}
	if len(rows) > 0 {
		out = append(out, table("What standards expect of detection", Basis{Source: "the catalogue of expectations, and the interval of this analysis", Sample: counted(len(rows), "expectation")},
			[]string{"Control references", "Of what", "Expectation", "Longest interval that meets it", "Met", "Because"}, rows))
	}
	return out
}

func (r Report) complianceBlocks() []templates.Block {
	c := r.Compliance
	out := []templates.Block{text(c.Scope), text("A control reference says that a drift bears on a control. Whether the control is satisfied is for an assessor to say.")}
	var rows [][]string
	for _, s := range c.Scenarios {
		evidence := s.Evidence
		if s.Recorded != nil && s.Drifts != nil {
			evidence = fmt.Sprintf("%s: %d of %d", s.Evidence, *s.Recorded, *s.Drifts)
		}
		risk := s.Risk
		if risk == "" {
			risk = unknown
		}
		rows = append(rows, []string{s.Name, count(s.Drifts), risk, controlNames(s.Controls), evidence})
	}
	out = append(out, table("Drift scenarios and the controls that they bear on", c.Basis, []string{"Scenario", "Drifts", "Worst risk", "Control references", "Ledger records"}, rows))
	rows = nil
	for _, t := range c.Trails {
		rows = append(rows, []string{t.Standard, t.Part, t.Says, controlNames(t.Controls), t.Met, t.Why})
	}
	if len(rows) == 0 {
		return append(out, text("No standard was named: what the audit trail has to be is unknown."))
	}
	return append(out, table("What is demanded of the audit trail", c.Basis, []string{"Standard", "Part", "Demand", "Control references", "Met", "Because"}, rows))
}

func (r Report) planBlocks() []templates.Block {
	out := []templates.Block{text(r.Plan.Scope), {Note: fmt.Sprintf("Source: %s. Sample: %s.", r.Plan.Basis.Source, r.Plan.Basis.Sample)}}
	for _, priority := range []string{critical, high, medium} {
		n := 0
		for _, a := range r.Plan.Actions {
			if a.Priority != priority {
				continue
			}
			n++
			out = append(out, a.blocks()...)
		}
		if n == 0 {
			out = append(out, templates.Block{Heading: strings.ToUpper(priority[:1]) + priority[1:], Text: "No action."})
		}
	}
	return out
}

func (a Action) blocks() []templates.Block {
	closes := strings.Join(a.Closes[:min(len(a.Closes), 8)], ", ")
	if n := len(a.Closes) - 8; n > 0 {
		closes += fmt.Sprintf(" and %d more", n)
	}
	list := []string{"Closes: " + closes}
	if names := controlNames(a.Controls); names != "" {
		list = append(list, "Control references: "+names)
	}
	list = append(list, "Effort: "+a.Effort, "Success: "+a.Success)
	out := []templates.Block{{Heading: strings.ToUpper(a.Priority[:1]) + a.Priority[1:] + ": " + a.Title, Text: a.Why, List: list}}
	for _, m := range a.Manifests {
		note := "Valid against the definition of " + m.Definition + "."
		if m.Patch {
			note = "A patch of an object that is there. " + note
		}
		out = append(out, templates.Block{Code: m.YAML, Language: "yaml", Note: note})
	}
	if len(a.Steps) > 0 {
		out = append(out, templates.Block{List: a.Steps})
	}
	return out
}

func (r Report) reviewBlocks() []templates.Block {
	var rows [][]string
	failed := 0
	for _, c := range r.Review {
		state := "pass"
		if !c.Pass {
			state = "fail"
			failed++
		}
		rows = append(rows, []string{state, c.Name, c.Detail})
	}
	lead := fmt.Sprintf("All %d checks of this report against itself pass.", len(r.Review))
	if failed > 0 {
		lead = fmt.Sprintf("%d of %d checks of this report against itself fail: it must not be passed on.", failed, len(r.Review))
	}
	return []templates.Block{text(lead), table("", Basis{Source: "this report as data", Sample: counted(len(r.Review), "check")}, []string{"Result", "Check", "Detail"}, rows)}
}
