package charts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"holdfast/gitops"
)

// pick gives the version to fetch among those that a repository has: the applied one, else the one that is
// asked for by name, else the highest in the range. Pre-releases count only where the range names one, as
// Helm has it (https://helm.sh/docs/topics/chart_best_practices/dependencies/#prerelease-versions).
func pick(chart gitops.Chart, have []string) (string, error) {
	if chart.Applied != "" {
		if v, ok := named(chart.Applied, have); ok {
			return v, nil
		}
		return "", fmt.Errorf("version %s, which is applied: %w; the repository has %s", chart.Applied, ErrNotFound, some(have))
	}
	if v, ok := named(chart.Version, have); ok && chart.Version != "" {
		return v, nil
	}
	constraint, err := semver.NewConstraint(cmp.Or(chart.Version, "*"))
	if err != nil {
		return "", fmt.Errorf("version %q: %w; it is no semver range either", chart.Version, ErrNotFound)
	}
	best, found := "", (*semver.Version)(nil)
	for _, text := range have {
		v, err := semver.NewVersion(text)
		if err == nil && constraint.Check(v) && (found == nil || v.GreaterThan(found)) {
			best, found = text, v
		}
	}
	if found == nil {
		return "", fmt.Errorf("a version in %q: %w; the repository has %s", chart.Version, ErrNotFound, some(have))
	}
	return best, nil
}

// named looks for a version by name, where a leading v does not count.
func named(want string, have []string) (string, bool) {
	i := slices.IndexFunc(have, func(v string) bool { return strings.TrimPrefix(v, "v") == strings.TrimPrefix(want, "v") })
	if i < 0 {
		return "", false
	}
	return have[i], true
}

// some lists a few versions for a message.
func some(have []string) string {
	const most = 5
	switch {
	case len(have) == 0:
		return "none"
	case len(have) > most:
		return strings.Join(have[:most], ", ") + fmt.Sprintf(" and %d more", len(have)-most)
	}
	return strings.Join(have, ", ")
}
