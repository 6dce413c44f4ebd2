package packed_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops/packed"
)

func TestObjectsComeBackAsTheyWere(t *testing.T) {
	objects := []map[string]any{
		{},
		{"a": nil, "b": true, "c": false, "d": "", "": "empty key"},
		{"n": int64(0), "neg": int64(-1), "min": int64(math.MinInt64), "max": int64(math.MaxInt64), "f": 0.25},
		{"list": []any{}, "nested": []any{map[string]any{"a": []any{nil, "x", int64(7)}}}},
		{"a": "repeats", "b": "repeats", "c": "repeats"},
	}
	var d packed.Dictionary
	for round := range 3 { // later rounds meet texts that the dictionary has
		for i, want := range objects {
			o, err := d.Pack(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, o.Content()); diff != "" {
				t.Errorf("object %d, round %d: -packed +unpacked\n%s", i, round, diff)
			}
		}
	}
}

func TestAValueThatIsNoJSONIsRefused(t *testing.T) {
	var d packed.Dictionary
	if _, err := d.Pack(map[string]any{"a": struct{}{}}); err == nil {
		t.Error("no error")
	}
}

func FuzzPack(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x",null,true,{"b":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]any
		if json.Unmarshal(data, &want) != nil || want == nil {
			t.Skip()
		}
		var d packed.Dictionary
		for range 3 {
			o, err := d.Pack(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, o.Content()); diff != "" {
				t.Error(diff)
			}
		}
	})
}
