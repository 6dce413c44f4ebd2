package compare_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"holdfast/detect/compare"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

func newComparer(t testing.TB, crds ...gitops.Object) *compare.Comparer {
	t.Helper()
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	schemas, problems := schemas.WithCRDs(crds)
	for _, err := range problems {
		t.Error(err)
	}
	return compare.New(schemas)
}

// TestWhatTheServerAddsIsExplained compares minimal objects with what a real API server made of them.
func TestWhatTheServerAddsIsExplained(t *testing.T) {
	data, err := os.ReadFile("../../gitops/typed/testdata/observed.json")
	if err != nil {
		t.Fatal(err)
	}
	var observed []struct {
		Asked, Stored map[string]any
	}
	if err := json.Unmarshal(data, &observed); err != nil {
		t.Fatal(err)
	}
	if len(observed) < 150 {
		t.Fatalf("only %d observations", len(observed))
	}
	c := newComparer(t)
	for _, o := range observed {
		asked, stored := gitops.NewObject(o.Asked), gitops.NewObject(o.Stored)
		t.Run(stored.ID.Kind+"/"+stored.ID.Name, func(t *testing.T) {
			differences, err := c.Compare(asked, stored, compare.Options{})
			if err != nil {
				t.Error(err)
			}
			for _, d := range differences {
				if admitted(stored.ID.Kind, d.Path) {
					continue
				}
				t.Errorf("%s %s: asked %v, stored %v", d.Kind, d.Path, d.Git.V, d.Live.V)
			}
		})
	}
}

// admitted says whether an admission plug-in, which is no default, fills in the field.
func admitted(kind string, path gitops.Path) bool {
	if path.String() == "metadata.finalizers" {
		return strings.HasPrefix(kind, "PersistentVolume") || kind == "VolumeAttributesClass"
	}
	return kind == "Node" && strings.HasPrefix(path.String(), "spec.taints")
}
