package render

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
)

// repackaged are the files of a chart as Flux's source-controller packs it anew: with a revision or a digest behind
// its version, and without its own values where others take their place
// (https://fluxcd.io/flux/components/source/helmcharts/#values-files).
type repackaged struct {
	chartFiles
	dir  string
	helm gitops.Helm
}

// repackage gives the files to load a chart from, and its options with the values that take the place of its own.
func repackage(files chartFiles, dir string, how gitops.Helm) (repackaged, gitops.Helm) {
	r := repackaged{files, dir, how}
	if len(how.ValuesFiles) > 0 {
		how.Values = slices.Concat(how.ValuesFiles, how.Values)
	}
	how.Values = spread(files, how.Values)
	return r, how
}

// spread puts the files that a pattern names in its place, in their order, each once: a file that is named by
// itself stands where it is named. A pattern that names none stays, and is missed as a file would be. Patterns are
// Argo CD's (reposerver/repository/repository.go, getResolvedValueFiles).
func spread(files chartFiles, values []gitops.Values) []gitops.Values {
	isPattern := func(v gitops.Values) bool { return strings.ContainsAny(v.File, "*?[") }
	if !slices.ContainsFunc(values, isPattern) {
		return values
	}
	seen := map[string]bool{}
	for _, v := range values {
		seen[v.File] = true
	}
	var out []gitops.Values
	for _, v := range values {
		if !isPattern(v) {
			out = append(out, v)
			continue
		}
		fixed := v.File[:strings.IndexAny(v.File, "*?[")]
		steps, found := strings.Split(v.File, "/"), false
		for _, name := range files.Paths(path.Dir(fixed + "x")) {
			if !matches(steps, strings.Split(name, "/")) {
				continue
			}
			found = true
			if !seen[name] {
				seen[name] = true
				out = append(out, gitops.Values{File: name, Optional: v.Optional})
			}
		}
		if !found {
			out = append(out, v)
		}
	}
	return out
}

// matches compares a name with a pattern step by step; ** stands for any number of steps.
func matches(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		return matches(pattern[1:], name) || len(name) > 0 && matches(pattern, name[1:])
	}
	if len(name) == 0 {
		return false
	}
	same, err := path.Match(pattern[0], name[0])
	return err == nil && same && matches(pattern[1:], name[1:])
}

var versionLine = regexp.MustCompile(`(?m)^version:[ \t]*["']?([^"'\s#+]+)[^\n]*$`)

var buildMetadata = regexp.MustCompile(`^[0-9A-Za-z.-]+$`)

// Read gives a file of the chart.
func (r repackaged) Read(name string) ([]byte, bool, error) {
	data, ok, err := r.chartFiles.Read(name)
	if !ok || err != nil {
		return data, ok, err
	}
	switch {
	case name == path.Join(r.dir, "values.yaml") && len(r.helm.ValuesFiles) > 0:
		return []byte("{}\n"), true, nil
	case name == path.Join(r.dir, "Chart.yaml"):
		if _, suffix, ok := strings.Cut(r.helm.ChartVersion, "+"); ok && buildMetadata.MatchString(suffix) {
			return versionLine.ReplaceAll(data, []byte("version: ${1}+"+suffix)), true, nil
		}
	}
	return data, true, nil
}
