package repo

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/gitops"
)

// Limits bound what is read into memory. Zero values mean DefaultMaxBytes and DefaultMaxFiles.
type Limits struct {
	Bytes int64
	Files int
}

func (l Limits) orDefault() Limits {
	return Limits{Bytes: cmp.Or(l.Bytes, DefaultMaxBytes), Files: cmp.Or(l.Files, DefaultMaxFiles)}
}

func (l Limits) check(files int, bytes int64) error {
	if files > l.Files {
		return fmt.Errorf("%w: more than %d files; raise the limit", ErrTooLarge, l.Files)
	}
	if bytes > l.Bytes {
		return fmt.Errorf("%w: its files hold more than %d bytes; raise the limit", ErrTooLarge, l.Bytes)
	}
	return nil
}

// Folder reads the files of a folder as they stand on disk, whether or not it is a repository. Symbolic links
// stay links; .git, sockets, pipes and devices are left out.
func Folder(dir string, limits Limits) (gitops.Tree, error) {
	limits = limits.orDefault()
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return gitops.Tree{}, fmt.Errorf("read folder %s: %w", dir, err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return gitops.Tree{}, fmt.Errorf("read folder %s: it is not a folder", dir)
	}
	files := map[string]gitops.File{}
	var bytes int64
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink {
			return nil
		}
		// Asked before the file is read, and after: it may grow between.
		if err := limits.check(len(files)+1, bytes+info.Size()); err != nil {
			return err
		}
		file, err := readFile(name, info)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(relative)] = file
		bytes += int64(len(file.Data))
		return limits.check(len(files), bytes)
	})
	if err != nil {
		return gitops.Tree{}, fmt.Errorf("read folder %s: %w", dir, err)
	}
	return gitops.NewTree(files), nil
}

func readFile(name string, info fs.FileInfo) (gitops.File, error) {
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := os.Readlink(name)
		return gitops.File{Mode: gitops.Symlink, Data: []byte(filepath.ToSlash(target))}, err
	}
	mode := gitops.Regular
	if info.Mode().Perm()&0o111 != 0 {
		mode = gitops.Executable
	}
	data, err := os.ReadFile(name)
	return gitops.File{Mode: mode, Data: data}, err
}
