package live

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/detect/live/internal/jsonvalue"
	"holdfast/gitops"
)

func recording(t testing.TB) *Snapshot {
	t.Helper()
	s, err := Dump([]string{"../../deploy/demo/live.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHeldObjectsComeBackAsTheyWere(t *testing.T) {
	for _, o := range recording(t).Objects {
		held, err := Hold(o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(o, held.Object()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", o.ID, diff)
		}
	}
	if _, err := Hold(gitops.Object{Content: map[string]any{"f": func() {}}}); err == nil {
		t.Error("a function was packed")
	}
}

// pages gives n Deployments of three containers as the pages of a list, with names of their own.
func pages(b *testing.B, n int) [][]byte {
	b.Helper()
	var one []byte
	for _, o := range recording(b).Objects {
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
	for _, hold := range []bool{false, true} {
		b.Run(fmt.Sprintf("heap of 10000 objects/held=%v", hold), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				var kept []any
				decoder := jsonvalue.NewDecoder()
				for _, body := range many {
					p, err := decodePage(decoder, body, r, false)
					if err != nil {
						b.Fatal(err)
					}
					for _, o := range p.objects {
						if !hold {
							kept = append(kept, o)
						} else if held, err := Hold(o); err == nil {
							kept = append(kept, held)
						}
					}
				}
				b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
				runtime.KeepAlive(kept)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
