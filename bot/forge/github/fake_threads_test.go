package github_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/bot"
)

type thread struct {
	number                     int
	kind                       bot.Kind
	title, body, state, author string
	labels                     []string
	branch, base, head         string
	fork                       bool
	mergeCommit, mergedAt      string
}

func (f *fake) threadRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET " + repo + "/issues":               f.listIssues,
		"POST " + repo + "/issues":              f.write(f.openIssue),
		"GET " + repo + "/issues/{number}":      f.one(bot.AsIssue, f.read),
		"PATCH " + repo + "/issues/{number}":    f.write(f.one(bot.AsIssue, f.edit)),
		"GET " + repo + "/labels":               f.listLabels,
		"POST " + repo + "/labels":              f.write(f.makeLabel),
		"GET " + repo + "/pulls":                f.listPulls,
		"POST " + repo + "/pulls":               f.write(f.openPull),
		"GET " + repo + "/pulls/{number}":       f.one(bot.AsPullRequest, f.read),
		"PATCH " + repo + "/pulls/{number}":     f.write(f.one(bot.AsPullRequest, f.edit)),
		"GET " + repo + "/pulls/{number}/files": f.one(bot.AsPullRequest, f.listFiles),
	}
}

func (f *fake) add(t thread) *thread {
	t.number = len(f.threads) + 1
	t.state = "open"
	f.threads = append(f.threads, &t)
	return &t
}

func (f *fake) one(kind bot.Kind, handle func(http.ResponseWriter, *http.Request, *thread)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		number, _ := strconv.Atoi(r.PathValue("number"))
		if number < 1 || number > len(f.threads) || kind == bot.AsPullRequest && f.threads[number-1].kind != kind {
			refuse(w, 404, "Not Found")
			return
		}
		handle(w, r, f.threads[number-1])
	}
}

func (f *fake) read(w http.ResponseWriter, r *http.Request, t *thread) { answer(w, 200, f.view(r, t)) }

func (f *fake) openIssue(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Title, Body string
		Labels      []string
	}
	decode(r, &in)
	if !f.known(w, in.Labels) || tooLong(w, in.Body) {
		return
	}
	t := f.add(thread{kind: bot.AsIssue, title: in.Title, body: in.Body, labels: in.Labels, author: account(r.Header.Get("Authorization"))})
	answer(w, 201, f.view(r, t))
}

