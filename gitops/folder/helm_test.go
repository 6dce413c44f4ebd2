package folder_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/folder"
)

func decode(spec string) (gitops.Application, error) {
	return folder.Decode("shop.yaml", []byte("apiVersion: holdfast/v1\nkind: Application\nmetadata: {name: shop, namespace: default}\nspec:\n  engine: flux\n  path: charts/shop\n"+spec))
}

func TestHelm(t *testing.T) {
	app, err := decode("  helm:\n    namespace: store\n    valueFiles: [envs/common.yaml, ./envs/prod.yaml]\n    values: {replicas: 3}\n    kubeVersion: v1.33.1\n    apiVersions: [example.test/v1]\n")
	if err != nil {
		t.Fatal(err)
	}
	at := gitops.Path{gitops.Field("spec"), gitops.Field("helm"), gitops.Field("values")}
	want := gitops.Render{Namespace: "store", Helm: &gitops.Helm{
		ReleaseName: "shop", Namespace: "store", KubeVersion: "v1.33.1", APIVersions: []string{"example.test/v1"},
		Values: []gitops.Values{{File: "envs/common.yaml"}, {File: "envs/prod.yaml"}, {Inline: map[string]any{"replicas": 3}, At: at}},
	}}
	if diff := cmp.Diff(want, app.Render); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if app.Tracking.Selector != "helm.toolkit.fluxcd.io/name" || app.Tracking.Labels["helm.toolkit.fluxcd.io/namespace"] != "default" {
		t.Errorf("tracking %+v", app.Tracking)
	}
}

func TestHelmThatIsRefused(t *testing.T) {
	for _, test := range []struct{ name, spec, want string }{
		{"two ways to render", "  helm: {}\n  plain: {}\n", "spec.kustomize, spec.helm and spec.plain exclude each other"},
		{"an unknown key", "  helm: {valuesFiles: [a]}\n", "valuesFiles"},
		{"a file outside the repository", "  helm: {valueFiles: [../a.yaml]}\n", `spec.helm.valueFiles[0] "../a.yaml": want a path in the repository, from its root`},
		{"a URL", "  helm: {valueFiles: [a.yaml, 'https://example.test/a.yaml']}\n", "spec.helm.valueFiles[1]"},
		{"an absolute path", "  helm: {valueFiles: [/a.yaml]}\n", "spec.helm.valueFiles[0]"},
		{"two namespaces", "  namespace: a\n  helm: {namespace: b}\n", "a release has one namespace"},
		{"values that are a list", "  helm: {values: [a]}\n", "values"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := decode(test.spec); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "shop.yaml") {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
