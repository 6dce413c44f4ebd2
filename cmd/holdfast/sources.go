package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"holdfast/cmd/holdfast/config"
	"holdfast/detect"
	"holdfast/detect/scan"
	"holdfast/gitops"
	"holdfast/gitops/repo"
)

// sources opens repositories: those that --git gives in place of an engine's source, then those of the
// configuration, then, without a configuration, whatever URL the engine names.
type sources struct {
	byURL    map[string]string // engine's URL -> location
	fallback string            // --git without URL=: stands for every source
	config   *config.Config
	// given are the URLs of Applications that the user describes, which may be paths of this machine.
	given []string
	// kept, when set, keeps repositories open for later runs.
	kept *keptSources

	mutex sync.Mutex
	open  map[string]*source
}

// source is one opened repository.
type source struct {
	scan.Repository
	// git is nil for a folder that is no repository: nothing can be committed there.
	git      *repo.Repository
	location string
}

func newSources(git []string, cfg *config.Config) (*sources, error) {
	s := &sources{byURL: map[string]string{}, config: cfg, open: map[string]*source{}}
	for _, g := range git {
		url, location, mapped := splitMapping(g)
		url = gitops.WithoutCredentials(url) // as an Application's source has it
		if !mapped {
			if s.fallback != "" {
				return nil, fmt.Errorf("--git %s: a second repository without URL=: say which source each one stands for", gitops.WithoutCredentials(g))
			}
			s.fallback = location
			continue
		}
		if _, twice := s.byURL[url]; twice {
			return nil, fmt.Errorf("--git %s is mapped twice", url)
		}
		s.byURL[url] = location
	}
	return s, nil
}

// sole gives the URL of the only mapping, which is then the source of a folder that no engine describes.
func (s *sources) sole() string {
	if s.fallback == "" && len(s.byURL) == 1 {
		for url := range s.byURL {
			return url
		}
	}
	return ""
}

// repositories gives the URLs that an Application has files of: its own source's, and those of its other sources.
func repositories(app gitops.Application) []string {
	out := []string{app.Source.Repo}
	for _, m := range app.Mounts {
		if m.Source.Repo != "" {
			out = append(out, m.Source.Repo)
		}
	}
	return out
}

// unused notes the mappings whose URL no Application has: most likely it is misspelt.
func (s *sources) unused(apps []detect.AssessedApplication) []string {
	var notes []string
	for _, url := range slices.Sorted(maps.Keys(s.byURL)) {
		if !slices.ContainsFunc(apps, func(a detect.AssessedApplication) bool { return slices.Contains(repositories(a.Application), url) }) {
			notes = append(notes, fmt.Sprintf("--git %s=%s: no Application has this source", url, gitops.WithoutCredentials(s.byURL[url])))
		}
	}
	return notes
}

// dirty notes the local repositories whose files are not as their newest commit has them: commits are what is
// read, and a pull request starts from.
func (s *sources) dirty(ctx context.Context) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var notes []string
	for _, url := range slices.Sorted(maps.Keys(s.open)) {
		dir := s.open[url].location
		if _, err := os.Stat(filepath.Join(dir, ".git")); s.open[url].git == nil || err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, "git", "-C", dir, "status", "--porcelain", "--untracked-files=no").Output()
		if err == nil && len(out) > 0 {
			notes = append(notes, fmt.Sprintf("--git %s: has uncommitted changes, which are not read: commit them, or give the files as a plain folder", dir))
		}
	}
	return notes
}

// splitMapping tells URL=DIR from a plain DIR or URL, which may hold = in its name or query.
func splitMapping(g string) (url, location string, mapped bool) {
	if _, err := os.Stat(g); err == nil {
		return "", g, false
	}
	left, right, ok := strings.Cut(g, "=")
	if ok && (strings.Contains(left, "://") || strings.Contains(left, "@")) && !strings.Contains(left, "?") {
		return left, right, true
	}
	return "", g, false
}

// get opens the repository that stands for an engine's URL, once.
func (s *sources) get(ctx context.Context, url string) (*source, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if o, ok := s.open[url]; ok {
		return o, nil
	}
	location, ok := s.byURL[url]
	if !ok && s.fallback != "" {
		location, ok = s.fallback, true
	}
	options := repo.Options{URL: url}
	if ok {
		options.URL = location
	}
	configured := s.config.Repository(url)
	if configured != nil {
		auth, err := configured.Auth.Load()
		if err != nil {
			return nil, err
		}
		options.Auth, options.Branch = auth, configured.Branch
	}
	if options.URL == "" {
		return nil, fmt.Errorf("no repository is known for this Application: give --git DIR or URL")
	}
	onlyCluster := !ok && configured == nil && !slices.Contains(s.given, url) // nobody but the cluster names it
	if onlyCluster && !gitops.IsRemote(url) {
		return nil, fmt.Errorf("the source %s, as the cluster has it, is a path of this machine, which is not read: map it by --git %s=DIR", url, url)
	}
	if onlyCluster && gitops.IsLinkLocal(url) {
		return nil, fmt.Errorf("the source %s, as the cluster has it, is a link-local address, which is not called: map it by --git %s=DIR|URL, or list it in holdfast.yaml", url, url)
	}
	options = s.config.Limits.Repository.Apply(options)
	var opened *source
	var err error
	if s.kept != nil {
		opened, err = s.kept.get(ctx, options)
	} else {
		opened, err = openSource(ctx, options)
	}
	if err != nil {
		return nil, err
	}
	s.open[url] = opened
	return opened, nil
}

func openSource(ctx context.Context, options repo.Options) (*source, error) {
	if info, err := os.Stat(options.URL); err == nil && info.IsDir() && !isRepository(options.URL) {
		tree, err := repo.Folder(options.URL, repo.Limits{})
		if err != nil {
			return nil, err
		}
		return &source{Repository: plainFolder{tree}, location: gitops.WithoutCredentials(options.URL)}, nil
	} else if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("--git %s: is a file: name the folder or repository it lies in, and the file with --path", options.URL)
	}
	git, err := repo.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	return &source{Repository: git, git: git, location: gitops.WithoutCredentials(options.URL)}, nil
}

// isRepository says whether dir has a .git, or is a bare repository.
func isRepository(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		return true
	}
	_, head := os.Stat(filepath.Join(dir, "HEAD"))
	_, objects := os.Stat(filepath.Join(dir, "objects"))
	return head == nil && objects == nil
}

// plainFolder is a folder that is no repository: one revision, no history.
type plainFolder struct{ tree gitops.Tree }

// working is the name of the only revision that a plain folder has.
const working = "working-tree"

func (f plainFolder) Resolve(string) (string, error)   { return working, nil }
func (f plainFolder) Head(string) (string, error)      { return working, nil }
func (f plainFolder) Tree(string) (gitops.Tree, error) { return f.tree, nil }
func (f plainFolder) History(string, func(string) bool, int) ([]string, error) {
	return nil, nil
}
