package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/text/encoding/unicode"

	"holdfast/gitops"
	"holdfast/gitops/packed"
)

// unpack writes the files of a txtar text into a folder.
func unpack(t *testing.T, text string) string {
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDumpReadsWhatKubectlPrints(t *testing.T) {
	dir := unpack(t, `
-- a/many.yaml --
# a comment before the first document
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: shop, resourceVersion: "1", managedFields: [{manager: alice}]}
data: {big: "1", on: "yes"}
---
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 3, template: {spec: {weight: 0.5, port: 9007199254740993}}}
status: {replicas: 3}
-- a/list.yml --
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Namespace
  metadata: {name: shop}
-- b/list.json --
{"kind": "ServiceList", "apiVersion": "v1", "items": [{"metadata": {"name": "web", "namespace": "shop"}, "spec": {"n": 5}}]}
{"apiVersion": "example.test/v1", "kind": "AllowList", "metadata": {"name": "al"}}
-- b/empty.yaml --
apiVersion: v1
kind: List
items: []
-- b/readme.txt --
not read
-- crds.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec: {group: example.test, scope: Cluster, names: {kind: Widget, plural: widgets}}
`)
	got, err := Dump([]string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "crds.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"AllowList.example.test/al", "CustomResourceDefinition.apiextensions.k8s.io/widgets.example.test", "Namespace/shop",
		"ConfigMap/shop/one", "Deployment.apps/shop/web", "Service/shop/web",
	}
	if diff := cmp.Diff(want, names(got)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	spec := map[string]any{
		"replicas": int64(3),
		"template": map[string]any{"spec": map[string]any{"weight": 0.5, "port": int64(9007199254740993)}},
	}
	if diff := cmp.Diff(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec,
		"metadata": map[string]any{"name": "web", "namespace": "shop"},
	}, contents(got)[4].Content); diff != "" {
		t.Errorf("deployment (-want +got):\n%s", diff)
	}
	for kind, want := range map[gitops.GroupKind][2]bool{
		{Group: "example.test", Kind: "Widget"}:    {false, true},
		{Group: "example.test", Kind: "AllowList"}: {false, true},
		{Group: "apps", Kind: "Deployment"}:        {true, true},
		{Kind: "Node"}:                             {false, true},
		{Group: "other.test", Kind: "X"}:           {false, false},
	} {
		namespaced, known := got.Namespaced(kind)
		if namespaced != want[0] || known != want[1] {
			t.Errorf("scope of %v: namespaced %v, known %v", kind, namespaced, known)
		}
	}
	if len(got.Notes) != 0 || len(got.CRDs) != 1 || got.Secrets != SecretsValues {
		t.Errorf("notes %q, CRDs %v, secrets %s", got.Notes, got.CRDs, got.Secrets)
	}
}

func TestDumpNotes(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: n, resourceVersion: \"%\"}\n"
	at := func(version string) string { return strings.ReplaceAll(object, "%", version) }
	cases := []struct {
		name, files, want string
		version           string
	}{
		{"the same object twice is one", "-- a.yaml --\n" + at("5") + "---\n" + at("5"), "--show-managed-fields", "5"},
		{"the newest of two states is taken, wherever it stands", "-- a.yaml --\n" + at("10") + "-- b.yaml --\n" + at("9"), "a.yaml:1 is taken", "10"},
		{"without versions to tell, the last one is taken", "-- a.yaml --\n" + at("x") + "---\n" + at("y"), "a.yaml:4 is taken", "y"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Dump([]string{unpack(t, c.files)})
			if err != nil {
				t.Fatal(err)
			}
			metadata, _ := contents(got)[0].Content["metadata"].(map[string]any)
			if got.Objects.Len() != 1 || metadata["resourceVersion"] != c.version {
				t.Errorf("objects %v, version %v", names(got), metadata["resourceVersion"])
			}
			if !strings.Contains(strings.Join(got.Notes, "\n"), c.want) {
				t.Errorf("notes %q, want %q", got.Notes, c.want)
			}
		})
	}
}

