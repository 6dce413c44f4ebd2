package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/gitops"
)

// always are the vectors that have a row even where nothing of them was seen; the others have one once something was.
func always() []string {
	return []string{"manual", "admission", "autoscaling", "helm", "missing", "switched-off", "unknown"}
}

// matrix counts drift by vector. A finding that was there and gone and there again counts each time.
func (b *builder) matrix() Matrix {
	m := Matrix{Scope: b.said.scope(scopeMatrix)}
	m.From, m.To = b.history.bounds()
	days := b.history.clusterDays(func(string) bool { return true })
	if days > 0 {
		m.ClusterDays = &days
	}
	m.Basis = b.matrixBasis(days)
	standing := map[string]int{}
	total := 0
	if !b.noData() {
		for _, w := range b.history.windows {
			standing[w.Vector]++
			if v, ok := b.Knowledge.Vector(w.Vector); ok && v.Drift {
				total++
			}
		}
		m.Drifts = &total
	}
	explained := b.explained()
	for _, v := range b.Knowledge.Vectors {
		if !slices.Contains(always(), v.ID) && standing[v.ID] == 0 && explained[v.ID] == 0 {
			continue
		}
		row := VectorRow{ID: v.ID, Name: v.Name, Drift: v.Drift, OnlyHoldfast: v.Only, Looms: v.Looms}
		for _, e := range b.engines() {
			row.EngineSees = append(row.EngineSees, e.String()+": "+v.Sees[e.Name])
		}
		row.Controls = b.controlsOf(v.ID)
		if !b.noData() {
			b.count(&row, total, days, m.From, m.To)
			n := explained[v.ID]
			row.Explained = &n
		}
		m.Rows = append(m.Rows, row)
	}
	m.Autoscaling = b.autoscaling()
	m.Tier = b.tierPart(standing)
	if !b.noData() {
		m.Buckets = b.buckets(m.From, m.To)
		m.Worst = b.worst()
	}
	return m
}

func (b *builder) matrixBasis(days float64) Basis {
	if b.noData() {
		return Basis{Source: "nothing was read", Sample: "no data"}
	}
	sample := fmt.Sprintf("%s, %s, %s", counted(len(b.history.windows), "drift window"), counted(len(b.history.periods), "cluster"), counted(len(b.Scans), "scan"))
	if days > 0 {
		sample += fmt.Sprintf(", %.3g cluster-days", days)
	} else {
		sample += ", a single look: no rates"
	}
	return Basis{Source: b.sources(), Sample: sample, N: max(len(b.history.windows), b.looks())}
}

// count fills a row's figures.
func (b *builder) count(row *VectorRow, total int, days float64, from, to time.Time) {
	n, open, began, first := 0, 0, 0, 0
	row.ByRisk = map[string]int{}
	worst := detect.Risk(0)
	middle := from.Add(to.Sub(from) / 2)
	for _, w := range b.history.windows {
		if w.Vector != row.ID {
			continue
		}
		n++
		if w.Closed.IsZero() {
			open++
		}
		if w.Risk > 0 {
			row.ByRisk[w.Risk.String()]++
			worst = max(worst, w.Risk)
		}
		if !w.Standing {
			began++
			if w.Detected.Before(middle) {
				first++
			}
		}
	}
	row.Count, row.Open = &n, &open
	if row.Drift && total > 0 {
		part := float64(n) / float64(total)
		row.Share = &part
	}
	row.Risk = cmp.Or(worst.String(), "none seen")
	if days > 0 {
		rate := float64(began) / days
		row.PerClusterDay = &rate
		trend := trendOf(first, began-first)
		row.Trend = &trend
	}
}

// explained counts, in the newest scan of each cluster, fields that differ for a reason that is no drift, by vector.
func (b *builder) explained() map[string]int {
	out := map[string]int{}
	for _, f := range b.newest {
		for _, field := range f.Fields {
			if !field.Drift && field.Differs {
				out[vectorOf(detect.Finding{Cause: field.Cause, Class: field.Class})]++
			}
		}
	}
	delete(out, "unknown") // what is no drift and has no cause is spelling
	return out
}

