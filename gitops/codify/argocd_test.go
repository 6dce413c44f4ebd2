package codify

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
)

func TestApplicationsThatAnApplicationSetMakes(t *testing.T) {
	set := func(spec map[string]any) gitops.Object {
		return gitops.NewObject(map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": map[string]any{"name": "web", "namespace": "argocd"}, "spec": spec,
		})
	}
	list := func(elements ...any) []any {
		return []any{map[string]any{"list": map[string]any{"elements": elements}}}
	}
	template := func(name string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"project": "default"}}
	}
	for _, test := range []struct {
		name string
		spec map[string]any
		want []string
	}{
		{"one of each element", map[string]any{"generators": list(map[string]any{"env": "a"}, map[string]any{"env": "b"}), "template": template("web-{{env}}")}, []string{"web-a", "web-b"}},
		{"Go templates that only put in", map[string]any{"goTemplate": true, "generators": list(map[string]any{"at": map[string]any{"env": "a"}}), "template": template("web-{{ .at.env }}")}, []string{"web-a"}},
		{"Go templates that do more", map[string]any{"goTemplate": true, "generators": list(map[string]any{"env": "a"}), "template": template("web-{{ .env | upper }}")}, nil},
		{"parameters that are not there", map[string]any{"generators": list(map[string]any{"env": "a"}), "template": template("web-{{cluster}}")}, nil},
		{"other generators", map[string]any{"generators": []any{map[string]any{"clusters": map[string]any{}}}, "template": template("web")}, nil},
		{"patches of the template", map[string]any{"generators": list(map[string]any{"env": "a"}), "template": template("web"), "templatePatch": "spec: {}"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range elements(set(test.spec)) {
				got = append(got, e.name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextsOfImageOverrides(t *testing.T) {
	for _, test := range []struct {
		name, of string
		renamed  bool
		want     string
	}{
		{"another tag", "shop/web", false, "shop/web:2"},
		{"another name", "web", false, "web=shop/web:2"},
		{"an entry with a name keeps it", "shop/web", true, "shop/web=shop/web:2"},
	} {
		if got := imageText(test.of, image{name: "shop/web", tag: "2"}, test.renamed); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
