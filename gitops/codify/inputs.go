package codify

import (
	"context"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"

	"holdfast/gitops"
	"holdfast/gitops/argocd"
	"holdfast/gitops/engines"
)

// inputs tells from which objects a member's Application takes what it does: the engine's own object, and the
// ConfigMaps that this one names, where other members declare them. An edit of those changes what the member
// renders, so the proof follows them.
type inputs struct {
	// object is the engine's own object; nil where no member declares it, or where it is not clear which one does.
	object *provided
	// configs are the members that declare the ConfigMaps of valuesFrom and substituteFrom.
	configs map[configRef]int
	// overrides says that files beside the sources change what the object says (Argo CD).
	overrides bool
}

// provided is an object that a member renders.
type provided struct {
	member int
	id     gitops.ObjectID
	// element is the entry of a list generator, where the object is an ApplicationSet that makes the Application.
	element *element
}

// configRef is one ConfigMap that an Application names: by its place in substituteFrom, or among the sources of values.
type configRef struct {
	variables bool
	index     int
}

// maxChain is how many engine objects may declare each other in a row: a root, its groups, their Applications.
const maxChain = 4

// link finds the inputs of all members. Those that know more by them than before are rendered anew.
func (w *work) link(ctx context.Context) error {
	for range maxChain {
		places, moved := w.declaring(), false
		for i, m := range w.members {
			if m.root {
				continue
			}
			r := w.now.renders[i]
			in, app, err := w.inputsOf(ctx, m, r.app, places)
			m.inputs = in
			if file, document, ok := w.standsIn(in); ok && r.app.Render.File == "" {
				for _, a := range []*gitops.Application{&m.app, &r.app, &app, &w.now.renders[i].app} {
					a.Render.File, a.Render.Document = file, document
				}
			}
			switch {
			case err != nil && r.err == nil:
				w.now.renders[i] = rendered{app: r.app, err: err}
			case err == nil && !reflect.DeepEqual(app, r.app):
				w.now.renders[i], moved = w.render(ctx, w.now.tree, m, app), true
			}
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("codify: %w", err)
			}
		}
		w.memo.forget()
		if !moved {
			break
		}
	}
	copy(w.start.renders, w.now.renders)
	for _, m := range w.members {
		wishes := slices.ContainsFunc(w.request.Wishes, func(wish Wish) bool { return w.deploys(m, wish.App) })
		m.shadow = m.app.Cluster == "" && !m.root && m.app.Render.File != "" && !wishes && w.stands(m.app.Render)
	}
	return nil
}

// standsIn gives the document in which the engine's own object is written.
func (w *work) standsIn(in *inputs) (file string, document int, ok bool) {
	if in == nil || in.object == nil || in.object.element != nil {
		return "", 0, false
	}
	d, ok := w.now.renders[in.object.member].find(in.object.id)
	return d.Origin.File, d.Origin.Document, ok && d.Origin.File != "" && d.Origin.Item < 0 && !templated(d)
}

// stands says whether the document that holds an Application is what an Application of some cluster is made of.
func (w *work) stands(r gitops.Render) bool {
	return slices.ContainsFunc(w.members, func(m *member) bool {
		if m.app.Cluster == "" || m.inputs == nil || m.inputs.object == nil {
			return false
		}
		d, ok := w.now.renders[m.inputs.object.member].find(m.inputs.object.id)
		return ok && d.Origin.File == r.File && d.Origin.Document == r.Document
	})
}

// declaring lists the engines' objects and ConfigMaps that members render, by kind and name, and the Applications that
// ApplicationSets among them make.
func (w *work) declaring() map[string][]provided {
	out := map[string][]provided{}
	for i, r := range w.now.renders {
		if r.result == nil || r.err != nil {
			continue
		}
		for _, d := range r.result.Objects {
			if engines.Declares(d.ID) || isConfigMap(d.ID) {
				key := d.ID.Kind + "/" + d.ID.Name
				out[key] = append(out[key], provided{member: i, id: d.ID})
			}
			for _, e := range elements(d.Object) {
				key := argocd.Kind + "/" + e.name
				out[key] = append(out[key], provided{member: i, id: d.ID, element: &e})
			}
		}
	}
	return out
}

