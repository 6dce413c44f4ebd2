package serve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/bot/publish"
	"holdfast/detect"
)

// What is kept of the past. The ledger has all of it.
const (
	historyKept = 30 * 24 * time.Hour // of a drift that is gone
	mostGone    = 1000                // of those, by cluster
	mostEvents  = 40                  // of one drift: the first and the latest
)

// Past is what became of one finding, from the first scan that called it drift.
type Past struct {
	Application string
	Object      detect.ObjectRef
	Risk        detect.Risk
	Fingerprint string
	// Since is when it was first seen. Gone is when a scan saw it no more; zero while it drifts.
	Since  time.Time
	Gone   time.Time `json:",omitzero"`
	Events []Event
}

// Event is one thing that happened to a finding.
type Event struct {
	Time time.Time
	What string
	// URL is that of the thread that it happened on, if any.
	URL string `json:",omitempty"`
}

// history carries the past on to a report. Where the report has no scan of its own, nothing is known to have come or
// gone.
func history(before map[string]Past, r Report, fresh bool) map[string]Past {
	out := map[string]Past{}
	for id, past := range before {
		past.Events = slices.Clone(past.Events)
		out[id] = past
	}
	if fresh {
		drifts := map[string]bool{}
		for _, f := range r.Scan.Findings {
			if f.Drift {
				drifts[f.ID] = true
				past, known := out[f.ID]
				out[f.ID] = past.seen(f, known, r.Scan.Time)
			}
		}
		for id, past := range out {
			if past.Gone.IsZero() && !drifts[id] && !r.unsure(id, past) {
				past.Gone = r.Scan.Time
				past.Events = append(past.Events, Event{Time: r.Scan.Time, What: "no drift any more" + r.explained(id)})
				out[id] = past
			}
		}
	}
	for _, t := range r.Published.Threads {
		if t.Verb == publish.Nothing {
			continue
		}
		for _, id := range t.Findings {
			if past, known := out[id]; known {
				past.Events = append(past.Events, Event{Time: r.Ended, What: fmt.Sprintf("%s %s %d: %s", t.Verb, strings.ReplaceAll(string(t.Kind), "-", " "), t.Number, t.Reason), URL: t.URL})
				out[id] = past
			}
		}
	}
	return trimmed(out, r.Ended)
}

// seen takes over what a scan says of a drift.
func (p Past) seen(f detect.Finding, known bool, now time.Time) Past {
	note := func(format string, args ...any) {
		p.Events = append(p.Events, Event{Time: now, What: fmt.Sprintf(format, args...)})
	}
	switch {
	case !known:
		p.Since = now
		if !f.FirstSeen.IsZero() && f.FirstSeen.Before(now) {
			p.Since = f.FirstSeen
		}
		note("first seen, %s risk", cmp.Or(f.Risk.String(), "no"))
	case !p.Gone.IsZero():
		p.Since, p.Gone = now, time.Time{}
		note("it drifts again")
	case p.Fingerprint != f.Fingerprint:
		note("its content changed")
	}
	if known && p.Risk != f.Risk {
		note("its risk went from %s to %s", cmp.Or(p.Risk.String(), "none"), cmp.Or(f.Risk.String(), "none"))
	}
	p.Application, p.Object, p.Risk, p.Fingerprint = f.Application, f.Object, f.Risk, f.Fingerprint
	return p
}

// unsure says whether the scan could not tell if a drift is gone.
func (r Report) unsure(id string, past Past) bool {
	return slices.ContainsFunc(r.Scan.Unknown, func(u detect.UnknownObject) bool {
		return detect.FindingID(u.Cluster, u.Application, u.Object.ID()) == id ||
			u.Object == (detect.ObjectRef{}) && (u.Application == "" || u.Application == past.Application)
	}) || slices.ContainsFunc(r.Scan.Applications, func(a detect.AssessedApplication) bool {
		return a.State == detect.Unknown && a.Application.Namespace+"/"+a.Application.Name == past.Application
	})
}

// explained says what a difference that is no drift any more is now; empty where it is none.
func (r Report) explained(id string) string {
	i := slices.IndexFunc(r.Scan.Findings, func(f detect.Finding) bool { return f.ID == id })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(": what differs has the cause %s", r.Scan.Findings[i].Cause)
}

// trimmed leaves out what is older, or more, than is kept.
func trimmed(all map[string]Past, now time.Time) map[string]Past {
	var gone []string
	for id, past := range all {
		if n := len(past.Events); n > mostEvents {
			past.Events = append(past.Events[:1:1], past.Events[n-mostEvents+1:]...)
			all[id] = past
		}
		switch {
		case past.Gone.IsZero():
		case now.Sub(past.Gone) > historyKept:
			delete(all, id)
		default:
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return cmp.Or(all[b].Gone.Compare(all[a].Gone), cmp.Compare(a, b)) })
	for _, id := range gone[min(len(gone), mostGone):] {
		delete(all, id)
	}
	return all
}
