package classify

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"holdfast/detect"
	"holdfast/gitops"
)

func caBundle() string {
	return base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"))
}

// TestKnownMutators: a rule holds when field, name, shape and precondition all match. Three of the four are
// no match.
func TestKnownMutators(t *testing.T) {
	const (
		hook     = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w%}, webhooks: [{name: a.example.com}]}"
		hookPath = "webhooks[name=a.example.com]"
		deploy   = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop%}}"
		ns       = "{apiVersion: v1, kind: Namespace, metadata: {name: shop%}}"
		service  = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop%}}"
	)
	with := func(object, marks string) string {
		if marks != "" {
			marks = ", annotations: {" + marks + "}"
		}
		return strings.Replace(object, "%", marks, 1)
	}
	injected := with(hook, "cert-manager.io/inject-ca-from: a/b")
	istio := with(hook, "istio.io/rev: default")
	reloaded := with(deploy, `reloader.stakater.com/auto: "true"`)
	env := map[string]any{"name": "STAKATER_A_CONFIGMAP", "value": "9d2f0a61c3be5d4f7a8b11c2e3d4f5a6b7c8d9e0"}
	const note = `autopilot.gke.io/resource-adjustment: '{"input":{"containers":[{"name":"app","requests":{"cpu":"20m"}}]},"output":{"containers":[{"name":"app","requests":{"cpu":"50m"}}]}}'`
	adjusted := func(cpu, marks string) string {
		return with(strings.Replace(deploy, "}}", "}, spec: {template: {spec: {containers: [{name: app, resources: {requests: {cpu: "+cpu+"}}}]}}}}", 1), marks)
	}
	enforcer := []any{map[string]any{"key": "control-plane", "operator": "NotIn", "values": []any{"true"}}}
	selected := func(expressions string) string {
		return "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: a.example.com, namespaceSelector: {matchExpressions: " + expressions + "}}]}"
	}
	awsAuth := "{apiVersion: v1, kind: ConfigMap, metadata: {name: aws-auth, namespace: kube-system}}"

	rules := loadRules(t)
	for _, c := range []cell{
		{name: "cert-manager injects the CA that Git asks for", git: injected, live: injected, path: hookPath + ".clientConfig.caBundle", was: "Cg==", is: caBundle(), owners: []string{"cert-manager-cainjector"}, sensitive: true,
			cause: detect.CauseController, writer: "cert-manager-cainjector manager"},
		{name: "cert-manager's name without the annotation in Git is no excuse", git: with(hook, ""), live: injected, path: hookPath + ".clientConfig.caBundle", was: "Cg==", is: caBundle(), owners: []string{"cert-manager-cainjector"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "a changed annotation redirects trust", git: injected, live: with(hook, "cert-manager.io/inject-ca-from: evil/b"), path: hookPath + ".clientConfig.caBundle", was: "Cg==", is: caBundle(), owners: []string{"cert-manager-cainjector"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "a CA bundle that is no certificate is no excuse", git: injected, live: injected, path: hookPath + ".clientConfig.caBundle", was: "Cg==", is: "eA==", owners: []string{"cert-manager-cainjector"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "cert-manager's name does not cover the URL", git: injected, live: injected, path: hookPath + ".clientConfig.url", is: "https://evil", owners: []string{"cert-manager-cainjector"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "a person's CA bundle is manual", git: injected, live: injected, path: hookPath + ".clientConfig.caBundle", was: "Cg==", is: caBundle(), owners: []string{"kubectl-patch"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "istiod lets its validator fail closed", git: istio, live: istio, path: hookPath + ".failurePolicy", was: "Ignore", is: "Fail", owners: []string{"pilot-discovery"}, sensitive: true,
			cause: detect.CauseController},
		{name: "istiod never lets it fail open", git: istio, live: istio, path: hookPath + ".failurePolicy", was: "Fail", is: "Ignore", owners: []string{"pilot-discovery"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "AKS keeps its namespaces out of a webhook", git: with(hook, ""), live: selected(`[{key: control-plane, operator: NotIn, values: ["true"]}]`), path: hookPath + ".namespaceSelector.matchExpressions", is: enforcer, owners: []string{"admissionsenforcer"}, sensitive: true,
			cause: detect.CauseController},
		{name: "AKS's name does not cover another expression", git: with(hook, ""), live: selected(`[{key: env, operator: NotIn, values: [prod]}]`), path: hookPath + ".namespaceSelector.matchExpressions", is: []any{map[string]any{"key": "env", "operator": "NotIn", "values": []any{"prod"}}}, owners: []string{"admissionsenforcer"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "EKS adds the role of its nodes", git: awsAuth, live: awsAuth, path: "data.mapRoles", was: "", is: "- {rolearn: 'arn:aws:iam::1:role/n', username: n, groups: ['system:bootstrappers', 'system:nodes']}", owners: []string{"vpcLambda"}, sensitive: true,
			cause: detect.CauseController},
		{name: "EKS's name does not make an administrator", git: awsAuth, live: awsAuth, path: "data.mapRoles", was: "", is: "- {rolearn: 'arn:aws:iam::1:role/n', username: n, groups: ['system:masters']}", owners: []string{"vpcLambda"}, sensitive: true,
			cause: detect.CauseManual, drift: true},

		{name: "aggregated rules are computed", path: "rules", is: []any{}, owners: []string{"clusterrole-aggregation-controller/Apply"}, sensitive: true,
			git:   "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: []}}",
			live:  "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: []}}",
			cause: detect.CauseController},
		{name: "without an aggregationRule in Git nothing is computed", path: "rules", is: []any{}, owners: []string{"clusterrole-aggregation-controller/Apply"}, sensitive: true,
			git:   "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}",
			live:  "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, aggregationRule: {clusterRoleSelectors: []}}",
			cause: detect.CauseManual, drift: true},

		{name: "Autopilot adjusted what Git asks for", git: adjusted("20m", ""), live: adjusted("50m", note), path: "spec.template.spec.containers[name=app].resources.requests.cpu", was: "20m", is: "50m", owners: []string{"kustomize-controller/Apply"},
			cause: detect.CauseAdmission},
		{name: "Autopilot adjusted something that is not Git's", git: adjusted("30m", ""), live: adjusted("50m", note), path: "spec.template.spec.containers[name=app].resources.requests.cpu", was: "30m", is: "50m", owners: []string{"kubectl-set"},
			cause: detect.CauseManual, drift: true},
		{name: "live is not what Autopilot let through", git: adjusted("20m", ""), live: adjusted("70m", note), path: "spec.template.spec.containers[name=app].resources.requests.cpu", was: "20m", is: "70m", owners: []string{"kubectl-set"},
			cause: detect.CauseManual, drift: true},
		{name: "Autopilot drops a capability", git: adjusted("20m", ""), live: adjusted("50m", note), path: "spec.template.spec.containers[name=app].securityContext", is: map[string]any{"capabilities": map[string]any{"drop": []any{"NET_RAW"}}}, sensitive: true,
			cause: detect.CauseAdmission, reason: "takes rights away"},
		{name: "Autopilot adds no capability", git: adjusted("20m", ""), live: adjusted("50m", note), path: "spec.template.spec.containers[name=app].securityContext", is: map[string]any{"capabilities": map[string]any{"add": []any{"SYS_ADMIN"}, "drop": []any{"NET_RAW"}}}, sensitive: true,
			cause: detect.CauseUnknown, drift: true},

		{name: "Reloader marks a restart that Git asks for", git: reloaded, live: reloaded, path: "spec.template.spec.containers[name=app].env[name=STAKATER_A_CONFIGMAP]", is: env, owners: []string{"manager"},
			cause: detect.CauseController},
		{name: "Reloader's entry without the annotation in Git is an addition", git: with(deploy, ""), live: reloaded, path: "spec.template.spec.containers[name=app].env[name=STAKATER_A_CONFIGMAP]", is: env, owners: []string{"manager"},
			cause: detect.CauseManual, drift: true},
		{name: "Reloader's entry with a value of its own is an addition", git: reloaded, live: reloaded, path: "spec.template.spec.containers[name=app].env[name=STAKATER_A_CONFIGMAP]", is: map[string]any{"name": "STAKATER_A_CONFIGMAP", "value": "http://evil"}, owners: []string{"manager"},
			cause: detect.CauseManual, drift: true},
		{name: "a person's entry under Reloader's name pattern is an addition", git: reloaded, live: reloaded, path: "spec.template.spec.containers[name=app].env[name=STAKATER_A_CONFIGMAP]", is: env, owners: []string{"kubectl-set"},
			cause: detect.CauseManual, drift: true},

		{name: "OpenShift labels a namespace that declares no level", git: with(ns, ""), live: with(ns, "openshift.io/sa.scc.mcs: s0"), path: `metadata.labels["pod-security.kubernetes.io/warn"]`, is: "restricted", owners: []string{"pod-security-admission-label-synchronization-controller/Apply"}, sensitive: true,
			cause: detect.CauseController},
		{name: "the syncer's name on another cluster is no excuse", git: with(ns, ""), live: with(ns, ""), path: `metadata.labels["pod-security.kubernetes.io/warn"]`, is: "restricted", owners: []string{"pod-security-admission-label-synchronization-controller/Apply"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "the syncer's name does not lower a declared level", git: with(ns, ""), live: with(ns, "openshift.io/sa.scc.mcs: s0"), path: `metadata.labels["pod-security.kubernetes.io/enforce"]`, was: "restricted", is: "baseline", owners: []string{"pod-security-admission-label-synchronization-controller/Apply"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "a Service takes over its namespace's opaque ports", git: with(service, ""), live: with(service, `config.linkerd.io/opaque-ports: "25"`), path: `metadata.annotations["config.linkerd.io/opaque-ports"]`, is: "25", around: []string{with(ns, `config.linkerd.io/opaque-ports: "25"`)},
			cause: detect.CauseAdmission, reason: "rule linkerd-opaque-ports"},
		{name: "Kueue holds a Job that Git puts into a queue", path: "spec.suspend", is: true, owners: []string{"kueue"},
			git:   "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: ml, labels: {kueue.x-k8s.io/queue-name: q}}}",
			live:  "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: ml, labels: {kueue.x-k8s.io/queue-name: q}}}",
			cause: detect.CauseController},
		{name: "a Job in no queue is not held by Kueue's name", path: "spec.suspend", is: true, owners: []string{"kueue"},
			git:   "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: ml}}",
			live:  "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: ml}}",
			cause: detect.CauseManual, drift: true},
		{name: "a restart by hand is named and is drift", git: with(deploy, ""), live: with(deploy, ""), path: `spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`, is: late, owners: []string{"kubectl-rollout"},
			cause: detect.CauseManual, drift: true, writer: "kubectl-rollout manager", reason: "restarts them once more"},
		{name: "a restart beside another annotation is not the whole of it", git: with(deploy, ""), live: with(deploy, ""), path: "spec.template.metadata.annotations", is: map[string]any{"kubectl.kubernetes.io/restartedAt": late, "inject": "true"}, owners: []string{"kubectl-edit"},
			cause: detect.CauseManual, drift: true, reason: "kubectl-edit added"},
		{name: "a finalizer of a controller is its business", git: with(service, ""), live: with(service, ""), path: "metadata.finalizers", was: []any{"a.example.com/x"}, is: []any{"a.example.com/x", "b.example.com/y"}, owners: []string{"some-operator"},
			cause: detect.CauseController},
		{name: "a finalizer that a person adds is not", git: with(service, ""), live: with(service, ""), path: "metadata.finalizers", is: []any{"b.example.com/y"}, owners: []string{"kubectl-patch"},
			cause: detect.CauseManual, drift: true},
		{name: "a finalizer that went is not", git: with(service, ""), live: with(service, ""), path: "metadata.finalizers", was: []any{"a.example.com/x", "c.example.com/z"}, is: []any{"b.example.com/y"}, owners: []string{"some-operator"},
			cause: detect.CauseManual, drift: true},
		{name: "a Rollout steers the Service that it names", git: with(service, ""), live: with(service, ""), path: `spec.selector["rollouts-pod-template-hash"]`, is: "6c9d", owners: []string{"rollouts-controller"},
			around: []string{"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: r, namespace: shop}, spec: {strategy: {canary: {canaryService: web}}}}"},
			cause:  detect.CauseController},
		{name: "no Rollout names the Service", git: with(service, ""), live: with(service, ""), path: `spec.selector["rollouts-pod-template-hash"]`, is: "6c9d", owners: []string{"rollouts-controller"},
			cause: detect.CauseManual, drift: true},
		{name: "an allocated address is the API server's", git: with(service, ""), live: with(service, ""), path: "spec.clusterIP", is: "10.0.0.1",
			cause: detect.CauseAPI},
		{name: "a node port that a person set is not", git: with(service, ""), live: with(service, ""), path: "spec.ports[port=80,protocol=TCP].nodePort", is: int64(30000), owners: []string{"kubectl-edit"},
			cause: detect.CauseManual, drift: true},
		{name: "the engine's tracking label is no drift", git: with(deploy, ""), live: with(deploy, ""), path: `metadata.labels["kustomize.toolkit.fluxcd.io/name"]`, is: "shop", owners: []string{"kustomize-controller/Apply"}, sensitive: true,
			cause: detect.CauseController},
		{name: "a tracking label that a person wrote is", git: with(deploy, ""), live: with(deploy, ""), path: `metadata.labels["kustomize.toolkit.fluxcd.io/name"]`, is: "shop", owners: []string{"kubectl-label"}, sensitive: true,
			cause: detect.CauseManual, drift: true},
		{name: "a tracking id of another object is not Argo CD's", git: with(deploy, ""), live: with(deploy, ""), path: `metadata.annotations["argocd.argoproj.io/tracking-id"]`, is: "shop:/ConfigMap:shop/web", owners: []string{"argocd-controller"}, app: argo, sensitive: true,
			cause: detect.CauseOrphaned, drift: true},
		{name: "the sync under way is Argo CD's own note", path: "operation", is: map[string]any{"sync": map[string]any{}}, owners: []string{"argocd-application-controller"}, app: argo, sensitive: true,
			git: "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}", live: "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}",
			cause: detect.CauseController},
		{name: "a sync of files that somebody sent along is not", path: "operation", is: map[string]any{"sync": map[string]any{"manifests": []any{"{}"}}}, owners: []string{"argocd-server"}, app: argo, sensitive: true,
			git: "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}", live: "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}",
			cause: detect.CauseManual, drift: true},
		{name: "a sync that a person writes down is not", path: "operation", is: map[string]any{"sync": map[string]any{}}, owners: []string{"kubectl-patch"}, app: argo,
			git: "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}", live: "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}}",
			cause: detect.CauseManual, drift: true},
		{name: "a provider fills in what Git leaves open", path: "spec.forProvider.tags", is: map[string]any{"a": "b"}, owners: []string{"provider"},
			git:   "{apiVersion: s3.example.com/v1, kind: Bucket, metadata: {name: b}}",
			live:  "{apiVersion: s3.example.com/v1, kind: Bucket, metadata: {name: b, annotations: {crossplane.io/external-name: b}}}",
			cause: detect.CauseController},
		{name: "a provider does not change what Git declares", path: "spec.forProvider.versioning", was: true, is: false, owners: []string{"provider"},
			git:   "{apiVersion: s3.example.com/v1, kind: Bucket, metadata: {name: b}}",
			live:  "{apiVersion: s3.example.com/v1, kind: Bucket, metadata: {name: b, annotations: {crossplane.io/external-name: b}}}",
			cause: detect.CauseManual, drift: true},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, rules) })
	}
}

// TestNoRuleExcusesASensitiveFieldByANameAlone: such a rule has a precondition or a shape, and never holds
// for anybody.
func TestNoRuleExcusesASensitiveFieldByANameAlone(t *testing.T) {
	for _, m := range loadRules(t).mutators {
		if !m.Sensitive {
			continue
		}
		w, s := m.When, m.Shape
		proven := len(w.GitMark)+len(w.LiveMark)+len(w.InGit)+len(w.Live)+len(w.Owner) > 0 || w.Check != "" ||
			len(s.Git)+len(s.Live)+len(s.Adds)+len(s.JSON) > 0 || s.Text != "" || s.Certificates
		if !proven {
			t.Errorf("rule %s excuses sensitive fields by a name alone", m.ID)
		}
		for _, word := range []string{"anyone", "tool", "controller"} {
			if slices.Contains(m.Writers, word) {
				t.Errorf("rule %s excuses sensitive fields for %s", m.ID, word)
			}
		}
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	const rest = ", component: c, cause: controller, writers: [x], reason: r, source: [s]}]}"
	for name, text := range map[string]string{
		"an unknown key":            "{mutators: [{id: a, fields: [spec], field: x" + rest,
		"a pattern that is broken":  "{mutators: [{id: a, fields: ['spec[']" + rest,
		"a check that is not there": "{mutators: [{id: a, fields: [spec], when: {check: nothing}" + rest,
		"a rule without a source":   "{mutators: [{id: a, fields: [spec], component: c, cause: controller, writers: [x], reason: r}]}",
		"a cause that is none":      "{mutators: [{id: a, fields: [spec], component: c, cause: nobody, writers: [x], reason: r, source: [s]}]}",
		"an id used twice":          "{mutators: [{id: a, fields: [spec]" + rest[:len(rest)-2] + ", {id: a, fields: [spec]" + rest,
		"an actor that is none":     "{managers: [{name: a, actor: x, what: y}]}",
	} {
		r := newRules()
		if err := r.add([]byte(text)); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

// TestAdmissionMatch: who may have changed an object at admission.
func TestAdmissionMatch(t *testing.T) {
	web := object(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {app: web}}}")
	hook := func(selectors, groups, resources string) string {
		return "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: h}, webhooks: [{name: h, " +
			selectors + "rules: [{apiGroups: [" + groups + "], resources: [" + resources + "]}]}]}"
	}
	const mutation = "{apiVersion: admissionregistration.k8s.io/v1beta1, kind: MutatingAdmissionPolicy, metadata: {name: m}, spec: {matchConstraints: {resourceRules: [{apiGroups: [apps], operations: [CREATE], resources: [deployments]}]}}}"
	const binding = "{apiVersion: admissionregistration.k8s.io/v1beta1, kind: MutatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: m%}}"
	for _, c := range []struct {
		name string
		by   string
		want bool
	}{
		{"a webhook that is asked about deletions only", strings.Replace(hook("", "apps", "deployments"), "apiGroups", "operations: [DELETE], apiGroups", 1), false},
		{"a webhook that is asked about updates", strings.Replace(hook("", "apps", "deployments"), "apiGroups", "operations: [DELETE, UPDATE], apiGroups", 1), true},
		{"Gatekeeper's webhook, whose mutators say what it does", strings.Replace(hook("", "'*'", "'*'"), "name: h, rules", "name: mutation.gatekeeper.sh, rules", 1), false},
		{"Kyverno's webhook, whose policies say what it does", strings.Replace(hook("", "'*'", "'*/*'"), "name: h, rules", "name: mutate.kyverno.svc-fail, rules", 1), false},
		{"a Gatekeeper mutator that leaves the namespace out", "{apiVersion: mutations.gatekeeper.sh/v1, kind: Assign, metadata: {name: a}, spec: {applyTo: [{groups: [apps], kinds: [Deployment], versions: [v1]}], match: {excludedNamespaces: [sh*]}}}", false},
		{"a Kyverno policy that leaves the namespace out", "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Deployment]}}]}, exclude: {any: [{resources: {namespaces: [shop]}}]}, mutate: {}}]}}", false},
		{"a Kyverno policy of which only a part matches", "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {all: [{resources: {kinds: [Deployment]}}, {resources: {namespaces: [other]}}]}, mutate: {}}]}}", false},
		{"a MutatingAdmissionPolicy that nothing binds", mutation, false},
		{"a MutatingAdmissionPolicy that is bound", mutation + "\n---\n" + strings.Replace(binding, "%", "", 1), true},
		{"a MutatingAdmissionPolicy that is bound elsewhere", mutation + "\n---\n" + strings.Replace(binding, "%", ", matchResources: {namespaceSelector: {matchLabels: {team: other}}}", 1), false},
		{"a webhook for deployments", hook("", "apps", "deployments"), true},
		{"a webhook for everything", hook("", "'*'", "'*/*'"), true},
		{"a webhook for pods", hook("", "''", "pods"), false},
		{"a webhook for a subresource of deployments", hook("", "apps", "deployments/scale"), false},
		{"a webhook for another group", hook("", "batch", "deployments"), false},
		{"a webhook for labelled objects that this one is among", hook("objectSelector: {matchLabels: {app: web}}, ", "apps", "deployments"), true},
		{"a webhook for labelled objects that this one is not among", hook("objectSelector: {matchLabels: {app: other}}, ", "apps", "deployments"), false},
		{"a webhook for other namespaces", hook("namespaceSelector: {matchExpressions: [{key: mesh, operator: Exists}]}, ", "apps", "deployments"), false},
		{"a Kyverno policy that mutates Deployments", "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [apps/v1/Deployment]}}]}, mutate: {}}]}}", true},
		{"a Kyverno policy that only validates", "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Deployment]}}]}, validate: {}}]}}", false},
		{"a Kyverno policy of another namespace", "{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: p, namespace: other}, spec: {rules: [{name: r, match: {resources: {kinds: [Deployment]}}, mutate: {}}]}}", false},
		{"a Gatekeeper mutator for Deployments", "{apiVersion: mutations.gatekeeper.sh/v1, kind: Assign, metadata: {name: a}, spec: {applyTo: [{groups: [apps], kinds: [Deployment], versions: [v1]}]}}", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := NewFacts([]gitops.Object{object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: shop}}}")}, loadRules(t))
			for one := range strings.SplitSeq(c.by, "\n---\n") {
				facts.Add(object(t, one))
			}
			if got := facts.Admission.Mutates(web); (got != "") != c.want {
				t.Errorf("got %q, want a match: %v", got, c.want)
			}
		})
	}
}
