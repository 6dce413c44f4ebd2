package live

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
)

func TestWhatEngineObjectsReferToIsRead(t *testing.T) {
	s := newAPIServer(t)
	s.resources = append(s.resources, res("argoproj.io", "v1alpha1", "applications", "Application", true),
		res("helm.toolkit.fluxcd.io", "v2", "helmreleases", "HelmRelease", true))
	from := func(kind, name string) map[string]any { return map[string]any{"kind": kind, "name": name} }
	s.put("applications", "delivery", "web", nil)
	s.put("kustomizations", "flux-system", "shop", map[string]any{"spec": map[string]any{
		"postBuild": map[string]any{"substituteFrom": []any{from("ConfigMap", "vars"), from("Secret", "vars"), from("Pod", "vars"), "vars"}},
	}})
	s.put("helmreleases", "blog", "blog", map[string]any{"spec": map[string]any{"valuesFrom": []any{from("ConfigMap", "values"), from("ConfigMap", "gone")}}})
	for _, at := range [][2]string{{"delivery", "argocd-cm"}, {"delivery", "other"}, {"flux-system", "vars"}, {"blog", "values"}} {
		s.put("configmaps", at[0], at[1], map[string]any{"data": map[string]any{"a": "b"}})
	}
	s.put("secrets", "flux-system", "vars", nil)

	got, err := s.connect(Options{}).EngineObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, id := range got.Objects.IDs() {
		names = append(names, id.String())
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{
		"Application.argoproj.io/delivery/web", "ConfigMap/blog/values", "ConfigMap/delivery/argocd-cm", "ConfigMap/flux-system/vars",
		"HelmRelease.helm.toolkit.fluxcd.io/blog/blog", "Kustomization.kustomize.toolkit.fluxcd.io/flux-system/shop",
	}, names); diff != "" {
		t.Error(diff)
	}
	if len(got.Notes) > 0 {
		t.Errorf("notes: %v", got.Notes)
	}
	for _, u := range got.Unread {
		if !u.Optional {
			t.Errorf("unread and not optional: %+v", u)
		}
	}
	if n := s.asked("/api/v1/namespaces/flux-system/secrets/vars"); n != 0 {
		t.Errorf("a Secret was asked for %d times without leave", n)
	}
	got, err = s.connect(Options{Secrets: SecretsValues}).EngineObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Objects.IDs()) != len(names)+1 {
		t.Errorf("with leave the Secret is read: %v", got.Objects.IDs())
	}
}

func TestWhatGivenEngineObjectsReferToIsRead(t *testing.T) {
	s := newAPIServer(t)
	s.put("configmaps", "flux-system", "vars", map[string]any{"data": map[string]any{"a": "b"}})
	given := gitops.NewObject(map[string]any{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"namespace": "flux-system", "name": "shop"},
		"spec": map[string]any{"postBuild": map[string]any{"substituteFrom": []any{map[string]any{"kind": "ConfigMap", "name": "vars"}}}},
	})
	got, err := s.connect(Options{Given: []gitops.Object{given}}).EngineObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := (gitops.ObjectID{Kind: "ConfigMap", Namespace: "flux-system", Name: "vars"}); !got.Objects.Has(want) {
		t.Errorf("read %v, want %s", got.Objects.IDs(), want)
	}
}

func TestRefusedSettingsAreANote(t *testing.T) {
	s := newAPIServer(t)
	s.resources = append(s.resources, res("argoproj.io", "v1alpha1", "applications", "Application", true))
	s.put("applications", "argocd", "web", nil)
	s.fault = forbid("/api/v1/namespaces/argocd/configmaps")
	got, err := s.connect(Options{}).EngineObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "argocd/argocd-cm") {
		t.Errorf("notes: %v", got.Notes)
	}
	if len(got.Unread) != 1 || !got.Unread[0].Optional {
		t.Errorf("unread: %+v", got.Unread)
	}
}
