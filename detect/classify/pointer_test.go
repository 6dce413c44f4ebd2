package classify

import (
	"strings"
	"testing"

	"holdfast/detect"
	"holdfast/gitops"
)

// FuzzPointer holds that the pointer to a place covers it and what lies below, that a longer one does not, and that no
// pointer or target of an ignore rule makes the judgement fail.
func FuzzPointer(f *testing.F) {
	f.Add("/spec/replicas", "spec", "replicas", "Deployment")
	f.Add("/metadata/annotations/a.test~1b", "metadata", "a.test/b", "(Dep|Dae).*")
	f.Add("/a~01", "a~1", "", "[")
	f.Add("~/~2//0", "0", "-1", "*")
	f.Fuzz(func(t *testing.T, pointer, first, second, kind string) {
		at := []string{first, second}
		escape := strings.NewReplacer("~", "~0", "/", "~1").Replace
		whole := "/" + escape(first) + "/" + escape(second)
		if !covers(whole, at) || !covers(whole, append(at, "below")) {
			t.Errorf("%q does not cover %q", whole, at)
		}
		if covers(whole+"/more", at) {
			t.Errorf("%q covers %q", whole+"/more", at)
		}
		covers(pointer, at)
		object := gitops.NewObject(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": second}, first: []any{map[string]any{second: "a"}}})
		a := &about{Subject: Subject{
			Declared: &gitops.Declared{Object: object}, Live: &object,
			Ignore: []IgnoreRule{{Name: "r", Pointers: []string{pointer}, Target: &gitops.PatchTarget{Kind: kind, Name: first}}, {Name: "e", Exact: true, Pointers: []string{whole}, Target: &gitops.PatchTarget{Kind: kind}}},
		}}
		path := gitops.Path{gitops.Field(first), gitops.Index(0), gitops.Field(second)}
		a.applyIgnore(detect.Field{Path: path, Drift: true}, detect.Difference{Path: path, Differs: true})
	})
}
