package propose

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
)

const mixed = `apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {password: hunter2}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  x: "1"
  secret-name: s
---
apiVersion: v1
kind: Secret
metadata:
  name: t
data:
  token: aHVudGVyMg==
  text: |
    hunter2
    hunter2
`

func TestSecretValuesAreMasked(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"a file without Secrets stays": {"a: 1\nb: [2]\n", "a: 1\nb: [2]\n"},
		"data and stringData of Secrets alone": {mixed, strings.NewReplacer(
			"password: hunter2}", "password: <secret>}", "aHVudGVyMg==", "<secret>", "|\n    hunter2\n    hunter2", "|-\n    <secret>").Replace(mixed)},
		"a Secret in a List": {
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  data:\n    a: aHVudGVyMg==\n",
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  data:\n    a: <secret>\n"},
		"a literal of a secretGenerator": {
			"secretGenerator:\n- name: s\n  literals:\n  - password=hunter2\nimages:\n- name: a\n  newTag: \"1\"\n",
			"secretGenerator:\n- name: s\n  literals:\n  - password=<secret>\nimages:\n- name: a\n  newTag: \"1\"\n"},
		"a patch of a Secret": {
			"patches:\n- patch: |\n    kind: Secret\n    stringData: {a: hunter2}\n",
			"patches:\n- patch: |-\n    <secret>\n"},
		"a patch by paths, aimed at a Secret": {
			"patches:\n- target: {kind: Secret}\n  patch: |-\n    - op: replace\n      path: /stringData/a\n      value: hunter2\n",
			"patches:\n- target: {kind: Secret}\n  patch: |-\n    <secret>\n"},
		"a patch by paths, aimed at any kind": {
			"patches:\n- patch: |-\n    - op: replace\n      path: /data/a\n      value: hunter2\n  target: {name: secret}\n",
			"patches:\n- patch: |-\n    <secret>\n  target: {name: secret}\n"},
		"a patch by paths, aimed at another kind": {
			"patches:\n- target: {kind: ConfigMap, name: no-secret}\n  patch: '[{op: replace, path: /data/a, value: x}]'\n",
			"patches:\n- target: {kind: ConfigMap, name: no-secret}\n  patch: '[{op: replace, path: /data/a, value: x}]'\n"},
		"a document that cannot be read": {"kind: Secret\ndata: {a: hunter2\n", "<secret>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, string(Masked([]byte(c.in)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPatchesKeepAwayFromSecrets changes each file and lets git apply judge the patch.
func TestPatchesKeepAwayFromSecrets(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"between two Secrets":     {mixed, strings.Replace(mixed, `x: "1"`, `x: "2"`, 1)},
		"the last line before":    {mixed, strings.Replace(mixed, "secret-name: s", "secret-name: t", 1)},
		"an addition at the end":  {mixed, strings.Replace(mixed, "secret-name: s\n", "secret-name: s\n  y: new\n", 1)},
		"the Secret's own labels": {mixed, strings.Replace(mixed, "  name: t\n", "  name: t\n  labels: {a: b}\n", 1)},
		"beside a generator": {
			"secretGenerator:\n- name: s\n  literals:\n  - password=hunter2\n  - token=hunter2\nimages:\n- name: a\n  newTag: \"1\"\n",
			"secretGenerator:\n- name: s\n  literals:\n  - password=hunter2\n  - token=hunter2\nimages:\n- name: a\n  newTag: \"2\"\n"},
		"beside a patch of a Secret": {
			"patches:\n- target: {kind: Secret}\n  patch: |-\n    - op: replace\n      path: /stringData/a\n      value: hunter2\n",
			"patches:\n- target: {kind: Secret}\n  patch: |-\n    - op: replace\n      path: /stringData/a\n      value: hunter2\n- patch: |-\n    kind: ConfigMap\n"},
		"without a last line end": {"kind: ConfigMap\nx: 1", "kind: ConfigMap\nx: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := fileChange(gitops.Edit{Path: "f.yaml", Before: []byte(c.before), After: []byte(c.after)})
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"hunter2", "aHVudGVyMg", "name: s}"} {
				if strings.Contains(change.Diff, word) {
					t.Errorf("the patch shows %s:\n%s", word, change.Diff)
				}
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "f.yaml")
			if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
			apply := exec.Command("git", "apply", "-")
			apply.Dir, apply.Stdin = dir, strings.NewReader(change.Diff)
			if out, err := apply.CombinedOutput(); err != nil {
				t.Fatalf("git apply: %v\n%s\n%s", err, out, change.Diff)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
