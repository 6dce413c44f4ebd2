package serve

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"holdfast/bot/store"
	"holdfast/detect"
)

// mostApplications bounds the Applications that have drift gauges of their own. Those beyond, by name, count together
// as application "other" of their cluster.
const mostApplications = 1000

// Metrics are what /metrics tells. Names follow those of peers (scm_calls_total, git_operations_duration_seconds)
// behind the prefix holdfast_. Labels hold names of the configuration, of Applications, and fixed words only.
type Metrics struct {
	registry *prometheus.Registry

	calls      *prometheus.CounterVec
	callTime   *prometheus.HistogramVec
	quota      *prometheus.GaugeVec
	git        *prometheus.HistogramVec
	rounds     *prometheus.HistogramVec
	scans      *prometheus.HistogramVec
	success    *prometheus.GaugeVec
	failing    *prometheus.GaugeVec
	objects    *prometheus.GaugeVec
	apps       *prometheus.GaugeVec
	drifts     *prometheus.GaugeVec
	unknown    *prometheus.GaugeVec
	effects    *prometheus.CounterVec
	deliveries *prometheus.CounterVec
	requests   *prometheus.HistogramVec
	lost       *prometheus.CounterVec

	mu    sync.Mutex
	store *store.Store               // once it runs
	named map[string]map[string]bool // the Applications that have gauges of their own, by cluster
	told  map[string]time.Time       // which report of each cluster the gauges tell, by its end
}

// NewMetrics makes a registry of its own. Version is that of the program.
func NewMetrics(version string) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "holdfast_" + name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "holdfast_" + name, Help: help}, labels)
	}
	times := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "holdfast_" + name, Help: help, Buckets: buckets}, labels)
	}
	long := []float64{0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1200}
	short := []float64{0.005, 0.02, 0.1, 0.3, 1, 3, 10, 30}
	m := &Metrics{
		registry:   prometheus.NewRegistry(),
		calls:      counter("scm_calls_total", "Requests to forges, by API, operation and HTTP status (error where none came).", "api", "operation", "response_code"),
		callTime:   times("scm_call_duration_seconds", "How long forges took to answer.", short, "api"),
		quota:      gauge("scm_rate_limit_remaining", "What a forge says is left of its rate limit.", "api", "resource"),
		git:        times("git_operations_duration_seconds", "How long Git operations took.", short, "operation", "outcome"),
		rounds:     times("round_duration_seconds", "How long rounds took, scan and publishing.", long, "cluster", "outcome"),
		scans:      times("scan_duration_seconds", "How long scans took.", long, "cluster"),
		success:    gauge("round_last_success_timestamp_seconds", "When the last round of a cluster succeeded.", "cluster"),
		failing:    gauge("round_failing", "1 while the last round of a cluster failed.", "cluster"),
		objects:    gauge("objects", "Declared objects that the last scan compared.", "cluster"),
		apps:       gauge("applications", "Applications of the last scan, by whether they could be assessed.", "cluster", "state"),
		drifts:     gauge("drift", "Drifting objects of the last scan.", "cluster", "application", "risk"),
		unknown:    gauge("unknown_objects", "Objects that the last scan could not judge though it should have.", "cluster"),
		effects:    counter("forge_effects_total", "What was done on forges, by verb, kind and outcome.", "effect"),
		deliveries: counter("webhook_deliveries_total", "Webhook deliveries, by webhook and what became of them.", "hook", "outcome"),
		requests:   times("http_request_duration_seconds", "How long requests to the service took.", short, "path", "code"),
		lost:       counter("jobs_given_up_total", "Jobs that failed for good.", "kind"),
		named:      map[string]map[string]bool{}, told: map[string]time.Time{},
	}
	for _, kind := range store.Kinds() { // a counter that begins with its first event hides it from increase()
		m.lost.WithLabelValues(kind)
	}
	build := gauge("build_info", "1, with the version of the program as a label.", "version", "go_version")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.calls, m.callTime, m.quota, m.git, m.rounds, m.scans, m.success, m.failing, m.objects, m.apps, m.drifts, m.unknown,
		m.effects, m.deliveries, m.requests, m.lost, &depths{metrics: m},
	)
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// Git notes a Git operation: open, fetch, push.
func (m *Metrics) Git(operation string, took time.Duration, err error) {
	m.git.WithLabelValues(operation, outcomeOf(err)).Observe(took.Seconds())
}

func outcomeOf(err error) string {
	if err != nil {
		return "failure"
	}
	return "success"
}

func (m *Metrics) delivery(hook string, what outcome) {
	m.deliveries.WithLabelValues(hook, string(what)).Inc()
}

