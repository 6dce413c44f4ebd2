package classify_test

import (
	"strings"
	"testing"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/gitops"
)

// role is a ClusterRole that agg aggregates, or one with other labels, made under a name.
func role(name, labels, manager, rules string) string {
	return "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: '" + name + "', labels: {" + labels + "}, managedFields: [" +
		entry(manager, "", "01", `"f:rules": {}`) + "]}, rules: [" + rules + "]}"
}

const (
	allRules  = "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}"
	podRules  = "{apiGroups: [''], resources: [pods], verbs: [get]}"
	ownRules  = "{apiGroups: [example.org], resources: ['*'], verbs: ['*']}"
	aggregate = "agg: 'yes'"
)

func TestAggregatedRulesAreExplainedByDeclaredRoles(t *testing.T) {
	const git = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: declared}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {agg: 'yes'}}]}, rules: [RULES]}"
	tests := []struct {
		name, rules string
		around      []string
		want        detect.Cause
		by          string
	}{
		{"nothing is read", allRules, nil, detect.CauseController, "clusterrole-aggregation-controller"},
		{"a role that a person made", allRules, []string{role("evil", aggregate, "kubectl-create", allRules)}, detect.CauseManual, "kubectl-create"},
		{"a role under an operator's name", allRules, []string{role("evil", aggregate, "manager", allRules)}, detect.CauseUnknown, "manager"},
		{"a person's role that is not selected", allRules, []string{role("evil", "agg: 'no'", "kubectl-create", allRules)}, detect.CauseController, "clusterrole-aggregation-controller"},
		{"the API server's own", podRules, []string{role("system:aggregate-to-view", aggregate+", kubernetes.io/bootstrapping: rbac-defaults", "kube-apiserver", podRules)}, detect.CauseController, "clusterrole-aggregation-controller"},
		{"an engine's that is not scanned", podRules, []string{role("more", aggregate+", kustomize.toolkit.fluxcd.io/name: guest, kustomize.toolkit.fluxcd.io/namespace: flux-system", "kustomize-controller", podRules)}, detect.CauseController, "clusterrole-aggregation-controller"},
		{"a person's that adds nothing", podRules, []string{role("more", aggregate, "kubectl-create", podRules),
			role("system:aggregate-to-view", aggregate+", kubernetes.io/bootstrapping: rbac-defaults", "kube-apiserver", podRules)}, detect.CauseController, "clusterrole-aggregation-controller"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			declared, live := object(t, strings.ReplaceAll(git, "RULES", "")), object(t, strings.ReplaceAll(git, "RULES", tt.rules))
			d := gitops.Declared{Object: declared}
			path := gitops.Path{gitops.Field("rules")}
			diff := detect.Difference{Path: path, Git: gitops.Lookup(declared.Content, path), Live: gitops.Lookup(live.Content, path), Differs: true, Kind: detect.Changed,
				Owners: []detect.Writer{{Manager: "clusterrole-aggregation-controller", Operation: "Apply"}}}
			f := around(t, tt.around...).Fields(classify.Subject{App: shop, Declared: &d, Live: &live}, []detect.Difference{diff})[0]
			if f.Cause != tt.want || f.Drift != (tt.want != detect.CauseController) || f.Writer.Manager != tt.by {
				t.Errorf("%s, drift %v, by %s (%s); want %s by %s", f.Cause, f.Drift, f.Writer.Manager, f.Reason, tt.want, tt.by)
			}
		})
	}
}