func TestDumpErrorsNameFileAndLine(t *testing.T) {
	const good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
	cases := []struct {
		name, files string
		want        []string
	}{
		{"broken YAML in a later document", "-- a.yaml --\n" + good + "kind: X\n  bad: [\n", []string{"a.yaml:6: YAML: "}},
		{"a key that stands twice", "-- a.yaml --\n" + good + "kind: X\nkind: Y\n", []string{"a.yaml:6: YAML: ", "kind"}},
		{"broken JSON", "-- a.json --\n{\"kind\": \"X\",\n\n}}\n", []string{"a.json:3: JSON: "}},
		{"JSON that ends early", "-- a.json --\n{\"kind\": \"X\",\n", []string{"a.json:1: JSON: unexpected EOF"}},
		{"text", "-- a.yaml --\n" + good + "hello\n", []string{"a.yaml:4: no Kubernetes object: a string"}},
		{"no kind", "-- a.yaml --\n" + good + "a: b\n", []string{"a.yaml:4: no Kubernetes object: apiVersion or kind"}},
		{"no name", "-- a.yaml --\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}]\n", []string{"a.yaml:1: items[0] of the List: Pod without metadata.name"}},
		{"a folder with a broken file", "-- a.yaml --\n" + good + "-- b.json --\n{\n\"kind\": %\n", []string{"b.json:2: JSON: "}},
		{"a refusal", "-- a.json --\n{\"kind\": \"Status\", \"apiVersion\": \"v1\", \"message\": \"pods is forbidden\"}\n", []string{"a.json:1: ", "refusal", "pods is forbidden"}},
		{"a folder without files", "-- a.txt --\n", []string{"holds no .yaml"}},
		{"two broken files are both named", "-- a.yaml --\na: [\n-- b.yaml --\nb: [\n", []string{"a.yaml:", "b.yaml:"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			snapshot, err := Dump([]string{unpack(t, c.files)})
			if good := strings.Contains(c.files, good); good != (err == nil) {
				t.Fatalf("a readable object: %v, error %v", good, err)
			} else if good {
				if diff := cmp.Diff([]string{"ConfigMap/a"}, names(snapshot)); diff != "" {
					t.Errorf("objects (-want +got):\n%s", diff)
				}
				err = snapshot.Whole()
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
	if _, err := Dump([]string{"/nowhere.yaml"}); err == nil || !strings.Contains(err.Error(), "/nowhere.yaml") {
		t.Errorf("error %v", err)
	}
}

// TestWhatADumpMayHide holds what is read of a dump that is not whole, and which objects it may hold all the same.
func TestWhatADumpMayHide(t *testing.T) {
	const item = "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: %, namespace: n}\n  data:\n    text: |\n      a\n      - b\n"
	at := func(name string) string { return strings.ReplaceAll(item, "%", name) }
	const list = "apiVersion: v1\nitems:\n"
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"}}`
	cases := []struct {
		name, files string
		read        []string
		place       string
		hidden      bool // Service n/web, which is nowhere
		other       bool // ConfigMap n/x, which stands where it cannot be read, if anywhere
	}{
		{"a list with one broken item", "-- a.yaml --\n" + list + at("a") + "- kind: X\n  bad: [\n" + at("b") + "kind: List\n", []string{"ConfigMap/n/a", "ConfigMap/n/b"}, "a.yaml:11: items[1]: YAML: ", true, true},
		{"a list cut in an item that parses", "-- a.yaml --\n" + list + at("a") + at("b"), []string{"ConfigMap/n/a"}, "a.yaml:1: a list without its kind", true, true},
		{"a list cut in an item that does not", "-- a.yaml --\n" + list + at("a") + "- apiVersion: v1\n  kind: X\n  met\n", []string{"ConfigMap/n/a"}, "items[1]: ", true, true},
		{"JSON cut in an item", "-- a.json --\n{\"items\":[\n" + object + ",\n{\"kind\":\n", []string{"ConfigMap/n/a"}, "a.json:1: JSON: unexpected EOF", true, true},
		{"an item without kind", "-- a.json --\n{\"kind\":\"List\",\"items\":[{\"metadata\":{\"name\":\"x\",\"namespace\":\"n\"}}," + object + "]}\n", []string{"ConfigMap/n/a"}, "a.json:1: items[0] of the List: no Kubernetes object", false, true},
		{"a document without a name before another", "-- a.yaml --\nkind: ConfigMap\napiVersion: v1\n---\n" + object + "\n", []string{"ConfigMap/n/a"}, "a.yaml:1: ConfigMap without metadata.name", false, true},
		{"a last document without a name", "-- a.yaml --\n---\n" + object + "\n---\nkind: ConfigMap\napiVersion: v1\n", []string{"ConfigMap/n/a"}, "a.yaml:3: ConfigMap without metadata.name", true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Dump([]string{unpack(t, c.files)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.read, names(got)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if whole := got.Whole(); whole == nil || !strings.Contains(whole.Error(), c.place) {
				t.Errorf("said %v, want %q", whole, c.place)
			}
			_, hidden := got.Why(gitops.ObjectID{Kind: "Service", Namespace: "n", Name: "web"})
			_, other := got.Why(gitops.ObjectID{Kind: "ConfigMap", Namespace: "n", Name: "x"})
			if hidden != c.hidden || other != c.other {
				t.Errorf("may hide the Service: %v, the ConfigMap: %v; want %v, %v", hidden, other, c.hidden, c.other)
			}
		})
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add([]byte("a: b\n---\nc: d\n"))
	f.Add([]byte("{\"a\": 1} {\"b\": 2}"))
	f.Add([]byte("\ufeff--- # x\r\nkind: List\r\nitems: [null]\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := dump{objects: packed.New(), places: map[gitops.ObjectID]place{}}
		d.addFile("f", data)
		d.snapshot()
	})
}

func TestDumpReadsUTF16(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: shop}\ndata: {city: Zürich}\n"
	for name, order := range map[string]unicode.Endianness{"little": unicode.LittleEndian, "big": unicode.BigEndian} {
		data, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "live.yaml")
		if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Dump([]string{file})
		if err != nil {
			t.Fatal(name, err)
		}
		o, _ := s.Objects.Get(gitops.ObjectID{Kind: "ConfigMap", Namespace: "shop", Name: "one"})
		if got, _ := o.Content["data"].(map[string]any); got["city"] != "Zürich" {
			t.Errorf("%s: %v", name, o.Content)
		}
	}
}

func TestAnEmptyDumpIsNoEmptyCluster(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{"empty": {"", false}, "blank": {"\n---\n\n", false}, "a list without items": {"apiVersion: v1\nkind: List\nitems: []\n", true}} {
		file := filepath.Join(t.TempDir(), "live.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Dump([]string{file}); (err == nil) != c.want || err != nil && !strings.Contains(err.Error(), "it is empty") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
