package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"holdfast/deploy/lab"
)

// engineLab is one cluster with the real engines for all tests that need one; each keeps to a namespace, a repository
// and an Application of its own, and takes the Application away at its end.
var engineLab = struct {
	lab.Shared
	reader, flux, argo sync.Once
	argocd             *lab.Argo
}{Shared: lab.Shared{Options: lab.Options{Audit: true}}}

// clockAhead names how far the clock of a program under test goes ahead, so that drift outlives an engine's intervals.
const clockAhead = "HOLDFAST_TEST_CLOCK_AHEAD"

// TestMain runs the tests, or is the program itself where a test starts it so.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		s := standardStreams()
		s.effects = askBeforeEffects(os.Getenv(effectSocket))
		if ahead, err := time.ParseDuration(os.Getenv(clockAhead)); err == nil {
			s.now = func() time.Time { return time.Now().Add(ahead) }
		}
		execute(s)
	}
	os.Exit(engineLab.Run(m))
}

// engineCluster gives the cluster, with the bot's rights and no engine yet.
func engineCluster(t *testing.T) *lab.Cluster {
	t.Helper()
	c := engineLab.Get(t).Clusters[0]
	engineLab.reader.Do(func() { grantReader(t, c) })
	return c
}

// grantReader gives the bot the role that deploy has for it.
func grantReader(t *testing.T, c *lab.Cluster) {
	t.Helper()
	reader, err := os.ReadFile(filepath.Join("..", "..", "deploy", "rbac", "reader.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(t, lab.Admin, "kubectl", string(reader))
	c.Grant(t, lab.Bot, "holdfast-reader")
}

func fluxCluster(t *testing.T) *lab.Cluster {
	t.Helper()
	c := engineCluster(t)
	engineLab.flux.Do(func() { c.StartFlux(t, lab.FluxOptions{}) })
	return c
}

func argoCluster(t *testing.T) (*lab.Cluster, *lab.Argo) {
	t.Helper()
	c := engineCluster(t)
	engineLab.argo.Do(func() { engineLab.argocd = c.StartArgoCD(t, lab.ArgoOptions{}) })
	return c, engineLab.argocd
}
