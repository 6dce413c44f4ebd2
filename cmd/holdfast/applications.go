package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"holdfast/detect/live"
	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/folder"
)

// engineManagers are the field managers of the known engines: whoever describes a folder by --path alone has
// applied it with one of them, or names the manager with --manager.
// Sources: fluxcd/kustomize-controller, fluxcd/helm-controller, argoproj/argo-cd common/common.go.
func engineManagers() []gitops.Manager {
	return []gitops.Manager{
		{Name: "kustomize-controller", Operation: "Apply"}, {Name: "helm-controller"},
		{Name: "argocd-controller"}, {Name: "argocd-application-controller", Operation: "Update"},
	}
}

// applications gives what --application and --path describe, and the engine objects, with what they refer to, that
// the files hold. Those Applications are preliminary: what else belongs to them, the cluster or dump may have.
func (x *session) applications() ([]gitops.Application, []gitops.Object, error) {
	if x.flags.path != "" {
		clean := path.Clean(filepath.ToSlash(x.flags.path))
		app := gitops.Application{
			Name: path.Base(clean), Kind: folder.Kind, Engine: gitops.None, Ready: true,
			Source: gitops.Source{Repo: x.sources.sole(), Path: clean, Kind: "Git"}, Managers: engineManagers(),
			Render: gitops.Render{Detect: true, Namespace: folder.DefaultNamespace, NamespaceAssumed: true},
		}
		if clean == "." {
			app.Name = filepath.Base(absolute(x.sources.fallback))
		}
		if len(x.flags.managers) > 0 {
			app.Managers = nil
			for _, name := range x.flags.managers {
				app.Managers = append(app.Managers, gitops.Manager{Name: name})
			}
		}
		return []gitops.Application{app}, nil, nil
	}
	var out []gitops.Application
	var objects []gitops.Object
	for _, file := range x.flags.applications {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, fmt.Errorf("--application: %w", err)
		}
		snapshot, err := live.Dump([]string{file})
		if err == nil {
			err = snapshot.Whole() // a part of what is wanted is not what is wanted
		}
		if err != nil {
			return nil, nil, fmt.Errorf("--application: %w", err)
		}
		known := false
		for o := range snapshot.Objects.All() {
			if folder.Is(o) {
				if snapshot.Objects.Len() > 1 {
					return nil, nil, fmt.Errorf("--application %s: a holdfast/v1 Application stands in a file of its own", file)
				}
				app, err := folder.Decode(file, data)
				if err != nil {
					return nil, nil, fmt.Errorf("--application: %w", err)
				}
				out, known = append(out, app), true
			}
			if engines.Becomes(o.ID) {
				known = true
			}
		}
		if !known {
			return nil, nil, fmt.Errorf("--application %s: holds no %s, and no holdfast/v1 Application", file, engines.Names)
		}
		objects = slices.AppendSeq(objects, snapshot.Objects.Where(engines.Reads))
	}
	apps, problems := engines.Decode("", objects)
	for _, p := range problems {
		// What the file lacks, the cluster may have. Whoever gives a Kustomization for another cluster gives that
		// cluster too.
		if p.Blocks && (p.Kind == gitops.Undecodable || p.Kind == gitops.Unsupported || p.Kind == gitops.OutsideRepository) {
			return nil, nil, fmt.Errorf("--application: %s", p)
		}
	}
	return append(out, apps...), objects, nil
}
