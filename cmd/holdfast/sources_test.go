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

// fluxSource is a dump of a cluster whose Kustomization follows the repository at url.
func fluxSource(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "live.yaml")
	writeFile(t, file, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop, namespace: flux-system}
spec: {interval: 1m, url: "`+url+`", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: flux-system}
spec: {interval: 10m, prune: true, path: ./apps/shop/production, sourceRef: {kind: GitRepository, name: shop}}
status: {lastAppliedRevision: "main@sha1:0123456789012345678901234567890123456789"}
`)
	return file
}

func TestCredentialsInASourceAreNotPrinted(t *testing.T) {
	live := fluxSource(t, "http://bot:hunter2@127.0.0.1:1/shop.git")
	for _, command := range [][]string{
		{"scan", "-o", "json"}, {"scan", "-o", "table"}, {"scan", "-o", "markdown"}, {"scan", "-o", "sarif"}, {"propose", "--dry-run", "-o", "json"},
		{"scan", "-o", "json", "--git", "http://bot:hunter2@127.0.0.1:1/other.git"}, // dialled, since the user says so
		{"scan", "-o", "json", "--git", "http://bot:hunter2@127.0.0.1:1/shop.git=http://bot:hunter2@127.0.0.1:1/other.git"},
	} {
		out, errors, code := runAll(t, append(command, "--live", live)...)
		if code != 2 || !strings.Contains(out+errors, "127.0.0.1:1") {
			t.Errorf("%v: exit %d:\n%s%s", command, code, out, errors)
		}
		if strings.Contains(out+errors, "hunter2") {
			t.Errorf("%v prints the password:\n%s%s", command, out, errors)
		}
	}
	application := filepath.Join(t.TempDir(), "application.yaml")
	writeFile(t, application, "apiVersion: holdfast/v1\nkind: Application\nmetadata: {name: shop}\nspec: {engine: flux, path: ., repo: 'https://bot:hunter2@git.example.test/shop.git'}\n")
	out, errors, code := runAll(t, "scan", "--application", application, "--live", live)
	if code != 2 || !strings.Contains(errors, "spec.repo holds a user or password") || strings.Contains(out+errors, "hunter2") {
		t.Errorf("exit %d:\n%s%s", code, out, errors)
	}
}

func TestAClusterCannotNameAPathOfThisMachine(t *testing.T) {
	dir := newShop(t)
	for _, url := range []string{dir, "file://" + dir} {
		out, errors, code := runAll(t, "scan", "-o", "json", "--live", fluxSource(t, url))
		if code != 2 || !strings.Contains(out, "is a path of this machine") {
			t.Errorf("%s: exit %d:\n%s%s", url, code, out, errors)
		}
		out, errors, _ = runAll(t, "scan", "-o", "json", "--live", fluxSource(t, url), "--revision", "main", "--git", url+"="+dir)
		if strings.Contains(url, "://") && strings.Contains(out+errors, "is a path of this machine") {
			t.Errorf("%s, mapped, is refused:\n%s%s", url, out, errors)
		}
	}
}

func TestAClusterCannotMakeHoldfastCallALinkLocalAddress(t *testing.T) {
	for _, url := range []string{"http://169.254.169.254/latest", "http://[fe80::1]/shop.git"} {
		out, errors, code := runAll(t, "scan", "-o", "json", "--live", fluxSource(t, url))
		if code != 2 || !strings.Contains(out, "which is not called") {
			t.Errorf("%s: exit %d:\n%s%s", url, code, out, errors)
		}
	}
	out, errors, code := runAll(t, "scan", "-o", "json", "--live", noticeCluster(t, "https://169.254.169.254/charts"))
	if code != 2 || !strings.Contains(out, "which is not called") {
		t.Errorf("a chart repository: exit %d:\n%s%s", code, out, errors)
	}
}

func TestADumpIsNoDevice(t *testing.T) {
	if _, errors, code := runAll(t, "scan", "--live", os.DevNull); code != 2 || !strings.Contains(errors, "is a device, not a file") {
		t.Errorf("exit %d: %s", code, errors)
	}
}
