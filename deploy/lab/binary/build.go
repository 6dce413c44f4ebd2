package binary

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Build makes a program unless it is there already, and says which of the two it was. The file appears under its
// final name only when it is whole, so a stopped build leaves nothing that looks built. The compiler's own output
// is part of the error.
func (s Store) Build(ctx context.Context, b Binary) (built bool, err error) {
	switch _, err := s.Find(b); {
	case err == nil:
		return false, nil
	case !errors.Is(err, ErrNotFound):
		return false, err
	}
	path, err := s.path(b)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return false, fmt.Errorf("lab program %s: %w", b.Name, err)
	}
	if err := s.link(ctx, b, path); err != nil {
		return false, fmt.Errorf("lab program %s: %w", b.Name, err)
	}
	if err := s.copyData(ctx, b, path); err != nil {
		return false, fmt.Errorf("lab program %s: %w", b.Name, err)
	}
	if err := s.copyFolders(ctx, b, path); err != nil {
		return false, fmt.Errorf("lab program %s: %w", b.Name, err)
	}
	return true, nil
}

// link runs the Go tool with fixed arguments. The flags keep builds of different checkouts and machines alike, and
// make them share one build cache.
func (s Store) link(ctx context.Context, b Binary, path string) error {
	half := path + ".half"
	defer os.Remove(half)
	flags := strings.Join(append([]string{"-s", "-w"}, b.LDFlags...), " ")
	if _, err := s.goTool(ctx, b, "build", "-trimpath", "-buildvcs=false", "-ldflags="+flags, "-o", half, b.Package); err != nil {
		return err
	}
	return os.Rename(half, path)
}

func (s Store) copyData(ctx context.Context, b Binary, path string) error {
	if len(b.Data) == 0 {
		return nil
	}
	var contents [][]byte
	for _, data := range b.Data {
		dir, err := s.sourceDir(ctx, b, data.Module)
		if err != nil {
			return err
		}
		pattern := filepath.Join(dir, filepath.FromSlash(data.Glob))
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("no file matches %s: the module has changed its layout", pattern)
		}
		slices.Sort(files)
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			contents = append(contents, content)
		}
	}
	return os.WriteFile(DataFile(path), join(contents), 0o644)
}

// copyFolders makes the folder that holds them appear under its final name only when it is whole.
func (s Store) copyFolders(ctx context.Context, b Binary, path string) error {
	if b.Folders == nil {
		return nil
	}
	dir, err := s.sourceDir(ctx, b, b.Folders.Module)
	if err != nil {
		return err
	}
	half := Folder(path) + ".half"
	defer os.RemoveAll(half)
	for _, old := range []string{half, Folder(path)} {
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}
	for _, name := range b.Folders.Names {
		if err := os.CopyFS(filepath.Join(half, name), os.DirFS(filepath.Join(dir, name))); err != nil {
			return fmt.Errorf("copy the folder %s of %s: %w", name, b.Folders.Module, err)
		}
	}
	return os.Rename(half, Folder(path))
}

// sourceDir is where the module cache has a module.
func (s Store) sourceDir(ctx context.Context, b Binary, module string) (string, error) {
	dir, err := s.goTool(ctx, b, "list", "-m", "-f", "{{.Dir}}", module)
	return strings.TrimSpace(dir), err
}

func (s Store) goTool(ctx context.Context, b Binary, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = s.moduleDir(b)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "PWD="+command.Dir)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], command.Dir, err, tail(errs.String(), 30))
	}
	return out.String(), nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
