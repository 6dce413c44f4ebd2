package dashboard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/bot/serve"
	"holdfast/detect"
)

// index is the fleet in the order in which pages show it. It is made once a change and only read then.
type index struct {
	// of tells which reports it was made of.
	of       string
	clusters []cluster
	// drifts are those with the highest risk first, of one risk the oldest first.
	drifts []drift
	byID   map[string]drift
	// gone are those that drift no more, the latest first.
	gone         []gone
	goneByID     map[string]gone
	applications []application
	byKey        map[string]application
	threads      map[string][]serve.Thread // by the findings' IDs
}

type cluster struct {
	name   string
	every  time.Duration
	report *serve.Report // nil before the first round
	drifts []drift
}

type drift struct {
	finding *detect.Finding
	report  *serve.Report
	since   time.Time
	// name is what filters look into, in lower case.
	name string
}

type gone struct {
	id, cluster string
	past        serve.Past
}

type application struct {
	detect.AssessedApplication
	key, cluster string
	drifts       []drift
	unknown      []detect.UnknownObject
}

// name is the Application's name within its cluster, as findings have it.
func (a application) name() string { return a.Application.Namespace + "/" + a.Application.Name }

// applicationKey names an Application in paths, whatever its own name is.
func applicationKey(cluster, name string) string {
	return detect.Digest("application", cluster, name)[:16]
}

// stamp tells whether reports are those that an index was made of.
func stamp(reports []serve.Report) string {
	var out strings.Builder
	for _, r := range reports {
		out.WriteString(r.Cluster + "\x00" + r.Ended.Format(time.RFC3339Nano) + "\x00")
	}
	return out.String()
}

func newIndex(configured []serve.Cluster, reports []serve.Report) *index {
	x := &index{of: stamp(reports), byID: map[string]drift{}, goneByID: map[string]gone{}, byKey: map[string]application{}, threads: map[string][]serve.Thread{}}
	for _, c := range configured {
		one := cluster{name: c.Name, every: c.Every}
		if i := slices.IndexFunc(reports, func(r serve.Report) bool { return r.Cluster == c.Name }); i >= 0 {
			one.report = &reports[i]
			one.drifts = driftsOf(one.report)
			x.take(one)
		}
		x.clusters = append(x.clusters, one)
	}
	slices.SortFunc(x.clusters, func(a, b cluster) int { return cmp.Compare(a.name, b.name) })
	slices.SortFunc(x.drifts, order)
	slices.SortFunc(x.gone, func(a, b gone) int {
		return cmp.Or(b.past.Gone.Compare(a.past.Gone), cmp.Compare(a.id, b.id))
	})
	slices.SortFunc(x.applications, func(a, b application) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.name(), b.name()), cmp.Compare(a.Application.Kind, b.Application.Kind))
	})
	return x
}

// order puts the highest risk first, of one risk what has drifted longest.
func order(a, b drift) int {
	return cmp.Or(cmp.Compare(b.finding.Risk, a.finding.Risk), a.since.Compare(b.since), cmp.Compare(a.finding.ID, b.finding.ID))
}

func driftsOf(r *serve.Report) []drift {
	var out []drift
	for i := range r.Scan.Findings {
		f := &r.Scan.Findings[i]
		if !f.Drift {
			continue
		}
		one := drift{finding: f, report: r, since: f.FirstSeen, name: strings.ToLower(objectName(f.Object) + " " + f.Application)}
		if past, known := r.History[f.ID]; known && !past.Since.IsZero() && (past.Since.Before(one.since) || one.since.IsZero()) {
			one.since = past.Since
		}
		out = append(out, one)
	}
	slices.SortFunc(out, order)
	return out
}

// take adds what the report of a cluster holds.
func (x *index) take(c cluster) {
	r := c.report
	byApplication := map[string][]drift{}
	for _, d := range c.drifts {
		x.byID[d.finding.ID] = d
		byApplication[d.finding.Application] = append(byApplication[d.finding.Application], d)
	}
	x.drifts = append(x.drifts, c.drifts...)
	unknown := map[string][]detect.UnknownObject{}
	for _, u := range r.Scan.Unknown {
		unknown[u.Application] = append(unknown[u.Application], u)
	}
	for _, a := range r.Scan.Applications {
		one := application{AssessedApplication: a, cluster: c.name}
		one.key = applicationKey(c.name, one.name())
		one.drifts, one.unknown = byApplication[one.name()], unknown[one.name()]
		x.applications = append(x.applications, one)
		x.byKey[one.key] = one
	}
	for _, id := range slices.Sorted(maps.Keys(r.History)) {
		if past := r.History[id]; !past.Gone.IsZero() {
			x.gone = append(x.gone, gone{id, c.name, past})
			x.goneByID[id] = x.gone[len(x.gone)-1]
		}
	}
	for _, t := range r.Published.Threads {
		for _, id := range t.Findings {
			x.add(id, t)
		}
	}
}

// add notes a thread of a finding. Reports of several clusters may tell of the same one: that which did something
// counts, else the first.
func (x *index) add(id string, t serve.Thread) {
	known := x.threads[id]
	i := slices.IndexFunc(known, func(k serve.Thread) bool { return k.URL == t.URL && k.Kind == t.Kind && k.Number == t.Number })
	switch {
	case i < 0:
		x.threads[id] = append(known, t)
	case known[i].Proof == nil && t.Proof != nil, known[i].State == bot.Open && t.State != bot.Open:
		known[i] = t
	}
}

// Ages are the classes of age, the youngest first, each up to its bound.
type age struct {
	name  string
	under time.Duration // 0 for no bound
}

func ages() []age {
	const day = 24 * time.Hour
	return []age{{"under 1h", time.Hour}, {"under 1d", day}, {"under 7d", 7 * day}, {"under 30d", 30 * day}, {"30d and more", 0}}
}

// ageOf is the index of the class that a drift belongs to.
func ageOf(since, now time.Time) int {
	all := ages()
	return slices.IndexFunc(all, func(a age) bool { return a.under == 0 || now.Sub(since) < a.under })
}

// risks are those that drifts are listed by, the highest first.
func risks() []detect.Risk {
	return []detect.Risk{detect.Critical, detect.High, detect.Medium, detect.Low}
}

// filter is what a list of drifts is narrowed to. The zero filter takes all.
type filter struct {
	cluster string
	risk    detect.Risk
	age     string
	name    string
}

func (f filter) takes(d drift, now time.Time) bool {
	return (f.cluster == "" || d.finding.Cluster == f.cluster) &&
		(f.risk == 0 || d.finding.Risk == f.risk) &&
		(f.age == "" || ages()[ageOf(d.since, now)].name == f.age) &&
		(f.name == "" || strings.Contains(d.name, strings.ToLower(f.name)))
}

func (x *index) filtered(f filter, now time.Time) []drift {
	if f == (filter{}) {
		return x.drifts
	}
	var out []drift
	for _, d := range x.drifts {
		if f.takes(d, now) {
			out = append(out, d)
		}
	}
	return out
}

// objectName is how pages name an object.
func objectName(r detect.ObjectRef) string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}
