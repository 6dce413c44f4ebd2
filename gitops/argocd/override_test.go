package argocd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/argocd"
)

func TestOverridden(t *testing.T) {
	kustomize := gitops.Render{Kustomize: &gitops.Kustomize{NamePrefix: "a-", Images: []gitops.Image{{Name: "x", NewTag: "1"}}}}
	helm := gitops.Render{Helm: &gitops.Helm{Values: []gitops.Values{
		{File: "values.yaml"}, {Parameter: &gitops.Parameter{Name: "a", Value: "1"}}, {Parameter: &gitops.Parameter{Name: "f", File: "ca.pem"}},
	}}}
	for _, row := range []struct {
		name  string
		how   gitops.Render
		files map[string]string
		want  gitops.Render
		err   string
	}{
		{name: "no file", how: kustomize, want: kustomize},
		{name: "a file for another Application", how: kustomize, files: map[string]string{"apps/web/.argocd-source-api.yaml": "kustomize: {images: [y:2]}"}, want: kustomize},
		{name: "images are replaced whole", how: kustomize, files: map[string]string{"apps/web/.argocd-source-web.yaml": "kustomize: {images: ['y=z:2']}"},
			want: gitops.Render{Kustomize: &gitops.Kustomize{NamePrefix: "a-", Images: []gitops.Image{{Name: "y", NewName: "z", NewTag: "2"}}}}},
		{name: "the Application's own file comes last", how: kustomize,
			files: map[string]string{"apps/web/.argocd-source.yaml": "kustomize: {images: [y:1]}", "apps/web/.argocd-source-web.yaml": "kustomize: {images: [y:2]}"},
			want:  gitops.Render{Kustomize: &gitops.Kustomize{NamePrefix: "a-", Images: []gitops.Image{{Name: "y", NewTag: "2"}}}}},
		{name: "parameters stand before those of files", how: helm, files: map[string]string{"apps/web/.argocd-source-web.yaml": "helm: {parameters: [{name: image.tag, value: '2', forceString: true}]}"},
			want: gitops.Render{Helm: &gitops.Helm{Values: []gitops.Values{
				{File: "values.yaml"}, {Parameter: &gitops.Parameter{Name: "image.tag", Value: "2", String: true}}, {Parameter: &gitops.Parameter{Name: "f", File: "ca.pem"}},
			}}}},
		{name: "anything else is an error", how: helm, files: map[string]string{"apps/web/.argocd-source.yaml": "helm: {valueFiles: [x.yaml]}"}, err: "not supported"},
		{name: "a variable is an error", how: kustomize, files: map[string]string{"apps/web/.argocd-source.yaml": "kustomize: {images: ['y:$ARGOCD_APP_REVISION']}"}, err: "variables"},
	} {
		t.Run(row.name, func(t *testing.T) {
			files := map[string]gitops.File{}
			for name, text := range row.files {
				files[name] = gitops.File{Data: []byte(text)}
			}
			app := gitops.Application{Name: "web", Source: gitops.Source{Path: "apps/web"}, Render: row.how, Parts: []gitops.Part{{Path: "apps/web", Render: row.how}}}
			got, err := argocd.Overridden(app, gitops.NewTree(files))
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) || !strings.Contains(err.Error(), ".argocd-source") {
					t.Errorf("got error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, got.Render); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(row.want, got.Parts[0].Render); diff != "" {
				t.Error(diff)
			}
		})
	}
}
