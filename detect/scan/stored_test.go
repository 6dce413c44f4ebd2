package scan

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestStoredReleaseIsUsedOnlyWhereItTells changes one thing of the scenario: without a record that can be trusted,
// what the chart makes anew at each render is no drift, as without any.
func TestStoredReleaseIsUsedOnlyWhereItTells(t *testing.T) {
	const used, unused = "Secret/a/changed both (drift, manual", "Secret/a/changed both (in sync, render"
	for _, test := range []struct{ name, old, new, want, reason string }{
		{"as it is", "", "", used, ""},
		{"a ConfigMap holds it", "namespace: flux-system\nwriter", "kind: ConfigMap\nnamespace: flux-system\nwriter", used, ""},
		{"nothing tells who wrote it", "writer: helm-controller\n", "", unused, "its managedFields do not say who wrote it"},
		{"Secrets are read without values", "secrets: values", "secrets: metadata", unused, ""},
		{"it may not be read", "namespace: flux-system\nwriter", "namespace: elsewhere\nwriter", unused, "cannot get secrets in namespace flux-system: forbidden"},
		{"somebody wrote into it", "writer: helm-controller", "writer: kubectl-edit", unused, "kubectl-edit wrote into it, and not only helm-controller"},
		{"another one has taken its place", "{status: deployed, d", "{status: superseded, d", unused, ""},
		{"it is of another namespace", "namespace: a\n  version", "namespace: b\n  version", unused, "is a release in another namespace"},
		{"its manifest does not parse", "      at: \"2026-03-01\"", "      at: \"chosenByAlice", unused, "its manifest does not parse"},
		{"the last upgrade failed", "status: deployed, digest", "status: failed, digest", unused, ""},
		{"the chart makes no such value any more", "stringData:\n      password", "stringData:\n      word", unused, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := readFile(t, "testdata/helm-stored-release.txtar")
			if !strings.Contains(data, test.old) {
				t.Fatalf("%q is not in the scenario", test.old)
			}
			data = strings.Replace(data, test.old, test.new, 1)
			if test.name == "it may not be read" {
				data = strings.Replace(data, "secrets: values", "secrets: values\nunread: [{verb: get, kind: Secret, resource: secrets, namespace: flux-system, reason: forbidden, optional: true}]", 1)
			}
			result, err := Run(t.Context(), readScenario(t, txtar.Parse([]byte(data))).input(t))
			if err != nil {
				t.Fatal(err)
			}
			got := describe(result)
			if !strings.Contains(got, test.want) {
				t.Errorf("want %q in\n%s", test.want, got)
			}
			for _, f := range result.Findings {
				for _, field := range f.Fields {
					if field.Cause == "render" && test.reason != "" && !strings.Contains(field.Reason, test.reason) {
						t.Errorf("%s says %q, want %q", field.Path, field.Reason, test.reason)
					}
				}
			}
			for _, value := range []string{"storedOne", "storedTwo", "chosenByAlice"} {
				if strings.Contains(got, value) {
					t.Errorf("%s is told:\n%s", value, got)
				}
			}
		})
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
