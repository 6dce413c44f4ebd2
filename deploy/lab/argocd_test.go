package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// argoApplication is the manifest of an Application that follows a folder of a repository. policy is the YAML of
// spec.syncPolicy.
func argoApplication(name, url, path, namespace, policy string) string {
	return fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: argocd}
spec:
  project: default
  source: {repoURL: "%s", path: %s, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
  syncPolicy: %s
`, name, url, path, namespace, policy)
}

func TestArgoCDSyncsAndHeals(t *testing.T) {
	l := Start(t, Options{})
	c := l.Clusters[0]
	git := GitServer(t, GitOptions{})
	url := git.Create(t, "shop", Files(`
-- apps/shop/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {LOG_LEVEL: info}
`))
	argo := c.StartArgoCD(t, ArgoOptions{})
	c.Apply(t, Admin, "kubectl", argoApplication("shop", url, "apps/shop", "shop", "{syncOptions: [CreateNamespace=true]}"))
	level := func() string {
		t.Helper()
		return c.Kubectl(t, Alice, "", "get", "configmap", "-n", "shop", "web", "-o", "jsonpath={.data.LOG_LEVEL}")
	}
	drift := func(level string) {
		t.Helper()
		c.Kubectl(t, Alice, "", "patch", "configmap", "-n", "shop", "web", "--type=merge", "-p", `{"data":{"LOG_LEVEL":"`+level+`"}}`)
	}

	argo.Await(t, "shop", ArgoApplication{Sync: "OutOfSync"})
	argo.Sync(t, "shop")
	head := git.Git(t, "shop", "rev-parse", "main")
	argo.Await(t, "shop", ArgoApplication{Sync: "Synced", Health: "Healthy", Revision: head, Operation: "Succeeded"})
	if got := level(); got != "info" {
		t.Fatalf("after the first sync: %q", got)
	}
	// Version 2.14 tracks by label unless told otherwise.
	argoMarks{label: "shop", manager: "argocd-controller Update", lastApplied: true}.check(t, c, "shop", "configmap/web")

	drift("debug")
	argo.Await(t, "shop", ArgoApplication{Sync: "OutOfSync"})
	if got := level(); got != "debug" {
		t.Errorf("without automated sync the drift went away by itself: %q", got)
	}
	argo.Sync(t, "shop")
	argo.Await(t, "shop", ArgoApplication{Sync: "Synced"})
	if got := level(); got != "info" {
		t.Errorf("the sync left the drift: %q", got)
	}

	c.Kubectl(t, Admin, "", "patch", "-n", "argocd", "application.argoproj.io", "shop", "--type=merge", "-p",
		`{"spec":{"syncPolicy":{"automated":{"selfHeal":true}}}}`)
	drift("trace")
	c.Kubectl(t, Admin, "", "wait", "-n", "shop", "configmap/web", "--for=jsonpath={.data.LOG_LEVEL}=info", "--timeout=60s")

	commit := git.Commit(t, "shop", "main", "Ask for warnings", map[string]string{
		"apps/shop/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {LOG_LEVEL: warn}\n",
	})
	argo.Refresh(t, "shop")
	argo.Await(t, "shop", ArgoApplication{Sync: "Synced", Revision: commit})
	if got := level(); got != "warn" {
		t.Errorf("after a commit: %q", got)
	}

	// Argo CD's own command would listen for metrics on all interfaces.
	for _, id := range l.Processes() {
		for _, listener := range listeners(t, id) {
			if !strings.HasPrefix(listener, loopback) {
				t.Errorf("process %d listens on %s, which is not on loopback", id, listener)
			}
		}
	}
}

// argoMarks is what Argo CD leaves on a live object: the marks by which it knows its own, and its entry in
// managedFields. They are what Holdfast tells declared from foreign by.
type argoMarks struct {
	label       string // the Application's name
	id          string // Application:group/kind:namespace/name
	manager     string // managers and operations
	lastApplied bool   // the whole manifest in an annotation, which client-side apply leaves
}

func (m argoMarks) check(t *testing.T, c *Cluster, namespace, object string) {
	t.Helper()
	out := c.Kubectl(t, Alice, "", "get", "-n", namespace, object, "--show-managed-fields", "-o", "jsonpath="+
		`{.metadata.labels.app\.kubernetes\.io/instance}{"\n"}{.metadata.annotations.argocd\.argoproj\.io/tracking-id}{"\n"}`+
		`{.metadata.managedFields[*].manager} {.metadata.managedFields[*].operation}{"\n"}`+
		`{.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}`)
	lines := strings.SplitN(out, "\n", 4)
	if got := (argoMarks{lines[0], lines[1], lines[2], lines[3] != ""}); got != m {
		t.Errorf("%s: marks %+v, want %+v", object, got, m)
	}
}

// loopback is 127.0.0.1 as /proc/net/tcp writes it: one hexadecimal word in the byte order of the machine.
const loopback = "0100007F:"

// listeners returns the TCP addresses that a process listens on, as the kernel writes them (proc_pid_net(5)). It needs
// /proc; elsewhere it finds none.
func listeners(t *testing.T, id int) []string {
	t.Helper()
	sockets := map[string]bool{}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", id)) // fails for a bad pattern only
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.HasPrefix(target, "socket:[") {
			sockets[strings.Trim(target, "socket:[]")] = true
		}
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", id, table))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(content)) {
			const local, state, inode, listening = 1, 3, 9, "0A"
			if fields := strings.Fields(line); len(fields) > inode && fields[state] == listening && sockets[fields[inode]] {
				found = append(found, fields[local])
			}
		}
	}
	if runtime.GOOS == "linux" && len(found) == 0 {
		t.Errorf("no listener of process %d found", id)
	}
	return found
}

func TestArgoCDRendersKustomizationsAndCharts(t *testing.T) {
	l := Start(t, Options{Clusters: 2})
	c := l.Clusters[0]
	git := GitServer(t, GitOptions{})
	url := git.Create(t, "shop", Files(`
-- kustomized/kustomization.yaml --
resources: [config.yaml]
namePrefix: prod-
-- kustomized/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: kustomized}
-- charted/Chart.yaml --
{apiVersion: v2, name: charted, version: 1.0.0}
-- charted/values.yaml --
level: info
-- charted/templates/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {level: {{ .Values.level }}, helm: {{ .Capabilities.HelmVersion.Version }}, kubernetes: {{ .Capabilities.KubeVersion }}}
`))
	argo := c.StartArgoCD(t, ArgoOptions{Tracking: ByAnnotation})
	c.Apply(t, Admin, "kubectl", argoApplication("kustomized", url, "kustomized", "default", "{automated: {}}")+
		strings.Replace(argoApplication("charted", url, "charted", "default", "{automated: {}}"),
			`server: "https://kubernetes.default.svc"`, "name: lab-1", 1))
	argo.Await(t, "kustomized", ArgoApplication{Sync: "Synced"})
	argo.Await(t, "charted", ArgoApplication{Sync: "Synced"})
	argoMarks{id: "kustomized:/ConfigMap:default/prod-kustomized", manager: "argocd-controller Update", lastApplied: true}.
		check(t, c, "default", "configmap/prod-kustomized")
	// Charts are told the cluster's version without its patch number.
	got := l.Clusters[1].Kubectl(t, Alice, "", "get", "configmap", "charted", "-o", "jsonpath={.data.level} {.data.helm} {.data.kubernetes}")
	if want := "info v3.16.3 v1.36.0"; got != want {
		t.Errorf("the chart's data: %q, want %q", got, want)
	}
}
