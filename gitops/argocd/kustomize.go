package argocd

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"holdfast/gitops"
)

// kustomize gives a source's kustomize options, which Argo CD puts into the folder's kustomization by
// `kustomize edit` before it builds.
func (l *layout) kustomize(i int) (*gitops.Kustomize, error) {
	k, env := l.sources[i].Kustomize, l.env(i)
	out := &gitops.Kustomize{
		NamePrefix: k.NamePrefix, NameSuffix: k.NameSuffix, TargetNamespace: k.Namespace,
		Components: k.Components, IgnoreMissingComponents: k.IgnoreMissingComponents,
	}
	for _, text := range k.Images {
		image, err := parseImage(env(text))
		if err != nil {
			return nil, err
		}
		out.Images = append(out.Images, image)
	}
	for _, r := range k.Replicas {
		count, err := strconv.ParseInt(string(r.Count), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("kustomize.replicas: the count of %s is no whole number", r.Name)
		}
		out.Replicas = append(out.Replicas, gitops.Replica{Name: r.Name, Count: count})
	}
	for _, p := range k.Patches {
		if p.Path != "" {
			return nil, fmt.Errorf("kustomize.patches: %s is a file; only inline patches are supported", p.Path)
		}
		if len(p.Options) > 0 {
			return nil, errors.New("kustomize.patches: options are not supported")
		}
		patch := gitops.Patch{Patch: p.Patch}
		if t := p.Target; t != nil {
			patch.Target = &gitops.PatchTarget{
				Group: t.Group, Version: t.Version, Kind: t.Kind, Name: t.Name, Namespace: t.Namespace,
				LabelSelector: t.LabelSelector, AnnotationSelector: t.AnnotationSelector,
			}
		}
		out.Patches = append(out.Patches, patch)
	}
	if len(k.CommonLabels) > 0 {
		out.Labels = &gitops.Common{
			Pairs: expanded(k.CommonLabels, env), Force: k.ForceCommonLabels,
			WithoutSelector: k.LabelWithoutSelector, IncludeTemplates: k.LabelIncludeTemplates,
		}
	}
	if len(k.CommonAnnotations) > 0 {
		out.Annotations = &gitops.Common{Pairs: k.CommonAnnotations, Force: k.ForceCommonAnnotations}
		if k.CommonAnnotationsEnvsubst {
			out.Annotations.Pairs = expanded(k.CommonAnnotations, env)
		}
	}
	if k.Version != "" {
		l.problem(l.id, gitops.Unsupported, false, "kustomize.version %s: it is rendered with the kustomize that is built in here", k.Version)
	}
	return out, nil
}

func expanded(pairs map[string]string, env func(string) string) map[string]string {
	out := make(map[string]string, len(pairs))
	for key, value := range pairs {
		out[key] = env(value)
	}
	return out
}

var (
	digestPattern = regexp.MustCompile(`^(.*)@([A-Za-z0-9_+.-]+:[A-Fa-f0-9]+|\*)$`)
	tagPattern    = regexp.MustCompile(`^(.*):([A-Za-z0-9._-]*|\*)$`)
)

// parseImage reads an image override as `kustomize edit set image` does: [name=]newName[:tag][@digest], where
// without name= only tag and digest change. A * keeps what the kustomization has.
func parseImage(text string) (gitops.Image, error) {
	var out gitops.Image
	name, rest, renamed := strings.Cut(text, "=")
	if !renamed {
		rest = text
	}
	if m := digestPattern.FindStringSubmatch(rest); m != nil {
		rest, out.Digest = m[1], m[2]
	}
	if m := tagPattern.FindStringSubmatch(rest); m != nil {
		rest, out.NewTag = m[1], m[2]
	}
	if renamed {
		out.Name, out.NewName = name, rest
	} else {
		out.Name = rest
	}
	if out.Name == "" || !renamed && out.NewTag == "" && out.Digest == "" {
		return out, fmt.Errorf("kustomize.images: %q changes no image: want [name=]image[:tag][@digest]", text)
	}
	return out, nil
}
