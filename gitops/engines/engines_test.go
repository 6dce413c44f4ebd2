package engines_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/render"
)

func objects(t *testing.T, text string) []gitops.Object {
	t.Helper()
	declared, problems := render.File("objects.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var out []gitops.Object
	for _, d := range declared {
		out = append(out, d.Object)
	}
	return out
}

const cluster = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 1m, prune: true, path: apps, sourceRef: {kind: GitRepository, name: fleet}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {url: "https://git.example.test/fleet", ref: {branch: main}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {url: "https://charts.example.test"}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: blog
  namespace: web
  labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}
spec: {interval: 1m, chart: {spec: {chart: ghost, sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: by-hand, namespace: web}
spec: {interval: 1m, chart: {spec: {chart: ghost, sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root, namespace: argocd}
spec:
  destination: {name: in-cluster}
  source: {repoURL: "https://git.example.test/argo", targetRevision: main, path: apps}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: chart
  namespace: argocd
  annotations: {argocd.argoproj.io/tracking-id: "root:argoproj.io/Application:argocd/chart"}
spec:
  destination: {name: in-cluster}
  source: {repoURL: "https://charts.example.test", chart: web, targetRevision: "1"}
`

func TestChartsHaveTheHomeOfWhatDeclaresThem(t *testing.T) {
	apps, problems := engines.Decode("north", objects(t, cluster))
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	got := map[string][3]string{}
	for _, a := range apps {
		got[a.Kind+"/"+a.Name] = [3]string{a.Source.Repo, a.Source.Branch, a.Source.Path}
	}
	if diff := cmp.Diff(map[string][3]string{
		"Kustomization/apps":  {"https://git.example.test/fleet", "main", "apps"},
		"HelmRelease/blog":    {"https://git.example.test/fleet", "main", "$chart"},
		"HelmRelease/by-hand": {"", "", "$chart"},
		"Application/root":    {"https://git.example.test/argo", "main", "apps"},
		"Application/chart":   {"https://git.example.test/argo", "main", "$chart"},
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestObjectsOfEngines(t *testing.T) {
	for _, o := range objects(t, cluster) {
		if !engines.Reads(o.ID) || !engines.Declares(o.ID) {
			t.Errorf("%s is not read", o.ID)
		}
		becomes := o.ID.Kind == "Kustomization" || o.ID.Kind == "HelmRelease" || o.ID.Kind == "Application"
		if engines.Becomes(o.ID) != becomes {
			t.Errorf("%s becomes an Application: %v", o.ID, !becomes)
		}
	}
	for _, id := range []gitops.ObjectID{{Kind: "Service", Name: "x"}, {Group: "kustomize.config.k8s.io", Kind: "Kustomization", Name: "x"}} {
		if engines.Reads(id) || engines.Becomes(id) {
			t.Errorf("%s is read", id)
		}
	}
	if !engines.Reads(gitops.ObjectID{Kind: "ConfigMap", Name: "argocd-cm"}) {
		t.Error("settings are not read")
	}
}

func TestInTree(t *testing.T) {
	apps, _ := engines.InTree(gitops.NewTree(map[string]gitops.File{"all.yaml": {Data: []byte(cluster)}}))
	if len(apps) != 5 {
		t.Errorf("%d applications", len(apps))
	}
}
