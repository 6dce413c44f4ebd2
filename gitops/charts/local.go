package charts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"holdfast/gitops"
	"holdfast/gitops/repo"
)

// Local reads a chart from this machine in place of its repository: an archive, the chart's folder, or a folder
// of charts that has one of its name. Another version than the engine applied is refused.
func Local(path string, chart gitops.Chart) (Fetched, error) {
	out, err := local(path, chart)
	if err != nil {
		return Fetched{}, fmt.Errorf("chart %s in %s: %w", chart.Name, path, err)
	}
	return out, nil
}

func local(path string, chart gitops.Chart) (Fetched, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Fetched{}, err
	}
	var out Fetched
	switch {
	case !info.IsDir() && info.Size() > defaultBytes:
		return Fetched{}, ErrTooLarge
	case !info.IsDir():
		data, err := os.ReadFile(path)
		if err != nil {
			return Fetched{}, err
		}
		if out.Tree, err = unpack(context.Background(), data, defaultBytes); err != nil {
			return Fetched{}, err
		}
	default:
		if _, err := os.Stat(filepath.Join(path, "Chart.yaml")); err != nil && filepath.IsLocal(chart.Name) {
			path = filepath.Join(path, chart.Name)
		}
		if out.Tree, err = repo.Folder(path, repo.Limits{}); err != nil {
			return Fetched{}, err
		}
	}
	data, ok := out.Tree.Read("Chart.yaml")
	if !ok {
		return Fetched{}, fmt.Errorf("%w: it has no Chart.yaml", ErrArchive)
	}
	var meta struct {
		Version string `yaml:"version"`
	}
	if err := yaml.Unmarshal(data, &meta); err != nil {
		return Fetched{}, fmt.Errorf("%w: Chart.yaml: %s", ErrArchive, gitops.WithoutValues(err.Error()))
	}
	out.Version = meta.Version
	if chart.Applied != "" {
		_, err = pick(chart, []string{meta.Version})
	}
	return out, err
}
