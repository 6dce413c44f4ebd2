package codify

import (
	"path"
	"slices"

	"holdfast/gitops"
)

// redecoded gives app as its object in the tree reads after an edit. What a cluster alone knows of it stays.
func redecoded(app, now gitops.Application) gitops.Application {
	if app.Render.Helm == nil {
		app = withRender(app, now.Render)
	} else {
		app.Render = withValues(app.Render, now.Render)
	}
	if len(app.Parts) != len(now.Parts) {
		return app
	}
	app.Parts = slices.Clone(app.Parts)
	for i, p := range now.Parts {
		if app.Parts[i].Render.Helm != nil {
			app.Parts[i].Render = withValues(app.Parts[i].Render, p.Render)
		} else {
			app.Parts[i].Render = p.Render
		}
	}
	return app
}

// withValues gives a chart's render with the values of another decoding. ConfigMaps and Secrets stay as they were
// read from a cluster, and so do values that are not the object's own.
func withValues(old, now gitops.Render) gitops.Render {
	helm := *old.Helm
	helm.Values = nil
	if now.Helm != nil {
		helm.Values, helm.PostRenderers = slices.Clone(now.Helm.Values), now.Helm.PostRenderers
	}
	for i, v := range helm.Values {
		for _, known := range old.Helm.Values {
			if a, b := v.From, known.From; a != nil && b != nil && a.Kind == b.Kind && a.Name == b.Name && a.Key == b.Key && a.TargetPath == b.TargetPath {
				helm.Values[i] = known
			}
		}
	}
	for _, v := range old.Helm.Values {
		if v.Parameter != nil && len(v.At) == 0 { // of a file beside the chart
			helm.Values = append(helm.Values, v)
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
