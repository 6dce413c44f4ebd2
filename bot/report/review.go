package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"holdfast/bot/report/crd"
	"holdfast/detect"
	"holdfast/detect/assess"
)

// Review checks a report against what it must be, from the report alone. Whoever changes a report after it was built can run it
// again. A report with a failed check must not be passed on.
func Review(r Report, catalogue *assess.Assessor, schemas *crd.Schemas) []Check {
	v := reviewer{report: r, catalogue: catalogue, schemas: schemas}
	checks := []struct {
		id, name string
		faults   func() []string
	}{
		{"brief-length", fmt.Sprintf("The brief has at most %d words", MostWords), v.briefLength},
		{"variables", "Each of the six variables stands in each section", v.variables},
		{"given-and-observed", "What was given and what was observed are both told", v.givenAndObserved},
		{"autoscaling", "Intentional autoscaling is counted apart from drift", v.autoscaling},
		{"shares", "The vectors' drifts add up, and their shares to the whole", v.shares},
		{"basis", "Each table says what it rests on, and without data there are no figures", v.basis},
		{"figures", "No figure is negative, endless or no number", v.figures},
		{"multi-cluster", "Each controller is predicted for the fleet now, twice and ten times its size, and for a rollout to all", v.multiCluster},
		{"unstable", "A queue that is not stable says so and names no wait", v.unstable},
		{"controls", "Each control is in the catalogue of its standard", v.controls},
		{"actions", "Each action has a control, effort, measure of success and what it closes", v.actions},
		{"manifests", "Each setting is one that the engine's definition takes", v.manifests},
		{"no-mutation-rights", "No recommendation gives people rights to change clusters", v.mutationRights},
		{"synthetic", "Made-up figures say so wherever they stand", v.synthetic},
	}
	var out []Check
	for _, c := range checks {
		faults := c.faults()
		check := Check{ID: c.id, Name: c.name, Pass: len(faults) == 0}
		if len(faults) > 0 {
			check.Detail = strings.Join(faults[:min(len(faults), 5)], "; ")
		}
		out = append(out, check)
	}
	return out
}

// Failed gives the checks that failed.
func (r Report) Failed() []Check {
	var out []Check
	for _, c := range r.Review {
		if !c.Pass {
			out = append(out, c)
		}
	}
	return out
}

type reviewer struct {
	report    Report
	catalogue *assess.Assessor
	schemas   *crd.Schemas
}

func (v reviewer) briefLength() []string {
	n := Words(v.report.Brief.Text)
	switch {
	case n == 0:
		return []string{"the brief is empty"}
	case n > MostWords:
		return []string{fmt.Sprintf("%d words", n)}
	case n != v.report.Brief.Words:
		return []string{fmt.Sprintf("it has %d words and says %d", n, v.report.Brief.Words)}
	}
	return nil
}

// texts are the sections and the text of each in which the variables must stand.
func (r Report) texts() []struct{ section, text string } {
	return []struct{ section, text string }{
		{SectionBrief, r.Brief.Text}, {SectionMechanism, r.Mechanism.Scope}, {SectionMatrix, r.Matrix.Scope}, {SectionBottleneck, r.Bottleneck.Scope},
		{SectionDetection, r.Detection.Scope}, {SectionCompliance, r.Compliance.Scope}, {SectionPlan, r.Plan.Scope},
	}
}

func (v reviewer) variables() []string {
	var out []string
	names := []string{nameProvider, nameEngine, nameClusters, nameInterval, nameTier, nameStandards}
	for i, name := range names {
		if i >= len(v.report.Variables) || v.report.Variables[i].Name != name {
			return []string{"the variable " + name + " is not listed"}
		}
	}
	for _, t := range v.report.texts() {
		for _, variable := range v.report.Variables {
			want := variable.Used
			switch {
			case variable.Name == nameClusters && want != unknown:
				want += " cluster"
			case variable.Name == nameStandards && want == unknown:
				want = "no standard that was named"
			}
			if want == "" || !strings.Contains(t.text, want) {
				out = append(out, fmt.Sprintf("%s does not name the %s (%s)", t.section, variable.Name, variable.Used))
			}
		}
	}
	return out
}

func (v reviewer) givenAndObserved() []string {
	var out []string
	for _, x := range v.report.Variables {
		switch {
		case x.Used == "":
			out = append(out, x.Name+" has no value, not even that it is unknown")
		case x.Given != "" && x.Used == unknown, x.Observed != "" && x.Used == unknown:
			out = append(out, x.Name+" was given or observed and is said to be unknown")
		case (x.Name == nameClusters || x.Name == nameInterval) && x.Given != "" && x.Observed != "" && x.Given != x.Observed && !x.Differs:
			out = append(out, x.Name+": that given and observed differ is not said")
		case x.Differs && (x.Given == "" || x.Observed == ""):
			out = append(out, x.Name+": what is to differ is not both told")
		case x.Observed != "" && len(x.Because) == 0:
			out = append(out, x.Name+" was observed, and nothing says by what")
		}
	}
	return out
}

