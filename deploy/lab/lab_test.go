package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/deploy/lab/binary"
)

// The label matters: a server-side apply that owns no field leaves no managedFields entry.
const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {tier: web}}}"

func TestClusters(t *testing.T) {
	shared := Shared{Options: Options{Clusters: 2, Audit: true}}
	t.Cleanup(shared.stop)
	l := shared.Get(t)
	first, second := l.Clusters[0], l.Clusters[1]
	first.Apply(t, Engine, "kustomize-controller", namespace)

	t.Run("a shared lab starts once", func(t *testing.T) {
		if shared.Get(t) != l {
			t.Error("the second test got another lab than the first")
		}
	})
	t.Run("clusters share nothing", func(t *testing.T) {
		if _, err := second.Exec(t.Context(), Admin, "", "get", "namespace", "shop"); err == nil || !strings.Contains(err.Error(), "NotFound") {
			t.Errorf("namespace of the first cluster in the second: %v", err)
		}
	})
	t.Run("an applied object belongs to the engine's field manager", func(t *testing.T) {
		managers := first.Kubectl(t, Alice, "", "get", "namespace", "shop", "--show-managed-fields",
			"-o", "jsonpath={.metadata.managedFields[*].manager} {.metadata.managedFields[*].operation}")
		if managers != "kustomize-controller Apply" {
			t.Errorf("managedFields: %s", managers)
		}
	})
	t.Run("bot reads nothing until it is granted a role", func(t *testing.T) {
		_, err := first.Exec(t.Context(), Bot, "", "get", "namespaces")
		if err == nil || !strings.Contains(err.Error(), `User "drift-bot" cannot list resource "namespaces"`) {
			t.Errorf("without a role: %v", err)
		}
		first.Grant(t, Bot, "system:aggregate-to-view")
		first.Kubectl(t, Bot, "", "get", "namespaces")
		if _, err := first.Exec(t.Context(), Bot, "", "delete", "namespace", "shop"); err == nil {
			t.Error("bot with a reader's role deletes a namespace")
		}
	})
	t.Run("bob edits but does not administer", func(t *testing.T) {
		first.Kubectl(t, Bob, "", "create", "configmap", "-n", "shop", "of-bob")
		if _, err := first.Exec(t.Context(), Bob, "", "delete", "namespace", "shop"); err == nil {
			t.Error("bob deletes a namespace")
		}
	})
	t.Run("the audit log names who changed what, at once", func(t *testing.T) {
		first.Kubectl(t, Alice, "", "label", "namespace", "shop", "team=payments")
		events := first.Audit(t, func(e AuditEvent) bool {
			return e.Verb == "patch" && e.User.Username == "alice@example.test"
		})
		if len(events) != 1 {
			t.Fatalf("%d patches by alice, want 1", len(events))
		}
		e := events[0]
		if e.ObjectRef.Resource != "namespaces" || e.ObjectRef.Name != "shop" || !strings.Contains(string(e.RequestObject), "payments") {
			t.Errorf("entry: %+v", e)
		}
		if got := second.Audit(t, func(e AuditEvent) bool { return e.User.Username == "alice@example.test" }); len(got) != 0 {
			t.Errorf("the second cluster's log: %+v", got)
		}
	})
	t.Run("one kubeconfig reaches both clusters", func(t *testing.T) {
		file, err := l.Kubeconfig(Admin)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range l.Clusters {
			out := first.Kubectl(t, Admin, "", "--kubeconfig", file, "--context", c.Name, "cluster-info")
			if !strings.Contains(out, c.Server()) {
				t.Errorf("context %s: %s", c.Name, out)
			}
		}
	})
	t.Run("processor time of the API server grows", func(t *testing.T) {
		before, err := first.CPU()
		if err != nil || before <= 0 {
			t.Fatalf("processor time %s, %v", before, err)
		}
		for range 3 {
			first.Kubectl(t, Admin, "", "get", "--raw", "/openapi/v2")
		}
		if after, err := first.CPU(); err != nil || after <= before {
			t.Errorf("processor time %s, then %s, %v", before, after, err)
		}
	})
}

