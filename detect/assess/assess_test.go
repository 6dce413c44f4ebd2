package assess

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/gitops"
)

func newAssessor(t *testing.T) *Assessor {
	t.Helper()
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// object reads one object from YAML; the empty text is no object.
func object(t *testing.T, text string) *gitops.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	o := gitops.NewObject(content)
	return &o
}

// pod gives a Deployment with this pod spec.
func pod(spec string) string {
	return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template: {spec: " + spec + "}}}"
}

func TestFieldRisk(t *testing.T) {
	const (
		app     = "spec.template.spec.containers[name=app]"
		plain   = "{containers: [{name: app, image: a}]}"
		hosted  = "{hostNetwork: true, containers: [{name: app, image: a}]}"
		reader  = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: [%s]}"
		binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b}, roleRef: {kind: ClusterRole, name: %s}, subjects: [%s]}"
		network = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: n, namespace: shop}, spec: {podSelector: {}, policyTypes: [Ingress], ingress: %s}}"
		hook    = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: h}}"
		service = "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}}"
		claim   = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: shop}}"
		space   = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
		config  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}"
		pods    = `{apiGroups: [""], resources: [pods], verbs: [get]}`
	)
	role := func(rules ...string) string { return fmt.Sprintf(reader, strings.Join(rules, ", ")) }
	a := newAssessor(t)
	for _, c := range []struct {
		name     string
		git      string // the declared object; "" is the live one
		live     string
		path     string
		was, is  any
		tier     detect.Tier
		harmless bool // the field is no drift
		cause    detect.Cause
		class    string
		risk     detect.Risk
	}{
		{name: "another tag of the same image is high", live: pod(plain), path: app + ".image", was: "r.example.com/a:1", is: "r.example.com/a:2", class: "workload_image", risk: detect.High},
		{name: "in staging it is medium", live: pod(plain), path: app + ".image", was: "r.example.com/a:1", is: "r.example.com/a:2", tier: detect.Staging, class: "workload_image", risk: detect.Medium},
		{name: "in dev it is low", live: pod(plain), path: app + ".image", was: "r.example.com/a:1", is: "r.example.com/a:2", tier: detect.Dev, class: "workload_image", risk: detect.Low},
		{name: "in a regulated tier it is critical", live: pod(plain), path: app + ".image", was: "r.example.com/a:1", is: "r.example.com/a:2", tier: detect.Regulated, class: "workload_image", risk: detect.Critical},
		{name: "another registry is critical", live: pod(plain), path: app + ".image", was: "r.example.com/a:1", is: "evil.example.com/a:1", class: "workload_image", risk: detect.Critical},
		{name: "a lost digest is critical", live: pod(plain), path: app + ".image", was: "r.example.com/a@sha256:00", is: "r.example.com/a:1", class: "workload_image", risk: detect.Critical},
		{name: "the tag latest is critical", live: pod(plain), path: app + ".image", was: "r.example.com/a:1", is: "r.example.com/a", class: "workload_image", risk: detect.Critical},
		{name: "a registry with a port and a tag is not latest", live: pod(plain), path: app + ".image", was: "r.example.com:5000/a:1", is: "r.example.com:5000/a:2", class: "workload_image", risk: detect.High},
		{name: "an added container is critical", git: pod(plain), live: pod("{containers: [{name: app, image: a}, {name: x, image: b}]}"), path: "spec.template.spec.containers[name=x]", is: map[string]any{"name": "x", "image": "b"}, class: "workload_image", risk: detect.Critical},

		{name: "the host's network is critical in every tier", git: pod(plain), live: pod(hosted), path: "spec.template.spec.hostNetwork", is: true, tier: detect.Dev, class: "workload_security_context", risk: detect.Critical},
		{name: "a privileged container is critical, though the host's network was declared", git: pod(hosted), live: pod("{hostNetwork: true, containers: [{name: app, image: a, securityContext: {privileged: true}}]}"), path: app + ".securityContext.privileged", is: true, tier: detect.Dev, class: "workload_security_context", risk: detect.Critical},
		{name: "a host path is critical in every tier", git: pod(plain), live: pod("{volumes: [{name: h, hostPath: {path: /}}], containers: [{name: app, image: a}]}"), path: "spec.template.spec.volumes[name=h]", is: map[string]any{"name": "h", "hostPath": map[string]any{"path": "/"}}, tier: detect.Dev, class: "workload_security_context", risk: detect.Critical},
		{name: "an added capability is critical in every tier", git: pod(plain), live: pod("{containers: [{name: app, image: a, securityContext: {capabilities: {add: [SYS_ADMIN]}}}]}"), path: app + ".securityContext.capabilities.add", is: []any{"SYS_ADMIN"}, tier: detect.Dev, class: "workload_security_context", risk: detect.Critical},
		{name: "a security context that meets the same standard is high", git: pod(plain), live: pod("{containers: [{name: app, image: a, securityContext: {readOnlyRootFilesystem: true}}]}"), path: app + ".securityContext.readOnlyRootFilesystem", is: true, class: "workload_security_context", risk: detect.High},
		{name: "one that meets a higher standard is medium", git: pod(plain), live: pod("{securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: app, image: a, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}"), path: "spec.template.spec.securityContext", is: map[string]any{"runAsNonRoot": true}, class: "workload_security_context", risk: detect.Medium},
		{name: "an empty volume is behaviour", git: pod(plain), live: pod(plain), path: "spec.template.spec.volumes[name=h]", is: map[string]any{"name": "h", "emptyDir": map[string]any{}}, class: "workload_runtime_spec", risk: detect.Medium},
		{name: "an environment variable is medium", live: pod(plain), path: app + ".env[name=DEBUG]", is: map[string]any{"name": "DEBUG", "value": "1"}, class: "workload_runtime_spec", risk: detect.Medium},
		{name: "one that loads code is high", live: pod(plain), path: app + ".env[name=LD_PRELOAD]", is: map[string]any{"name": "LD_PRELOAD"}, class: "workload_runtime_spec", risk: detect.High},
		{name: "a limit is low", live: pod(plain), path: app + ".resources.limits.memory", was: "1Gi", is: "2Gi", class: "resources", risk: detect.Low},
		{name: "a lost limit is medium", live: pod(plain), path: app + ".resources.limits.memory", was: "1Gi", class: "resources", risk: detect.Medium},
		{name: "a toleration of the control plane is high", live: pod(plain), path: "spec.template.spec.tolerations", is: []any{map[string]any{"key": "node-role.kubernetes.io/control-plane"}}, class: "scheduling", risk: detect.High},
		{name: "a replica count is medium", live: pod(plain), path: "spec.replicas", was: int64(2), is: int64(5), class: "replicas", risk: detect.Medium},
		{name: "no replicas at all is high", live: pod(plain), path: "spec.replicas", was: int64(2), is: int64(0), class: "replicas", risk: detect.High},
		{name: "a restart is low", live: pod(plain), path: `spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`, is: "now", class: "metadata_only", risk: detect.Low},
		{name: "a label is low", live: pod(plain), path: "metadata.labels.team", is: "x", class: "metadata_only", risk: detect.Low},
		{name: "a lost tracking label is high", live: pod(plain), path: `metadata.labels["kustomize.toolkit.fluxcd.io/name"]`, was: "shop", class: "tracking_mark", risk: detect.High},
		{name: "a switch that stops correction is high", live: pod(plain), path: `metadata.annotations["kustomize.toolkit.fluxcd.io/reconcile"]`, is: "disabled", class: "correction_switch", risk: detect.High},
		{name: "in dev it is high too", live: pod(plain), path: `metadata.annotations["kustomize.toolkit.fluxcd.io/reconcile"]`, is: "disabled", tier: detect.Dev, class: "correction_switch", risk: detect.High},
		{name: "a hook that Git does not have is high", live: pod(plain), path: `metadata.annotations["argocd.argoproj.io/hook"]`, is: "PreSync", tier: detect.Staging, class: "correction_switch", risk: detect.High},
		{name: "a fight over a limit is one above a changed one", live: pod(plain), path: app + ".resources.limits.memory", was: "1Gi", is: "2Gi", cause: detect.CauseContested, class: "resources", risk: detect.Medium},
		{name: "a fight over an image is critical", live: pod(plain), path: app + ".image", was: "r.example.com/a:1", is: "r.example.com/a:2", cause: detect.CauseContested, class: "workload_image", risk: detect.Critical},
		{name: "a fight that Git wins at the moment weighs the same", live: pod(plain), path: app + ".image", was: "r.example.com/a:1", is: "r.example.com/a:1", cause: detect.CauseContested, class: "workload_image", risk: detect.Critical},
		{name: "a suspended Kustomization is high", live: "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: k, namespace: flux-system}}", path: "spec.suspend", is: true, class: "gitops_engine", risk: detect.High},
		{name: "one that Git says is not suspended is critical", live: "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: k, namespace: flux-system}}", path: "spec.suspend", was: false, is: true, class: "gitops_engine", risk: detect.Critical},
		{name: "in a regulated tier it is critical too", live: pod(plain), path: `metadata.annotations["kustomize.toolkit.fluxcd.io/reconcile"]`, is: "disabled", tier: detect.Regulated, class: "correction_switch", risk: detect.Critical},
		{name: "what is no drift is low", live: pod(plain), path: app + ".image", was: "a", is: "mirror/a", harmless: true, class: "workload_image", risk: detect.Low},

		{name: "a wildcard verb is critical in every tier", git: role(pods), live: role(`{apiGroups: [""], resources: [pods], verbs: ["*"]}`), path: "rules", was: []any{}, is: []any{"x"}, tier: detect.Dev, class: "rbac", risk: detect.Critical},
		{name: "reading Secrets is critical in every tier", git: role(pods), live: role(pods, `{apiGroups: [""], resources: [secrets], verbs: [list]}`), path: "rules", was: []any{}, is: []any{"x"}, tier: detect.Dev, class: "rbac", risk: detect.Critical},
		{name: "impersonation is critical in every tier", git: role(pods), live: role(pods, `{apiGroups: [""], resources: [users], verbs: [impersonate]}`), path: "rules", was: []any{}, is: []any{"x"}, tier: detect.Dev, class: "rbac", risk: detect.Critical},
		{name: "one more harmless right is critical in production", git: role(pods), live: role(pods, `{apiGroups: [""], resources: [services], verbs: [get]}`), path: "rules", was: []any{}, is: []any{"x"}, class: "rbac", risk: detect.Critical},
		{name: "and medium in dev", git: role(pods), live: role(pods, `{apiGroups: [""], resources: [services], verbs: [get]}`), path: "rules", was: []any{}, is: []any{"x"}, tier: detect.Dev, class: "rbac", risk: detect.Medium},
		{name: "a right that went is high", git: role(pods, `{apiGroups: [""], resources: [services], verbs: [get]}`), live: role(pods), path: "rules", was: []any{}, is: []any{"x"}, class: "rbac", risk: detect.High},
		{name: "a label that widens admin is critical in every tier", git: role(pods), live: role(pods), path: `metadata.labels["rbac.authorization.k8s.io/aggregate-to-admin"]`, is: "true", tier: detect.Dev, class: "rbac", risk: detect.Critical},
		{name: "another label of a role is low", git: role(pods), live: role(pods), path: "metadata.labels.team", is: "x", class: "metadata_only", risk: detect.Low},
		{name: "cluster-admin for one more is critical in every tier", git: fmt.Sprintf(binding, "cluster-admin", ""), live: fmt.Sprintf(binding, "cluster-admin", "{kind: User, name: alice}"), path: "subjects", is: []any{"x"}, tier: detect.Dev, class: "rbac", risk: detect.Critical},
		{name: "a role for everybody is critical in every tier", git: fmt.Sprintf(binding, "view", ""), live: fmt.Sprintf(binding, "view", "{kind: Group, name: 'system:unauthenticated'}"), path: "subjects", is: []any{"x"}, tier: detect.Dev, class: "rbac", risk: detect.Critical},

		{name: "a network policy from nobody to everybody is critical in every tier", git: fmt.Sprintf(network, "[]"), live: fmt.Sprintf(network, "[{}]"), path: "spec.ingress", was: []any{}, is: []any{map[string]any{}}, tier: detect.Dev, class: "network_policy", risk: detect.Critical},
		{name: "one open to the whole address space too", git: fmt.Sprintf(network, "[{from: [{podSelector: {}}]}]"), live: fmt.Sprintf(network, "[{from: [{ipBlock: {cidr: 0.0.0.0/0}}]}]"), path: "spec.ingress", was: []any{}, is: []any{"x"}, tier: detect.Dev, class: "network_policy", risk: detect.Critical},
		{name: "one that was always open is high when its peers change", git: fmt.Sprintf(network, "[{}]"), live: fmt.Sprintf(network, "[{}, {from: [{podSelector: {}}]}]"), path: "spec.ingress", was: []any{}, is: []any{"x"}, class: "network_policy", risk: detect.High},

		{name: "a webhook that lets pass is critical in every tier", live: hook, path: "webhooks[name=a].failurePolicy", was: "Fail", is: "Ignore", tier: detect.Dev, class: "admission_webhook", risk: detect.Critical},
		{name: "one that closes is medium", live: hook, path: "webhooks[name=a].failurePolicy", was: "Ignore", is: "Fail", class: "admission_webhook", risk: detect.Medium},
		{name: "a lowered pod security level is critical in every tier", live: space, path: `metadata.labels["pod-security.kubernetes.io/enforce"]`, was: "restricted", is: "privileged", tier: detect.Dev, class: "namespace_psa", risk: detect.Critical},
		{name: "a raised one is medium", live: space, path: `metadata.labels["pod-security.kubernetes.io/enforce"]`, was: "baseline", is: "restricted", class: "namespace_psa", risk: detect.Medium},
		{name: "a Service that opens to the world is critical", live: service, path: "spec.type", was: "ClusterIP", is: "LoadBalancer", class: "ingress_tls", risk: detect.Critical},
		{name: "a port of a Service is high", live: service, path: "spec.ports[port=80,protocol=TCP].targetPort", was: int64(1), is: int64(2), class: "ingress_tls", risk: detect.High},
		{name: "a claim that grew is low", live: claim, path: "spec.resources.requests.storage", was: "10Gi", is: "25Gi", class: "storage", risk: detect.Low},
		{name: "a ConfigMap is medium", live: config, path: "data.size", was: "1", is: "2", class: "configmap", risk: detect.Medium},
		{name: "the engine's own settings are critical", live: "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: argocd}}", path: "data.x", was: "1", is: "2", class: "gitops_engine", risk: detect.Critical},
		{name: "a Secret is critical", live: "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}}", path: "data.password", was: "<secret>", is: "<secret>", class: "secret", risk: detect.Critical},
		{name: "a paused ScaledObject is high", live: "{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: s, namespace: shop}}", path: `metadata.annotations["autoscaling.keda.sh/paused-replicas"]`, is: "0", class: "autoscaler_bounds", risk: detect.High},
		{name: "a lowered maximum is high", live: "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: s, namespace: shop}}", path: "spec.maxReplicas", was: int64(10), is: int64(5), class: "autoscaler_bounds", risk: detect.High},
		{name: "a kind that nobody knows is medium", live: "{apiVersion: x.example.com/v1, kind: X, metadata: {name: x}}", path: "spec.a", was: "1", is: "2", class: "custom_resource", risk: detect.Medium},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := object(t, c.live)
			declared := object(t, c.git)
			if declared == nil {
				declared = live
			}
			path, err := gitops.ParsePath(c.path)
			if err != nil {
				t.Fatal(err)
			}
			field := detect.Field{Path: path, Drift: !c.harmless, Differs: true, Cause: c.cause}
			if c.was != nil {
				field.Git = gitops.Present(c.was)
			}
			if c.is != nil {
				field.Live = gitops.Present(c.is)
			}
			tier := c.tier
			if tier == "" {
				tier = detect.Production
			}
			class, risk, _ := a.Field(Input{Object: detect.Ref(*live), Declared: declared, Live: live, Field: field, Presence: detect.Both, Tier: tier})
			if class != c.class || risk != c.risk {
				t.Errorf("got %s %s, want %s %s", class, risk, c.class, c.risk)
			}
		})
	}
}

