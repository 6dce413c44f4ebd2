package argocd_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/gitops"
	"holdfast/gitops/argocd"
	"holdfast/gitops/render"
)

func objects(t testing.TB, text string) []gitops.Object {
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

// app gives a minimal Application with this source, and more lines below spec and status.
func app(source string, more ...string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\n" +
		"spec:\n  project: shop\n  destination: {server: 'https://kubernetes.default.svc', namespace: prod}\n  " + source + "\n" + strings.Join(more, "\n") + "\n"
}

// git is a source in Git with more fields.
func git(more string) string {
	return "source: {repoURL: 'https://git.example.test/fleet.git', targetRevision: main, path: apps/web" + more + "}"
}

func decode(t testing.TB, text string) (gitops.Application, []gitops.EngineProblem) {
	t.Helper()
	apps, problems := argocd.Decode("north", objects(t, text))
	if len(apps) != 1 {
		t.Fatalf("%d applications; problems: %v", len(apps), problems)
	}
	return apps[0], problems
}

const hash = "0123456789abcdef0123456789abcdef01234567"

const full = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: web
  namespace: team
  annotations:
    argocd.argoproj.io/manifest-generate-paths: ".;/shared;../base"
    argocd.argoproj.io/skip-reconcile: "true"
spec:
  project: shop
  destination: {name: in-cluster, namespace: prod}
  source:
    repoURL: https://bot:s3cret@git.example.test/fleet.git
    path: ./apps/web/
    targetRevision: HEAD
    kustomize:
      namePrefix: a-
      nameSuffix: -z
      namespace: other
      version: v4.5.7
      images: [nginx=mirror/nginx:1.2, "redis:7", "log@sha256:00ff", "env:$ARGOCD_APP_REVISION_SHORT"]
      commonLabels: {team: "$ARGOCD_APP_NAME"}
      labelWithoutSelector: true
      commonAnnotations: {a: "$NOT"}
      forceCommonAnnotations: true
      components: [../c]
      ignoreMissingComponents: true
      replicas: [{name: web, count: 3}, {name: api, count: "4"}]
      patches: [{patch: "[]", target: {kind: Deployment, labelSelector: a=b}}]
  syncPolicy:
    automated: {prune: true, selfHeal: true}
    syncOptions: [CreateNamespace=true, RespectIgnoreDifferences=true]
  ignoreDifferences:
    - {group: apps, kind: Deployment, name: web, jsonPointers: [/spec/replicas], jqPathExpressions: [".spec.x"], managedFieldsManagers: [scaler]}
status:
  controllerNamespace: argocd
  sync: {status: Synced, revision: ` + hash + `}
  operationState:
    phase: Succeeded
    message: successfully synced (all tasks run)
    startedAt: "2026-11-29T23:59:00Z"
    finishedAt: "2026-11-30T00:00:00Z"
    operation: {sync: {prune: true}}
    syncResult: {revision: ` + hash + `, source: {repoURL: "https://bot:s3cret@git.example.test/fleet.git"}}
  resources:
    - {kind: Service, namespace: prod, name: web, version: v1, status: Synced}
    - {group: batch, kind: Job, namespace: prod, name: migrate, hook: true}
    - {group: apps, kind: Deployment, namespace: prod, name: old, status: OutOfSync, requiresPruning: true}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: shop, namespace: argocd}
spec:
  syncWindows:
    - {kind: deny, schedule: "0 22 * * *", duration: 8h, timeZone: Europe/Berlin, applications: ["w*"], manualSync: true}
    - {kind: allow, schedule: "0 8 * * 1", duration: 1h, namespaces: [prod]}
    - {kind: deny, schedule: "1 1 1 1 1", duration: 1h, applications: [web], namespaces: [none], andOperator: true}
    - {kind: deny, schedule: "2 2 2 2 2", duration: 1h, clusters: [elsewhere]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd}
