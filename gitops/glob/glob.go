// Package glob matches texts with the two wildcards that policies and allowed signers have.
package glob

import "strings"

// Match matches the whole text; * is any run of bytes, ? is one byte. It backtracks to the last star only, so it takes
// at most len(pattern) times len(text) steps, whatever the pattern.
func Match(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p, t = p+1, t+1
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
