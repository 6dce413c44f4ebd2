package export

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/bot/ledger"
	"holdfast/detect"
)

// OSCALVersion is the version of NIST's model that the assessment results follow.
const OSCALVersion = "1.1.3"

// propertySpace is the namespace of Holdfast's own properties.
const propertySpace = "urn:holdfast:oscal"

// OSCAL collects a trail into OSCAL assessment results. Each record becomes an entry of the assessment log, each
// sighting and each settling an observation, each drift a risk with its log. There are no OSCAL findings: whether a
// control is satisfied is an assessor's to say, and a drift is evidence, so controls are referred to by properties.
type OSCAL struct {
	ledger   string
	entries  []logEntry
	seen     []observation
	risks    map[string]*risk // by finding
	order    []string
	threads  map[string][]string // the findings of a thread, by its key
	apps     map[string]component
	controls map[string]detect.Control // by token
	first    time.Time
	last     time.Time
}

// NewOSCAL starts the trail of a ledger; location is where it was read.
func NewOSCAL(location string) *OSCAL {
	return &OSCAL{
		ledger: location, risks: map[string]*risk{}, threads: map[string][]string{}, apps: map[string]component{}, controls: map[string]detect.Control{},
	}
}

// Add takes a record in.
func (o *OSCAL) Add(e ledger.Entry) {
	p := e.Statement.Predicate
	at := p.Time.UTC()
	if o.first.IsZero() {
		o.first = at
	}
	o.last = at
	s := summarize(e)
	props := properties(
		"sequence", strconv.FormatInt(p.Sequence, 10), "record-type", e.Statement.PredicateType, "subject", p.Subject, "batch", e.Commit,
		"signer", e.Signer.String(), "content-sha256", e.Statement.Subject[0].Digest["sha256"],
		"cluster", s.cluster, "application", s.application, "object", s.object, "cause", s.cause, "risk", s.risk,
		"disposition", s.disposition, "who", s.who, "outcome", s.outcome,
	)
	entry := logEntry{UUID: id("entry", e.Path), Title: string(e.Name.Kind), Description: orDash(s.text), Start: at, End: at, Props: props}
	if uri := reference(s.thread); uri != "" {
		entry.Links = []link{{Href: uri, Rel: "reference"}}
	}
	o.entries = append(o.entries, entry)
	o.follow(e, s, props)
}

// follow carries the life of each drift: its observations, its risk and its risk's log.
func (o *OSCAL) follow(e ledger.Entry, s summary, props []property) {
	content := ledger.ContentOf(e.Name.Kind)
	if content == nil || json.Unmarshal(e.Statement.Predicate.Content, content) != nil {
		return
	}
	at := e.Statement.Predicate.Time.UTC()
	note := func(status string, findings ...string) {
		for _, f := range findings {
			if r := o.risks[f]; r != nil {
				r.note(riskEntry{UUID: id("risk-entry", e.Path, f), Title: string(e.Name.Kind), Description: orDash(s.text), Start: at, Status: status})
			}
		}
	}
	switch c := content.(type) {
	case *ledger.Finding:
		o.sighting(e, c, s, props)
	case *ledger.Decision:
		note("", c.Finding)
	case *ledger.Proposal:
		o.threads[c.Thread.Key] = c.Findings
		note("remediating", c.Findings...)
	case *ledger.Command:
		note("", o.threads[c.Thread.Key]...)
	case *ledger.Order:
		note("", c.Finding)
	case *ledger.Approval:
		note("", o.threads[c.Thread.Key]...)
	case *ledger.Exception:
		status := "deviation-approved"
		if c.Ended {
			status = "open"
		}
		note(status, c.Finding)
	case *ledger.Merge:
		note("", o.threads[c.Thread.Key]...)
	case *ledger.Healing:
		if c.Finding == "" {
			note("", o.threads[value(c.Thread).Key]...)
			return
		}
		o.settled(e, c.Finding, s, props)
		note("closed", c.Finding)
	case *ledger.Convergence:
		o.settled(e, c.Finding, s, props)
		note("closed", c.Finding)
	case *ledger.Closing:
		note("", o.threads[c.Thread.Key]...)
	}
}

func (o *OSCAL) sighting(e ledger.Entry, f *ledger.Finding, s summary, props []property) {
	app := f.Cluster + "/" + f.Application
	if _, known := o.apps[app]; !known {
		o.apps[app] = component{
			UUID: id("component", app), Type: "software", Title: app, Description: "An Application that a GitOps engine applies.",
			Status: state{State: "operational"},
		}
	}
	for _, c := range f.Controls {
		o.controls[controlToken(c)] = c
		props = append(props, properties("control-reference", c.Standard+" "+c.ID)...)
	}
	seen := o.observe(e, "finding", s, props)
	seen.Subjects = []subject{{UUID: o.apps[app].UUID, Type: "component", Title: objectOf(f)}}
	o.seen = append(o.seen, seen)
	r := o.risks[f.ID]
	if r == nil {
		r = &risk{UUID: id("risk", f.ID)}
		o.risks[f.ID], o.order = r, append(o.order, f.ID)
	}
	r.Title = fmt.Sprintf("Drift of %s in %s", objectOf(f), app)
	r.Description, r.Props = orDash(s.text), props
	r.Statement = "The live object is not what its repository declares."
	r.Observations = append(r.Observations, relatedObservation{seen.UUID})
	r.note(riskEntry{UUID: id("risk-entry", e.Path, f.ID), Title: "finding", Description: orDash(s.text), Start: e.Statement.Predicate.Time.UTC(), Status: "open"})
}

