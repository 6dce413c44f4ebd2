package classify_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/detect/classify"
	"holdfast/gitops"
)

// entry is one element of managedFields: a manager, its subresource, the day of November 2026 and what it owns.
func entry(manager, subresource, day, fields string) string {
	return fmt.Sprintf("{manager: %s, operation: Update, subresource: '%s', time: '2026-11-%sT00:00:00Z', fieldsV1: {%s}}", manager, subresource, day, fields)
}

func object(t *testing.T, text string) gitops.Object {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return gitops.NewObject(content)
}

// around makes the facts of a cluster that holds these objects, and of which all else is known not to be there.
func around(t *testing.T, objects ...string) *classify.Facts {
	t.Helper()
	rules, err := classify.LoadRules()
	if err != nil {
		t.Fatal(err)
	}
	facts := classify.NewFacts(nil, rules)
	known := map[gitops.ObjectID]gitops.Object{}
	for _, text := range objects {
		o := object(t, text)
		known[o.ID] = o
		facts.Add(o)
	}
	facts.Find = func(id gitops.ObjectID) (gitops.Object, bool) { o, ok := known[id]; return o, ok }
	facts.Absent = func(id gitops.ObjectID) bool { _, ok := known[id]; return !ok && id.Group != "example.org" }
	facts.Declared = func(id gitops.ObjectID) bool { return id.Name == "declared" }
	facts.Outside = map[gitops.ObjectID]bool{{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "flux-system", Name: "guest"}: true}
	return facts
}

var shop = gitops.Application{Engine: gitops.Flux, Name: "shop", Namespace: "flux-system", Managers: []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}}}

