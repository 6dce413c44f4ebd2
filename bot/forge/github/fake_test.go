package github_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/bot"
)

// fake is as much of GitHub as Holdfast uses, with the state of one repository alice/shop behind it. Where GitHub's
// documents leave a choice, it takes the stricter one: a label must exist before it is given.
type fake struct {
	mu       sync.Mutex
	threads  []*thread // in order of numbers, issues and pull requests together
	labels   []string
	branches map[string]string // to commit
	comments map[int][]string
	requests []string // method and path of each, as they came
	// intercept answers in place of the fake where it gives true.
	intercept func(w http.ResponseWriter, r *http.Request) bool
	server    *httptest.Server
}

type thread struct {
	number                     int
	kind                       bot.Kind
	title, body, state, author string
	labels                     []string
	branch, base               string
	merged                     bool
}

// account of each token; "reader" may only read.
func account(authorization string) string {
	switch authorization {
	case "Bearer bot-token":
		return "holdfast-bot"
	case "Bearer reader-token":
		return "reader"
	case "token installation-token":
		return "holdfast-app[bot]"
	}
	return ""
}

func newFake(t *testing.T) *fake {
	f := &fake{branches: map[string]string{"main": "c0"}, comments: map[int][]string{}}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET /user":                     f.user,
		"GET /app":                      f.appOnly(func(w http.ResponseWriter) { answer(w, 200, map[string]any{"slug": "holdfast-app"}) }),
		"GET " + repo + "/installation": f.appOnly(func(w http.ResponseWriter) { answer(w, 200, map[string]any{"id": 77}) }),
		"POST /app/installations/{id}/access_tokens": f.token,
		"GET " + repo + "/issues":                    f.listIssues,
		"POST " + repo + "/issues":                   f.write(f.openIssue),
		"GET " + repo + "/issues/{number}":           f.one(bot.AsIssue, f.read),
		"PATCH " + repo + "/issues/{number}":         f.write(f.one(bot.AsIssue, f.edit)),
		"POST " + repo + "/issues/{number}/comments": f.write(f.one(bot.AsIssue, f.comment)),
		"GET " + repo + "/labels":                    f.listLabels,
		"POST " + repo + "/labels":                   f.write(f.makeLabel),
		"GET " + repo + "/pulls":                     f.listPulls,
		"POST " + repo + "/pulls":                    f.write(f.openPull),
		"GET " + repo + "/pulls/{number}":            f.one(bot.AsPullRequest, f.read),
		"PATCH " + repo + "/pulls/{number}":          f.write(f.one(bot.AsPullRequest, f.edit)),
	} {
		if handle != nil {
			mux.HandleFunc(pattern, handle)
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 404, "Not Found") })
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.requests = append(f.requests, r.Method+" "+r.URL.EscapedPath())
		if f.intercept != nil && f.intercept(w, r) {
			return
		}
		http.StripPrefix("/api/v3", mux).ServeHTTP(w, r)
	}))
	t.Cleanup(f.server.Close)
	return f
}

const repo = "/repos/alice/shop"

// count says how many requests began so.
func (f *fake) count(prefix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.requests {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

func (f *fake) add(t thread) *thread {
	t.number = len(f.threads) + 1
	t.state = "open"
	f.threads = append(f.threads, &t)
	return &t
}

func (f *fake) user(w http.ResponseWriter, r *http.Request) {
	login := account(r.Header.Get("Authorization"))
	if login == "" {
		refuse(w, 401, "Bad credentials")
		return
	}
	answer(w, 200, map[string]any{"login": login})
}

// appOnly answers to a JWT, which has three parts with dots between.
func (f *fake) appOnly(handle func(http.ResponseWriter)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.Count(r.Header.Get("Authorization"), ".") != 2 {
			refuse(w, 401, "A JSON web token could not be decoded")
			return
		}
		handle(w)
	}
}

func (f *fake) token(w http.ResponseWriter, r *http.Request) {
	f.appOnly(func(w http.ResponseWriter) {
		if r.PathValue("id") != "77" {
			refuse(w, 404, "Not Found")
			return
		}
		answer(w, 201, map[string]any{"token": "installation-token", "expires_at": time.Now().Add(time.Hour).Format(time.RFC3339)})
	})(w, r)
}

func (f *fake) write(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch account(r.Header.Get("Authorization")) {
		case "":
			refuse(w, 401, "Bad credentials")
		case "reader":
			w.Header().Set("X-Accepted-GitHub-Permissions", "issues=write; pull_requests=write")
			refuse(w, 403, "Resource not accessible by personal access token")
		default:
			handle(w, r)
		}
	}
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
	if !f.known(w, in.Labels) {
		return
	}
	t := f.add(thread{kind: bot.AsIssue, title: in.Title, body: in.Body, labels: in.Labels, author: account(r.Header.Get("Authorization"))})
	answer(w, 201, f.view(r, t))
}

