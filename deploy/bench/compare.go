package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"k8s.io/apimachinery/pkg/util/json"

	"holdfast/detect/assess"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/detect/live"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

const (
	perSecond = 5000 // the goal: Deployments a second on one core
	held      = 10_000
	heapGoal  = 60 << 20
	distinct  = 1000 // Deployments that the loops go over
	testdata  = "detect/compare/testdata/"
)

// pair is a Deployment of three containers, as Git and as a real API server have it.
type pair struct {
	declared gitops.Declared
	live     gitops.Object
}

// numbered makes a Deployment's text its own: names, containers, images, labels and what the server sets.
func numbered(text []byte, i int) []byte {
	replace := strings.NewReplacer(
		"checkout:4.2.1", fmt.Sprintf("checkout-%d:4.%d.1", i, i%90), "checkout", fmt.Sprintf("checkout-%d", i),
		"payments", fmt.Sprintf("team-%d", i%50), `"web"`, fmt.Sprintf(`"web-%d"`, i), `\"web\"`, fmt.Sprintf(`\"web-%d\"`, i),
		"407c6205-5641", fmt.Sprintf("%08x-5641", i), `"289"`, fmt.Sprintf(`"%d"`, 100_000+i), "db.shop", fmt.Sprintf("db-%d.shop", i%200),
	)
	return []byte(replace.Replace(string(text)))
}

func object(text []byte) (gitops.Object, error) {
	var content map[string]any
	if err := json.Unmarshal(text, &content); err != nil {
		return gitops.Object{}, err
	}
	return gitops.NewObject(content), nil
}

func readJSON(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(text)
}

// compareFigures measures compare and classify on one core, as processor time so that other load on the
// machine does not count, and the heap that objects held for it keep.
func compareFigures(ctx context.Context, _ string, rounds int) ([]figure, error) {
	git, err := readJSON(testdata + "deployment.git.yaml")
	if err != nil {
		return nil, err
	}
	current, err := readJSON(testdata + "deployment.live.yaml")
	if err != nil {
		return nil, err
	}
	out, err := rates(ctx, git, current, rounds)
	if err != nil {
		return nil, err
	}
	more, err := heapFigures(current)
	return append(out, more...), err
}

func rates(ctx context.Context, git, current []byte, rounds int) ([]figure, error) {
	pairs := make([]pair, distinct)
	for i := range pairs {
		declared, err := object(numbered(git, i))
		if err != nil {
			return nil, err
		}
		pairs[i].declared.Object = declared
		if pairs[i].live, err = object(numbered(current, i)); err != nil {
			return nil, err
		}
	}
	snapshot, err := dumped(current, distinct)
	if err != nil {
		return nil, err
	}
	judge, err := newJudge()
	if err != nil {
		return nil, err
	}
	held := func(i int) gitops.Object {
		o, _ := snapshot.Objects.Get(pairs[i].live.ID)
		return o
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var out []figure
	for _, m := range []struct {
		what string
		find int
		live func(i int) gitops.Object
	}{
		{"compare+classify a Deployment of 3 containers, in sync", 0, func(i int) gitops.Object { return pairs[i].live }},
		{"the same with one drift (an image)", 1, func(i int) gitops.Object { return drifted(pairs[i].live) }},
		{"held packed, unpacked for it, in sync", 0, held},
		{"held packed, unpacked for it, one drift", 1, func(i int) gitops.Object { return drifted(held(i)) }},
	} {
		var perObject []cost
		var allocated uint64
		for range rounds {
			runtime.GC()
			objects, start := allocations(), ownCPU()
			for i := range pairs {
				found, err := judge.fields(&pairs[i].declared, m.live(i))
				if err != nil || found != m.find {
					return nil, fmt.Errorf("%s: %d drifts, %w", m.what, found, err)
				}
			}
			perObject = append(perObject, cost{cpu: (ownCPU() - start) / distinct})
			allocated = (allocations() - objects) / distinct
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		rate := float64(time.Second) / float64(median(perObject).cpu)
		out = append(out, figure{
			what:     m.what,
			measured: fmt.Sprintf("%.0f/s, %d allocations", rate, allocated),
			against:  fmt.Sprintf("%d/s", perSecond), ratio: rate / perSecond, atLeast: 1,
		})
	}
	return out, nil
}

// judge is what a scan calls for each object.
type judge struct {
	comparer *compare.Comparer
	facts    *classify.Facts
	app      gitops.Application
}

func newJudge() (judge, error) {
	schemas, err := typed.Builtin()
	if err != nil {
		return judge{}, err
	}
	rules, err := classify.LoadRules()
	if err != nil {
		return judge{}, err
	}
	assessor, err := assess.New()
	if err != nil {
		return judge{}, err
	}
	facts := classify.NewFacts(nil, rules)
	facts.Sensitive = assessor.Sensitive
	return judge{compare.New(schemas), facts, gitops.Application{
		Namespace: "flux-system", Name: "shop", Engine: gitops.Flux, Kind: "Kustomization",
		Managers: []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}},
	}}, nil
}