func (f *fake) openPull(w http.ResponseWriter, r *http.Request) {
	var in struct{ Title, Body, Head, Base string }
	decode(r, &in)
	if tooLong(w, in.Body) {
		return
	}
	for field, branch := range map[string]string{"head": in.Head, "base": in.Base} {
		if f.branches[branch] == "" {
			invalid(w, map[string]string{"resource": "PullRequest", "field": field, "code": "invalid"})
			return
		}
	}
	for _, t := range f.threads {
		if t.branch == in.Head && t.base == in.Base && t.state == "open" && !t.fork {
			invalid(w, map[string]string{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for alice:" + in.Head + "."})
			return
		}
	}
	t := f.add(thread{kind: bot.AsPullRequest, title: in.Title, body: in.Body, branch: in.Head, base: in.Base, head: f.branches[in.Head], author: account(r.Header.Get("Authorization"))})
	answer(w, 201, f.view(r, t))
}

func (f *fake) edit(w http.ResponseWriter, r *http.Request, t *thread) {
	var in struct {
		Title, Body, State *string
		Labels             *[]string
	}
	decode(r, &in)
	if in.Body != nil && tooLong(w, *in.Body) {
		return
	}
	if in.Labels != nil {
		if !f.known(w, *in.Labels) {
			return
		}
		t.labels = *in.Labels
	}
	if in.State != nil && t.mergedAt != "" {
		invalid(w, map[string]string{"resource": "PullRequest", "code": "custom", "message": "state cannot be changed. The pull request is merged."})
		return
	}
	t.title, t.body, t.state = *cmp.Or(in.Title, &t.title), *cmp.Or(in.Body, &t.body), *cmp.Or(in.State, &t.state)
	answer(w, 200, f.view(r, t))
}

func (f *fake) listIssues(w http.ResponseWriter, r *http.Request) {
	creator := r.URL.Query().Get("creator")
	f.list(w, r, func(t *thread) bool { return creator == "" || t.author == creator })
}

func (f *fake) listPulls(w http.ResponseWriter, r *http.Request) {
	f.list(w, r, func(t *thread) bool { return t.kind == bot.AsPullRequest })
}

func (f *fake) list(w http.ResponseWriter, r *http.Request, fits func(*thread) bool) {
	state := cmp.Or(r.URL.Query().Get("state"), "open")
	all := []any{}
	for _, t := range f.threads {
		if fits(t) && (state == "all" || state == t.state) {
			all = append(all, f.view(r, t))
		}
	}
	if r.URL.Query().Get("direction") != "asc" {
		slices.Reverse(all)
	}
	page(w, r, all)
}

func (f *fake) listLabels(w http.ResponseWriter, r *http.Request) {
	all := []any{}
	for _, name := range f.labels {
		all = append(all, map[string]any{"name": name})
	}
	page(w, r, all)
}

func (f *fake) makeLabel(w http.ResponseWriter, r *http.Request) {
	var in struct{ Name string }
	decode(r, &in)
	if f.has(in.Name) {
		invalid(w, map[string]string{"resource": "Label", "code": "already_exists", "field": "name"})
		return
	}
	f.labels = append(f.labels, in.Name)
	answer(w, 201, map[string]any{"name": in.Name})
}

func (f *fake) has(label string) bool {
	return slices.ContainsFunc(f.labels, func(l string) bool { return strings.EqualFold(l, label) })
}

func (f *fake) known(w http.ResponseWriter, labels []string) bool {
	for _, l := range labels {
		if !f.has(l) {
			invalid(w, map[string]string{"resource": "Label", "code": "missing", "field": l})
			return false
		}
	}
	return true
}

// view is a thread as GitHub writes it, at the address that was asked.
func (f *fake) view(r *http.Request, t *thread) map[string]any {
	labels := []any{}
	for _, l := range t.labels {
		labels = append(labels, map[string]any{"name": l})
	}
	path := "issues"
	if t.kind == bot.AsPullRequest {
		path = "pull"
	}
	out := map[string]any{
		"number": t.number, "title": t.title, "body": t.body, "state": t.state, "labels": labels,
		"user":     person(t.author),
		"html_url": fmt.Sprintf("https://github.com/alice/shop/%s/%d", path, t.number),
	}
	if t.kind == bot.AsIssue {
		return out
	}
	if strings.Contains(r.URL.Path, "/issues") {
		out["pull_request"] = map[string]any{"url": "https://api.github.com" + repo + "/pulls/" + strconv.Itoa(t.number)}
		return out
	}
	out["head"] = map[string]any{"ref": t.branch, "sha": t.head, "repo": map[string]any{"id": 1}}
	out["base"] = map[string]any{"ref": t.base, "repo": map[string]any{"id": 1}}
	if t.fork {
		out["head"].(map[string]any)["repo"] = map[string]any{"id": 2}
	}
	out["merge_commit_sha"] = cmp.Or(t.mergeCommit, "a trial of GitHub's")
	if t.mergedAt != "" {
		out["merged_at"] = t.mergedAt
	}
	if strings.HasSuffix(r.URL.Path, "/"+strconv.Itoa(t.number)) { // a list says less
		out["changed_files"] = len(f.changedFiles(t))
		if out["merged"] = t.mergedAt != ""; t.mergedAt != "" {
			out["merged_by"] = person("alice")
		}
	}
	return out
}

// tooLong refuses what GitHub does.
func tooLong(w http.ResponseWriter, body string) bool {
	if utf8.RuneCountInString(body) <= 65_536 {
		return false
	}
	invalid(w, map[string]string{"resource": "Issue", "code": "custom", "field": "body", "message": "body is too long (maximum is 65536 characters)"})
	return true
}

// merge merges a pull request, as alice.
func (f *fake) merge(t *thread) {
	head := f.trees[f.commits[t.head].tree]
	t.mergeCommit, t.mergedAt, t.state = f.addCommit(f.branches[t.base], head), f.now(), "closed"
	f.branches[t.base] = t.mergeCommit
}

// changedFiles are what GitHub lists of a pull request. A file that went and came with the same content was renamed.
func (f *fake) changedFiles(t *thread) []any {
	before, after := f.trees[f.commits[f.branches[t.base]].tree], f.trees[f.commits[t.head].tree]
	out, old := []any{}, map[string]string{}
	for _, path := range sorted(before) {
		if _, there := after[path]; !there {
			old[before[path].content] = path
		}
	}
	for _, path := range sorted(after) {
		previous, there := before[path]
		from, renamed := old[after[path].content]
		switch {
		case there && previous == after[path]:
		case there:
			out = append(out, map[string]any{"filename": path, "status": "modified"})
		case renamed:
			delete(old, after[path].content)
			out = append(out, map[string]any{"filename": path, "status": "renamed", "previous_filename": from})
		default:
			out = append(out, map[string]any{"filename": path, "status": "added"})
		}
	}
	for _, path := range old {
		out = append(out, map[string]any{"filename": path, "status": "removed"})
	}
	return out
}

func (f *fake) listFiles(w http.ResponseWriter, r *http.Request, t *thread) {
	page(w, r, f.changedFiles(t))
}
