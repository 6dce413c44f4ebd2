package flux_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/gitops"
	"holdfast/gitops/flux"
	"holdfast/gitops/render"
)

const fullRelease = `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: blog, namespace: apps}
spec:
  interval: 15m
  chart:
    spec:
      chart: ghost
      version: 1.x
      sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}
      valuesFiles: [values.yaml, values-prod.yaml]
      ignoreMissingValuesFiles: true
  targetNamespace: web
  storageNamespace: storage
  valuesFrom:
    - {kind: ConfigMap, name: values}
    - {kind: Secret, name: values, valuesKey: password, targetPath: db.password, literal: true}
    - {kind: ConfigMap, name: not-read, optional: true}
    - {kind: ConfigMap, name: values, valuesKey: none, optional: true}
  values: {replicas: 2}
  install: {crds: Skip, disableSchemaValidation: true}
  driftDetection:
    mode: enabled
    ignore: [{paths: [/spec/replicas], target: {kind: Deployment}}]
  commonMetadata: {labels: {team: shop}, annotations: {a: b}}
  postRenderers:
    - kustomize:
        images: [{name: nginx, newTag: "2"}]
        patches: [{patch: "[]", target: {kind: Deployment}}]
status:
  conditions:
    - {type: Ready, status: "True", reason: UpgradeSucceeded, message: Helm upgrade succeeded, lastTransitionTime: "2026-11-30T00:00:00Z"}
  history:
    - {name: web-blog, namespace: web, version: 3, status: failed, chartName: ghost, chartVersion: 1.5.0, digest: "sha256:1", configDigest: "sha256:2", firstDeployed: "2026-11-30T00:00:00Z", lastDeployed: "2026-11-30T00:00:00Z"}
    - {name: web-blog, namespace: web, version: 2, status: deployed, chartName: ghost, chartVersion: 1.4.2, digest: "sha256:1", configDigest: "sha256:2", firstDeployed: "2026-11-30T00:00:00Z", lastDeployed: "2026-11-30T00:00:00Z"}
  inventory:
    entries: [{id: web_blog__Service, v: v1}]
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {url: "https://user:s3cret@charts.example.test"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: values, namespace: apps}
data: {values.yaml: "size: 1"}
---
apiVersion: v1
kind: Secret
metadata: {name: values, namespace: apps}
data: {password: bm90LWEtcmVhbC1vbmU=}
`

func TestHelmRelease(t *testing.T) {
	got, problems := flux.Decode("north", objects(t, fullRelease))
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	want := []gitops.Application{{
		Cluster: "north", Namespace: "apps", Name: "blog", Engine: gitops.Flux, Kind: "HelmRelease",
		Source: gitops.Source{Path: "$chart"},
		Mounts: []gitops.Mount{{At: "$chart", Chart: &gitops.Chart{
			Repo: "https://charts.example.test", Name: "ghost", Version: "1.x", Applied: "1.4.2",
		}}},
		Render: gitops.Render{Namespace: "web", Helm: &gitops.Helm{
			ReleaseName: "web-blog", Namespace: "web", StorageNamespace: "storage",
			ValuesFiles: []gitops.Values{{File: "$chart/values.yaml", Optional: true}, {File: "$chart/values-prod.yaml", Optional: true}},
			Values: []gitops.Values{
				{From: &gitops.ValuesFrom{Kind: "ConfigMap", Name: "values", Key: "values.yaml", Known: true, Text: "size: 1"}},
				{From: &gitops.ValuesFrom{Kind: "Secret", Name: "values", Key: "password", TargetPath: "db.password", Literal: true, Known: true, Text: "not-a-real-one"}},
				{From: &gitops.ValuesFrom{Kind: "ConfigMap", Name: "not-read", Key: "values.yaml"}, Optional: true},
				{Inline: map[string]any{"replicas": 2.0}, At: gitops.Path{gitops.Field("spec"), gitops.Field("values")}},
			},
			SkipCRDs: true, SkipSchema: true,
			PostRenderers: []gitops.Kustomize{{
				Images:  []gitops.Image{{Name: "nginx", NewTag: "2"}},
				Patches: []gitops.Patch{{Patch: "[]", Target: &gitops.PatchTarget{Kind: "Deployment"}}},
			}},
			CommonLabels: map[string]string{"team": "shop"}, CommonAnnotations: map[string]string{"a": "b"},
		}},
		Managers: []gitops.Manager{{Name: "helm-controller"}},
		Tracking: gitops.Tracking{
			Labels:   map[string]string{"helm.toolkit.fluxcd.io/name": "blog", "helm.toolkit.fluxcd.io/namespace": "apps"},
			Selector: "helm.toolkit.fluxcd.io/name",
		},
		Inventory: []gitops.ObjectID{{Kind: "Service", Namespace: "web", Name: "blog"}},
		Interval:  15 * time.Minute, Correction: gitops.Heals, Prune: true, Ready: true, Message: "Helm upgrade succeeded",
		Since:  time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
		Ignore: []gitops.IgnoreRule{{Name: "spec.driftDetection.ignore[0]", Paths: []string{"/spec/replicas"}, Target: &gitops.PatchTarget{Kind: "Deployment"}}},
	}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(gitops.Mount{}, "Tree"), cmpopts.EquateApproxTime(0)); diff != "" {
		t.Error(diff)
	}
}

