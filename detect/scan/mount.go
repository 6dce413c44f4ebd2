package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/gitops"
)

// mount reads the other sources of an Application: charts of chart repositories, and Git repositories that
// the home repository's render needs files of. Each must be bound as the home is.
func (s *sources) mount(ctx context.Context, m *member) error {
	m.app.Mounts = slices.Clone(m.app.Mounts)
	for i := range m.app.Mounts {
		mount := &m.app.Mounts[i]
		if mount.Known {
			continue
		}
		if err := s.fill(ctx, m, mount); err != nil {
			return fmt.Errorf("%s: %w", mount.At, err)
		}
		mount.Known = true
	}
	return nil
}

func (s *sources) fill(ctx context.Context, m *member, mount *gitops.Mount) error {
	other := m.app
	other.Source = mount.Source
	if mount.Chart != nil {
		other.Source = gitops.Source{Repo: mount.Chart.Repo, Kind: "HelmRepository"}
	}
	if s.in.Bound != nil {
		if ok, reason := s.in.Bound(other); !ok {
			return errors.New(reason)
		}
	}
	if mount.Chart != nil {
		fetched, err := s.chart(ctx, *mount.Chart)
		mount.Chart, mount.Tree = &fetched.chart, fetched.tree
		return err
	}
	repo, err := s.repository(ctx, mount.Source.Repo)
	if err != nil {
		return err
	}
	commit := mount.Source.Applied
	if commit == "" {
		if commit, err = repo.Head(mount.Source.Branch); err != nil {
			return err
		}
	} else if commit, err = repo.Resolve(commit); err != nil {
		return err
	}
	mount.Source.Applied = commit
	mount.Tree, err = repo.Tree(commit)
	return err
}

// fetched is a chart, or why there is none.
type fetched struct {
	chart gitops.Chart
	tree  gitops.Tree
	err   error
}

// chart fetches each version of a chart once a scan.
func (s *sources) chart(ctx context.Context, want gitops.Chart) (fetched, error) {
	if f, ok := s.charts[want]; ok {
		return f, f.err
	}
	if s.in.Chart == nil {
		return fetched{chart: want}, errors.New("charts of chart repositories are not fetched here")
	}
	s.in.progress("fetching the chart %s of %s", want.Name, want.Repo)
	var f fetched
	f.chart, f.tree, f.err = s.in.Chart(ctx, want)
	s.charts[want] = f
	return f, f.err
}

// homeless says whether no Git source is known in which people could edit an Application.
func homeless(app gitops.Application) bool { return app.Source.Repo == "" && len(app.Mounts) > 0 }

// nowhere stands for the home of an Application that has none: a chart of a chart repository, whose
// engine object no Git source is known to declare. Nothing can be proposed for it.
type nowhere struct{}

func (nowhere) Resolve(revision string) (string, error)                  { return revision, nil }
func (nowhere) Head(string) (string, error)                              { return "", nil }
func (nowhere) Tree(string) (gitops.Tree, error)                         { return gitops.Tree{}, nil }
func (nowhere) History(string, func(string) bool, int) ([]string, error) { return nil, nil }
