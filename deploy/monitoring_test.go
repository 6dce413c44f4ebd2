package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestTheAlerts has Prometheus' own promtool read the alerts and what Grafana asks, and run the scenarios of
// monitoring/rules_test.yaml.
func TestTheAlerts(t *testing.T) {
	if testing.Short() {
		t.Skip("needs promtool")
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("no promtool: apt-get install -y --no-install-recommends prometheus")
	}
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	marshal := func(rules any) []byte {
		t.Helper()
		data, err := yaml.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	run := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), promtool, args...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}

	var manifest struct {
		Spec struct {
			Groups []struct {
				Name  string           `json:"name"`
				Rules []map[string]any `json:"rules"`
			} `json:"groups"`
		}
	}
	data, err := os.ReadFile("monitoring/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	write("whole.yaml", marshal(manifest.Spec))
	run("check", "rules", "whole.yaml")
	scenarios, err := os.ReadFile("monitoring/rules_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range manifest.Spec.Groups {
		for _, rule := range group.Rules {
			delete(rule, "annotations") // the scenarios are about when, not about words
			if name := fmt.Sprint(rule["alert"]); strings.Count(string(scenarios), "alertname: "+name+"\n")+strings.Count(string(scenarios), "alertname: "+name+"}") < 2 {
				t.Errorf("rules_test.yaml does not say when %s is raised, and when it is not", name)
			}
		}
	}
	write("rules.yaml", marshal(manifest.Spec))
	write("rules_test.yaml", scenarios)
	run("test", "rules", "rules_test.yaml")

	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if data, err = os.ReadFile("monitoring/grafana-dashboard.json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	var asked []map[string]any
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			text := strings.NewReplacer("$__rate_interval", "5m", "$cluster", ".*").Replace(target.Expr)
			asked = append(asked, map[string]any{"record": fmt.Sprintf("panel:%d", len(asked)), "expr": text})
		}
	}
	write("panels.yaml", marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": asked}}}))
	run("check", "rules", "panels.yaml")
}
