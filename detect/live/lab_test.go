package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/deploy/lab"
	"holdfast/detect/live"
	"holdfast/gitops"
)

var clusters = lab.Shared{Options: lab.Options{Audit: true}}

func TestMain(m *testing.M) { os.Exit(clusters.Run(m)) }

const fluxLabel = "kustomize.toolkit.fluxcd.io/name"

// grantReader installs the manifests for the bot and gives it the role that it ships with.
func grantReader(t testing.TB, c *lab.Cluster) {
	t.Helper()
	c.Kubectl(t, lab.Admin, "", "apply", "--server-side", "--validate=strict", "-k", "../../deploy/rbac")
	c.Grant(t, lab.Bot, "holdfast-reader")
}

func connect(t testing.TB, c *lab.Cluster, user lab.User, o live.Options) *live.Cluster {
	t.Helper()
	o.Kubeconfig, o.UserAgent = c.Kubeconfig(user), "holdfast/test"
	cluster, err := live.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.test/web:1"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop}}
stringData: {password: not-to-be-seen}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lock, namespace: shop}
`

func TestTheBotReadsARealClusterWithTheRoleThatItShipsWith(t *testing.T) {
	c := clusters.Get(t).Clusters[0]
	grantReader(t, c)
	c.Apply(t, lab.Engine, "kustomize-controller", shop)
	c.Kubectl(t, lab.Alice, "", "create", "configmap", "stray", "-n", "shop", "--from-literal=a=b")
	c.Kubectl(t, lab.Alice, "", "label", "configmap", "stray", "-n", "shop", fluxLabel+"=shop")
	c.Kubectl(t, lab.Alice, "", "label", "deployment", "web", "-n", "shop", fluxLabel+"-")

	wanted := live.Wanted{
		IDs: []gitops.ObjectID{
			{Kind: "Namespace", Name: "shop"},
			{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
			{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "deleted"},
			{Kind: "Secret", Namespace: "shop", Name: "db"},
			{Group: "coordination.k8s.io", Kind: "Lease", Namespace: "shop", Name: "lock"},
		},
		Selectors: []string{fluxLabel},
		AllKinds:  true,
	}
	got, err := connect(t, c, lab.Bot, live.Options{}).Read(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for o := range got.Objects.All() {
		if o.ID.Namespace == "shop" || o.ID.Name == "shop" {
			found = append(found, o.ID.String())
			metadata, _ := o.Content["metadata"].(map[string]any)
			if metadata["managedFields"] == nil {
				t.Errorf("%s has no managedFields", o.ID)
			}
		}
	}
	if want := []string{"Namespace/shop", "ConfigMap/shop/stray", "Deployment.apps/shop/web"}; !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	if why, unread := got.Why(wanted.IDs[2]); unread {
		t.Errorf("a deleted Deployment is known to be gone, got %+v", why)
	}
	if why, unread := got.Why(wanted.IDs[3]); !unread || !why.ByChoice {
		t.Errorf("the Secret: unread %v, %+v", unread, why)
	}
	why, unread := got.Why(wanted.IDs[4])
	if !unread || why.Resource != "leases" || !strings.Contains(why.Reason, `cannot get resource "leases"`) {
		t.Errorf("the role has no leases: unread %v, %+v", unread, why)
	}
	for _, u := range got.Unread {
		if !u.Optional && u.Kind != "Secret" && u.Kind != "Lease" {
			t.Errorf("left open: %+v", u)
		}
	}
	if !strings.HasPrefix(got.Version, "v1.") {
		t.Errorf("version %q", got.Version)
	}

	for _, event := range c.Audit(t, func(e lab.AuditEvent) bool { return e.User.Username == "drift-bot" }) {
		if event.Verb != "get" && event.Verb != "list" {
			t.Errorf("the bot asked to %s %s", event.Verb, event.ObjectRef.Resource)
		}
		if event.UserAgent != "holdfast/test" {
			t.Errorf("user agent %q", event.UserAgent)
		}
		if event.ObjectRef.Resource == "secrets" {
			t.Errorf("the bot asked to %s Secrets", event.Verb)
		}
	}
}

func TestTheBotCannotWrite(t *testing.T) {
	c := clusters.Get(t).Clusters[0]
	grantReader(t, c)
	c.Apply(t, lab.Engine, "kustomize-controller", strings.ReplaceAll(shop, "shop", "shop-ro"))
	for _, args := range [][]string{
		{"create", "configmap", "x", "-n", "shop-ro"},
		{"scale", "deployment/web", "--replicas=0", "-n", "shop-ro"},
		{"label", "namespace/shop-ro", "a=b"},
		{"delete", "deployment/web", "-n", "shop-ro"},
		{"get", "secrets", "-n", "shop-ro"},
		{"create", "token", "default", "-n", "shop-ro"},
	} {
		if out, err := c.Exec(t.Context(), lab.Bot, "", args...); err == nil || !strings.Contains(err.Error(), "orbidden") {
			t.Errorf("kubectl %v: %q, %v", args, out, err)
		}
	}
}

func TestSecretsMetadataOfARealServerHasOwnersAndNoValues(t *testing.T) {
	c := clusters.Get(t).Clusters[0]
	c.Kubectl(t, lab.Admin, "", "apply", "--server-side", "-f", "../../deploy/rbac/secrets-metadata.yaml", "-f", "../../deploy/rbac/secrets-values.yaml")
	c.Grant(t, lab.Bob, "holdfast-secrets-metadata")
	c.Apply(t, lab.Engine, "kustomize-controller", strings.ReplaceAll(shop, "shop", "shop-secrets"))
	id := gitops.ObjectID{Kind: "Secret", Namespace: "shop-secrets", Name: "db"}
	for _, selectors := range [][]string{{fluxLabel}, nil} { // by list, by name
		got, err := connect(t, c, lab.Bob, live.Options{Secrets: live.SecretsMetadata}).Read(t.Context(),
			live.Wanted{IDs: []gitops.ObjectID{id}, Selectors: selectors})
		if err != nil {
			t.Fatal(err)
		}
		secret, found := got.Objects.Get(id)
		if !found {
			t.Fatalf("the Secret was not read: %+v", got.Unread)
		}
		content := secret.Content
		metadata, _ := content["metadata"].(map[string]any)
		if len(content) != 3 || metadata["managedFields"] == nil {
			t.Errorf("content %v", content)
		}
	}
}

func TestAClusterThatIsGone(t *testing.T) {
	l := lab.Start(t, lab.Options{})
	c := l.Clusters[0]
	cluster := connect(t, c, lab.Alice, live.Options{})
	l.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := cluster.Read(ctx, live.Wanted{IDs: []gitops.ObjectID{{Kind: "ConfigMap", Namespace: "a", Name: "b"}}}); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	_, err := live.Connect(ctx, live.Options{Kubeconfig: c.Kubeconfig(lab.Alice)})
	if err == nil || !strings.Contains(err.Error(), c.Server()) || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("error %v", err)
	}
}

// BenchmarkRead reads 1,000 objects (Deployments, Services, ConfigMaps) of a real API server, and for
// comparison has kubectl get the same as JSON.
func BenchmarkRead(b *testing.B) {
	c := clusters.Get(b).Clusters[0]
	var manifests strings.Builder
	var wanted live.Wanted
	fmt.Fprint(&manifests, "apiVersion: v1\nkind: Namespace\nmetadata: {name: bench}\n")
	for i := range 1000 {
		id := gitops.ObjectID{Namespace: "bench", Name: fmt.Sprintf("o%04d", i)}
		head := fmt.Sprintf("metadata: {name: %s, namespace: bench, labels: {%s: bench}}\n", id.Name, fluxLabel)
		switch i % 3 {
		case 0:
			id.Group, id.Kind = "apps", "Deployment"
			manifests.WriteString("---\napiVersion: apps/v1\nkind: Deployment\n" + head + deploymentSpec)
		case 1:
			id.Kind = "Service"
			manifests.WriteString("---\napiVersion: v1\nkind: Service\n" + head + "spec: {selector: {app: web}, clusterIP: None, ports: [{name: http, port: 80, targetPort: http}]}\n")
		case 2:
			id.Kind = "ConfigMap"
			manifests.WriteString("---\napiVersion: v1\nkind: ConfigMap\n" + head + "data: {a.conf: \"" + strings.Repeat("key=value ", 50) + "\", level: info}\n")
		}
		wanted.IDs = append(wanted.IDs, id)
	}
	c.Apply(b, lab.Engine, "kustomize-controller", manifests.String())
	wanted.Selectors = []string{fluxLabel + "=bench"}
	for _, all := range []bool{false, true} {
		wanted.AllKinds = all
		b.Run(fmt.Sprintf("holdfast/allKinds=%v", all), func(b *testing.B) {
			defer reportCPU(b, c)()
			for b.Loop() {
				got, err := connect(b, c, lab.Alice, live.Options{}).Read(b.Context(), wanted)
				if err != nil || got.Objects.Len() < 1000 {
					b.Fatalf("%d objects, %v", got.Objects.Len(), err)
				}
			}
		})
	}
	b.Run("kubectl get -o json", func(b *testing.B) {
		defer reportCPU(b, c)()
		for b.Loop() {
			c.Kubectl(b, lab.Alice, "", "get", "deployments,services,configmaps", "-n", "bench", "-l", fluxLabel+"=bench", "-o", "json", "--show-managed-fields")
		}
	})
}

// reportCPU tells, once the returned function is called, what an iteration cost the API server.
func reportCPU(b *testing.B, c *lab.Cluster) func() {
	before, err := c.CPU()
	if err != nil {
		b.Skip(err)
	}
	return func() {
		after, err := c.CPU()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64((after-before).Milliseconds())/float64(b.N), "server-CPU-ms/op")
	}
}

const deploymentSpec = `spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example.test/web:1", ports: [{name: http, containerPort: 8080}], env: [{name: A, value: "1"}, {name: B, value: "2"}], resources: {limits: {memory: 128Mi}, requests: {cpu: 100m}}}
      - {name: proxy, image: "registry.example.test/proxy:1", args: [--port, "80"], readinessProbe: {httpGet: {path: /, port: 80}}}
      - {name: logs, image: "registry.example.test/logs:1", volumeMounts: [{name: v, mountPath: /v}]}
      volumes: [{name: v, emptyDir: {}}]
`
