package argocd

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"holdfast/gitops"
)

// helm gives a source's Helm options. Precedence, lowest first: valueFiles, then valuesObject or else values,
// then parameters, those forced to text after the others, then fileParameters
// (https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-value-precedence; the order among the last
// three is Helm's own).
func (l *layout) helm(i int) (*gitops.Helm, error) {
	options := l.sources[i].Helm
	if options == nil {
		options = &helmOptions{}
	}
	env := l.env(i)
	out := &gitops.Helm{
		ReleaseName: l.id.Name, Namespace: l.spec.Spec.Destination.Namespace,
		KubeVersion: options.KubeVersion, APIVersions: options.APIVersions,
		SkipCRDs: options.SkipCRDs, SkipSchema: options.SkipSchemaValidation,
	}
	if options.ReleaseName != "" {
		out.ReleaseName = options.ReleaseName
	}
	if options.Namespace != "" {
		out.Namespace = options.Namespace
	}
	for _, file := range options.ValueFiles {
		name, err := l.file(i, file, env)
		if err != nil {
			return nil, fmt.Errorf("valueFiles: %w", err)
		}
		out.Values = append(out.Values, gitops.Values{File: name, Optional: options.IgnoreMissingValueFiles})
	}
	helm := l.field(i, gitops.Field("helm"))
	switch {
	case options.ValuesObject != nil:
		out.Values = append(out.Values, gitops.Values{Inline: options.ValuesObject, At: helm.Child(gitops.Field("valuesObject"))})
	case options.Values != "":
		out.Values = append(out.Values, gitops.Values{Text: options.Values, At: helm.Child(gitops.Field("values"))})
	}
	for _, forced := range []bool{false, true} {
		for n, p := range options.Parameters {
			if p.ForceString != forced {
				continue
			}
			out.Values = append(out.Values, gitops.Values{
				Parameter: &gitops.Parameter{Name: p.Name, Value: env(p.Value), String: forced},
				At:        helm.Child(gitops.Field("parameters")).Child(gitops.Index(n)),
			})
		}
	}
	for n, p := range options.FileParameters {
		name, err := l.file(i, p.Path, env)
		if err != nil {
			return nil, fmt.Errorf("fileParameters: %w", err)
		}
		out.Values = append(out.Values, gitops.Values{
			Parameter: &gitops.Parameter{Name: p.Name, File: name},
			At:        helm.Child(gitops.Field("fileParameters")).Child(gitops.Index(n)),
		})
	}
	return out, nil
}

// file gives the place of a values file in the tree: $ref/… from the root of that source, /… from the root of
// its own, else from the chart. It may be a glob pattern.
func (l *layout) file(i int, file string, env func(string) string) (string, error) {
	from, rest := i, file
	if ref := l.refers(file); ref >= 0 {
		from = ref
		_, after, _ := strings.Cut(file, "/")
		rest = "/" + after
	} else if name, _, _ := strings.Cut(file, "/"); strings.HasPrefix(name, "$") && len(l.spec.Spec.Sources) > 0 {
		// With several sources, Argo CD takes any such name for a ref (reposerver/repository/repository.go).
		return "", fmt.Errorf("%s: no source has the ref %q", file, name[1:])
	}
	rest = env(rest)
	if strings.Contains(rest, "://") {
		return "", fmt.Errorf("%s is not in a repository, and is not read", gitops.WithoutCredentials(rest))
	}
	folder := l.sources[i].Path
	if from != i {
		folder = ""
	}
	if !strings.HasPrefix(rest, "/") && strings.HasPrefix(path.Join(folder, rest), "..") {
		return "", fmt.Errorf("%s leaves the repository", file)
	}
	return path.Join(l.at[from], below(folder, rest)), nil
}

// env replaces the variables of Argo CD's build environment, as $NAME and ${NAME}; $$ is a dollar sign and
// unknown ones are empty.
func (l *layout) env(i int) func(string) string {
	s, revision := l.sources[i], l.applied[i]
	values := map[string]string{
		"$":                                 "$",
		"ARGOCD_APP_NAME":                   l.spec.trackingName(l.id),
		"ARGOCD_APP_NAMESPACE":              l.spec.Spec.Destination.Namespace,
		"ARGOCD_APP_PROJECT_NAME":           l.spec.Spec.Project,
		"ARGOCD_APP_REVISION":               revision,
		"ARGOCD_APP_REVISION_SHORT":         revision[:min(7, len(revision))],
		"ARGOCD_APP_REVISION_SHORT_8":       revision[:min(8, len(revision))],
		"ARGOCD_APP_SOURCE_REPO_URL":        s.RepoURL,
		"ARGOCD_APP_SOURCE_PATH":            s.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": s.TargetRevision,
	}
	return func(text string) string {
		return variablePattern.ReplaceAllStringFunc(text, func(name string) string { return values[strings.Trim(name[1:], "{}")] })
	}
}

var variablePattern = regexp.MustCompile(`\$(\$|[A-Za-z0-9_]+|\{[^{}]*\})`)
