package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// spec reads the spec of an engine's object from its file.
func (w *workspace) spec(app gitops.Application) (map[string]any, error) {
	data, err := os.ReadFile(w.at(app.Render.File))
	if err != nil {
		return nil, err
	}
	all, err := documents(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", app.Render.File, err)
	}
	for _, content := range all {
		o := gitops.NewObject(content)
		if o.ID.Kind == app.Kind && o.ID.Name == app.Name && (o.ID.Namespace == app.Namespace || o.ID.Namespace == "") {
			return mapOf(content["spec"]), nil
		}
	}
	return nil, fmt.Errorf("%s: no %s %s", app.Render.File, app.Kind, app.Name)
}

// flux builds as kustomize-controller does: what the Kustomization says goes into the folder's own kustomization
// (https://fluxcd.io/flux/components/kustomize/kustomizations/), the rest comes after the build.
func (p programs) flux(ctx context.Context, w *workspace, app gitops.Application) (objects, string, error) {
	spec, err := w.spec(app)
	if err != nil {
		return nil, "", err
	}
	made, err := p.kustomizeWith(ctx, w, path.Clean(textOf(spec["path"])), func(k map[string]any) error {
		for from, to := range map[string]string{"targetNamespace": "namespace", "namePrefix": "namePrefix", "nameSuffix": "nameSuffix"} {
			if text := textOf(spec[from]); text != "" {
				k[to] = text
			}
		}
		for _, key := range []string{"patches", "components"} {
			if more := listOf(spec[key]); len(more) > 0 {
				k[key] = append(listOf(k[key]), more...)
			}
		}
		for _, image := range listOf(spec["images"]) {
			k["images"] = withImage(listOf(k["images"]), mapOf(image))
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if build := mapOf(spec["postBuild"]); build != nil {
		if len(listOf(build["substituteFrom"])) > 0 {
			return nil, "", fmt.Errorf("spec.postBuild.substituteFrom: %w", errOwn)
		}
		if made, err = substituted(made, mapOf(build["substitute"])); err != nil {
			return nil, "", err
		}
	}
	common(made, mapOf(spec["commonMetadata"]))
	return made, "kubectl kustomize with what Flux adds", nil
}

// withImage puts an image override into a list of them, in place of one with the same name.
func withImage(images []any, image map[string]any) []any {
	for _, have := range images {
		if old := mapOf(have); old["name"] == image["name"] {
			for _, key := range []string{"newName", "newTag", "digest"} {
				if v, ok := image[key]; ok {
					old[key] = v
				}
			}
			return images
		}
	}
	return append(images, image)
}

func common(made objects, metadata map[string]any) {
	for _, key := range []string{"labels", "annotations"} {
		for name, value := range mapOf(metadata[key]) {
			for _, content := range made {
				child(child(content, "metadata"), key)[name] = value
			}
		}
	}
}

// helmRelease builds a chart of the same repository as helm-controller does.
func (p programs) helmRelease(ctx context.Context, w *workspace, app gitops.Application) (objects, string, error) {
	spec, err := w.spec(app)
	if err != nil {
		return nil, "", err
	}
	chart := mapOf(mapOf(spec["chart"])["spec"])
	if textOf(mapOf(chart["sourceRef"])["kind"]) != "GitRepository" || len(listOf(chart["valuesFiles"])) > 0 || len(listOf(spec["valuesFrom"])) > 0 {
		return nil, "", fmt.Errorf("a HelmRelease with valuesFiles, valuesFrom or a chart of elsewhere: %w", errOwn)
	}
	r := release{chart: path.Clean(textOf(chart["chart"])), name: textOf(spec["releaseName"]), namespace: textOf(spec["targetNamespace"])}
	if r.name == "" {
		r.name = strings.TrimPrefix(r.namespace+"-"+app.Name, "-")
	}
	if r.namespace == "" {
		r.namespace = app.Namespace
	}
	made, how, err := p.templateWith(ctx, w, r, mapOf(spec["values"]))
	if err != nil {
		return nil, "", err
	}
	for _, renderer := range listOf(spec["postRenderers"]) {
		if made, err = p.postRendered(ctx, w, made, mapOf(mapOf(renderer)["kustomize"])); err != nil {
			return nil, "", err
		}
		how = "helm template and kubectl kustomize"
	}
	common(made, mapOf(spec["commonMetadata"]))
	return made, how, nil
}

// templateWith runs Helm with values that stand in an engine's object, over all values files.
func (p programs) templateWith(ctx context.Context, w *workspace, r release, values map[string]any) (made objects, how string, err error) {
	if len(values) == 0 {
		return p.template(ctx, w, r)
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		return nil, "", err
	}
	const file = ".bench-values.yaml"
	err = w.edited([]gitops.Edit{{Path: file, After: text}}, func() (err error) {
		r.args = append(r.args, "--values", w.at(file))
		made, how, err = p.template(ctx, w, r)
		return err
	})
	return made, how, err
}

// postRendered runs kustomize over what a chart made.
func (p programs) postRendered(ctx context.Context, w *workspace, made objects, options map[string]any) (out objects, err error) {
	const folder = ".bench-post"
	var text strings.Builder
	for _, content := range made {
		data, err := yaml.Marshal(content)
		if err != nil {
			return nil, err
		}
		text.WriteString("---\n" + string(data))
	}
	k := map[string]any{"resources": []any{"all.yaml"}}
	for _, key := range []string{"patches", "images"} {
		if v, ok := options[key]; ok {
			k[key] = v
		}
	}
	data, err := yaml.Marshal(k)
	if err != nil {
		return nil, err
	}
	err = w.edited([]gitops.Edit{
		{Path: folder + "/all.yaml", After: []byte(text.String())}, {Path: folder + "/kustomization.yaml", After: data},
	}, func() (err error) {
		out, _, err = p.kustomize(ctx, w, folder)
		return err
	})
	return out, err
}

// argocd builds as Argo CD's repo server does: `kustomize edit` puts the options into the folder's kustomization,
// Helm gets flags (https://argo-cd.readthedocs.io/en/stable/user-guide/).
func (p programs) argocd(ctx context.Context, w *workspace, app gitops.Application) (objects, string, error) {
	spec, err := w.spec(app)
	if err != nil {
		return nil, "", err
	}
	source := mapOf(spec["source"])
	if source == nil {
		return nil, "", fmt.Errorf("spec.sources: %w", errOwn)
	}
	folder := path.Clean(textOf(source["path"]))
	switch {
	case app.Render.Helm != nil:
		return p.argocdHelm(ctx, w, app, folder, spec)
	case app.Render.Kustomize == nil:
		recurse, _ := mapOf(source["directory"])["recurse"].(bool)
		return p.plain(ctx, w, folder, recurse)
	}
	options := mapOf(source["kustomize"])
	made, err := p.kustomizeWith(ctx, w, folder, func(k map[string]any) error { return edit(k, options) })
	return made, "kubectl kustomize with what Argo CD adds", err
}

// edit puts Argo CD's kustomize options into a kustomization.
func edit(k, options map[string]any) error {
	for _, key := range []string{"namePrefix", "nameSuffix", "namespace"} {
		if text := textOf(options[key]); text != "" {
			k[key] = text
		}
	}
	for _, text := range listOf(options["images"]) {
		image, err := imageOverride(textOf(text))
		if err != nil {
			return err
		}
		k["images"] = withImage(listOf(k["images"]), image)
	}
	for _, key := range []string{"replicas", "patches", "components"} {
		if more := listOf(options[key]); len(more) > 0 {
			k[key] = append(listOf(k[key]), more...)
		}
	}
	for _, key := range []string{"commonLabels", "commonAnnotations"} {
		for name, value := range mapOf(options[key]) {
			child(k, key)[name] = value
		}
	}
	return nil
}

var overridePattern = regexp.MustCompile(`^(?:([^=]+)=)?([^@]*?)(?::([A-Za-z0-9._-]+))?(?:@(sha256:[0-9a-f]+))?$`)

// imageOverride reads [name=]image[:tag][@digest].
func imageOverride(text string) (map[string]any, error) {
	m := overridePattern.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("image %q: want [name=]image[:tag][@digest]", text)
	}
	out := map[string]any{"name": m[2]}
	if m[1] != "" {
		out["name"], out["newName"] = m[1], m[2]
	}
	if m[3] != "" {
		out["newTag"] = m[3]
	}
	if m[4] != "" {
		out["digest"] = m[4]
	}
	return out, nil
}

func (p programs) argocdHelm(ctx context.Context, w *workspace, app gitops.Application, folder string, spec map[string]any) (objects, string, error) {
	options := mapOf(mapOf(spec["source"])["helm"])
	r := release{chart: folder, name: app.Name, namespace: textOf(mapOf(spec["destination"])["namespace"])}
	if name := textOf(options["releaseName"]); name != "" {
		r.name = name
	}
	if len(listOf(options["fileParameters"])) > 0 {
		return nil, "", fmt.Errorf("helm.fileParameters: %w", errOwn)
	}
	for _, file := range listOf(options["valueFiles"]) {
		name := textOf(file)
		if strings.ContainsAny(name, "$*:") {
			return nil, "", fmt.Errorf("helm.valueFiles %s: %w", name, errOwn)
		}
		if !strings.HasPrefix(name, "/") {
			name = path.Join(folder, name)
		}
		r.args = append(r.args, "--values", w.at(name))
	}
	for _, parameter := range listOf(options["parameters"]) {
		flag, p := "--set", mapOf(parameter)
		if forced, _ := p["forceString"].(bool); forced {
			flag = "--set-string"
		}
		r.args = append(r.args, flag, textOf(p["name"])+"="+textOf(p["value"]))
	}
	values := mapOf(options["valuesObject"])
	if text := textOf(options["values"]); values == nil && text != "" {
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			return nil, "", errors.Join(errOwn, err)
		}
	}
	return p.templateWith(ctx, w, r, values)
}