// autoscaling counts what autoscalers do within their bounds, which is no drift.
func (b *builder) autoscaling() Autoscaling {
	out := Autoscaling{Basis: Basis{Source: b.marked("the newest scan of each cluster"), Sample: counted(len(b.newest), "finding"), N: b.looks()}}
	if len(b.Scans) == 0 {
		out.Basis = Basis{Source: "no scan was read", Sample: "no data"}
		return out
	}
	fields, objects, contradictions := 0, 0, 0
	for _, f := range b.newest {
		here, against := 0, false
		for _, field := range f.Fields {
			if field.Cause != detect.CauseAutoscaler || field.Drift {
				continue
			}
			here++
			against = against || field.Git.Set
		}
		if here == 0 {
			continue
		}
		fields, objects = fields+here, objects+1
		if against {
			contradictions++
		}
		if len(out.Examples) < 5 {
			out.Examples = append(out.Examples, fmt.Sprintf("%s: %s %s/%s", f.Cluster, f.Object.Kind, f.Object.Namespace, f.Object.Name))
		}
	}
	out.Fields, out.Objects, out.Contradictions = &fields, &objects, &contradictions
	return out
}

// controlsOf gives the primary controls of a vector in the standards of the report.
func (b *builder) controlsOf(vector string) []detect.Control {
	category := map[string]assess.Category{
		"missing": assess.Missing, "orphaned": assess.Orphaned, "switched-off": assess.Suspended, "contested": assess.Contested,
	}[vector]
	all := b.Assessor.AllControls("", cmp.Or(category, assess.ValueChanged), b.use.Standards)
	return all[:min(len(all), 5)]
}

// tierPart tells the causes that belong to a tier: by comparing tiers where several were observed, else from the catalogue.
func (b *builder) tierPart(standing map[string]int) TierPart {
	rows := b.tierRows()
	if len(rows) > 1 {
		return TierPart{
			Compared: true, Rows: rows, Causes: distinct(rows),
			Basis: Basis{Source: b.sources(), Sample: fmt.Sprintf("%d tiers side by side, %s", len(rows), counted(len(b.history.windows), "drift window")), N: len(b.history.windows)},
		}
	}
	part := TierPart{Basis: Basis{Source: "the catalogue of causes by tier, not an observation", Sample: "no second tier to compare with"}}
	for _, tier := range b.use.Tiers {
		known, _ := b.Knowledge.Tier(tier)
		for _, c := range known.Causes {
			cause := TierCause{Tier: string(tier), Vector: c.Vector, Cause: c.Cause, Sign: c.Sign, Origin: "catalogue"}
			if !b.noData() {
				n := standing[c.Vector]
				cause.Observed = &n
			}
			part.Causes = append(part.Causes, cause)
		}
	}
	return part
}

func (b *builder) tierRows() []TierRow {
	byTier := map[detect.Tier]*TierRow{}
	for _, c := range b.observed.clusters {
		if c.Tier == "" {
			continue
		}
		if byTier[c.Tier] == nil {
			byTier[c.Tier] = &TierRow{Tier: string(c.Tier), ByVector: map[string]int{}}
		}
		byTier[c.Tier].Clusters++
	}
	for _, w := range b.history.windows {
		if row := byTier[b.observed.tierOf(w.Cluster)]; row != nil {
			row.Drifts++
			row.ByVector[w.Vector]++
		}
	}
	var out []TierRow
	for _, tier := range []detect.Tier{detect.Dev, detect.Staging, detect.Production, detect.Regulated, detect.DR} {
		if row := byTier[tier]; row != nil {
			out = append(out, *row)
		}
	}
	return out
}

// leastDistinct is how many drifts of a vector a tier needs before its share is compared.
const leastDistinct = 3

// distinct names the vectors whose share of a tier's drift is at least twice that of all other tiers together.
func distinct(rows []TierRow) []TierCause {
	var out []TierCause
	for _, row := range rows {
		for _, vector := range sortedKeys(row.ByVector) {
			n, others, othersTotal := row.ByVector[vector], 0, 0
			for _, other := range rows {
				if other.Tier != row.Tier {
					others += other.ByVector[vector]
					othersTotal += other.Drifts
				}
			}
			if n < leastDistinct || othersTotal > 0 && float64(n)*float64(othersTotal) < 2*float64(others)*float64(row.Drifts) {
				continue
			}
			count := n
			text := fmt.Sprintf("%s of the drift of this tier, %s of that of the others", share(n, row.Drifts), share(others, othersTotal))
			if others == 0 {
				text = fmt.Sprintf("%s of the drift of this tier, and none elsewhere", share(n, row.Drifts))
			}
			out = append(out, TierCause{Tier: row.Tier, Vector: vector, Cause: text, Observed: &count, Origin: "observed"})
		}
	}
	return out
}

