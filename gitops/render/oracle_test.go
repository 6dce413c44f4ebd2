package render_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	fluxkustomize "github.com/fluxcd/pkg/kustomize"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// TestSameAsKustomize compares with kustomize's own build of the same files on disk, byte for byte.
func TestSameAsKustomize(t *testing.T) {
	for _, s := range scenarios(t) {
		if s.Kustomize == nil || s.Kustomize.Generate || s.Differs != "" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			got, err := s.render(t)
			if err != nil {
				t.Fatal(err)
			}
			openapi.ResetOpenAPI()
			defer openapi.ResetOpenAPI()
			built, err := krusty.MakeKustomizer(&krusty.Options{
				Reorder: krusty.ReorderOptionLegacy, PluginConfig: types.DisabledPluginConfig(),
			}).Run(filesys.MakeFsOnDisk(), filepath.Join(s.disk(t), s.Path))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text(t, built), stream(t, got.Objects)); diff != "" {
				t.Errorf("(-kustomize +render)\n%s", diff)
			}
		})
	}
}

// TestSameAsKubectl compares with what `kubectl kustomize` printed when the scenario was written.
func TestSameAsKubectl(t *testing.T) {
	recorded := 0
	for _, s := range scenarios(t) {
		if s.kubectl == nil {
			continue
		}
		recorded++
		t.Run(s.name, func(t *testing.T) {
			got, err := s.render(t)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(s.kubectl), stream(t, got.Objects)); diff != "" {
				t.Errorf("(-kubectl +render)\n%s", diff)
			}
		})
	}
	if recorded == 0 {
		t.Error("no scenario has a kubectl.yaml")
	}
}

// TestSameAsFlux compares with the steps of kustomize-controller, run with Flux's own packages on disk:
// generate, build, substitute, read objects, set common metadata.
func TestSameAsFlux(t *testing.T) {
	for _, s := range scenarios(t) {
		if s.flux == nil || s.Differs != "" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			got, err := s.render(t)
			if err != nil {
				t.Fatal(err)
			}
			want := fluxBuild(t, s)
			if diff := cmp.Diff(want, byID(got.Objects)); diff != "" {
				t.Errorf("(-Flux +render)\n%s", diff)
			}
		})
	}
}

// TestTrees compares with kustomize on every kustomization below the folder that HOLDFAST_TREES names:
// working copies of other people's repositories, for instance. Without the variable it is skipped.
func TestTrees(t *testing.T) {
	root := os.Getenv("HOLDFAST_TREES")
	if root == "" {
		t.Skip("HOLDFAST_TREES names no folder")
	}
	repository := readTree(t, root)
	same, refused, both, objects, unmarked := 0, 0, 0, 0, 0
	for _, dir := range render.Roots(repository) {
		got, err := render.Render(context.Background(), repository, dir, gitops.Render{Kustomize: &gitops.Kustomize{}}, render.Env{})
		if errors.Is(err, render.ErrRemote) || errors.Is(err, render.ErrPlugin) {
			refused++
			continue
		}
		built, wantErr := krusty.MakeKustomizer(&krusty.Options{
			Reorder: krusty.ReorderOptionLegacy, PluginConfig: types.DisabledPluginConfig(),
		}).Run(filesys.MakeFsOnDisk(), filepath.Join(root, dir))
		openapi.ResetOpenAPI()
		switch {
		case err != nil && wantErr != nil:
			both++
		case err != nil || wantErr != nil:
			t.Errorf("%s: got error %v, kustomize %v", dir, err, wantErr)
		default:
			if diff := cmp.Diff(text(t, built), stream(t, got.Objects)); diff != "" {
				t.Errorf("%s: (-kustomize +render)\n%s", dir, diff)
			}
			same++
			objects += len(got.Objects)
			for _, o := range got.Objects {
				if o.Origin.File == "" && len(o.Origin.Transformers) == 0 {
					unmarked++
					t.Logf("%s: no origin for %s", dir, o.ID)
				}
			}
		}
	}
	t.Logf("%d roots alike (%d objects, %d without an origin), %d fail in both, %d refused", same, objects, unmarked, both, refused)
}

