package live

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"holdfast/detect/live/internal/jsonvalue"
	"holdfast/gitops"
	"holdfast/gitops/packed"
)

func recording(t testing.TB) *Snapshot {
	t.Helper()
	s, err := Dump([]string{"../../deploy/demo/live.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pages gives n Deployments of three containers as the pages of a list, with names of their own.
func pages(b *testing.B, n int) [][]byte {
	b.Helper()
	var one []byte
	for o := range recording(b).Objects.All() {
		if o.ID.Kind != "Deployment" || o.ID.Name != "web" {
			continue
		}
		path, _ := gitops.ParsePath("spec.template.spec")
		spec := gitops.Lookup(o.Content, path).V.(map[string]any)
		first := spec["containers"].([]any)[0]
		spec["containers"] = []any{first, first, first}
		one, _ = json.Marshal(o.Content)
	}
	var out [][]byte
	for from := 0; from < n; from += pageSize {
		items := make([]string, 0, pageSize)
		for i := from; i < min(n, from+pageSize); i++ {
			items = append(items, strings.ReplaceAll(string(one), `"web"`, fmt.Sprintf(`"web-%d"`, i)))
		}
		out = append(out, []byte(`{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{},"items":[`+strings.Join(items, ",")+`]}`))
	}
	return out
}

// BenchmarkDecode decodes 1,000 Deployments of three containers, and tells what 10,000 keep of the heap.
func BenchmarkDecode(b *testing.B) {
	r := resource{group: "apps", version: "v1", kind: "Deployment"}
	some := pages(b, 1000)
	b.Run("1000 objects", func(b *testing.B) {
		for b.Loop() {
			decoder := jsonvalue.NewDecoder()
			for _, body := range some {
				if _, err := decodePage(decoder, body, r, false); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	many := pages(b, 10_000)
	b.Run("heap of 10000 objects", func(b *testing.B) {
		for b.Loop() {
			before := heap()
			held := packed.New()
			decoder := jsonvalue.NewDecoder()
			for _, body := range many {
				p, err := decodePage(decoder, body, r, false)
				if err != nil {
					b.Fatal(err)
				}
				for _, o := range p.objects {
					held.Add(held.Pack(o))
				}
			}
			b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
			runtime.KeepAlive(held)
		}
	})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