func TestFluxHealsDrift(t *testing.T) {
	l := Start(t, Options{})
	c := l.Clusters[0]
	git := GitServer(t, GitOptions{})
	url := git.Create(t, "shop", Files(`
-- apps/shop/kustomization.yaml --
resources: [namespace.yaml, config.yaml]
-- apps/shop/namespace.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: shop}
-- apps/shop/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
data: {LOG_LEVEL: info}
`))
	c.StartFlux(t, FluxOptions{})
	c.Apply(t, Admin, "kubectl", `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop, namespace: flux-system}
spec: {interval: 10m, url: "`+url+`", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: flux-system}
spec: {interval: 10m, path: ./apps/shop, prune: true, sourceRef: {kind: GitRepository, name: shop}}
`)
	source := FluxObject{Kind: "GitRepository", Namespace: "flux-system", Name: "shop"}
	app := FluxObject{Kind: "Kustomization", Namespace: "flux-system", Name: "shop"}
	level := func() string {
		return c.Kubectl(t, Alice, "", "get", "configmap", "-n", "shop", "web", "-o", "jsonpath={.data.LOG_LEVEL}")
	}
	c.Reconcile(t, source)
	c.Reconcile(t, app)
	if got := level(); got != "info" {
		t.Fatalf("after the first reconcile: %q", got)
	}

	c.Kubectl(t, Alice, "", "patch", "configmap", "-n", "shop", "web", "--type=merge", "-p", `{"data":{"LOG_LEVEL":"debug"}}`)
	c.Reconcile(t, app)
	if got := level(); got != "info" {
		t.Errorf("the drift was not healed: %q", got)
	}

	commit := git.Commit(t, "shop", "main", "Ask for warnings", map[string]string{
		"apps/shop/config.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}, data: {LOG_LEVEL: warn}}",
	})
	c.Reconcile(t, source)
	c.Reconcile(t, app)
	if got := level(); got != "warn" {
		t.Errorf("after a commit: %q", got)
	}
	applied := c.Kubectl(t, Admin, "", "get", "-n", "flux-system", "kustomization", "shop", "-o", "jsonpath={.status.lastAppliedRevision}")
	if applied != "main@sha1:"+commit {
		t.Errorf("applied revision %s, want main@sha1:%s", applied, commit)
	}

	c.Kubectl(t, Admin, "", "patch", "-n", "flux-system", "kustomization", "shop", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	if err := c.reconcile(t.Context(), app); err == nil || !strings.Contains(err.Error(), "suspended") {
		t.Errorf("reconcile of a suspended Kustomization: %v", err)
	}
}

func TestKwokMakesPodsReady(t *testing.T) {
	l := Start(t, Options{ControllerManager: true, Scheduler: true, Kwok: true})
	c := l.Clusters[0]
	c.Apply(t, Engine, "kustomize-controller", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.test/web:1"}]}
`)
	c.Kubectl(t, Admin, "", "wait", "-n", "default", "deployment/web", "--for=jsonpath={.status.readyReplicas}=2", "--timeout=60s")
}

func TestStopLeavesNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the lab; -short skips it")
	}
	l, err := New(t.Context(), Options{ControllerManager: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Stop()
	ids := l.Processes()
	if len(ids) != 3 {
		t.Errorf("%d processes run, want etcd, an API server and a controller-manager", len(ids))
	}
	l.Stop()
	for _, id := range ids {
		if err := syscall.Kill(id, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d after Stop: %v", id, err)
		}
	}
	if _, err := os.Stat(l.Dir); !os.IsNotExist(err) {
		t.Errorf("folder %s after Stop: %v", l.Dir, err)
	}
	if _, err := l.supervisor.start("late", "/bin/true", nil); err == nil {
		t.Error("a stopped lab starts a program")
	}
}

func TestStartFailureShowsTheLogAndStopsTheRest(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the lab; -short skips it")
	}
	dir := t.TempDir()
	_, err := New(t.Context(), Options{Dir: dir, APIServerFlags: []string{"--no-such-flag"}})
	if err == nil {
		t.Fatal("an API server with an unknown flag started")
	}
	for _, want := range []string{"lab-0-apiserver ended", "unknown flag: --no-such-flag"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

func TestAbsentProgramsNameTheCommand(t *testing.T) {
	t.Setenv(binary.CacheEnv, filepath.Join(t.TempDir(), "empty"))
	_, err := New(context.Background(), Options{})
	if !errors.Is(err, binary.ErrNotFound) || !strings.Contains(err.Error(), "make lab") {
		t.Errorf("without programs: %v", err)
	}
}

func TestAwaitGivesUp(t *testing.T) {
	s := newSupervisor(t.TempDir())
	t.Cleanup(s.stop)
	p, err := s.start("sleeper", "/bin/sh", nil, "-c", "echo waiting for nothing; exec sleep 60")
	if err != nil {
		t.Fatal(err)
	}
	never := func(context.Context) error { return errors.New("no answer") }
	err = p.await(t.Context(), "ready", 500*time.Millisecond, never)
	if err == nil || !strings.Contains(err.Error(), "waited 500ms") || !strings.Contains(err.Error(), "waiting for nothing") {
		t.Errorf("after the deadline: %v", err)
	}
}
