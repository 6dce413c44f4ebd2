package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"holdfast/deploy/lab"
)

// fluxShop is a shop that the real Flux applies: its name is that of the GitRepository and the Kustomization too.
type fluxShop struct {
	*shop
	// interval is the Kustomization's.
	interval time.Duration
}

// shopInterval is far longer than a test: Flux corrects when it is asked to, and only then.
const shopInterval = time.Hour

// newFluxShop gives a shop that Flux has applied, and corrects when asked to. policy is the repository's; empty
// for none.
func newFluxShop(t *testing.T, name, policy string) *fluxShop {
	t.Helper()
	return newFluxShopAt(t, name, policy, shopInterval)
}

func newFluxShopAt(t *testing.T, name, policy string, interval time.Duration) *fluxShop {
	t.Helper()
	s := &fluxShop{shop: newShopOf(t, fluxCluster(t), name, policy), interval: interval}
	s.configure(t, "flux-system")
	s.Kubectl(t, lab.Admin, "", "create", "namespace", name)
	s.Kubectl(t, lab.Admin, s.fluxObjects(), "apply", "-f", "-")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own has ended
		defer cancel()
		for _, kind := range []string{"kustomization", "gitrepository"} {
			if _, err := s.Exec(ctx, lab.Admin, "", "delete", kind+"/"+name, "--namespace=flux-system", "--timeout=60s"); err != nil {
				t.Error(err)
			}
		}
	})
	s.follow(t)
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds: what follows is later
	return s
}

func (s *fluxShop) fluxObjects() string {
	return fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: flux-system}
spec: {interval: 1h, url: %[2]q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: flux-system}
spec:
  interval: %[3]s
  path: ./apps/shop/production
  prune: true
  targetNamespace: %[1]s
  sourceRef: {kind: GitRepository, name: %[1]s}
`, s.name, s.git.URL(shopRepository), s.interval)
}

// heal makes Flux apply what it has again, as it does at each interval.
func (s *fluxShop) heal(t *testing.T) {
	t.Helper()
	s.Reconcile(t, lab.FluxObject{Kind: "Kustomization", Namespace: "flux-system", Name: s.name})
}

// follow makes Flux fetch the branch, as a webhook does, and waits until its newest commit is applied: the
// Kustomization is not asked, a new revision is enough.
func (s *fluxShop) follow(t *testing.T) {
	t.Helper()
	s.Reconcile(t, lab.FluxObject{Kind: "GitRepository", Namespace: "flux-system", Name: s.name})
	head := "main@sha1:" + s.git.Git(t, shopRepository, "rev-parse", "refs/heads/main")
	eventually(t, "Flux has applied "+head, func() bool {
		return s.Kubectl(t, lab.Admin, "", "get", "kustomization/"+s.name, "--namespace=flux-system", "-o", "jsonpath={.status.lastAppliedRevision}") == head
	})
}
