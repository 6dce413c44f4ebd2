package packed

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
)

// dictionary holds what packed objects share, and packs with it. Something gets a number the second time
// that it comes up, so that what is seen once costs nothing.
type dictionary struct {
	seed maphash.Seed
	// once are hashes of what came up once. A collision only numbers something too early.
	once map[uint64]struct{}
	// words and nodes number texts, and mappings and lists by their packed form; values are both, unpacked.
	words, nodes map[string]uint64
	values       []any
	nodeCount    int

	out  []byte
	keys []string // of the mappings being packed, innermost last
}

// The forms of a value.
const (
	null byte = iota
	no
	yes
	integer
	float
	text
	shared
	mapping
	list
)

const (
	// maxOnce bounds the memory of what was seen once; when it is full it starts anew.
	maxOnce = 1 << 16
	// maxWord is the longest text, and maxNode the longest packed mapping or list, that get a number.
	maxWord = 256
	maxNode = 4096
	// maxNodes bounds the mappings and lists that are kept unpacked.
	maxNodes = 1 << 15
)

func (d *dictionary) pack(content map[string]any) string {
	d.out = d.out[:0]
	d.mapping(content)
	return string(d.out)
}

func (d *dictionary) value(v any) {
	switch v := v.(type) {
	case nil:
		d.out = append(d.out, null)
	case bool:
		if v {
			d.out = append(d.out, yes)
		} else {
			d.out = append(d.out, no)
		}
	case int64:
		d.out = binary.AppendVarint(append(d.out, integer), v)
	case float64:
		d.out = binary.LittleEndian.AppendUint64(append(d.out, float), math.Float64bits(v))
	case string:
		d.text(v)
	case []any:
		start := len(d.out)
		d.out = binary.AppendUvarint(append(d.out, list), uint64(len(v)))
		for _, entry := range v {
			d.value(entry)
		}
		d.share(start)
	case map[string]any:
		start := len(d.out)
		d.mapping(v)
		d.share(start)
	default:
		panic(fmt.Sprintf("packed: a value of type %T is not JSON", v))
	}
}

// mapping packs entries in the order of their keys, so that equal mappings have equal packed forms as soon as
// what is in them has its numbers.
func (d *dictionary) mapping(m map[string]any) {
	d.out = binary.AppendUvarint(append(d.out, mapping), uint64(len(m)))
	from := len(d.keys)
	for key := range m {
		d.keys = append(d.keys, key)
	}
	to := len(d.keys)
	slices.Sort(d.keys[from:to])
	for i := from; i < to; i++ {
		key := d.keys[i]
		d.text(key)
		d.value(m[key])
	}
	d.keys = d.keys[:from]
}

func (d *dictionary) text(s string) {
	if n, ok := d.words[s]; ok {
		d.out = binary.AppendUvarint(append(d.out, shared), n)
		return
	}
	if len(s) <= maxWord && d.again(maphash.String(d.seed, s)) {
		d.words[s] = d.number(s)
		d.text(s)
		return
	}
	d.out = binary.AppendUvarint(append(d.out, text), uint64(len(s)))
	d.out = append(d.out, s...)
}

// share puts a number in the place of the mapping or list that was packed from start on, where it is a
// known one.
func (d *dictionary) share(start int) {
	packed := d.out[start:]
	if len(packed) > maxNode {
		return
	}
	n, known := d.nodes[string(packed)]
	if !known {
		if d.nodeCount >= maxNodes || !d.again(maphash.Bytes(d.seed, packed)) {
			return
		}
		d.nodeCount++
		r := reader{values: d.values, rest: string(packed)}
		n = d.number(r.value())
		d.nodes[string(packed)] = n
	}
	d.out = binary.AppendUvarint(append(d.out[:start], shared), n)
}

func (d *dictionary) number(v any) uint64 {
	d.values = append(d.values, v)
	return uint64(len(d.values) - 1)
}

// again says whether something with this hash came up before, and remembers it otherwise.
func (d *dictionary) again(hash uint64) bool {
	if _, before := d.once[hash]; before {
		delete(d.once, hash)
		return true
	}
	if len(d.once) >= maxOnce {
		clear(d.once)
	}
	d.once[hash] = struct{}{}
	return false
}

// reader reads what a dictionary packed; no other data reaches it.
type reader struct {
	values []any
	rest   string
}

func (r *reader) value() any {
	tag := r.rest[0]
	r.rest = r.rest[1:]
	switch tag {
	case no:
		return false
	case yes:
		return true
	case integer:
		u := r.number()
		return int64(u>>1) ^ -int64(u&1)
	case float:
		bits := binary.LittleEndian.Uint64([]byte(r.rest[:8]))
		r.rest = r.rest[8:]
		return math.Float64frombits(bits)
	case shared:
		return r.values[r.number()]
	case text:
		n := r.number()
		s := r.rest[:n]
		r.rest = r.rest[n:]
		return s
	case list:
		out := make([]any, r.number())
		for i := range out {
			out[i] = r.value()
		}
		return out
	case mapping:
		n := r.number()
		out := make(map[string]any, n)
		for range n {
			key, _ := r.value().(string)
			out[key] = r.value()
		}
		return out
	}
	return nil
}

func (r *reader) number() uint64 {
	var n uint64
	for shift := 0; ; shift += 7 {
		b := r.rest[0]
		r.rest = r.rest[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}
