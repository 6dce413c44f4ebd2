package typed

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// SameScalar says whether two scalars mean the same in this format. Numbers of all formats are equal by
// value; null is equal to null only.
func (f Format) SameScalar(a, b any) bool {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x == y || f > Text && f.sameText(x, y)
		}
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case int64:
		if y, ok := b.(int64); ok {
			return x == y
		}
	case nil:
		return b == nil
	}
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			return x == y
		}
	}
	switch f {
	case Text:
		return textNumber(a, b) || textNumber(b, a)
	case Quantity:
	default:
		return false
	}
	x, okX := quantityText(a)
	y, okY := quantityText(b)
	return okX && okY && sameQuantity(x, y)
}

func (f Format) sameText(a, b string) bool {
	switch f {
	case Quantity:
		return sameQuantity(a, b)
	case Duration:
		x, errX := time.ParseDuration(a)
		y, errY := time.ParseDuration(b)
		return errX == nil && errY == nil && x == y
	case Time:
		x, errX := time.Parse(time.RFC3339, a)
		y, errY := time.Parse(time.RFC3339, b)
		return errX == nil && errY == nil && x.Equal(y)
	case Bytes:
		x, okX := DecodeBytes(a)
		y, okY := DecodeBytes(b)
		return okX && okY && string(x) == string(y)
	}
	return false
}

// DecodeBytes decodes base64 as the API server's JSON decoder does, which skips line breaks; other white
// space around the text is what YAML block scalars leave.
func DecodeBytes(text string) ([]byte, bool) {
	out, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	return out, err == nil
}

func sameQuantity(a, b string) bool {
	if wild(a) || wild(b) {
		return a == b
	}
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}

// wild says whether a quantity is of no size that a server takes, so that comparing it by value could take
// the time to write it out: 1e999999999.
func wild(text string) bool {
	_, exponent, ok := cutExponent(text)
	n, err := strconv.Atoi(exponent)
	return len(text) > 64 || ok && err == nil && (n > 40 || n < -40)
}

func cutExponent(text string) (before, after string, ok bool) {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// quantityText is how a number or string reads as a quantity.
func quantityText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case int:
		return strconv.Itoa(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// textNumber says whether a is a string that YAML reads as the number b.
func textNumber(a, b any) bool {
	text, ok := a.(string)
	if !ok {
		return false
	}
	y, ok := number(b)
	if !ok {
		return false
	}
	x, err := strconv.ParseFloat(text, 64)
	return err == nil && x == y
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), math.Abs(float64(v)) < 1<<53
	case float64:
		return v, true
	case int:
		return float64(v), true
	}
	return 0, false
}

// IsZero says whether v is what Go's encoder may leave out: null, false, 0, "", an empty list or mapping,
// or a mapping of nothing but those.
func IsZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// Equal says whether a and b mean the same in type t: scalars by format, null as absent, an absent field as
// its zero value where the API server does not tell them apart, keyed lists and sets in any order. It knows
// no defaults: see Field.Default. Equal(t, a, b) is Equal(t, b, a).
func Equal(t *Type, a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return equalMaps(t, x, y)
		}
		return false
	case []any:
		if y, ok := b.([]any); ok {
			return equalLists(t, x, y)
		}
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return t.Format.SameScalar(a, b)
}

func equalMaps(t *Type, a, b map[string]any) bool {
	for name, x := range a {
		f := t.Field(name)
		y := b[name]
		if x == nil || y == nil {
			if !Absent(f, x) || !Absent(f, y) {
				return false
			}
			continue
		}
		child := t.Child(name)
		if child == nil {
			child = anything
		}
		if !Equal(child, x, y) {
			return false
		}
	}
	for name, y := range b {
		if _, there := a[name]; !there && !Absent(t.Field(name), y) {
			return false
		}
	}
	return true
}

// Absent says whether the API server reads v in field f as if the field were not there. f may be nil.
func Absent(f *Field, v any) bool {
	if v == nil {
		return true
	}
	if f == nil || !f.Zero {
		return false
	}
	m, ok := v.(map[string]any)
	if !ok || f.Type.Kind != Struct {
		return IsZero(v)
	}
	for name, inner := range m {
		if field := f.Type.Field(name); field == nil || !Absent(field, inner) {
			return false
		}
	}
	return true
}

func equalLists(t *Type, a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	elem := t.Elem
	if elem == nil {
		elem = anything
	}
	same := 0
	for same < len(a) && Equal(elem, a[same], b[same]) {
		same++
	}
	if same == len(a) {
		return true
	}
	if t.List == AtomicList && !t.Unordered || t.Ordered {
		return false
	}
	used := make([]bool, len(b))
	for i, x := range a[same:] {
		skip := -1
		if i == 0 {
			skip = same // compared above: no two entries are compared twice, so that nesting costs no more
		}
		if !takeEqual(elem, x, b, used, same, skip) {
			return false
		}
	}
	return true
}

// takeEqual marks the first unused entry of list, from start and not at skip, that equals x.
func takeEqual(elem *Type, x any, list []any, used []bool, start, skip int) bool {
	for i := start; i < len(list); i++ {
		if i != skip && !used[i] && Equal(elem, x, list[i]) {
			used[i] = true
			return true
		}
	}
	return false
}
