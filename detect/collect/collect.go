// Package collect reads what the engines' controllers measure of themselves: how long turns take, how long they wait, how deep the
// queue is and how many workers there are, in the text form of Prometheus.
package collect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"holdfast/gitops"
)

// Controller is what one controller measured since it started. A figure that it does not tell is nil.
type Controller struct {
	// Name is the controller's, such as kustomize-controller.
	Name   string
	Engine gitops.Engine
	// Duration is of turns, Wait of the time in the queue, in seconds.
	Duration, Wait *Histogram
	Depth, Retries *float64
	// Workers are the most turns at once, Busy those that are under way.
	Workers, Busy *float64
	// Unfinished is for how long, in seconds, the turns that are under way have been so, all together.
	Unfinished *float64
}

// Histogram is a measured distribution.
type Histogram struct {
	Count int
	Sum   float64
	// Buckets have upper bounds, rising, and how many values lie at or below each. The last may be infinite.
	Buckets []Bucket
}

// Bucket is one step of a histogram.
type Bucket struct {
	Upper      float64
	Cumulative float64
}

// Mean is the mean value.
func (h Histogram) Mean() float64 { return h.Sum / float64(h.Count) }

// Quantile estimates the value below which a share of values lies, evenly spread within its bucket. ok is false when it lies
// beyond the last finite bound, of which the histogram says no more.
func (h Histogram) Quantile(share float64) (value float64, ok bool) {
	rank, lower, before := share*float64(h.Count), 0.0, 0.0
	for _, b := range h.Buckets {
		if b.Cumulative >= rank && b.Cumulative > before {
			if math.IsInf(b.Upper, 1) {
				return 0, false
			}
			return lower + (b.Upper-lower)*(rank-before)/(b.Cumulative-before), true
		}
		lower, before = b.Upper, b.Cumulative
	}
	return 0, false
}

// Variation estimates the squared coefficient of variation, values evenly spread within their buckets and those beyond the last
// finite bound at it, so that it is too small rather than too large.
func (h Histogram) Variation() float64 {
	lower, before, squares := 0.0, 0.0, 0.0
	for _, b := range h.Buckets {
		n := b.Cumulative - before
		if math.IsInf(b.Upper, 1) {
			squares += n * lower * lower
			break
		}
		squares += n * (lower*lower + lower*b.Upper + b.Upper*b.Upper) / 3
		lower, before = b.Upper, b.Cumulative
	}
	mean := h.Mean()
	if mean <= 0 {
		return 0
	}
	return max(0, squares/float64(h.Count)/mean/mean-1)
}

// kinds are the controllers that are known, and the names that their figures go by. Sources: controller-runtime
// pkg/internal/controller/metrics and pkg/metrics/workqueue.go; argo-cd controller/metrics.
func kinds() []struct {
	controller        string
	engine            gitops.Engine
	label, queue, own string
} {
	return []struct {
		controller        string
		engine            gitops.Engine
		label, queue, own string
	}{
		{"kustomize-controller", gitops.Flux, "kustomization", "kustomization", "controller_runtime_reconcile_time_seconds"},
		{"helm-controller", gitops.Flux, "helmrelease", "helmrelease", "controller_runtime_reconcile_time_seconds"},
		{"argocd-application-controller", gitops.ArgoCD, "", "app_reconciliation_queue", "argocd_app_reconcile"},
	}
}

