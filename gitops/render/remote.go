package render

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// Kustomize turns a string into a network access in two places: a file whose URL scheme is http or https
// is fetched, and a base that looks like a Git address is cloned by running git. Both tests are answered
// here before kustomize sees the string, a little more strictly than kustomize's own parsers.

var (
	schemePattern = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*(::|://)`)
	userPattern   = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)
	hostPattern   = regexp.MustCompile(`(?i)^(github\.com[/:]|gh:)`)
)

// remoteBase says whether a resource, base or component would be looked for outside the tree.
func remoteBase(ref string) bool {
	return remoteFile(ref) || schemePattern.MatchString(ref) || userPattern.MatchString(ref) || hostPattern.MatchString(ref)
}

// remoteFile says whether a file would be fetched by HTTP.
func remoteFile(ref string) bool {
	u, err := url.Parse(ref)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// local refuses a kustomization that names anything outside the tree, or asks for code to be run. k is
// what kustomize itself decodes, deprecated fields moved to their new places.
func local(file string, k *types.Kustomization) error {
	for _, list := range []struct {
		field string
		refs  []string
	}{{"resources", k.Resources}, {"components", k.Components}} {
		for _, ref := range list.refs {
			if remoteBase(ref) {
				return remote(file, list.field, ref)
			}
		}
	}
	for _, f := range files(k) {
		if remoteFile(f.ref) {
			return remote(file, f.field, f.ref)
		}
	}
	if len(k.HelmCharts) > 0 || len(k.HelmChartInflationGenerator) > 0 {
		return fmt.Errorf("%w: %s has helmCharts", ErrPlugin, file)
	}
	return nil
}

func remote(file, field, ref string) error {
	return fmt.Errorf("%w: %s asks in %s for %s; copy it into the repository", ErrRemote, file, field, withoutPassword(ref))
}

// withoutPassword cuts credentials out of an address.
func withoutPassword(ref string) string {
	if u, err := url.Parse(ref); err == nil && u.User != nil {
		u.User = nil
		return u.String()
	}
	return ref
}

// reference is a file that a field of a kustomization names.
type reference struct{ field, ref string }

// files lists the files that a kustomization reads, its resources and configurations of transformers
// excepted.
func files(k *types.Kustomization) []reference {
	var out []reference
	add := func(field string, refs ...string) {
		for _, ref := range refs {
			if ref != "" {
				out = append(out, reference{field, ref})
			}
		}
	}
	add("crds", k.Crds...)
	add("configurations", k.Configurations...)
	add("openapi", k.OpenAPI["path"])
	for _, p := range k.Patches {
		add("patches", p.Path)
	}
	for _, p := range k.PatchesJson6902 { //nolint:staticcheck // repositories still use it
		add("patchesJson6902", p.Path)
	}
	for _, p := range k.PatchesStrategicMerge { //nolint:staticcheck // repositories still use it
		add("patchesStrategicMerge", string(p))
	}
	for _, r := range k.Replacements {
		add("replacements", r.Path)
	}
	for _, g := range k.ConfigMapGenerator {
		add("configMapGenerator", sources(g.KvPairSources)...)
	}
	for _, g := range k.SecretGenerator {
		add("secretGenerator", sources(g.KvPairSources)...)
	}
	return out
}

// sources gives the files of a generator; key=file stands for file.
func sources(kv types.KvPairSources) []string {
	out := slices.Clone(kv.EnvSources)
	out = append(out, kv.EnvSource)
	for _, f := range kv.FileSources {
		if _, file, ok := strings.Cut(f, "="); ok {
			f = file
		}
		out = append(out, f)
	}
	return out
}

// builtinConfig refuses a generator, transformer or validator configuration that is not one of
// kustomize's own, or that names a remote file. It gives the files that it reads.
func builtinConfig(file string, config *resource.Resource) ([]string, error) {
	gvk := config.GetGvk()
	if gvk.Group != "" || gvk.Version != "builtin" || gvk.Kind == "HelmChartInflationGenerator" {
		return nil, fmt.Errorf("%w: %s asks for %s %s", ErrPlugin, file, gvk.ApiVersion(), gvk.Kind)
	}
	text, err := config.AsYAML()
	if err != nil {
		return nil, fmt.Errorf("%s: configuration of %s cannot be read", file, gvk.Kind)
	}
	var fields struct {
		types.KvPairSources `json:",inline"`
		Path                string                   `json:"path"`
		Paths               []string                 `json:"paths"`
		Replacements        []types.ReplacementField `json:"replacements"`
	}
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("%s: configuration of %s has a field of the wrong type", file, gvk.Kind)
	}
	refs := append(sources(fields.KvPairSources), fields.Path)
	refs = append(refs, fields.Paths...)
	for _, r := range fields.Replacements {
		refs = append(refs, r.Path)
	}
	for _, ref := range refs {
		if remoteFile(ref) {
			return nil, remote(file, gvk.Kind, ref)
		}
	}
	return refs, nil
}
