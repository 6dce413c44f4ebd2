package binary

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout makes a folder that looks like a checkout with one small program in place of kubebox.
func checkout(t *testing.T) (root string, tool Binary) {
	t.Helper()
	root = t.TempDir()
	write(t, root, "deploy/lab/kubebox/go.mod", "module example.test/tool\n\ngo 1.26\n")
	write(t, root, "deploy/lab/kubebox/go.sum", "")
	write(t, root, "deploy/lab/kubebox/main.go", "package main\n\nvar version string\n\nfunc main() { print(version) }\n")
	write(t, root, "deploy/lab/kubebox/crd/b.yaml", "kind: B\n")
	write(t, root, "deploy/lab/kubebox/crd/a.yaml", "---\nkind: A")
	return root, Binary{Name: "tool", Module: "kubebox", Package: ".", LDFlags: []string{"-X", "main.version=1.2"},
		Data:    []Data{{Module: "example.test/tool", Glob: "crd/*.yaml"}},
		Folders: &Folders{Module: "example.test/tool", Names: []string{"crd"}}}
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBuildsOnceForEachContent(t *testing.T) {
	root, tool := checkout(t)
	inside := filepath.Join(root, "deploy", "lab", "kubebox", "crd")
	store, err := Open(inside, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Find(tool); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), Command) {
		t.Fatalf("before the build: %v", err)
	}
	for i, want := range []bool{true, false} {
		if built, err := store.Build(t.Context(), tool); err != nil || built != want {
			t.Fatalf("build %d: built %t, %v", i+1, built, err)
		}
	}
	path, err := store.Find(tool)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != "1.2" {
		t.Errorf("the program says %q, %v", out, err)
	}
	if data, err := os.ReadFile(DataFile(path)); err != nil || string(data) != "---\n---\nkind: A\n---\nkind: B\n" {
		t.Errorf("its data: %q, %v", data, err)
	}
	if copied, err := os.ReadFile(filepath.Join(Folder(path), "crd", "b.yaml")); err != nil || string(copied) != "kind: B\n" {
		t.Errorf("its folder: %q, %v", copied, err)
	}

	write(t, root, "deploy/lab/kubebox/go.sum", "\n")
	if _, err := store.Find(tool); !errors.Is(err, ErrNotFound) {
		t.Errorf("after go.sum has changed: %v", err)
	}
}

func TestFailedBuildShowsTheCompilersWordsAndLeavesNothing(t *testing.T) {
	root, tool := checkout(t)
	write(t, root, "deploy/lab/kubebox/main.go", "package main\n\nfunc main() { undefinedName() }\n")
	store, err := Open(root, filepath.Join(root, "cache"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Build(t.Context(), tool); err == nil || !strings.Contains(err.Error(), "undefinedName") {
		t.Errorf("build of a program that does not compile: %v", err)
	}
	left, err := os.ReadDir(store.Dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
}

func TestMissingDataIsAnError(t *testing.T) {
	root, tool := checkout(t)
	tool.Data[0].Glob = "crds/*.yaml"
	store, err := Open(root, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Build(t.Context(), tool); err == nil || !strings.Contains(err.Error(), "crds/*.yaml") {
		t.Errorf("build with a pattern that matches nothing: %v", err)
	}
	if _, err := store.Find(tool); !errors.Is(err, ErrNotFound) {
		t.Errorf("a program without its data counts as built: %v", err)
	}
}

func TestOpenOutsideOfACheckout(t *testing.T) {
	if _, err := Open(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "inside a checkout") {
		t.Errorf("outside of a checkout: %v", err)
	}
}
