package render_test

import (
	"testing"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// TestTheVersionThatAnEngineTellsCharts: Argo CD may leave out the patch number, so what hangs on it is not stable.
func TestTheVersionThatAnEngineTellsCharts(t *testing.T) {
	tree := gitops.NewTree(map[string]gitops.File{
		"chart/Chart.yaml": {Data: []byte("{apiVersion: v2, name: chart, version: 1.0.0}\n")},
		"chart/templates/all.yaml": {Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: versions}
data: {whole: "{{ .Capabilities.KubeVersion.Version }}", minor: "{{ .Capabilities.KubeVersion.Minor }}"}
`)},
	})
	for _, c := range []struct {
		name     string
		engine   gitops.Engine
		says     string // the Application itself
		whole    string
		unstable string
	}{
		{name: "Flux tells the cluster's", engine: gitops.Flux, whole: "v1.36.3"},
		{name: "Argo CD may leave out the patch number", engine: gitops.ArgoCD, whole: "v1.36.0", unstable: "data.whole"},
		{name: "what the Application says is what Argo CD tells", engine: gitops.ArgoCD, says: "v1.33.7", whole: "v1.33.7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := gitops.Application{Engine: c.engine, Source: gitops.Source{Path: "chart"}, Render: gitops.Render{Helm: &gitops.Helm{
				ReleaseName: "shop", Namespace: "shop", KubeVersion: c.says,
			}}}
			result, err := render.Application(t.Context(), tree, app, render.Env{KubeVersion: "v1.36.3"})
			if err != nil || len(result.Objects) != 1 {
				t.Fatalf("%v, %d objects", err, len(result.Objects))
			}
			o := result.Objects[0]
			if got, _ := o.Content["data"].(map[string]any)["whole"].(string); got != c.whole {
				t.Errorf("version %q, want %q", got, c.whole)
			}
			var unstable string
			for _, p := range result.Unstable[o.ID] {
				unstable += p.String()
			}
			if unstable != c.unstable {
				t.Errorf("unstable %q, want %q", unstable, c.unstable)
			}
		})
	}
}
