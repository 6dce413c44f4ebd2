package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/repo"
)

// sources says where repositories are cloned from: a folder of this machine in place of a URL.
type sources map[string]string

// String and Set make a repeatable flag of it: URL=FOLDER.
func (s sources) String() string { return fmt.Sprintf("%d given", len(s)) }

// Set takes one or more URL=FOLDER, with commas between.
func (s sources) Set(text string) error {
	for _, pair := range strings.Split(text, ",") {
		url, folder, ok := strings.Cut(pair, "=")
		if !ok || folder == "" {
			return fmt.Errorf("%q: want URL=FOLDER", pair)
		}
		s[url] = folder
	}
	return nil
}

// fetched gives the folder of a repository's checkout at its revision, cloned into cache where it is absent.
func fetched(ctx context.Context, r repository, cache string, from sources) (string, error) {
	dir := filepath.Join(cache, strings.ReplaceAll(r.name(), "/", "+"), r.Revision)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	origin := r.URL
	if folder, ok := from[r.URL]; ok {
		origin = folder
	}
	half := dir + ".half"
	if err := os.RemoveAll(half); err != nil {
		return "", err
	}
	if err := os.MkdirAll(half, 0o755); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"fetch", "-q", "--depth", "1", origin, r.Revision},
		{"-c", "advice.detachedHead=false", "checkout", "-q", "FETCH_HEAD"},
	} {
		git := exec.CommandContext(ctx, "git", append([]string{"-C", half}, args...)...)
		git.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
		if out, err := git.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: git %s: %w: %s", r.name(), args[0], err, out)
		}
	}
	if err := os.RemoveAll(filepath.Join(half, ".git")); err != nil {
		return "", err
	}
	return dir, os.Rename(half, dir)
}

// treeOf reads a checkout, without what the list leaves out and with what it adds.
func treeOf(dir string, r repository) (gitops.Tree, error) {
	all, err := repo.Folder(dir, repo.Limits{})
	if err != nil {
		return gitops.Tree{}, err
	}
	files := map[string]gitops.File{}
	for _, name := range all.Paths("") {
		left := false
		for _, folder := range r.Without {
			left = left || within(name, folder)
		}
		if f, ok := all.File(name); ok && !left {
			files[name] = f
		}
	}
	for name, text := range r.Write {
		files[name] = gitops.File{Data: []byte(text)}
	}
	return gitops.NewTree(files), nil
}

// workspace is a tree on disk, in which programs build.
type workspace struct{ dir string }

func newWorkspace(parent string, tree gitops.Tree) (*workspace, error) {
	dir, err := os.MkdirTemp(parent, "tree-")
	if err != nil {
		return nil, err
	}
	w := &workspace{dir}
	for _, name := range tree.Paths("") {
		f, _ := tree.File(name)
		if err := w.write(name, &f); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// write puts a file in place; nil takes it away.
func (w *workspace) write(name string, f *gitops.File) error {
	at := filepath.Join(w.dir, filepath.FromSlash(name))
	if f == nil {
		err := os.Remove(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if f.Mode == gitops.Symlink {
		return os.Symlink(string(f.Data), at)
	}
	return os.WriteFile(at, f.Data, 0o644)
}

// edited makes the edits, runs something and takes them back.
func (w *workspace) edited(edits []gitops.Edit, run func() error) (err error) {
	defer func() {
		for _, e := range edits {
			back := &gitops.File{Data: e.Before}
			if e.Before == nil {
				back = nil
			}
			err = errors.Join(err, w.write(e.Path, back))
		}
	}()
	for _, e := range edits {
		next := &gitops.File{Data: e.After}
		if e.Remove {
			next = nil
		}
		if err := w.write(e.Path, next); err != nil {
			return err
		}
	}
	return run()
}

// within says whether name is folder or lies below it.
func within(name, folder string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}
