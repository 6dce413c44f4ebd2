package trail

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// cut bounds a text, at a letter's end.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " ..."
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// digest is over an object as JSON, whose keys are sorted.
func digest(content map[string]any) string {
	data, err := json.Marshal(content)
	if err != nil { // objects are decoded JSON
		return ""
	}
	return sum(data)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