func (v reviewer) autoscaling() []string {
	m := v.report.Matrix
	i := slices.IndexFunc(m.Rows, func(row VectorRow) bool { return row.ID == "autoscaling" })
	switch {
	case i < 0:
		return []string{"there is no row for autoscaling"}
	case m.Autoscaling.Basis.Source == "":
		return []string{"nothing says what intentional autoscaling was counted from"}
	case m.Autoscaling.Fields != nil && m.Rows[i].Explained != nil && *m.Rows[i].Explained != *m.Autoscaling.Fields:
		return []string{fmt.Sprintf("%d fields are explained by autoscaling in the row, %d apart from it", *m.Rows[i].Explained, *m.Autoscaling.Fields)}
	case m.Autoscaling.Fields == nil && !v.report.NoData && m.Autoscaling.Basis.N > 0:
		return []string{"there are scans, and intentional autoscaling was not counted"}
	}
	return nil
}

func (v reviewer) shares() []string {
	if v.report.NoData {
		return nil
	}
	sum, parts := 0, 0.0
	for _, row := range v.report.Matrix.Rows {
		switch {
		case row.Count == nil:
			return []string{row.Name + " was not counted"}
		case !row.Drift && row.Share != nil:
			return []string{row.Name + " is no drift and has a share of it"}
		case row.Drift:
			sum += *row.Count
			if row.Share != nil {
				parts += *row.Share
			}
		}
	}
	total := v.report.Matrix.Drifts
	switch {
	case total == nil || *total != sum:
		return []string{fmt.Sprintf("the rows have %d drifts, the whole is another", sum)}
	case sum > 0 && math.Abs(parts-1) > 1e-6:
		return []string{fmt.Sprintf("the shares add up to %.3f", parts)}
	}
	return nil
}

func (v reviewer) basis() []string {
	var out []string
	r := v.report
	for _, b := range []struct {
		name  string
		basis Basis
	}{
		{"brief", r.Brief.Basis}, {"mechanism", r.Mechanism.Basis}, {"matrix", r.Matrix.Basis}, {"autoscaling", r.Matrix.Autoscaling.Basis}, {"tier", r.Matrix.Tier.Basis},
		{"bottleneck", r.Bottleneck.Basis}, {"detection", r.Detection.Basis}, {"compliance", r.Compliance.Basis}, {"plan", r.Plan.Basis},
	} {
		if b.basis.Source == "" || b.basis.Sample == "" {
			out = append(out, b.name+" does not say what it rests on")
		}
		if r.NoData && b.basis.N != 0 {
			out = append(out, b.name+" has a sample without data")
		}
	}
	for _, x := range []struct {
		name string
		p    Percentiles
	}{{"change to detection", r.Detection.ChangeToDetection}, {"detection to closure", r.Detection.DetectionToClosure}, {"change to closure", r.Detection.ChangeToClosure}} {
		if x.p.N == 0 && (x.p.P50 != nil || x.p.P95 != nil || x.p.P99 != nil || x.p.Mean != nil || x.p.Max != nil) {
			out = append(out, x.name+" has percentiles of nothing")
		}
	}
	if !r.NoData {
		return out
	}
	figures := 0
	for _, row := range r.Matrix.Rows {
		if row.Count != nil || row.Share != nil || row.PerClusterDay != nil || row.Explained != nil {
			figures++
		}
	}
	if r.Matrix.Drifts != nil || r.Matrix.Autoscaling.Fields != nil || len(r.Detection.Missed)+len(r.Bottleneck.Controllers) > 0 || r.Brief.Applications != nil {
		figures++
	}
	if figures > 0 {
		out = append(out, "there are figures, and no data")
	}
	return out
}

// figures walks all of the report's numbers.
func (v reviewer) figures() []string {
	var out []string
	var walk func(at string, x reflect.Value)
	walk = func(at string, x reflect.Value) {
		switch x.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !x.IsNil() {
				walk(at, x.Elem())
			}
		case reflect.Struct:
			for i := range x.NumField() {
				if f := x.Type().Field(i); f.IsExported() && f.Name != "Error" { // the error of a model may have either sign
					walk(at+"."+f.Name, x.Field(i))
				}
			}
		case reflect.Slice:
			for i := range x.Len() {
				walk(fmt.Sprintf("%s[%d]", at, i), x.Index(i))
			}
		case reflect.Map:
			for _, key := range x.MapKeys() {
				walk(at+"."+key.String(), x.MapIndex(key))
			}
		case reflect.Float64:
			if f := x.Float(); math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
				out = append(out, fmt.Sprintf("%s is %v", strings.TrimPrefix(at, "."), f))
			}
		case reflect.Int, reflect.Int64:
			if x.Int() < 0 {
				out = append(out, fmt.Sprintf("%s is %d", strings.TrimPrefix(at, "."), x.Int()))
			}
		}
	}
	r := v.report
	for name, part := range map[string]any{
		"brief": r.Brief, "mechanism": r.Mechanism, "matrix.rows": r.Matrix.Rows, "matrix.autoscaling": r.Matrix.Autoscaling, "matrix.tier": r.Matrix.Tier,
		"matrix.clusterDays": r.Matrix.ClusterDays, "bottleneck": r.Bottleneck, "detection": r.Detection, "compliance": r.Compliance,
	} {
		walk(name, reflect.ValueOf(part))
	}
	slices.Sort(out)
	return out
}

