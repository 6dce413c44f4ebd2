package lab

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"holdfast/deploy/lab/binary"
)

// ArgoOptions are for tests that need more than the defaults.
type ArgoOptions struct {
	Tracking        ArgoTracking      // how Argo CD marks what it applies
	Settings        map[string]string // more keys of the ConfigMap argocd-cm, such as resource customizations
	ControllerFlags []string          // more flags for the application controller, such as --app-resync
}

// ArgoTracking is Argo CD's setting application.resourceTrackingMethod.
type ArgoTracking string

// The tracking methods. Empty leaves the choice to Argo CD: version 2 tracks by label, version 3 by annotation.
const (
	ByLabel           ArgoTracking = "label"            // label app.kubernetes.io/instance holds the Application's name
	ByAnnotation      ArgoTracking = "annotation"       // annotation argocd.argoproj.io/tracking-id holds name and object
	ByAnnotationLabel ArgoTracking = "annotation+label" // the annotation decides, the label is for people
)

// Argo is a running Argo CD. Its Applications live in the namespace argocd, and AppProject default there allows
// everything.
type Argo struct {
	cluster    *Cluster
	controller *process
}

// StartArgoCD installs Argo CD's definitions and runs its application controller (as ArgoCD), its repo server and a
// Redis in memory, outside of the cluster. It returns when all of them answer. An Application's destination may be
// https://kubernetes.default.svc, which is this cluster, or the name or URL of any cluster of the lab. Directories,
// kustomizations, charts and jsonnet are rendered; a chart's dependencies are fetched from where the chart says.
func (c *Cluster) StartArgoCD(t testing.TB, options ArgoOptions) *Argo {
	t.Helper()
	argo, err := c.startArgoCD(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return argo
}

func (c *Cluster) startArgoCD(ctx context.Context, options ArgoOptions) (*Argo, error) {
	argobox, err := c.lab.store.Find(binary.Argobox())
	if err != nil {
		return nil, err
	}
	helm, err := c.lab.store.Find(binary.Helm())
	if err != nil {
		return nil, err
	}
	if err := c.installArgoCD(ctx, argobox, options); err != nil {
		return nil, err
	}
	home := filepath.Join(c.Dir, "argocd")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	for name, program := range map[string]string{repoServer: argobox, appController: argobox, "kustomize": argobox, "helm": helm} {
		if err := os.Symlink(program, filepath.Join(home, name)); err != nil {
			return nil, err
		}
	}
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	redis, manifests := address(ports[0]), address(ports[1])
	cache, err := c.start("argocd-redis", argobox, "redis", redis)
	if err != nil {
		return nil, err
	}
	if err := cache.await(ctx, "listening", readyTimeout, func(ctx context.Context) error { return dial(ctx, redis) }); err != nil {
		return nil, err
	}
	if err := c.startRepoServer(ctx, home, redis, ports[1], ports[2]); err != nil {
		return nil, err
	}
	controller, err := c.startApplicationController(ctx, home, redis, manifests, address(ports[3]), options.ControllerFlags)
	if err != nil {
		return nil, err
	}
	return &Argo{cluster: c, controller: controller}, nil
}

// Argo CD calls some of its clients by its own file name, and the API server makes a field manager of that. So the
// programs run under the names that they have in Argo CD's images.
const repoServer, appController = "argocd-repo-server", "argocd-application-controller"

// startRepoServer runs the repo server, whose home has kustomize and helm, and waits until it answers.
func (c *Cluster) startRepoServer(ctx context.Context, home, redis string, port, metrics int) error {
	server, err := c.lab.supervisor.start(c.Name+"-"+repoServer, filepath.Join(home, repoServer), c.lab.environment(
		"PATH="+home+":"+os.Getenv("PATH"), "HOME="+home, "ARGOCD_GPG_ENABLED=false",
		// relative to the lab's folder, where it starts: the path of a socket has to be short
		"ARGOCD_ASK_PASS_SOCK="+c.Name+"-askpass",
	), "repo-server", "--address=127.0.0.1", "--port="+strconv.Itoa(port), "--disable-tls",
		"--metrics-address=127.0.0.1", "--metrics-port="+strconv.Itoa(metrics), "--redis="+redis)
	if err != nil {
		return err
	}
	return server.await(ctx, "healthy", readyTimeout, func(ctx context.Context) error {
		return get(ctx, http.DefaultClient, "http://"+address(metrics)+"/healthz?full=true")
	})
}

// startApplicationController runs the application controller and waits until it answers.
func (c *Cluster) startApplicationController(ctx context.Context, home, redis, manifests, metrics string, flags []string) (*process, error) {
	controller, err := c.lab.supervisor.start(c.Name+"-"+appController, filepath.Join(home, appController), c.lab.environment(
		"HOME="+home, "ARGOCD_GPG_ENABLED=false",
		// makes https://kubernetes.default.svc mean the kubeconfig's cluster, as it would inside of it
		"ARGOCD_FAKE_IN_CLUSTER=true", "KUBECONFIG="+c.Kubeconfig(ArgoCD),
	), append([]string{"controller", "--kubeconfig=" + c.Kubeconfig(ArgoCD), "--namespace=argocd",
		"--repo-server=" + manifests, "--redis=" + redis, "--metrics-address=" + metrics}, flags...)...)
	if err != nil {
		return nil, err
	}
	return controller, controller.await(ctx, "healthy", readyTimeout, func(ctx context.Context) error {
		return get(ctx, http.DefaultClient, "http://"+metrics+"/healthz")
	})
}

// installArgoCD applies the definitions and the objects that Argo CD keeps its settings in.
func (c *Cluster) installArgoCD(ctx context.Context, program string, options ArgoOptions) error {
	definitions, err := os.ReadFile(binary.DataFile(program))
	if err != nil {
		return err
	}
	if err := c.apply(ctx, Admin, "argocd-install", string(definitions)); err != nil {
		return err
	}
	if err := c.apiserver.await(ctx, "serving Argo CD's definitions", readyTimeout, func(ctx context.Context) error {
		for _, resource := range []string{"applications", "appprojects"} {
			if err := get(ctx, c.admin, c.server+"/apis/argoproj.io/v1alpha1/"+resource); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	settings := maps.Clone(options.Settings)
	if options.Tracking != "" {
		if settings == nil {
			settings = map[string]string{}
		}
		settings["application.resourceTrackingMethod"] = string(options.Tracking)
	}
	objects, err := c.argoObjects(settings)
	if err != nil {
		return err
	}
	return c.apply(ctx, Admin, "argocd-install", objects)
}

// argoObjects returns the manifests beside the definitions. The secret's text is for signing sessions of the web
// interface, which is not run; without one Argo CD would make it by itself.
func (c *Cluster) argoObjects(settings map[string]string) (string, error) {
	partOf := map[string]any{"app.kubernetes.io/part-of": "argocd"}
	meta := func(name string, labels map[string]any) map[string]any {
		return map[string]any{"name": name, "namespace": "argocd", "labels": labels}
	}
	objects := []map[string]any{
		{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "argocd"}},
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("argocd-cm", partOf), "data": settings},
		{"apiVersion": "v1", "kind": "Secret", "metadata": meta("argocd-secret", partOf),
			"stringData": map[string]string{"server.secretkey": "lab"}},
		{"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": meta("default", nil), "spec": map[string]any{
			"sourceRepos": []string{"*"}, "destinations": []map[string]string{{"namespace": "*", "server": "*"}},
			"clusterResourceWhitelist": []map[string]string{{"group": "*", "kind": "*"}},
		}},
	}
	for _, member := range c.lab.Clusters {
		config, err := json.Marshal(map[string]any{
			"bearerToken":     c.lab.identity.tokens[ArgoCD],
			"tlsClientConfig": map[string]string{"caData": base64.StdEncoding.EncodeToString(c.lab.identity.ca)},
		})
		if err != nil {
			return "", err
		}
		objects = append(objects, map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"metadata":   meta("cluster-"+member.Name, map[string]any{"argocd.argoproj.io/secret-type": "cluster"}),
			"stringData": map[string]string{"name": member.Name, "server": member.server, "config": string(config)},
		})
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	return string(list), err
}

func dial(ctx context.Context, address string) error {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

// ArgoApplication is what Argo CD says about an Application. As an argument it is a pattern: only what is set counts.
type ArgoApplication struct {
	Sync      string // Synced, OutOfSync or Unknown
	Health    string // Healthy, Progressing, Degraded, Suspended, Missing or Unknown
	Revision  string // the commit that was compared last
	Operation string // phase of the last sync: Running, Succeeded, Failed or Error; empty before the first
	Message   string // what the last sync said
}

// matches tells whether everything that the pattern sets is so.
func (a ArgoApplication) matches(pattern ArgoApplication) bool {
	for _, pair := range [][2]string{
		{a.Sync, pattern.Sync}, {a.Health, pattern.Health}, {a.Revision, pattern.Revision},
		{a.Operation, pattern.Operation}, {a.Message, pattern.Message},
	} {
		if pair[1] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return true
}

// argoObject is the part of an Application's object that the lab reads.
type argoObject struct {
	Metadata  struct{ Annotations map[string]string }
	Operation *struct{}
	Spec      struct {
		SyncPolicy struct{ SyncOptions []string }
	}
	Status struct {
		Sync           struct{ Status, Revision string }
		Health         struct{ Status string }
		Conditions     []struct{ Type, Message string }
		OperationState struct {
			Phase, Message string
			Operation      struct {
				Info []struct{ Name, Value string }
			}
		}
	}
}

// Application returns what Argo CD says about an Application now.
func (a *Argo) Application(t testing.TB, name string) ArgoApplication {
	t.Helper()
	object, err := a.get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return object.verdict()
}

// Await waits until Argo CD says of an Application all that the pattern sets, and fails the test after two minutes.
func (a *Argo) Await(t testing.TB, name string, pattern ArgoApplication) {
	t.Helper()
	a.await(t, name, fmt.Sprintf("showing Application %s as %+v", name, pattern), func(object argoObject) error {
		if now := object.verdict(); !now.matches(pattern) {
			return fmt.Errorf("%+v; conditions %v", now, object.Status.Conditions)
		}
		return nil
	})
}

// Refresh asks Argo CD to compare an Application with its source and the cluster now, and waits until it has. Changes
// of live objects it notices by itself, commits only so or when its three minutes are over. An automated sync that
// the comparison asks for starts after that: [Argo.Await] what it leads to.
func (a *Argo) Refresh(t testing.TB, name string) {
	t.Helper()
	const annotation = "argocd.argoproj.io/refresh"
	a.cluster.Kubectl(t, Admin, "", "annotate", "--overwrite", "--namespace=argocd", "application.argoproj.io/"+name, annotation+"=normal")
	a.await(t, name, "refreshing Application "+name, func(object argoObject) error {
		if object.Metadata.Annotations[annotation] != "" {
			return errors.New("the request is not handled yet")
		}
		return nil
	})
}

// Sync asks for one sync, as a person does by `argocd app sync`: with the Application's own sync options and without
// pruning. It waits until the sync has succeeded.
func (a *Argo) Sync(t testing.TB, name string) {
	t.Helper()
	object, err := a.get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	token := strconv.FormatInt(time.Now().UnixNano(), 10)
	patch, err := json.Marshal(map[string]any{"operation": map[string]any{
		"initiatedBy": map[string]string{"username": "alice"},
		"info":        []map[string]string{{"name": "lab", "value": token}},
		"sync": map[string]any{
			"syncOptions":  object.Spec.SyncPolicy.SyncOptions,
			"syncStrategy": map[string]any{"hook": struct{}{}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	a.cluster.Kubectl(t, Admin, "", "patch", "--namespace=argocd", "application.argoproj.io", name, "--type=merge", "--patch="+string(patch))
	a.await(t, name, "syncing Application "+name, func(object argoObject) error {
		state := object.Status.OperationState
		for _, info := range state.Operation.Info {
			if info.Value == token && object.Operation == nil && state.Phase == "Succeeded" {
				return nil
			}
		}
		return fmt.Errorf("last operation: %s %s", state.Phase, state.Message)
	})
}

func (a *Argo) await(t testing.TB, name, what string, probe func(argoObject) error) {
	t.Helper()
	if err := a.controller.await(t.Context(), what, readyTimeout, func(ctx context.Context) error {
		object, err := a.get(ctx, name)
		if err != nil {
			return err
		}
		return probe(object)
	}); err != nil {
		t.Fatal(err)
	}
}

func (a *Argo) get(ctx context.Context, name string) (argoObject, error) {
	var object argoObject
	err := call(ctx, a.cluster.admin, http.MethodGet,
		a.cluster.server+"/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/"+name, nil, &object, http.StatusOK)
	return object, err
}

func (o argoObject) verdict() ArgoApplication {
	return ArgoApplication{
		Sync: o.Status.Sync.Status, Health: o.Status.Health.Status, Revision: o.Status.Sync.Revision,
		Operation: o.Status.OperationState.Phase, Message: o.Status.OperationState.Message,
	}
}
