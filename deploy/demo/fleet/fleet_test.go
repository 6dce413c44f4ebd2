package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"holdfast/detect/collect"
)

func TestAFleetIsWhatItsSeedMakes(t *testing.T) {
	end := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	a, b, other := Files(7, 5, 8, end), Files(7, 5, 8, end), Files(8, 5, 8, end)
	if len(a) != 5*4+1+2 {
		t.Errorf("%d files", len(a))
	}
	same := true
	scans := 0
	for name, data := range a {
		if !bytes.Equal(data, b[name]) {
			t.Errorf("%s is made otherwise the second time", name)
		}
		same = same && bytes.Equal(data, other[name])
		if strings.HasPrefix(name, "metrics-") {
			if !strings.HasPrefix(string(data), "# Synthetic: ") {
				t.Errorf("%s does not say that it is synthetic", name)
			}
			if all, err := collect.Parse(bytes.NewReader(data)); err != nil || len(all) != 1 || all[0].Duration.Count != 2000 {
				t.Errorf("%s: %v, %v", name, all, err)
			}
			continue
		}
		var doc scan
		if err := json.Unmarshal(data, &doc); err != nil || !strings.Contains(doc.Synthetic, "seed 7") {
			t.Errorf("%s: %v, %q", name, err, doc.Synthetic)
		}
		scans++
		for _, f := range doc.Findings {
			if f.Drift && (f.FirstSeen.IsZero() || f.FirstSeen.After(doc.Time.Add(10*time.Minute))) {
				t.Errorf("%s: first seen %s", name, f.FirstSeen)
			}
		}
	}
	if scans != 21 || same {
		t.Errorf("%d scans; another seed makes the same: %t", scans, same)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, c := range []struct {
		name           string
		days, clusters int
		until, out     string
	}{{"no folder", 1, 1, "2026-11-30T00:00:00Z", ""}, {"no day", 0, 1, "2026-11-30T00:00:00Z", t.TempDir()}, {"no time", 1, 1, "soon", t.TempDir()}, {"no cluster", 1, 0, "2026-11-30T00:00:00Z", t.TempDir()}} {
		if run(1, c.days, c.clusters, c.until, c.out) == nil {
			t.Errorf("%s: it was taken", c.name)
		}
	}
}
