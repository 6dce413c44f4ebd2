package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// badLive holds live objects that no server should have, and Git's side of them.
const badLive = `
-- git/apps/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: red}
-- git/widgets/widget.yaml --
apiVersion: example.test/v1
kind: Widget
metadata: {name: w, namespace: shop}
spec: {size: 1}
-- future.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: shop
  managedFields:
  - {manager: future, operation: Update, apiVersion: v1, fieldsType: FieldsV2, fieldsV2: {a: b}}
data: {color: blue}
-- broken.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: shop
  managedFields:
  - {manager: kubectl-edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:color": "{"}}}
data: {color: blue}
-- text.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, managedFields: "[{"}
data: {color: blue}
-- part.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: shop
  managedFields:
  - 7
  - {manager: kubectl-edit, operation: Update, apiVersion: v1, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:color": {}}}}
data: {color: blue}
-- widget.yaml --
apiVersion: example.test/v1
kind: Widget
metadata:
  name: w
  namespace: shop
  managedFields:
  - {manager: kubectl-edit, operation: Update, apiVersion: example.test/v0alpha9, time: "2026-01-01T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:size": {}}}}
spec: {size: 2}
-- schemaless.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec: {group: example.test, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true}]}
-- crd-broken.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec: {group: example.test, names: {kind: 7}, versions: all}
-- nokind.yaml --
apiVersion: v1
metadata: {name: settings, namespace: shop}
data: {color: red}
-- cut-object.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: red}
---
apiVersion: v1
kind: ConfigMap
metadata:
  na
-- cut-list.yaml --
apiVersion: v1
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings, namespace: shop}
  data: {color: red}
- apiVersion: v1
  kind: Con
-- cut-list.json --
{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop"},"data":{"color":"red"}},{"apiVersion":"v1","kind":
`

// TestBadLiveObjectsAreSaidAndTheRestIsJudged holds that whatever of an object cannot be read is named in the table
// and in JSON, that its drift is found all the same, and that nobody is named for it without proof.
func TestBadLiveObjectsAreSaidAndTheRestIsJudged(t *testing.T) {
	t.Chdir(unpackInto(t, t.TempDir(), badLive))
	for _, c := range []struct {
		name, path string
		live       []string
		said       string // in the unknown objects or the notes
		writer     string
		code       int
	}{
		{"managedFields of a version that is not known", "apps", []string{"future.yaml"}, "metadata.managedFields[0]: fieldsType FieldsV2 is not FieldsV1", "unresolved", 2},
		{"managedFields whose sets are broken", "apps", []string{"broken.yaml"}, `metadata.managedFields[0]: fieldsV1: the value of "f:color" is no mapping`, "unresolved", 2},
		{"managedFields that are text", "apps", []string{"text.yaml"}, "metadata.managedFields is no list", "unresolved", 2},
		{"one broken entry beside a good one", "apps", []string{"part.yaml"}, "metadata.managedFields[0]: is no mapping", "kubectl-edit", 2},
		{"an entry of a version that nobody serves any more is read", "widgets", []string{"widget.yaml", "schemaless.yaml"}, "", "kubectl-edit", 1},
		{"a definition without a schema", "widgets", []string{"widget.yaml", "schemaless.yaml"}, "no schema of Widget (example.test/v1) was read", "kubectl-edit", 1},
		{"no definition at all", "widgets", []string{"widget.yaml"}, "no schema of Widget (example.test/v1) was read", "kubectl-edit", 1},
		{"a definition that is broken", "widgets", []string{"widget.yaml", "crd-broken.yaml"}, "CustomResourceDefinition widgets.example.test: spec names no group, kind or version", "kubectl-edit", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"scan", "--git", "git", "--path", c.path}
			for _, file := range c.live {
				args = append(args, "--live", file)
			}
			out, errs, code := runAll(t, append(args, "-o", "json")...)
			var doc scanJSON
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatalf("%v in %q, said %q", err, out, errs)
			}
			said := strings.Join(doc.Notes, "\n")
			for _, u := range doc.Unknown {
				said += u.Reason + "\n"
			}
			table, _, tableCode := runAll(t, args...)
			if !strings.Contains(said, c.said) || !strings.Contains(table, c.said) {
				t.Errorf("%q is missing in %q, or in\n%s", c.said, said, table)
			}
			if code != c.code || tableCode != c.code || doc.Summary.Drifted != 1 {
				t.Errorf("exit %d and %d, %d drifted; want %d, 1 drifted", code, tableCode, doc.Summary.Drifted, c.code)
			}
			for _, line := range strings.Split(table, "\n") {
				if strings.Contains(line, "data.color") || strings.Contains(line, "spec.size") {
					if !strings.Contains(line, c.writer) {
						t.Errorf("want %s named in %s", c.writer, line)
					}
				}
			}
		})
	}
}

