package lab

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/deploy/lab/binary"
)

// StartKwok adds nodes that do not exist: kwok keeps them Ready, and pods that the scheduler binds to them (or that
// name one) become Ready within a second or two. Nodes are called kwok-0, kwok-1 and so on.
func (c *Cluster) StartKwok(t testing.TB, nodes int) {
	t.Helper()
	if err := c.startKwok(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) startKwok(ctx context.Context, nodes int) error {
	path, err := c.lab.store.Find(binary.Kwok())
	if err != nil {
		return err
	}
	kwok, err := c.start("kwok", path, "--kubeconfig="+c.Kubeconfig(Admin), "--config="+binary.DataFile(path),
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		"--node-ip=127.0.0.1", "--cidr=10.244.0.0/16", "--node-lease-duration-seconds=40")
	if err != nil {
		return err
	}
	var manifests strings.Builder
	for i := range nodes {
		fmt.Fprintf(&manifests, kwokNode, i)
	}
	if err := c.apply(ctx, Admin, "lab", manifests.String()); err != nil {
		return err
	}
	return kwok.await(ctx, "keeping its nodes ready", readyTimeout, func(ctx context.Context) error {
		for i := range nodes {
			if err := c.condition(ctx, fmt.Sprintf("/api/v1/nodes/kwok-%d", i), "Ready"); err != nil {
				return err
			}
		}
		return nil
	})
}

// Its room for pods comes from kwok, which fills in a status without limits that matter.
const kwokNode = `---
apiVersion: v1
kind: Node
metadata:
  name: kwok-%[1]d
  annotations: {kwok.x-k8s.io/node: fake, node.alpha.kubernetes.io/ttl: "0"}
  labels: {kubernetes.io/hostname: kwok-%[1]d, kubernetes.io/os: linux, kubernetes.io/arch: amd64, type: kwok}
`

// condition is a probe: it fails unless the object at an API path has a condition of that type that is True.
func (c *Cluster) condition(ctx context.Context, path, condition string) error {
	var object struct {
		Status struct {
			Conditions []struct{ Type, Status, Reason, Message string }
		}
	}
	if err := call(ctx, c.admin, http.MethodGet, c.server+path, nil, &object, http.StatusOK); err != nil {
		return err
	}
	for _, got := range object.Status.Conditions {
		if got.Type == condition && got.Status == "True" {
			return nil
		}
		if got.Type == condition {
			return fmt.Errorf("%s is %s of %s: %s %s", path, got.Status, condition, got.Reason, got.Message)
		}
	}
	return fmt.Errorf("%s has no condition %s", path, condition)
}
