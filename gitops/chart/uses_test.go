package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
)

func TestUsesListsTheValuesThatATemplateNames(t *testing.T) {
	files := map[string]gitops.File{
		"web/Chart.yaml":                   {Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: cache, alias: store, version: 0.1.0}]\n")},
		"web/values.yaml":                  {Data: []byte("a: 1\n")},
		"web/templates/_helpers.tpl":       {Data: []byte("{{- define \"image\" -}}{{ .Values.image.tag }}{{ include \"name\" . }}{{- end }}\n{{- define \"name\" }}{{ .Values.name }}{{ end }}\n{{- define \"other\" }}{{ .Values.other }}{{ end }}\n")},
		"web/templates/a.yaml":             {Data: []byte("x: {{ include \"image\" $ }}\ny: {{ index $.Values \"log-level\" \"web\" }}\nz: {{ .Values.global.zone }}\n")},
		"web/templates/b.yaml":             {Data: []byte("{{ toYaml .Values }}\n")},
		"web/charts/cache/Chart.yaml":      {Data: []byte("apiVersion: v2\nname: cache\nversion: 0.1.0\n")},
		"web/charts/cache/templates/c.yml": {Data: []byte("{{ .Values.size }}{{ .Values.global.zone }}\n")},
	}
	c, err := Load(InTree(gitops.NewTree(files)), "web")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"named templates count for those who include them", "web/templates/a.yaml", []string{"global.zone", "image.tag", "log-level.web", "name"}},
		{"all values at once are an empty path", "web/templates/b.yaml", []string{""}},
		{"a dependency's lie below its alias, and global ones at the root too", "web/charts/cache/templates/c.yml", []string{"global.zone", "store.global.zone", "store.size"}},
		{"a file that is no template", "web/values.yaml", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, p := range c.Uses(test.file) {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