// TestADumpThatIsNotWhole holds that what can be read of it is judged, that each part that cannot be is said, and that
// nothing is called missing which may stand there.
func TestADumpThatIsNotWhole(t *testing.T) {
	t.Chdir(unpackInto(t, t.TempDir(), badLive))
	writeFile(t, "git/apps/other.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: shop}\n")
	for _, c := range []struct {
		file, want string
		read       bool // something of it
	}{
		{"nokind.yaml", "nokind.yaml:1: no Kubernetes object: apiVersion or kind is missing", false},
		{"cut-object.yaml", "cut-object.yaml:5: ConfigMap without metadata.name", true},
		{"cut-list.yaml", "cut-list.yaml:1: a list without its kind, which kubectl writes last: the file may be cut off", true},
		{"cut-list.json", "cut-list.json:1: JSON: unexpected EOF", true},
	} {
		args := []string{"scan", "--live", c.file, "--git", "git", "--path", "apps", "-o"}
		out, _, code := runAll(t, append(args, "json")...)
		var doc scanJSON
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 2 {
			t.Errorf("%s: exit %d, %v, printed %q", c.file, code, err, out)
			continue
		}
		said, other := "", 0
		for _, u := range doc.Unknown {
			said += u.Reason + "\n"
			if u.Object.Name == "other" {
				other++
			}
		}
		// That settings is red on both sides can be told only of a dump that was read.
		if !strings.Contains(said, c.want) || doc.Summary.Drifted != 0 || c.read != (other == 1) || c.read != (doc.Summary.Objects == 2) {
			t.Errorf("%s: want %q and no drift in %s", c.file, c.want, out)
		}
		table, errs, code := runAll(t, append(args, "table")...)
		if code != 2 || c.read && !strings.Contains(table, c.want) || !c.read && (table != "" || !strings.Contains(errs, c.want)) {
			t.Errorf("%s: exit %d, said %q in\n%s", c.file, code, errs, table)
		}
	}
}

// TestAnAnnotationOfTenMegabytes holds that a person is shown a part of it, and a program all of it.
func TestAnAnnotationOfTenMegabytes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop, annotations: {team.test/big: %}}\n"
	big := strings.Repeat("x", 10<<20)
	writeFile(t, "live.yaml", strings.Replace(object, "%", big+"b", 1))
	writeFile(t, "git/apps/settings.yaml", strings.Replace(object, "%", big+"a", 1))
	args := []string{"scan", "--live", "live.yaml", "--git", "git", "--path", "apps", "-o"}
	for _, format := range []string{"table", "markdown", "sarif"} {
		out, errs, code := runAll(t, append(args, format)...)
		if code != 1 || len(out) > 10_000 || !strings.Contains(out, "team.test/big") {
			t.Errorf("%s: exit %d, %d bytes, %s", format, code, len(out), errs)
		}
	}
	out, errs, code := runAll(t, append(args, "json")...)
	var doc scanJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 1 || doc.Summary.Drifted != 1 {
		t.Fatalf("exit %d, %v, %s", code, err, errs)
	}
	if live := doc.Findings[0].Fields[0].Live.V; live != big+"b" {
		t.Error("JSON does not hold the whole value")
	}
}
