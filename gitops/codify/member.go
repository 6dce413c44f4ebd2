package codify

import (
	"context"
	"path"
	"reflect"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// member is one thing that is rendered from the tree: an Application, or a kustomization that nothing
// refers to and no Application names.
type member struct {
	app gitops.Application
	// inputs are what it takes from others; nil without.
	inputs *inputs
	// shadow says that the Application is only how a document of the tree reads of which the Applications of clusters,
	// members too, are made. It is not rendered.
	shadow bool
	// root marks a kustomization that no Application names.
	root bool
	// reaches are the files that a static look says it may read; used where it cannot be rendered.
	reaches map[string]bool
}

// name is how messages and the proof call the member.
func (m *member) name() string {
	switch {
	case m.root:
		return m.app.Source.Path
	case m.app.Namespace == "":
		return m.app.Name
	}
	return m.app.Namespace + "/" + m.app.Name
}

// described is name with the cluster, for messages.
func (m *member) described() string {
	if m.app.Cluster == "" {
		return m.name()
	}
	return m.app.Cluster + "/" + m.name()
}

// rendered is a member's render of one tree, or why there is none.
type rendered struct {
	app    gitops.Application
	result *render.Result
	err    error
	// raw is the result with the names that kustomize gives; in result, generated names keep their first hash.
	raw *render.Result
}

// find gives the object with this identity.
func (r rendered) find(id gitops.ObjectID) (gitops.Declared, bool) {
	if r.err == nil && r.result != nil {
		for _, d := range r.result.Objects {
			if d.ID == id {
				return d, true
			}
		}
	}
	return gitops.Declared{}, false
}

// state is a tree and what every member renders from it.
type state struct {
	tree    gitops.Tree
	renders []rendered
}

// membersOf lists everything whose render the proof has to cover.
func membersOf(r Request) []*member {
	var out []*member
	repo, branch := "", ""
	if len(r.Wishes) > 0 {
		repo, branch = r.Wishes[0].App.Source.Repo, r.Wishes[0].App.Source.Branch
	}
	add := func(app gitops.Application) {
		if !sameRepo(app.Source.Repo, repo) || otherBranch(app.Source.Branch, branch) {
			return
		}
		app = detected(r.Tree, app)
		for i, m := range out {
			if m.app.ID() == app.ID() && path.Clean(m.app.Source.Path) == path.Clean(app.Source.Path) && sameFile(m.app, app) {
				if out[i].app.Render.File == "" {
					out[i].app = app
				}
				return
			}
		}
		out = append(out, &member{app: app})
	}
	for _, w := range r.Wishes {
		add(w.App)
	}
	for _, app := range r.Fleet {
		add(app)
	}
	out = withoutTwins(out)
	dirs := kustomizations(r.Tree)
	referred := references(r.Tree, dirs)
	for _, dir := range render.Roots(r.Tree) {
		named := slices.ContainsFunc(out, func(m *member) bool { return path.Clean(m.app.Source.Path) == dir })
		if referred[dir] || named {
			continue
		}
		out = append(out, &member{root: true, app: gitops.Application{
			Name: dir, Source: gitops.Source{Repo: repo, Path: dir}, Render: gitops.Render{Kustomize: &gitops.Kustomize{}},
		}})
	}
	return out
}

// withoutTwins joins an Application of a cluster with the document of the tree that declares it, where there
// is no doubt which one does: the Application learns its file, and is rendered once.
func withoutTwins(members []*member) []*member {
	drop := map[*member]bool{}
	for _, m := range members {
		if m.app.Cluster == "" {
			continue
		}
		var found []*member
		for _, t := range members {
			known := m.app.Render.File == "" || m.app.Render.File == t.app.Render.File && m.app.Render.Document == t.app.Render.Document
			if t.app.Cluster == "" && t.app.Render.File != "" && known && twins(m.app, t.app) && sameSpec(m.app.Render.Kustomize, t.app.Render.Kustomize) {
				found = append(found, t)
			}
		}
		if len(found) == 1 {
			m.app.Render.File, m.app.Render.Document = found[0].app.Render.File, found[0].app.Render.Document
			drop[found[0]] = true
		}
	}
	return slices.DeleteFunc(members, func(m *member) bool { return drop[m] })
}

// sameSpec compares what two Flux Kustomizations say, apart from variables that were read from a cluster.
func sameSpec(a, b *gitops.Kustomize) bool {
	if a == nil || b == nil {
		return a == b
	}
	said := func(k gitops.Kustomize) gitops.Kustomize {
		if k.PostBuild != nil {
			p := *k.PostBuild
			p.SubstituteFrom = slices.Clone(p.SubstituteFrom)
			for i, f := range p.SubstituteFrom {
				p.SubstituteFrom[i] = gitops.SubstituteFrom{Kind: f.Kind, Name: f.Name, Optional: f.Optional}
			}
			k.PostBuild = &p
		}
		return k
	}
	return reflect.DeepEqual(said(*a), said(*b))
}

// sameFile says whether two Applications may be declared by the same document.
func sameFile(a, b gitops.Application) bool {
	return a.Render.File == b.Render.File && a.Render.Document == b.Render.Document ||
		a.Cluster != "" && (a.Render.File == "" || b.Render.File == "")
}

// sameRepo compares URLs as people write them: without scheme, user, port 22 and .git. An empty one is the
// repository at hand.
func sameRepo(a, b string) bool {
	return a == "" || b == "" || plainURL(a) == plainURL(b)
}

// otherBranch says whether two branches are known to be different ones: what follows another one reads nothing of this
// tree. HEAD is the default branch, whatever its name.
func otherBranch(a, b string) bool {
	known := func(branch string) bool { return branch != "" && branch != "HEAD" }
	return known(a) && known(b) && a != b
}

func plainURL(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	if at := strings.Index(url, "@"); at >= 0 && at < strings.IndexAny(url+"/", "/") {
		url = url[at+1:]
	}
	url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
	host, rest, ok := strings.Cut(url, "/")
	if name, behind, colon := strings.Cut(host, ":"); colon {
		if behind == "22" || behind == "" {
			host = name
		} else if !ok || strings.Trim(behind, "0123456789") != "" { // scp form: host:path
			host, rest = name, behind+"/"+rest
		}
	}
	return strings.TrimSuffix(strings.ToLower(host)+"/"+rest, "/")
}

// kustomizations lists the folders with a kustomization file, components included.
func kustomizations(tree gitops.Tree) []string {
	var out []string
	for _, name := range tree.Paths("") {
		if slices.Contains(kustomizationNames(), path.Base(name)) {
			out = append(out, path.Dir(name))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// render renders a member from a tree. An Application whose own object stands in a changed file is decoded
// anew first.
func (w *work) render(ctx context.Context, tree gitops.Tree, m *member, app gitops.Application) rendered {
	return w.renderVia(ctx, tree, m, app, nil)
}

// may says whether the files are read, or may be read, by a member that could be rendered (the renderer
// knows) or could not (a static look and the folder decide).
func (w *work) may(m *member, r rendered, files []string) bool {
	return !m.shadow && (w.touches(m, r, files) || w.feeds(m, files))
}

// touches is may without what the member takes from others.
func (w *work) touches(m *member, r rendered, files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		if r.result != nil && w.matters(r.result, file) || m.app.Render.File == file && file != "" {
			return true
		}
		return r.err != nil && (within(file, m.app.Source.Path) || w.reaches(m)[file])
	})
}

// matters says whether a change of a file may alter a render. What a render lists and does not read, although it is
// there, matters by its name at most: a manifest's does not, what is read of a listing is read whole.
func (w *work) matters(result *render.Result, file string) bool {
	if !result.Touches(file) {
		return false
	}
	name := path.Clean(file)
	_, there := w.request.Tree.File(name)
	return !there || slices.Contains(result.Reads, name) || strings.HasPrefix(path.Base(name), ".") || slices.Contains(kustomizationNames(), path.Base(name))
}

// reaches gives the files that the kustomizations below a member's path name, and the values files of its charts.
func (w *work) reaches(m *member) map[string]bool {
	if m.reaches != nil {
		return m.reaches
	}
	m.reaches = map[string]bool{}
	for _, l := range layersOf(w.request.Tree, m.app.Source.Path) {
		m.reaches[l.file] = true
		for _, ref := range textsIn(l.content) {
			m.reaches[path.Join(l.dir, ref)] = true
		}
	}
	for _, file := range valuesFilesOf(w.request.Tree, m.app) {
		m.reaches[file] = true
	}
	return m.reaches
}

// textsIn gives all strings in v: one of them is any file that v names.
func textsIn(v any) []string {
	switch v := v.(type) {
	case string:
		if _, file, ok := strings.Cut(v, "="); ok {
			return []string{v, file}
		}
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, textsIn(e)...)
		}
		return out
	case map[string]any:
		var out []string
		for _, e := range v {
			out = append(out, textsIn(e)...)
		}
		return out
	}
	return nil
}

// deploys says whether member m is the Application app itself: the same one, or the one that the tree
// declares for it.
func (w *work) deploys(m *member, app gitops.Application) bool {
	if m.root {
		return false
	}
	if m.app.ID() == app.ID() {
		// Two files of the tree may declare one of the same name for two clusters.
		apart := m.app.Render.File != "" && app.Render.File != "" && !sameFile(m.app, app)
		return path.Clean(m.app.Source.Path) == path.Clean(app.Source.Path) && !apart
	}
	if m.app.Cluster != "" && app.Cluster != "" || !twins(m.app, app) {
		return false
	}
	if app.Render.File != "" {
		return m.app.Render.File == app.Render.File && m.app.Render.Document == app.Render.Document
	}
	same := 0
	for _, other := range w.members {
		if other.app.Cluster == "" && !other.root && twins(other.app, app) {
			same++
		}
	}
	return same == 1 && sameSpec(m.app.Render.Kustomize, app.Render.Kustomize)
}

// twins says whether two Applications have the same name and path.
func twins(a, b gitops.Application) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && path.Clean(a.Source.Path) == path.Clean(b.Source.Path)
}