func isConfigMap(id gitops.ObjectID) bool { return id.Group == "" && id.Kind == "ConfigMap" }

// inputsOf finds the inputs of one member, and gives its Application as they make it. An object that says something
// else than the Application is not what it was made from, and does not count.
func (w *work) inputsOf(ctx context.Context, m *member, app gitops.Application, places map[string][]provided) (*inputs, gitops.Application, error) {
	in := inputs{configs: map[configRef]int{}, overrides: app.Engine == gitops.ArgoCD && overridden(w.now.tree, app)}
	var err error
	in.object = w.objectOf(ctx, m, app, places)
	if app, err = w.take(ctx, w.now.tree, in, app, nil); err != nil {
		return &in, app, err
	}
	for ref, name := range configNames(app) {
		for _, p := range w.nearby(m, in.object, places["ConfigMap/"+name]) {
			try := inputs{configs: map[configRef]int{ref: p.member}}
			with, _ := w.take(ctx, w.now.tree, try, app, nil)
			if !w.obscure(p) && agree(app, with) && !reflect.DeepEqual(unread(with), unread(app)) || known(app, ref) && agree(app, with) {
				in.configs[ref] = p.member
				break
			}
		}
	}
	if in.object == nil && len(in.configs) == 0 && !in.overrides {
		return nil, app, nil
	}
	app, err = w.take(ctx, w.now.tree, in, app, nil)
	return &in, app, err
}

// objectOf finds the one object from which the Application was made; nil where none or several could be it.
func (w *work) objectOf(ctx context.Context, m *member, app gitops.Application, places map[string][]provided) *provided {
	id := engines.ObjectID(app)
	if id.Group == "" {
		return nil
	}
	var candidates []provided
	for _, p := range places[id.Kind+"/"+id.Name] {
		kind := p.id.GroupKind()
		if p.element != nil {
			kind = gitops.GroupKind{Group: argocd.Group, Kind: argocd.Kind}
		}
		if kind == id.GroupKind() && (p.id.Namespace == id.Namespace || id.Namespace == "") {
			candidates = append(candidates, p)
		}
	}
	tiers := make([][]provided, 3)
	for _, p := range candidates {
		with, err := w.take(ctx, w.now.tree, inputs{object: &p}, app, nil)
		if tier := w.tier(m, app, p); tier >= 0 && err == nil && agree(app, with) {
			tiers[tier] = append(tiers[tier], p)
		}
	}
	for _, found := range tiers {
		if len(found) == 0 {
			continue
		}
		where := w.members[found[0].member].app.Source.Path
		for _, p := range found[1:] {
			if other := w.members[p.member]; path.Clean(other.app.Source.Path) != path.Clean(where) {
				return nil
			}
		}
		return &found[0]
	}
	return nil
}

// tier says how likely a member's object is the one that an Application was made from: 0 for a member of the same
// cluster, 1 for one that only the tree declares, 2 for a folder that no Application names; -1 for none.
func (w *work) tier(m *member, app gitops.Application, p provided) int {
	by := w.members[p.member]
	if app.Cluster == "" && app.Render.File != "" && p.element == nil {
		d, _ := w.now.renders[p.member].find(p.id)
		if d.Origin.File != app.Render.File || d.Origin.Document != app.Render.Document {
			return -1
		}
	}
	switch {
	case by.root:
		return 2
	case by.app.Cluster == app.Cluster:
		return 0
	case by.app.Cluster == "" || app.Cluster == "":
		return 1
	}
	return -1
}

