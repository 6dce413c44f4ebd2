package export_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdfast/bot/ledger"
	"holdfast/bot/ledger/export"
	"holdfast/detect"
	"holdfast/gitops/repo/sign"
)

// entry is a record as a verification gives it.
func entry(t *testing.T, sequence int64, kind ledger.Kind, subject string, content any) ledger.Entry {
	t.Helper()
	data, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 9, int(sequence), 0, 0, time.UTC)
	n := ledger.Name{Sequence: sequence, Kind: kind, Subject: detect.Digest(subject)[:12], Content: detect.Digest(string(data))[:20]}
	return ledger.Entry{
		Name: n, Path: n.Path(at), Commit: strings.Repeat("ab", 20), Signer: sign.Identity{Principals: []string{"bot@example.com"}, KeyID: "SHA256:abc"},
		Statement: ledger.Statement{
			Type: ledger.StatementType, PredicateType: kind.PredicateType(), Subject: []ledger.Resource{{Name: subject, Digest: map[string]string{"sha256": detect.Digest("x")}}},
			Predicate: ledger.Predicate{Sequence: sequence, Time: at, Subject: subject, Content: data},
		},
	}
}

// trail has a record of every kind, and of one that nobody knows.
func trail(t *testing.T) []ledger.Entry {
	t.Helper()
	thread := ledger.Thread{Repository: "https://git.example.com/shop", Key: "aa11", Kind: "pull-request", Number: 7, URL: "https://git.example.com/shop/pulls/7"}
	odd := ledger.Thread{Repository: "shop", Key: "bb22", Kind: "issue", URL: "javascript:alert(1) \n"}
	until := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	finding := ledger.Finding{
		ID: "f1", Cluster: "north", Application: "flux-system/shop", Object: detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
		Cause: detect.CauseManual, Risk: "high", Reason: "=HYPERLINK(\"https://evil.example\")\nsecond line", Writer: &detect.Writer{User: "alice", Confidence: detect.ByAudit},
		Controls: []detect.Control{{Standard: "nist-800-53r5", ID: "CM-3(5)"}, {Standard: "pci-dss-4.0.1", ID: "6.5.1"}, {Standard: "hipaa", ID: "164.312(c)(1)"}},
	}
	out := []ledger.Entry{
		entry(t, 1, ledger.FindingSeen, "finding/f1", finding),
		entry(t, 2, ledger.Decided, "finding/f1", ledger.Decision{Finding: "f1", Disposition: detect.Codify, Rule: "=1+1", Policy: ledger.Policy{Name: "production"}}),
		entry(t, 3, ledger.Proposed, "thread/shop/aa11", ledger.Proposal{Thread: thread, Title: "  @SUM(A1)", Disposition: detect.Codify, Findings: []string{"f1"}}),
		entry(t, 4, ledger.Commanded, "command/1", ledger.Command{Thread: thread, By: "bob", Text: "/drift ignore 90d", Outcome: "refused", Reason: "-2+3"}),
		entry(t, 5, ledger.Excepted, "exception/f1", ledger.Exception{Finding: "f1", By: "bob", Reason: "\t+1", Until: until}),
		entry(t, 6, ledger.Excepted, "exception/f1", ledger.Exception{Finding: "f1", By: "bob", Reason: "taken back", Until: until, Ended: true}),
		entry(t, 7, ledger.Approved, "approval/1", ledger.Approval{Thread: thread, By: "alice", Commit: "c0ffee", Rejected: true}),
		entry(t, 8, ledger.Merged, "thread/shop/aa11", ledger.Merge{Thread: thread, Commit: "c0ffee", By: "bob"}),
		entry(t, 9, ledger.Healed, "thread/shop/bb22", ledger.Healing{Thread: &odd}),
		entry(t, 10, ledger.Converged, "finding/f1", ledger.Convergence{Finding: "f1", Reason: "the cluster and Git agree"}),
		entry(t, 11, ledger.ThreadClosed, "thread/shop/aa11", ledger.Closing{Thread: thread, Reason: "the cluster and Git agree"}),
		entry(t, 12, ledger.Healed, "finding/f2", ledger.Healing{Finding: "f2", Reason: "within a second"}),
	}
	unknown := entry(t, 13, "forecast", "weather", map[string]any{"rain": "\x00\x1b[31m"})
	return append(out, unknown)
}