// TestWhatAPersonChangedIsNotTheMakers judges what a controller, an engine or an installer made on the first of November,
// and who is named for it when somebody wrote again on the twentieth.
func TestWhatAPersonChangedIsNotTheMakers(t *testing.T) {
	const (
		subjects = `"f:subjects": {}`
		roleRef  = `"f:roleRef": {}`
		pod      = `"f:spec": {"f:containers": {'k:{"name":"a"}': {"f:image": {}}}}`
		template = `"f:spec": {"f:template": {"f:spec": {"f:containers": {}}}}`
		restart  = `"f:spec": {"f:template": {"f:metadata": {"f:annotations": {}}}}`
		label    = `"f:metadata": {"f:labels": {}}`
		system   = "{apiVersion: v1, kind: Namespace, metadata: {name: kube-system, creationTimestamp: '2026-11-01T00:00:00Z'}}"
	)
	binding := func(more string, entries ...string) string {
		return "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b, creationTimestamp: '2026-11-01T00:00:00Z', " + more +
			", managedFields: " + list(entries) + "}, roleRef: {kind: ClusterRole, name: edit}, subjects: [{kind: User, name: bob}]}"
	}
	workload := func(kind, more, spec string, entries ...string) string {
		return "{apiVersion: apps/v1, kind: " + kind + ", metadata: {name: w, creationTimestamp: '2026-11-01T00:00:00Z', " + more + ", managedFields: " + list(entries) + "}, spec: {template: {spec: " + spec + "}}}"
	}
	const privileged = "{containers: [{name: a, image: a:1, securityContext: {privileged: true}}]}"
	owned := "namespace: shop, ownerReferences: [{apiVersion: example.org/v1, kind: Widget, name: w, uid: u}]"
	guest := "namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: guest, kustomize.toolkit.fluxcd.io/namespace: flux-system}"
	set := "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r, namespace: shop, uid: u}, spec: {replicas: 1, template: {spec: {containers: [{name: a, image: a:1}]}}}}"
	ofSet := func(spec string, entries ...string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u}], managedFields: " + list(entries) + "}, spec: " + spec + "}"
	}
	tests := []struct {
		name, object string
		want         detect.Cause
		drift        bool
		by           string
	}{
		{"an operator's own", binding(owned, entry("some-operator", "", "01", roleRef+", "+subjects)), detect.CauseController, false, "some-operator"},
		{"an operator's, with a person's label", binding(owned, entry("some-operator", "", "01", roleRef+", "+subjects), entry("kubectl-label", "", "20", label)), detect.CauseController, false, "some-operator"},
		{"an operator's, given to others", binding(owned, entry("some-operator", "", "01", roleRef), entry("kubectl-edit", "", "20", subjects)), detect.CauseManual, true, "kubectl-edit"},
		{"two people, of whom the later counts", binding(owned, entry("some-operator", "", "01", roleRef), entry("kubectl-edit", "", "20", subjects), entry("kubectl-patch", "", "19", subjects)), detect.CauseManual, true, "kubectl-edit"},
		{"an engine's, which is not scanned", binding(guest, "{manager: kustomize-controller, operation: Apply, time: '2026-11-01T00:00:00Z', fieldsV1: {"+roleRef+", "+subjects+"}}"), detect.CauseController, false, "kustomize-controller"},
		{"an engine's, given to others", binding(guest, "{manager: kustomize-controller, operation: Apply, time: '2026-11-01T00:00:00Z', fieldsV1: {"+roleRef+"}}", entry("kubectl-edit", "", "20", subjects)), detect.CauseManual, true, "kubectl-edit"},

		{"an installer's", binding("namespace: kube-system", entry("kubectl-create", "", "01", roleRef+", "+subjects)), detect.CauseController, false, "kubectl-create"},
		{"an installer's, given to others", binding("namespace: kube-system", entry("kubeadm", "", "01", roleRef), entry("kubectl-edit", "", "20", subjects)), detect.CauseManual, true, "kubectl-edit"},
		{"an installer's, applied again since", binding("namespace: kube-system", entry("kubectl-client-side-apply", "", "20", roleRef+", "+subjects)), detect.CauseManual, true, "kubectl-client-side-apply"},
		{"an upgrade by kubeadm", workload("DaemonSet", "namespace: kube-system", privileged, entry("kubeadm", "", "20", template)), detect.CauseController, false, "kubeadm"},
		{"a restart by hand", workload("DaemonSet", "namespace: kube-system", privileged, entry("kubeadm", "", "01", template), entry("kubectl-rollout", "", "20", restart)), detect.CauseController, false, "kubeadm"},
		{"another image by hand", workload("DaemonSet", "namespace: kube-system", privileged, entry("kubeadm", "", "01", template), entry("kubectl-set", "", "20", template)), detect.CauseManual, true, "kubectl-set"},

		{"a pod of its template", ofSet("{containers: [{name: a, image: a:1}]}", entry("kube-controller-manager", "", "01", pod)), detect.CauseController, false, "kube-controller-manager"},
		{"a pod with another image by hand", ofSet("{containers: [{name: a, image: evil}]}", entry("kube-controller-manager", "", "01", pod), entry("kubectl-set", "", "20", pod)), detect.CauseManual, true, "kubectl-set"},
		{"a pod with a debugging container", ofSet("{containers: [{name: a, image: a:1}], ephemeralContainers: [{name: d}]}", entry("kube-controller-manager", "", "01", pod), entry("kubectl-debug", "ephemeralcontainers", "20", `"f:spec": {"f:ephemeralContainers": {}}`)), detect.CauseController, false, "kubectl-debug"},
		{"a pod with a privileged debugging container", ofSet("{containers: [{name: a, image: a:1}], ephemeralContainers: [{name: d, securityContext: {privileged: true}}]}", entry("kube-controller-manager", "", "01", pod), entry("kubectl-debug", "ephemeralcontainers", "20", `"f:spec": {"f:ephemeralContainers": {}}`)), detect.CauseManual, true, "kubectl-debug"},
		{"a pod with a person's label", ofSet("{containers: [{name: a, image: a:1}]}", entry("kube-controller-manager", "", "01", pod), entry("kubectl-label", "", "20", label)), detect.CauseController, false, "kube-controller-manager"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			live := object(t, tt.object)
			cause, drift, writer, reason := around(t, system, set).Stray(classify.Subject{App: shop, Live: &live})
			if cause != tt.want || drift != tt.drift || writer == nil || writer.Manager != tt.by {
				t.Errorf("%s, drift %v, by %v (%s); want %s, drift %v, by %s", cause, drift, writer, reason, tt.want, tt.drift, tt.by)
			}
		})
	}
}

func list(entries []string) string {
	out := "["
	for i, e := range entries {
		if i > 0 {
			out += ", "
		}
		out += e
	}
	return out + "]"
}