// nearby orders places of ConfigMaps: first that of the member that declares the engine's object, then those of the
// same cluster; another place only where it is the only one.
func (w *work) nearby(m *member, object *provided, places []provided) []provided {
	var out []provided
	namespace := m.app.Namespace
	if object != nil {
		namespace = object.id.Namespace
	}
	places = slices.DeleteFunc(slices.Clone(places), func(p provided) bool {
		return !isConfigMap(p.id) || namespace != "" && p.id.Namespace != namespace
	})
	for _, p := range places {
		if object != nil && p.member == object.member {
			out = append(out, p)
		}
	}
	for _, p := range places {
		if by := w.members[p.member]; !by.root && by.app.Cluster == m.app.Cluster && m.app.Cluster != "" {
			out = append(out, p)
		}
	}
	if len(out) == 0 && len(places) == 1 {
		return places
	}
	return out
}

// obscure says whether texts of a ConfigMap come from a Secret or are not known.
func (w *work) obscure(p provided) bool {
	r := w.now.renders[p.member].result
	return r == nil || len(r.Secret[p.id]) > 0 || len(r.Unsure[p.id]) > 0
}

// configNames gives the names of the ConfigMaps that an Application reads values and variables from.
func configNames(app gitops.Application) map[configRef]string {
	out := map[configRef]string{}
	if h := app.Render.Helm; h != nil {
		for i, v := range h.Values {
			if v.From != nil && v.From.Kind == "ConfigMap" {
				out[configRef{index: i}] = v.From.Name
			}
		}
	}
	if k := app.Render.Kustomize; k != nil && k.PostBuild != nil {
		for i, f := range k.PostBuild.SubstituteFrom {
			if f.Kind == "ConfigMap" {
				out[configRef{variables: true, index: i}] = f.Name
			}
		}
	}
	return out
}

// known says whether the texts of a ConfigMap are known to an Application.
func known(app gitops.Application, ref configRef) bool {
	if ref.variables {
		return app.Render.Kustomize.PostBuild.SubstituteFrom[ref.index].Known
	}
	return app.Render.Helm.Values[ref.index].From.Known
}

// unread counts the ConfigMaps and Secrets of an Application that are not known.
func unread(app gitops.Application) int {
	n := 0
	for ref := range configNames(app) {
		if !known(app, ref) {
			n++
		}
	}
	return n
}

// providers are the members that a member takes from, directly or by others.
func (w *work) providers(m *member) []*member {
	var out []*member
	add := func(of *member) {
		if of.inputs == nil {
			return
		}
		indexes := slices.Sorted(maps.Values(of.inputs.configs))
		if of.inputs.object != nil {
			indexes = append(indexes, of.inputs.object.member)
		}
		for _, i := range indexes {
			if p := w.members[i]; p != m && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	add(m)
	for i := 0; i < len(out); i++ {
		add(out[i])
	}
	return out
}

// feeds says whether files may change what a member takes from others, or from files beside its sources.
func (w *work) feeds(m *member, files []string) bool {
	if m.inputs == nil {
		return false
	}
	if m.app.Engine == gitops.ArgoCD && slices.ContainsFunc(files, func(f string) bool { return overrides(m.app, f) }) {
		return true
	}
	return slices.ContainsFunc(w.providers(m), func(p *member) bool {
		i := slices.Index(w.members, p)
		return w.touches(p, w.now.renders[i], files)
	})
}

// covers says whether a field of an object that a member declares may move on purpose: what is made of the object
// is then rendered too.
func (w *work) covers(index int, e engineEdit) bool {
	if e.free {
		return true
	}
	return slices.ContainsFunc(w.members, func(m *member) bool {
		if m.inputs == nil {
			return false
		}
		if o := m.inputs.object; o != nil && o.member == index && o.id == e.id {
			return true
		}
		for ref, member := range m.inputs.configs {
			if member == index && configNames(w.now.renders[slices.Index(w.members, m)].app)[ref] == e.id.Name && isConfigMap(e.id) {
				return true
			}
		}
		return false
	})
}