func (v reviewer) multiCluster() []string {
	var out []string
	for _, c := range v.report.Bottleneck.Controllers {
		for _, factor := range factors() {
			for _, rollout := range []bool{false, true} {
				if !slices.ContainsFunc(v.report.Bottleneck.Predictions, func(p Forecast) bool {
					return p.Cluster == c.Cluster && p.Controller == c.Name && p.Factor == factor && p.Rollout == rollout && p.Says != ""
				}) {
					out = append(out, fmt.Sprintf("%s of %s is not predicted at %d times, rollout %t", c.Name, c.Cluster, factor, rollout))
				}
			}
		}
	}
	if v.report.Bottleneck.API.Says == "" || v.report.Bottleneck.Repository.Says == "" {
		out = append(out, "the load of API servers and repositories is not told")
	}
	return out
}

func (v reviewer) unstable() []string {
	var out []string
	for _, p := range v.report.Bottleneck.Predictions {
		if p.Formula == nil {
			continue
		}
		over := p.Formula.Utilisation >= 1
		switch {
		case over == p.Formula.Stable:
			out = append(out, fmt.Sprintf("%s of %s: utilisation %.2f, stable %t", p.Controller, p.Cluster, p.Formula.Utilisation, p.Formula.Stable))
		case over && (p.Formula.Wait != nil || p.Formula.Drain != nil || !strings.Contains(p.Says, "not stable")):
			out = append(out, fmt.Sprintf("%s of %s is not stable, and a wait is named or nothing said", p.Controller, p.Cluster))
		}
	}
	return out
}

// allControls are the references of all sections.
func (r Report) allControls() []detect.Control {
	var out []detect.Control
	for _, row := range r.Matrix.Rows {
		out = append(out, row.Controls...)
	}
	for _, x := range r.Detection.Expectations {
		out = append(out, x.Control...)
	}
	for _, s := range r.Compliance.Scenarios {
		out = append(out, s.Controls...)
	}
	for _, t := range r.Compliance.Trails {
		out = append(out, t.Controls...)
	}
	for _, a := range r.Plan.Actions {
		out = append(out, a.Controls...)
	}
	return out
}

func (v reviewer) controls() []string {
	titles := map[detect.Control]bool{}
	for _, standard := range v.catalogue.Standards() {
		for _, m := range v.catalogue.Mapping(standard) {
			titles[m.Control] = true
		}
	}
	var out []string
	for _, c := range v.report.allControls() {
		if !titles[c] {
			out = append(out, fmt.Sprintf("%s %s (%s)", c.Standard, c.ID, c.Title))
		}
	}
	return out
}

func (v reviewer) actions() []string {
	var out []string
	named := v.report.Variables[len(v.report.Variables)-1].Used != unknown
	for _, a := range v.report.Plan.Actions {
		switch {
		case a.Title == "" || a.Why == "" || a.Effort == "" || a.Success == "":
			out = append(out, a.ID+" lacks its reason, effort or measure of success")
		case len(a.Closes) == 0:
			out = append(out, a.ID+" closes nothing")
		case named && len(a.Controls) == 0:
			out = append(out, a.ID+" serves no control")
		case priorityRank(a.Priority) < 0:
			out = append(out, a.ID+" has the priority "+a.Priority)
		case len(a.Manifests)+len(a.Steps) == 0:
			out = append(out, a.ID+" does not say what to set")
		}
	}
	if len(v.report.Plan.Actions) == 0 {
		out = append(out, "there is no action")
	}
	return out
}

func (v reviewer) manifests() []string {
	var out []string
	for _, a := range v.report.Plan.Actions {
		for _, m := range a.Manifests {
			for _, fault := range v.schemas.Check(m.YAML, m.Patch) {
				out = append(out, a.ID+": "+fault)
			}
			if m.Definition == "" {
				out = append(out, a.ID+" does not say what its setting was held against")
			}
		}
	}
	return out
}

func (v reviewer) synthetic() []string {
	if v.report.Synthetic == "" {
		return nil
	}
	var out []string
	if !strings.Contains(v.report.Brief.Text, "synthetic") {
		out = append(out, "the brief does not say so")
	}
	r := v.report
	for _, b := range []struct {
		name  string
		basis Basis
	}{
		{"brief", r.Brief.Basis}, {"mechanism", r.Mechanism.Basis}, {"matrix", r.Matrix.Basis}, {"autoscaling", r.Matrix.Autoscaling.Basis},
		{"bottleneck", r.Bottleneck.Basis}, {"detection", r.Detection.Basis}, {"compliance", r.Compliance.Basis}, {"plan", r.Plan.Basis},
	} {
		if b.basis.N > 0 && !strings.Contains(b.basis.Source, "synthetic") {
			out = append(out, "the basis of "+b.name+" does not say so")
		}
	}
	return out
}
