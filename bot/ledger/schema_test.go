package ledger_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"
	validate "github.com/santhosh-tekuri/jsonschema/v6"

	"holdfast/bot/ledger"
)

//go:generate go test . -run TestTheSchemaIsPublished -update
var update = flag.Bool("update", false, "write the JSON schema below deploy")

const schemaFile = "../../deploy/holdfast-ledger.schema.json"

// TestTheSchemaIsPublished keeps the schema that others read records by equal to what the types say.
func TestTheSchemaIsPublished(t *testing.T) {
	got := ledgerSchema(t)
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
		t.Errorf("%s is not what the types say; run: go generate ./bot/ledger", schemaFile)
	}
}

// TestRecordsAreAsTheSchemaSays validates what is written.
func TestRecordsAreAsTheSchemaSays(t *testing.T) {
	document, err := validate.UnmarshalJSON(bytes.NewReader(ledgerSchema(t)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validate.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("ledger.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("ledger.json")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.trail(t)
	files := w.files(t)
	var payload []byte
	for _, path := range files {
		payload = read(t, w.file(t, path)).Payload
		record, err := validate.UnmarshalJSON(bytes.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(record); err != nil {
			t.Errorf("%s: %v\n%s", path, err, payload)
		}
	}
	wrong, err := validate.UnmarshalJSON(bytes.NewReader(bytes.Replace(payload, []byte(`"disposition":"revert"`), []byte(`"disposition":7`), 1)))
	if err != nil {
		t.Fatal(err)
	}
	if schema.Validate(wrong) == nil {
		t.Error("the schema takes a disposition that is a number")
	}
}

// ledgerSchema is the schema of a statement, whose content follows from its predicate type.
func ledgerSchema(t *testing.T) []byte {
	t.Helper()
	reflector := func() *jsonschema.Reflector {
		r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, AllowAdditionalProperties: true}
		r.Mapper = func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[json.RawMessage]() {
				return &jsonschema.Schema{}
			}
			if t.PkgPath() != "time" && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
				return &jsonschema.Schema{Type: "string"}
			}
			return nil
		}
		for _, folder := range []string{".", "../../detect"} {
			if err := r.AddGoComments("holdfast/bot/ledger", folder); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	schema := reflector().Reflect(&ledger.Statement{})
	schema.Title = "A record of Holdfast's ledger: the payload of a DSSE envelope"
	observed := map[ledger.Kind]any{ledger.FindingSeen: &ledger.FindingObserved{}, ledger.Proposed: &ledger.ProposalObserved{}}
	for _, k := range ledger.Kinds() {
		parts := jsonschema.NewProperties()
		content := reflector().Reflect(ledger.ContentOf(k))
		content.Version = ""
		parts.Set("content", content)
		if o := observed[k]; o != nil {
			seen := reflector().Reflect(o)
			seen.Version = ""
			parts.Set("observed", seen)
		}
		then := jsonschema.NewProperties()
		then.Set("predicate", &jsonschema.Schema{Properties: parts})
		is := jsonschema.NewProperties()
		is.Set("predicateType", &jsonschema.Schema{Const: k.PredicateType()})
		schema.AllOf = append(schema.AllOf, &jsonschema.Schema{If: &jsonschema.Schema{Properties: is}, Then: &jsonschema.Schema{Properties: then}})
	}
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}
