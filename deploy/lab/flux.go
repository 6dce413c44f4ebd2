package lab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/deploy/lab/binary"
)

// FluxOptions are for tests that need more than the defaults.
type FluxOptions struct {
	KustomizeFlags []string // more flags for kustomize-controller, such as --feature-gates
	SourceFlags    []string // more flags for source-controller
}

// StartFlux installs Flux's definitions and runs its source-controller (as Source) and kustomize-controller (as
// Engine) against the cluster, outside of it. It returns when both say that they are ready. They reconcile every
// GitRepository and Kustomization in all namespaces; the namespace flux-system exists afterwards.
func (c *Cluster) StartFlux(t testing.TB, options FluxOptions) {
	t.Helper()
	if err := c.startFlux(t.Context(), options); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) startFlux(ctx context.Context, options FluxOptions) error {
	source, err := c.lab.store.Find(binary.SourceController())
	if err != nil {
		return err
	}
	kustomize, err := c.lab.store.Find(binary.KustomizeController())
	if err != nil {
		return err
	}
	if err := c.installFlux(ctx, source, kustomize); err != nil {
		return err
	}
	ports, err := freePorts(5)
	if err != nil {
		return err
	}
	artifacts := filepath.Join(c.Dir, "artifacts")
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		return err
	}
	storage := address(ports[0])
	if err := c.startController(ctx, Source, source, ports[1], ports[2], append([]string{
		"--storage-path=" + artifacts, "--storage-addr=" + storage, "--storage-adv-addr=" + storage,
	}, options.SourceFlags...)); err != nil {
		return err
	}
	return c.startController(ctx, Engine, kustomize, ports[3], ports[4], append([]string{
		"--no-remote-bases", "--requeue-dependency=2s",
	}, options.KustomizeFlags...))
}

func (c *Cluster) startController(ctx context.Context, user User, program string, metrics, health int, flags []string) error {
	name := strings.TrimPrefix(find(user).name, "system:serviceaccount:flux-system:")
	controller, err := c.lab.supervisor.start(c.Name+"-"+name, program, c.lab.environment(
		"KUBECONFIG="+c.Kubeconfig(user), "RUNTIME_NAMESPACE=flux-system", "POD_NAME="+name,
	), append([]string{"--watch-all-namespaces", "--log-level=info",
		"--metrics-addr=" + address(metrics), "--health-addr=" + address(health)}, flags...)...)
	if err != nil {
		return err
	}
	return controller.await(ctx, "ready", readyTimeout, func(ctx context.Context) error {
		return get(ctx, http.DefaultClient, "http://"+address(health)+"/readyz")
	})
}

// installFlux applies the definitions that lie beside the two programs and waits until the API serves them.
func (c *Cluster) installFlux(ctx context.Context, programs ...string) error {
	for _, program := range programs {
		definitions, err := os.ReadFile(binary.DataFile(program))
		if err != nil {
			return err
		}
		if err := c.apply(ctx, Admin, "flux", string(definitions)); err != nil {
			return err
		}
	}
	if err := c.apply(ctx, Admin, "flux", "{apiVersion: v1, kind: Namespace, metadata: {name: flux-system}}"); err != nil {
		return err
	}
	return c.apiserver.await(ctx, "serving Flux's definitions", readyTimeout, func(ctx context.Context) error {
		for _, list := range []string{"source.toolkit.fluxcd.io/v1/gitrepositories", "kustomize.toolkit.fluxcd.io/v1/kustomizations"} {
			if err := get(ctx, c.admin, c.server+"/apis/"+list); err != nil {
				return err
			}
		}
		return nil
	})
}

// FluxObject names a GitRepository or Kustomization for [Cluster.Reconcile].
type FluxObject struct {
	Kind      string // as in the manifest
	Namespace string
	Name      string
}

// Reconcile asks Flux to look at an object now, as `flux reconcile` does, and waits until it has done so and the object
// is Ready. After a commit ask the GitRepository first, then the Kustomization. A suspended object is an error: Flux
// acknowledges such a request without doing anything.
func (c *Cluster) Reconcile(t testing.TB, object FluxObject) {
	t.Helper()
	if err := c.reconcile(t.Context(), object); err != nil {
		t.Fatalf("reconcile %s %s/%s: %v", object.Kind, object.Namespace, object.Name, err)
	}
}

func (c *Cluster) reconcile(ctx context.Context, object FluxObject) error {
	resource := map[string]string{
		"GitRepository": "source.toolkit.fluxcd.io/v1/gitrepositories",
		"Kustomization": "kustomize.toolkit.fluxcd.io/v1/kustomizations",
	}[object.Kind]
	if resource == "" {
		return fmt.Errorf("the kind is neither GitRepository nor Kustomization")
	}
	group, plural := path.Dir(path.Dir(resource)), path.Base(resource)
	url := c.server + "/apis/" + path.Join(path.Dir(resource), "namespaces", object.Namespace, plural, object.Name)
	var now fluxStatus
	if err := call(ctx, c.admin, http.MethodGet, url, nil, &now, http.StatusOK); err != nil {
		return err
	}
	if now.Spec.Suspend {
		return errors.New("it is suspended")
	}
	token := strconv.FormatInt(time.Now().UnixNano(), 10)
	if _, err := c.Exec(ctx, Admin, "", "annotate", "--overwrite", "--namespace", object.Namespace,
		plural+"."+group+"/"+object.Name, "reconcile.fluxcd.io/requestedAt="+token); err != nil {
		return err
	}
	return c.apiserver.await(ctx, "showing it reconciled", readyTimeout, func(ctx context.Context) error {
		var now fluxStatus
		if err := call(ctx, c.admin, http.MethodGet, url, nil, &now, http.StatusOK); err != nil {
			return err
		}
		return now.reconciled(token)
	})
}

// fluxStatus is what every Flux object tells about its reconciling.
type fluxStatus struct {
	Metadata struct{ Generation int64 }
	Spec     struct{ Suspend bool }
	Status   struct {
		ObservedGeneration     int64
		LastHandledReconcileAt string
		Conditions             []struct{ Type, Status, Reason, Message string }
	}
}

// reconciled is nil when the object has answered the token and is Ready at its newest generation.
func (f fluxStatus) reconciled(token string) error {
	switch {
	case f.Status.LastHandledReconcileAt != token:
		return errors.New("the request is not handled yet")
	case f.Status.ObservedGeneration != f.Metadata.Generation:
		return fmt.Errorf("generation %d is not observed yet", f.Metadata.Generation)
	}
	for _, condition := range f.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return nil
		}
	}
	return fmt.Errorf("not Ready: %+v", f.Status.Conditions)
}
