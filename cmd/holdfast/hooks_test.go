package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// hookRelease is a chart with a hook that binds a role, the release of it, and what the hook left.
const hookRelease = `
-- notice/Chart.yaml --
apiVersion: v2
name: notice
version: 1.2.0
-- notice/templates/hook.yaml --
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: admission
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: admission, namespace: docs}]
-- live.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {interval: 1h, url: https://charts.example.test/stable}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: team, namespace: docs}
spec:
  interval: 10m
  chart: {spec: {chart: notice, version: 1.x, sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}}}
status:
  conditions: [{type: Ready, status: "True", reason: InstallSucceeded, message: ok, lastTransitionTime: "2026-03-01T00:00:00Z"}]
  history:
  - {name: team, namespace: docs, version: 1, chartName: notice, chartVersion: 1.2.0, appVersion: "", status: deployed, digest: "sha256:0", configDigest: "sha256:0", firstDeployed: "2026-03-01T00:00:00Z", lastDeployed: "2026-03-01T00:00:00Z"}
---
apiVersion: v1
kind: Namespace
metadata: {name: docs, creationTimestamp: "2026-02-01T00:00:00Z"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: admission
  creationTimestamp: "2026-03-01T00:00:00Z"
  labels: {helm.toolkit.fluxcd.io/name: team, helm.toolkit.fluxcd.io/namespace: docs}
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
  managedFields:
  - {manager: helm-controller, operation: Update, apiVersion: rbac.authorization.k8s.io/v1, fieldsType: FieldsV1, time: "2026-03-01T00:00:00Z", fieldsV1: {"f:roleRef": {}, "f:metadata": {"f:labels": {}, "f:annotations": {}}}}
  - {manager: MANAGER, operation: Update, apiVersion: rbac.authorization.k8s.io/v1, fieldsType: FieldsV1, time: "2026-03-02T00:00:00Z", fieldsV1: {"f:subjects": {}}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [SUBJECT]
`

// TestWhatAHookLeftIsKnown: Helm keeps what its hooks made; only what somebody made of it since is a finding.
func TestWhatAHookLeftIsKnown(t *testing.T) {
	const account = "{kind: ServiceAccount, name: admission, namespace: docs}"
	for _, c := range []struct {
		name, manager, subjects string
		want                    int
	}{
		{"as the chart has it", "helm-controller", account, 0},
		{"with another subject", "kubectl-edit", account + ", {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := unpackInto(t, t.TempDir(), strings.NewReplacer("SUBJECT", c.subjects, "MANAGER", c.manager).Replace(hookRelease))
			out, code := holdfast(t, "scan", "--live", filepath.Join(dir, "live.yaml"), "--chart", "https://charts.example.test/stable="+dir)
			if code != c.want || c.want == 1 && !strings.Contains(out, "ClusterRoleBinding admission") {
				t.Errorf("exit %d\n%s", code, out)
			}
		})
	}
}