// readTree reads the files of a folder.
func readTree(t *testing.T, root string) gitops.Tree {
	t.Helper()
	files := map[string]gitops.File{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		in, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if entry.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			files[filepath.ToSlash(in)] = gitops.File{Mode: gitops.Symlink, Data: []byte(target)}
			return err
		}
		data, err := os.ReadFile(name)
		files[filepath.ToSlash(in)] = gitops.File{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return gitops.NewTree(files)
}

func byID(objects []gitops.Declared) map[gitops.ObjectID]map[string]any {
	out := map[gitops.ObjectID]map[string]any{}
	for _, o := range objects {
		out[o.ID] = o.Content
	}
	return out
}

func fluxBuild(t *testing.T, s *scenario) map[gitops.ObjectID]map[string]any {
	t.Helper()
	var k unstructured.Unstructured
	if err := yaml.Unmarshal(s.flux, &k.Object); err != nil {
		t.Fatal(err)
	}
	root := s.disk(t)
	where, _, _ := unstructured.NestedString(k.Object, "spec", "path")
	dir := filepath.Join(root, where)
	if _, err := fluxkustomize.NewGenerator(root, k).WriteFile(dir); err != nil {
		t.Fatal(err)
	}
	built, err := fluxkustomize.SecureBuild(root, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := unstructured.NestedMap(k.Object, "spec", "postBuild"); ok {
		for _, res := range built.Resources() {
			out, err := fluxkustomize.SubstituteVariables(context.Background(), nil, k, res, fluxkustomize.SubstituteWithDryRun(true))
			if err != nil {
				t.Fatal(err)
			}
			if out != nil {
				if _, err := built.Replace(out); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	labels, _, _ := unstructured.NestedStringMap(k.Object, "spec", "commonMetadata", "labels")
	annotations, _, _ := unstructured.NestedStringMap(k.Object, "spec", "commonMetadata", "annotations")
	objects, problems := render.File("built.yaml", []byte(text(t, built)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, o := range objects {
		u := unstructured.Unstructured{Object: o.Content}
		if len(labels) > 0 {
			all := u.GetLabels()
			if all == nil {
				all = map[string]string{}
			}
			maps.Copy(all, labels)
			u.SetLabels(all)
		}
		if len(annotations) > 0 {
			all := u.GetAnnotations()
			if all == nil {
				all = map[string]string{}
			}
			maps.Copy(all, annotations)
			u.SetAnnotations(all)
		}
	}
	return byID(objects)
}

func text(t *testing.T, built resmap.ResMap) string {
	t.Helper()
	out, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestCharactersThatYAMLDoesNotHold: an object reads as who applies it reads what kustomize prints, and where kustomize
// cannot print it there is no render.
func TestCharactersThatYAMLDoesNotHold(t *testing.T) {
	refused := 0
	for _, char := range []string{"\x01", "\x7f", "\x80", "\x85", "\xa0", "\u00e9", "\u2028", "\u2029", "\ufeff", "\ufffd", "\ufffe", "\uffff", "\U0001f389", "\U0001fffe", "\r", "\t"} {
		files := map[string]string{
			"kustomization.yaml": "resources: [c.yaml]",
			"c.yaml":             fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: \"x%sy\"}\n", escaped(char)),
		}
		disk := filesys.MakeFsInMemory()
		for name, text := range files {
			if err := disk.WriteFile("/"+name, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/")
		if err != nil {
			t.Fatalf("%q: %v", char, err)
		}
		printed, printErr := built.AsYaml()
		got, err := kustomize(t, files, ".")
		if printErr != nil {
			refused++
			if err == nil || !strings.Contains(err.Error(), "kustomize cannot print it") {
				t.Errorf("%q: kustomize says %v, render %v", char, printErr, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", char, err)
			continue
		}
		var want map[string]any
		if err := yaml.Unmarshal(printed, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Objects[0].Content); diff != "" {
			t.Errorf("%q (-kustomize +render):\n%s", char, diff)
		}
	}
	if refused == 0 {
		t.Error("kustomize prints them all")
	}
}

// escaped writes a character as YAML's double quotes hold it.
func escaped(char string) string {
	r, _ := utf8.DecodeRuneInString(char)
	if len(char) == 1 {
		r = rune(char[0])
	}
	return fmt.Sprintf(`\U%08x`, r)
}