data:
  application.resourceTrackingMethod: annotation
  installationID: one
  resource.customizations.ignoreDifferences.all: "managedFieldsManagers: [sidecar-injector]"
  resource.customizations.ignoreDifferences.apps_StatefulSet: "jsonPointers: [/spec]"
  resource.customizations.ignoreDifferences.Broken: "[x]"
  resource.customizations.health.apps_Deployment: "return {}"
`

func TestDecode(t *testing.T) {
	got, problems := decode(t, full)
	want := gitops.Application{
		Cluster: "north", Namespace: "team", Name: "web", Engine: gitops.ArgoCD, Kind: "Application",
		Source: gitops.Source{Repo: "https://git.example.test/fleet.git", Path: "apps/web", Branch: "HEAD", Applied: hash, Kind: "Git"},
		Render: gitops.Render{Namespace: "prod", Kustomize: &gitops.Kustomize{
			NamePrefix: "a-", NameSuffix: "-z", TargetNamespace: "other", Components: []string{"../c"}, IgnoreMissingComponents: true,
			Images: []gitops.Image{
				{Name: "nginx", NewName: "mirror/nginx", NewTag: "1.2"}, {Name: "redis", NewTag: "7"},
				{Name: "log", Digest: "sha256:00ff"}, {Name: "env", NewTag: "0123456"},
			},
			Labels:      &gitops.Common{Pairs: map[string]string{"team": "team_web"}, WithoutSelector: true},
			Annotations: &gitops.Common{Pairs: map[string]string{"a": "$NOT"}, Force: true},
			Replicas:    []gitops.Replica{{Name: "web", Count: 3}, {Name: "api", Count: 4}},
			Patches:     []gitops.Patch{{Patch: "[]", Target: &gitops.PatchTarget{Kind: "Deployment", LabelSelector: "a=b"}}},
		}},
		Managers:  []gitops.Manager{{Name: "argocd-controller"}, {Name: "argocd-application-controller", Operation: "Update"}},
		Tracking:  gitops.Tracking{Annotation: "argocd.argoproj.io/tracking-id", Installation: "one"},
		Inventory: []gitops.ObjectID{{Kind: "Service", Namespace: "prod", Name: "web"}, {Group: "apps", Kind: "Deployment", Namespace: "prod", Name: "old"}},
		Ignore: []gitops.IgnoreRule{
			{
				Name: "spec.ignoreDifferences[0]", Paths: []string{"/spec/replicas"}, JQ: []string{".spec.x"}, Managers: []string{"scaler"},
				Target: &gitops.PatchTarget{Group: "apps", Kind: "Deployment", Name: "web"}, Exact: true,
			},
			{
				Name:     "resource.customizations.ignoreDifferences.all of ConfigMap argocd/argocd-cm",
				Managers: []string{"sidecar-injector"}, Target: &gitops.PatchTarget{Group: "*", Kind: "*"}, Exact: true,
			},
			{
				Name:  "resource.customizations.ignoreDifferences.apps_StatefulSet of ConfigMap argocd/argocd-cm",
				Paths: []string{"/spec"}, Target: &gitops.PatchTarget{Group: "apps", Kind: "StatefulSet"}, Exact: true,
			},
		},
		Suspended: true, Correction: gitops.Heals, Prune: true, Ready: true, Message: "successfully synced (all tasks run)",
		Project: "shop", Options: []string{"CreateNamespace=true", "RespectIgnoreDifferences=true"},
		GeneratePaths: []string{"apps/web", "shared", "apps/base"},
		Switches: []string{
			`metadata.annotations["argocd.argoproj.io/skip-reconcile"]`,
			`deny sync window "0 22 * * *" for 8h (Europe/Berlin) of AppProject shop, but by hand`,
			`no sync outside the sync window "0 8 * * 1" for 1h of AppProject shop`,
			"resource.customizations.ignoreDifferences.all of ConfigMap argocd/argocd-cm ignores whatever sidecar-injector writes to every kind",
			`resource.customizations.ignoreDifferences.apps_StatefulSet of ConfigMap argocd/argocd-cm ignores "/spec" of StatefulSet.apps whole`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var told []string
	for _, p := range problems {
		if p.Blocks {
			t.Errorf("it blocks: %v", p)
		}
		told = append(told, string(p.Kind))
	}
	if diff := cmp.Diff([]string{"undecodable", "unsupported"}, told); diff != "" {
		t.Errorf("problems %v: %s", problems, diff)
	}
}

// sources gives an Application of several sources.
func sources(list ...string) string { return app("sources:\n    - " + strings.Join(list, "\n    - ")) }

func TestSources(t *testing.T) {
	const (
		values = "{repoURL: 'https://git.example.test/values.git', targetRevision: main, ref: values}"
		inGit  = "{repoURL: 'https://git.example.test/charts.git', targetRevision: v6.0.0, path: web, helm: {valueFiles: [$values/prod.yaml]}}"
		chart  = "{repoURL: 'https://charts.example.test', chart: web, targetRevision: 1.x, helm: {valueFiles: [own.yaml, $values/prod.yaml]}}"
		oci    = "{repoURL: registry.example.test/charts, chart: web, targetRevision: 1.2.3}"
		plain  = "{repoURL: 'https://git.example.test/values.git', targetRevision: main, path: crds, directory: {recurse: true, include: '*.yaml', exclude: 'x*'}}"
		older  = "{repoURL: 'https://git.example.test/values.git', targetRevision: old, path: crds, directory: {}}"
	)
	file := func(name string) gitops.Values { return gitops.Values{File: name} }
	helm := func(values ...gitops.Values) gitops.Render {
		return gitops.Render{Namespace: "prod", Helm: &gitops.Helm{ReleaseName: "web", Namespace: "prod", Values: values}}
	}
	home := func(path string) gitops.Source {
		return gitops.Source{Repo: "https://git.example.test/values.git", Branch: "main", Kind: "Git", Path: path}
	}
	mounted := func(at, name, version string) []gitops.Mount {
		return []gitops.Mount{{At: at, Chart: &gitops.Chart{Repo: "https://charts.example.test", Name: name, Version: version}}}
	}
	ociChart := &gitops.Chart{Repo: "oci://registry.example.test/charts", Name: "web", Version: "1.2.3"}
	charts := gitops.Mount{At: "$source0", Source: gitops.Source{Repo: "https://git.example.test/charts.git", Kind: "Git"}}
	for _, row := range []struct {
		name, text string
		want       gitops.Application
	}{
		{"a chart in Git with values of another repository has its home there", sources(inGit, values),
			gitops.Application{Source: home("$source0/web"), Render: helm(file("prod.yaml")), Mounts: []gitops.Mount{charts}}},
		{"a chart of a repository with values of Git", sources(chart, values),
			gitops.Application{Source: home("$chart"), Render: helm(file("$chart/own.yaml"), file("prod.yaml")), Mounts: mounted("$chart", "web", "1.x")}},
		{"a chart alone has no home", sources(oci),
			gitops.Application{Source: gitops.Source{Path: "$chart"}, Render: helm(), Mounts: []gitops.Mount{{At: "$chart", Chart: ociChart}}}},
		{"two charts", sources(oci, oci), gitops.Application{
			Source: gitops.Source{Path: "$chart"}, Render: helm(), Parts: []gitops.Part{{Path: "$chart2", Render: helm()}},
			Mounts: []gitops.Mount{{At: "$chart", Chart: ociChart}, {At: "$chart2", Chart: ociChart}},
		}},
		{"more of the same repository needs no mount", sources(chart, plain, values), gitops.Application{
			Source: home("$chart"), Render: helm(file("$chart/own.yaml"), file("prod.yaml")), Mounts: mounted("$chart", "web", "1.x"),
			Parts: []gitops.Part{{Path: "crds", Render: gitops.Render{Namespace: "prod", Directory: true, Recurse: true, Include: "*.yaml", Exclude: "x*"}}},
		}},
		{"the same repository at another revision is a mount", sources(plain, older), gitops.Application{
			Source: home("crds"), Render: gitops.Render{Namespace: "prod", Directory: true, Recurse: true, Include: "*.yaml", Exclude: "x*"},
			Parts:  []gitops.Part{{Path: "$source1/crds", Render: gitops.Render{Namespace: "prod", Directory: true}}},
			Mounts: []gitops.Mount{{At: "$source1", Source: gitops.Source{Repo: "https://git.example.test/values.git", Branch: "old", Kind: "Git"}}},
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, problems := decode(t, row.text)
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
			same := gitops.Application{Source: got.Source, Render: got.Render, Parts: got.Parts, Mounts: got.Mounts}
			if diff := cmp.Diff(row.want, same, cmpopts.IgnoreFields(gitops.Mount{}, "Tree")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHelm(t *testing.T) {
	at := func(steps ...gitops.Step) gitops.Path {
		return append(gitops.Path{gitops.Field("spec"), gitops.Field("source"), gitops.Field("helm")}, steps...)
	}
	parameter := func(n int, p gitops.Parameter) gitops.Values {
		return gitops.Values{Parameter: &p, At: at(gitops.Field("parameters"), gitops.Index(n))}
	}
	for _, row := range []struct {
		name, options string
		want          gitops.Helm
	}{
		{"in order of precedence", "fileParameters: [{name: f, path: /certs/ca.pem}], parameters: [{name: a, value: 'true', forceString: true}, {name: b, value: '1,2'}], values: 'x: 1', valueFiles: [values-prod.yaml, ../base.yaml, /global.yaml]",
			gitops.Helm{Values: []gitops.Values{
				{File: "apps/web/values-prod.yaml"}, {File: "apps/base.yaml"}, {File: "global.yaml"},
				{Text: "x: 1", At: at(gitops.Field("values"))},
				parameter(1, gitops.Parameter{Name: "b", Value: "1,2"}),
				parameter(0, gitops.Parameter{Name: "a", Value: "true", String: true}),
				{Parameter: &gitops.Parameter{Name: "f", File: "certs/ca.pem"}, At: at(gitops.Field("fileParameters"), gitops.Index(0))},
			}}},
		{"valuesObject takes the place of values", "values: 'x: 1', valuesObject: {b: [2]}",
			gitops.Helm{Values: []gitops.Values{{Inline: map[string]any{"b": []any{2.0}}, At: at(gitops.Field("valuesObject"))}}}},
		{"missing files may be ignored", "ignoreMissingValueFiles: true, valueFiles: [a.yaml]",
			gitops.Helm{Values: []gitops.Values{{File: "apps/web/a.yaml", Optional: true}}}},
		{"variables of the build", "parameters: [{name: a, value: '$ARGOCD_APP_NAME-${ARGOCD_APP_NAMESPACE}-$$X-$UNKNOWN.'}], valueFiles: [$ARGOCD_APP_PROJECT_NAME.yaml]",
			gitops.Helm{Values: []gitops.Values{{File: "apps/web/shop.yaml"}, parameter(0, gitops.Parameter{Name: "a", Value: "web-prod-$X-."})}}},
		{"what the chart sees of release and cluster", "releaseName: r, namespace: ns, kubeVersion: 1.31.0, apiVersions: [a/v1], skipCrds: true, skipSchemaValidation: true, skipTests: true",
			gitops.Helm{ReleaseName: "r", Namespace: "ns", KubeVersion: "1.31.0", APIVersions: []string{"a/v1"}, SkipCRDs: true, SkipSchema: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, problems := decode(t, app(git(", helm: {"+row.options+"}")))
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
			if row.want.ReleaseName == "" {
				row.want.ReleaseName, row.want.Namespace = "web", "prod"
			}
			if diff := cmp.Diff(&row.want, got.Render.Helm); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBranch(t *testing.T) {
	for revision, want := range map[string]string{
		"main": "main", "release-1": "release-1", "feature/x": "feature/x", "refs/heads/x/y": "x/y", "''": "HEAD", "HEAD": "HEAD",
		"refs/tags/v1": "", "v1.2.3": "", "1.2.3-rc.1": "", "'~1.2'": "", "'>=1.0 <2'": "", "'*'": "", "1.2.x": "", "'1.*'": "",
		hash: "", "abcdef0": "",
	} {
		got, _ := decode(t, app("source: {repoURL: 'https://git.example.test/x', path: web, targetRevision: "+revision+"}"))
		if got.Source.Branch != want {
			t.Errorf("%s: got branch %q, want %q", revision, got.Source.Branch, want)
		}
	}
}

func TestApplied(t *testing.T) {
	const other, third = "89abcdef0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210fedcba98"
	history := "  history: [{id: 1, revision: " + other + "}, {id: 2, revision: " + hash + "}]"
	operation := func(phase, sync string) string {
		return "  operationState: {phase: " + phase + ", operation: {sync: {" + sync + "}}, syncResult: {revision: " + other + "}}"
	}
	for _, row := range []struct {
		name   string
		status []string
		want   string
	}{
		{"the last operation", []string{history, operation("Succeeded", "prune: true")}, other},
		{"a failed one leaves the history", []string{history, operation("Failed", "")}, hash},
		{"a running one too", []string{history, operation("Running", "")}, hash},
		{"a dry run applies nothing", []string{history, operation("Succeeded", "dryRun: true")}, hash},
		{"some resources alone are not all", []string{history, operation("Succeeded", "resources: [{kind: Service, name: web}]")}, hash},
		{"files of a person's machine are not Git", []string{history, operation("Succeeded", "manifests: ['{}']")}, hash},
		{"found in sync without a sync", []string{"  sync: {status: Synced, revision: " + hash + "}"}, hash},
		{"in sync with a commit that said what was live, and was never synced", []string{history, operation("Succeeded", ""), "  sync: {status: Synced, revision: " + third + "}"}, third},
		{"in sync with another repository than now", []string{history, "  sync: {status: Synced, revision: " + third + ", comparedTo: {source: {repoURL: 'https://example.com/other.git'}}}"}, hash},
		{"never synced", []string{"  sync: {status: OutOfSync, revision: " + hash + "}"}, ""},
		{"no status", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var status []string
			if row.status != nil {
				status = append([]string{"status:"}, row.status...)
			}
			got, _ := decode(t, app(git(""), status...))
			if got.Source.Applied != row.want {
				t.Errorf("got %q, want %q", got.Source.Applied, row.want)
			}
		})
	}
	t.Run("several sources, whose order was another", func(t *testing.T) {
		got, _ := decode(t, sources("{repoURL: 'https://charts.example.test', chart: web, targetRevision: 1.x}", "{repoURL: 'https://git.example.test/a', path: a}")+
			"status: {history: [{revisions: ["+hash+", 1.4.2], sources: [{repoURL: 'https://git.example.test/a', path: a}, {repoURL: 'https://charts.example.test', chart: web}]}]}\n")
		if got.Source.Applied != hash || got.Mounts[0].Chart.Applied != "1.4.2" {
			t.Errorf("got %q and %q", got.Source.Applied, got.Mounts[0].Chart.Applied)
		}
	})
}

func TestState(t *testing.T) {
	for _, row := range []struct {
		name, status string
		ready        bool
		message      string
		since        string
	}{
		{"a sync that succeeded", "operationState: {phase: Succeeded, message: ok, finishedAt: '2026-11-30T00:00:00Z'}", true, "ok", "2026-11-30T00:00:00Z"},
		{"a sync that failed", "operationState: {phase: Failed, message: refused, finishedAt: '2026-11-30T00:00:00Z'}", false, "refused", "2026-11-30T00:00:00Z"},
		{"a sync under way says nothing", "operationState: {phase: Running, message: waiting}", false, "", ""},
		{"an error beside an older success", "operationState: {phase: Succeeded, message: ok, finishedAt: '2026-11-30T00:00:00Z'}, conditions: [{type: OrphanedResourceWarning, message: w}, {type: ComparisonError, message: broken, lastTransitionTime: '2026-11-30T01:00:00Z'}]",
			false, "ComparisonError: broken", "2026-11-30T01:00:00Z"},
		{"never synced", "sync: {status: OutOfSync}", false, "", ""},
		{"in sync without a sync", "sync: {status: Synced}", true, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, _ := decode(t, app(git(""), "status: {"+row.status+"}"))
			since := ""
			if !got.Since.IsZero() {
				since = got.Since.UTC().Format(time.RFC3339)
			}
			if got.Ready != row.ready || got.Message != row.message || since != row.since {
				t.Errorf("got %v %q %q", got.Ready, got.Message, since)
			}
		})
	}
}

func TestCorrection(t *testing.T) {
	failed := "status: {sync: {status: OutOfSync, revision: " + hash + "}, operationState: {phase: Failed, syncResult: {revision: " + hash + "}}}"
	before := "status: {sync: {status: OutOfSync, revision: " + hash + "}, operationState: {phase: Failed, syncResult: {revision: older}}}"
	for _, row := range []struct {
		name, policy, status string
		want                 gitops.Correction
		switches             int
	}{
		{"not automated", "{}", "", gitops.ByHand, 0},
		{"automated", "{automated: {}}", "", gitops.OnCommit, 0},
		{"healing", "{automated: {selfHeal: true}}", "", gitops.Heals, 0},
		{"turned off with its settings kept", "{automated: {selfHeal: true, enabled: false}}", "", gitops.ByHand, 1},
		{"turned on by name", "{automated: {selfHeal: true, enabled: true}}", "", gitops.Heals, 0},
		{"healing waits after a failure", "{automated: {selfHeal: true}}", failed, gitops.Heals, 1},
		{"a failure of another revision is over", "{automated: {selfHeal: true}}", before, gitops.Heals, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, _ := decode(t, app(git(""), "  syncPolicy: "+row.policy, row.status))
			if got.Correction != row.want || len(got.Switches) != row.switches {
				t.Errorf("got %s and %q", got.Correction, got.Switches)
			}
		})
	}
}

func TestTracking(t *testing.T) {
	settings := func(namespace, data string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: " + namespace + "}\ndata: {" + data + "}\n"
	}
	annotation := "argocd.argoproj.io/tracking-id"
	instance := map[string]string{"app.kubernetes.io/instance": "web"}
	both := gitops.Tracking{Annotation: annotation, Labels: instance, Selector: "app.kubernetes.io/instance"}
	for _, row := range []struct {
		name, settings string
		want           gitops.Tracking
	}{
		{"nothing known takes both", "", both},
		{"no method set takes both, since the default depends on the version", settings("argocd", ""), both},
		{"by label", settings("argocd", "application.resourceTrackingMethod: label, application.instanceLabelKey: example.test/app"),
			gitops.Tracking{Labels: map[string]string{"example.test/app": "web"}, Selector: "example.test/app"}},
		{"by annotation", settings("argocd", "application.resourceTrackingMethod: annotation"), gitops.Tracking{Annotation: annotation}},
		{"by annotation, with a label for people", settings("argocd", "application.resourceTrackingMethod: annotation+label"),
			gitops.Tracking{Annotation: annotation, Selector: "app.kubernetes.io/instance"}},
		{"the only settings count wherever they are", settings("gitops", "application.resourceTrackingMethod: annotation"), gitops.Tracking{Annotation: annotation}},
		{"of two settings the nearer count", settings("gitops", "application.resourceTrackingMethod: label") + settings("argocd", "application.resourceTrackingMethod: annotation"),
			gitops.Tracking{Annotation: annotation}},
		{"settings that are broken count as none", settings("argocd", "a: {b: c}"), both},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, _ := decode(t, app(git(""))+row.settings)
			if diff := cmp.Diff(row.want, got.Tracking); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOlderCustomizations(t *testing.T) {
	got, problems := decode(t, app(git(""))+`---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd}
