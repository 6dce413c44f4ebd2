package guard_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"holdfast/bot/guard"
	"holdfast/deploy/lab"
	"holdfast/detect/access"
	"holdfast/gitops"
)

// guarded is what two engines apply: into a namespace that nobody tracks, into one that Flux tracks, and for the whole
// cluster.
const guarded = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'registry.example.test/web:1.0'}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, labels: {helm.toolkit.fluxcd.io/name: shop, helm.toolkit.fluxcd.io/namespace: flux-system}}
data: {greeting: hello}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: readers, namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
---
apiVersion: v1
kind: Namespace
metadata: {name: till, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: till, namespace: till, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
spec:
  replicas: 1
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec: {containers: [{name: till, image: 'registry.example.test/till:1.0'}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: carts, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
webhooks: []
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.shop.example.test, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
spec:
  group: shop.example.test
  names: {kind: Cart, plural: carts}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
`

const guardedByArgoCD = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop, annotations: {argocd.argoproj.io/tracking-id: 'shop-api:apps/Deployment:shop/api'}}
spec:
  replicas: 1
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: api, image: 'registry.example.test/api:1.0'}]}
`

const untracked = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: tool, namespace: %s}
spec:
  replicas: 1
  selector: {matchLabels: {app: tool}}
  template:
    metadata: {labels: {app: tool}}
    spec: {containers: [{name: tool, image: 'registry.example.test/tool:1.0'}]}
`

const (
	reasonField = `"holdfast/break-glass":"web answers nobody, INC-1"`
)

// input guards what the tests' engines apply.
func input() guard.Input {
	return guard.Input{
		Marks: []guard.Marks{
			{Engine: gitops.Flux, Labels: []string{"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"}},
			{Engine: gitops.ArgoCD, Annotations: []string{"argocd.argoproj.io/tracking-id"}},
		},
		Homes: []string{"argocd", "flux-system"}, Doors: []string{"system:serviceaccount:argocd:argocd-server"}, Namespaces: []string{"shop"},
		Resources: []guard.Resource{{Group: "apps", Resource: "deployments"}, {Resource: "secrets"}, {Group: "shop.example.test", Resource: "carts"}},
		Readers:   []guard.Reader{{Subject: access.Subject{Kind: access.Group, Name: "sre"}}, {Subject: access.Subject{Kind: access.User, Name: "bob"}, Namespaces: []string{"shop"}}},
	}
}

// TestGuardsOnARealAPIServer applies the guards to a real API server with real controllers, and tries what people,
// engines and the cluster itself do.
func TestGuardsOnARealAPIServer(t *testing.T) {
	c := lab.Start(t, lab.Options{ControllerManager: true, Scheduler: true, Kwok: true, Audit: true}).Clusters[0]
	for _, namespace := range []string{"shop", "free", "scratch", "flux-system", "argocd"} {
		c.Kubectl(t, lab.Admin, "", "create", "namespace", namespace)
	}
	c.Apply(t, lab.Engine, "kustomize-controller", guarded)
	c.Apply(t, lab.ArgoCD, "argocd-controller", guardedByArgoCD)
	c.Apply(t, lab.Alice, "kubectl", fmt.Sprintf(untracked, "shop")+"---"+fmt.Sprintf(untracked, "free"))
	for name, subject := range map[string]string{
		"cainjector": "cert-manager:cert-manager-cainjector", "server": "argocd:argocd-server",
	} {
		c.Kubectl(t, lab.Admin, "", "create", "clusterrolebinding", name, "--clusterrole=cluster-admin", "--serviceaccount="+subject)
	}
	c.Kubectl(t, lab.Admin, "", "create", "clusterrolebinding", "break-glass", "--clusterrole=cluster-admin", "--group=holdfast:break-glass")
	c.Kubectl(t, lab.Admin, "", "--namespace=shop", "rollout", "status", "deployment/web", "--timeout=60s")

	manifests, err := guard.Manifests(input())
	if err != nil {
		t.Fatal(err)
	}
	file, err := guard.YAML(manifests)
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, lab.Engine, "kustomize-controller", string(file))
	if out := c.Kubectl(t, lab.Admin, "", "diff", "--server-side", "--field-manager=kustomize-controller", "-f", writeFile(t, file)); out != "" {
		t.Errorf("the API server stores the manifests with changes, so that they would drift:\n%s", out)
	}
	eventually(t, "the guards hold", func() bool {
		_, err := c.Exec(t.Context(), lab.Alice, "", "--namespace=shop", "set", "image", "deployment/web", "web=registry.example.test/web:bad", "--dry-run=server")
		return err != nil
	})

	t.Run("people", func(t *testing.T) { testPeople(t, c) })
	t.Run("the cluster", func(t *testing.T) { testCluster(t, c) })
	t.Run("break-glass", func(t *testing.T) { testBreakGlass(t, c) })
	t.Run("the API server finds nothing to warn of", func(t *testing.T) {
		eventually(t, "the policies are checked", func() bool {
			return strings.Count(c.Kubectl(t, lab.Admin, "", "get", "validatingadmissionpolicies", "-o", "jsonpath={.items[*].status.observedGeneration}"), "1") == 4
		})
		if out := c.Kubectl(t, lab.Admin, "", "get", "validatingadmissionpolicies", "-o", "jsonpath={.items[*].status.typeChecking.expressionWarnings}"); strings.TrimSpace(out) != "" {
			t.Error(out)
		}
	})
}

// attempt is one thing that somebody does with kubectl.
type attempt struct {
	name  string
	as    []string // impersonated by an administrator; none is alice herself
	do    string   // of kubectl, split at blanks; _ is a blank inside
	stdin string
	// denied are texts of the denial; none means that it is done.
	denied []string
}

func try(t *testing.T, c *lab.Cluster, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			user, args := lab.Alice, strings.Fields(a.do)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "_", " ")
			}
			if a.as != nil {
				user = lab.Admin
				args = append(args, "--as="+a.as[0])
				for _, g := range a.as[1:] {
					args = append(args, "--as-group="+g)
				}
			}
			_, err := c.Exec(t.Context(), user, a.stdin, args...)
			if len(a.denied) == 0 && err != nil {
				t.Errorf("should be let through: %v", err)
			}
			for _, text := range a.denied {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("should be denied with %q: %v", text, err)
				}
			}
		})
	}
}

func testPeople(t *testing.T, c *lab.Cluster) {
	const inGit, emergency = "Flux applies it from Git (the Kustomization flux-system/shop): change it there, by a pull request.", "a member of the group holdfast:break-glass may"
	patch := func(object, patch string) string {
		return "patch " + object + " --type=merge --patch=" + patch
	}
	try(t, c, []attempt{
		{"an edit", nil, "--namespace=shop set image deployment/web web=registry.example.test/web:1.1", "",
			[]string{"alice@example.test may not change the content of the Deployment shop/web. " + inGit, emergency, "holdfast/break-glass set to a new reason"}},
		{"an edit that is the same again", nil, "--namespace=shop set image deployment/web web=registry.example.test/web:1.0", "", nil},
		{"a restart", nil, "--namespace=shop rollout restart deployment/web", "", []string{"may not change the content"}},
		{"an edit of data", nil, patch("--namespace=shop configmap/settings", `{"data":{"greeting":"bye"}}`), "",
			[]string{"the ConfigMap shop/settings", "the HelmRelease flux-system/shop"}},
		{"an edit of rules", nil, patch("--namespace=shop role/readers", `{"rules":[]}`), "", []string{"may not change the content of the Role shop/readers"}},
		{"an edit of what Argo CD applies", nil, "--namespace=shop set image deployment/api api=registry.example.test/api:1.1", "",
			[]string{"Argo CD applies it from Git (the Application shop-api)"}},
		{"a scale", nil, "--namespace=shop scale deployment/web --replicas=3", "", []string{"may not scale deployments shop/web", "set replicas there, by a pull request"}},
		{"a scale where the namespace is tracked", nil, "--namespace=till scale deployment/till --replicas=3", "", []string{"may not scale deployments till/till"}},
		{"a scale of what is not tracked, beside it", nil, "--namespace=shop scale deployment/tool --replicas=2", "", []string{"What Git does not track can be scaled by its spec.replicas"}},
		{"which can be scaled so", nil, patch("--namespace=shop deployment/tool", `{"spec":{"replicas":2}}`), "", nil},
		{"a scale elsewhere", nil, "--namespace=free scale deployment/tool --replicas=2", "", nil},
		{"a deletion", nil, "--namespace=shop delete deployment/web", "", []string{"may not delete the Deployment shop/web", "after setting the annotation holdfast/break-glass"}},
		{"a deletion of all", nil, "--namespace=shop delete configmaps --all", "", []string{"may not delete the ConfigMap shop/settings"}},
		{"a deletion of what is not tracked", nil, "--namespace=free delete deployment/tool", "", nil},
		{"a deletion of a namespace with tracked objects", nil, "delete namespace shop", "", []string{"may not delete the Namespace shop", "take them out of Git first"}},
		{"a deletion of a tracked namespace", nil, "delete namespace till", "", []string{"may not delete the Namespace till", inGit}},
		{"the tracking mark taken off", nil, "--namespace=shop label deployment/web kustomize.toolkit.fluxcd.io/name-", "", []string{"may not change labels of the Deployment shop/web"}},
		{"another label", nil, "--namespace=shop label deployment/web team=checkout", "", []string{"may not change labels"}},
		{"a Pod Security label", nil, "label namespace till pod-security.kubernetes.io/enforce=privileged", "", []string{"may not change labels of the Namespace till"}},
		{"Argo CD's tracking mark taken off", nil, "--namespace=shop annotate deployment/api argocd.argoproj.io/tracking-id-", "", []string{"annotations by which Argo CD tracks or skips"}},
		{"Argo CD's hook", nil, "--namespace=shop annotate deployment/api argocd.argoproj.io/hook=PreSync", "", []string{"annotations by which Argo CD tracks or skips"}},
		{"Helm's hook", nil, "--namespace=shop annotate deployment/api helm.sh/hook=pre-install", "", []string{"annotations by which Argo CD tracks or skips"}},
		{"Flux's opt-out", nil, "--namespace=shop annotate deployment/web kustomize.toolkit.fluxcd.io/reconcile=disabled", "", []string{"annotations by which Flux tracks or skips"}},
		{"an annotation that means nothing to the engine", nil, "--namespace=shop annotate deployment/web example.test/note=seen", "", nil},
		{"an owner, with whom it would go", nil, patch("--namespace=shop configmap/settings", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]}}`), "", []string{"may not change the owners"}},
		{"ownership of fields wiped", nil, patch("--namespace=shop deployment/web", `{"metadata":{"managedFields":[{}]}}`), "", []string{"may not take away the record of which fields Flux set"}},
		{"a reason by somebody who may not", nil, patch("--namespace=shop deployment/web", `{"metadata":{"annotations":{`+strings.ReplaceAll(reasonField, " ", "_")+`}}}`), "", []string{"may not give a reason"}},
		{"a reason does not help who is not in the group", nil, patch("--namespace=shop deployment/web", `{"metadata":{"annotations":{"holdfast/break-glass":"x"}},"spec":{"replicas":4}}`), "", []string{"may not change the content"}},
		{"the first administrator is a person", []string{"system:admin", "system:masters"}, "--namespace=shop set image deployment/web web=x", "", []string{"system:admin may not change"}},
		{"masters are people", []string{"kubernetes-admin", "system:masters"}, "--namespace=shop set image deployment/web web=x", "", []string{"kubernetes-admin may not change"}},
		{"Argo CD's own door", []string{"system:serviceaccount:argocd:argocd-server"}, "--namespace=shop set image deployment/api api=x", "", []string{"argocd-server may not change"}},
		{"a new object", nil, "create configmap --namespace=shop mine", "", nil},
	})
	pod := strings.TrimSpace(c.Kubectl(t, lab.Admin, "", "--namespace=shop", "get", "pods", "--selector=app=web", "-o", "jsonpath={.items[0].metadata.name}"))
	debug := `{"spec":{"ephemeralContainers":[{"name":"debug","image":"registry.example.test/debug:1"}]}}`
	status, answer := send(t, c, lab.Alice, "/api/v1/namespaces/shop/pods/"+pod+"/ephemeralcontainers", debug)
	if status != http.StatusForbidden || !strings.Contains(answer, "may not add a container to the Pod shop/"+pod) {
		t.Errorf("an ephemeral container: %d %s", status, answer)
	}
	c.Kubectl(t, lab.Alice, "", "--namespace=shop", "delete", "pod", pod, "--wait=false") // a new one comes
}

