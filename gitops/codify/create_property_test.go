package codify

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
	"holdfast/gitops/typed"
)

// TestCopiesBecomeFiles takes every object of every scenario's Applications, makes a copy of it under another name as if
// by hand, and wants it declared: as it lives, and with nothing else moved. The render is compared here, not by codify.
func TestCopiesBecomeFiles(t *testing.T) {
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	declared, refused := 0, map[string]int{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s scenario
		if err := yaml.UnmarshalStrict(archive.Comment, &s); err != nil {
			t.Fatal(err)
		}
		s.Wishes = nil
		request := s.request(t, archive, treeOf(archive), schemas)
		request.AllowKind = func(gitops.GroupKind) bool { return true }
		for _, app := range request.Fleet {
			before, err := renderTree(t.Context(), request.Tree, app)
			if err != nil {
				continue
			}
			seen := map[gitops.GroupKind]bool{}
			for _, d := range before.Objects {
				name := strings.Replace(d.ID.Name, d.Origin.Written.Name, "hand", 1)
				if d.IsSecret() || d.Origin.File == "" || seen[d.ID.GroupKind()] || name == d.ID.Name || strings.HasSuffix(d.ID.Group, "fluxcd.io") {
					continue
				}
				seen[d.ID.GroupKind()] = true
				live := copied(d, name)
				request.Wishes = []Wish{creation(t, app, "f", live, nil)}
				answer, err := Propose(t.Context(), request)
				if err != nil {
					t.Fatal(err)
				}
				if len(answer.Failed) > 0 {
					refused[answer.Failed[0].Reason+": "+answer.Failed[0].NearestMiss]++
					continue
				}
				declared++
				check(t, file, request, app, gitops.NewObject(live), answer)
			}
		}
	}
	t.Logf("%d declared, %d refused", declared, len(refused))
	for why, n := range refused {
		t.Logf("%d refused: %s", n, why)
	}
	if declared < 40 || len(refused) > declared/4 {
		t.Errorf("%d declared, refused for %d reasons", declared, len(refused))
	}
}

// copied is an object as the server holds a copy of it.
func copied(d gitops.Declared, name string) map[string]any {
	content, _ := splice.Normal(d.Content).(map[string]any)
	metadata, _ := content["metadata"].(map[string]any)
	metadata["name"], metadata["uid"], metadata["resourceVersion"] = name, "1d2c", "7"
	if d.ID.Namespace != "" {
		metadata["namespace"] = d.ID.Namespace
	}
	content["status"] = map[string]any{"observedGeneration": int64(1)}
	return content
}

// check renders everything after an answer, and compares.
func check(t *testing.T, file string, request Request, app gitops.Application, live gitops.Object, answer *Answer) {
	t.Helper()
	if !answer.Proof.Verified {
		t.Errorf("%s: %s %s: %s", file, app.Name, live.ID, answer.Proof.Reason)
	}
	after := request.Tree.With(answer.Edits)
	for _, other := range request.Fleet {
		was, err := renderTree(t.Context(), request.Tree, other)
		if err != nil {
			continue
		}
		is, err := renderTree(t.Context(), after, other)
		if err != nil {
			t.Errorf("%s: %s: %v", file, other.Name, err)
			continue
		}
		for _, d := range is.Objects {
			i := slices.IndexFunc(was.Objects, func(o gitops.Declared) bool { return o.ID == d.ID })
			switch {
			case i >= 0 && !reflect.DeepEqual(was.Objects[i].Content, d.Content):
				t.Errorf("%s: %s for %s moves %s of %s", file, app.Name, live.ID, d.ID, other.Name)
			case i < 0 && (other.ID() != app.ID() || d.ID != live.ID):
				t.Errorf("%s: %s for %s makes %s of %s", file, app.Name, live.ID, d.ID, other.Name)
			case i < 0:
				want, _ := splice.Normal(live.Content).(map[string]any)
				delete(want, "status")
				metadata := want["metadata"].(map[string]any)
				delete(metadata, "uid")
				delete(metadata, "resourceVersion")
				got, _ := splice.Normal(d.Content).(map[string]any)
				if metadata["namespace"] != nil {
					got["metadata"].(map[string]any)["namespace"] = d.ID.Namespace
				}
				m := meaning{request.Schemas}
				for _, p := range differences(m.clean(live, nil, want, live), m.clean(live, nil, got, live), nil) {
					t.Errorf("%s: %s declares %s otherwise at %s: %v", file, app.Name, live.ID, p, splice.Lookup(got, p).V)
				}
			}
		}
		if len(is.Objects) < len(was.Objects) {
			t.Errorf("%s: %s for %s takes objects from %s", file, app.Name, live.ID, other.Name)
		}
	}
}