// fields gives the number of drifting fields.
func (j judge) fields(declared *gitops.Declared, live gitops.Object) (int, error) {
	differences, err := j.comparer.Compare(declared.Object, live, compare.Options{})
	if err != nil {
		return 0, err
	}
	drifts := 0
	for _, f := range j.facts.Fields(classify.Subject{App: j.app, Declared: declared, Live: &live}, differences) {
		if f.Drift {
			drifts++
		}
	}
	return drifts, nil
}

// drifted gives the object with another image in its first container, written by kubectl. It copies only
// what leads there.
func drifted(o gitops.Object) gitops.Object {
	set := func(m map[string]any, key string, value any) map[string]any {
		out := make(map[string]any, len(m)+1)
		for k, v := range m {
			out[k] = v
		}
		out[key] = value
		return out
	}
	mapping := func(m map[string]any, key string) map[string]any { v, _ := m[key].(map[string]any); return v }
	spec := mapping(o.Content, "spec")
	template := mapping(spec, "template")
	pod := mapping(template, "spec")
	containers, _ := pod["containers"].([]any)
	first, _ := containers[0].(map[string]any)
	containers = slices.Clone(containers)
	containers[0] = set(first, "image", "registry.example.test/shop/checkout:hotfix")
	metadata := mapping(o.Content, "metadata")
	entries, _ := metadata["managedFields"].([]any)
	name, _ := first["name"].(string)
	entry := map[string]any{
		"manager": "kubectl-set", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "time": "2026-11-30T10:00:00Z",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:template": map[string]any{"f:spec": map[string]any{"f:containers": map[string]any{
			`k:{"name":"` + name + `"}`: map[string]any{"f:image": map[string]any{}},
		}}}}},
	}
	content := set(o.Content, "spec", set(spec, "template", set(template, "spec", set(pod, "containers", containers))))
	return gitops.NewObject(set(content, "metadata", set(metadata, "managedFields", append(slices.Clone(entries), entry))))
}

// dumped has n Deployments read as the product reads a dump.
func dumped(current []byte, n int) (*live.Snapshot, error) {
	folder, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	var list bytes.Buffer
	list.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i := range n {
		if i > 0 {
			list.WriteByte(',')
		}
		list.Write(numbered(current, i))
	}
	list.WriteString(`]}`)
	file := filepath.Join(folder, "live.json")
	if err := os.WriteFile(file, list.Bytes(), 0o600); err != nil {
		return nil, err
	}
	return live.Dump([]string{file})
}

// heapFigures measures what a snapshot of many objects keeps, and, from a tenth, what they would keep as maps.
func heapFigures(current []byte) ([]figure, error) {
	before := heap()
	maps := make([]gitops.Object, held/10)
	for i := range maps {
		var err error
		if maps[i], err = object(numbered(current, i)); err != nil {
			return nil, err
		}
	}
	asMaps := (heap() - before) * 10
	runtime.KeepAlive(maps)

	before = heap()
	snapshot, err := dumped(current, held)
	if err != nil {
		return nil, err
	}
	packed := heap() - before
	if snapshot.Objects.Len() != held {
		return nil, fmt.Errorf("%d objects in the dump, want %d", snapshot.Objects.Len(), held)
	}
	runtime.KeepAlive(snapshot)
	return []figure{
		{
			what: "live heap of 10,000 such objects, all different, as held", measured: mebibytes(packed),
			against: mebibytes(heapGoal), ratio: float64(packed) / heapGoal, atMost: 1,
		},
		{
			what: "the same against maps (of 1,000, times 10)", measured: mebibytes(packed),
			against: mebibytes(asMaps), ratio: float64(packed) / float64(asMaps),
		},
	}, nil
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
