package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast/bot"
)

// codified writes every drift to Git and looks whether what was placed is closed.
func (p *public) codified(t *testing.T) {
	t.Helper()
	started := time.Now()
	out, code := holdfast(t, append([]string{"propose", "--dry-run", "--disposition", "codify", "-o", "json"}, p.input...)...)
	var doc proposalsJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("exit %d: %v in %.300s", code, err, out)
	}
	took := time.Since(started).Round(time.Millisecond)
	before := p.scan(t)
	fields := 0
	names := map[string]string{}
	for _, f := range before.Findings {
		names[f.ID] = f.Object.ID().String()
		if f.Drift && len(f.Fields) == 0 {
			fields++
		}
		for _, field := range f.Fields {
			if field.Drift {
				fields++
			}
		}
	}
	for _, proposal := range doc.Proposals {
		if proposal.Kind != bot.AsPullRequest {
			continue
		}
		if proposal.Proof == nil || !proposal.Proof.Verified {
			t.Errorf("%s: proof %+v", proposal.Title, proposal.Proof)
		}
		for _, f := range proposal.Files {
			p.write(t, f)
		}
	}
	left := 0
	for _, f := range p.scan(t).Findings {
		for _, field := range f.Fields {
			if !field.Drift {
				continue
			}
			left++
			if !slices.ContainsFunc(doc.Skipped, func(s skippedJSON) bool { return s.Finding == f.ID && (s.Path == "" || s.Path == field.Path.String()) }) {
				t.Errorf("placed, yet %s", describe(f, field.Path))
			}
		}
		if f.Drift && len(f.Fields) == 0 {
			left++
			if !slices.ContainsFunc(doc.Skipped, func(s skippedJSON) bool { return s.Finding == f.ID }) {
				t.Errorf("placed, yet %s", describe(f, nil))
			}
		}
	}
	for _, s := range doc.Skipped {
		t.Logf("not placed: %s %s: %s", names[s.Finding], s.Path, s.Reason)
	}
	t.Logf("codify: %d drifting fields and objects, %d left, %d said to be not placed, %s", fields, left, len(doc.Skipped), took)
}

func (p *public) write(t *testing.T, f fileJSON) {
	t.Helper()
	name := filepath.Join(p.repository, f.Path)
	if f.After == nil {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(*f.After), 0o600); err != nil {
		t.Fatal(err)
	}
}