func TestObjectRisk(t *testing.T) {
	a := newAssessor(t)
	for _, c := range []struct {
		name     string
		object   string
		presence detect.Presence
		cause    detect.Cause
		tier     detect.Tier
		class    string
		risk     detect.Risk
	}{
		{"a missing workload is high", pod("{containers: [{name: a}]}"), detect.GitOnly, detect.CauseMissing, detect.Production, "workload_runtime_spec", detect.High},
		{"in a recovery site it is critical", pod("{containers: [{name: a}]}"), detect.GitOnly, detect.CauseMissing, detect.DR, "workload_runtime_spec", detect.Critical},
		{"a missing default-deny policy is critical in every tier", "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: n, namespace: s}, spec: {podSelector: {}, policyTypes: [Ingress]}}", detect.GitOnly, detect.CauseMissing, detect.Dev, "network_policy", detect.Critical},
		{"a binding that somebody made is critical", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, namespace: s}, roleRef: {kind: Role, name: r}}", detect.LiveOnly, detect.CauseManual, detect.Production, "rbac", detect.Critical},
		{"a privileged pod that somebody made is critical in every tier", "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: s}, spec: {hostPID: true, containers: [{name: a, image: b}]}}", detect.LiveOnly, detect.CauseManual, detect.Dev, "workload_security_context", detect.Critical},
		{"a left over ConfigMap is low", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: s}}", detect.LiveOnly, detect.CauseOrphaned, detect.Production, "configmap", detect.Low},
		{"a left over Secret is high", "{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: s}}", detect.LiveOnly, detect.CauseOrphaned, detect.Production, "secret", detect.High},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := object(t, c.object)
			in := Input{Object: detect.Ref(*o), Presence: c.presence, Tier: c.tier, Field: detect.Field{Cause: c.cause, Drift: true}}
			if c.presence == detect.GitOnly {
				in.Declared = o
			} else {
				in.Live = o
			}
			class, risk, _ := a.Object(in)
			if class != c.class || risk != c.risk {
				t.Errorf("got %s %s, want %s %s", class, risk, c.class, c.risk)
			}
		})
	}
}

