package steer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/bot/command"
	"holdfast/detect"
	"holdfast/templates"
)

// The most that an answer shows of each list.
const (
	mostFindings = 10
	mostFields   = 20
	mostTrace    = 30
)

// explained says of each drift of the thread how it is judged, and why.
func (s situation) explained() []templates.Explained {
	var out []templates.Explained
	for _, f := range s.topic.findings[:min(len(s.topic.findings), mostFindings)] {
		one := templates.Explained{
			Object: objectName(f.Object), Cluster: f.Cluster, Application: f.Application, Risk: f.Risk.String(),
			Trace: f.Trace[:min(len(f.Trace), mostTrace)],
		}
		if len(f.Fields) == 0 {
			one.Parts = append(one.Parts, part("the object as a whole", f.Cause, f.Reason, f.Disposition, f.Rule, f.Writer))
		}
		for _, field := range f.Fields {
			if len(one.Parts) == mostFields {
				break
			}
			if field.Drift || !f.Drift {
				one.Parts = append(one.Parts, part(field.Path.String(), field.Cause, field.Reason, field.Disposition, field.Rule, field.Writer))
			}
		}
		out = append(out, one)
	}
	return out
}

func part(what string, cause detect.Cause, reason string, d detect.Disposition, rule string, w *detect.Writer) templates.ExplainedPart {
	p := templates.ExplainedPart{What: what, Cause: string(cause), Reason: reason, Disposition: string(d), Rule: rule}
	if w != nil {
		p.By = w.Name()
	}
	return p
}

// status says where the thread's drifts stand, and when the clusters were looked at.
func (s situation) status() []string {
	var out []string
	for _, f := range s.topic.findings[:min(len(s.topic.findings), mostFindings)] {
		line := templates.Code(objectName(f.Object)) + " on " + templates.Code(f.Cluster) + ": "
		if f.Drift {
			line += fmt.Sprintf("drifts since %s, %s", f.FirstSeen.UTC().Format(timeLayout), f.Disposition)
		} else {
			line += "does not drift"
		}
		if o, ok := s.standing.Orders[f.ID]; ok {
			line += fmt.Sprintf("; %s asked to %s", templates.Code(o.By), o.Disposition)
		}
		if e, ok := s.standing.Exceptions[f.ID]; ok && e.Until.After(s.now) {
			line += fmt.Sprintf("; ignored until %s for %s: %s", e.Until.UTC().Format(timeLayout), templates.Code(e.By), templates.Code(e.Reason))
		}
		out = append(out, line)
	}
	if len(out) == 0 {
		out = append(out, "Nothing that this thread is about drifted when the clusters were scanned last.")
	}
	for _, cluster := range slices.Sorted(maps.Keys(s.facts.Scanned)) {
		line := templates.Code(cluster) + " was scanned at " + s.facts.Scanned[cluster].UTC().Format(timeLayout)
		if why := s.facts.Failing[cluster]; why != "" {
			line += "; its last round failed"
		}
		out = append(out, line)
	}
	return out
}

// help lists the commands with what each needs.
func help(rights command.Rights) []templates.HelpLine {
	effects := map[command.Verb]string{
		command.Codify:   "opens a pull request that makes the live state the declared one",
		command.Revert:   "opens a pull request whose merge makes the declared state the live one again",
		command.Ignore:   "leaves the drift be for a time such as 30m, 12h, 7d or 2w",
		command.Unignore: "ends that time now",
		command.Explain:  "says how the drift is judged, and why",
		command.Rescan:   "looks at the clusters again now",
		command.Status:   "says where things stand",
		command.Help:     "shows this",
	}
	var out []templates.HelpLine
	for _, v := range command.Verbs() {
		out = append(out, templates.HelpLine{Usage: v.Usage(), Effect: effects[v], Needs: rights.Of(v).String()})
	}
	return out
}

func objectName(r detect.ObjectRef) string {
	if r.Namespace == "" {
		return strings.TrimSpace(r.Kind + " " + r.Name)
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}
