package render

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"holdfast/gitops"
)

// source reads files of a tree for one render: it counts bytes, remembers what was read and stops when
// the render's time is over. A build that went over its time may still hold it, hence the lock.
type source struct {
	ctx  context.Context
	tree gitops.Tree

	mu     sync.Mutex
	left   int64
	reads  map[string]bool
	absent map[string]bool
	scans  []scan
	// stopped is the limit that was passed first; kustomize hides errors of single reads.
	stopped error
}

// account hands over what was read and looked for.
func (s *source) account(result *Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result.Reads = slices.Sorted(maps.Keys(s.reads))
	result.absent = maps.Clone(s.absent)
	result.scans = slices.Clone(s.scans)
}

// listedChart notes that the render depends on every file below folder.
func (s *source) listedChart(folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scans = append(s.scans, scan{folder: folder, recurse: true, any: true})
}

// listed notes that the render depends on which manifests lie in folder.
func (s *source) listed(folder string, recurse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scans = append(s.scans, scan{folder: folder, recurse: recurse})
}

// read gives the file at name, which is resolved already.
func (s *source) read(name string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.alive(); err != nil {
		return nil, false, err
	}
	file, ok := s.tree.File(name)
	if !ok || file.Mode == gitops.Symlink {
		s.absent[name] = true
		return nil, false, nil
	}
	if !s.reads[name] {
		s.left -= int64(len(file.Data))
		if s.left < 0 {
			s.stopped = fmt.Errorf("%w: the files read are too large; the last one is %s", ErrLimit, name)
			return nil, false, s.stopped
		}
		s.reads[name] = true
	}
	return file.Data, true, nil
}

// alive gives the limit that was passed, if one was. The lock is held.
func (s *source) alive() error {
	if s.stopped == nil && s.ctx.Err() != nil {
		s.stopped = fmt.Errorf("%w: %w", ErrLimit, s.ctx.Err())
	}
	return s.stopped
}

// maxLinks is how many symbolic links one path may lead through, as on Linux.
const maxLinks = 40

// resolve follows the symbolic links in every part of name. ok is false when a link is absolute, leaves
// the tree, or goes round in circles; name itself need not exist.
func (s *source) resolve(name string) (string, bool) {
	clean, err := inside(name)
	if err != nil {
		return "", false
	}
	done, rest := ".", clean
	for links := 0; rest != ""; {
		part, after, _ := strings.Cut(rest, "/")
		next := path.Join(done, part)
		if next == ".." || strings.HasPrefix(next, "../") {
			return "", false
		}
		file, ok := s.tree.File(next)
		if !ok || file.Mode != gitops.Symlink {
			done, rest = next, after
			continue
		}
		links++
		target := string(file.Data)
		if links > maxLinks || path.IsAbs(target) || target == "" {
			return "", false
		}
		s.mu.Lock()
		s.reads[next] = true
		s.mu.Unlock()
		rest = strings.TrimSuffix(target, "/")
		if after != "" {
			rest += "/" + after
		}
	}
	return done, true
}

// isFile says whether a resolved name is a file.
func (s *source) isFile(name string) bool {
	file, ok := s.tree.File(name)
	return ok && file.Mode != gitops.Symlink
}

// isDir says whether a resolved name is a folder. Kustomization files answer at once; only a folder
// without one costs a look at all names.
func (s *source) isDir(name string) bool {
	if name == "." {
		return true
	}
	if s.isFile(name) {
		return false
	}
	for _, k := range kustomizationNames() {
		if s.isFile(path.Join(name, k)) {
			return true
		}
	}
	return len(s.tree.Paths(name)) > 0
}

// missed notes a file that was looked for in vain.
func (s *source) missed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.absent[name] = true
}

// stop gives the limit that ended the render, if one did.
func (s *source) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alive()
}

// refuse ends the render with an error that kustomize would hide behind one of its own.
func (s *source) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		s.stopped = err
	}
}
