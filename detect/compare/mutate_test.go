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

// TestEveryChangedLeafIsFound changes each scalar of each object that a real API server stored, one at a time.
// Every change is found, at the value or above it, unless the server itself sets the field.
func TestEveryChangedLeafIsFound(t *testing.T) {
	data, err := os.ReadFile("../../gitops/typed/testdata/observed.json")
	if err != nil {
		t.Fatal(err)
	}
	var observed []struct{ Asked, Stored map[string]any }
	if err := json.Unmarshal(data, &observed); err != nil {
		t.Fatal(err)
	}
	c := newComparer(t)
	changed := 0
	for _, o := range observed {
		asked := gitops.NewObject(o.Asked)
		eachLeaf(o.Stored, nil, func(path gitops.Path, set func(any), old any) {
			if !comparable(path) {
				return
			}
			set(other(old))
			defer set(old)
			changed++
			found, err := c.Compare(asked, gitops.NewObject(o.Stored), compare.Options{})
			if err != nil {
				t.Error(err)
			}
			for _, d := range found {
				if touches(d.Path, path) {
					return
				}
			}
			if !serverSets(asked.ID.Kind, path.String()) {
				t.Errorf("%s: %s from %v to %v is not found", asked.ID, path, old, other(old))
			}
		})
	}
	if changed < 1500 {
		t.Errorf("only %d changes made", changed)
	}
}

// TestEveryRemovedFieldIsFound takes each declared scalar field out of the stored object, one at a time.
func TestEveryRemovedFieldIsFound(t *testing.T) {
	data, err := os.ReadFile("../../gitops/typed/testdata/observed.json")
	if err != nil {
		t.Fatal(err)
	}
	var observed []struct{ Asked, Stored map[string]any }
	if err := json.Unmarshal(data, &observed); err != nil {
		t.Fatal(err)
	}
	c := newComparer(t)
	removed := 0
	for _, o := range observed {
		asked := gitops.NewObject(o.Asked)
		eachLeaf(o.Asked, nil, func(path gitops.Path, _ func(any), declared any) {
			last := path[len(path)-1]
			parent, ok := gitops.Lookup(o.Stored, path[:len(path)-1]).V.(map[string]any)
			if !ok || !last.IsField() || !comparable(path) || typed.IsZero(declared) {
				return
			}
			old, there := parent[last.Field]
			if !there {
				return // dropped by the server: apiGroup "" and the like
			}
			delete(parent, last.Field)
			defer func() { parent[last.Field] = old }()
			removed++
			found, err := c.Compare(asked, gitops.NewObject(o.Stored), compare.Options{})
			if err != nil {
				t.Error(err)
			}
			for _, d := range found {
				if touches(d.Path, path) {
					return
				}
			}
			t.Errorf("%s: the loss of %s is not found", asked.ID, path)
		})
	}
	if removed < 700 {
		t.Errorf("only %d removals made", removed)
	}
}

func comparable(path gitops.Path) bool {
	if path[0].Field == "metadata" {
		return len(path) > 2
	}
	return len(path) > 1
}

// serverSets lists the fields that only the API server chooses.
func serverSets(kind, path string) bool {
	switch kind {
	case "Service":
		return strings.Contains(path, "clusterIP") || strings.Contains(path, "ipFamil") || strings.Contains(path, "odePort")
	case "Job":
		return strings.HasPrefix(path, "spec.selector")
	case "Pod":
		return path == "spec.priority" || path == "spec.preemptionPolicy" // of a class
	case "CertificateSigningRequest":
		return path != "spec.request" && path != "spec.signerName" && !strings.HasPrefix(path, "spec.usages")
	case "DeviceTaintRule":
		return path == "spec.taint.timeAdded"
	case "DaemonSet":
		return strings.Contains(path, "deprecated.daemonset.template.generation")
	}
	return false
}

// touches says whether a difference at one path speaks of another, by names and positions alike.
func touches(at, path gitops.Path) bool {
	for i := range min(len(at), len(path)) {
		if at[i].IsField() != path[i].IsField() || at[i].IsField() && at[i].Field != path[i].Field {
			return false
		}
	}
	return true
}

func other(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case bool:
		return !v
	case float64:
		return v + 1
	}
	return "x"
}

func eachLeaf(v any, path gitops.Path, do func(path gitops.Path, set func(any), old any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			p := path.Child(gitops.Field(key))
			if isLeaf(inner) {
				do(p, func(x any) { v[key] = x }, inner)
			} else {
				eachLeaf(inner, p, do)
			}
		}
	case []any:
		for i, inner := range v {
			p := path.Child(gitops.Index(i))
			if isLeaf(inner) {
				do(p, func(x any) { v[i] = x }, inner)
			} else {
				eachLeaf(inner, p, do)
			}
		}
	}
}

func isLeaf(v any) bool {
	switch v.(type) {
	case map[string]any, []any, nil:
		return false
	}
	return true
}
