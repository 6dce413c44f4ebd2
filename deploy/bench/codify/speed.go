package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"holdfast/gitops"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

// maxRenders is the goal of issue 4 for one field.
const maxRenders = 10

// fiftyResources is a repository with an overlay of 50 resources and a second environment beside it.
func fiftyResources() repository {
	files := map[string]string{}
	var list, images strings.Builder
	for i := range 17 {
		name := fmt.Sprintf("app-%02d", i)
		files["base/"+name+"-deployment.yaml"] = fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
spec:
  replicas: 2
  selector:
    matchLabels: {app: %[1]s}
  template:
    metadata:
      labels: {app: %[1]s}
    spec:
      containers:
        - name: web
          image: registry.example.test/%[1]s/web:1.%[2]d.0
          args: ["--listen", ":8080"]
          env:
            - name: LOG_LEVEL
              value: info
          resources:
            limits: {cpu: 500m, memory: 256Mi}
`, name, i)
		files["base/"+name+"-service.yaml"] = fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata:\n  name: %[1]s\nspec:\n  selector: {app: %[1]s}\n  ports:\n    - name: http\n      port: 80\n      targetPort: 8080\n", name)
		list.WriteString("- " + name + "-deployment.yaml\n- " + name + "-service.yaml\n")
		if i < 16 {
			files["base/"+name+"-config.yaml"] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  level: info\n  limit: \"%d\"\n", name, i)
			list.WriteString("- " + name + "-config.yaml\n")
		}
		fmt.Fprintf(&images, "- name: registry.example.test/%s/web\n  newTag: 2.%d.0\n", name, i)
	}
	files["base/kustomization.yaml"] = "resources:\n" + list.String()
	for _, env := range []string{"prod", "staging"} {
		files[env+"/kustomization.yaml"] = "resources:\n- ../base\nnamespace: " + env + "\nnamePrefix: " + env + "-\nlabels:\n- pairs: {env: " + env + "}\n  includeSelectors: true\nimages:\n" + images.String() +
			"patches:\n- target: {kind: Deployment}\n  patch: |\n    - {op: add, path: /spec/template/spec/priorityClassName, value: high}\n"
	}
	return repository{URL: "https://git.example.test/bench/fifty", Roots: []string{"prod"}, Write: files}
}

func (r repository) written() gitops.Tree {
	files := map[string]gitops.File{}
	for name, text := range r.Write {
		files[name] = gitops.File{Data: []byte(text)}
	}
	return gitops.NewTree(files)
}

// fewRenders counts the renders of a proven codify of one field in an overlay of 50 resources.
func (o options) fewRenders(ctx context.Context, schemas *typed.Schemas) error {
	r := fiftyResources()
	b := o.bench(r, r.written(), programs{}, schemas)
	app := b.apps[0]
	result, err := render.Application(ctx, b.tree, app, render.Env{})
	if err != nil {
		return err
	}
	var calls, renders []int
	var took []time.Duration
	placed := 0
	for n := range o.cases {
		// A cache of its own for each: nothing is known before.
		b = o.bench(r, b.tree, programs{}, schemas)
		found, err := b.ask(ctx, app, result.Objects, n)
		if err != nil {
			return err
		}
		if found.Result == codified {
			placed++
			calls, renders, took = append(calls, found.Calls), append(renders, found.Renders), append(took, found.Took)
		}
	}
	if placed == 0 {
		return fmt.Errorf("nothing was codified")
	}
	slices.Sort(calls)
	slices.Sort(renders)
	slices.Sort(took)
	met := "yes"
	if renders[len(renders)-1] > maxRenders {
		met = "NO"
	}
	fmt.Printf("\none field of an overlay of %d resources: %d of %d proven; renders median %d, most %d (goal: at most %d: %s); calls of the renderer median %d, most %d; time median %s, most %s\n",
		len(result.Objects), placed, o.cases, renders[placed/2], renders[placed-1], maxRenders, met, calls[placed/2], calls[placed-1],
		took[placed/2].Round(time.Millisecond), took[placed-1].Round(time.Millisecond))
	return nil
}

// growth makes 1,000 changes (-growth) of a repository of middle size in this process, and compares the time of the
// first and the last tenth.
func (o options) growth(ctx context.Context, schemas *typed.Schemas) error {
	all, err := readList(o.list)
	if err != nil {
		return err
	}
	const middle = "GoogleCloudPlatform/microservices-demo"
	found := all.picked(middle)
	if len(found) == 0 {
		return fmt.Errorf("%s: no repository %s", o.list, middle)
	}
	dir, err := fetched(ctx, found[0], o.cache, o.from)
	if err != nil {
		return err
	}
	tree, err := treeOf(dir, found[0])
	if err != nil {
		return err
	}
	b := o.bench(found[0], tree, programs{}, schemas)
	type thing struct {
		app     gitops.Application
		objects []gitops.Declared
	}
	var things []thing
	count := 0
	for _, app := range b.apps {
		result, err := b.renders.Render(ctx, tree, app, render.Env{})
		if err != nil || app.Render.Helm != nil {
			continue
		}
		things = append(things, thing{app, result.Objects})
		count += len(result.Objects)
	}
	var took []time.Duration
	var heaps [2]uint64
	tenth := max(1, o.changes/10)
	for n := range o.changes {
		at := things[n%len(things)]
		out, err := b.ask(ctx, at.app, at.objects, n)
		if err != nil {
			return err
		}
		took = append(took, out.Took)
		if n == tenth-1 {
			heaps[0] = heap()
		}
	}
	heaps[1] = heap()
	first, last := mean(took[:tenth]), mean(took[o.changes-tenth:])
	fmt.Printf("\n%d changes of %s (%d files, %d Applications with %d objects, charts left out) in one process: %s each in the first %d, %s in the last: ratio %.2f (goal: it does not grow); live heap %d MiB after %d, %d MiB at the end; the cache %+v\n",
		o.changes, middle, tree.Len(), len(things), count, first.Round(time.Millisecond), tenth, last.Round(time.Millisecond), float64(last)/float64(first),
		heaps[0]>>20, tenth, heaps[1]>>20, b.renders.Stats())
	return nil
}

func mean(all []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(max(1, len(all)))
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
