package codify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// newObject declares an object that exists live only: in a new file beside the Application's others, with the entry
// that names the file, or as one more document of the file that holds everything.
type newObject struct{}

func (newObject) candidates(ctx context.Context, s site) []Candidate {
	if s.app.Render.Helm != nil {
		return s.inChart(ctx)
	}
	var out []Candidate
	for i, h := range s.homes() {
		written, ok := h.written(s)
		if !ok {
			s.refuse("declare it in "+h.dir, fmt.Errorf("the kustomizations there put %q before and %q behind every name", h.prefix, h.suffix))
			continue
		}
		for j, content := range s.inNamespace(h, written) {
			for _, c := range s.declareIn(h, content) {
				c.rank = 2*i + j
				out = append(out, c)
			}
		}
	}
	return out
}

// newSite gathers what the new declaration of a live object needs, or says why there can be none.
func (w *work) newSite(g *goal) (site, string) {
	id := g.wish.Declared.ID
	owners, _ := splice.Lookup(g.wish.Live.Content, gitops.Path{gitops.Field("metadata"), gitops.Field("ownerReferences")}).V.([]any)
	switch {
	case g.wish.Declared.IsSecret():
		return site{}, secretRemains
	case len(owners) > 0:
		return site{}, "another object owns it, and it comes and goes with its owner"
	case g.member < 0:
		return site{}, "its Application is not part of the repository at hand"
	}
	r := w.now.renders[g.member]
	if r.err != nil {
		return site{}, "its Application does not render: " + r.err.Error()
	}
	if _, there := r.find(id); there {
		return site{}, "Git declares it already"
	}
	wanted, _ := g.change.After.V.(map[string]any)
	s := site{
		tree: w.now.tree, app: r.app, declared: gitops.Declared{Object: gitops.NewObject(wanted)}, live: g.wish.Live, change: g.change,
		create: true, work: w, member: g.member, finds: w.finds, render: w.request.Render, shared: w.wishedElsewhere(g), scope: g.wish.Scope, objects: r.result.Objects, layers: layersIf(w.now.tree, r.app), meaning: w.meaning,
	}
	return s, ""
}

// wanted is what Git shall say of a live object: what people wrote of it, without what the API server and the engine
// put there by themselves.
func (w *work) wanted(wish *Wish) gitops.FieldChange {
	content := splice.Normal(wish.Live.Content)
	for _, p := range lastFirst(wish.Unauthored) {
		content = without(content, p)
	}
	live, _ := content.(map[string]any)
	all := map[string]any{}
	maps.Copy(all, live)
	delete(all, "status")
	all["metadata"] = ownMetadata(all["metadata"], wish.App)
	return gitops.FieldChange{After: gitops.Present(w.meaning.clean(wish.Live, nil, all, wish.Live))}
}

// lastFirst orders paths so that what goes by one of them does not move what the next ones lead to.
func lastFirst(paths []gitops.Path) []gitops.Path {
	return slices.SortedStableFunc(slices.Values(paths), func(a, b gitops.Path) int {
		for i := range min(len(a), len(b)) {
			if !a[i].Equal(b[i]) {
				return cmp.Compare(b[i].Index, a[i].Index)
			}
		}
		return cmp.Compare(len(b), len(a))
	})
}

// ownMetadata gives the metadata that manifests hold, without the marks of engines and tools.
func ownMetadata(v any, app gitops.Application) map[string]any {
	metadata, _ := v.(map[string]any)
	out := map[string]any{}
	for _, key := range []string{"name", "namespace", "finalizers"} {
		if value, ok := metadata[key]; ok && !hollow(value) {
			out[key] = value
		}
	}
	for _, key := range []string{"labels", "annotations"} {
		kept := map[string]any{}
		values, _ := metadata[key].(map[string]any)
		for name, value := range values {
			if !isMark(app, name) {
				kept[name] = value
			}
		}
		if len(kept) > 0 {
			out[key] = kept
		}
	}
	return out
}

