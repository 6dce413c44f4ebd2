package crd

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write schemas.json anew from testdata")

// TestDefinitionsAreThoseOfTheProjects makes the embedded definitions anew from the projects' own files, which say where they
// are from.
func TestDefinitionsAreThoseOfTheProjects(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	made := map[string]definition{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(data), "\n")
		source, ok := strings.CutPrefix(first, "# Source: https://github.com/")
		if !ok {
			t.Fatalf("%s names no source", file)
		}
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Served bool
					Schema struct {
						OpenAPIV3Schema schema `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(data, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		parts := strings.SplitN(source, ", ", 3)
		for _, v := range crd.Spec.Versions {
			if !v.Served {
				continue
			}
			s := v.Schema.OpenAPIV3Schema
			delete(s.Properties, "status")
			made[crd.Spec.Group+"/"+v.Name+", "+crd.Spec.Names.Kind] = definition{Source: parts[0] + " " + parts[1], Schema: s}
		}
	}
	want, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("schemas.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, schemasFile) {
		t.Error("schemas.json is not what testdata gives: go test ./bot/report/crd -update")
	}
}

func TestCheck(t *testing.T) {
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, manifest string
		patch          bool
		fault          string
	}{
		{"a Kustomization", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop}\nspec: {interval: 10m, prune: true, sourceRef: {kind: GitRepository, name: fleet}}", false, ""},
		{"a patch may leave out the rest", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop}\nspec: {interval: 5m}", true, ""},
		{"a whole may not", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop}\nspec: {interval: 5m}", false, "prune is missing"},
		{"drift detection", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop}\nspec: {driftDetection: {mode: enabled, ignore: [{paths: [/spec/replicas], target: {kind: Deployment}}]}}", true, ""},
		{"a mode that there is not", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: shop}\nspec: {driftDetection: {mode: on-demand}}", true, "spec.driftDetection.mode: on-demand"},
		{"self-heal", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop}\nspec: {syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [RespectIgnoreDifferences=true]}}", true, ""},
		{"self-heal in the wrong case", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop}\nspec: {syncPolicy: {automated: {selfheal: true}}}", true, "spec.syncPolicy.automated.selfheal: no such field"},
		{"a text for a boolean", "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop}\nspec: {syncPolicy: {automated: {prune: 'true'}}}", true, "want true or false"},
		{"a duration without a unit", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: shop}\nspec: {interval: '5'}", true, "does not have the form"},
		{"an alert", "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {name: drift}\nspec: {providerRef: {name: pager}, eventSeverity: info, eventSources: [{kind: Kustomization, name: '*'}]}", false, ""},
		{"a ConfigMap with a misspelt field", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndatas: {}", false, "unknown field"},
		{"a role", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: readers}\nrules: [{apiGroups: ['*'], resources: ['*'], verbs: [get, list, watch]}]", false, ""},
		{"a version that is gone", "apiVersion: kustomize.toolkit.fluxcd.io/v1beta1\nkind: Kustomization\nmetadata: {name: shop}", false, "no definition"},
		{"no name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {}", false, "metadata.name is missing"},
		{"a key twice", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: b}", false, "already set"},
	} {
		faults := strings.Join(s.Check(c.manifest, c.patch), "; ")
		if c.fault == "" && faults != "" || !strings.Contains(faults, c.fault) {
			t.Errorf("%s: %q, want %q", c.name, faults, c.fault)
		}
	}
	if source, ok := s.Source("argoproj.io/v1alpha1", "Application"); !ok || !strings.HasPrefix(source, "argoproj/argo-cd v") {
		t.Errorf("source %q", source)
	}
	if !slices.Contains(s.Check("[]", false), "no mapping: json: cannot unmarshal array into Go value of type map[string]interface {}") {
		t.Error("a list passes for an object")
	}
}
