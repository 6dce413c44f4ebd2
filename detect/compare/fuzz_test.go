package compare_test

import (
	"encoding/json"
	"testing"

	"holdfast/detect/compare"
	"holdfast/gitops"
)

// FuzzNothingDiffersFromItself compares any object with itself, and two any objects with each other for
// crashes; differences with All are never fewer than without.
func FuzzNothingDiffersFromItself(f *testing.F) {
	git, live := deployment(f)
	a, _ := json.Marshal(git.Content)
	b, _ := json.Marshal(live.Content)
	f.Add(a, b)
	f.Add([]byte(`{"apiVersion":"v1","kind":"Secret","stringData":{"a":1},"data":[]}`), []byte(`{"apiVersion":"v1","kind":"Secret","data":{"a":null}}`))
	f.Add([]byte(`{"apiVersion":"x/v1","kind":"Y","spec":[{"name":"a"},null,[[]]]}`), []byte(`{"apiVersion":"x/v1","kind":"Y","spec":[{"name":"a","b":{}},null]}`))
	f.Add([]byte(`{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","spec":null}`), []byte(`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"managedFields":[0]}}`))
	c := newComparer(f)
	f.Fuzz(func(t *testing.T, x, y []byte) {
		var a, b map[string]any
		if json.Unmarshal(x, &a) != nil || json.Unmarshal(y, &b) != nil {
			t.Skip()
		}
		one, other := gitops.NewObject(a), gitops.NewObject(b)
		if one.IsSecret() && a["stringData"] != nil {
			return // Git's way to write: a live Secret has none
		}
		if found, _ := c.Compare(one, one, compare.Options{}); len(found) > 0 {
			t.Errorf("%s differs from itself: %v", x, found)
		}
		some, _ := c.Compare(one, other, compare.Options{})
		all, _ := c.Compare(one, other, compare.Options{All: true})
		differing := 0
		for _, d := range all {
			if d.Differs {
				differing++
			}
		}
		if differing != len(some) {
			t.Errorf("%d differences, %d with All\n%s\n%s", len(some), differing, x, y)
		}
	})
}
