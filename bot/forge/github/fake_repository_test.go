package github_test

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"holdfast/bot/forge/forgetest"
)

type commit struct {
	parent, tree, message string
}

type file struct{ content, mode string }

func (f *fake) repositoryRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET " + repo: func(w http.ResponseWriter, _ *http.Request) {
			answer(w, 200, map[string]any{
				"id": 1, "default_branch": f.defaultBranch, "archived": f.archived,
				"html_url": "https://github.com/alice/shop", "clone_url": "https://github.com/alice/shop.git",
			})
		},
		"GET " + repo + "/branches/{branch}":            f.readBranch,
		"GET " + repo + "/branches/{branch}/protection": f.readProtection,
		"GET " + repo + "/rules/branches/{branch}":      func(w http.ResponseWriter, r *http.Request) { page(w, r, f.rules) },
	}
}

func (f *fake) readBranch(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("branch")
	head, there := f.branches[name]
	if !there {
		refuse(w, 404, "Branch not found")
		return
	}
	protected := f.protection != nil && name == f.defaultBranch
	out := map[string]any{"name": name, "commit": map[string]any{"sha": head}, "protected": protected || len(f.rules) > 0}
	if protected {
		out["protection"] = map[string]any{"enabled": true, "required_status_checks": f.protection["required_status_checks"]}
	}
	answer(w, 200, out)
}

func (f *fake) readProtection(w http.ResponseWriter, r *http.Request) {
	switch {
	case f.blind:
		w.Header().Set("X-Accepted-GitHub-Permissions", "administration=read")
		refuse(w, 403, "Resource not accessible by integration")
	case f.protection == nil || r.PathValue("branch") != f.defaultBranch:
		refuse(w, 404, "Branch not protected")
	default:
		answer(w, 200, f.protection)
	}
}

// branch makes a branch with a commit of its own.
func (f *fake) branch(name string) string {
	return f.change(name, forgetest.Change{Write: map[string]string{"of/" + name: "x\n"}})
}

// change commits to a branch and gives the commit.
func (f *fake) change(branch string, c forgetest.Change) string {
	parent, there := f.branches[branch]
	if !there {
		parent = f.branches[f.defaultBranch]
	}
	files := maps.Clone(f.trees[f.commits[parent].tree])
	for _, path := range c.Remove {
		delete(files, path)
	}
	for from, to := range c.Rename {
		files[to] = files[from]
		delete(files, from)
	}
	for path, content := range c.Write {
		files[path] = file{content, "100644"}
	}
	f.setBranch(branch, f.addCommit(parent, files))
	return f.branches[branch]
}

// setBranch moves a branch, and the heads of its open pull requests with it.
func (f *fake) setBranch(name, head string) {
	f.branches[name] = head
	for _, t := range f.threads {
		if t.branch == name && !t.fork && t.state == "open" {
			t.head = head
		}
	}
}

func (f *fake) addCommit(parent string, files map[string]file) string {
	return f.putCommit(commit{parent: parent, tree: f.addTree(files), message: fmt.Sprint("change ", len(f.commits))})
}

func (f *fake) putCommit(c commit) string {
	hash := hashOf(c.parent, c.tree, c.message)
	f.commits[hash] = &c
	return hash
}

func (f *fake) addTree(files map[string]file) string {
	parts := []string{}
	for _, path := range sorted(files) {
		parts = append(parts, path, files[path].content, files[path].mode)
	}
	hash := hashOf(parts...)
	f.trees[hash] = files
	return hash
}

func hashOf(parts ...string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(strings.Join(parts, "\x00"))))
}

func (f *fake) gitRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET " + repo + "/git/commits/{sha}":   f.readCommit,
		"POST " + repo + "/git/commits":        f.write(f.makeCommit),
		"GET " + repo + "/git/trees/{sha}":     f.readTree,
		"POST " + repo + "/git/trees":          f.write(f.makeTree),
		"POST " + repo + "/git/blobs":          f.write(f.makeBlob),
		"GET " + repo + "/git/ref/{ref...}":    f.readRef,
		"POST " + repo + "/git/refs":           f.write(f.makeRef),
		"PATCH " + repo + "/git/refs/{ref...}": f.write(f.moveRef),
	}
}

