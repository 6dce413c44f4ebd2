package render_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// overlay50 is an overlay over a base of 50 resources: ten apps with a Deployment, a Service, a ConfigMap,
// a ServiceAccount and a PodDisruptionBudget each.
func overlay50() *scenario {
	s := &scenario{Path: "overlay", files: map[string]gitops.File{}}
	put := func(name, text string) { s.files[name] = gitops.File{Data: []byte(text)} }
	var resources, images, replicas strings.Builder
	for i := range 10 {
		app := fmt.Sprintf("app%d", i)
		put("base/"+app+".yaml", strings.ReplaceAll(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: APP
  labels: {app: APP}
spec:
  replicas: 2
  selector:
    matchLabels: {app: APP}
  template:
    metadata:
      labels: {app: APP}
    spec:
      serviceAccountName: APP
      containers:
        - name: main
          image: registry.example.test/APP:1.0.0
          ports: [{containerPort: 8080}]
          env:
            - {name: LEVEL, valueFrom: {configMapKeyRef: {name: APP, key: level}}}
            - {name: REGION, value: north}
          resources:
            requests: {cpu: 100m, memory: 128Mi}
            limits: {memory: 256Mi}
        - name: side
          image: registry.example.test/side:2.0.0
---
apiVersion: v1
kind: Service
metadata: {name: APP}
spec:
  selector: {app: APP}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: APP}
data: {level: info, size: "10"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: APP}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: APP}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: APP}}
`, "APP", app))
		fmt.Fprintf(&resources, "- %s.yaml\n", app)
		fmt.Fprintf(&images, "- {name: registry.example.test/%s, newTag: 1.%d.0}\n", app, i)
		fmt.Fprintf(&replicas, "- {name: %s, count: %d}\n", app, i+1)
	}
	put("base/kustomization.yaml", "resources:\n"+resources.String())
	put("overlay/kustomization.yaml", "resources: [../base]\nnamespace: shop\nnamePrefix: prod-\nlabels: [{pairs: {env: prod}, includeSelectors: true}]\nimages:\n"+
		images.String()+"replicas:\n"+replicas.String()+
		"patches:\n- target: {kind: Deployment}\n  patch: |\n    - {op: add, path: /spec/template/spec/priorityClassName, value: high}\n")
	return s
}

// BenchmarkRenderOverlay50 renders an overlay of 50 resources, beside kustomize's own build of the same
// files on disk in this process, and beside `kubectl kustomize`, where there is one.
func BenchmarkRenderOverlay50(b *testing.B) {
	s := overlay50()
	where := filepath.Join(s.disk(b), s.Path)
	b.Run("render", func(b *testing.B) {
		repository := gitops.NewTree(s.files)
		for b.Loop() {
			r, err := render.Render(context.Background(), repository, s.Path, gitops.Render{Kustomize: &gitops.Kustomize{}}, render.Env{})
			if err != nil || len(r.Objects) != 50 {
				b.Fatal(err, len(r.Objects))
			}
		}
	})
	b.Run("kustomize", func(b *testing.B) {
		for b.Loop() {
			built, err := krusty.MakeKustomizer(&krusty.Options{
				Reorder: krusty.ReorderOptionLegacy, PluginConfig: types.DisabledPluginConfig(),
			}).Run(filesys.MakeFsOnDisk(), where)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := built.AsYaml(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("kubectl", func(b *testing.B) {
		kubectl, err := exec.LookPath("kubectl")
		if err != nil {
			b.Skip("kubectl is not installed")
		}
		for b.Loop() {
			if out, err := exec.Command(kubectl, "kustomize", where).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

// BenchmarkPlain50 reads the same base as plain YAML.
func BenchmarkPlain50(b *testing.B) {
	s := overlay50()
	repository := gitops.NewTree(s.files)
	for b.Loop() {
		r, err := render.Render(context.Background(), repository, "base", gitops.Render{}, render.Env{})
		if err != nil || len(r.Objects) != 50 {
			b.Fatal(err, len(r.Objects))
		}
	}
}
