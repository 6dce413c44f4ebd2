package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/setting"
)

// How far something is met.
const (
	met       = "met"
	notMet    = "not met"
	ownPolicy = "own policy"
)

// compliance puts what drifted beside the controls that it bears on, and what the ledger has beside what standards demand of it.
func (b *builder) compliance() Compliance {
	c := Compliance{Scope: b.said.scope(scopeCompliance), Scenarios: []Scenario{}, Trails: []TrailDemand{}}
	drifting := b.drifting()
	c.Basis = Basis{Source: b.sources(), Sample: fmt.Sprintf("%s, %s", counted(len(drifting), "drifting finding"), b.recordsRead()), N: len(drifting)}
	if b.noData() {
		c.Basis = Basis{Source: "nothing was read", Sample: "no data"}
	}
	c.Scenarios = b.scenarios(drifting)
	for _, standard := range b.use.Standards {
		c.Trails = append(c.Trails, b.demands(standard)...)
	}
	return c
}

// drifting are the findings that drift: of scans, and of ledgers where no scan tells of them, each once.
func (b *builder) drifting() []detect.Finding {
	var out []detect.Finding
	seen := map[string]bool{}
	take := func(f detect.Finding) {
		if f.Drift && !seen[f.ID] {
			seen[f.ID] = true
			out = append(out, f)
		}
	}
	for _, f := range b.newest {
		take(f)
	}
	for i := len(b.Scans) - 1; i >= 0; i-- {
		for _, f := range b.Scans[i].Findings {
			take(f)
		}
	}
	for i := range b.Trails {
		for _, id := range b.Trails[i].order {
			take(b.Trails[i].drifts[id].asFinding(id))
		}
	}
	return out
}

// asFinding gives what a ledger has of a finding in the form of a scan's.
func (r *recorded) asFinding(id string) detect.Finding {
	f := detect.Finding{
		ID: id, Cluster: r.finding.Cluster, Application: r.finding.Application, Object: r.finding.Object, Presence: r.finding.Presence,
		Drift: true, Cause: r.finding.Cause, Class: r.finding.Class, Writer: r.finding.Writer,
	}
	var risk detect.Risk
	if risk.UnmarshalText([]byte(r.finding.Risk)) == nil {
		f.Risk = risk
	}
	return f
}

func (b *builder) recordsRead() string {
	n := 0
	for i := range b.Trails {
		n += b.Trails[i].Records
	}
	if len(b.Trails) == 0 {
		return "no ledger was read"
	}
	return counted(n, "record")
}

// scenarios groups findings by class and way to differ. Without any, they are those of the vectors, without figures.
func (b *builder) scenarios(drifting []detect.Finding) []Scenario {
	groups := map[driftKind][]detect.Finding{}
	for _, f := range drifting {
		for _, k := range b.kinds(f) {
			groups[k] = append(groups[k], f)
		}
	}
	var out []Scenario
	for k, findings := range groups {
		worst := detect.Risk(0)
		for _, f := range findings {
			worst = max(worst, f.Risk)
		}
		n := len(findings)
		s := Scenario{
			Name: nameOf(k.class) + ": " + nameOf(string(k.category)), Class: k.class, Category: string(k.category), Risk: worst.String(), Drifts: &n,
			Controls: perStandard(b.Assessor.AllControls(k.class, k.category, b.use.Standards)),
		}
		s.Recorded, s.Evidence = b.evidence(findings)
		out = append(out, s)
	}
	if len(drifting) == 0 {
		for _, v := range b.Knowledge.Vectors {
			if v.Drift && slices.Contains(always(), v.ID) {
				out = append(out, Scenario{Name: v.Name, Category: v.ID, Controls: b.controlsOf(v.ID), Evidence: unknown})
			}
		}
		return out
	}
	slices.SortFunc(out, func(x, y Scenario) int {
		return cmp.Or(cmp.Compare(riskRank(y.Risk), riskRank(x.Risk)), cmp.Compare(*y.Drifts, *x.Drifts), cmp.Compare(x.Name, y.Name))
	})
	return out
}

func riskRank(name string) detect.Risk {
	var r detect.Risk
	if r.UnmarshalText([]byte(name)) != nil {
		return 0
	}
	return r
}

type driftKind struct {
	class    string
	category assess.Category
}

