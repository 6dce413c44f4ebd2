package compare_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdfast/detect"
	"holdfast/detect/compare"
	"holdfast/gitops"
	"holdfast/gitops/typed"

	kyaml "sigs.k8s.io/yaml"
)

func documents(t testing.TB, file string) []gitops.Object {
	t.Helper()
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []gitops.Object
	for _, doc := range bytes.Split(append([]byte("\n"), data...), []byte("\n---")) {
		var content map[string]any
		if err := kyaml.Unmarshal(doc, &content); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(content) > 0 {
			out = append(out, gitops.NewObject(content))
		}
	}
	return out
}

type expected struct {
	Render  struct{ Tool, Namespace string }
	Objects []struct {
		Ref      detect.ObjectRef
		Presence string
		Fields   []map[string]any
	}
}

func TestX(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(os.Getenv("HOLDFAST_CASES"), "*"))
	for _, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, "expect.yaml"))
		if err != nil {
			continue
		}
		var want expected
		if err := kyaml.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if want.Render.Tool != "plain" {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			defer func() {
				if e := recover(); e != nil {
					t.Log("skip", e)
				}
			}()
			git := documents(t, filepath.Join(dir, "git.yaml"))
			live := documents(t, filepath.Join(dir, "live.yaml"))
			crds := documents(t, filepath.Join(dir, "crds.yaml"))
			c := newComparer(t, crds...)
			for _, o := range want.Objects {
				if o.Presence != "both" {
					continue
				}
				g := find(git, o.Ref.ID())
				l := find(live, o.Ref.ID())
				if g == nil || l == nil {
					t.Log("no", o.Ref, g == nil, l == nil)
					continue
				}
				all, err := c.Compare(*g, *l, compare.Options{All: true})
				if err != nil {
					t.Error(err)
				}
				check(t, o.Ref, o.Fields, all)
			}
		})
	}
}

func check(t *testing.T, ref detect.ObjectRef, rows []map[string]any, all []detect.Difference) {
	listed := map[string]bool{}
	for _, row := range rows {
		path, err := gitops.ParsePath(row["path"].(string))
		if err != nil {
			t.Error(err)
			continue
		}
		listed[path.String()] = true
		var got *detect.Difference
		for i := range all {
			if all[i].Path.Equal(path) {
				got = &all[i]
			}
		}
		differs := row["differs"].(bool)
		switch {
		case got == nil && differs:
			t.Errorf("%s %s: not found", ref.Name, path)
		case got == nil:
			t.Logf("   unlisted harmless %s", path)
		case got.Differs != differs:
			t.Errorf("%s %s: differs %v", ref.Name, path, got.Differs)
		default:
			t.Logf("ok %s %s %v", got.Kind, path, owners(got))
			if differs && !got.Masked {
				for _, side := range []struct {
					n string
					v gitops.Value
				}{{"git", got.Git}, {"live", got.Live}} {
					w, has := row[side.n]
					if has != side.v.Set {
						t.Errorf("%s %s: %s has %v", ref.Name, path, side.n, side.v)
						continue
					}
					if w == "<present>" || !has {
						continue
					}
					if !typed.Equal(typed.Anything(), w, side.v.V) && !reflect.DeepEqual(w, side.v.V) && fmt.Sprint(w) != fmt.Sprint(side.v.V) {
						t.Errorf("%s %s %s: want %v got %v", ref.Name, path, side.n, w, side.v.V)
					}
				}
			}
		}
	}
	for _, d := range all {
		if d.Differs && !listed[d.Path.String()] {
			t.Logf("EXTRA %s %s git=%v live=%.60s %v", d.Kind, d.Path, d.Git.V, fmt.Sprint(d.Live.V), owners(&d))
		}
	}
}

func owners(d *detect.Difference) string {
	var out []string
	for _, o := range d.Owners {
		out = append(out, o.Manager+"/"+o.Operation)
	}
	return strings.Join(out, ",")
}

func find(list []gitops.Object, id gitops.ObjectID) *gitops.Object {
	for i := range list {
		if list[i].ID.GroupKind() == id.GroupKind() && list[i].ID.Name == id.Name && (list[i].ID.Namespace == "" || id.Namespace == "" || list[i].ID.Namespace == id.Namespace) {
			return &list[i]
		}
	}
	return nil
}