func TestSensitive(t *testing.T) {
	a := newAssessor(t)
	deployment := detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for _, c := range []struct {
		name   string
		object detect.ObjectRef
		path   string
		live   any
		want   bool
	}{
		{"an image is", deployment, "spec.template.spec.containers[name=app].image", "a", true},
		{"a container as a whole is", deployment, "spec.template.spec.containers[name=app]", map[string]any{"name": "app", "image": "a"}, true},
		{"a pod template with an image in it is", deployment, "spec.template", map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"image": "a"}}}}, true},
		{"an environment variable is not", deployment, "spec.template.spec.containers[name=app].env[name=A]", map[string]any{"name": "A"}, false},
		{"a host path volume is", deployment, "spec.template.spec.volumes[name=h]", map[string]any{"hostPath": map[string]any{"path": "/"}}, true},
		{"another volume is not", deployment, "spec.template.spec.volumes[name=h]", map[string]any{"emptyDir": map[string]any{}}, false},
		{"a host port is", deployment, "spec.template.spec.containers[name=app].ports[containerPort=80,protocol=TCP].hostPort", int64(80), true},
		{"a port with a host port in it is", deployment, "spec.template.spec.containers[name=app].ports[containerPort=80,protocol=TCP]", map[string]any{"hostPort": int64(80)}, true},
		{"a CronJob's image is", detect.ObjectRef{APIVersion: "batch/v1", Kind: "CronJob", Name: "c"}, "spec.jobTemplate.spec.template.spec.containers[name=app].image", "a", true},
		{"a bare Pod's security context is", detect.ObjectRef{APIVersion: "v1", Kind: "Pod", Name: "p"}, "spec.securityContext", map[string]any{}, true},
		{"rules of a role are", detect.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Name: "r"}, "rules", []any{}, true},
		{"a label of a role is not", detect.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role", Name: "r"}, "metadata.labels.a", "b", false},
		{"data of a Secret is", detect.ObjectRef{APIVersion: "v1", Kind: "Secret", Name: "s"}, "data.a", "b", true},
		{"data of a ConfigMap is not", detect.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Name: "s"}, "data.a", "b", false},
		{"a webhook's rules are", detect.ObjectRef{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration", Name: "s"}, "webhooks[name=a].rules", []any{}, true},
		{"a Kustomization's spec is", detect.ObjectRef{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Name: "s"}, "spec.suspend", true, true},
		{"a pod security label is", detect.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: "s"}, `metadata.labels["pod-security.kubernetes.io/enforce"]`, "privileged", true},
		{"an opt-out mark is", deployment, `metadata.annotations["kustomize.toolkit.fluxcd.io/reconcile"]`, "disabled", true},
		{"a map with an opt-out mark in it is", deployment, "metadata.annotations", map[string]any{"argocd.argoproj.io/hook": "Sync"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, err := gitops.ParsePath(c.path)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Sensitive(c.object, path, gitops.Value{}, gitops.Present(c.live)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestControls: the class's controls come first, each standard in turn, and no more than five are shown.
func TestControls(t *testing.T) {
	a := newAssessor(t)
	list := func(class string, category Category, standards ...string) string {
		var out []string
		for _, c := range a.Controls(class, category, standards) {
			out = append(out, c.Standard+" "+c.ID)
		}
		return strings.Join(out, ", ")
	}
	for _, c := range []struct{ name, got, want string }{
		{"without a choice, four standards take turns", list("workload_image", ValueChanged),
			"nist-800-53r5 CM-7(5), soc2-tsc2017 CC6.8, pci-dss-4.0.1 6.3.2, iso27001-2022 A.8.19, nist-800-53r5 SI-7"},
		{"one standard gives its own, the class's first", list("replicas", FieldAdded, "nist-800-53r5"),
			"nist-800-53r5 CM-6, nist-800-53r5 CM-3, nist-800-53r5 SI-7, nist-800-53r5 CM-3(7)"},
		{"FedRAMP leaves out what is not in its baseline", list("replicas", FieldAdded, "fedramp-moderate"),
			"fedramp-moderate CM-6, fedramp-moderate CM-3, fedramp-moderate SI-7"},
		{"a flavour of the CIS benchmark gives its own numbers", list("admission_webhook", ValueChanged, "cis-eks-1.8.0"), "cis-eks-1.8.0 4.1.11"},
		{"a switch bears on the control that it turns off", list(switchClass, FieldAdded, "pci-dss-4.0.1"),
			"pci-dss-4.0.1 10.7.2, pci-dss-4.0.1 10.7.3, pci-dss-4.0.1 6.5.1"},
		{"a standard that nobody knows gives none", list("rbac", ValueChanged, "iso-9001"), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, c.got, c.want)
		}
	}
}

// TestEveryReferenceIsInItsCatalogue walks all that Controls can answer: each identifier stands in the
// shipped catalogue of its standard, with a title, and none is there twice.
func TestEveryReferenceIsInItsCatalogue(t *testing.T) {
	a := newAssessor(t)
	seen := map[string]bool{}
	for class := range a.classes {
		for _, category := range []Category{ValueChanged, FieldAdded, FieldRemoved, Missing, Unmanaged, Orphaned, Suspended, Contested} {
			for _, c := range a.AllControls(class, category, a.Standards()) {
				if c.Title == "" || a.catalog[c.Standard].titles[c.ID] == "" {
					t.Errorf("%s, %s: %s %s is not in the catalogue", class, category, c.Standard, c.ID)
				}
				seen[c.Standard+" "+c.ID] = true
			}
			if got := a.Controls(class, category, nil); len(got) < 3 || len(got) > primary {
				t.Errorf("%s, %s: %d primary controls, want three to five", class, category, len(got))
			}
		}
	}
	for id, s := range a.catalog {
		for _, m := range a.Mapping(id) {
			if len(m.Expects) > 0 {
				seen[id+" "+m.ID] = true
			}
		}
		for control := range s.titles {
			if !seen[id+" "+control] {
				t.Errorf("%s %s is in the catalogue, and nothing refers to it", id, control)
			}
		}
		if s.Name == "" || s.Version == "" || s.Licence == "" || s.Source == "" {
			t.Errorf("standard %s: name, version, licence and source are all needed", id)
		}
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	known := newAssessor(t)
	for _, c := range []struct {
		name  string
		lists map[string][]string
	}{
		{"a control that its standard does not have", map[string][]string{"nist-800-53r5": {"CM-99"}}},
		{"a control of another standard", map[string][]string{"nist-800-53r5": {"CC8.1"}}},
		{"a standard that is not in the catalogue", map[string][]string{"iso-9001": {"8"}}},
	} {
		if err := known.known("class x", c.lists); err == nil {
			t.Errorf("%s: it was taken", c.name)
		}
	}
	a := &Assessor{classes: map[string]*class{}}
	if err := a.addClasses([]*class{{ID: "x", Risk: map[Category]levelName{ValueChanged: "high"}}}); err == nil {
		t.Error("a class without all its levels was taken")
	}
	if _, err := a.addMatches([]match{{Class: "nowhere"}}, true); err == nil {
		t.Error("a match for a class that does not exist was taken")
	}
}

// TestEveryClassIsMatched: a class that no row gives is dead.
func TestEveryClassIsMatched(t *testing.T) {
	a := newAssessor(t)
	for id := range a.classes {
		if id != fallbackClass && !slices.ContainsFunc(a.matches, func(m match) bool { return m.Class == id }) {
			t.Errorf("no row gives the class %s", id)
		}
	}
}
