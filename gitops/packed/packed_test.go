package packed_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/packed"
)

func named(name string, spec any) gitops.Object {
	return gitops.NewObject(map[string]any{
		"apiVersion": "example.test/v1", "kind": "Thing",
		"metadata": map[string]any{"name": name, "namespace": "shop"}, "spec": spec,
	})
}

func TestObjectsComeBackAsTheyWere(t *testing.T) {
	specs := []any{
		nil,
		map[string]any{},
		map[string]any{"a": nil, "b": true, "c": false, "d": "", "": "empty key"},
		map[string]any{"n": int64(0), "neg": int64(-1), "min": int64(math.MinInt64), "max": int64(math.MaxInt64), "f": 0.25},
		map[string]any{"list": []any{}, "nested": []any{map[string]any{"a": []any{nil, "x", int64(7)}}}},
		map[string]any{"a": "repeats", "b": "repeats", "c": "repeats", "list": []any{"repeats"}},
		map[string]any{"1": int64(1), "1.0": 1.0, "true": "true", "also": true},
		map[string]any{"long": strings.Repeat("x", 10_000), "again": strings.Repeat("x", 10_000)},
	}
	s := packed.New()
	for round := range 5 { // later rounds meet texts and mappings that have numbers
		for i, spec := range specs {
			want := named(fmt.Sprintf("%d-%d", round, i), spec)
			s.Add(s.Pack(want))
			got, found := s.Get(want.ID)
			if diff := cmp.Diff(want, got); !found || diff != "" {
				t.Errorf("object %d, round %d: -packed +unpacked\n%s", i, round, diff)
			}
		}
	}
}

func TestASetHoldsOneObjectForEachIdentity(t *testing.T) {
	s := packed.New(named("b", "old"), named("a", "first"), named("b", "new"))
	if ids := s.IDs(); s.Len() != 2 || len(ids) != 2 || ids[0].Name != "a" || ids[1].Name != "b" {
		t.Errorf("%v", ids)
	}
	if o, _ := s.Get(named("b", nil).ID); o.Content["spec"] != "new" || o.APIVersion != "example.test/v1" {
		t.Errorf("%v", o)
	}
	if _, found := s.Get(named("c", nil).ID); found || s.Has(named("c", nil).ID) || !s.Has(named("a", nil).ID) {
		t.Error("c is in no set, a is")
	}
	all := slices.Collect(s.All())
	if diff := cmp.Diff([]gitops.Object{named("a", "first"), named("b", "new")}, all); diff != "" {
		t.Error(diff)
	}
	for o := range s.Where(func(id gitops.ObjectID) bool { return id.Name == "b" }) {
		if o.ID.Name != "b" {
			t.Errorf("%s was not wanted", o.ID)
		}
	}
	s.Pack(named("d", "packed only"))
	if s.Len() != 2 {
		t.Error("packing added an object")
	}
}

func TestWhatRepeatsIsKeptOnce(t *testing.T) {
	s := packed.New()
	spec := map[string]any{"template": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "registry.example.test/web:1", "args": []any{"--port", "80"}}}}}
	sizes := []int{}
	for i := range 20 {
		sizes = append(sizes, s.Pack(named(fmt.Sprint("web-", i), spec)).Size())
	}
	if first, last := sizes[0], sizes[len(sizes)-1]; last*4 > first {
		t.Errorf("sizes %v", sizes)
	}
}

func TestManyMayPackAndUnpackAtOnce(t *testing.T) {
	s := packed.New()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				want := named(fmt.Sprint("n", i%50), map[string]any{"i": int64(i % 50), "text": fmt.Sprint("t", i%50), "g": map[string]any{}})
				s.Add(s.Pack(want))
				if got, found := s.Get(want.ID); !found || !cmp.Equal(want, got) {
					t.Errorf("goroutine %d: %v", g, got)
				}
			}
		})
	}
	wg.Wait()
}

func TestAValueThatIsNoJSONIsRefused(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	packed.New(named("a", struct{}{}))
}

func FuzzPack(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,"x",null,true,{"b":"x"}]}`))
	f.Add([]byte(`{"f:a":{},"f:b":{"f:a":{}},"l":[{},{},[],[[]]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var content map[string]any
		if json.Unmarshal(data, &content) != nil || content == nil {
			t.Skip()
		}
		s := packed.New()
		for i := range 8 {
			want := gitops.Object{ID: gitops.ObjectID{Name: fmt.Sprint(i)}, Content: content}
			s.Add(s.Pack(want))
			got, _ := s.Get(want.ID)
			if diff := cmp.Diff(want.Content, got.Content); diff != "" {
				t.Error(diff)
			}
		}
	})
}
