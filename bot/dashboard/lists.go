package dashboard

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/bot/serve"
	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/templates"
)

const (
	// perPage is how many rows a page of a list has.
	perPage = 50
	// mostShort is how many rows a list beside others has.
	mostShort = 10
	// mostName bounds a filter, in bytes.
	mostName = 200
)

// overview is the page about the fleet.
func (d *Dashboard) overview(w http.ResponseWriter, r *http.Request, who viewer) {
	d.show(w, r, who, func(x *index) (func(io.Writer) error, bool) {
		now := d.options.Now()
		v := templates.OverviewPage{Frame: d.frame(who, "overview", "Fleet"), Drifts: len(x.drifts), Risks: byRiskAndAge(x.drifts, now)}
		for _, a := range ages() {
			v.Ages = append(v.Ages, a.name)
		}
		var healthy, objects, unknown int
		for _, c := range x.clusters {
			row := clusterRow(c, now)
			v.Clusters = append(v.Clusters, row)
			objects += row.Objects
			unknown += row.Unknown
			if row.Tone == "good" {
				healthy++
			}
		}
		assessed := 0
		for _, a := range x.applications {
			if a.State == detect.Rendered {
				assessed++
			}
		}
		v.Figures = []templates.Figure{
			{Name: "clusters in order", Value: fmt.Sprintf("%d of %d", healthy, len(x.clusters))},
			{Name: "Applications assessed", Value: fmt.Sprintf("%d of %d", assessed, len(x.applications))},
			{Name: "objects compared", Value: strconv.Itoa(objects)},
			{Name: "objects not judged", Value: strconv.Itoa(unknown)},
			{Name: "objects drift", Value: strconv.Itoa(len(x.drifts))},
		}
		v.Sentence = sentence(len(x.clusters), healthy, len(x.drifts))
		for _, one := range x.drifts[:min(len(x.drifts), mostShort)] {
			if one.finding.Risk >= detect.High {
				v.Urgent = append(v.Urgent, x.row(one, now))
			}
		}
		for _, g := range x.gone[:min(len(x.gone), mostShort)] {
			v.Settled = append(v.Settled, templates.SettledRow{
				Href: "/drift/" + url.PathEscape(g.id), Cluster: g.cluster, Application: g.past.Application, Object: objectName(g.past.Object),
				Gone: when(g.past.Gone, now), Lasted: detect.Age(g.past.Gone.Sub(g.past.Since)),
			})
		}
		return func(out io.Writer) error { return d.pages.Overview(out, v) }, true
	})
}

func sentence(clusters, healthy, drifts int) string {
	drift := "Nothing drifts."
	if drifts == 1 {
		drift = "One object drifts."
	} else if drifts > 1 {
		drift = fmt.Sprintf("%d objects drift.", drifts)
	}
	if healthy == clusters {
		return "Every cluster is scanned as it should be. " + drift
	}
	return fmt.Sprintf("%d of %d clusters are not in order, so there may be more than is seen. %s", clusters-healthy, clusters, drift)
}

// byRiskAndAge counts the drifts, the sum of each risk last.
func byRiskAndAge(drifts []drift, now time.Time) []templates.RiskRow {
	counts := map[detect.Risk][]int{}
	for _, one := range drifts {
		if counts[one.finding.Risk] == nil {
			counts[one.finding.Risk] = make([]int, len(ages()))
		}
		counts[one.finding.Risk][ageOf(one.since, now)]++
	}
	var out []templates.RiskRow
	for _, risk := range append(risks(), 0) {
		if risk == 0 && counts[0] == nil {
			continue // every drift was assessed, as it should be
		}
		row := templates.RiskRow{Risk: risk.String()}
		sum := 0
		for i, a := range ages() {
			n := 0
			if counts[risk] != nil {
				n = counts[risk][i]
			}
			sum += n
			row.Cells = append(row.Cells, templates.CountCell{Count: n, Href: path("/drifts", "risk", risk.String(), "age", a.name)})
		}
		row.Cells = append(row.Cells, templates.CountCell{Count: sum, Href: path("/drifts", "risk", risk.String())})
		out = append(out, row)
	}
	return out
}

