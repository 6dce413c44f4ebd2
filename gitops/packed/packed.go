// Package packed holds many objects in little memory. As maps an object of a live cluster takes some 40 KiB,
// packed with others like it under two: field names and values that repeat are kept once for all.
package packed

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
)

// Dictionary holds the text that packed objects share. The zero Dictionary is ready. It is safe for
// concurrent use and grows with the distinct texts that came up at least twice.
type Dictionary struct {
	mu    sync.RWMutex
	seed  maphash.Seed
	index map[string]uint32
	words []string
	once  map[uint64]struct{}
}

// Object is a packed object. It is only as good as its Dictionary, and is never changed.
type Object struct {
	dictionary *Dictionary
	data       string
}

// The forms of a value.
const (
	null byte = iota
	no
	yes
	integer
	float
	text
	word
	mapping
	list
)

const (
	// maxOnce bounds the memory of texts seen once; when it is full it starts anew.
	maxOnce = 1 << 16
	// maxWord is the longest text that the dictionary takes.
	maxWord = 256
)

// Pack packs an object as JSON decoders make it: maps, lists, strings, booleans, int64, float64 and nil. It
// fails on a value of another type.
func (d *Dictionary) Pack(content map[string]any) (Object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index == nil {
		d.seed, d.index, d.once = maphash.MakeSeed(), map[string]uint32{}, map[uint64]struct{}{}
	}
	data, err := d.value(make([]byte, 0, 2048), content)
	if err != nil {
		return Object{}, err
	}
	return Object{d, string(data)}, nil
}

func (d *Dictionary) value(out []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(out, null), nil
	case bool:
		if v {
			return append(out, yes), nil
		}
		return append(out, no), nil
	case int64:
		return binary.AppendVarint(append(out, integer), v), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(out, float), math.Float64bits(v)), nil
	case string:
		return d.text(out, v), nil
	case []any:
		out = binary.AppendUvarint(append(out, list), uint64(len(v)))
		var err error
		for _, entry := range v {
			if out, err = d.value(out, entry); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out = binary.AppendUvarint(append(out, mapping), uint64(len(v)))
		var err error
		for key, entry := range v {
			if out, err = d.value(d.text(out, key), entry); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("a value of type %T is not JSON", v)
}

// text writes a text, by its number from the second time that it comes up.
func (d *Dictionary) text(out []byte, s string) []byte {
	if n, ok := d.index[s]; ok {
		return binary.AppendUvarint(append(out, word), uint64(n))
	}
	hash := maphash.String(d.seed, s)
	if _, again := d.once[hash]; again && len(s) <= maxWord {
		delete(d.once, hash)
		n := uint32(len(d.words))
		d.index[s] = n
		d.words = append(d.words, s)
		return binary.AppendUvarint(append(out, word), uint64(n))
	}
	if len(s) <= maxWord {
		if len(d.once) >= maxOnce {
			clear(d.once)
		}
		d.once[hash] = struct{}{}
	}
	out = binary.AppendUvarint(append(out, text), uint64(len(s)))
	return append(out, s...)
}

// Size is the number of bytes that the object takes, beside the dictionary.
func (o Object) Size() int { return len(o.data) }

// Content gives the object as maps again, a new copy each time.
func (o Object) Content() map[string]any {
	if o.dictionary == nil {
		return nil
	}
	o.dictionary.mu.RLock()
	words := o.dictionary.words
	o.dictionary.mu.RUnlock()
	r := reader{words, o.data}
	content, _ := r.value().(map[string]any)
	return content
}

// reader reads what Pack wrote; no other data reaches it.
type reader struct {
	words []string
	rest  string
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
	case word:
		return r.words[r.number()]
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
