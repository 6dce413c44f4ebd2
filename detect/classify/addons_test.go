package classify

import (
	"strings"
	"testing"

	"holdfast/detect"
	"holdfast/gitops"
)

func filled(text, part string) string { return strings.ReplaceAll(text, "%", part) }

// TestWritersThatProveThemselves: what a writer's name says counts where more than the name confirms it.
func TestWritersThatProveThemselves(t *testing.T) {
	const (
		hook   = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: %}, webhooks: [{name: a.example.com, clientConfig: {service: {name: admission, namespace: shop}}}]}"
		bundle = "webhooks[name=a.example.com].clientConfig.caBundle"
		secret = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop, annotations: {reconcile.external-secrets.io/data-hash: x}}}"
		source = "{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: foo, namespace: shop}, spec: {target: {name: %}}}"
		db     = "{apiVersion: rds.aws.upbound.io/v1beta1, kind: Instance, metadata: {name: db, annotations: {crossplane.io/external-name: db}}}"
		kafka  = "{apiVersion: kafka.strimzi.io/v1beta2, kind: Kafka, metadata: {name: k, namespace: shop}}"
		config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}"
	)
	service := []gitops.ObjectID{{Kind: "Service", Namespace: "shop", Name: "admission"}}
	moved := "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: a.example.com, clientConfig: {service: {name: other, namespace: shop}}}]}"
	rules := loadRules(t)
	for _, c := range []cell{
		{name: "the Job of ingress-nginx puts the certificate into its webhook", git: filled(hook, "w"), live: filled(hook, "w"), path: bundle, is: caBundle(), owners: []string{"kube-webhook-certgen"}, sensitive: true,
			cause: detect.CauseController, reason: "rule webhook-certificates"},
		{name: "its name on something else than a certificate", git: filled(hook, "w"), live: filled(hook, "w"), path: bundle, is: "eA==", owners: []string{"kube-webhook-certgen"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "its name on a webhook whose Service is not there", git: filled(hook, "w"), live: filled(hook, "w"), path: bundle, is: caBundle(), owners: []string{"kube-webhook-certgen"}, sensitive: true, absent: service,
			cause: detect.CauseManual, drift: true},
		{name: "its name on a webhook that asks another Service than Git's", git: filled(hook, "w"), live: moved, path: bundle, is: caBundle(), owners: []string{"kube-webhook-certgen"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "a certificate in place of Git's", git: filled(hook, "w"), live: filled(hook, "w"), path: bundle, was: "eA==", is: caBundle(), owners: []string{"kube-webhook-certgen"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "a certificate by a name that is anybody's", git: filled(hook, "w"), live: filled(hook, "w"), path: bundle, is: caBundle(), owners: []string{"manager"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "the same by CloudNativePG on its own webhook", git: filled(hook, "cnpg-webhook"), live: filled(hook, "cnpg-webhook"), path: bundle, is: caBundle(), owners: []string{"manager"}, sensitive: true,
			cause: detect.CauseController, reason: "rule cnpg-certificates"},

		{name: "a key that an ExternalSecret of that name writes", git: secret, live: secret, around: []string{filled(source, "s")}, path: "data.admin", is: "eA==", owners: []string{"externalsecrets.external-secrets.io|foo"}, sensitive: true,
			cause: detect.CauseController, reason: "rule external-secrets-data"},
		{name: "a key by the name of no ExternalSecret", git: secret, live: secret, path: "data.admin", is: "eA==", owners: []string{"externalsecrets.external-secrets.io|foo"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "a key by the name of one that writes elsewhere", git: secret, live: secret, around: []string{filled(source, "other")}, path: "data.admin", is: "eA==", owners: []string{"externalsecrets.external-secrets.io|foo"}, sensitive: true,
			cause: detect.CauseManual, drift: true},

		{name: "a provider fills in what Git leaves open", git: db, live: db, path: "spec.forProvider.engineVersion", is: "14", owners: []string{"provider"},
			cause: detect.CauseController, reason: "rule crossplane-late-initialisation"},
		{name: "a script that nobody knows does not", git: db, live: db, path: "spec.forProvider.publiclyAccessible", is: true, owners: []string{"my-script"},
			cause: detect.CauseManual, drift: true},

		{name: "an operator that nobody knows cleans up after its own kind", git: kafka, live: kafka, path: "metadata.finalizers", is: []any{"strimzi.io/topics"}, owners: []string{"okhttp"},
			cause: detect.CauseController, reason: "rule own-finalizers"},
		{name: "a controller by its name cleans up after a claim", git: config, live: config, path: "metadata.finalizers", is: []any{"snapshot.storage.kubernetes.io/source"}, owners: []string{"snapshot-controller"},
			cause: detect.CauseController, reason: "rule finalizers"},
		{name: "a script that nobody knows does not clean up", git: config, live: config, path: "metadata.finalizers", is: []any{"evil.example.com/never"}, owners: []string{"my-script"},
			cause: detect.CauseManual, drift: true},
		{name: "a script does not clean up after another's kind", git: kafka, live: kafka, path: "metadata.finalizers", is: []any{"evil.example.com/never"}, owners: []string{"my-script"},
			cause: detect.CauseManual, drift: true},
		{name: "k3s counts rollouts", git: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w, namespace: shop}}", live: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: w, namespace: shop}}",
			path: `metadata.annotations["deployment.kubernetes.io/revision"]`, is: "3", owners: []string{"k3s"}, cause: detect.CauseController},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, rules) })
	}
}

