package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// besideSecrets is a kustomization in which a literal stands right before those of a Secret, and one that does not.
const besideSecrets = `
-- git/kustomization.yaml --
namespace: shop
resources:
- web.yaml
- far.yaml
configMapGenerator:
- name: near
  options: {disableNameSuffixHash: true}
  literals: [color=red]
secretGenerator: [{name: keys, literals: [token=hunter2]}]
-- git/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {color: red}
-- git/far.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: far}
data: {color: red}
-- live.yaml --
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: near, namespace: shop}, data: {color: green}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}, data: {color: green}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: far, namespace: shop}, data: {color: red}}
`

// One change that a patch cannot show does not keep the others out of it.
func TestAChangeBesideASecretIsLeftOutOfAPatchAlone(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), besideSecrets)
	patch, told, code := runAll(t, "propose", "--dry-run", "--disposition", "codify", "-o", "patch",
		"--live", filepath.Join(dir, "live.yaml"), "--git", filepath.Join(dir, "git"), "--path", ".", "--manager", "deployer")
	if code != 1 || strings.Contains(patch+told, "hunter") {
		t.Errorf("exit %d, or a Secret is told:\n%s\n%s", code, told, patch)
	}
	for _, want := range []string{"not in the patch: ConfigMap shop/near data.color: its edit of kustomization.yaml stands beside a Secret's value"} {
		if !strings.Contains(told, want) {
			t.Errorf("it does not say %q:\n%s", want, told)
		}
	}
	if strings.Contains(told, "shop/web") {
		t.Errorf("what is in the patch is told as left out:\n%s", told)
	}
	applied(t, filepath.Join(dir, "git"), patch)
	after, err := os.ReadFile(filepath.Join(dir, "git", "web.yaml"))
	if err != nil || !strings.Contains(string(after), "data: {color: green}") {
		t.Errorf("%v: %s", err, after)
	}
}

// What a patch does not hold is named with the reason, whatever kept it out.
func TestAPatchSaysWhatItLeavesOut(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), `
-- git/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: placed, namespace: shop}
data: {color: red}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: refused, namespace: shop}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: reported, namespace: shop}
data: {color: red}
-- live.yaml --
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: placed, namespace: shop}, data: {color: green}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: refused, namespace: shop}, rules: [{apiGroups: [""], resources: [pods], verbs: ["*"]}]}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: reported, namespace: shop}, data: {color: green}}
-- policy.yaml --
apiVersion: holdfast/v1
kind: Policy
rules:
- {name: ask first, when: object.name == "reported", disposition: issue}
- {name: the cluster is right, disposition: codify}
`)
	args := []string{"propose", "--dry-run", "-o", "patch", "--live", filepath.Join(dir, "live.yaml"), "--git", filepath.Join(dir, "git"), "--path", ".", "--manager", "deployer"}
	for name, test := range map[string]struct {
		more  []string
		edits int
		told  []string
	}{
		"by policy": {[]string{"--policy", filepath.Join(dir, "policy.yaml")}, 1, []string{
			"not in the patch: Role shop/refused: policy wants an issue (the cluster is right (",
			"not in the patch: ConfigMap shop/reported: policy wants an issue (ask first (",
		}},
		"codify all": {[]string{"--disposition", "codify"}, 2, []string{
			"not in the patch: Role shop/refused rules[0].verbs: Role is not written: RBAC decides who may do what",
		}},
		"issues for all": {[]string{"--disposition", "issue"}, 0, []string{
			"not in the patch: ConfigMap shop/placed: --disposition issue makes an issue of it",
			"not in the patch: Role shop/refused: --disposition issue makes an issue of it",
			"not in the patch: ConfigMap shop/reported: --disposition issue makes an issue of it",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			patch, told, code := runAll(t, append(slices.Clone(args), test.more...)...)
			if code != 1 || strings.Count(patch, "+data: {color: green}") != test.edits {
				t.Errorf("exit %d\n%s", code, patch)
			}
			for _, want := range test.told {
				if strings.Count(told, want) != 1 {
					t.Errorf("it does not say once %q", want)
				}
			}
			if got := strings.Count(told, "not in the patch"); got != len(test.told) {
				t.Errorf("it names %d, want %d:\n%s", got, len(test.told), told)
			}
		})
	}
}
