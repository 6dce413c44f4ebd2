package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"holdfast/deploy/lab"
)

// TestTheManifestsRunTheBot applies what deploy/ has to a real API server, and scans it as the ServiceAccount that the
// pod runs as: drift is found, and nothing could be written.
func TestTheManifestsRunTheBot(t *testing.T) {
	cluster := lab.Start(t, lab.Options{}).Clusters[0]
	deploy := filepath.Join("..", "..", "deploy")
	apply := func(overlay string, more ...string) {
		t.Helper()
		cluster.Kubectl(t, lab.Admin, "", append([]string{"apply", "--server-side", "--validate=strict", "-k", filepath.Join(deploy, "overlays", overlay)}, more...)...)
	}
	apply("sqlite")
	apply("postgres", "--dry-run=server", "--force-conflicts")
	podIsAdmitted(t, cluster)

	token := strings.TrimSpace(cluster.Kubectl(t, lab.Admin, "", "create", "token", "holdfast", "--namespace=holdfast", "--duration=1h"))
	account := rest.Config{Host: cluster.Server(), BearerToken: token, TLSClientConfig: cluster.Config(lab.Bot).TLSClientConfig}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeYAMLFile(t, kubeconfig, map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "north",
		"clusters": []any{map[string]any{"name": "north", "cluster": map[string]any{"server": account.Host, "certificate-authority-data": account.CAData}}},
		"users":    []any{map[string]any{"name": "holdfast", "user": map[string]any{"token": token}}},
		"contexts": []any{map[string]any{"name": "north", "context": map[string]any{"cluster": "north", "user": "holdfast"}}},
	})
	canOnlyRead(t, account)

	dir := t.TempDir()
	const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.test/web:1"}]}
`
	writeFile(t, filepath.Join(dir, "git", "app", "web.yaml"), web)
	writeYAMLFile(t, filepath.Join(dir, "application.yaml"), map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Application", "metadata": map[string]any{"name": "shop", "namespace": "flux-system"},
		"spec": map[string]any{"engine": "flux", "path": "app"},
	})
	cluster.Kubectl(t, lab.Admin, "", "create", "namespace", "shop")
	cluster.Apply(t, lab.Engine, "kustomize-controller", web)
	cluster.Kubectl(t, lab.Alice, "", "--namespace=shop", "scale", "deployment/web", "--replicas=7")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{
		"scan", "-o", "json", "--kubeconfig", kubeconfig, "--git", filepath.Join(dir, "git"), "--application", filepath.Join(dir, "application.yaml"),
	}, testStreams(&stdout, &stderr))
	var doc scanJSON
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	if code != 1 || len(doc.Findings) != 1 || len(doc.Unknown) != 0 || doc.Findings[0].Fields[0].Path.String() != "spec.replicas" {
		t.Errorf("exit code %d, want 1 and the drift of spec.replicas alone\n%s%s", code, stdout.String(), stderr.String())
	}
}

// podIsAdmitted asks the API server, whose namespace enforces the level restricted, for the Deployment's pod.
func podIsAdmitted(t *testing.T, cluster *lab.Cluster) {
	t.Helper()
	var template map[string]any
	text := cluster.Kubectl(t, lab.Admin, "", "--namespace=holdfast", "get", "deployment", "holdfast", "-o", "jsonpath={.spec.template}")
	if err := json.Unmarshal([]byte(text), &template); err != nil {
		t.Fatal(err)
	}
	template["apiVersion"], template["kind"] = "v1", "Pod"
	template["metadata"] = map[string]any{"name": "holdfast-try", "namespace": "holdfast"}
	create := func() error {
		pod, err := json.Marshal(template)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cluster.Exec(t.Context(), lab.Admin, string(pod), "create", "--dry-run=server", "-f", "-")
		return err
	}
	if err := create(); err != nil {
		t.Errorf("the pod is refused: %v", err)
	}
	spec, _ := template["spec"].(map[string]any)
	delete(spec, "securityContext")
	if err := create(); err == nil || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("a pod as root: %v, want a refusal", err)
	}
}

// canOnlyRead asks the API server what the account may do.
func canOnlyRead(t *testing.T, account rest.Config) {
	t.Helper()
	client, err := rest.HTTPClientFor(&account)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(kind string, question, answer any) {
		t.Helper()
		body, err := json.Marshal(question)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Post(account.Host+"/apis/authorization.k8s.io/v1/"+kind, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s", kind, response.Status)
		}
		if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
			t.Fatal(err)
		}
	}
	var rules authorizationv1.SelfSubjectRulesReview
	ask("selfsubjectrulesreviews", authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "shop"}}, &rules)
	reads := 0
	for _, rule := range rules.Status.ResourceRules {
		if slices.Equal(rule.APIGroups, []string{"authorization.k8s.io"}) || slices.Equal(rule.APIGroups, []string{"authentication.k8s.io"}) {
			continue // everybody may ask about themselves
		}
		reads++
		for _, verb := range rule.Verbs {
			if verb != "get" && verb != "list" && verb != "watch" {
				t.Errorf("it may %s %v of %v", verb, rule.Resources, rule.APIGroups)
			}
		}
	}
	if reads < 10 {
		t.Errorf("%d rules: the role that it ships with is not bound", reads)
	}
	for _, c := range []struct {
		verb, group, resource, sub string
		want                       bool
	}{
		{"list", "apps", "deployments", "", true}, // the question is understood
		{"create", "", "configmaps", "", false}, {"update", "", "configmaps", "", false}, {"patch", "apps", "deployments", "", false}, {"delete", "", "pods", "", false},
		{"deletecollection", "", "pods", "", false}, {"update", "apps", "deployments", "scale", false}, {"create", "", "pods", "exec", false}, {"get", "", "pods", "exec", false},
		{"create", "", "pods", "eviction", false}, {"create", "", "serviceaccounts", "token", false}, {"get", "", "secrets", "", false}, {"list", "", "secrets", "", false},
		{"patch", "kustomize.toolkit.fluxcd.io", "kustomizations", "", false}, {"patch", "argoproj.io", "applications", "", false}, {"get", "", "nodes", "proxy", false},
		{"bind", "rbac.authorization.k8s.io", "clusterroles", "", false}, {"escalate", "rbac.authorization.k8s.io", "clusterroles", "", false}, {"impersonate", "", "users", "", false},
		{"create", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", false}, {"create", "coordination.k8s.io", "leases", "", false},
	} {
		var review authorizationv1.SelfSubjectAccessReview
		ask("selfsubjectaccessreviews", authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: c.verb, Group: c.group, Resource: c.resource, Subresource: c.sub, Namespace: "shop"},
		}}, &review)
		if review.Status.Allowed != c.want {
			t.Errorf("%s %s/%s is allowed: %v, want %v", c.verb, c.resource, c.sub, review.Status.Allowed, c.want)
		}
	}
}
