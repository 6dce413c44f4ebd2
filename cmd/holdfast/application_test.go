package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/detect"
)

// givenInput holds engine objects in files of their own, and dumps that hold what belongs to them.
const givenInput = `
-- git/vars/x.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: x, namespace: shop}
data: {k: "${REGION}", j: fix}
-- git/plain/x.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: x, namespace: shop}
data: {k: eu, j: fix}
-- git/chart/Chart.yaml --
apiVersion: v2
name: chart
version: 1.0.0
-- git/chart/templates/x.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
data: {k: {{ .Values.region }}, j: {{ .Values.other | default "fix" }}}
-- values/prod.yaml --
region: eu
-- source.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {url: "https://git.example.test/fleet.git", interval: 1m}
-- kustomization.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 5m, path: ./vars, prune: true, sourceRef: {kind: GitRepository, name: fleet}, postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}}
-- release.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 5m
  targetNamespace: shop
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: fleet}}}
  valuesFrom: [{kind: ConfigMap, name: vars, valuesKey: VALUES}]
-- argo.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: apps, namespace: argocd}
spec:
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
  source: {repoURL: "https://git.example.test/fleet.git", path: plain, targetRevision: HEAD}
-- several.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: apps, namespace: argocd}
spec:
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
  sources:
  - {repoURL: "https://git.example.test/fleet.git", path: chart, targetRevision: HEAD, helm: {valueFiles: [$vals/prod.yaml]}}
  - {repoURL: "https://git.example.test/values.git", targetRevision: HEAD, ref: vals}
-- vars.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: vars, namespace: flux-system}
data: {REGION: eu, VALUES: "region: eu"}
-- own-vars.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: vars, namespace: flux-system}
data: {REGION: us, VALUES: "region: us"}
-- argocd-cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd}
data:
  application.resourceTrackingMethod: annotation
  resource.customizations.ignoreDifferences.all: |
    jsonPointers: [/data/k]
-- x.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: x
  namespace: shop
  managedFields:
  - {manager: kubectl-edit, operation: Update, apiVersion: v1, time: "2026-11-02T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:k": {}}}}
data: {k: us, j: fix}
-- other.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: other, namespace: flux-system}
spec: {interval: 5m, path: ./plain, prune: true, sourceRef: {kind: GitRepository, name: fleet}}
status: {lastAppliedRevision: "main@sha1:0123456789012345678901234567890123456789"}
-- status.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 5m, path: ./elsewhere, prune: true, sourceRef: {kind: GitRepository, name: fleet}}
status: {inventory: {entries: [{id: shop_x__ConfigMap, v: v1}, {id: shop_old__ConfigMap, v: v1}]}}
-- old.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: shop}
data: {a: b}
`

// TestAGivenApplicationIsDecodedWithWhatTheDumpHoldsForIt: as if it had been found there.
func TestAGivenApplicationIsDecodedWithWhatTheDumpHoldsForIt(t *testing.T) {
	t.Chdir(unpackInto(t, t.TempDir(), givenInput))
	moved := []string{"shop/x data.k eu us"}
	for _, c := range []struct {
		name        string
		application []string
		live        []string
		code        int
		drift       []string // object, path, Git and live
		unknown     string   // is in the only reason
	}{
		{"variables", []string{"kustomization.yaml"}, []string{"source.yaml", "vars.yaml", "x.yaml"}, 1, moved, ""},
		{"the file's own variables win", []string{"kustomization.yaml", "own-vars.yaml"}, []string{"source.yaml", "vars.yaml", "x.yaml"}, 0, nil, ""},
		{"variables that are nowhere", []string{"kustomization.yaml"}, []string{"source.yaml", "x.yaml"}, 2, []string{"shop/x data.k <unread> us"}, "ConfigMap flux-system/vars, which is not among the objects read"},
		{"only the file's Applications", []string{"kustomization.yaml"}, []string{"source.yaml", "vars.yaml", "x.yaml", "other.yaml"}, 1, moved, ""},
		{"what the dump says was applied", []string{"kustomization.yaml"}, []string{"source.yaml", "vars.yaml", "x.yaml", "status.yaml", "old.yaml"}, 1, append([]string{"shop/old"}, moved...), ""},
		{"values", []string{"release.yaml"}, []string{"source.yaml", "vars.yaml", "x.yaml"}, 1, moved, ""},
		{"the file's own values win", []string{"release.yaml", "own-vars.yaml"}, []string{"source.yaml", "vars.yaml", "x.yaml"}, 0, nil, ""},
		{"no rules of the instance", []string{"argo.yaml"}, []string{"x.yaml"}, 1, moved, ""},
		{"rules of the instance", []string{"argo.yaml"}, []string{"argocd-cm.yaml", "x.yaml"}, 0, nil, ""},
		{"a source that is nowhere", []string{"kustomization.yaml"}, []string{"vars.yaml", "x.yaml"}, 2, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeFile(t, "application.yaml", joined(t, c.application))
			writeFile(t, "live.yaml", joined(t, c.live))
			out, errs, code := runAll(t, "scan", "-o", "json", "--git", "https://git.example.test/fleet.git=git", "--application", "application.yaml", "--live", "live.yaml")
			if code != c.code {
				t.Fatalf("exit %d, want %d: %s%s", code, c.code, errs, out)
			}
			doc := scanOf(t, out)
			var drift []string
			for _, f := range doc.Findings {
				name := f.Object.Namespace + "/" + f.Object.Name
				switch {
				case f.Drift && f.Presence == detect.LiveOnly:
					drift = append(drift, name)
				case f.Drift:
					for _, d := range f.Fields {
						if d.Drift {
							drift = append(drift, fmt.Sprint(name, " ", d.Path, " ", d.Git.V, " ", d.Live.V))
						}
					}
				}
			}
			slices.Sort(drift)
			if diff := cmp.Diff(c.drift, drift); diff != "" {
				t.Error(diff)
			}
			if len(doc.Applications) != 1 || doc.Applications[0].Name != "apps" {
				t.Errorf("applications: %+v", doc.Applications)
			}
			if c.unknown != "" && (len(doc.Unknown) != 1 || !strings.Contains(doc.Unknown[0].Reason, c.unknown) || doc.Unknown[0].ByChoice) {
				t.Errorf("unknown: %+v", doc.Unknown)
			}
		})
	}
}

// joined gives the documents of several files.
func joined(t *testing.T, files []string) string {
	t.Helper()
	var texts []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "---\n")
}

func TestAMappingOfAnyOfSeveralSourcesIsUsed(t *testing.T) {
	t.Chdir(unpackInto(t, t.TempDir(), givenInput))
	scan := []string{
		"scan", "-o", "json", "--application", "several.yaml", "--live", "x.yaml",
		"--git", "https://git.example.test/fleet.git=git", "--git", "https://git.example.test/values.git=values",
	}
	out, errs, code := runAll(t, append(scan, "--git", "https://git.example.test/typo.git=git")...)
	if code != 1 {
		t.Fatalf("exit %d: %s%s", code, errs, out)
	}
	notes := slices.DeleteFunc(scanOf(t, out).Notes, func(n string) bool { return !strings.Contains(n, "no Application has this source") })
	if diff := cmp.Diff([]string{"--git https://git.example.test/typo.git=git: no Application has this source"}, notes); diff != "" {
		t.Error(diff)
	}
}