func report(records int) ledger.Report {
	return ledger.Report{Verdict: ledger.Whole, Head: strings.Repeat("cd", 20), Batches: 9, Records: records}
}

// TestTheTrailIsValidOSCAL validates by NIST's own schema (testdata/README.md).
func TestTheTrailIsValidOSCAL(t *testing.T) {
	schema := oscalSchema(t)
	write := func() []byte {
		o := export.NewOSCAL("https://git.example.com/shop")
		entries := trail(t)
		for _, e := range entries {
			o.Add(e)
		}
		var out bytes.Buffer
		if err := o.Write(&out, report(len(entries))); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	data := write()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("%v\n%s", err, data)
	}
	if !bytes.Equal(data, write()) {
		t.Error("the same trail gives two documents")
	}
	results := document.(map[string]any)["assessment-results"].(map[string]any)["results"].([]any)[0].(map[string]any)
	if n := len(results["assessment-log"].(map[string]any)["entries"].([]any)); n != 13 {
		t.Errorf("%d log entries, want 13", n)
	}
	risks := results["risks"].([]any)
	if len(risks) != 1 || risks[0].(map[string]any)["status"] != "closed" {
		t.Errorf("risks %v, want one, closed", risks)
	}
	controls, _ := json.Marshal(results["reviewed-controls"])
	for _, want := range []string{"cm-3.5", "_pci-dss-4.0.1_6.5.1", "_hipaa_164.312_c__1_"} {
		if !bytes.Contains(controls, []byte(`"`+want+`"`)) {
			t.Errorf("control %s is not among %s", want, controls)
		}
	}
	if _, judged := results["findings"]; judged {
		t.Error("it judges controls, which is an assessor's to do")
	}
	if bytes.Contains(data, []byte("javascript:")) {
		t.Error("a link leads to what is no page")
	}
	// The schema tells something: without what it demands, the document is refused.
	delete(document.(map[string]any)["assessment-results"].(map[string]any), "import-ap")
	if schema.Validate(document) == nil {
		t.Error("the schema takes anything")
	}
}

func oscalSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("testdata/oscal_assessment-results_schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("oscal.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("oscal.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestCSVHasNoFormulas(t *testing.T) {
	var out bytes.Buffer
	c := export.NewCSV(&out)
	entries := trail(t)
	for _, e := range entries {
		c.Add(e)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(out.Bytes())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(entries)+1 || strings.Count(out.String(), "\n") != len(rows) {
		t.Errorf("%d rows in %d lines, want %d", len(rows), strings.Count(out.String(), "\n"), len(entries)+1)
	}
	for _, row := range rows {
		for i, cell := range row {
			if strings.ContainsAny(cell, "\x00\x1b\r\n\t") {
				t.Errorf("column %s of record %s holds a control character: %q", rows[0][i], row[0], cell)
			}
			if trimmed := strings.TrimLeft(cell, " "); trimmed != "" && strings.ContainsAny(trimmed[:1], "=+-@|%") {
				t.Errorf("column %s of record %s starts a formula: %q", rows[0][i], row[0], cell)
			}
		}
	}
	column := func(record int, name string) string {
		for i, head := range rows[0] {
			if head == name {
				return rows[record][i]
			}
		}
		t.Fatalf("no column %s", name)
		return ""
	}
	if got := column(2, "outcome"); got != "'=1+1" {
		t.Errorf("the rule reads %q", got)
	}
	if got := column(1, "object") + " " + column(1, "who"); got != "Deployment.apps/shop/web alice (audit)" {
		t.Errorf("the finding reads %q", got)
	}
}
