package config

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"

	"holdfast/detect/policy"
)

//go:generate go test . -run TestSchemas -update

var update = flag.Bool("update", false, "write the JSON schemas below deploy")

// TestSchemas keeps the JSON schemas that editors use equal to what the decoders take.
func TestSchemas(t *testing.T) {
	for file, c := range map[string]struct {
		value any
		title string
	}{
		"holdfast.schema.json":        {&Config{}, "holdfast.yaml, the configuration of Holdfast"},
		"holdfast-policy.schema.json": {&policy.Document{}, ".holdfast.yaml, the policy of a repository"},
	} {
		got := schema(t, c.value, c.title)
		path := "../../../deploy/" + file
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the types say; run: go generate ./cmd/holdfast/config", file)
		}
	}
}

func schema(t *testing.T, of any, title string) []byte {
	t.Helper()
	r := jsonschema.Reflector{ExpandedStruct: true, Anonymous: true}
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return &jsonschema.Schema{Type: "string"}
		}
		return nil
	}
	// The descriptions are the doc comments; paths are taken from this package's folder.
	for _, folder := range []string{".", "../../../detect/policy", "../../../bot/command", "../../../bot/identity"} {
		if err := r.AddGoComments("holdfast/cmd/holdfast/config", folder); err != nil {
			t.Fatal(err)
		}
	}
	s := r.Reflect(of)
	s.Title = title
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}