func (m *Metrics) gaveUp(kind string) { m.lost.WithLabelValues(kind).Inc() }

// request notes a request by the pattern that it matched, since paths are anybody's to choose.
func (m *Metrics) request(pattern string, code int, took time.Duration) {
	if pattern == "" {
		pattern = "none"
	}
	m.requests.WithLabelValues(pattern, strconv.Itoa(code)).Observe(took.Seconds())
}

// round notes a round that ended.
func (m *Metrics) round(r Report) {
	ending := outcomeOf(nil)
	if r.Error != "" {
		ending = "failure"
	}
	m.rounds.WithLabelValues(r.Cluster, ending).Observe(r.Ended.Sub(r.Began).Seconds())
	if r.Scanned.After(r.Began) {
		m.scans.WithLabelValues(r.Cluster).Observe(r.Scanned.Sub(r.Began).Seconds())
	}
	for effect, n := range r.Published.Effects {
		m.effects.WithLabelValues(effect).Add(float64(n))
	}
	m.drift(r)
}

// catchUp sets the gauges of the clusters whose last round another process made.
func (m *Metrics) catchUp(reports []Report) {
	for _, r := range reports {
		m.mu.Lock()
		known := !m.told[r.Cluster].Before(r.Ended)
		m.mu.Unlock()
		if !known {
			m.drift(r)
		}
	}
}

// drift sets the gauges of a cluster to what a report says.
func (m *Metrics) drift(r Report) {
	m.mu.Lock()
	m.told[r.Cluster] = r.Ended
	m.mu.Unlock()
	if r.Error == "" {
		m.success.WithLabelValues(r.Cluster).Set(float64(r.Ended.Unix()))
		m.failing.WithLabelValues(r.Cluster).Set(0)
	} else {
		m.failing.WithLabelValues(r.Cluster).Set(1)
	}
	m.objects.WithLabelValues(r.Cluster).Set(float64(r.Scan.Objects))
	states := map[detect.State]int{detect.Rendered: 0, detect.Unknown: 0}
	unknown := 0
	for _, a := range r.Scan.Applications {
		states[a.State]++
	}
	for _, u := range r.Scan.Unknown {
		if !u.ByChoice {
			unknown++
		}
	}
	for state, n := range states {
		m.apps.WithLabelValues(r.Cluster, string(state)).Set(float64(n))
	}
	m.unknown.WithLabelValues(r.Cluster).Set(float64(unknown))
	m.forget(r)
	counts := map[[2]string]int{}
	for _, f := range r.Scan.Findings {
		if f.Drift {
			counts[[2]string{m.label(r.Cluster, f.Application), f.Risk.String()}]++
		}
	}
	m.drifts.DeletePartialMatch(prometheus.Labels{"cluster": r.Cluster})
	for key, n := range counts {
		m.drifts.WithLabelValues(r.Cluster, key[0], key[1]).Set(float64(n))
	}
}

// forget lets go of the gauges of Applications that do not drift any more.
func (m *Metrics) forget(r Report) {
	drifts := map[string]bool{}
	for _, f := range r.Scan.Findings {
		drifts[f.Application] = drifts[f.Application] || f.Drift
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.named[r.Cluster], func(application string, _ bool) bool { return !drifts[application] })
}

// label is the value that stands for an Application: its own, as long as there are not too many.
func (m *Metrics) label(cluster, application string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := 0
	for _, of := range m.named {
		total += len(of)
	}
	if m.named[cluster] == nil {
		m.named[cluster] = map[string]bool{}
	}
	if !m.named[cluster][application] && total >= mostApplications {
		return "other"
	}
	m.named[cluster][application] = true
	return application
}

// watch lets the metrics tell how deep the queue is.
func (m *Metrics) watch(s *store.Store) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store = s
}

// depths asks the store when it is asked.
type depths struct{ metrics *Metrics }

func (d *depths) description() *prometheus.Desc {
	return prometheus.NewDesc("holdfast_jobs", "Jobs in the queue, by kind and state; discarded ones failed for good.", []string{"kind", "state"}, nil)
}

// Describe names the metric.
func (d *depths) Describe(out chan<- *prometheus.Desc) { out <- d.description() }

// Collect counts the jobs. A database that does not answer leaves the metric out: /readyz says so.
func (d *depths) Collect(out chan<- prometheus.Metric) {
	d.metrics.mu.Lock()
	queue := d.metrics.store
	d.metrics.mu.Unlock()
	if queue == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	all, err := queue.Depths(ctx)
	if err != nil {
		return
	}
	for _, one := range all {
		out <- prometheus.MustNewConstMetric(d.description(), prometheus.GaugeValue, float64(one.Jobs), one.Kind, one.State)
	}
}
