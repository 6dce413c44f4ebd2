package codify

import (
	"bytes"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/gitops"
	"holdfast/gitops/flux"
)

// The Application comes from the cluster and does not say which file declares it; the tree declares two of
// the same name. Only one of them says what the cluster's does.
func TestTheFileOfAClustersApplicationIsFound(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/substituted-variable-of-one-cluster.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range archive.Files {
		if f.Name == "tree/clusters/south.yaml" { // the other cluster uses the same name
			archive.Files[i].Data = bytes.ReplaceAll(f.Data, []byte("memo-south"), []byte("memo"))
		}
	}
	tree := treeOf(archive)
	inTree, problems := flux.InTree(tree)
	if len(inTree) != 2 || len(problems) > 0 {
		t.Fatalf("%d applications, %v", len(inTree), problems)
	}
	live := inTree[0]
	live.Cluster, live.Render.File, live.Render.Document = "north", "", 0
	result, err := renderTree(t.Context(), tree, live)
	if err != nil {
		t.Fatal(err)
	}
	path, err := gitops.ParsePath("spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Propose(t.Context(), Request{Tree: tree, Fleet: inTree, Render: renderTree, Wishes: []Wish{{
		App: live, Declared: result.Objects[0], FindingID: "f", Changes: []gitops.FieldChange{{Path: path, After: gitops.Present(int64(4))}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Edits) != 1 || answer.Edits[0].Path != inTree[0].Render.File || !answer.Proof.Verified {
		t.Errorf("%+v", answer)
	}
	if n := len(answer.Proof.Applications); n != 1 {
		t.Errorf("%d members read the file, want the one Application", n)
	}
}
