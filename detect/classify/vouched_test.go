package classify_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/gitops"
)

// TestANameAloneExcusesNothingThatOpensAccess judges objects of namespace shop, or of the whole cluster, each made under
// a name; empty: no managedFields.
func TestANameAloneExcusesNothingThatOpensAccess(t *testing.T) {
	const (
		role    = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: User, name: eve}]"
		rbac    = "apiVersion: rbac.authorization.k8s.io/v1, kind: "
		boot    = "labels: {kubernetes.io/bootstrapping: rbac-defaults}, annotations: {rbac.authorization.kubernetes.io/autoupdate: 'true'}"
		webhook = "apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration"
	)
	hand := func(more string) string {
		return "{" + rbac + "RoleBinding, metadata: {name: hand, namespace: shop" + more + "}, " + role + "}"
	}
	generating := func(kind, data string) string {
		return "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: rights}, spec: {rules: [{name: r, generate: {kind: " + kind + ", name: hand, namespace: '{{request.object.metadata.name}}', data: " + data + "}}]}}"
	}
	tests := []struct {
		name, manager, object string
		around                string
		want                  detect.Cause
		drift                 bool
	}{
		{name: "without managedFields", object: hand(""), want: detect.CauseUnknown, drift: true},
		{name: "a built-in controller's name", manager: "kube-controller-manager", object: hand(""), want: detect.CauseUnknown, drift: true},
		{name: "the API server's name", manager: "kube-apiserver", object: hand(""), want: detect.CauseUnknown, drift: true},
		{name: "an operator's name", manager: "cert-manager-controller", object: hand(""), want: detect.CauseUnknown, drift: true},
		{name: "aggregation writes no bindings", manager: "clusterrole-aggregation-controller", object: hand(""), want: detect.CauseUnknown, drift: true},
		{name: "what was there before", manager: "before-first-apply", object: hand(""), want: detect.CauseUnknown, drift: true},
		{name: "folded", manager: "ancient-changes", object: hand(""), want: detect.CauseUnknown, drift: true},
		{name: "a policy under a controller's name", manager: "operator", want: detect.CauseUnknown, drift: true,
			object: "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: open, namespace: shop}, spec: {}}"},
		{name: "a privileged pod", want: detect.CauseUnknown, drift: true,
			object: "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {containers: [{name: a, securityContext: {privileged: true}}]}}"},
		{name: "a harmless pod", want: detect.CauseUnknown,
			object: "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {containers: [{name: a}]}}"},

		{name: "a bootstrap binding", manager: "kube-apiserver", want: detect.CauseController,
			object: "{" + rbac + "ClusterRoleBinding, metadata: {name: 'system:discovery', " + boot + "}, roleRef: {kind: ClusterRole, name: 'system:discovery'}, subjects: [{kind: Group, name: 'system:authenticated'}]}"},
		{name: "a bootstrap binding in kube-system", manager: "kube-apiserver", want: detect.CauseController,
			object: "{" + rbac + "RoleBinding, metadata: {name: 'system::extension-apiserver-authentication-reader', namespace: kube-system, " + boot + "}, roleRef: {kind: Role, name: extension-apiserver-authentication-reader}, subjects: [{kind: User, name: 'system:kube-scheduler'}]}"},
		{name: "cluster-admin", object: "{" + rbac + "ClusterRoleBinding, metadata: {name: cluster-admin, " + boot + "}, roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: Group, name: 'system:masters'}]}",
			want: detect.CauseController},
		{name: "its label on a person's rights", manager: "kube-apiserver", want: detect.CauseUnknown, drift: true,
			object: "{" + rbac + "ClusterRoleBinding, metadata: {name: 'system:discovery', " + boot + "}, roleRef: {kind: ClusterRole, name: 'system:discovery'}, subjects: [{kind: User, name: eve}]}"},
		{name: "a bootstrap name on another role", manager: "kube-apiserver", want: detect.CauseUnknown, drift: true,
			object: "{" + rbac + "ClusterRoleBinding, metadata: {name: 'system:discovery', " + boot + "}, roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: Group, name: 'system:authenticated'}]}"},
		{name: "a bootstrap name without the marks", manager: "kube-apiserver", want: detect.CauseUnknown, drift: true,
			object: "{" + rbac + "ClusterRoleBinding, metadata: {name: 'system:discovery'}, roleRef: {kind: ClusterRole, name: 'system:discovery'}, subjects: [{kind: Group, name: 'system:authenticated'}]}"},
		{name: "OpenShift's own", manager: "openshift-controller-manager", want: detect.CauseController,
			object: "{" + rbac + "RoleBinding, metadata: {name: 'system:deployers', namespace: shop}, roleRef: {kind: ClusterRole, name: 'system:deployer'}, subjects: [{kind: ServiceAccount, name: deployer, namespace: shop}]}"},

		{name: "generated by a policy that is there", manager: "kyverno", want: detect.CauseController,
			object: hand(", labels: {generate.kyverno.io/policy-name: rights}"),
			around: generating("RoleBinding", "{subjects: [{kind: User, name: '{{request.userInfo.username}}'}]}")},
		{name: "a policy that generates something else", manager: "kyverno", want: detect.CauseUnknown, drift: true,
			object: hand(", labels: {generate.kyverno.io/policy-name: rights}"), around: generating("NetworkPolicy", "{}")},
		{name: "a policy that generates it for others", manager: "kyverno", want: detect.CauseUnknown, drift: true,
			object: hand(", labels: {generate.kyverno.io/policy-name: rights}"), around: generating("RoleBinding", "{subjects: [{kind: User, name: alice}]}")},
		{name: "a policy that generates it, under another name than Kyverno's", manager: "operator", want: detect.CauseUnknown, drift: true,
			object: hand(", labels: {generate.kyverno.io/policy-name: rights}"), around: generating("RoleBinding", "{}")},
		{name: "generated by a policy that is not there", manager: "kyverno", want: detect.CauseUnknown, drift: true,
			object: hand(", labels: {generate.kyverno.io/policy-name: rights}")},
		{name: "a webhook of Kyverno's own", manager: "kyverno", want: detect.CauseController,
			object: "{" + webhook + ", metadata: {name: kyverno-policy-validating-webhook-cfg}, webhooks: [{name: a, clientConfig: {service: {name: kyverno-svc, namespace: kyverno}}}]}"},
		{name: "a webhook of Kyverno's that asks a Service of its name elsewhere", manager: "kyverno", want: detect.CauseUnknown, drift: true,
			object: "{" + webhook + ", metadata: {name: kyverno-x}, webhooks: [{name: a, clientConfig: {service: {name: kyverno-svc, namespace: other}}}]}"},
		{name: "a webhook of Kyverno's that asks the Service which Git declares", manager: "kyverno", want: detect.CauseController,
			object: "{" + webhook + ", metadata: {name: kyverno-x}, webhooks: [{name: a, clientConfig: {service: {name: kyverno-svc, namespace: policies}}}]}"},
		{name: "a webhook under Kyverno's name that asks elsewhere", manager: "kyverno", want: detect.CauseUnknown, drift: true,
			object: "{" + webhook + ", metadata: {name: kyverno-policy-validating-webhook-cfg}, webhooks: [{name: a, clientConfig: {url: 'https://evil.example'}}]}"},
		{name: "a mark of an Application that is there", want: detect.CauseController,
			object: hand(", labels: {kustomize.toolkit.fluxcd.io/name: guest, kustomize.toolkit.fluxcd.io/namespace: flux-system}")},
	}
	rules, err := classify.LoadRules()
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) gitops.Object {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return gitops.NewObject(content)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			facts := classify.NewFacts(nil, rules)
			facts.Outside = map[gitops.ObjectID]bool{{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "flux-system", Name: "guest"}: true}
			facts.Declared = func(id gitops.ObjectID) bool {
				return id == gitops.ObjectID{Kind: "Service", Namespace: "policies", Name: "kyverno-svc"}
			}
			facts.Find = func(id gitops.ObjectID) (gitops.Object, bool) {
				if tt.around == "" {
					return gitops.Object{}, false
				}
				o := read(tt.around)
				return o, o.ID == id
			}
			live := read(tt.object)
			if tt.manager != "" {
				live.Content["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
					"manager": tt.manager, "operation": "Update", "time": "2026-03-05T00:00:00Z", "fieldsV1": map[string]any{"f:roleRef": map[string]any{}},
				}}
			}
			cause, drift, writer, reason := facts.Stray(classify.Subject{App: gitops.Application{Engine: gitops.Flux, Name: "shop", Namespace: "flux-system"}, Live: &live})
			if cause != tt.want || drift != tt.drift {
				t.Errorf("%s, drift %v (%s); want %s, drift %v", cause, drift, reason, tt.want, tt.drift)
			}
			if drift && writer == nil {
				t.Error("no writer")
			}
		})
	}
}
