package codify

import (
	"strings"
	"testing"

	"holdfast/gitops"
)

// Two clusters' folders may declare an Application of one name and path: what is wished of one must not move the other.
func TestApplicationsOfOneNameInTwoFilesAreTwo(t *testing.T) {
	const object = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop, namespace: flux-system}\n" +
		"spec:\n  sourceRef: {kind: GitRepository, name: fleet}\n  path: ./shop\n"
	tree := gitops.NewTree(map[string]gitops.File{
		"clusters/prod/shop.yaml":    {Data: []byte(object)},
		"clusters/staging/shop.yaml": {Data: []byte(object)},
		"shop/kustomization.yaml":    {Data: []byte("resources: [c.yaml]\n")},
		"shop/c.yaml":                {Data: []byte(configMapText)},
	})
	var fleet []gitops.Application
	for _, file := range []string{"clusters/prod/shop.yaml", "clusters/staging/shop.yaml"} {
		fleet = append(fleet, gitops.Application{
			Namespace: "flux-system", Name: "shop", Engine: gitops.Flux, Kind: "Kustomization", Source: gitops.Source{Path: "shop"},
			Render: gitops.Render{File: file, Kustomize: &gitops.Kustomize{Generate: true}},
		})
	}
	for _, app := range fleet {
		result, err := renderTree(t.Context(), tree, app)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := Propose(t.Context(), Request{Tree: tree, Fleet: fleet, Render: renderTree, Wishes: []Wish{{
			App: app, Declared: result.Objects[0], FindingID: "f",
			Changes: []gitops.FieldChange{{Path: gitops.Path{gitops.Field("data"), gitops.Field("a")}, After: gitops.Present("2")}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range answer.Edits {
			if e.Path != app.Render.File {
				t.Errorf("%s: edits %s, which the other one reads too", app.Render.File, e.Path)
			}
		}
		if len(answer.Edits) == 0 && !strings.Contains(answer.Failed[0].NearestMiss, "would also move") {
			t.Errorf("%s: %+v", app.Render.File, answer.Failed)
		}
	}
}