// clusterRow says how a cluster does. One that was not scanned for three intervals is late, whatever its last round
// said.
func clusterRow(c cluster, now time.Time) templates.ClusterRow {
	row := templates.ClusterRow{Name: c.name, Href: path("/applications", "cluster", c.name), State: "waiting for its first round", Tone: "warn"}
	if c.report == nil {
		return row
	}
	r := c.report
	row.Scanned, row.Objects, row.Applications, row.Drifts = when(r.Scan.Time, now), r.Scan.Objects, len(r.Scan.Applications), len(c.drifts)
	row.Unknown = countUnknown(*r)
	if len(c.drifts) > 0 {
		row.Worst = c.drifts[0].finding.Risk.String()
	}
	switch {
	case r.Error != "":
		row.State, row.Tone, row.Reason = "failing since "+detect.Age(now.Sub(r.FailingSince)), "bad", r.Error
	case c.every > 0 && now.Sub(r.Ended) > 3*c.every:
		row.State, row.Tone, row.Reason = "late", "bad", fmt.Sprintf("it is to be scanned every %s", c.every)
	case !r.Complete(""):
		row.State, row.Tone, row.Reason = "scanned in part", "warn", "not all could be judged"
	default:
		row.State, row.Tone = "in order", "good"
	}
	return row
}

func countUnknown(r serve.Report) int {
	n := 0
	for _, u := range r.Scan.Unknown {
		if !u.ByChoice {
			n++
		}
	}
	return n
}

// drifts is the list of what drifts.
func (d *Dashboard) drifts(w http.ResponseWriter, r *http.Request, who viewer) {
	query := r.URL.Query()
	f := filter{cluster: query.Get("cluster"), age: query.Get("age"), name: bounded(query.Get("name"))}
	if slices.ContainsFunc(risks(), func(known detect.Risk) bool { return known.String() == query.Get("risk") }) {
		_ = f.risk.UnmarshalText([]byte(query.Get("risk"))) // it is one of them
	}
	if !slices.ContainsFunc(ages(), func(a age) bool { return a.name == f.age }) {
		f.age = ""
	}
	d.show(w, r, who, func(x *index) (func(io.Writer) error, bool) {
		now := d.options.Now()
		v := templates.DriftsPage{Frame: d.frame(who, "drifts", "Open drift"), Name: f.name, Filtered: f != (filter{}), Clusters: x.clusterOptions(f.cluster)}
		for _, known := range risks() {
			v.Risks = append(v.Risks, templates.Option{Value: known.String(), Chosen: known == f.risk})
		}
		for _, a := range ages() {
			v.Ages = append(v.Ages, templates.Option{Value: a.name, Chosen: a.name == f.age})
		}
		v.Rows, v.Pager = x.rows(x.filtered(f, now), query, func(n string) string {
			return path("/drifts", "cluster", f.cluster, "risk", f.risk.String(), "age", f.age, "name", f.name, "page", n)
		}, now)
		return func(out io.Writer) error { return d.pages.Drifts(out, v) }, true
	})
}

// rows gives the rows of a page of drifts. To is the path of another page.
func (x *index) rows(all []drift, query url.Values, to func(page string) string, now time.Time) ([]templates.DriftRow, templates.Pager) {
	pager, from, end := paged(len(all), query, to)
	var out []templates.DriftRow
	for _, one := range all[from:end] {
		out = append(out, x.row(one, now))
	}
	return out, pager
}

func (x *index) row(one drift, now time.Time) templates.DriftRow {
	f := one.finding
	row := templates.DriftRow{
		Href: "/drift/" + url.PathEscape(f.ID), Cluster: f.Cluster, Application: f.Application, Object: objectName(f.Object),
		Risk: f.Risk.String(), Cause: string(f.Cause), Disposition: string(f.Disposition), Since: when(one.since, now),
	}
	if f.Writer != nil {
		row.Writer = f.Writer.Name()
	}
	for _, t := range x.threads[f.ID] {
		row.Threads = append(row.Threads, threadLink(t))
	}
	return row
}

func (x *index) clusterOptions(chosen string) []templates.Option {
	var out []templates.Option
	for _, c := range x.clusters {
		out = append(out, templates.Option{Value: c.name, Chosen: c.name == chosen})
	}
	return out
}

