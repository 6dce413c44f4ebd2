package assess

import (
	"fmt"
	"slices"
	"time"

	"holdfast/detect"
)

// StandardInfo is what a catalogue says of its standard.
type StandardInfo struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Licence string `json:"licence"`
	Source  string `json:"source"`
}

// Standard gives what is known of a standard of the catalogue.
func (a *Assessor) Standard(id string) (StandardInfo, bool) {
	s := a.catalog[id]
	if s == nil {
		return StandardInfo{}, false
	}
	return StandardInfo{ID: s.ID, Name: s.Name, Version: s.Version, Licence: s.Licence, Source: s.Source}, true
}

// Expectation is what a standard expects of detection and of the audit trail.
type Expectation struct {
	Standard  string
	Detection []DetectionExpectation
	Content   TrailExpectation
	Retention RetentionExpectation
	Integrity TrailExpectation
}

// DetectionExpectation is one expectation about how soon, or how often, something is looked for.
type DetectionExpectation struct {
	Controls []detect.Control
	What     string
	// Within is the figure; 0 where the standard has none.
	Within time.Duration
	// Says is the expectation in our words, Force what it rests on: requirement, parameter, law, guidance.
	Says, Force string
	// People says that it is a review by people, of which a cluster shows nothing.
	People bool
}

// TrailExpectation is one about what records say or how they are protected.
type TrailExpectation struct {
	Controls []detect.Control
	Says     string
}

// RetentionExpectation is one about how long records are kept.
type RetentionExpectation struct {
	Controls []detect.Control
	// Days is how long, ReadyDays how much of it at once available; 0 where the standard has no figure.
	Days, ReadyDays int
	Says            string
}

// Expectation gives what a standard expects; ok is false for one that is not in the catalogue.
func (a *Assessor) Expectation(standard string) (Expectation, bool) {
	e, ok := a.expectations[standard]
	return e, ok
}

// expectation is the form in which the tables hold one.
type expectation struct {
	Standard  string        `json:"standard"`
	Detection []requirement `json:"detection"`
	Content   requirement   `json:"content"`
	Retention requirement   `json:"retention"`
	Integrity requirement   `json:"integrity"`
}

type requirement struct {
	Controls  []string `json:"controls,omitempty"`
	Topics    []string `json:"topics,omitempty"`
	What      string   `json:"what,omitempty"`
	Within    string   `json:"within,omitempty"`
	Says      string   `json:"says"`
	Force     string   `json:"force,omitempty"`
	People    bool     `json:"people,omitempty"`
	Days      int      `json:"days,omitempty"`
	ReadyDays int      `json:"readyDays,omitempty"`
}

// addExpectations needs one of each standard, whose controls are in its catalogue.
func (a *Assessor) addExpectations(list []expectation) error {
	for _, e := range list {
		s := a.catalog[e.Standard]
		if s == nil {
			return fmt.Errorf("expectation: standard %q is not in the catalogue", e.Standard)
		}
		if _, again := a.expectations[e.Standard]; again {
			return fmt.Errorf("expectation of %s is there twice", e.Standard)
		}
		out := Expectation{Standard: e.Standard}
		var err error
		for _, d := range e.Detection {
			one := DetectionExpectation{What: d.What, Says: d.Says, Force: d.Force, People: d.People}
			if d.Within != "" {
				if one.Within, err = time.ParseDuration(d.Within); err != nil {
					return fmt.Errorf("expectation of %s: %w", e.Standard, err)
				}
			}
			if one.Controls, err = a.expected(s, d); err != nil {
				return err
			}
			out.Detection = append(out.Detection, one)
		}
		out.Content.Says, out.Integrity.Says = e.Content.Says, e.Integrity.Says
		out.Retention = RetentionExpectation{Days: e.Retention.Days, ReadyDays: e.Retention.ReadyDays, Says: e.Retention.Says}
		for _, part := range []struct {
			of requirement
			to *[]detect.Control
		}{{e.Content, &out.Content.Controls}, {e.Retention, &out.Retention.Controls}, {e.Integrity, &out.Integrity.Controls}} {
			if *part.to, err = a.expected(s, part.of); err != nil {
				return err
			}
		}
		a.expectations[e.Standard] = out
	}
	for id := range a.catalog {
		if _, ok := a.expectations[id]; !ok {
			return fmt.Errorf("standard %s: nothing says what it expects of detection and records", id)
		}
	}
	return nil
}

// expected gives the controls of one requirement. Of a topic of the CIS benchmarks a flavour may have no number.
func (a *Assessor) expected(s *standard, r requirement) ([]detect.Control, error) {
	ids := slices.Clone(r.Controls)
	for _, name := range r.Topics {
		topic, ok := a.topics[name]
		if !ok {
			return nil, fmt.Errorf("expectation of %s: CIS topic %s is not in the catalogue", s.ID, name)
		}
		if id := topic.IDs[s.ID]; id != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || r.Says == "" {
		return nil, fmt.Errorf("expectation of %s: %q refers to no control", s.ID, r.Says)
	}
	var out []detect.Control
	for _, id := range ids {
		if s.titles[id] == "" {
			return nil, fmt.Errorf("expectation of %s: control %s is not in the catalogue", s.ID, id)
		}
		out = append(out, detect.Control{Standard: s.ID, ID: id, Title: s.titles[id]})
	}
	return out, nil
}

// Mapped is a control of a standard and what refers to it.
type Mapped struct {
	detect.Control
	// Classes are of resources and fields, Categories ways to differ, Expects parts of the audit trail and of detection.
	Classes    []string
	Categories []string
	Expects    []string
}

// Mapping lists the controls of a standard that are referred to, in the catalogue's order, each with what refers to it.
// A standard that is not in the catalogue gives none.
func (a *Assessor) Mapping(standard string) []Mapped {
	s := a.catalog[standard]
	if s == nil {
		return nil
	}
	var out []Mapped
	for _, c := range s.Controls {
		m := Mapped{Control: detect.Control{Standard: standard, ID: c.ID, Title: s.titles[c.ID]}}
		for id, class := range a.classes {
			if slices.Contains(s.of(class.withTopics(a)), c.ID) {
				m.Classes = append(m.Classes, id)
			}
		}
		for id, category := range a.categories {
			if slices.Contains(s.of(category.Controls), c.ID) {
				m.Categories = append(m.Categories, string(id))
			}
		}
		slices.Sort(m.Classes)
		slices.Sort(m.Categories)
		m.Expects = a.expectations[standard].of(c.ID)
		out = append(out, m)
	}
	return out
}

// of names the parts of an expectation that refer to a control.
func (e Expectation) of(id string) []string {
	var out []string
	has := func(controls []detect.Control) bool {
		return slices.ContainsFunc(controls, func(c detect.Control) bool { return c.ID == id })
	}
	for _, d := range e.Detection {
		if has(d.Controls) {
			out = append(out, d.What)
		}
	}
	if has(e.Content.Controls) {
		out = append(out, "content of records")
	}
	if has(e.Retention.Controls) {
		out = append(out, "retention of records")
	}
	if has(e.Integrity.Controls) {
		out = append(out, "integrity of records")
	}
	return out
}
