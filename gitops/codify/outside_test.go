package codify

import (
	"strings"
	"testing"

	"holdfast/gitops"
)

// A value that an engine's object sets, which the repository does not hold, has no place in it: the message says where.
func TestTheSettingOfAnObjectOutsideTheRepositoryIsNamed(t *testing.T) {
	files := map[string]gitops.File{
		"app/kustomization.yaml": {Data: []byte("resources: [web.yaml]\n")},
		"app/web.yaml": {Data: []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "registry.test/web:1"}]
`)},
		"chart/Chart.yaml":         {Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
		"chart/values.yaml":        {Data: []byte("replicas: 1\n")},
		"chart/templates/web.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata: {replicas: \"{{ .Values.web.replicas }}\"}\n")},
	}
	tree := gitops.NewTree(files)
	app := func(k *gitops.Kustomize, h *gitops.Helm) gitops.Application {
		a := gitops.Application{Namespace: "flux-system", Name: "shop", Engine: gitops.Flux, Kind: "Kustomization", Source: gitops.Source{Path: "app"}}
		a.Render.Kustomize, a.Render.Helm = k, h
		if h != nil {
			a.Kind, a.Source.Path = "HelmRelease", "chart"
		}
		return a
	}
	for name, c := range map[string]struct {
		app   gitops.Application
		path  string
		after any
		want  string
	}{
		"an inline patch": {app(&gitops.Kustomize{Patches: []gitops.Patch{
			{Patch: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\nspec: {replicas: 4}\n", Target: &gitops.PatchTarget{Name: "other"}},
			{Patch: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {minReadySeconds: 4}\n", Target: &gitops.PatchTarget{Kind: "Deployment"}},
		}}, nil), "spec.minReadySeconds", int64(5), "spec.patches[1] of Kustomization flux-system/shop"},
		"an operation of an inline patch": {app(&gitops.Kustomize{Patches: []gitops.Patch{
			{Patch: "- {op: add, path: /spec/minReadySeconds, value: 4}\n", Target: &gitops.PatchTarget{Kind: "Deployment"}},
		}}, nil), "spec.minReadySeconds", int64(5), "spec.patches[0] of Kustomization flux-system/shop"},
		"an image": {app(&gitops.Kustomize{Images: []gitops.Image{{Name: "registry.test/web", NewTag: "2"}}}, nil),
			"spec.template.spec.containers[name=web].image", "registry.test/web:3", "spec.images[0] of Kustomization flux-system/shop"},
		"a chart's value": {app(nil, &gitops.Helm{ReleaseName: "web", Namespace: "shop", Values: []gitops.Values{{
			Inline: map[string]any{"web": map[string]any{"replicas": int64(2)}}, At: gitops.Path{gitops.Field("spec"), gitops.Field("values")},
		}}}), "data.replicas", "3", "spec.values.web.replicas of HelmRelease flux-system/shop"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := renderTree(t.Context(), tree, c.app)
			if err != nil {
				t.Fatal(err)
			}
			path, err := gitops.ParsePath(c.path)
			if err != nil {
				t.Fatal(err)
			}
			d := result.Objects[0]
			live, _ := with(d.Content, path, c.after).(map[string]any)
			answer, err := Propose(t.Context(), Request{Tree: tree, Render: renderTree, Fleet: []gitops.Application{c.app}, Wishes: []Wish{{
				App: c.app, Declared: d, FindingID: "f", Live: gitops.NewObject(live),
				Changes: []gitops.FieldChange{{Path: path, Before: gitops.Lookup(d.Content, path), After: gitops.Present(c.after)}},
				Scope:   gitops.ScopeOverlay,
			}}})
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.Failed) != 1 || !strings.Contains(answer.Failed[0].Reason, "it is set by "+c.want+", which this repository does not hold") {
				t.Errorf("%+v\nwant it to name %s", answer, c.want)
			}
		})
	}
}
