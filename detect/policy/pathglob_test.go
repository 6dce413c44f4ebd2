package policy

import (
	"testing"

	"holdfast/gitops"
)

func TestPathGlob(t *testing.T) {
	for name, c := range map[string]struct {
		pattern, path string
		want          bool
	}{
		"the field itself":                 {"spec.replicas", "spec.replicas", true},
		"another field":                    {"spec.replicas", "spec.replica", false},
		"below":                            {"spec", "spec.replicas", true},
		"above":                            {"spec.replicas", "spec", false},
		"any entry by key":                 {"spec.containers[*].image", "spec.containers[name=web].image", true},
		"any entry by position":            {"spec.args[*]", "spec.args[3]", true},
		"an entry is no field":             {"spec.args[*]", "spec.args.x", false},
		"one entry":                        {"spec.containers[name=web]", "spec.containers[name=web].image", true},
		"another entry":                    {"spec.containers[name=web]", "spec.containers[name=api].image", false},
		"one of several keys":              {"spec.ports[protocol=TCP]", "spec.ports[port=80,protocol=TCP]", true},
		"a key pattern":                    {"spec.containers[name=istio-*]", "spec.containers[name=istio-proxy]", true},
		"a position":                       {"spec.args[1]", "spec.args[1]", true},
		"another position":                 {"spec.args[1]", "spec.args[2]", false},
		"a name pattern":                   {`metadata.annotations["example.com/*"]`, `metadata.annotations["example.com/a"]`, true},
		"a name pattern of another prefix": {`metadata.annotations["example.com/*"]`, `metadata.annotations["example.org/a"]`, false},
		"one field of any name":            {"spec.*.image", "spec.web.image", true},
		"one field is not two":             {"spec.*.image", "spec.a.b.image", false},
		"any depth":                        {"**.image", "spec.containers[name=web].image", true},
		"any depth may be none":            {"**.spec", "spec", true},
		"any depth in the middle":          {"spec.**.image", "spec.a[0].b.image.x", true},
		"any depth that does not end so":   {"**.image", "spec.containers[name=web].imagePullPolicy", false},
		"all":                              {"**", "a.b.c", true},
		"all, of the object":               {"**", "", true},
		"a field, of the object":           {"spec", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := parsePathGlob(c.pattern)
			if err != nil {
				t.Fatal(err)
			}
			path, err := gitops.ParsePath(c.path)
			if err != nil {
				t.Fatal(err)
			}
			if got := g.matches(path); got != c.want {
				t.Errorf("%s on %s: got %t", c.pattern, c.path, got)
			}
		})
	}
}
