package chart

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestSizesAreUpperBounds: nothing that is written is longer than it was measured.
func TestSizesAreUpperBounds(t *testing.T) {
	deep := any("a b\nc d\n")
	for range 40 {
		deep = map[string]any{"a key": []any{deep}}
	}
	values := map[string]any{
		"nothing":                 nil,
		"no entries":              []any{[]any{}, map[string]any{}, "", nil},
		"numbers":                 []any{math.MinInt64, -math.MaxFloat64, math.SmallestNonzeroFloat64, uint64(math.MaxUint64), true, false, 1e21},
		"texts that need escapes": []any{"\x00\x01\x7f", "<>&'\"\\", "\xff\xfe", "\u2028\U0001f600\u00e9", "\t\r\n", "yes", "1", "- a", "# b", strings.Repeat("\n", 20)},
		"long lines":              map[string]any{"k": strings.Repeat("word ", 100), strings.Repeat("key ", 50): strings.Repeat("\x01 ", 100)},
		"bytes":                   []byte{1, 255, 0},
		"a struct":                certificate{Cert: "a", Key: "b\nc"},
		"what is deep":            deep,
		"tables":                  map[string]any{"a": map[string]any{"b": map[string]any{"c": map[string]any{"d": int64(1)}}}, "e": []any{map[string]any{"f": "g"}}},
	}
	asTOML := indented()
	asTOML.paths = true
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			s := &session{ctx: t.Context(), left: maxOutput}
			check := func(how, text string, size int64) {
				t.Helper()
				if int64(len(text)) > size {
					t.Errorf("%s: %d bytes, measured as %d", how, len(text), size)
				}
			}
			v := reflect.ValueOf(&value).Elem()
			check("print", fmt.Sprint(value), s.size(plainly(), v))
			for how, encode := range map[string]func(any) (string, error){"YAML": toYAML, "pretty YAML": toPrettyYAML} {
				text, _ := encode(value)
				check(how, text, s.size(indented(), v))
			}
			text, _ := toJSON(value)
			check("JSON", text, s.size(quoted(), v))
			if value != nil {
				text, _ = toTOML(value)
				check("TOML", text, s.size(asTOML, v))
			}
			for _, format := range []string{"%v", "%#v", "%+v", "%q", "%+q", "%x", "% #x", "%f", "%b", "%d", "%30v|%-9s", "%[1]*[1]d", "%U", "%T", "%s%[1]s%[1]v", "%.50f", "%!", "100%"} {
				args := []any{value}
				check(format, fmt.Sprintf(format, args...), s.format([]reflect.Value{reflect.ValueOf(format), reflect.ValueOf(args)}))
			}
		})
	}
}
