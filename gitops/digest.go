package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// DigestDeclared is a SHA-256, in hex, over the identity and content of rendered objects, whatever their
// order.
func DigestDeclared(objects []Declared) (string, error) {
	sorted := slices.Clone(objects)
	SortDeclared(sorted)
	h := sha256.New()
	for _, o := range sorted {
		data, err := json.Marshal(o.Content)
		if err != nil {
			return "", fmt.Errorf("%s: %w", o.ID, err)
		}
		fmt.Fprintf(h, "%s\x00%d\x00", o.ID, len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
