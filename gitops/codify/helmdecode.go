package codify

import (
	"path"
	"slices"

	"holdfast/gitops"
)

// redecoded gives app as its object in the tree reads after an edit. What a cluster alone knows of it stays.
func redecoded(app, now gitops.Application) gitops.Application {
	app.Render = resaid(app.Render, now.Render)
	if len(app.Parts) != len(now.Parts) {
		return app
	}
	app.Parts = slices.Clone(app.Parts)
	for i, p := range now.Parts {
		app.Parts[i].Render = resaid(app.Parts[i].Render, p.Render)
	}
	return app
}

// resaid gives a render as the engine's object says it now. Where the object itself stands stays, and so does what
// the folder was found to be, where the object leaves that to it.
func resaid(old, now gitops.Render) gitops.Render {
	if old.Helm != nil {
		return withValues(old, now)
	}
	if now.Detect && old.Kustomize != nil {
		now.Kustomize = &gitops.Kustomize{}
	}
	now.File, now.Document, now.Namespace, now.Detect = old.File, old.Document, old.Namespace, old.Detect
	return withRender(gitops.Application{Render: old}, now).Render
}

// withValues gives a chart's render with the values of another decoding. ConfigMaps and Secrets stay as they were
// read from a cluster.
func withValues(old, now gitops.Render) gitops.Render {
	helm := *old.Helm
	helm.Values = nil
	if now.Helm != nil {
		helm.Values, helm.PostRenderers = slices.Clone(now.Helm.Values), now.Helm.PostRenderers
		helm.CommonLabels, helm.CommonAnnotations = now.Helm.CommonLabels, now.Helm.CommonAnnotations
	}
	for i, v := range helm.Values {
		for _, known := range old.Helm.Values {
			if a, b := v.From, known.From; a != nil && b != nil && a.Kind == b.Kind && a.Name == b.Name && a.Key == b.Key && a.TargetPath == b.TargetPath {
				helm.Values[i] = known
			}
		}
	}
	old.Helm = &helm
	return old
}

// valuesFilesOf lists the values files that an Application names, patterns resolved.
func valuesFilesOf(tree gitops.Tree, app gitops.Application) []string {
	var out []string
	add := func(h *gitops.Helm) {
		if h == nil {
			return
		}
		for _, v := range slices.Concat(h.ValuesFiles, h.Values) {
			file := v.File
			if v.Parameter != nil {
				file = v.Parameter.File
			}
			if file == "" {
				continue
			}
			out = append(out, path.Clean(file))
			for _, name := range tree.Paths("") {
				if matched, err := path.Match(file, name); err == nil && matched {
					out = append(out, name)
				}
			}
		}
	}
	add(app.Render.Helm)
	for _, p := range app.Parts {
		add(p.Render.Helm)
	}
	return out
}