// release gives a minimal HelmRelease with more lines of spec and status.
func release(spec string, more ...string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: blog, namespace: flux-system}\n" +
		"spec:\n  interval: 1m\n  " + spec + "\n" + strings.Join(more, "\n") + "\n"
}

func history(version, more string) string {
	return "status: {history: [{name: b, namespace: b, version: 1, status: deployed, chartName: c, chartVersion: " + version +
		", digest: d, configDigest: d, firstDeployed: '2026-11-30T00:00:00Z', lastDeployed: '2026-11-30T00:00:00Z'" + more +
		"}], conditions: [{type: Ready, status: 'True', reason: R, message: '', lastTransitionTime: '2026-11-30T00:00:00Z'}]}"
}

func TestCharts(t *testing.T) {
	const (
		commit = "0123456789abcdef0123456789abcdef01234567"
		inGit  = "chart: {spec: {chart: ./charts/blog, valuesFiles: [charts/base.yaml], sourceRef: {kind: GitRepository, name: fleet}}}"
	)
	git := source("GitRepository", "{url: 'https://git.example.test/fleet', ref: {branch: main}}\nstatus: {artifact: {revision: 'main@sha1:"+commit+"'}}")
	oci := func(ref string) string {
		return source("OCIRepository", "{url: 'oci://registry.example.test/charts/blog', ref: "+ref+"}")
	}
	fromOCI := "chartRef: {kind: OCIRepository, name: fleet}"
	for _, row := range []struct {
		name, text    string
		path, applied string
		chart         *gitops.Chart
		chartVersion  string
		problem       gitops.EngineProblemKind
		valuesFile    string
	}{
		{name: "a chart in Git, Ready, is taken to be of the source's revision", text: release(inGit, history("1.2.3", "")) + git,
			path: "charts/blog", applied: commit, problem: gitops.Inferred, valuesFile: "charts/base.yaml"},
		{name: "a chart in Git whose version tells the revision", text: release(inGit, history("1.2.3+0123456789ab", "")) + git,
			path: "charts/blog", applied: commit, chartVersion: "1.2.3+0123456789ab", valuesFile: "charts/base.yaml"},
		{name: "an older revision than the source's", text: release(inGit, history("1.2.3+89abcdef0123", "")) + git,
			path: "charts/blog", applied: "89abcdef0123", chartVersion: "1.2.3+89abcdef0123", valuesFile: "charts/base.yaml"},
		{name: "a chart in Git that was never released", text: release(inGit) + git, path: "charts/blog", valuesFile: "charts/base.yaml"},
		{name: "a chart in Git, not Ready", text: release(inGit, strings.Replace(history("1.2.3", ""), "'True'", "'False'", 1)) + git,
			path: "charts/blog", valuesFile: "charts/base.yaml"},
		{name: "an OCI artifact by tag", text: release(fromOCI, history("1.2.3+00ff00ff00ff", ", ociDigest: 'sha256:1'")) + oci("{tag: v1}"),
			path: "$chart", chart: &gitops.Chart{Repo: "oci://registry.example.test/charts/blog", Name: "blog", Version: "v1", Applied: "v1", Digest: "sha256:1"},
			chartVersion: "1.2.3+00ff00ff00ff"},
		{name: "an OCI artifact by range", text: release(fromOCI, history("1.2.3+00ff00ff00ff", "")) + oci("{semver: 1.x, digest: 'sha256:2'}"),
			path: "$chart", chart: &gitops.Chart{Repo: "oci://registry.example.test/charts/blog", Name: "blog", Version: "1.x", Applied: "1.2.3", Digest: "sha256:2"},
			chartVersion: "1.2.3+00ff00ff00ff"},
		{name: "a HelmChart of a chart repository", text: release("chartRef: {kind: HelmChart, name: c}") +
			strings.Replace(source("HelmChart", "{chart: ghost, version: 2.x, sourceRef: {kind: HelmRepository, name: fleet}}"), "name: fleet, namespace", "name: c, namespace", 1) +
			source("HelmRepository", "{type: oci, url: 'oci://registry.example.test/charts'}"),
			path: "$chart", chart: &gitops.Chart{Repo: "oci://registry.example.test/charts", Name: "ghost", Version: "2.x"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			apps, problems := flux.Decode("", objects(t, row.text))
			if len(apps) != 1 {
				t.Fatalf("%d applications, problems %v", len(apps), problems)
			}
			app := apps[0]
			var chart *gitops.Chart
			if len(app.Mounts) > 0 {
				chart = app.Mounts[0].Chart
			}
			if diff := cmp.Diff(row.chart, chart); diff != "" {
				t.Error(diff)
			}
			if app.Source.Path != row.path || app.Source.Applied != row.applied || app.Render.Helm.ChartVersion != row.chartVersion {
				t.Errorf("got path %q, applied %q, version %q", app.Source.Path, app.Source.Applied, app.Render.Helm.ChartVersion)
			}
			if files := app.Render.Helm.ValuesFiles; row.valuesFile != "" && (len(files) != 1 || files[0].File != row.valuesFile) {
				t.Errorf("values files: %v", files)
			}
			kind := gitops.EngineProblemKind("")
			if len(problems) > 0 {
				kind = problems[0].Kind
			}
			if len(problems) > 1 || kind != row.problem {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

func TestReleaseNames(t *testing.T) {
	chart := "\n  chart: {spec: {chart: c, sourceRef: {kind: HelmRepository, name: fleet}}}"
	long := strings.Repeat("long-", 12) + "name"
	for _, row := range []struct{ name, spec, release, namespace string }{
		{"the object's own", "suspend: false", "blog", "flux-system"},
		{"with the target namespace before it", "targetNamespace: web", "web-blog", "web"},
		{"a given one", "targetNamespace: web\n  releaseName: b", "b", "web"},
		// The hash was computed with sha256sum.
		{"a long one is shortened", "releaseName: " + long, "long-long-long-long-long-long-long-long--83232e2b9f3f", "flux-system"},
	} {
		t.Run(row.name, func(t *testing.T) {
			apps, problems := flux.Decode("", objects(t, release(row.spec+chart)+source("HelmRepository", "{url: 'https://charts.example.test'}")))
			if len(apps) != 1 || len(problems) > 0 {
				t.Fatal(problems)
			}
			if h := apps[0].Render.Helm; h.ReleaseName != row.release || h.Namespace != row.namespace {
				t.Errorf("got %q in %q", h.ReleaseName, h.Namespace)
			}
		})
	}
}

func TestReleaseRevision(t *testing.T) {
	entry := func(name, status string, version int) string {
		return fmt.Sprintf("{name: %s, namespace: flux-system, version: %d, status: %s, chartName: c, chartVersion: 1.0.0, digest: d, configDigest: d, "+
			"firstDeployed: '2026-11-30T00:00:00Z', lastDeployed: '2026-11-30T00:00:00Z'}", name, version, status)
	}
	for _, row := range []struct {
		name    string
		history []string
		want    int
	}{
		{"the newest is deployed", []string{entry("blog", "deployed", 4), entry("blog", "superseded", 3)}, 4},
		{"the newest failed, so that nobody knows what the objects are", []string{entry("blog", "failed", 4), entry("blog", "deployed", 3)}, 0},
		{"it had another name", []string{entry("old", "deployed", 4)}, 0},
		{"there is none", nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			apps, _ := flux.Decode("", objects(t, release("chartRef: {kind: OCIRepository, name: fleet}",
				"status: {storageNamespace: store, history: ["+strings.Join(row.history, ", ")+"]}")))
			if len(apps) != 1 || apps[0].Render.Helm.Revision != row.want || apps[0].Render.Helm.StorageNamespace != "store" {
				t.Errorf("got %+v, want revision %d", apps, row.want)
			}
		})
	}
}

func TestReleaseProblems(t *testing.T) {
	const chart = "\n  chart: {spec: {chart: c, sourceRef: {kind: HelmRepository, name: fleet}}}"
	repository := source("HelmRepository", "{url: 'https://charts.example.test'}")
	data := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: v, namespace: flux-system}\ndata: {a: b}\n"
	for _, row := range []struct {
		name, text string
		kind       gitops.EngineProblemKind
		blocks     bool
		apps       int
	}{
		{"another cluster", release("kubeConfig: {secretRef: {name: k}}"+chart) + repository, gitops.OtherCluster, true, 1},
		{"no source", release("suspend: true" + chart), gitops.NoSource, false, 1},
		{"no chart", release("suspend: true"), gitops.Undecodable, true, 1},
		{"an external artifact", release("chartRef: {kind: ExternalArtifact, name: x}"), gitops.OutsideRepository, true, 1},
		{"a HelmChart that is not there", release("chartRef: {kind: HelmChart, name: x}"), gitops.NoSource, true, 1},
		{"a key that is not there", release("valuesFrom: [{kind: ConfigMap, name: v}]"+chart) + repository + data, gitops.NoSource, true, 1},
		{"a wrong type", release("suspend: [true]" + chart), gitops.Undecodable, true, 0},
		{"values that are a list", release("values: [a]" + chart), gitops.Undecodable, true, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			apps, problems := flux.Decode("", objects(t, row.text))
			if len(apps) != row.apps || len(problems) != 1 || problems[0].Kind != row.kind || problems[0].Blocks != row.blocks {
				t.Errorf("%d applications, problems %+v", len(apps), problems)
			}
		})
	}
}

func TestReleaseInTree(t *testing.T) {
	apps, problems := flux.InTree(tree(map[string]string{
		"apps/blog.yaml":    release("chart: {spec: {chart: charts/blog, sourceRef: {kind: GitRepository, name: fleet}}}"),
		"clusters/git.yaml": source("GitRepository", "{url: 'https://git.example.test/fleet', ref: {branch: main}}"),
	}))
	if len(apps) != 1 || len(problems) > 0 || apps[0].Render.File != "apps/blog.yaml" || apps[0].Source.Path != "charts/blog" || apps[0].Source.Branch != "main" {
		t.Errorf("got %+v, problems %v", apps, problems)
	}
}

// FuzzDecode looks for panics, and for credentials that stay in addresses.
func FuzzDecode(f *testing.F) {
	f.Add(full)
	f.Add(fullRelease)
	f.Add(release("chartRef: {kind: OCIRepository, name: fleet}", history("1+0", "")) + source("OCIRepository", "{url: 'oci://u:p@x/'}"))
	f.Fuzz(func(t *testing.T, text string) {
		declared, _ := render.File("objects.yaml", []byte(text))
		var list []gitops.Object
		for _, d := range declared {
			list = append(list, d.Object)
		}
		apps, _ := flux.Decode("", list)
		for _, a := range apps {
			if gitops.WithoutCredentials(a.Source.Repo) != a.Source.Repo && a.Source.Kind != "Bucket" {
				t.Errorf("repository %q keeps credentials", a.Source.Repo)
			}
			if p := a.Source.Path; p == ".." || strings.HasPrefix(p, "../") || strings.HasPrefix(p, "/") {
				t.Errorf("path %q leaves the tree", p)
			}
		}
	})
}
