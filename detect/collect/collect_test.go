package collect

import (
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// page is as the controllers of Flux and Argo CD print it: two histograms of the kustomize-controller, one of Argo CD in two parts.
const page = `# HELP controller_runtime_reconcile_time_seconds Length of time per reconciliation per controller
# TYPE controller_runtime_reconcile_time_seconds histogram
controller_runtime_reconcile_time_seconds_bucket{controller="kustomization",le="1"} 50
controller_runtime_reconcile_time_seconds_bucket{controller="kustomization",le="2"} 90
controller_runtime_reconcile_time_seconds_bucket{controller="kustomization",le="4"} 98
controller_runtime_reconcile_time_seconds_bucket{controller="kustomization",le="+Inf"} 100
controller_runtime_reconcile_time_seconds_sum{controller="kustomization"} 120
controller_runtime_reconcile_time_seconds_count{controller="kustomization"} 100
controller_runtime_reconcile_time_seconds_bucket{controller="gitrepository",le="+Inf"} 7
controller_runtime_reconcile_time_seconds_sum{controller="gitrepository"} 7
controller_runtime_reconcile_time_seconds_count{controller="gitrepository"} 7
# TYPE workqueue_queue_duration_seconds histogram
workqueue_queue_duration_seconds_bucket{name="kustomization",le="0.001"} 80
workqueue_queue_duration_seconds_bucket{name="kustomization",le="+Inf"} 100
workqueue_queue_duration_seconds_sum{name="kustomization"} 0.5
workqueue_queue_duration_seconds_count{name="kustomization"} 100
# TYPE workqueue_depth gauge
workqueue_depth{name="kustomization",priority="0"} 2
workqueue_depth{name="kustomization",priority="-100"} 3
workqueue_depth{name="app_reconciliation_queue"} 1
# TYPE workqueue_retries_total counter
workqueue_retries_total{name="kustomization"} 4
# TYPE controller_runtime_max_concurrent_reconciles gauge
controller_runtime_max_concurrent_reconciles{controller="kustomization"} 4
# TYPE controller_runtime_active_workers gauge
controller_runtime_active_workers{controller="kustomization"} 1
# TYPE argocd_app_reconcile histogram
argocd_app_reconcile_bucket{dest_server="a",le="0.25"} 1
argocd_app_reconcile_bucket{dest_server="a",le="+Inf"} 2
argocd_app_reconcile_sum{dest_server="a"} 1
argocd_app_reconcile_count{dest_server="a"} 2
argocd_app_reconcile_bucket{dest_server="b",le="0.25"} 3
argocd_app_reconcile_bucket{dest_server="b",le="+Inf"} 3
argocd_app_reconcile_sum{dest_server="b"} 0.5
argocd_app_reconcile_count{dest_server="b"} 3
`

func TestControllersAreToldByTheirFigures(t *testing.T) {
	all, err := Parse(strings.NewReader(page))
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	k := all[0]
	if k.Name != "kustomize-controller" || k.Duration.Count != 100 || k.Duration.Mean() != 1.2 || *k.Depth != 5 || *k.Retries != 4 || *k.Workers != 4 || *k.Busy != 1 || k.Unfinished != nil {
		t.Errorf("%+v", k)
	}
	for share, want := range map[float64]float64{0.25: 0.5, 0.5: 1, 0.7: 1.5, 0.98: 4} {
		if got, ok := k.Duration.Quantile(share); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v: %v, %t, want %v", share, got, ok, want)
		}
	}
	if got, ok := k.Duration.Quantile(0.99); ok {
		t.Errorf("the 99th percentile lies beyond the bounds, and is %v", got)
	}
	// (50*1/3 + 40*7/3 + 8*28/3 + 2*16) / 100 / 1.44 - 1
	if got, want := k.Duration.Variation(), (50.0/3+40*7.0/3+8*28.0/3+2*16)/100/1.44-1; math.Abs(got-want) > 1e-9 {
		t.Errorf("variation %v, want %v", got, want)
	}
	a := all[1]
	if a.Name != "argocd-application-controller" || a.Duration.Count != 5 || a.Duration.Sum != 1.5 || a.Duration.Buckets[0].Cumulative != 4 || *a.Depth != 1 || a.Workers != nil {
		t.Errorf("%+v", a)
	}
}

func TestPagesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"a page of a browser", "<html><body>Sign in</body></html>", "text form"},
		{"a negative sum", strings.Replace(page, "_sum{controller=\"kustomization\"} 120", "_sum{controller=\"kustomization\"} -120", 1), "-120"},
		{"buckets that fall", strings.Replace(page, `le="2"} 90`, `le="2"} 10`, 1), "buckets"},
		{"no number", strings.Replace(page, "workqueue_retries_total{name=\"kustomization\"} 4", "workqueue_retries_total{name=\"kustomization\"} NaN", 1), "NaN"},
	} {
		if _, err := Parse(strings.NewReader(c.page)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if all, err := Parse(strings.NewReader("# nothing\n")); err != nil || len(all) != 0 {
		t.Errorf("an empty page: %v, %v", all, err)
	}
}

func TestReadFromFileAndServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "metrics.txt")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/metrics":
			_, _ = w.Write([]byte(page))
		case "/moved":
			http.Redirect(w, r, other.URL, http.StatusFound)
		default:
			http.Error(w, "no", http.StatusForbidden)
		}
	}))
	defer server.Close()
	for _, place := range []string{file, server.URL + "/metrics"} {
		if all, err := Read(t.Context(), place); err != nil || len(all) != 2 {
			t.Errorf("%s: %d controllers, %v", place, len(all), err)
		}
	}
	secret := strings.Replace(server.URL, "http://", "http://user:hunter2@", 1)
	for _, place := range []string{server.URL + "/moved", secret + "/private?token=hunter2", file + ".none", "http://127.0.0.1:1/metrics"} {
		_, err := Read(t.Context(), place)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", place, err)
		}
	}
	if elsewhere != 0 {
		t.Error("a host that nobody named was called")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(page)
	f.Add("a 1\na{le=\"x\"} NaN\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, c := range all {
			if c.Duration != nil {
				if v := c.Duration.Variation(); v < 0 {
					t.Errorf("variation %v", v)
				}
			}
		}
	})
}
