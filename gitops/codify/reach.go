package codify

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// reach is what a kustomization may read of a tree, found by following names without a render: more than it reads,
// never less. all says that it cannot be told, so that anything may be read.
type reach struct {
	tree  gitops.Tree
	files map[string]bool
	all   bool
}

// reachOf follows the names in the kustomization of a folder.
func reachOf(tree gitops.Tree, dir string) *reach {
	r := &reach{tree: tree, files: map[string]bool{}}
	r.folder(path.Clean(dir))
	return r
}

// folder adds a folder's kustomization and what it names.
func (r *reach) folder(dir string) {
	l, ok := layerAt(r.tree, dir)
	if !ok {
		r.all = true
		return
	}
	if r.files[l.file] || r.all {
		return
	}
	for _, name := range kustomizationNames() {
		r.files[path.Join(dir, name)] = true
	}
	r.files[l.file] = true
	for _, key := range []string{"helmCharts", "helmChartInflationGenerator"} {
		if _, there := l.content[key]; there {
			r.all = true // charts name further files in ways of their own
			return
		}
	}
	for _, key := range []string{"generators", "transformers", "validators"} {
		for _, ref := range l.strings(key) {
			r.plugin(dir, path.Join(dir, ref))
		}
	}
	for _, key := range []string{"resources", "bases", "components"} {
		for _, ref := range l.strings(key) {
			r.named(path.Join(dir, ref), true)
		}
	}
	for _, text := range textsIn(l.content) {
		if !strings.Contains(text, "\n") {
			r.named(path.Join(dir, text), false)
		}
	}
}

// plugin adds the file of a transformer or generator, and what is named in it, from its own folder or from that of
// the kustomization.
func (r *reach) plugin(dir, name string) {
	data, there := r.tree.Read(name)
	docs, err := splice.Documents(data)
	if !there || err != nil {
		r.all = true // written out in the kustomization, a folder, or of elsewhere
		return
	}
	r.named(name, true)
	for _, doc := range docs {
		for _, text := range textsIn(doc) {
			if !strings.Contains(text, "\n") {
				r.named(path.Join(dir, text), false)
				r.named(path.Join(path.Dir(name), text), false)
			}
		}
	}
}

// named adds what a text names, if it names anything. sure says that it does.
func (r *reach) named(name string, sure bool) {
	if _, there := r.tree.File(name); there {
		r.files[name], r.files[linked(r.tree, name)] = true, true
		return
	}
	if slices.ContainsFunc(kustomizationNames(), func(base string) bool {
		_, there := r.tree.File(path.Join(name, base))
		return there
	}) {
		r.folder(name)
		return
	}
	if sure {
		r.all = true // of elsewhere, or behind a linked folder
	}
}

func (r *reach) has(files []string) bool {
	return r.all || slices.ContainsFunc(files, func(f string) bool { return r.files[path.Clean(f)] })
}

// declares says whether a file that may be read holds one of the texts.
func (r *reach) declares(texts ...string) bool {
	for name := range r.files {
		data, _ := r.tree.Read(name)
		if slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(data, []byte(text)) }) {
			return true
		}
	}
	return r.all
}

// unreadMembers tells which members need no render before an edit may reach them: folders that no Application names,
// that declare nothing from which an Application is made, and of which it can be told what they read.
func (w *work) unreadMembers() map[int]*reach {
	tree := w.request.Tree
	for _, name := range tree.Paths("") {
		f, _ := tree.File(name)
		if f.Mode != gitops.Symlink {
			continue
		}
		if _, leads := tree.Read(name); !leads {
			return nil // a linked folder: names behind it are not followed
		}
	}
	texts := []string{"toolkit.fluxcd.io", "argoproj.io"}
	if slices.ContainsFunc(w.members, func(m *member) bool { return len(configNames(m.app)) > 0 }) {
		texts = append(texts, "ConfigMap", "configMapGenerator")
	}
	out := map[int]*reach{}
	for i, m := range w.members {
		if !m.root {
			continue
		}
		if r := reachOf(tree, m.app.Source.Path); !r.declares(texts...) {
			out[i] = r
		}
	}
	return out
}

// mayReach says whether a member reads one of the files, or may, as far as is known without a render.
func (w *work) mayReach(i int, files []string) bool {
	if r := w.now.renders[i]; !r.none() {
		return w.may(w.members[i], r, files)
	}
	return w.unread[i] != nil && w.unread[i].has(files)
}

// reads says whether a member may read one of the files. One without a render is rendered for it: no edit reached it
// so far, so that the first tree gives the same as the present one.
func (w *work) reads(ctx context.Context, i int, files []string) bool {
	if w.start.renders[i].none() {
		made := w.render(ctx, w.request.Tree, w.members[i], w.members[i].app)
		if ctx.Err() != nil {
			return false // the caller asks for the reason
		}
		w.start.renders[i] = made
	}
	w.now.renders[i] = w.current(i)
	return w.may(w.members[i], w.now.renders[i], files)
}

// current is a member's render of the present tree; one that no edit reached is that of the first tree.
func (w *work) current(i int) rendered {
	if w.now.renders[i].none() {
		return w.start.renders[i]
	}
	return w.now.renders[i]
}

// none says that there is no render yet.
func (r rendered) none() bool { return r.result == nil && r.err == nil }

// weight is how many bytes a render reads: roughly what it costs.
func (r rendered) weight(tree gitops.Tree) int {
	n := 0
	if r.result != nil {
		for _, name := range r.result.Reads {
			f, _ := tree.File(name)
			n += len(f.Data)
		}
	}
	return n
}