func (f *fake) openPull(w http.ResponseWriter, r *http.Request) {
	var in struct{ Title, Body, Head, Base string }
	decode(r, &in)
	for field, branch := range map[string]string{"head": in.Head, "base": in.Base} {
		if f.branches[branch] == "" {
			invalid(w, map[string]string{"resource": "PullRequest", "field": field, "code": "invalid"})
			return
		}
	}
	for _, t := range f.threads {
		if t.branch == in.Head && t.base == in.Base && t.state == "open" {
			invalid(w, map[string]string{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for alice:" + in.Head + "."})
			return
		}
	}
	t := f.add(thread{kind: bot.AsPullRequest, title: in.Title, body: in.Body, branch: in.Head, base: in.Base, author: account(r.Header.Get("Authorization"))})
	answer(w, 201, f.view(r, t))
}

func (f *fake) edit(w http.ResponseWriter, r *http.Request, t *thread) {
	var in struct {
		Title, Body, State *string
		Labels             *[]string
	}
	decode(r, &in)
	if in.Labels != nil {
		if !f.known(w, *in.Labels) {
			return
		}
		t.labels = *in.Labels
	}
	if in.State != nil && t.merged {
		invalid(w, map[string]string{"resource": "PullRequest", "code": "custom", "message": "state cannot be changed. The pull request is merged."})
		return
	}
	t.title, t.body, t.state = *cmp.Or(in.Title, &t.title), *cmp.Or(in.Body, &t.body), *cmp.Or(in.State, &t.state)
	answer(w, 200, f.view(r, t))
}

func (f *fake) comment(w http.ResponseWriter, r *http.Request, t *thread) {
	var in struct{ Body string }
	decode(r, &in)
	f.comments[t.number] = append(f.comments[t.number], in.Body)
	answer(w, 201, map[string]any{"id": 1, "body": in.Body})
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
		"user":     map[string]any{"login": t.author},
		"html_url": fmt.Sprintf("https://github.com/alice/shop/%s/%d", path, t.number),
	}
	if t.kind == bot.AsIssue {
		return out
	}
	if strings.Contains(r.URL.Path, "/issues") {
		out["pull_request"] = map[string]any{"url": "https://api.github.com" + repo + "/pulls/" + strconv.Itoa(t.number)}
		return out
	}
	out["head"] = map[string]any{"ref": t.branch, "sha": f.branches[t.branch]}
	out["base"] = map[string]any{"ref": t.base}
	if t.merged { // only a single pull request says "merged", a list has the time
		out["merged_at"] = "2026-01-01T00:00:00Z"
	}
	return out
}

func page(w http.ResponseWriter, r *http.Request, all []any) {
	size, _ := strconv.Atoi(cmp.Or(r.URL.Query().Get("per_page"), "30"))
	number, _ := strconv.Atoi(cmp.Or(r.URL.Query().Get("page"), "1"))
	size = min(size, 100)
	from, to := min((number-1)*size, len(all)), min(number*size, len(all))
	if to < len(all) {
		next := *r.URL
		query := next.Query()
		query.Set("page", strconv.Itoa(number+1))
		next.RawQuery = query.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<https://api.github.com%s>; rel="next"`, next.RequestURI()))
	}
	answer(w, 200, all[from:to])
}

func decode(r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, code int, message string) {
	answer(w, code, map[string]any{"message": message})
}

func invalid(w http.ResponseWriter, reason map[string]string) {
	answer(w, 422, map[string]any{"message": "Validation Failed", "errors": []any{reason}})
}