// mostBuckets bounds the steps of the plot.
const mostBuckets = 30

func (b *builder) buckets(from, to time.Time) []Bucket {
	if !to.After(from) {
		return nil
	}
	step := max(to.Sub(from)/mostBuckets, time.Minute).Truncate(time.Second)
	for _, round := range []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
		if step <= round && to.Sub(from)/round <= mostBuckets {
			step = round
			break
		}
	}
	var out []Bucket
	for at := from.Truncate(step); !at.After(to); at = at.Add(step) {
		out = append(out, Bucket{From: at, To: at.Add(step), ByVector: map[string]int{}})
	}
	for _, w := range b.history.windows {
		if i := int(w.Detected.Sub(out[0].From) / step); i >= 0 && i < len(out) {
			out[i].ByVector[w.Vector]++
		}
	}
	return out
}

// mostWorst bounds the drifts that are named.
const mostWorst = 10

func (b *builder) worst() []Worst {
	var open []detect.Finding
	for _, f := range b.newest {
		if f.Drift && f.Risk >= detect.High {
			open = append(open, f)
		}
	}
	slices.SortStableFunc(open, func(x, y detect.Finding) int {
		return cmp.Or(cmp.Compare(y.Risk, x.Risk), cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.ID, y.ID))
	})
	var out []Worst
	for _, f := range open[:min(len(open), mostWorst)] {
		out = append(out, Worst{
			Finding: f.ID, Cluster: f.Cluster, Application: f.Application, Object: f.Object, Vector: vectorOf(f), Risk: f.Risk.String(), Writer: writerOf(f),
		})
	}
	return out
}

// writerOf names who is behind a finding, with how well that is known.
func writerOf(f detect.Finding) string {
	name := func(w *detect.Writer) string {
		if w == nil || w.Name() == "" {
			return ""
		}
		return fmt.Sprintf("%s (%s)", w.Name(), w.Confidence)
	}
	if text := name(f.Writer); text != "" {
		return text
	}
	var out []string
	for _, field := range f.Fields {
		if text := name(field.Writer); field.Drift && text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// mechanism says how these engines work on these providers.
func (b *builder) mechanism() Mechanism {
	m := Mechanism{Scope: b.said.scope(scopeMechanism)}
	for _, e := range b.engines() {
		known, ok := b.Knowledge.Engine(e.Name)
		if !ok {
			continue
		}
		m.Engines = append(m.Engines, MechanismEngine{
			Engine: e.String(), Detects: known.Detects, Corrects: known.Corrects, Records: known.Records, Blind: known.Blind, Notes: known.Before(e.Version),
		})
	}
	for _, p := range b.use.Providers {
		if known, ok := b.Knowledge.Provider(p); ok {
			m.Providers = append(m.Providers, MechanismCloud{p.Name(), known.Admission, known.Autoscaling, known.Audit})
		}
	}
	m.Basis = Basis{Source: b.marked("the newest scan of each cluster"), Sample: counted(len(b.applications), "Application"), N: len(b.applications)}
	if len(b.applications) == 0 {
		m.Basis = Basis{Source: "no scan was read", Sample: "no data"}
	}
	for _, engine := range []gitops.Engine{gitops.Flux, gitops.ArgoCD, gitops.None} {
		for _, kind := range b.kindsOf(engine) {
			c := Correction{Engine: string(engine), Kind: kind}
			for _, a := range b.applications {
				if a.Engine == engine && a.Kind == kind {
					c.take(a)
				}
			}
			m.Corrections = append(m.Corrections, c)
		}
	}
	return m
}

func (c *Correction) take(a Application) {
	switch {
	case a.Suspended:
		c.Suspended++
	case a.Correction == gitops.Heals:
		c.Heals++
	case a.Correction == gitops.OnCommit:
		c.OnCommit++
	case a.Correction == gitops.ByHand:
		c.ByHand++
	default:
		c.NotTold++
	}
	if len(a.Conditions) > 0 {
		c.Conditions++
	}
}

func (b *builder) kindsOf(engine gitops.Engine) []string {
	var out []string
	for _, a := range b.applications {
		if a.Engine == engine && !slices.Contains(out, a.Kind) {
			out = append(out, a.Kind)
		}
	}
	slices.Sort(out)
	return out
}
