package codify

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/argocd"
	"holdfast/gitops/engines"
	"holdfast/gitops/render"
)

// fed gives a member's Application as its inputs in a tree make it. via are the members that wait for it.
func (w *work) fed(ctx context.Context, tree gitops.Tree, m *member, app gitops.Application, via []*member) (gitops.Application, error) {
	if m.inputs == nil {
		return app, nil
	}
	return w.take(ctx, tree, *m.inputs, app, append(slices.Clip(via), m))
}

func (w *work) take(ctx context.Context, tree gitops.Tree, in inputs, app gitops.Application, via []*member) (gitops.Application, error) {
	namespace := app.Namespace
	if p := in.object; p != nil {
		if d, ok := w.provider(ctx, tree, p.member, via).find(p.id); ok {
			if now, ok := p.application(app, d.Object); ok {
				app = redecoded(app, now)
			}
		}
		if p.element == nil {
			namespace = p.id.Namespace
		}
	}
	return laid(tree, w.takeConfigs(ctx, tree, in, app, namespace, via))
}

// laid gives an Application with the overrides that lie beside its sources.
func laid(tree gitops.Tree, app gitops.Application) (gitops.Application, error) {
	if app.Engine != gitops.ArgoCD {
		return app, nil
	}
	return argocd.Overridden(app, withMounts(tree, app))
}

// detected settles what an Application leaves to its folder.
func detected(tree gitops.Tree, app gitops.Application) gitops.Application {
	if !app.Render.Detect && !slices.ContainsFunc(app.Parts, func(p gitops.Part) bool { return p.Render.Detect }) {
		return app
	}
	return render.Detected(withMounts(tree, app), app)
}

// withMounts lays in the mounts that the Application renders folders of.
func withMounts(tree gitops.Tree, app gitops.Application) gitops.Tree {
	for _, m := range app.Mounts {
		if strings.HasPrefix(app.Source.Path, m.At) || slices.ContainsFunc(app.Parts, func(p gitops.Part) bool { return strings.HasPrefix(p.Path, m.At) }) {
			tree = tree.Mounted(m.At, m.Tree)
		}
	}
	return tree
}

// application gives the Application that an engine's object makes.
func (p provided) application(app gitops.Application, o gitops.Object) (gitops.Application, bool) {
	if p.element != nil {
		made, ok := p.element.made(o)
		if !ok {
			return app, false
		}
		o = made
	}
	all, _ := engines.Decode(app.Cluster, []gitops.Object{o})
	if len(all) != 1 {
		return app, false
	}
	return all[0], true
}

// takeConfigs fills in the texts of ConfigMaps.
func (w *work) takeConfigs(ctx context.Context, tree gitops.Tree, in inputs, app gitops.Application, namespace string, via []*member) gitops.Application {
	names := configNames(app)
	refs := slices.SortedFunc(maps.Keys(in.configs), func(a, b configRef) int { return a.index - b.index })
	for _, ref := range refs {
		name, there := names[ref]
		if !there {
			continue
		}
		data, ok := w.config(ctx, tree, in.configs[ref], namespace, name, via)
		if ref.variables {
			app.Render.Kustomize = withVariables(*app.Render.Kustomize, ref.index, data, ok)
			continue
		}
		helm := *app.Render.Helm
		helm.Values = slices.Clone(helm.Values)
		from := *helm.Values[ref.index].From
		from.Text, from.Known = data[from.Key], ok
		if _, has := data[from.Key]; !has {
			from.Known = false
		}
		helm.Values[ref.index].From = &from
		app.Render.Helm = &helm
	}
	return app
}

func withVariables(k gitops.Kustomize, index int, data map[string]string, known bool) *gitops.Kustomize {
	p := *k.PostBuild
	p.SubstituteFrom = slices.Clone(p.SubstituteFrom)
	p.SubstituteFrom[index].Values, p.SubstituteFrom[index].Known = data, known
	k.PostBuild = &p
	return &k
}

// config gives the texts of a ConfigMap that a member declares.
func (w *work) config(ctx context.Context, tree gitops.Tree, member int, namespace, name string, via []*member) (map[string]string, bool) {
	d, ok := configIn(w.provider(ctx, tree, member, via), namespace, name)
	if !ok {
		return nil, false
	}
	out := map[string]string{}
	data, _ := d.Content["data"].(map[string]any)
	for key, v := range data {
		text, isText := v.(string)
		if !isText {
			return nil, false
		}
		out[key] = text
	}
	return out, true
}

// configIn finds a ConfigMap in a render; an empty namespace is any.
func configIn(r rendered, namespace, name string) (gitops.Declared, bool) {
	if r.result == nil || r.err != nil {
		return gitops.Declared{}, false
	}
	i := slices.IndexFunc(r.result.Objects, func(d gitops.Declared) bool {
		return isConfigMap(d.ID) && d.ID.Name == name && (namespace == "" || d.ID.Namespace == namespace)
	})
	if i < 0 {
		return gitops.Declared{}, false
	}
	return r.result.Objects[i], true
}

// overrides says whether a file holds overrides of an Argo CD Application's sources.
func overrides(app gitops.Application, file string) bool {
	name := path.Base(file)
	if name != ".argocd-source.yaml" && name != ".argocd-source-"+app.Name+".yaml" {
		return false
	}
	dir := path.Dir(file)
	return dir == path.Clean(app.Source.Path) || slices.ContainsFunc(app.Parts, func(p gitops.Part) bool { return dir == path.Clean(p.Path) })
}

// overridden says whether there are such files.
func overridden(tree gitops.Tree, app gitops.Application) bool {
	folders := []string{app.Source.Path}
	for _, p := range app.Parts {
		folders = append(folders, p.Path)
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		return slices.ContainsFunc(overrideFiles(app), func(name string) bool {
			_, there := tree.Read(path.Join(folder, name))
			return there
		})
	})
}

// overrideFiles are the names of such files, a later one wins.
func overrideFiles(app gitops.Application) []string {
	return []string{".argocd-source.yaml", ".argocd-source-" + app.Name + ".yaml"}
}
