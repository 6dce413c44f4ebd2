package report

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	validate "github.com/santhosh-tekuri/jsonschema/v6"

	"holdfast/bot/ledger"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

//go:generate go test . -run TestTheSchemaIsPublished -update
var update = flag.Bool("update", false, "write the JSON schema below deploy")

const schemaFile = "../../deploy/holdfast-report.schema.json"

func reportSchema(t *testing.T) []byte {
	t.Helper()
	r := jsonschema.Reflector{Anonymous: true}
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		if t != reflect.TypeFor[time.Time]() && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return &jsonschema.Schema{Type: "string"}
		}
		return nil
	}
	for _, folder := range []string{".", "./capacity", "../../detect"} { // the descriptions are the doc comments
		if err := r.AddGoComments("holdfast/bot/report", folder); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Reflect(&Report{})
	s.Title = "The analysis as holdfast report -o json prints it"
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// TestTheSchemaIsPublished keeps the schema that others read reports by equal to what the types say.
func TestTheSchemaIsPublished(t *testing.T) {
	got := reportSchema(t)
	if *update {
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types say; run: go generate ./bot/report", schemaFile)
	}
}

func TestReportsAreAsTheSchemaSays(t *testing.T) {
	document, err := validate.UnmarshalJSON(bytes.NewReader(reportSchema(t)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validate.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("report.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	full := world(t)
	full.Given = setting.Setting{Clusters: 200, Standards: []string{"pci-dss-4.0.1"}}
	full.Controllers = []Controller{controller("prod-eu", "kustomize-controller", gitops.Flux, 2), controller("stage", "argocd-application-controller", gitops.ArgoCD, 600)}
	trail := NewTrail("fleet")
	trail.Add(entry(ledger.FindingSeen, at(1), record(full.Scans[0].Findings[0]), nil))
	full.Trails = []Trail{*trail}
	for name, in := range map[string]Input{"a full report": full, "one without data": input(t)} {
		data, err := json.Marshal(build(t, in))
		if err != nil {
			t.Fatal(err)
		}
		value, err := validate.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var value any = map[string]any{"apiVersion": "holdfast/v1", "kind": "Report", "title": "x"}
	if compiled.Validate(value) == nil {
		t.Error("a report without its sections passes")
	}
}
