package gitops

import "regexp"

// quotedValue is how the YAML parser quotes what it cannot decode and what it takes for a key, and strconv what is
// no number.
var quotedValue = regexp.MustCompile("(?s) `.*`|(invalid map key): .*|: parsing \".*\"")

// WithoutValues takes out of a YAML parser's message what it quotes of the text, which may be a Secret's.
func WithoutValues(message string) string { return quotedValue.ReplaceAllString(message, "$1") }
