package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/setting"
)

func durationOf(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// detection looks at how long drift goes unseen and at which interval that is soon enough.
func (b *builder) detection() Detection {
	d := Detection{Scope: b.said.scope(scopeDetection), Says: []string{}}
	var toDetection, toClosure, whole []float64
	standing, open := 0, 0
	for _, w := range b.history.windows {
		if !w.Standing && !w.Changed.IsZero() {
			toDetection = append(toDetection, w.Detected.Sub(w.Changed).Seconds())
		}
		if w.Standing {
			standing++
		}
		if w.Closed.IsZero() {
			open++
			continue
		}
		if c := w.Closed.Sub(w.Detected).Seconds(); c >= 0 {
			toClosure = append(toClosure, c)
		}
		if c := w.Closed.Sub(w.Changed).Seconds(); !w.Changed.IsZero() && c > 0 {
			whole = append(whole, c)
		}
	}
	d.ChangeToDetection, d.DetectionToClosure, d.ChangeToClosure = percentilesOf(toDetection), percentilesOf(toClosure), percentilesOf(whole)
	d.Basis = Basis{Source: b.sources(), N: len(b.history.windows), Sample: fmt.Sprintf("%s; %d stood when first looked at and say nothing of detection, %d are open and nothing of closure",
		counted(len(b.history.windows), "drift window"), standing, open)}
	if b.noData() {
		d.Basis = Basis{Source: "nothing was read", Sample: "no data"}
	}
	d.Missed = missed(whole, b.use.Interval)
	for _, e := range b.engines() {
		if known, ok := b.Knowledge.Engine(e.Name); ok {
			d.Says = append(d.Says, fmt.Sprintf("%s: a live change is detected within %s.", e, known.Bound))
		}
	}
	if len(d.Missed) > 0 {
		d.Says = append(d.Says, "Shares that a poll would have missed are of the windows that are known from start to end; those that nobody saw are in no share, so the true ones are higher.")
	}
	for _, standard := range b.use.Standards {
		d.Expectations = append(d.Expectations, b.expectations(standard)...)
	}
	return d
}

// missed gives, for windows of these lengths, the share that polls at some intervals would not have seen. A poll every T meets a
// window of length w with probability min(1, w/T), wherever the polls happen to lie.
func missed(windows []float64, use time.Duration) []Missed {
	if len(windows) == 0 {
		return nil
	}
	intervals := []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}
	var out []Missed
	done := false
	add := func(t time.Duration, own bool) {
		sum := 0.0
		for _, w := range windows {
			sum += max(0, 1-w/t.Seconds())
		}
		out = append(out, Missed{Interval: t.Seconds(), Share: sum / float64(len(windows)), Used: own})
	}
	for _, t := range intervals {
		if use > 0 && !done && use <= t {
			done = true
			add(use, true)
			if use == t {
				continue
			}
		}
		add(t, false)
	}
	if use > 0 && !done {
		add(use, true)
	}
	return out
}

// expectations holds the interval against what a standard expects.
func (b *builder) expectations(standard string) []Expectation {
	e, ok := b.Assessor.Expectation(standard)
	if !ok {
		return nil
	}
	jitter, late := 0.0, 0.0
	for _, engine := range b.engines() {
		if known, ok := b.Knowledge.Engine(engine.Name); ok {
			jitter, late = max(jitter, known.Jitter), max(late, known.JitterSeconds)
		}
	}
	var out []Expectation
	for _, d := range e.Detection {
		x := Expectation{Control: d.Controls, What: d.What, Says: d.Says, Force: d.Force, Met: "own policy", Why: "the standard has no figure; the organisation's own policy sets it"}
		if d.Within > 0 {
			within, longest := d.Within.Seconds(), (d.Within.Seconds()-late)/(1+jitter)
			x.Within, x.Longest = &within, &longest
			x.Met, x.Why = b.meets(d, longest)
		}
		out = append(out, x)
	}
	return out
}

// meets says whether looking at the interval keeps to a figure. Components that no engine applied are looked for by neither Flux
// nor Argo CD, so an interval keeps to CM-8(3) only where it is that of Holdfast's own scans.
func (b *builder) meets(d assess.DetectionExpectation, longest float64) (met, why string) {
	ofComponents := slices.ContainsFunc(d.Controls, func(c detect.Control) bool { return c.ID == "CM-8(3)" })
	switch {
	case d.People:
		return unknown, "a review by people leaves no mark that was read"
	case b.use.Interval == 0:
		return unknown, "no interval was given or observed"
	case b.use.Interval.Seconds() > longest:
		return "not met", fmt.Sprintf("%s is longer than %s, which is what jitter leaves of %s", length(b.use.Interval), seconds(longest), length(d.Within))
	case ofComponents:
		return unknown, "engines do not look for what they never applied: it is met where Holdfast itself scans or watches at this interval"
	}
	return "met", fmt.Sprintf("%s is not longer than %s, which is what jitter leaves of %s; of declared fields", length(b.use.Interval), seconds(longest), length(d.Within))
}

// auditOff are the providers whose audit log is off until somebody switches it on.
func (b *builder) auditOff() (off []setting.Provider) {
	for _, p := range b.use.Providers {
		if known, ok := b.Knowledge.Provider(p); ok && known.AuditOffByDefault {
			off = append(off, p)
		}
	}
	return off
}
