package codify

import (
	"testing"

	"holdfast/gitops"
)

// A Flux Kustomization over a folder without a kustomization lists everything below it, and reads of it what its
// children do not build themselves: an edit of their manifests is none of its business.
func TestWhatIsListedAndNotReadHasNoSay(t *testing.T) {
	files := map[string]gitops.File{}
	for name, text := range map[string]string{
		"apps/shop/kustomization.yaml":     "resources: [ks.yaml]\n",
		"apps/shop/ks.yaml":                "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop, namespace: flux-system}\nspec:\n  sourceRef: {kind: GitRepository, name: fleet}\n  path: ./apps/shop/app\n",
		"apps/shop/app/kustomization.yaml": "resources: [c.yaml]\n",
		"apps/shop/app/c.yaml":             configMapText,
	} {
		files[name] = gitops.File{Data: []byte(text)}
	}
	tree := gitops.NewTree(files)
	flux := func(name, path, file string) gitops.Application {
		return gitops.Application{Namespace: "flux-system", Name: name, Engine: gitops.Flux, Kind: "Kustomization", Source: gitops.Source{Path: path},
			Render: gitops.Render{File: file, Kustomize: &gitops.Kustomize{Generate: true}}}
	}
	all, shop := flux("all", "apps", ""), flux("shop", "apps/shop/app", "apps/shop/ks.yaml")
	result, err := renderTree(t.Context(), tree, shop)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Propose(t.Context(), Request{Tree: tree, Fleet: []gitops.Application{all, shop}, Render: renderTree, Wishes: []Wish{{
		App: shop, Declared: result.Objects[0], FindingID: "f",
		Changes: []gitops.FieldChange{{Path: gitops.Path{gitops.Field("data"), gitops.Field("a")}, After: gitops.Present("2")}},
	}}})
	if err != nil || len(answer.Edits) != 1 || answer.Edits[0].Path != "apps/shop/app/c.yaml" {
		t.Fatalf("%+v, %v", answer, err)
	}
	if n := len(answer.Proof.Applications); n != 1 {
		t.Errorf("%d Applications proven, want the one that reads the file", n)
	}
}
