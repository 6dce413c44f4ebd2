package scan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/engines"
)

// TestConditions reads what keeps an engine from correcting an Application, at noon of 2026-03-10.
func TestConditions(t *testing.T) {
	const (
		kustomization = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: shop
  namespace: flux-system
  creationTimestamp: "2026-03-01T00:00:00Z"
  generation: 3
  {{metadata}}
spec: {interval: 10m, path: ., prune: true, sourceRef: {kind: GitRepository, name: shop}{{spec}}}
status:
  observedGeneration: 3
  lastAppliedRevision: main@sha1:1111111111111111111111111111111111111111
  conditions: [{type: Ready, status: "True", reason: Done, message: Applied, lastTransitionTime: "2026-03-02T00:00:00Z"}]
  history: [{lastReconciled: "2026-03-10T11:55:00Z"}]
`
		application = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd, creationTimestamp: "2026-03-01T00:00:00Z"}
spec:
  project: default
  source: {repoURL: "https://git.example/shop", path: ., targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
  syncPolicy: {automated: {selfHeal: true}}
status:
  reconciledAt: "2026-03-10T11:58:00Z"
  sync: {status: Synced, revision: "1111111111111111111111111111111111111111"}
  operationState: {phase: Succeeded, finishedAt: "2026-03-09T00:00:00Z", operation: {}}
`
	)
	suspended := strings.NewReplacer("{{spec}}", ", suspend: true", "{{metadata}}", `managedFields:
  - {manager: kustomize-controller, operation: Apply, time: "2026-02-01T00:00:00Z", fieldsV1: {"f:spec": {"f:interval": {}}}}
  - {manager: kubectl-patch, operation: Update, time: "2026-03-01T02:00:00Z", fieldsV1: {"f:spec": {"f:suspend": {}}}}`)
	plain := strings.NewReplacer("{{spec}}", "", "{{metadata}}", "")
	with := func(r *strings.Replacer, pairs ...string) string {
		text := r.Replace(kustomization)
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("no %q to replace", pairs[i])
			}
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		return text
	}
	for _, c := range []struct {
		name, object string
		dump         bool
		want         string
	}{
		{name: "all is well", object: with(plain), want: ""},
		{name: "suspended by a person", object: with(suspended), want: "suspended since 2026-03-01T02:00:00Z by kubectl-patch: spec.suspend"},
		{name: "its last apply failed", object: with(plain, `"True", reason: Done, message: Applied`, `"False", reason: Broken, message: dry run failed`),
			want: "failing since 2026-03-02T00:00:00Z: dry run failed"},
		{name: "the controller gave up", object: with(plain, `conditions: [`, `conditions: [{type: Stalled, status: "True", message: no such path, lastTransitionTime: "2026-03-03T00:00:00Z"}, `),
			want: "stalled since 2026-03-03T00:00:00Z: no such path"},
		{name: "never reconciled", object: with(plain, "  lastAppliedRevision: main@sha1:1111111111111111111111111111111111111111\n", "", "  history: [{lastReconciled: \"2026-03-10T11:55:00Z\"}]\n", "", "message: Applied, ", `message: "", `, "observedGeneration: 3", "observedGeneration: -1"),
			want: "never-reconciled since 2026-03-01T00:00:00Z"},
		{name: "not looked at for three hours", object: with(plain, "11:55", "09:00"),
			want: "stale since 2026-03-10T09:00:00Z: not reconciled for 3h, interval 10m"},
		{name: "of a dump the age is not known", object: with(plain, "11:55", "09:00"), dump: true, want: ""},
		{name: "two intervals are not late yet", object: with(plain, "11:55", "11:41"), want: ""},
		{name: "nobody answers in its shard", object: with(plain, "  generation: 3", "  generation: 3\n  labels: {sharding.fluxcd.io/key: shard1}\n  annotations: {reconcile.fluxcd.io/requestedAt: \"2026-03-10T11:00:00Z\"}"),
			want: "stale since 2026-03-10T11:55:00Z: asked to reconcile 1h ago, and no controller answered; it is for the controller of sharding.fluxcd.io/key: shard1"},
		{name: "an answered request", object: with(plain, "  generation: 3", "  generation: 3\n  annotations: {reconcile.fluxcd.io/requestedAt: \"2026-03-10T11:00:00Z\"}", "  observedGeneration: 3", "  observedGeneration: 3\n  lastHandledReconcileAt: \"2026-03-10T11:00:00Z\""), want: ""},
		{name: "a spec that no controller has seen", object: with(plain, "  generation: 3", "  generation: 4\n  managedFields: [{manager: kubectl-edit, operation: Update, time: \"2026-03-10T11:50:00Z\", fieldsV1: {\"f:spec\": {}}}]"),
			want: "stale since 2026-03-10T11:55:00Z: its spec changed 10m ago, and no controller has seen that"},
		{name: "Argo CD looks in time", object: application, want: ""},
		{name: "Argo CD has not looked for an hour", object: strings.Replace(application, "11:58", "11:00", 1),
			want: "stale since 2026-03-10T11:00:00Z: not reconciled for 1h, interval 3m"},
		{name: "Argo CD was told to skip it", object: strings.Replace(application, "namespace: argocd,", `namespace: argocd, annotations: {argocd.argoproj.io/skip-reconcile: "true"},
  managedFields: [{manager: kubectl-annotate, operation: Update, time: "2026-03-04T00:00:00Z", fieldsV1: {"f:metadata": {"f:annotations": {"f:argocd.argoproj.io/skip-reconcile": {}}}}}],`, 1),
			want: `suspended since 2026-03-04T00:00:00Z by kubectl-annotate: metadata.annotations["argocd.argoproj.io/skip-reconcile"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var content map[string]any
			if err := yaml.Unmarshal([]byte(c.object), &content); err != nil {
				t.Fatal(err)
			}
			object := gitops.NewObject(content)
			apps, _ := engines.Decode("north", []gitops.Object{object})
			if len(apps) != 1 {
				t.Fatalf("%d Applications", len(apps))
			}
			now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
			if c.dump {
				now = time.Time{}
			}
			var got []string
			for _, x := range conditions(apps[0], &object, nil, now) {
				text := string(x.Type)
				if !x.Since.IsZero() {
					text += " since " + x.Since.UTC().Format(time.RFC3339)
				}
				if x.Writer != nil {
					text += " by " + x.Writer.Name()
				}
				if x.Message != "" {
					text += fmt.Sprintf(": %s", x.Message)
				}
				got = append(got, text)
			}
			if text := strings.Join(got, "\n"); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}
