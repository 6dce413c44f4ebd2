package classify

import (
	"regexp"
	"slices"
	"strconv"

	"holdfast/detect"
	"holdfast/gitops"
)

// exponent is a number of a million or more as Go's templates print a float.
var exponent = regexp.MustCompile(`\b\d(?:\.\d+)?e\+\d{2,}\b`)

// isExponent says whether Git's text is live's, but for numbers that Helm wrote with an exponent. Helm reads the
// numbers of values as floats and so prints 1000000 as 1e+06 (helm/helm#12195).
func isExponent(s *situation) bool {
	if !usesHelm(s.App) || !s.changed() {
		return false
	}
	git, ok := s.Git.V.(string)
	live, same := s.Live.V.(string)
	if !ok || !same || git == live {
		return false
	}
	return live == exponent.ReplaceAllStringFunc(git, func(text string) string {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || strconv.FormatFloat(n, 'g', -1, 64) != text {
			return text
		}
		return strconv.FormatFloat(n, 'f', -1, 64)
	})
}

func usesHelm(app gitops.Application) bool {
	return app.Render.Helm != nil || slices.ContainsFunc(app.Parts, func(p gitops.Part) bool { return p.Render.Helm != nil })
}

func garbled(s *situation) verdict {
	writer := unresolved()
	if len(s.tools) > 0 {
		writer = &s.tools[0]
	}
	return verdict{detect.CauseRender, true, writer, "The chart prints a large number with an exponent, since Helm reads the numbers of values as floats; live has the number that the values mean. Quotes in the values, or int64 in the template, correct Git."}
}
