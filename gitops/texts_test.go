package gitops

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRewriteTexts(t *testing.T) {
	v := map[string]any{"a": []any{"x", int64(1), map[string]any{"b": "x"}}, "c": map[string]any{"d": "y"}}
	before := Clone(v)
	var asked []string
	got, changed := RewriteTexts(v, []string{"top"}, func(text string, at []string) string {
		if text != "x" {
			return text
		}
		asked = append(asked, strings.Join(at, "."))
		return "z"
	})
	want := map[string]any{"a": []any{"z", int64(1), map[string]any{"b": "z"}}, "c": map[string]any{"d": "y"}}
	if diff := cmp.Diff(want, got); diff != "" || !changed {
		t.Errorf("changed %v (-want +got):\n%s", changed, diff)
	}
	if diff := cmp.Diff([]string{"top.a", "top.a.b"}, asked); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, any(v)); diff != "" {
		t.Errorf("the value itself was changed (-before +after):\n%s", diff)
	}
	if same, changed := RewriteTexts(v, nil, func(text string, _ []string) string { return text }); changed || !cmp.Equal(same, any(v)) {
		t.Errorf("nothing was to change: %v, %v", same, changed)
	}
}
