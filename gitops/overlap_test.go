package gitops

import "testing"

func TestOverlap(t *testing.T) {
	content := map[string]any{"spec": map[string]any{
		"containers": []any{
			map[string]any{"name": "web", "args": []any{"--a", "--b"}, "env": []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "B", "value": "2"}}},
			map[string]any{"name": "log"},
		},
	}}
	cases := []struct {
		name, a, b string
		want       bool
	}{
		{"the same path", "spec.containers[name=web].args", "spec.containers[name=web].args", true},
		{"one leads to the other", "spec.containers[name=web]", "spec.containers[name=web].args[0]", true},
		{"an entry by its place and by its key", "spec.containers[0].env[1].value", "spec.containers[name=web].env[name=B].value", true},
		{"another entry", "spec.containers[0].env[1].value", "spec.containers[name=web].env[name=A].value", false},
		{"another entry, above", "spec.containers[1]", "spec.containers[name=web].args", false},
		{"an entry that is not there", "spec.containers[0].env[1].value", "spec.containers[name=web].env[name=C].value", false},
		{"an entry that is not there, by some of its keys", "spec.ports[port=80,protocol=UDP].name", "spec.ports[port=80]", true},
		{"another entry that is not there", "spec.ports[port=80,protocol=UDP]", "spec.ports[port=80,protocol=TCP]", false},
		{"entries without keys, which move", "spec.containers[0].args[0]", "spec.containers[name=web].args[1]", true},
		{"another field", "spec.containers[0].args", "spec.containers[name=web].env", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := ParsePath(c.a)
			if err != nil {
				t.Fatal(err)
			}
			b, err := ParsePath(c.b)
			if err != nil {
				t.Fatal(err)
			}
			if Overlap(content, a, b) != c.want || Overlap(content, b, a) != c.want {
				t.Errorf("%v and %v, want %v", Overlap(content, a, b), Overlap(content, b, a), c.want)
			}
		})
	}
}