// send patches a subresource as a user.
func send(t *testing.T, c *lab.Cluster, user lab.User, path, patch string) (status int, answer string) {
	t.Helper()
	client, err := rest.HTTPClientFor(c.Config(user))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, c.Server()+path, strings.NewReader(patch))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/strategic-merge-patch+json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body.String()
}

// testCluster is a soak of what goes on in a cluster by itself.
func testCluster(t *testing.T, c *lab.Cluster) {
	get := func(args ...string) string {
		t.Helper()
		out, err := c.Exec(t.Context(), lab.Admin, "", append([]string{"get"}, args...)...)
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(out)
	}
	t.Run("the engine rolls out, and the Deployment's controller follows", func(t *testing.T) {
		c.Apply(t, lab.Engine, "kustomize-controller", strings.ReplaceAll(guarded, "web:1.0", "web:1.1"))
		c.Kubectl(t, lab.Admin, "", "--namespace=shop", "rollout", "status", "deployment/web", "--timeout=60s")
	})
	t.Run("the autoscaler scales", func(t *testing.T) {
		c.Apply(t, lab.Engine, "kustomize-controller", `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: till, namespace: till, labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: till}
  minReplicas: 3
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`)
		eventually(t, "till has three replicas", func() bool {
			return get("--namespace=till", "deployment/till", "-o", "jsonpath={.spec.replicas}") == "3"
		})
	})
	t.Run("a CA injector writes into a webhook that Git declares", func(t *testing.T) {
		try(t, c, []attempt{{"patch", []string{"system:serviceaccount:cert-manager:cert-manager-cainjector"},
			"patch validatingwebhookconfiguration/carts --type=merge --patch=" + `{"webhooks":[{"name":"carts.shop.example.test","admissionReviewVersions":["v1"],"sideEffects":"None","clientConfig":{"url":"https://127.0.0.1:1/","caBundle":"aG9sZGZhc3Q="},"failurePolicy":"Ignore","rules":[]}]}`, "", nil}})
	})
	t.Run("the engine upgrades a CRD", func(t *testing.T) {
		c.Apply(t, lab.Engine, "kustomize-controller", strings.ReplaceAll(guarded, "{size: {type: integer}}", "{size: {type: integer}, colour: {type: string}}"))
		eventually(t, "the new field is served", func() bool {
			_, err := c.Exec(t.Context(), lab.Engine, "apiVersion: shop.example.test/v1\nkind: Cart\nmetadata: {name: one, namespace: shop}\nspec: {size: 1, colour: red}\n", "apply", "--server-side", "--validate=strict", "-f", "-")
			return err == nil
		})
	})
	t.Run("a person drains a node", func(t *testing.T) {
		c.Kubectl(t, lab.Alice, "", "drain", "kwok-0", "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--timeout=60s")
		c.Kubectl(t, lab.Alice, "", "uncordon", "kwok-0")
		c.Kubectl(t, lab.Admin, "", "--namespace=shop", "rollout", "status", "deployment/web", "--timeout=60s")
	})
	t.Run("the garbage collector takes a tracked object with its owner", func(t *testing.T) {
		c.Kubectl(t, lab.Engine, "", "--namespace=free", "create", "configmap", "owner")
		uid := get("--namespace=free", "configmap/owner", "-o", "jsonpath={.metadata.uid}")
		c.Apply(t, lab.Engine, "kustomize-controller", fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: owned, namespace: free, labels: {kustomize.toolkit.fluxcd.io/name: shop}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s}]}
`, uid))
		c.Kubectl(t, lab.Alice, "", "--namespace=free", "delete", "configmap", "owner")
		eventually(t, "the owned object is gone", func() bool { return strings.Contains(get("--namespace=free", "configmap/owned"), "not found") })
	})
	t.Run("a namespace goes with what is tracked in it", func(t *testing.T) {
		c.Apply(t, lab.Engine, "kustomize-controller", strings.ReplaceAll(strings.Split(guarded, "---")[0], "namespace: shop,", "namespace: scratch,"))
		c.Kubectl(t, lab.Alice, "", "delete", "namespace", "scratch", "--timeout=60s")
	})
	t.Run("the engine prunes", func(t *testing.T) {
		c.Kubectl(t, lab.Engine, "", "--namespace=till", "delete", "hpa/till", "deployment/till")
		eventually(t, "its pods are gone", func() bool { return get("--namespace=till", "pods", "-o", "name") == "" })
	})
	t.Run("nobody of the cluster was denied", func(t *testing.T) {
		for _, e := range auditLog(t, c) {
			if strings.Contains(e.Annotations["validation.policy.admission.k8s.io/validation_failure"], "holdfast-guard") && strings.HasPrefix(e.who(), "system:") &&
				!slices.Contains([]string{"system:admin", "system:serviceaccount:argocd:argocd-server"}, e.who()) {
				t.Errorf("%s %s %s: %s", e.who(), e.Verb, e.RequestURI, e.Annotations["validation.policy.admission.k8s.io/validation_failure"])
			}
		}
	})
}

func testBreakGlass(t *testing.T, c *lab.Cluster) {
	group := []string{"alice@example.test", "sre", "holdfast:break-glass"}
	edit := func(reason string) string {
		return `--namespace=shop patch deployment/web --type=merge --patch={"metadata":{"annotations":{"holdfast/break-glass":"` + reason + `"}},"spec":{"replicas":2}}`
	}
	try(t, c, []attempt{
		{"without a reason", group, `--namespace=shop patch deployment/web --type=merge --patch={"spec":{"replicas":2}}`, "", []string{"may not change the content"}},
		{"with an empty reason", group, edit(""), "", []string{"may not change the content"}},
		{"with a reason", group, edit("web_answers_nobody,_INC-1"), "", nil},
		{"with the same reason again", group, strings.Replace(edit("web_answers_nobody,_INC-1"), `"replicas":2`, `"replicas":3`, 1), "", []string{"may not change the content"}},
		{"the reason may go", group, "--namespace=shop annotate deployment/web holdfast/break-glass-", "", nil},
		{"a deletion without a reason", group, "--namespace=shop delete configmap/settings", "", []string{"may not delete"}},
		{"a reason for a deletion", group, "--namespace=shop annotate configmap/settings holdfast/break-glass=leaks_a_password,_INC-2", "", nil},
		{"the deletion", group, "--namespace=shop delete configmap/settings", "", nil},
	})
	var records []string
	for _, e := range auditLog(t, c) {
		for key, value := range e.Annotations {
			if strings.HasSuffix(key, "/break-glass") {
				records = append(records, key+": "+value)
			}
		}
	}
	want := []string{
		"holdfast-guard-flux/break-glass: alice@example.test UPDATE Deployment shop/web: web answers nobody, INC-1",
		"holdfast-guard-flux/break-glass: alice@example.test UPDATE ConfigMap shop/settings: leaks a password, INC-2",
		"holdfast-guard-flux/break-glass: alice@example.test DELETE ConfigMap shop/settings: leaks a password, INC-2",
	}
	if !slices.Equal(records, want) {
		t.Errorf("the audit log records\n%s\nwant\n%s", strings.Join(records, "\n"), strings.Join(want, "\n"))
	}
}

// entry is the part of an audit event that tells what admission said.
type entry struct {
	Verb, RequestURI       string
	User, ImpersonatedUser struct{ Username string }
	Annotations            map[string]string
}

func (e entry) who() string {
	if e.ImpersonatedUser.Username != "" {
		return e.ImpersonatedUser.Username
	}
	return e.User.Username
}

func auditLog(t *testing.T, c *lab.Cluster) []entry {
	t.Helper()
	file, err := os.Open(c.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out []entry
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			out = append(out, e)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	file := t.TempDir() + "/guard.yaml"
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
