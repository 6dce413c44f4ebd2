package report

import (
	"cmp"
	"slices"
	"time"

	"holdfast/bot/ledger"
	"holdfast/detect"
)

// Window is one drift in time: from the change, as its writer's time has it, to when it was detected and to when it was seen to be
// gone. A time that is not known is zero.
type Window struct {
	Finding     string           `json:"finding"`
	Cluster     string           `json:"cluster"`
	Application string           `json:"application"`
	Object      detect.ObjectRef `json:"object"`
	Vector      string           `json:"vector"`
	Risk        detect.Risk      `json:"risk,omitzero"`
	Changed     time.Time        `json:"changed,omitzero"`
	Detected    time.Time        `json:"detected"`
	Closed      time.Time        `json:"closed,omitzero"`
	// Healed says that the engine undid it by itself.
	Healed bool `json:"healed,omitempty"`
	// Standing says that it was there when the cluster was first looked at: when it began to be detected is then not known.
	Standing bool   `json:"standing,omitempty"`
	Source   string `json:"source"`
}

// period is how long a cluster was observed.
type period struct {
	first, last time.Time
	looks       int
}

func (p *period) take(at time.Time) {
	if p.first.IsZero() || at.Before(p.first) {
		p.first = at
	}
	if at.After(p.last) {
		p.last = at
	}
	p.looks++
}

// history is what was observed over time.
type history struct {
	windows []Window
	periods map[string]*period
	// wrongClocks counts changes that are dated after they were seen, by more than clocks may differ.
	wrongClocks int
}

// newHistory follows each finding through scans and ledgers.
func newHistory(in Input) history {
	h := history{periods: map[string]*period{}}
	h.scans(in.Scans)
	for i := range in.Trails {
		h.trail(&in.Trails[i])
	}
	h.windows = merged(h.windows)
	for i := range h.windows {
		h.repair(&h.windows[i])
	}
	slices.SortFunc(h.windows, func(a, b Window) int {
		return cmp.Or(a.Detected.Compare(b.Detected), cmp.Compare(a.Finding, b.Finding))
	})
	return h
}

func (h *history) period(cluster string) *period {
	p := h.periods[cluster]
	if p == nil {
		p = &period{}
		h.periods[cluster] = p
	}
	return p
}

func (h *history) scans(all []Scan) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Scan) int { return a.Time.Compare(b.Time) })
	open := map[string]int{} // window by finding
	for _, s := range sorted {
		present := map[string]bool{}
		assessed := map[string]bool{}
		firstLook := map[string]bool{}
		for _, a := range s.Applications {
			if a.Assessed {
				assessed[a.Cluster+" "+a.Namespace+"/"+a.Name] = true
			}
			firstLook[a.Cluster] = h.period(a.Cluster).looks == 0
		}
		for cluster := range firstLook {
			h.period(cluster).take(s.Time)
		}
		for _, f := range s.Findings {
			if !f.Drift {
				continue
			}
			present[f.ID] = true
			if _, is := open[f.ID]; is {
				continue
			}
			open[f.ID] = len(h.windows)
			h.windows = append(h.windows, Window{
				Finding: f.ID, Cluster: f.Cluster, Application: f.Application, Object: f.Object, Vector: vectorOf(f), Risk: f.Risk,
				Changed: changeOf(f), Detected: detectedAt(f, s.Time), Standing: firstLook[f.Cluster], Source: "scans",
			})
		}
		for id, i := range open {
			if w := &h.windows[i]; !present[id] && assessed[w.Cluster+" "+w.Application] {
				w.Closed = s.Time
				delete(open, id)
			}
		}
	}
}

// detectedAt is when a drift was first seen: as the scan remembers it, but never after the scan.
func detectedAt(f detect.Finding, scan time.Time) time.Time {
	if !f.FirstSeen.IsZero() && f.FirstSeen.Before(scan) {
		return f.FirstSeen
	}
	return scan
}

// changeOf is when a drift began: the earliest time of the writers of its drifting fields.
func changeOf(f detect.Finding) time.Time {
	var out time.Time
	take := func(w *detect.Writer) {
		if w != nil && !w.Time.IsZero() && (out.IsZero() || w.Time.Before(out)) {
			out = w.Time
		}
	}
	take(f.Writer)
	for _, field := range f.Fields {
		if field.Drift {
			take(field.Writer)
		}
	}
	return out
}

