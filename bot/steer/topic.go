package steer

import (
	"slices"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/detect/policy"
)

// topic is what a thread is about.
type topic struct {
	thread bot.Thread
	// own says that Holdfast opened it; key is that of its marker.
	own bool
	key string
	// ids are the findings that it is about, as far as its body or the last rounds tell; findings are those of the last
	// rounds, drifts those that drift, with the fields in question.
	ids      []string
	findings []detect.Finding
	drifts   []drift
	// files are those that declare all this or, of a pull request, that it changes.
	files []string
}

// drift is a finding that drifts, as a whole or in fields.
type drift struct {
	finding detect.Finding
	whole   bool
	fields  []detect.Field
}

// topicOf tells what a thread is about. Files are those that a pull request changes.
func topicOf(t bot.Thread, facts Facts, files []string) topic {
	out := topic{thread: t, files: files}
	if out.key, _, out.own = bot.ParseMarker(t.Body); !out.own {
		return out
	}
	about := bot.ParseRecord(t.Body).About
	for id := range about {
		if t.Kind == bot.AsIssue { // an issue remembers whole findings
			out.ids = append(out.ids, id)
		}
	}
	for _, f := range facts.Findings {
		_, all := about[f.ID]
		fields, named := fieldsIn(f, about, all)
		if !all && !named {
			continue
		}
		out.findings = append(out.findings, f)
		if !slices.Contains(out.ids, f.ID) {
			out.ids = append(out.ids, f.ID)
		}
		if f.Drift {
			out.drifts = append(out.drifts, drift{finding: f, whole: len(f.Fields) == 0, fields: fields})
		}
		if t.Kind == bot.AsIssue {
			out.files = append(out.files, facts.Files[f.ID]...)
		}
	}
	slices.Sort(out.ids)
	slices.Sort(out.files)
	out.files = slices.Compact(out.files)
	return out
}

// fieldsIn gives the drifting fields that a thread is about: all, or those that it remembers by names of their own.
// named says that there is one of the latter, drifting or not.
func fieldsIn(f detect.Finding, about map[string]string, all bool) (fields []detect.Field, named bool) {
	for _, field := range f.Fields {
		_, one := about[bot.FieldName(f.ID, field.Path.String())]
		named = named || one
		if field.Drift && (all || one) {
			fields = append(fields, field)
		}
	}
	return fields, named
}

// contents are the paths of the fields, with what tells their contents apart; the empty path is the whole object.
func (d drift) contents() map[string]string {
	if d.whole {
		return map[string]string{"": policy.ContentOf(detect.Field{})}
	}
	out := map[string]string{}
	for _, f := range d.fields {
		out[f.Path.String()] = policy.ContentOf(f)
	}
	return out
}