func TestARoleOpensAccessWhereOthersTakeItsRules(t *testing.T) {
	const (
		toView = "rbac.authorization.k8s.io/aggregate-to-view: 'true'"
		into   = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: NAME}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {agg: 'yes'}}]}}"
	)
	tests := []struct {
		name, role string
		want       bool
	}{
		{"a role that nobody has", role("r", "", "kubectl-create", allRules), false},
		{"a role that Git binds", role("named", "", "kubectl-create", podRules), true},
		{"an operator's role that Git binds", role("named", "", "some-operator", podRules), false},
		{"what view takes", role("r", toView, "kubectl-create", allRules), true},
		{"what view takes of an add-on's own kinds", role("r", toView, "kubectl-create", ownRules), false},
		{"what Git's own role takes", role("r", aggregate, "kubectl-create", allRules), true},
		{"what no role of Git's takes", role("r", "agg: 'no'", "kubectl-create", allRules), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			facts := around(t, strings.ReplaceAll(into, "NAME", "declared"), strings.ReplaceAll(strings.ReplaceAll(into, "NAME", "other"), "'yes'", "'no'"))
			facts.Named = func(id gitops.ObjectID) bool { return id.Name == "named" }
			if got := facts.OpensAccess(object(t, tt.role)); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestRightsInTheWholeClusterBearOnEveryNamespace asks about bindings of which nobody named lives in a managed namespace.
func TestRightsInTheWholeClusterBearOnEveryNamespace(t *testing.T) {
	const account = "{kind: ServiceAccount, name: x, namespace: elsewhere}"
	binding := func(manager, metadata, role, subject string) string {
		return "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: b, " + metadata + "managedFields: [" + entry(manager, "", "01", `"f:subjects": {}`) + "]}, roleRef: {kind: ClusterRole, name: '" + role + "'}, subjects: [" + subject + "]}"
	}
	const chart = "labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-namespace: elsewhere}, "
	tests := []struct {
		name, binding string
		want          bool
	}{
		{"a person", binding("some-operator", "", "reader", "{kind: User, name: bob}"), true},
		{"an account as administrator", binding("kubectl-create", "", "cluster-admin", account), true},
		{"an account by its user's name", binding("kubectl-create", "", "edit", "{kind: User, name: 'system:serviceaccount:elsewhere:x'}"), true},
		{"a name that looks like a component's", binding("kubectl-create", "", "cluster-admin", "{kind: User, name: 'system:admin2'}"), true},
		{"a node", binding("kubectl-create", "", "admin", "{kind: User, name: 'system:node:n'}"), true},
		{"an account that may write", binding("kubectl-create", "", "writer", account), true},
		{"an account that may read Secrets", binding("kubectl-create", "", "secrets", account), true},
		{"an account that may read nodes", binding("kubectl-create", "", "reader", account), false},
		{"an account with rights on its own kinds", binding("kubectl-create", "", "own", account), false},
		{"an account with a role that is not read", binding("kubectl-create", "", "unread", account), true},
		{"an operator's account", binding("some-operator", "", "cluster-admin", account), false},
		{"a chart's own account and role", binding("helm", chart, "writer", account), false},
		{"a chart's own account as administrator", binding("helm", chart, "cluster-admin", account), true},
		{"nobody", binding("kubectl-create", "", "cluster-admin", ""), false},
	}
	facts := around(t,
		role("writer", "", "kubectl-create", "{apiGroups: [''], resources: [configmaps], verbs: [update]}"),
		role("secrets", "", "kubectl-create", "{apiGroups: [''], resources: [secrets], verbs: [list]}"),
		role("reader", "", "kubectl-create", "{apiGroups: [''], resources: [nodes], verbs: [get, list]}, {apiGroups: [''], resources: [events], verbs: [create]}, {apiGroups: [coordination.k8s.io], resources: [leases], verbs: ['*']}"),
		role("own", "", "kubectl-create", ownRules))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := facts.Everywhere(object(t, tt.binding)); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestAWebhookBearsOnWhatItIsAskedAbout(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		want       bool
	}{
		{"pods", "{apiGroups: [''], resources: [pods], scope: Namespaced}", true},
		{"commands in pods", "{apiGroups: [''], resources: [pods/exec]}", true},
		{"the status of pods", "{apiGroups: [''], resources: [pods/status]}", false},
		{"namespaces", "{apiGroups: [''], resources: [namespaces], scope: Cluster}", true},
		{"nodes", "{apiGroups: [''], resources: [nodes], scope: Cluster}", false},
		{"an operator's own kinds", "{apiGroups: [example.org], resources: ['*']}", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hook := object(t, "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: a, rules: ["+tt.rule+"]}]}")
			if got := around(t).Bears(hook, "shop", nil); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
