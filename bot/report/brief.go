package report

import (
	"fmt"
	"strings"

	"holdfast/detect"
)

// MostWords is how long the brief may be.
const MostWords = 150

// Words counts the words of a text as its readers would: whatever stands between blanks and is more than a mark.
func Words(text string) int {
	n := 0
	for _, word := range strings.Fields(text) {
		if strings.Trim(word, "-–—·:;,.()/") != "" {
			n++
		}
	}
	return n
}

// brief says in at most 150 words how the fleet is and what weighs most. Sentences come in order of weight; those that do not fit
// are left out, the first never.
func (b *builder) brief(r Report) Brief {
	out := Brief{Basis: Basis{Source: b.sources(), Sample: fmt.Sprintf("%s on %s", counted(len(b.applications), "Application"), counted(len(b.observed.clusters), "cluster")), N: len(b.applications)}}
	if b.noData() {
		out.Basis = Basis{Source: "nothing was read", Sample: "no data"}
	}
	for _, sentence := range b.sentences(r, &out) {
		if longer := strings.TrimSpace(out.Text + " " + sentence); out.Text == "" || Words(longer) <= MostWords {
			out.Text = longer
		}
	}
	out.Words = Words(out.Text)
	return out
}

func (b *builder) sentences(r Report, out *Brief) []string {
	where := b.said.scope("This is about {engine} on {provider}, {clusters}, tier {tier}, detection interval {interval}, under {standards}.")
	if b.Synthetic != "" {
		where = "All figures are synthetic. " + where
	}
	if b.noData() {
		return []string{where, "Nothing was observed: no scan, ledger or controller gave data, so sync health and exposure are unknown.",
			"Run holdfast scan -o json, or name a cluster, and build this report from it; what stands below holds for any such fleet."}
	}
	sentences := []string{where, b.health(out), b.exposure(r, out)}
	if top := r.Plan.Actions; len(top) > 0 {
		sentences = append(sentences, "First: "+strings.ToLower(top[0].Title[:1])+top[0].Title[1:]+".")
	}
	gaps := 0
	for _, t := range r.Compliance.Trails {
		if t.Met == notMet || t.Met == unknown {
			gaps++
		}
	}
	if n := len(r.Compliance.Trails); n > 0 {
		sentences = append(sentences, fmt.Sprintf("Of %d demands on the audit trail, %d are not shown to be met.", n, gaps))
	}
	for _, p := range r.Bottleneck.Predictions {
		if p.Formula != nil && !p.Formula.Stable {
			sentences = append(sentences, fmt.Sprintf("%s of %s does not keep up at %d× the clusters.", p.Controller, p.Cluster, p.Factor))
			break
		}
	}
	if f := r.Matrix.Autoscaling.Fields; f != nil && *f > 0 {
		sentences = append(sentences, fmt.Sprintf("Intentional scaling of %s is not counted as drift.", counted(*r.Matrix.Autoscaling.Objects, "object")))
	}
	return sentences
}

// health is how many Applications are as Git has them.
func (b *builder) health(out *Brief) string {
	applications, unassessed := len(b.applications), 0
	drifts := map[string]bool{}
	for _, a := range b.applications {
		if !a.Assessed {
			unassessed++
		}
	}
	for _, f := range b.newest {
		if f.Drift {
			drifts[f.Cluster+"/"+f.Application] = true
		}
	}
	drifting := 0
	for _, a := range b.applications {
		if a.Assessed && drifts[a.ID()] {
			drifting++
		}
	}
	if applications == 0 {
		return fmt.Sprintf("Sync health now is unknown, since no scan was read; the ledger tells of %s.", counted(len(b.history.windows), "drift window"))
	}
	out.Applications, out.Unassessed, out.Drifting = &applications, &unassessed, &drifting
	assessed := applications - unassessed
	text := fmt.Sprintf("Sync health: of %s on %s, %d are as Git declares and %d drift (%s)", counted(applications, "Application"), counted(len(b.observed.clusters), "observed cluster"),
		assessed-drifting, drifting, share(drifting, assessed))
	if unassessed > 0 {
		text += fmt.Sprintf("; %d could not be assessed", unassessed)
	}
	return text + "."
}

// exposure is the vector whose open drift weighs most.
func (b *builder) exposure(r Report, out *Brief) string {
	best, worst := -1, detect.Risk(0)
	for i, row := range r.Matrix.Rows {
		if !row.Drift || row.Count == nil || *row.Count == 0 {
			continue
		}
		if risk := riskRank(row.Risk); best < 0 || risk > worst || risk == worst && *row.Count > *r.Matrix.Rows[best].Count {
			best, worst = i, risk
		}
	}
	if best < 0 {
		return "Primary exposure: none was seen."
	}
	row := r.Matrix.Rows[best]
	out.Exposure, out.Risk = row.ID, worst.String()
	return fmt.Sprintf("Primary exposure: %s, %s of all drift, worst %s: %s.", strings.ToLower(row.Name[:1])+row.Name[1:], figure(row.Share, percent), row.Risk, row.Looms)
}
