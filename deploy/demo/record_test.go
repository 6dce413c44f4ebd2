package demo

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/deploy/lab"
)

// TestRecord writes live.yaml and audit.jsonl anew from a real API server on which the real Flux applied the
// demo's repository: HOLDFAST_RECORD=1 go test ./deploy/demo -run TestRecord.
func TestRecord(t *testing.T) {
	if os.Getenv("HOLDFAST_RECORD") == "" {
		t.Skip("set HOLDFAST_RECORD=1 to record anew")
	}
	c := lab.Start(t, lab.Options{Audit: true, ControllerManager: true}).Clusters[0]
	dir := t.TempDir()
	revision := "main@sha1:" + prepare(t, dir)
	git := lab.GitServer(t, lab.GitOptions{})
	git.Create(t, "fleet", map[string]string{"README.md": "replaced at once"})
	git.Git(t, "fleet", "fetch", "--quiet", dir, "+main:main")

	c.StartFlux(t, lab.FluxOptions{})
	manifest, err := os.ReadFile(filepath.Join(dir, "clusters/production/shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, lab.Engine, "kustomize-controller", strings.ReplaceAll(string(manifest), neutralURL, git.URL("fleet")))
	await(t, "Flux has applied the revision", func() bool { return applied(t, c) == revision })
	await(t, "the autoscaler has scaled search", func() bool { return replicas(t, c, "search") == "3" })

	time.Sleep(2 * time.Second) // managedFields count in seconds: what follows is later
	alice(t, c)
	dump := get(t, c, "namespace/shop") +
		get(t, c, "gitrepositories,kustomizations", "--namespace=flux-system") +
		get(t, c, "deployments,services,horizontalpodautoscalers", "--namespace=shop") +
		get(t, c, "configmaps", "--namespace=shop", "--field-selector=metadata.name!=kube-root-ca.crt")
	if got := applied(t, c); got != revision {
		t.Fatalf("Flux went on to %s", got)
	}
	dump = strings.ReplaceAll(dump, git.URL("fleet"), neutralURL)
	dump = regexp.MustCompile(`http://127\.0\.0\.1:\d+/gitrepository/`).ReplaceAllString(dump, neutralArtifacts)
	write(t, "live.yaml", dump)
	write(t, "audit.jsonl", auditOf(t, c.AuditLog))
}

// The lab's addresses differ each time and mean nothing elsewhere: the recording has these in their place.
const (
	neutralURL       = "https://git.example.test/fleet.git"
	neutralArtifacts = "http://source-controller.flux-system.svc.cluster.local./gitrepository/"
)

func get(t *testing.T, c *lab.Cluster, args ...string) string {
	return "---\n" + c.Kubectl(t, lab.Alice, "", append([]string{"get", "-o", "yaml", "--show-managed-fields"}, args...)...)
}

func applied(t *testing.T, c *lab.Cluster) string {
	return c.Kubectl(t, lab.Admin, "", "get", "kustomization/shop", "--namespace=flux-system", "-o", "jsonpath={.status.lastAppliedRevision}")
}

func alice(t *testing.T, c *lab.Cluster) {
	const stray = `{apiVersion: v1, kind: ConfigMap, metadata: {name: feature-flags, namespace: shop, labels: {
		kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}}, data: {NEW_CHECKOUT: "on"}}`
	for _, act := range []struct{ stdin, args string }{
		{"", "scale deployment/web --replicas=6"},
		{"", "set image deployment/api api=registry.example.test/shop/api:2.4.2"},
		{"", "set resources deployment/worker --containers=worker --limits=memory=1Gi"},
		{"", "set env deployment/api CACHE_TTL=30s"},
		{"", "label deployment/web team=checkout"},
		{"", `patch deployment/media --type=merge --patch={"spec":{"template":{"spec":{"hostNetwork":true}}}}`},
		{"", "delete service/search"},
		{stray, "create -f -"},
	} {
		c.Kubectl(t, lab.Alice, act.stdin, append([]string{"--namespace=shop"}, strings.Fields(act.args)...)...)
	}
}

func replicas(t *testing.T, c *lab.Cluster, deployment string) string {
	return c.Kubectl(t, lab.Admin, "", "get", "deployment/"+deployment, "--namespace=shop", "-o", "jsonpath={.spec.replicas}")
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 120 {
		if done() {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	t.Fatalf("waited a minute in vain until %s", what)
}

// auditOf picks alice's writes in the shop, as they stand in the log.
func auditOf(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range bytes.Lines(data) {
		var event struct {
			Level, Stage string
			User         struct{ Username string }
			ObjectRef    struct{ Namespace string }
		}
		if json.Unmarshal(line, &event) != nil || event.Stage != "ResponseComplete" || event.Level != "RequestResponse" {
			continue
		}
		if event.User.Username == "alice@example.test" && event.ObjectRef.Namespace == "shop" {
			out.Write(line)
		}
	}
	return out.String()
}

func write(t *testing.T, name, text string) {
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
