package main

import (
	"context"
	"fmt"
	"strings"

	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/charts"
)

// chartSources fetches charts: those that --chart gives in place of a chart repository, else from the repository.
type chartSources struct {
	byURL map[string]string // chart repository, with or without the chart's name -> file or folder
	x     *session
}

func newChartSources(x *session) (*chartSources, error) {
	s := &chartSources{byURL: map[string]string{}, x: x}
	for _, flag := range x.flags.charts {
		url, path, ok := strings.Cut(flag, "=")
		if !ok || !strings.Contains(url, "://") || path == "" {
			return nil, fmt.Errorf("--chart %s: want URL=PATH, the URL of a chart repository and an archive or folder in its place", gitops.WithoutCredentials(flag))
		}
		url = strings.TrimSuffix(gitops.WithoutCredentials(url), "/")
		if _, twice := s.byURL[url]; twice {
			return nil, fmt.Errorf("--chart %s is mapped twice", url)
		}
		s.byURL[url] = path
	}
	return s, nil
}

// fetch gives a chart with the version and digest that were picked.
func (s *chartSources) fetch(ctx context.Context, chart gitops.Chart) (gitops.Chart, gitops.Tree, error) {
	got, err := s.get(ctx, chart)
	if err != nil {
		return chart, gitops.Tree{}, err
	}
	chart.Applied, chart.Digest = got.Version, got.Digest
	return chart, got.Tree, nil
}

func (s *chartSources) get(ctx context.Context, chart gitops.Chart) (charts.Fetched, error) {
	if path, ok := s.local(chart); ok {
		return charts.Local(path, chart)
	}
	configured := s.x.config.ChartRepository(chart.Repo)
	if configured == nil {
		if gitops.IsLinkLocal(chart.Repo) {
			return charts.Fetched{}, fmt.Errorf("the chart repository %s, as the cluster has it, is a link-local address, which is not called: map it by --chart, or list it in holdfast.yaml", chart.Repo)
		}
		return charts.Fetch(ctx, chart, charts.Options{})
	}
	options, err := configured.Options()
	if err != nil {
		return charts.Fetched{}, fmt.Errorf("chart repository %s: %w", chart.Repo, err)
	}
	return charts.Fetch(ctx, chart, options)
}

// mapped says whether a chart of the repository is given by --chart.
func (s *chartSources) mapped(url string) bool {
	url = strings.TrimSuffix(url, "/")
	for key := range s.byURL {
		if key == url || strings.HasPrefix(key, url+"/") {
			return true
		}
	}
	return false
}

func (s *chartSources) local(chart gitops.Chart) (string, bool) {
	url := strings.TrimSuffix(chart.Repo, "/")
	for _, key := range []string{url + "/" + chart.Name, url} {
		if path, ok := s.byURL[key]; ok {
			return path, true
		}
	}
	return "", false
}

// boundChart says whether an Application may name a chart repository: one that --chart stands for, or with a
// configuration of repositories, of either kind, those alone that it lists.
func (x *session) boundChart(app gitops.Application) (ok bool, reason string) {
	url := app.Source.Repo
	if len(x.config.Repositories)+len(x.config.ChartRepositories) == 0 || x.charts.mapped(url) {
		return true, ""
	}
	configured := x.config.ChartRepository(url)
	if configured == nil {
		return false, fmt.Sprintf("not bound: no chartRepositories entry of holdfast.yaml has the url %s", gitops.WithoutCredentials(url))
	}
	binding := policy.Binding{URL: url, Clusters: configured.Clusters, Namespaces: configured.Namespaces}
	return policy.Bindings{binding}.Allows(url, app.Cluster, app.Namespace)
}