// Parse reads a page of metrics. What it says of no known controller gives none; what is no such page is an error.
func Parse(page io.Reader) ([]Controller, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page)
	if err != nil {
		return nil, fmt.Errorf("metrics: not in the text form of Prometheus: %w", err)
	}
	var out []Controller
	for _, k := range kinds() {
		c := Controller{Name: k.controller, Engine: k.engine}
		label := ""
		if k.label != "" {
			label = "controller"
		}
		c.Duration = histogram(families[k.own], label, k.label)
		c.Wait = histogram(families["workqueue_queue_duration_seconds"], "name", k.queue)
		c.Depth = value(families["workqueue_depth"], "name", k.queue)
		c.Retries = value(families["workqueue_retries_total"], "name", k.queue)
		c.Unfinished = value(families["workqueue_unfinished_work_seconds"], "name", k.queue)
		if k.label != "" {
			c.Workers = value(families["controller_runtime_max_concurrent_reconciles"], label, k.label)
			c.Busy = value(families["controller_runtime_active_workers"], label, k.label)
		}
		if c.Duration != nil || c.Wait != nil || c.Depth != nil {
			out = append(out, c)
		}
	}
	return out, check(out)
}

// check refuses figures that cannot be, such as those of a page that was cut or made up.
func check(all []Controller) error {
	for _, c := range all {
		for _, h := range []*Histogram{c.Duration, c.Wait} {
			if h == nil {
				continue
			}
			if h.Sum < 0 || math.IsNaN(h.Sum) || math.IsInf(h.Sum, 0) {
				return fmt.Errorf("metrics: %s: durations that sum up to %v", c.Name, h.Sum)
			}
			if !slices.IsSortedFunc(h.Buckets, func(a, b Bucket) int { return cmp.Compare(a.Cumulative, b.Cumulative) }) {
				return fmt.Errorf("metrics: %s: buckets that hold fewer values the higher they reach", c.Name)
			}
		}
		for _, f := range []*float64{c.Depth, c.Retries, c.Workers, c.Busy, c.Unfinished} {
			if f != nil && (*f < 0 || math.IsNaN(*f) || math.IsInf(*f, 0)) {
				return fmt.Errorf("metrics: %s: a figure of %v", c.Name, *f)
			}
		}
	}
	return nil
}

func has(m *dto.Metric, label, want string) bool {
	if label == "" {
		return true
	}
	return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == label && l.GetValue() == want })
}

// value adds up what a counter or gauge says under a label; nil when it says nothing.
func value(f *dto.MetricFamily, label, want string) *float64 {
	var out *float64
	for _, m := range f.GetMetric() {
		if !has(m, label, want) {
			continue
		}
		sum := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		if out != nil {
			sum += *out
		}
		out = &sum
	}
	return out
}

// histogram adds up histograms of equal bounds under a label; nil when there is no value in them.
func histogram(f *dto.MetricFamily, label, want string) *Histogram {
	sums := map[float64]float64{}
	var out Histogram
	for _, m := range f.GetMetric() {
		h := m.GetHistogram()
		if h == nil || !has(m, label, want) {
			continue
		}
		out.Count += int(h.GetSampleCount())
		out.Sum += h.GetSampleSum()
		for _, b := range h.GetBucket() {
			sums[b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
	}
	if out.Count == 0 {
		return nil
	}
	sums[math.Inf(1)] = float64(out.Count)
	for upper, n := range sums {
		out.Buckets = append(out.Buckets, Bucket{upper, n})
	}
	slices.SortFunc(out.Buckets, func(a, b Bucket) int { return cmp.Compare(a.Upper, b.Upper) })
	return &out
}

// The bounds of one page: controllers with many objects have long ones, and none should keep a report waiting.
const (
	mostBytes = 64 << 20
	patience  = 15 * time.Second
)

// Read reads the page at a URL or in a file.
func Read(ctx context.Context, place string) ([]Controller, error) {
	if !strings.HasPrefix(place, "http://") && !strings.HasPrefix(place, "https://") {
		file, err := os.Open(place)
		if err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
		defer file.Close()
		return Parse(io.LimitReader(file, mostBytes))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // to no other host
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: %s answers %s", withoutUser(request.URL), response.Status)
	}
	return Parse(io.LimitReader(response.Body, mostBytes))
}

func withoutUser(u *url.URL) string {
	plain := *u
	plain.User, plain.RawQuery = nil, ""
	return plain.String()
}