// kinds are the classes and ways in which a finding differs, each once.
func (b *builder) kinds(f detect.Finding) []driftKind {
	var out []driftKind
	add := func(k driftKind) {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	for i, field := range f.Fields {
		if field.Drift {
			add(driftKind{cmp.Or(field.Class, f.Class), assess.CategoryOf(f, &f.Fields[i])})
		}
	}
	if len(out) == 0 {
		add(driftKind{f.Class, assess.CategoryOf(f, nil)})
	}
	return out
}

// perStandard keeps the first three of each standard: what is printed is what bears most.
func perStandard(all []detect.Control) []detect.Control {
	const most = 3
	n := map[string]int{}
	var out []detect.Control
	for _, c := range all {
		if n[c.Standard]++; n[c.Standard] <= most {
			out = append(out, c)
		}
	}
	return out
}

// evidence counts the findings that a ledger has a record of.
func (b *builder) evidence(findings []detect.Finding) (recorded *int, state string) {
	if len(b.Trails) == 0 {
		return nil, unknown
	}
	n := 0
	for _, f := range findings {
		for i := range b.Trails {
			if b.Trails[i].drifts[f.ID] != nil {
				n++
				break
			}
		}
	}
	switch n {
	case 0:
		return &n, "missing"
	case len(findings):
		return &n, "present"
	}
	return &n, "partly missing"
}

func nameOf(id string) string {
	return strings.NewReplacer("_", " ", "rbac", "RBAC", "psa", "Pod Security").Replace(cmp.Or(id, "other fields"))
}

// demands holds the ledgers against what a standard demands of an audit trail.
func (b *builder) demands(standard string) []TrailDemand {
	e, ok := b.Assessor.Expectation(standard)
	if !ok {
		return nil
	}
	demand := func(part string, controls []detect.Control, says, state, why string) TrailDemand {
		return TrailDemand{ID: "trail/" + standard + "/" + part, Standard: setting.StandardName(standard), Part: part, Controls: controls, Says: says, Met: state, Why: why}
	}
	content, contentWhy := b.contentMet()
	kept, keptWhy := b.retentionMet(e.Retention)
	whole, wholeWhy := b.integrityMet()
	return []TrailDemand{
		demand("content", e.Content.Controls, e.Content.Says, content, contentWhy),
		demand("retention", e.Retention.Controls, e.Retention.Says, kept, keptWhy),
		demand("integrity", e.Integrity.Controls, e.Integrity.Says, whole, wholeWhy),
	}
}

const noLedger = "no ledger was read: name it with --ledger"

// contentMet: every drift that was recorded has who, what and the decision about it.
func (b *builder) contentMet() (state, why string) {
	if len(b.Trails) == 0 {
		return unknown, noLedger
	}
	n, nobody, undecided := 0, 0, 0
	for i := range b.Trails {
		for _, r := range b.Trails[i].drifts {
			n++
			if !r.names() {
				nobody++
			}
			if !r.decided {
				undecided++
			}
		}
	}
	switch {
	case n == 0:
		return unknown, "the ledger has no drift yet"
	case nobody == 0 && undecided == 0:
		return met, fmt.Sprintf("%s: each says what, when, by whom and what was decided", counted(n, "recorded finding"))
	}
	return notMet, fmt.Sprintf("of %s, %d name no writer that the audit log confirms, %d no decision", counted(n, "recorded finding"), nobody, undecided)
}

// names says whether a record names a writer that the audit log confirms.
func (r *recorded) names() bool {
	known := func(w *detect.Writer) bool {
		return w != nil && (w.Confidence == detect.ByAudit || w.Confidence == detect.ByAuditMetadata)
	}
	return known(r.finding.Writer) || slices.ContainsFunc(r.finding.Fields, func(f ledger.Field) bool { return known(f.Writer) })
}

func (b *builder) retentionMet(e assess.RetentionExpectation) (state, why string) {
	if len(b.Trails) == 0 {
		return unknown, noLedger
	}
	covered := 0
	for i := range b.Trails {
		covered = max(covered, wholeDays(b.Trails[i].First, b.Now))
	}
	switch {
	case e.Days == 0:
		return ownPolicy, fmt.Sprintf("the standard has no figure; the ledger reaches back %s", counted(covered, "day"))
	case covered >= e.Days:
		return met, fmt.Sprintf("the ledger reaches back %s of the %d that are asked for", counted(covered, "day"), e.Days)
	}
	return notMet, fmt.Sprintf("the ledger reaches back %s of the %d that are asked for; it only grows", counted(covered, "day"), e.Days)
}

func (b *builder) integrityMet() (state, why string) {
	if len(b.Trails) == 0 {
		return unknown, noLedger
	}
	state, why = met, "signatures, order and anchors of the whole ledger were verified"
	for i := range b.Trails {
		t := &b.Trails[i]
		switch t.Verdict {
		case ledger.Whole:
		case ledger.Broken:
			return notMet, fmt.Sprintf("%s is broken: %s; see holdfast verify", t.Source, counted(t.Problems, "problem"))
		case ledger.Unanchored:
			state, why = notMet, t.Source+" is consistent, and no anchor was given: that its end was cut off cannot be ruled out"
		default:
			return unknown, t.Source + " was read and not verified: give --allowed-signers"
		}
	}
	return state, why
}
