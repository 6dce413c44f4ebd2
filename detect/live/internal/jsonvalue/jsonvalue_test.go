package jsonvalue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	oracle "k8s.io/apimachinery/pkg/util/json"
)

var texts = []string{
	`{"kind":"List","n":-0,"i":9223372036854775807,"over":9223372036854775808,"f":1.0,"e":1e3,"deep":[[],{},[{"a":[1,2.5,true,false,null]}]]}`,
	`{"s":"a\"b\\c\/d\b\f\n\r\t\u00e9\ud83d\ude00","é":"日本","broken":"` + "\xff" + `","lone":"\ud800"}`,
	` { "a" : 1 , "a" : 2 , "A" : 3 } `,
	`{"managedFields":[{"fieldsV1":{"f:a":{"k:{\"name\":\"}\"}":{}}}},{"fieldsV1":{"f:a":{"k:{\"name\":\"}\"}":{}}}},{"fieldsV1":5},{"fieldsV1":null}]}`,
	`{"fieldsV1":5}`, `{"fieldsV1": "x" , "b":1}`, `{"fieldsV1":`, `{"fieldsV1":{"a":}}`, `{"fieldsV1":"x`, `{"fieldsV1":5,"b":1}`,
	`"x"`, `5`, `-`, `01`, `1.`, `1e`, `.5`, `1e999`, `-0.0`, `tru`, `nul`, `{`, `[`, `[1,]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{} {}`, ``, ` `, `"\x"`, `"\u12"`, "\"\n\"", `[1 2]`, `]`,
	`"\`, `"a`, `["\"]`,
}

// check compares with the decoder that client-go uses.
func check(t *testing.T, text []byte) {
	t.Helper()
	var want any
	wantErr := oracle.Unmarshal(text, &want)
	decoder := NewDecoder()
	for range 2 { // the second time from what is shared
		got, err := decoder.Decode(text)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, want %v", text, err, wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Fatalf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestDecodesAsKubernetesDoes(t *testing.T) {
	for _, text := range texts {
		check(t, []byte(text))
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := make([]byte, 0, 4000)
	for range 2000 {
		deep = append(deep, '[')
	}
	if _, err := NewDecoder().Decode(deep); err == nil || err.Error() != "JSON: values nest deeper than 1000" {
		t.Errorf("error %v", err)
	}
}

func TestErrorsQuoteNoValue(t *testing.T) {
	_, err := NewDecoder().Decode([]byte(`{"password":"hunter2" "x"}`))
	if want := `JSON: unexpected '"' where a comma or a closing bracket should be at byte 22`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) < maxDepth {
			check(t, text)
		}
	})
}
