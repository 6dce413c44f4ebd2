package gitops

import "testing"

func TestPatternCovers(t *testing.T) {
	root := map[string]any{"spec": map[string]any{"list": []any{
		map[string]any{"name": "a"}, map[string]any{"name": "STAKATER_X_SECRET"},
	}, "names": []any{"x.example.com/y"}}}
	for _, c := range []struct {
		name, pattern, path string
		want                bool
	}{
		{"the path itself", "spec.replicas", "spec.replicas", true},
		{"what lies below", "spec", "spec.template.spec.hostNetwork", true},
		{"not what lies above", "spec.replicas", "spec", false},
		{"not a neighbour with the same beginning", "spec.replica", "spec.replicas", false},
		{"any field by a wildcard", `metadata.annotations["field.cattle.io/*"]`, `metadata.annotations["field.cattle.io/projectId"]`, true},
		{"not a field of another domain", `metadata.annotations["field.cattle.io/*"]`, `metadata.annotations["cattle.io/status"]`, false},
		{"any entry by its keys", "spec.list[*].value", "spec.list[name=a].value", true},
		{"any entry by its index", "spec.list[*].value", "spec.list[3].value", true},
		{"no field where an entry is meant", "spec.list[*]", "spec.list.name", false},
		{"an entry by a wildcard in its key", "spec.list[name=STAKATER_*_SECRET]", "spec.list[name=STAKATER_X_SECRET].value", true},
		{"not an entry with another key", "spec.list[name=STAKATER_*_SECRET]", "spec.list[name=STAKATER_X]", false},
		{"an entry with more keys than are asked for", "spec.ports[port=80].nodePort", "spec.ports[port=80,protocol=TCP].nodePort", true},
		{"an index that holds such an entry", "spec.list[name=STAKATER_*_SECRET]", "spec.list[1]", true},
		{"not an index that holds another", "spec.list[name=STAKATER_*_SECRET]", "spec.list[0]", false},
		{"a scalar at an index", "spec.names[=*.example.com/*]", "spec.names[0]", true},
		{"an index by its number", "spec.list[1]", "spec.list[1].name", true},
		{"not another index", "spec.list[1]", "spec.list[0].name", false},
	} {
		pattern, err := ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(c.name, err)
		}
		path, err := ParsePath(c.path)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got := pattern.Covers(path, root); got != c.want {
			t.Errorf("%s: %s covers %s: got %v", c.name, c.pattern, c.path, got)
		}
	}
}

func TestPatternOfAScalarEntry(t *testing.T) {
	pattern, err := ParsePattern("metadata.finalizers[=finalizer.keda.sh]")
	if err != nil {
		t.Fatal(err)
	}
	list := Path{Field("metadata"), Field("finalizers")}
	if !pattern.Covers(list.Child(Entry(Key{Value: "finalizer.keda.sh"})), nil) {
		t.Error("it does not cover its entry")
	}
	if pattern.Covers(list.Child(Entry(Key{Value: "other"})), nil) {
		t.Error("it covers another entry")
	}
	if !pattern.Reaches(list, nil) || pattern.Reaches(Path{Field("spec")}, nil) {
		t.Error("it reaches its list and nothing else")
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	for _, text := range []string{"", "spec[", "spec..a", "[name"} {
		if _, err := ParsePattern(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "a", true}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*b*c", "axxbyyc", true}, {"a*b*c", "axxcyyb", false}, {"*.x/*", "a.x/b", true}, {"a*a", "a", false},
	} {
		if got := Glob(c.pattern, c.text); got != c.want {
			t.Errorf("%q on %q: got %v", c.pattern, c.text, got)
		}
	}
}