func (h *history) trail(t *Trail) {
	begins := map[string]time.Time{}
	for _, id := range t.order {
		r := t.drifts[id]
		c := r.finding.Cluster
		for _, s := range r.spans {
			if begins[c].IsZero() || s.detected.Before(begins[c]) {
				begins[c] = s.detected
			}
		}
	}
	for cluster, first := range begins { // a ledger tells of changes; between them its clusters were looked at all the time
		p := h.period(cluster)
		p.take(first)
		p.take(t.Last)
	}
	for _, id := range t.order {
		r := t.drifts[id]
		f := r.finding
		var risk detect.Risk
		if risk.UnmarshalText([]byte(f.Risk)) != nil {
			risk = 0
		}
		for _, s := range r.spans {
			h.windows = append(h.windows, Window{
				Finding: id, Cluster: f.Cluster, Application: f.Application, Object: f.Object, Risk: risk,
				Vector:  vectorOf(detect.Finding{Cause: f.Cause, Class: f.Class, Presence: f.Presence}),
				Changed: s.changed, Detected: s.detected, Closed: s.closed, Healed: s.healed,
				Standing: s.detected.Equal(begins[f.Cluster]), Source: "ledger",
			})
		}
	}
}

// merged makes one of windows that scans and ledger, or two ledgers, tell of the same drift.
func merged(all []Window) []Window {
	slices.SortStableFunc(all, func(a, b Window) int {
		return cmp.Or(cmp.Compare(a.Finding, b.Finding), a.Detected.Compare(b.Detected))
	})
	var out []Window
	for _, w := range all {
		if n := len(out); n > 0 && out[n-1].Finding == w.Finding && out[n-1].Source != w.Source && overlap(out[n-1], w) {
			join(&out[n-1], w)
			continue
		}
		out = append(out, w)
	}
	return out
}

func overlap(a, b Window) bool { return a.Closed.IsZero() || !b.Detected.After(a.Closed) }

func join(into *Window, w Window) {
	earlier := func(a, b time.Time) time.Time {
		if a.IsZero() || !b.IsZero() && b.Before(a) {
			return b
		}
		return a
	}
	into.Changed, into.Detected, into.Closed = earlier(into.Changed, w.Changed), earlier(into.Detected, w.Detected), earlier(into.Closed, w.Closed)
	into.Healed, into.Standing, into.Risk = into.Healed || w.Healed, into.Standing && w.Standing, max(into.Risk, w.Risk)
	into.Source = "scans and ledger"
}

// repair takes clocks that differ for what they are: a change that is dated a little after it was seen happened then, and one that
// is dated long after says nothing.
func (h *history) repair(w *Window) {
	if w.Changed.IsZero() || !w.Changed.After(w.Detected) {
		return
	}
	if w.Changed.Sub(w.Detected) <= ledger.Tolerance {
		w.Changed = w.Detected
		return
	}
	w.Changed = time.Time{}
	h.wrongClocks++
}

// clusterDays is for how long clusters were observed, all together.
func (h history) clusterDays(clusters func(string) bool) float64 {
	out := 0.0
	for name, p := range h.periods {
		if clusters(name) {
			out += p.last.Sub(p.first).Hours() / 24
		}
	}
	return out
}

// bounds are the first and last look at any cluster.
func (h history) bounds() (first, last time.Time) {
	for _, p := range h.periods {
		if first.IsZero() || p.first.Before(first) {
			first = p.first
		}
		if p.last.After(last) {
			last = p.last
		}
	}
	return first, last
}

// vectorOf tells the way in which a drift came about.
func vectorOf(f detect.Finding) string {
	if f.Class == "correction_switch" {
		return "switched-off"
	}
	switch f.Cause {
	case detect.CauseManual:
		return "manual"
	case detect.CauseAdmission:
		return "admission"
	case detect.CauseAutoscaler:
		return "autoscaling"
	case detect.CauseRender:
		return "helm"
	case detect.CauseController:
		return "controller"
	case detect.CauseMissing:
		return "missing"
	case detect.CauseOrphaned:
		return "orphaned"
	case detect.CauseAPI:
		return "api"
	case detect.CauseContested:
		return "contested"
	case detect.CausePending:
		return "pending"
	}
	return "unknown"
}