func (o *OSCAL) settled(e ledger.Entry, finding string, s summary, props []property) {
	seen := o.observe(e, "mitigation", s, props)
	o.seen = append(o.seen, seen)
	if r := o.risks[finding]; r != nil {
		r.Observations = append(r.Observations, relatedObservation{seen.UUID})
	}
}

func (o *OSCAL) observe(e ledger.Entry, kind string, s summary, props []property) observation {
	return observation{
		UUID: id("observation", e.Path), Title: string(e.Name.Kind), Description: orDash(s.text), Props: props,
		Methods: []string{"TEST"}, Types: []string{kind}, Origins: []origin{{Actors: []actor{{Type: "tool", UUID: toolUUID()}}}},
		Evidence:  []evidence{{Href: e.Path, Description: "The signed record in the ledger, in batch " + e.Commit + "."}},
		Collected: e.Statement.Predicate.Time.UTC(),
	}
}

// Write writes the document. It is the same for the same ledger, whenever it is written.
func (o *OSCAL) Write(w io.Writer, report ledger.Report) error {
	plan := id("plan", o.ledger)
	body := result{
		UUID: id("result", o.ledger, report.Head), Title: "Drift between clusters and their repositories",
		Description: fmt.Sprintf("What Holdfast recorded in %d records of %d signed batches.", report.Records, report.Batches),
		Start:       o.first, End: o.last,
		Props: properties("verification", string(report.Verdict), "ledger-head", report.Head),
		Local: local{Components: append([]component{{
			UUID: toolUUID(), Type: "software", Title: "Holdfast", Description: "Compares clusters with Git and records what it sees.", Status: state{State: "operational"},
		}}, o.components()...)},
		Reviewed:     o.reviewed(),
		Observations: o.seen,
	}
	if len(o.entries) > 0 {
		body.Log = &assessmentLog{o.entries}
	}
	for _, f := range o.order {
		body.Risks = append(body.Risks, *o.risks[f])
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(map[string]any{"assessment-results": assessmentResults{
		UUID: id("results", o.ledger, report.Head),
		Metadata: metadata{
			Title: "Trail of the ledger " + clean(o.ledger), Modified: o.last, Version: report.Head, OSCAL: OSCALVersion,
		},
		Plan:    importPlan{Href: "#" + plan},
		Results: []result{body},
		Back: backMatter{Resources: []resource{{
			UUID: plan, Title: "Continuous comparison",
			Description: "There is no assessment plan as a document: Holdfast compares what Git declares with what is live whenever it runs.",
		}}},
	}})
}

func (o *OSCAL) components() []component {
	var out []component
	for _, app := range slices.Sorted(maps.Keys(o.apps)) {
		out = append(out, o.apps[app])
	}
	return out
}

// reviewed lists the controls that records refer to.
func (o *OSCAL) reviewed() reviewed {
	selection := controlSelection{Description: "No record refers to a control."}
	for _, token := range slices.Sorted(maps.Keys(o.controls)) {
		selection.Description = "The controls that records refer to."
		selection.Include = append(selection.Include, selectControl{token})
	}
	return reviewed{Description: "Control references of the drifts that were found.", Selections: []controlSelection{selection}}
}

// controlToken is the identifier of a control as OSCAL's catalogs write it: "ac-6.9" for AC-6(9) of NIST SP 800-53;
// of other standards, whose catalogs are not in OSCAL, standard and number.
func controlToken(c detect.Control) string {
	text := c.ID
	if c.Standard == "nist-800-53r5" {
		return strings.ToLower(strings.NewReplacer("(", ".", ")", "", " ", "").Replace(text))
	}
	return "_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, c.Standard+"_"+text)
}

func toolUUID() string { return id("tool") }

// id derives a UUID (version 5) from what it is of, so that the same trail gives the same document.
func id(parts ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:holdfast:"+strings.Join(parts, "\x00"))).String()
}

// properties makes pairs of name and value into properties; those without a value are left out.
func properties(pairs ...string) []property {
	var out []property
	for i := 0; i+1 < len(pairs); i += 2 {
		if text := clean(pairs[i+1]); text != "" {
			out = append(out, property{Name: pairs[i], Space: propertySpace, Value: text})
		}
	}
	return out
}

// clean makes a text one line without blanks at its ends, as OSCAL's strings are.
func clean(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))), " ")
}

func orDash(text string) string {
	if text = clean(text); text == "" {
		return "-"
	}
	return text
}

// reference gives a URL that a link can hold.
func reference(text string) string {
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") || strings.ContainsAny(text, " <>\"{}|\\^`") || text != clean(text) {
		return ""
	}
	return text
}