// applications is the list of Applications.
func (d *Dashboard) applications(w http.ResponseWriter, r *http.Request, who viewer) {
	query := r.URL.Query()
	chosen, name := query.Get("cluster"), bounded(query.Get("name"))
	d.show(w, r, who, func(x *index) (func(io.Writer) error, bool) {
		v := templates.ApplicationsPage{Frame: d.frame(who, "applications", "Applications"), Name: name, Filtered: chosen+name != "", Clusters: x.clusterOptions(chosen)}
		fits := slices.DeleteFunc(slices.Clone(x.applications), func(a application) bool {
			return chosen != "" && a.cluster != chosen || !strings.Contains(strings.ToLower(a.name()), strings.ToLower(name))
		})
		pager, from, end := paged(len(fits), query, func(n string) string {
			return path("/applications", "cluster", chosen, "name", name, "page", n)
		})
		v.Pager = pager
		for _, a := range fits[from:end] {
			v.Rows = append(v.Rows, applicationRow(a))
		}
		return func(out io.Writer) error { return d.pages.Applications(out, v) }, true
	})
}

func applicationRow(a application) templates.ApplicationRow {
	source := a.Application.Source
	row := templates.ApplicationRow{
		Href: "/application/" + a.key, Cluster: a.cluster, Name: a.name(), Engine: engine(a.Application),
		State: "assessed", Tone: "good", Repo: gitops.WithoutCredentials(source.Repo), Path: source.Path, Revision: source.Applied,
		Drifts: len(a.drifts),
	}
	if a.State != detect.Rendered {
		row.State, row.Tone = "not assessed", "bad"
	}
	for _, c := range a.Conditions {
		text := cmp.Or(c.Message, "no more is told")
		if !c.Since.IsZero() {
			text += ", since " + c.Since.UTC().Format(time.RFC3339)
		}
		if c.Writer != nil && c.Writer.Name() != "" {
			text += ", by " + c.Writer.Name()
		}
		row.Conditions = append(row.Conditions, templates.ConditionView{Type: string(c.Type), Text: text})
	}
	if len(a.drifts) > 0 {
		row.Worst = a.drifts[0].finding.Risk.String()
	}
	return row
}

// engine names the engine and the kind of its object, where that says more.
func engine(a gitops.Application) string {
	if a.Kind == "" || a.Engine == gitops.ArgoCD {
		return string(a.Engine)
	}
	return string(a.Engine) + " " + a.Kind
}

// application is the page about one Application.
func (d *Dashboard) application(w http.ResponseWriter, r *http.Request, who viewer) {
	key := r.PathValue("key")
	d.show(w, r, who, func(x *index) (func(io.Writer) error, bool) {
		a, known := x.byKey[key]
		if !known {
			return nil, false
		}
		v := templates.ApplicationPage{Frame: d.frame(who, "applications", a.name()), Row: applicationRow(a), Reason: a.Reason, Correction: correction(a.Application)}
		v.Rows, v.Pager = x.rows(a.drifts, r.URL.Query(), func(n string) string { return path("/application/"+key, "page", n) }, d.options.Now())
		for _, u := range a.unknown[:min(len(a.unknown), perPage)] {
			v.Unknown = append(v.Unknown, templates.NamedText{Name: objectName(u.Object), Text: u.Reason})
		}
		return func(out io.Writer) error { return d.pages.Application(out, v) }, true
	})
}

// correction says when the engine undoes live changes.
func correction(a gitops.Application) string {
	switch {
	case a.Suspended:
		return "none while it is suspended"
	case a.Correction == gitops.Heals && a.Interval > 0:
		return fmt.Sprintf("by itself, within %s", a.Interval)
	case a.Correction == gitops.Heals:
		return "by itself"
	case a.Correction == gitops.OnCommit:
		return "at the next commit only"
	}
	return "by hand only"
}

// paged says which part of a list the request asks for, the last page where it asks for more than there is.
func paged(total int, query url.Values, to func(page string) string) (p templates.Pager, from, end int) {
	p = templates.Pager{Page: 1, Pages: max(1, (total+perPage-1)/perPage), Total: total}
	if n, err := strconv.Atoi(query.Get("page")); err == nil && n > 1 {
		p.Page = min(n, p.Pages)
	}
	if p.Page > 1 {
		p.Before = to(strconv.Itoa(p.Page - 1))
	}
	if p.Page < p.Pages {
		p.After = to(strconv.Itoa(p.Page + 1))
	}
	from = (p.Page - 1) * perPage
	return p, from, min(total, from+perPage)
}

// path gives a path with those of the named values that are not empty.
func path(base string, pairs ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return base
	}
	return base + "?" + query.Encode()
}

func bounded(name string) string { return strings.ToValidUTF8(name[:min(len(name), mostName)], "") }

func when(t, now time.Time) templates.When {
	if t.IsZero() {
		return templates.When{}
	}
	return templates.When{Time: t, Ago: detect.Age(now.Sub(t)) + " ago"}
}