// isMark says whether a label or annotation is one that engines and tools put on what they apply.
func isMark(app gitops.Application, name string) bool {
	_, tracks := app.Tracking.Labels[name]
	if tracks || name == app.Tracking.Annotation {
		return true
	}
	return slices.Contains([]string{
		"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace", "kustomize.toolkit.fluxcd.io/checksum",
		"helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace",
		"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id", "kubectl.kubernetes.io/last-applied-configuration",
		"deployment.kubernetes.io/revision", "deprecated.daemonset.template.generation", "pod-template-hash", "controller-revision-hash",
	}, name)
}

// differs gives the first place at which an object does not read as the one that a goal wants declared. Labels and
// annotations that a kustomization puts on everything it declares may be more.
func (w *work) differs(g *goal, d gitops.Object) (at gitops.Path, now gitops.Value, unlike bool) {
	wanted, _ := g.change.After.V.(map[string]any)
	all, _ := splice.Normal(d.Content).(map[string]any)
	all = maps.Clone(all)
	metadata := ownMetadata(all["metadata"], g.wish.App)
	for _, key := range []string{"labels", "annotations"} {
		mine, _ := splice.Lookup(wanted, gitops.Path{gitops.Field("metadata"), gitops.Field(key)}).V.(map[string]any)
		theirs, _ := metadata[key].(map[string]any)
		maps.DeleteFunc(theirs, func(name string, _ any) bool { return mine[name] == nil })
		if len(theirs) == 0 {
			delete(metadata, key)
		}
	}
	metadata["namespace"] = splice.Lookup(wanted, gitops.Path{gitops.Field("metadata"), gitops.Field("namespace")}).V // its identity tells
	if metadata["namespace"] == nil {
		delete(metadata, "namespace")
	}
	all["metadata"] = metadata
	rendered := w.meaning.clean(d, nil, all, d)
	if reflect.DeepEqual(rendered, g.change.After.V) || w.meaning.same(d, nil, rendered, g.change.After.V) {
		return nil, gitops.Value{}, false
	}
	for _, p := range differences(g.change.After.V, rendered, nil) {
		if one, other := splice.Lookup(wanted, p), splice.Lookup(rendered, p); one.Set != other.Set || !w.meaning.same(d, p, one.V, other.V) {
			return p, other, true
		}
	}
	return nil, gitops.Value{}, true
}

// unlike says why a render does not declare the object that a goal wants.
func (w *work) unlike(g *goal, r rendered) string {
	d, ok := r.find(g.wish.Declared.ID)
	if !ok {
		return "the render does not declare " + g.wish.Declared.ID.String() + " from there"
	}
	p, now, _ := w.differs(g, d.Object)
	if !now.Set {
		return "the render would lack " + p.String()
	}
	return "the render would read " + short(now.V) + " at " + p.String()
}

// home is a place where a new object may be declared: a folder, with the kustomization that lists its files, or one file.
type home struct {
	dir  string
	file string
	// list is the kustomization; nil where the folder itself is what is read.
	list *layer
	// chain are the kustomizations from the outermost to list.
	chain []layer
	// prefix and suffix are what the chain puts around every name.
	prefix, suffix string
}

// homes lists where the object may be declared: what is closest to the environment first, unless others want it too.
func (s site) homes() []home {
	root := path.Clean(s.app.Source.Path)
	if len(s.layers) == 0 {
		if _, isFile := s.tree.File(root); isFile {
			return []home{{dir: path.Dir(root), file: linked(s.tree, root)}}
		}
		return []home{{dir: root}}
	}
	var own, bases []home
	for i := range s.layers {
		l := &s.layers[i]
		chain := s.chainTo(l.dir)
		if l.content["kind"] == "Component" || len(chain) == 0 {
			continue
		}
		h := home{dir: l.dir, list: l, chain: chain}
		h.prefix, h.suffix = s.around(chain)
		if i == 0 {
			own = append(own, h)
		} else {
			bases = append(bases, h)
		}
	}
	if !s.shared && s.scope != gitops.ScopeBase || s.scope == gitops.ScopeOverlay {
		return own
	}
	slices.SortStableFunc(bases, func(a, b home) int { return s.declares(b.dir) - s.declares(a.dir) })
	return append(bases, own...)
}

