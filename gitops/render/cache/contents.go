package cache

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// contents are the contents of objects that entries share, by fingerprint. Overlays of one base declare mostly
// the same.
type contents struct {
	byPrint map[fingerprint]*content
	size    int64
}

// fingerprint is a SHA-256 of an object's content.
type fingerprint [sha256.Size]byte

type content struct {
	print fingerprint
	value map[string]any
	size  int64
	users int
}

// take gives the content that stands for value, which is value itself the first time.
func (c *contents) take(print fingerprint, value map[string]any) *content {
	if c.byPrint == nil {
		c.byPrint = map[fingerprint]*content{}
	}
	known := c.byPrint[print]
	if known == nil {
		known = &content{print: print, value: value, size: weight(value)}
		c.byPrint[print] = known
		c.size += known.size
	}
	known.users++
	return known
}

func (c *contents) release(known *content) {
	if known.users--; known.users == 0 {
		delete(c.byPrint, known.print)
		c.size -= known.size
	}
}

// fingerprints gives one for each object.
func fingerprints(objects []gitops.Declared) []fingerprint {
	out := make([]fingerprint, len(objects))
	var text []byte
	for i, o := range objects {
		text = spelled(text[:0], o.Content)
		out[i] = sha256.Sum256(text)
	}
	return out
}

// spelled appends v so that values of other types, such as 1 and 1.0, are spelled otherwise.
func spelled(to []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		to = fmt.Appendf(to, "{%d ", len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			to = spelled(spelled(to, k), v[k])
		}
		return to
	case []any:
		to = fmt.Appendf(to, "[%d ", len(v))
		for _, e := range v {
			to = spelled(to, e)
		}
		return to
	case string:
		to = strconv.AppendInt(append(to, '"'), int64(len(v)), 10)
		return append(append(to, ' '), v...)
	}
	return fmt.Appendf(to, "%T %v ", v, v)
}

// The memory that Go takes, roughly, for a value behind an interface and for an entry of a map.
const (
	valueBytes  = 16
	entryBytes  = 48
	objectBytes = 512
)

// weight estimates the memory of a JSON value.
func weight(v any) int64 {
	switch v := v.(type) {
	case map[string]any:
		n := int64(valueBytes)
		for k, e := range v {
			n += entryBytes + int64(len(k)) + weight(e)
		}
		return n
	case []any:
		n := int64(valueBytes)
		for _, e := range v {
			n += weight(e)
		}
		return n
	case string:
		return valueBytes + int64(len(v))
	}
	return valueBytes
}

// overhead estimates the memory of a render beside the contents of its objects.
func overhead(r *render.Result) int64 {
	n := int64(len(r.Objects)) * objectBytes
	for _, name := range r.Reads {
		n += valueBytes + int64(len(name))
	}
	return n
}
