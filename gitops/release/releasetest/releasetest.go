// Package releasetest makes the objects in which Helm keeps releases, for tests.
package releasetest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"holdfast/gitops/release"
)

// Object gives the Secret or ConfigMap of a release, as JSON. text is YAML: kind (Secret without), namespace, writer
// (without one there are no managedFields), and release, with the names that Helm gives its fields.
func Object(t testing.TB, text []byte) string {
	t.Helper()
	var in struct {
		Kind      string         `json:"kind"`
		Namespace string         `json:"namespace"`
		Writer    string         `json:"writer"`
		Release   map[string]any `json:"release"`
	}
	if err := yaml.UnmarshalStrict(text, &in); err != nil {
		t.Fatal(err)
	}
	record, err := json.Marshal(in.Release)
	if err != nil {
		t.Fatal(err)
	}
	data := Packed(t, string(record))
	if in.Kind = cmp.Or(in.Kind, release.Secret); in.Kind == release.Secret {
		data = base64.StdEncoding.EncodeToString([]byte(data))
	}
	metadata := map[string]any{"name": fmt.Sprintf("sh.helm.release.v1.%v.v%v", in.Release["name"], in.Release["version"]), "namespace": in.Namespace}
	if in.Writer != "" {
		metadata["managedFields"] = []any{map[string]any{
			"manager": in.Writer, "operation": "Update", "apiVersion": "v1", "time": "2026-03-05T10:00:00Z", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:data": map[string]any{"f:release": map[string]any{}}},
		}}
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": in.Kind, "type": "helm.sh/release.v1", "metadata": metadata, "data": map[string]any{"release": data},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(object)
}

// Packed gives a record as Helm packs it: base64 of gzip.
func Packed(t testing.TB, record string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(record)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}