// declares counts the Application's objects that are written in a folder.
func (s site) declares(dir string) int {
	n := 0
	for _, d := range s.objects {
		if d.Origin.File != "" && path.Dir(d.Origin.File) == dir {
			n++
		}
	}
	return n
}

// chainTo gives the kustomizations by which the outermost one reads the folder dir.
func (s site) chainTo(dir string) []layer {
	var walk func(l layer, depth int) []layer
	walk = func(l layer, depth int) []layer {
		if l.dir == dir {
			return []layer{l}
		}
		for _, key := range []string{"resources", "bases"} {
			for _, ref := range l.strings(key) {
				i := slices.IndexFunc(s.layers, func(o layer) bool { return o.dir == path.Join(l.dir, ref) })
				if i < 0 || depth == len(s.layers) {
					continue
				}
				if rest := walk(s.layers[i], depth+1); rest != nil {
					return append([]layer{l}, rest...)
				}
			}
		}
		return nil
	}
	return walk(s.layers[0], 0)
}

// around gives what a chain of kustomizations, and the engine around them, put before and behind every name.
func (s site) around(chain []layer) (prefix, suffix string) {
	engine := s.app.Render.Kustomize
	for i, l := range chain {
		before, _ := l.content["namePrefix"].(string)
		behind, _ := l.content["nameSuffix"].(string)
		if i == 0 && s.app.Engine == gitops.ArgoCD && engine != nil { // set in the kustomization itself
			before, behind = cmp.Or(engine.NamePrefix, before), cmp.Or(engine.NameSuffix, behind)
		}
		prefix, suffix = prefix+before, behind+suffix
	}
	if engine != nil && s.app.Engine != gitops.ArgoCD {
		prefix, suffix = engine.NamePrefix+prefix, suffix+engine.NameSuffix
	}
	return prefix, suffix
}

// written gives the object as a file of the home has it: its name mapped back, and without the labels and annotations
// that the kustomizations put on everything.
func (h home) written(s site) (map[string]any, bool) {
	content := maps.Clone(s.declared.Content)
	metadata, _ := content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	name, before := strings.CutPrefix(s.declared.ID.Name, h.prefix)
	name, behind := strings.CutSuffix(name, h.suffix)
	if !before || !behind || name == "" {
		return nil, false
	}
	metadata["name"] = name
	for _, l := range h.chain {
		dropEqual(metadata, "labels", l.content["commonLabels"])
		dropEqual(metadata, "annotations", l.content["commonAnnotations"])
		for _, v := range l.list("labels") {
			entry, _ := v.(map[string]any)
			dropEqual(metadata, "labels", entry["pairs"])
		}
	}
	content["metadata"] = metadata
	if k := s.app.Render.Kustomize; k != nil && k.PostBuild != nil {
		// Flux's substitution shall take none of the texts for a variable.
		kept, _ := gitops.RewriteTexts(content, nil, func(text string, _ []string) string { return strings.ReplaceAll(text, "${", "$${") })
		content, _ = kept.(map[string]any)
	}
	return content, true
}

// dropEqual takes the pairs that something else sets out of the labels or annotations.
func dropEqual(metadata map[string]any, key string, pairs any) {
	common, _ := pairs.(map[string]any)
	own, _ := metadata[key].(map[string]any)
	if len(common) == 0 || len(own) == 0 {
		return
	}
	own = maps.Clone(own)
	maps.DeleteFunc(own, func(name string, value any) bool { return common[name] == value })
	metadata[key] = own
	if len(own) == 0 {
		delete(metadata, key)
	}
}
