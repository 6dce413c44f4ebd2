package main

import (
	"fmt"
	"os"
	"path"
	"strings"

	"holdfast/gitops/strictyaml"
)

// list is the data file: which repositories are tried, and what in them.
type list struct {
	Repositories []repository `json:"repositories"`
}

// repository is one public repository at one revision.
type repository struct {
	URL      string `json:"url"`
	Revision string `json:"revision"`
	// Roots are folders below which every kustomization that no other one refers to is an Application.
	Roots []string `json:"roots,omitempty"`
	// Plain are folders of manifests, or single files.
	Plain []string `json:"plain,omitempty"`
	// Engines are folders whose engines' objects are tried.
	Engines []string     `json:"engines,omitempty"`
	Charts  []namedChart `json:"charts,omitempty"`
	// Without are folders that are left out of the checkout.
	Without []string `json:"without,omitempty"`
	// Write are files that the benchmark adds, by path.
	Write map[string]string `json:"write,omitempty"`
}

// namedChart is a chart in the repository with the values files of an environment. Name is the release's, the chart
// folder's by default.
type namedChart struct {
	Path      string   `json:"path"`
	Name      string   `json:"name,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Values    []string `json:"values"`
}

// name is the last two parts of the URL.
func (r repository) name() string {
	parts := strings.Split(strings.TrimSuffix(r.URL, ".git"), "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

func readList(file string) (list, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return list{}, err
	}
	var out list
	if err := strictyaml.Decode(file, data, &out); err != nil {
		return list{}, err
	}
	for _, r := range out.Repositories {
		for name := range r.Write {
			if clean := path.Clean(name); clean != name || path.IsAbs(name) || strings.HasPrefix(name, "../") {
				return list{}, fmt.Errorf("%s: %s: write: %q is no path in the repository", file, r.name(), name)
			}
		}
	}
	return out, nil
}

// picked narrows the list to repositories whose name has only in it.
func (l list) picked(only string) []repository {
	var out []repository
	for _, r := range l.Repositories {
		if strings.Contains(r.name(), only) {
			out = append(out, r)
		}
	}
	return out
}
