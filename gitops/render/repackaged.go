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
	return r, how
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
