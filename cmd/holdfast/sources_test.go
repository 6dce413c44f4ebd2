package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUncommittedChangesAreNoted(t *testing.T) {
	dir := newShop(t)
	live := filepath.Join(t.TempDir(), "live.yaml")
	if err := os.WriteFile(live, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {currency: EUR}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	scan := []string{"scan", "--git", dir, "--path", "apps/shop/production", "--live", live}
	if out, _ := holdfast(t, scan...); strings.Contains(out, "uncommitted") {
		t.Errorf("a clean worktree is called dirty:\n%s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, "apps/shop/base/settings.yaml"), []byte("# changed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _ := holdfast(t, scan...); !strings.Contains(out, "uncommitted changes") {
		t.Errorf("the uncommitted change is not noted:\n%s", out)
	}
}
