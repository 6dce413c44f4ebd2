package argocd

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// Overridden lays the parameter overrides that a source's folder holds over an Application: .argocd-source.yaml,
// then .argocd-source-<name>.yaml, as Argo CD Image Updater writes them
// (https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/#store-overrides-in-git). They are merge patches
// of the source, so a list takes the place of the whole one. Images of kustomize and parameters of Helm are
// supported; what else such a file sets is an error, since the render would be another one.
func Overridden(app gitops.Application, tree gitops.Tree) (gitops.Application, error) {
	var err error
	if app.Render, err = overridden(app, app.Source.Path, app.Render, tree); err != nil {
		return app, err
	}
	app.Parts = slices.Clone(app.Parts)
	for i, part := range app.Parts {
		if app.Parts[i].Render, err = overridden(app, part.Path, part.Render, tree); err != nil {
			return app, err
		}
	}
	return app, nil
}

func overridden(app gitops.Application, folder string, how gitops.Render, tree gitops.Tree) (gitops.Render, error) {
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + app.Name + ".yaml"} {
		file := path.Join(folder, name)
		data, ok := tree.Read(file)
		if !ok {
			continue
		}
		var err error
		if how, err = withFile(how, data); err != nil {
			return how, fmt.Errorf("%s: %w", file, err)
		}
	}
	return how, nil
}

// withFile applies one file.
func withFile(how gitops.Render, data []byte) (gitops.Render, error) {
	var o struct {
		Kustomize *struct {
			Images []string `json:"images"`
		} `json:"kustomize"`
		Helm *struct {
			Parameters []struct {
				Name        string `json:"name"`
				Value       string `json:"value"`
				ForceString bool   `json:"forceString"`
			} `json:"parameters"`
		} `json:"helm"`
	}
	if err := yaml.UnmarshalStrict(data, &o); err != nil {
		return how, fmt.Errorf("parameter overrides other than kustomize.images and helm.parameters are not supported: %w", err)
	}
	if strings.Contains(string(data), "$") {
		return how, errors.New("variables in parameter overrides are not supported")
	}
	if o.Kustomize != nil && how.Kustomize != nil {
		k := *how.Kustomize
		k.Images = nil
		for _, text := range o.Kustomize.Images {
			image, err := parseImage(text)
			if err != nil {
				return how, err
			}
			k.Images = append(k.Images, image)
		}
		how.Kustomize = &k
	}
	if o.Helm != nil && how.Helm != nil {
		h := *how.Helm
		plain := func(v gitops.Values) bool { return v.Parameter != nil && v.Parameter.File == "" }
		rest := slices.DeleteFunc(slices.Clone(h.Values), plain)
		at := slices.IndexFunc(rest, func(v gitops.Values) bool { return v.Parameter != nil })
		if at < 0 {
			at = len(rest)
		}
		var given []gitops.Values
		for _, forced := range []bool{false, true} {
			for _, p := range o.Helm.Parameters {
				if p.ForceString == forced {
					given = append(given, gitops.Values{Parameter: &gitops.Parameter{Name: p.Name, Value: p.Value, String: forced}})
				}
			}
		}
		h.Values = slices.Insert(rest, at, given...)
		how.Helm = &h
	}
	return how, nil
}