// TestLostTrackingID: Argo CD's annotation is gone, or another's.
func TestLostTrackingID(t *testing.T) {
	const (
		entry = "managedFields: [{manager: argocd-controller, operation: Apply, time: '2026-03-03T09:00:00Z', fieldsV1: {'f:data': {}}}]"
		live  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, %, " + entry + "}, data: {a: b}}"
		bare  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}, data: {a: b}}"
		other = "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shop, annotations: {argocd.argoproj.io/tracking-id: 'shop:/ConfigMap:shop/other'}}}"
		role  = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, annotations: {argocd.argoproj.io/tracking-id: 'shop:rbac.authorization.k8s.io/ClusterRole:shop/r'}, " + entry + "}}"
	)
	byAnnotation := func(a *gitops.Application) { argo(a) }
	assumed := func(a *gitops.Application) {
		argo(a)
		a.Tracking.Labels = map[string]string{"app.kubernetes.io/instance": "shop"}
	}
	unlisted := func(a *gitops.Application) { argo(a); a.Inventory = []gitops.ObjectID{} }
	for _, c := range []struct {
		name, live string
		around     []string
		app        func(*gitops.Application)
		want       string // what stands there instead; "-" for no finding
	}{
		{"by annotation, as set", filled(live, "annotations: {argocd.argoproj.io/tracking-id: 'shop:/ConfigMap:shop/web'}"), nil, byAnnotation, "-"},
		{"of the whole cluster, with the Application's namespace", role, nil, byAnnotation, "-"},
		{"by annotation, gone", filled(live, "labels: {a: b}"), nil, byAnnotation, ""},
		{"by annotation, another Application's", filled(live, "annotations: {argocd.argoproj.io/tracking-id: 'x:/ConfigMap:shop/web'}"), nil, byAnnotation, "x:/ConfigMap:shop/web"},
		{"by annotation, another object's", filled(live, "annotations: {argocd.argoproj.io/tracking-id: 'shop:/ConfigMap:shop/x'}"), nil, byAnnotation, "shop:/ConfigMap:shop/x"},
		{"never applied by the engine", bare, nil, byAnnotation, "-"},
		{"not among the Application's objects", filled(live, "labels: {a: b}"), nil, unlisted, "-"},
		{"no setting, and neither mark", filled(live, "labels: {a: b}"), nil, assumed, ""},
		{"no setting, and the label alone", filled(live, "labels: {app.kubernetes.io/instance: shop}"), nil, assumed, "-"},
		{"no setting, the label alone, and others have the annotation", filled(live, "labels: {app.kubernetes.io/instance: shop}"), []string{other}, assumed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := object(t, c.live)
			app := gitops.Application{Name: "shop", Namespace: "argocd", Ready: true}
			c.app(&app)
			if app.Inventory == nil {
				app.Inventory = []gitops.ObjectID{o.ID}
			}
			facts := NewFacts([]gitops.Object{o}, loadRules(t))
			for _, text := range c.around {
				facts.Add(object(t, text))
			}
			declared := object(t, bare)
			declared.ID = o.ID
			got := facts.Switches(Subject{App: app, Declared: &gitops.Declared{Object: declared}, Live: &o})
			switch {
			case c.want == "-" && len(got) > 0:
				t.Errorf("got %s", got[0].Reason)
			case c.want == "-":
			case len(got) != 1 || !got[0].Drift || got[0].Path.String() != `metadata.annotations["argocd.argoproj.io/tracking-id"]`:
				t.Errorf("got %v, want the lost mark", got)
			case c.want == "" && got[0].Live.Set, c.want != "" && got[0].Live.V != c.want:
				t.Errorf("got %v, want %q", got[0].Live, c.want)
			}
		})
	}
}
