package bot

import (
	"regexp"

	"holdfast/detect"
)

// Marker gives the hidden HTML comment that ties a thread to its key and content hash. It is the last line
// of a body. Keys and hashes are lower-case hex, so the comment cannot be broken out of.
func Marker(key, hash string) string {
	return "<!-- holdfast key=" + key + " hash=" + hash + " -->"
}

// ParseMarker finds the last marker of a body; ok is false where there is none.
func ParseMarker(body string) (key, hash string, ok bool) {
	all := regexp.MustCompile(`<!-- holdfast key=([0-9a-f]+) hash=([0-9a-f]+) -->`).FindAllStringSubmatch(body, -1)
	if len(all) == 0 {
		return "", "", false
	}
	last := all[len(all)-1]
	return last[1], last[2], true
}

// Hash gives a short content hash of parts, each told from the next; 80 bits in hex.
func Hash(parts ...string) string {
	return detect.Digest(parts...)[:20]
}

// Key makes the key of a thread: the first half tells the scope (a cluster's Application, or a root cause
// over several), the second what it is about within it.
func Key(scope string, about ...string) string { return Hash(scope)[:10] + Hash(about...)[:10] }

// ScopeOf gives the half of a key that tells its scope, to compare with Hash(scope)[:10].
func ScopeOf(key string) string { return key[:min(10, len(key))] }

// ScopeMark is what ScopeOf gives for the keys of a scope.
func ScopeMark(scope string) string { return Hash(scope)[:10] }
