package lab

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestStartsWhatItSaysAndStopsIt(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the lab")
	}
	started := time.Now()
	l, err := New(t.Context(), Options{Clusters: 2, Audit: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Stop()
	t.Logf("two clusters after %.1f s", time.Since(started).Seconds())
	c := l.Clusters[0]
	c.Apply(t, Engine, "kustomize-controller", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
	if _, err := c.Exec(context.Background(), Bot, "", "get", "ns"); err == nil || !strings.Contains(err.Error(), "drift-bot") {
		t.Errorf("bot without rights: %v", err)
	}
	t.Log(c.CPU())
	t.Log(time.Since(started))
	pids := l.Processes()
	l.Stop()
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d still runs", pid)
		}
	}
	t.Log(time.Since(started))
}