data:
  resource.customizations: |
    admissionregistration.k8s.io/MutatingWebhookConfiguration:
      ignoreDifferences: |
        jqPathExpressions: ['.webhooks[]?.clientConfig.caBundle']
      health.lua: return {}
`)
	want := []gitops.IgnoreRule{{
		Name: `resource.customizations["admissionregistration.k8s.io/MutatingWebhookConfiguration"].ignoreDifferences of ConfigMap argocd/argocd-cm`,
		JQ:   []string{".webhooks[]?.clientConfig.caBundle"}, Exact: true,
		Target: &gitops.PatchTarget{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
	}}
	if diff := cmp.Diff(want, got.Ignore); diff != "" || len(problems) > 0 {
		t.Error(diff, problems)
	}
}

func TestProblems(t *testing.T) {
	to := func(destination string) string {
		return strings.Replace(app(git("")), "{server: 'https://kubernetes.default.svc', namespace: prod}", destination, 1)
	}
	secret := func(data string) string {
		return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: c, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster}}\nstringData: {" + data + "}\n"
	}
	for _, row := range []struct {
		name, text string
		kind       gitops.EngineProblemKind
		blocks     bool
		says       string
	}{
		{"another cluster by server", to("{server: 'https://south.example.test'}"), gitops.OtherCluster, true, "https://south.example.test"},
		{"another cluster by name", to("{name: south}"), gitops.OtherCluster, true, "south"},
		{"no cluster", to("{namespace: prod}"), gitops.OtherCluster, true, "no cluster"},
		{"a cluster Secret of another", to("{name: south}") + secret("name: south, server: 'https://south.example.test'"), gitops.OtherCluster, true, "not this cluster"},
		{"a cluster Secret that runs a command", to("{name: south}") + secret(`name: south, server: 'https://south.example.test', config: '{"execProviderConfig": {"command": "x"}}'`),
			gitops.OtherCluster, true, "refused"},
		{"a plugin", app(git(", plugin: {name: x}")), gitops.Unsupported, true, "plugin"},
		{"jsonnet", app(git(", directory: {jsonnet: {tlas: [{name: a, value: b}]}}")), gitops.Unsupported, true, "jsonnet"},
		{"a values file of the web", app(git(", helm: {valueFiles: ['https://u:s3cret@example.test/v.yaml']}")), gitops.Unsupported, true, "not in a repository"},
		{"a values file outside", app(git(", helm: {valueFiles: ['../../../x.yaml']}")), gitops.Unsupported, true, "leaves the repository"},
		{"a ref that no source has", sources("{repoURL: 'https://git.example.test/x', path: web, helm: {valueFiles: [$nope/v.yaml]}}", "{repoURL: 'https://git.example.test/y', ref: vals}"),
			gitops.Unsupported, true, `$nope/v.yaml: no source has the ref "nope"`},
		{"an image that is none", app(git(", kustomize: {images: [nginx]}")), gitops.Unsupported, true, "nginx"},
		{"replicas that are no number", app(git(", kustomize: {replicas: [{name: a, count: x}]}")), gitops.Unsupported, true, "whole number"},
		{"a patch in a file", app(git(", kustomize: {patches: [{path: p.yaml}]}")), gitops.Unsupported, true, "p.yaml"},
		{"no source", app("info: []"), gitops.Unsupported, true, "neither"},
		{"a ref alone", sources("{repoURL: 'https://git.example.test/x', ref: v}"), gitops.Unsupported, true, "none of its sources"},
		{"an ApplicationSet made it", strings.Replace(app(git("")), "namespace: argocd}", "namespace: argocd, ownerReferences: [{kind: ApplicationSet, name: all}]}", 1), gitops.Generated, false, "all"},
		{"a hydrator writes its files", app("sourceHydrator: {drySource: {repoURL: 'https://git.example.test/dry'}, syncSource: {targetBranch: env/prod, path: web}}"), gitops.Generated, false, "dry"},
		{"a sync of somebody's files", app(git(""), "status: {operationState: {phase: Succeeded, operation: {sync: {manifests: ['{}']}}}}"), gitops.OutsideRepository, false, "--local"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, problems := decode(t, row.text)
			if len(problems) != 1 {
				t.Fatalf("problems: %v", problems)
			}
			p := problems[0]
			if p.Kind != row.kind || p.Blocks != row.blocks || !strings.Contains(p.Message, row.says) || strings.Contains(p.Message, "s3cret") {
				t.Errorf("got %+v", p)
			}
		})
	}
	for name, text := range map[string]string{
		"this cluster by another name":  to("{name: here}") + secret("name: here, server: 'https://kubernetes.default.svc'"),
		"fields that nobody knows here": app(git(", future: {a: [1]}"), "  future: 1", "status: {future: []}"),
	} {
		if _, problems := decode(t, text); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestWrongTypesBlock(t *testing.T) {
	for name, text := range map[string]string{
		"a source that is a list":         app("source: [x]"),
		"a revision that is a number":     app("source: {repoURL: x, targetRevision: 1}"),
		"a parameter that is a number":    app(git(", helm: {parameters: [{name: a, value: 1}]}")),
		"values that are a mapping":       app(git(", helm: {values: {a: b}}")),
		"a status that is a text":         app(git(""), "status: x"),
		"selfHeal that is a text":         app(git(""), "  syncPolicy: {automated: {selfHeal: 'yes'}}"),
		"replicas with a broken count":    app(git(", kustomize: {replicas: [{name: a, count: 1.5}]}")),
		"ignore rules that are a mapping": app(git(""), "  ignoreDifferences: {a: b}"),
	} {
		apps, problems := argocd.Decode("", objects(t, text))
		if len(apps) != 0 || len(problems) != 1 || problems[0].Kind != gitops.Undecodable || !problems[0].Blocks {
			t.Errorf("%s: %d applications, problems %v", name, len(apps), problems)
		}
	}
}

func TestInTree(t *testing.T) {
	files := map[string]string{
		"apps/web.yaml":        "# first\n---\n---\n" + app(git("")),
		"apps/set.yaml":        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec: {}\n",
		"template/broken.yaml": "{{ if }}\nkind: argoproj.io\n",
		"readme.md":            "argoproj.io",
	}
	tree := map[string]gitops.File{}
	for name, text := range files {
		tree[name] = gitops.File{Data: []byte(text)}
	}
	apps, problems := argocd.InTree(gitops.NewTree(tree))
	if len(apps) != 1 || apps[0].Render.File != "apps/web.yaml" || apps[0].Render.Document != 1 || apps[0].Cluster != "" {
		t.Errorf("got %+v", apps)
	}
	if len(problems) != 1 || problems[0].Kind != gitops.Syntax || problems[0].File != "template/broken.yaml" {
		t.Errorf("problems: %v", problems)
	}
}

// FuzzDecode looks for panics, paths that leave the tree and credentials that stay in addresses.
func FuzzDecode(f *testing.F) {
	f.Add(full)
	f.Add(app(git(", helm: {valueFiles: [$values/x, /a, ../b], parameters: [{name: a, value: $X}]}")))
	f.Add(sources("{repoURL: 'oci://registry.example.test/charts/web', path: ., targetRevision: 1}", "{repoURL: x, ref: v}"))
	f.Fuzz(func(t *testing.T, text string) {
		declared, _ := render.File("objects.yaml", []byte(text))
		var list []gitops.Object
		for _, d := range declared {
			list = append(list, d.Object)
		}
		apps, problems := argocd.Decode("", list)
		for _, a := range apps {
			paths := []string{a.Source.Path}
			for _, p := range a.Parts {
				paths = append(paths, p.Path)
			}
			for _, p := range paths {
				if p == ".." || strings.HasPrefix(p, "../") || strings.HasPrefix(p, "/") {
					t.Errorf("path %q leaves the tree", p)
				}
			}
			if gitops.WithoutCredentials(a.Source.Repo) != a.Source.Repo {
				t.Errorf("repository %q keeps credentials", a.Source.Repo)
			}
		}
		for _, p := range problems {
			if p.Message == "" {
				t.Errorf("a problem without a message: %+v", p)
			}
		}
	})
}