func TestAPodsOwnerMustHaveMadeIt(t *testing.T) {
	const (
		mesh = "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: mesh}, webhooks: [{name: a, rules: [{apiGroups: [''], resources: [pods]}]}]}"
		host = "{hostNetwork: true, containers: [{name: a, securityContext: {privileged: true}}]}"
	)
	owner := func(apiVersion, kind, spec, more string) string {
		return "{apiVersion: " + apiVersion + ", kind: " + kind + ", metadata: {name: o, namespace: shop, uid: u}, spec: {template: {spec: " + spec + "}}" + more + "}"
	}
	pod := func(apiVersion, kind, spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p-o, namespace: shop, annotations: {kubernetes.io/config.mirror: x}, ownerReferences: [{apiVersion: " + apiVersion + ", kind: " + kind + ", name: o, uid: u}], " +
			"managedFields: [" + entry("kube-controller-manager", "", "01", `"f:spec": {"f:containers": {}}`) + "]}, spec: " + spec + "}"
	}
	const plain = "{containers: [{name: a}]}"
	tests := []struct {
		name, pod string
		around    []string
		drift     bool
	}{
		{"what the template asks for", pod("apps/v1", "DaemonSet", host), []string{owner("apps/v1", "DaemonSet", host, "")}, false},
		{"more than the template asks for", pod("apps/v1", "ReplicaSet", host), []string{owner("apps/v1", "ReplicaSet", plain, "")}, true},
		{"of an older template, while it rolls out", pod("apps/v1", "DaemonSet", host), []string{owner("apps/v1", "DaemonSet", plain, ", status: {currentNumberScheduled: 3, updatedNumberScheduled: 1}")}, false},
		{"of a template that has rolled out", pod("apps/v1", "DaemonSet", host), []string{owner("apps/v1", "DaemonSet", plain, ", status: {currentNumberScheduled: 3, updatedNumberScheduled: 3}")}, true},
		{"of a ReplicaSet without any hold, which is not read", pod("apps/v1", "ReplicaSet", host), nil, true},
		{"an injected capability", pod("apps/v1", "ReplicaSet", "{containers: [{name: a}], initContainers: [{name: i, securityContext: {capabilities: {add: [NET_ADMIN]}}}]}"), []string{mesh}, false},
		{"a capability that nothing injects", pod("apps/v1", "ReplicaSet", "{containers: [{name: a, securityContext: {capabilities: {add: [NET_ADMIN]}}}]}"), nil, true},
		{"privileged in spite of admission", pod("apps/v1", "ReplicaSet", host), []string{mesh, owner("apps/v1", "ReplicaSet", plain, "")}, true},
		{"a Deployment makes no pods", pod("apps/v1", "Deployment", host), []string{owner("apps/v1", "Deployment", host, "")}, true},
		{"a static pod of a node in a namespace of users", pod("v1", "Node", host), []string{"{apiVersion: v1, kind: Node, metadata: {name: o, uid: u}}"}, true},
		{"a custom resource may make anything", pod("example.org/v1", "Widget", host), nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			live, facts := object(t, tt.pod), around(t, tt.around...)
			facts.Privileged = func(o gitops.Object) bool { return o.ID == live.ID }
			if cause, drift, _, reason := facts.Stray(classify.Subject{App: shop, Live: &live}); drift != tt.drift {
				t.Errorf("%s, drift %v (%s)", cause, drift, reason)
			}
		})
	}
	static := object(t, "{apiVersion: v1, kind: Pod, metadata: {name: etcd-o, namespace: kube-system, annotations: {kubernetes.io/config.mirror: x}, ownerReferences: [{apiVersion: v1, kind: Node, name: o, uid: u}]}, spec: "+host+"}")
	facts := around(t, "{apiVersion: v1, kind: Node, metadata: {name: o, uid: u}}")
	if cause, drift, _, reason := facts.Stray(classify.Subject{App: shop, Live: &static}); drift {
		t.Errorf("a static pod of the control plane: %s (%s)", cause, reason)
	}
}

// TestAPodIsReadForWhatManagedFieldsTell: metadata alone decides which pods of a crowd are read.
func TestAPodIsReadForWhatManagedFieldsTell(t *testing.T) {
	rules, err := classify.LoadRules()
	if err != nil {
		t.Fatal(err)
	}
	const owner = "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u}], "
	for _, tt := range []struct {
		name, metadata string
		want           bool
	}{
		{"a controller's", owner + "managedFields: [" + entry("kube-controller-manager", "", "01", `"f:spec": {"f:containers": {}}`) + ", " + entry("kubelet", "status", "01", `"f:status": {}`) + "]", false},
		{"a debugging container", owner + "managedFields: [" + entry("kube-controller-manager", "", "01", `"f:spec": {}`) + ", " + entry("kubectl-debug", "ephemeralcontainers", "01", `"f:spec": {}`) + "]", true},
		{"a hold on the node under a controller's name", owner + "managedFields: [" + entry("kubelet", "", "01", `"f:spec": {"f:containers": {'k:{"name":"a"}': {"f:securityContext": {"f:privileged": {}}}}}`) + "]", true},
		{"nobody's", "managedFields: []", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := rules.WorthReading(object(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, "+tt.metadata+"}}")); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
