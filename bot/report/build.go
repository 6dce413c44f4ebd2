package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/detect/setting"
)

// builder makes the sections, each from what those before it rest on.
type builder struct {
	Input
	observed observed
	use      setting.Setting
	said     said
	history  history
	// applications are those of the newest scan of each cluster, newest their findings.
	applications []Application
	newest       []detect.Finding
	unread       []Unread
}

// Build makes a report and reviews it. An input that cannot be one (no assessor, a negative number) is an error; bad data are
// not: what is wrong with them is said in the report.
func Build(in Input) (Report, error) {
	switch {
	case in.Assessor == nil || in.Knowledge == nil || in.Schemas == nil:
		return Report{}, errors.New("report: the tables of risks, of knowledge and of definitions are needed")
	case in.Given.Clusters < 0 || in.Given.Interval < 0:
		return Report{}, fmt.Errorf("report: %d clusters, an interval of %s: neither can be negative", in.Given.Clusters, in.Given.Interval)
	}
	b := &builder{Input: in, observed: observe(in), history: newHistory(in)}
	b.use = used(in.Given, b.observed)
	b.said = say(b.use)
	b.newestOfEach()
	r := Report{APIVersion: "holdfast/v1", Kind: "Report", Title: Title, Time: in.Now.UTC(), Synthetic: in.Synthetic, NoData: b.noData()}
	r.Variables = variables(in.Given, b.observed, b.use)
	r.Data = b.data()
	r.Mechanism = b.mechanism()
	r.Matrix = b.matrix()
	r.Bottleneck = b.bottleneck()
	r.Detection = b.detection()
	r.Compliance = b.compliance()
	r.Plan = b.plan(r)
	r.Brief = b.brief(r)
	r.Review = Review(r, in.Assessor, in.Schemas)
	return r, nil
}

// noData says whether nothing at all was observed.
func (b *builder) noData() bool {
	return len(b.applications) == 0 && len(b.history.windows) == 0 && len(b.Controllers) == 0 && len(b.newest) == 0
}

// newestOfEach takes, of each cluster, the newest scan that tells of it.
func (b *builder) newestOfEach() {
	newest := map[string]int{}
	for i, s := range b.Scans {
		clusters := map[string]bool{}
		for _, c := range s.Clusters {
			clusters[c.Name] = true
		}
		for _, a := range s.Applications {
			clusters[a.Cluster] = true
		}
		for c := range clusters {
			if j, ok := newest[c]; !ok || b.Scans[j].Time.Before(s.Time) {
				newest[c] = i
			}
		}
		b.unread = append(b.unread, s.Unknown...)
	}
	for i, s := range b.Scans {
		for _, a := range s.Applications {
			if newest[a.Cluster] == i {
				b.applications = append(b.applications, a)
			}
		}
		for _, f := range s.Findings {
			if newest[f.Cluster] == i {
				b.newest = append(b.newest, f)
			}
		}
	}
	b.unread = append(b.unread, b.Unread...)
}

// engines are those of the report.
func (b *builder) engines() []setting.Engine { return b.use.Engines }

func (b *builder) looks() int {
	n := 0
	for _, p := range b.history.periods {
		n += p.looks
	}
	return n
}

// sources names where the figures are from.
func (b *builder) sources() string {
	var out []string
	if n := len(b.Scans); n > 0 {
		out = append(out, counted(n, "scan"))
	}
	if n := len(b.Trails); n > 0 {
		out = append(out, counted(n, "ledger"))
	}
	if n := len(b.Controllers); n > 0 {
		out = append(out, "figures of "+counted(n, "controller"))
	}
	if len(out) == 0 {
		return "nothing was read"
	}
	return b.marked(strings.Join(out, ", "))
}

// marked says of a source whether its figures are made up.
func (b *builder) marked(source string) string {
	if b.Synthetic != "" {
		return source + " (synthetic)"
	}
	return source
}

func (b *builder) data() Data {
	d := Data{WrongClocks: b.history.wrongClocks, Inputs: []DataInput{}}
	for _, s := range b.Scans {
		d.Inputs = append(d.Inputs, DataInput{
			What: "scan", Source: s.Source, From: s.Time.UTC(), To: s.Time.UTC(),
			Sample: fmt.Sprintf("%s, %s, %s", counted(len(s.Applications), "Application"), counted(s.Objects, "object"), counted(len(s.Findings), "finding")),
		})
	}
	for i := range b.Trails {
		t := &b.Trails[i]
		d.Inputs = append(d.Inputs, DataInput{What: "ledger", Source: t.Source, From: t.First, To: t.Last,
			Sample: fmt.Sprintf("%s about %s; %s", counted(t.Records, "record"), counted(len(t.order), "finding"), cmp.Or(string(t.Verdict), "not verified"))})
	}
	for _, c := range b.Controllers {
		n := 0
		if c.Duration != nil {
			n = c.Duration.Count
		}
		d.Inputs = append(d.Inputs, DataInput{What: "controller", Source: c.Source, Sample: fmt.Sprintf("%s of %s, %s", c.Name, c.Cluster, counted(n, "turn"))})
	}
	seen := map[Unread]bool{}
	for _, u := range b.unread {
		if !seen[u] {
			seen[u] = true
			d.Unread = append(d.Unread, u)
		}
	}
	return d
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// wholeDays is how many whole days lie between two times.
func wholeDays(from, to time.Time) int { return max(0, int(to.Sub(from).Hours()/24)) }
