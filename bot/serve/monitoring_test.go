package serve

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"holdfast/detect"
)

// described gives the labels of every metric that the service can export, by name.
func described(t *testing.T) map[string][]string {
	t.Helper()
	descriptions := make(chan *prometheus.Desc, 1000)
	NewMetrics("test").registry.Describe(descriptions)
	close(descriptions)
	out := map[string][]string{}
	for d := range descriptions {
		found := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`).FindStringSubmatch(d.String())
		if found == nil {
			t.Fatalf("cannot read %s", d)
		}
		out[found[1]] = strings.FieldsFunc(found[2], func(r rune) bool { return r == ',' || r == ' ' })
	}
	return out
}

// uses checks that an expression names metrics that are exported, by labels that they have.
func uses(t *testing.T, where, expression string, known map[string][]string) {
	t.Helper()
	labels := []string{"le", "instance", "job"} // of histograms' buckets, and of what is scraped
	names := regexp.MustCompile(`\b(?:holdfast|process|go)_[a-z0-9_]+(\{[^}]*\})?`).FindAllString(expression, -1)
	if len(names) == 0 {
		t.Errorf("%s: %s names no metric of ours", where, expression)
	}
	for _, one := range names {
		name, selector, _ := strings.Cut(one, "{")
		if name == "go_version" {
			continue
		}
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		own, exported := known[name]
		if !exported {
			own, exported = known[base]
		}
		if !exported {
			t.Errorf("%s: %s is not exported", where, name)
		}
		labels = append(labels, own...)
		for _, found := range regexp.MustCompile(`([a-z_]+) *(?:=~|!~|!=|=)`).FindAllStringSubmatch(selector, -1) {
			if !slices.Contains(own, found[1]) {
				t.Errorf("%s: %s has no label %s", where, name, found[1])
			}
		}
	}
	for _, found := range regexp.MustCompile(`\b(?:by|on) *\(([^)]*)\)`).FindAllStringSubmatch(expression, -1) {
		for _, label := range strings.Split(found[1], ",") {
			if !slices.Contains(labels, strings.TrimSpace(label)) {
				t.Errorf("%s: %s has no label %s", where, expression, label)
			}
		}
	}
}

func TestMonitoringAsksForWhatIsExported(t *testing.T) {
	known := described(t)
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile("../../deploy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Expr string
					Annotations map[string]string
				}
			}
		}
	}
	if err := yaml.Unmarshal(read("monitoring/rules.yaml"), &rules); err != nil {
		t.Fatal(err)
	}
	readme := string(read("README.md"))
	alerts := 0
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			alerts++
			uses(t, rule.Alert, rule.Expr, known)
			for _, text := range rule.Annotations {
				for _, label := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
					if !regexp.MustCompile(`by \([^)]*\b` + label[1] + `\b`).MatchString(rule.Expr) {
						t.Errorf("%s: its text has %s, which its expression does not keep", rule.Alert, label[0])
					}
				}
			}
			if !strings.Contains(readme, rule.Alert) {
				t.Errorf("README.md says nothing about %s", rule.Alert)
			}
		}
	}
	if alerts < 10 {
		t.Errorf("%d alerts are seen", alerts)
	}

	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read("monitoring/grafana-dashboard.json"), &board); err != nil {
		t.Fatal(err)
	}
	taken := map[[2]int]string{}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			uses(t, panel.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"), known)
		}
		g := panel.GridPos
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x > 23 {
					t.Fatalf("panel %q lies on %q, or beyond the edge", panel.Title, other)
				}
				taken[[2]int{x, y}] = panel.Title
			}
		}
	}
	if len(board.Panels) < 15 {
		t.Errorf("%d panels are seen", len(board.Panels))
	}

	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(holdfast_[a-z_]+)` \\| (\\w+) \\| ([^|]*) \\|").FindAllStringSubmatch(readme, -1) {
		documented[row[1]] = row[3]
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !strings.HasPrefix(name, "holdfast_") {
			continue
		}
		if want := strings.Join(known[name], ", "); documented[name] != want {
			t.Errorf("README.md has %s with the labels %q, want %q", name, documented[name], want)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("README.md has %s, which is not exported", name)
	}
}

func TestGaugesTellOfRoundsOfOtherProcesses(t *testing.T) {
	m := NewMetrics("test")
	report := func(n int, failure string, drifts int) Report {
		r := Report{Cluster: "north", Ended: hour(n), Error: failure}
		for range drifts {
			r.Scan.Findings = append(r.Scan.Findings, detect.Finding{Application: "a/b", Drift: true, Risk: detect.High})
		}
		return r
	}
	tells := func(failing, drift float64) {
		t.Helper()
		if got := value(t, m, "holdfast_round_failing"); got != failing {
			t.Errorf("failing is %v, want %v", got, failing)
		}
		if got := value(t, m, "holdfast_drift"); got != drift {
			t.Errorf("drift is %v, want %v", got, drift)
		}
	}
	m.round(report(2, "no answer", 1))
	tells(1, 1)
	m.catchUp([]Report{report(1, "", 5)}) // what was before
	tells(1, 1)
	m.catchUp([]Report{report(3, "", 4)})
	tells(0, 4)
	if got := value(t, m, "holdfast_round_last_success_timestamp_seconds"); got != float64(hour(3).Unix()) {
		t.Errorf("the last success is at %v, want %v", time.Unix(int64(got), 0), hour(3))
	}
}

// value sums up a gauge over its labels.
func value(t *testing.T, m *Metrics, name string) (sum float64) {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, one := range family.GetMetric() {
				sum += one.GetGauge().GetValue()
			}
		}
	}
	return sum
}
