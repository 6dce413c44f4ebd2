package compare_test

import (
	"os"
	"testing"

	"holdfast/detect/compare"
	"holdfast/gitops"
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
	drifted := gitops.NewObject(gitops.Clone(live.Content).(map[string]any))
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
