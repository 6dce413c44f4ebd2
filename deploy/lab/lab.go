// Package lab runs real control planes on loopback for tests: one etcd, any number of kube-apiservers, and on request
// controller-manager, scheduler, kwok, Flux and a Git server. The programs come from Go modules below this folder;
// `make lab` builds them.
//
// A test calls [Start] and gets clusters that are gone when it ends, however it ends: every program is a child with
// its own process group, is killed by process id, and dies with the test process should that be killed. Tests of one
// package that can live with each other's objects share one lab through [Shared]. Access control is on (RBAC), and
// [User] lists who can sign in.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"holdfast/deploy/lab/binary"
)

// Options says what to run. The zero value is one bare cluster: etcd and an API server.
type Options struct {
	Clusters          int      // how many; 0 is 1. Named lab-0, lab-1, and so on
	ControllerManager bool     // Deployments get ReplicaSets, namespaces get service accounts, deletions cascade
	Scheduler         bool     // pods are bound to nodes
	Kwok              bool     // one node that is not real; pods bound to it become Ready
	Audit             bool     // writes with bodies and the metadata of reads go to Cluster.AuditLog
	APIServerFlags    []string // more flags for each API server, such as --feature-gates
	Dir               string   // where state and logs go; empty is a temporary folder that is removed
}

// Lab is a running set of clusters. It is made by [New] or [Start].
type Lab struct {
	Clusters []*Cluster
	Dir      string // state, logs and kubeconfigs

	options    Options
	store      binary.Store
	kubebox    string
	supervisor *supervisor
	identity   *identity
	ownsDir    bool
	stop       sync.Once
}

// readyTimeout is how long one program may take to answer. A control plane needs six seconds on two idle cores; the
// rest is for machines that build something else meanwhile.
const readyTimeout = 2 * time.Minute

// Start runs a lab for one test and stops it when the test is over. It skips the test under -short and fails it when
// the lab's programs are not built.
func Start(t testing.TB, options Options) *Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the lab; -short skips it")
	}
	if options.Dir == "" {
		options.Dir = t.TempDir()
	}
	l, err := New(t.Context(), options)
	if err != nil {
		t.Fatalf("start the lab: %v", err)
	}
	t.Cleanup(l.Stop)
	return l
}

// New runs a lab until Stop. The context bounds the start only. When New fails, nothing is left running.
func New(ctx context.Context, options Options) (*Lab, error) {
	store, err := binary.Open(".", os.Getenv(binary.CacheEnv))
	if err != nil {
		return nil, err
	}
	kubebox, err := store.Find(binary.Kubebox())
	if err != nil {
		return nil, err
	}
	if options.Kwok { // say so before anything is started
		if _, err := store.Find(binary.Kwok()); err != nil {
			return nil, err
		}
	}
	options.Clusters = max(options.Clusters, 1)
	l := &Lab{options: options, store: store, kubebox: kubebox, Dir: options.Dir}
	if l.Dir == "" {
		if l.Dir, err = os.MkdirTemp("", "holdfast-lab-"); err != nil {
			return nil, err
		}
		l.ownsDir = true
	}
	l.supervisor = newSupervisor(l.Dir)
	if err := l.boot(ctx); err != nil {
		l.Stop()
		return nil, err
	}
	return l, nil
}

// Stop kills every program that the lab started, waits until each is gone, and removes the lab's folder when the lab
// made it. A second call does nothing.
func (l *Lab) Stop() {
	l.stop.Do(func() {
		l.supervisor.stop()
		if l.ownsDir {
			os.RemoveAll(l.Dir)
		}
	})
}

// Processes returns the ids of the programs that run for this lab.
func (l *Lab) Processes() []int { return l.supervisor.pids() }

func (l *Lab) boot(ctx context.Context) error {
	err := os.MkdirAll(l.temporary(), 0o755)
	if err != nil {
		return err
	}
	if l.identity, err = newIdentity(l.Dir); err != nil {
		return err
	}
	etcd, err := l.startEtcd(ctx)
	if err != nil {
		return err
	}
	for i := range l.options.Clusters {
		c := &Cluster{Name: fmt.Sprintf("lab-%d", i), lab: l}
		c.Dir = filepath.Join(l.Dir, c.Name)
		if err := os.MkdirAll(c.Dir, 0o755); err != nil {
			return err
		}
		l.Clusters = append(l.Clusters, c)
	}
	return l.eachCluster(func(c *Cluster) error { return c.boot(ctx, etcd) })
}

// eachCluster runs do for all clusters at once: most of a start is waiting.
func (l *Lab) eachCluster(do func(*Cluster) error) error {
	failures := make([]error, len(l.Clusters))
	var wait sync.WaitGroup
	for i, c := range l.Clusters {
		wait.Go(func() {
			if err := do(c); err != nil {
				failures[i] = fmt.Errorf("cluster %s: %w", c.Name, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(failures...)
}
