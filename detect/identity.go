package detect

import (
	"crypto/sha256"
	"encoding/hex"

	"holdfast/gitops"
)

// FindingID is the identity, from scan to scan, of what is found about an object of an Application
// (namespace/name) of a cluster: 48 bits in hex.
func FindingID(cluster, application string, object gitops.ObjectID) string {
	return Digest(cluster, application, object.String())[:12]
}

// Digest is a SHA-256 over parts, each told from the next, in hex.
func Digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
