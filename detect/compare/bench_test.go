package compare_test

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"holdfast/detect/compare"
	"holdfast/gitops"
	"holdfast/gitops/packed"
)

// deployment gives a Deployment of three containers as Git and as a real API server have it.
func deployment(t testing.TB) (git, live gitops.Object) {
	t.Helper()
	read := func(file string) gitops.Object {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return objects(t, text)[0]
	}
	return read("testdata/deployment.git.yaml"), read("testdata/deployment.live.yaml")
}

func BenchmarkCompareDeployment(b *testing.B) {
	c := newComparer(b)
	git, live := deployment(b)
	drifted := gitops.NewObject(clone(live.Content).(map[string]any))
	spec := drifted.Content["spec"].(map[string]any)
	spec["replicas"] = int64(9)
	template := spec["template"].(map[string]any)["spec"].(map[string]any)
	template["containers"].([]any)[0].(map[string]any)["image"] = "registry.example.test/shop/checkout:4.2.2"

	for _, bench := range []struct {
		name string
		live gitops.Object
		want int
	}{{"in sync", live, 0}, {"drifted", drifted, 2}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := c.Compare(git, bench.live, compare.Options{})
				if err != nil || len(found) != bench.want {
					b.Fatal(err, found)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "objects/s")
		})
	}
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		v = maps.Clone(v)
		for k := range v {
			v[k] = clone(v[k])
		}
		return v
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i] = clone(v[i])
		}
		return v
	}
	return v
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// holds is how many objects BenchmarkHold keeps.
const holds = 10_000

// BenchmarkHold measures the live heap of objects held for comparison, as maps and packed, and the rate of
// comparing packed ones.
func BenchmarkHold(b *testing.B) {
	c := newComparer(b)
	git, live := deployment(b)
	numbered := func(i int) map[string]any {
		content := clone(live.Content).(map[string]any)
		metadata := content["metadata"].(map[string]any)
		metadata["name"] = fmt.Sprintf("checkout-%d", i)
		metadata["uid"] = fmt.Sprintf("0b0f4c34-5d0a-4d3b-a01f-%012d", i)
		metadata["resourceVersion"] = fmt.Sprint(1_000_000 + i)
		return content
	}
	b.Run("as maps", func(b *testing.B) {
		for b.Loop() {
			before := heap()
			held := make([]map[string]any, holds)
			for i := range held {
				held[i] = numbered(i)
			}
			b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
			runtime.KeepAlive(held)
		}
	})
	b.Run("packed", func(b *testing.B) {
		for b.Loop() {
			before := heap()
			held := make([]packed.Object, holds)
			dictionary := new(packed.Dictionary)
			for i := range held {
				var err error
				if held[i], err = dictionary.Pack(numbered(i)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
			start := time.Now()
			for i := range held {
				if found, err := c.Compare(git, gitops.NewObject(held[i].Content()), compare.Options{}); err != nil || len(found) > 0 {
					b.Fatal(err, found)
				}
			}
			b.ReportMetric(holds/time.Since(start).Seconds(), "objects/s")
		}
	})
}
