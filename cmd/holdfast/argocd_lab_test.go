package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"holdfast/deploy/lab"
)

// argoShop is a shop that the real Argo CD syncs: its name is that of the Application too.
type argoShop struct {
	*shop
	argo *lab.Argo
}

// argoSpec says how the Application of a shop syncs.
type argoSpec struct {
	path string // of the repository; empty is the overlay production
	// syncPolicy is YAML. Where it is not automated, the shop is synced once by hand.
	syncPolicy string
	// more are further lines of spec, in YAML and without indentation.
	more string
}

// The sync policies of the tests.
const (
	argoHeals    = "{automated: {prune: true, selfHeal: true}}"
	argoOnCommit = "{automated: {prune: true}}"
	argoByHand   = "{}"
)

// newArgoShop gives a shop that Argo CD has synced. policy is the repository's; empty for none. files are more files
// of the repository.
func newArgoShop(t *testing.T, name, policy string, spec argoSpec, files map[string]string) *argoShop {
	t.Helper()
	cluster, argo := argoCluster(t)
	s := &argoShop{shop: newShopOf(t, cluster, name, policy), argo: argo}
	if files != nil {
		s.git.Commit(t, shopRepository, "main", "More", files)
	}
	s.configure(t, "argocd")
	s.flags = []string{"--audit", cluster.AuditLog}
	s.Kubectl(t, lab.Admin, "", "create", "namespace", name)
	s.Kubectl(t, lab.Admin, s.application(spec), "apply", "-f", "-")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's own has ended
		defer cancel()
		if _, err := s.Exec(ctx, lab.Admin, "", "delete", "application.argoproj.io/"+name, "--namespace=argocd", "--timeout=60s"); err != nil {
			t.Error(err)
		}
	})
	if spec.syncPolicy == argoByHand {
		argo.Await(t, name, lab.ArgoApplication{Sync: "OutOfSync"})
		argo.Sync(t, name)
	}
	argo.Await(t, name, lab.ArgoApplication{Sync: "Synced", Operation: "Succeeded", Revision: s.head(t)})
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds: what follows is later
	return s
}

func (s *argoShop) application(spec argoSpec) string {
	if spec.path == "" {
		spec.path = "apps/shop/production"
	}
	return fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %[1]s, namespace: argocd}
spec:
  project: default
  source: {repoURL: %[2]q, path: %[3]s, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: %[1]s}
  syncPolicy: %[4]s
%[5]s
`, s.name, s.git.URL(shopRepository), spec.path, spec.syncPolicy, spec.more)
}

// head is the newest commit of main.
func (s *argoShop) head(t *testing.T) string {
	t.Helper()
	return s.git.Git(t, shopRepository, "rev-parse", "refs/heads/main")
}

// follow makes Argo CD look at the branch, as a webhook does, and waits until its newest commit is synced.
func (s *argoShop) follow(t *testing.T) {
	t.Helper()
	s.argo.Refresh(t, s.name)
	s.argo.Await(t, s.name, lab.ArgoApplication{Sync: "Synced", Operation: "Succeeded", Revision: s.head(t)})
}

// edit changes the Application itself, by a merge patch.
func (s *argoShop) edit(t *testing.T, patch string) {
	t.Helper()
	s.Kubectl(t, lab.Admin, "", "patch", "--namespace=argocd", "application.argoproj.io/"+s.name, "--type=merge", "--patch="+patch)
}