func (f *fake) readCommit(w http.ResponseWriter, r *http.Request) {
	c := f.commits[r.PathValue("sha")]
	if c == nil {
		refuse(w, 404, "Not Found")
		return
	}
	answer(w, 200, map[string]any{"sha": r.PathValue("sha"), "tree": map[string]any{"sha": c.tree}})
}

// makeCommit signs what an App writes without naming an author.
func (f *fake) makeCommit(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Message, Tree     string
		Parents           []string
		Author, Committer map[string]any
	}
	decode(r, &in)
	if f.trees[in.Tree] == nil || len(in.Parents) != 1 || f.commits[in.Parents[0]] == nil {
		refuse(w, 422, "Tree SHA or parent does not exist")
		return
	}
	hash := f.putCommit(commit{in.Parents[0], in.Tree, in.Message})
	verification := map[string]any{"verified": false, "reason": "unsigned"}
	if in.Author == nil && in.Committer == nil && account(r.Header.Get("Authorization")) == "holdfast-app[bot]" {
		verification = map[string]any{"verified": true, "reason": "valid"}
	}
	answer(w, 201, map[string]any{"sha": hash, "verification": verification})
}

func (f *fake) readTree(w http.ResponseWriter, r *http.Request) {
	files, entries := f.trees[r.PathValue("sha")], []any{}
	for _, path := range sorted(files) {
		entries = append(entries, map[string]any{"path": path, "mode": files[path].mode, "type": "blob"})
	}
	answer(w, 200, map[string]any{"sha": r.PathValue("sha"), "tree": entries})
}

func (f *fake) makeTree(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Base string `json:"base_tree"`
		Tree []struct {
			Path, Mode string
			SHA        *string
		}
	}
	decode(r, &in)
	files := maps.Clone(f.trees[in.Base])
	for _, e := range in.Tree {
		delete(files, e.Path)
		if e.SHA != nil {
			files[e.Path] = file{f.blobs[*e.SHA], e.Mode}
		}
	}
	answer(w, 201, map[string]any{"sha": f.addTree(files)})
}

func (f *fake) makeBlob(w http.ResponseWriter, r *http.Request) {
	var in struct{ Content, Encoding string }
	decode(r, &in)
	content, err := base64.StdEncoding.DecodeString(in.Content)
	if err != nil || in.Encoding != "base64" {
		refuse(w, 422, "content is not base64")
		return
	}
	hash := hashOf(string(content))
	f.blobs[hash] = string(content)
	answer(w, 201, map[string]any{"sha": hash})
}

func (f *fake) readRef(w http.ResponseWriter, r *http.Request) {
	head, there := f.branches[strings.TrimPrefix(r.PathValue("ref"), "heads/")]
	if !there {
		refuse(w, 404, "Not Found")
		return
	}
	answer(w, 200, map[string]any{"ref": "refs/" + r.PathValue("ref"), "object": map[string]any{"sha": head}})
}

func (f *fake) makeRef(w http.ResponseWriter, r *http.Request) {
	var in struct{ Ref, SHA string }
	decode(r, &in)
	name := strings.TrimPrefix(in.Ref, "refs/heads/")
	if f.branches[name] != "" {
		refuse(w, 422, "Reference already exists")
		return
	}
	f.setBranch(name, in.SHA)
	answer(w, 201, map[string]any{"ref": in.Ref})
}

func (f *fake) moveRef(w http.ResponseWriter, r *http.Request) {
	var in struct {
		SHA   string
		Force bool
	}
	decode(r, &in)
	name := strings.TrimPrefix(r.PathValue("ref"), "heads/")
	if f.branches[name] == "" || !in.Force && f.commits[in.SHA].parent != f.branches[name] {
		refuse(w, 422, "Update is not a fast forward")
		return
	}
	f.setBranch(name, in.SHA)
	answer(w, 200, map[string]any{"ref": "refs/heads/" + name})
}
