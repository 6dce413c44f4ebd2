package gitlab_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
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

// fake is a GitLab server with one project, alice/tools/shop, served under a path of its own like many self-managed ones.
// No GitLab runs in the tests, so it is written from GitLab's documents (docs.gitlab.com/api: rest, rest/authentication,
// users, projects, project_members, issues, merge_requests, merge_request_approvals, notes, emoji_reactions, labels, commits,
// branches, protected_branches, graphql/reference; docs.gitlab.com/user/project/quick_actions). It keeps state, checks tokens, scopes,
// roles and parameters, and takes the stricter reading where they leave a choice: what a document does not list as a
// parameter is an error.
type fake struct {
	mu       sync.Mutex
	server   *httptest.Server
	requests []string
	seconds  int
	lastID   int

	threads  map[bot.Kind][]*thread
	labels   map[string]label
	notes    []*note
	statuses []*status
	actions  []string // quick actions that were carried out

	defaultBranch string
	archived      bool
	branches      map[string]*branch
	protected     []map[string]any
	blind         bool // keeps the rules of protected branches from the token
	rules         []map[string]any
	pipelines     bool // only what passed its pipelines may be merged
}

const (
	root    = "/gitlab"
	project = "alice/tools/shop"
)

// users by their ID, members by their access level.
var (
	users   = []string{"", "holdfast-bot", "alice", "stranger", "guest", "planner", "reporter", "developer", "maintainer", "owner", "blocked"}
	members = map[string]int{"holdfast-bot": 30, "alice": 30, "guest": 10, "planner": 15, "reporter": 20, "developer": 30, "maintainer": 40, "owner": 50, "blocked": 40}
)

// login of the request's token. The reader's token has the scope read_api, a job's token reaches nothing here.
func login(h http.Header) (who, scope string) {
	switch {
	case h.Get("Private-Token") == "bot-token", h.Get("Authorization") == "Bearer oauth-token":
		return "holdfast-bot", "api"
	case h.Get("Private-Token") == "reader-token":
		return "alice", "read_api"
	case h.Get("Private-Token") == "guest-token":
		return "guest", "api"
	}
	return "", ""
}

// call is one request on its way through the fake.
type call struct {
	*fake
	w     http.ResponseWriter
	r     *http.Request
	login string
	body  map[string]any
}

// route says what a path takes.
type route struct {
	query, body []string // parameters that the documents list
	required    []string // of the body
	level       int      // access level that it needs
	handle      func(call)
}

var paging = []string{"page", "per_page"}

func newFake(t *testing.T) *fake {
	f := &fake{
		defaultBranch: "main", threads: map[bot.Kind][]*thread{}, labels: map[string]label{},
		branches: map[string]*branch{"main": {head: hashOf("main"), files: map[string]string{"README.md": "# Shop\n"}}},
	}
	mux := http.NewServeMux()
	for _, routes := range []map[string]route{f.threadRoutes(), f.noteRoutes(bot.AsIssue), f.noteRoutes(bot.AsPullRequest), f.projectRoutes()} {
		for pattern, r := range routes {
			method, path, _ := strings.Cut(pattern, " ")
			mux.HandleFunc(method+" "+root+"/api/v4"+strings.Replace(path, ":project", "/projects/{project}", 1), f.serve(r))
		}
	}
	mux.HandleFunc("POST "+root+"/api/graphql", f.serve(route{body: []string{"query"}, required: []string{"query"}, handle: call.graphql}))
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.requests = append(f.requests, r.Method+" "+r.URL.EscapedPath())
		answered := httptest.NewRecorder()
		mux.ServeHTTP(answered, r)
		conditional(w, r, answered)
	}))
	t.Cleanup(f.server.Close)
	return f
}

// serve checks a request and hands it on.
func (f *fake) serve(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := call{fake: f, w: w, r: r, body: map[string]any{}}
		who, scope := login(r.Header)
		graphql := strings.HasSuffix(r.URL.Path, "/graphql")
		switch writes := r.Method != http.MethodGet && !graphql; {
		case who == "":
			c.refuse(401, "401 Unauthorized")
			return
		case r.PathValue("project") != "" && r.PathValue("project") != project:
			c.refuse(404, "404 Project Not Found")
			return
		case writes && scope != "api":
			c.answer(403, map[string]any{"error": "insufficient_scope", "error_description": "The request requires higher privileges than provided by the access token.", "scope": "api"})
			return
		case members[who] < route.level || writes && f.archived:
			c.refuse(403, "403 Forbidden")
			return
		}
		c.login = who
		if c.parameters(route) {
			route.handle(c)
		}
	}
}

// parameters reads the body, and refuses what the documents do not list.
func (c *call) parameters(route route) bool {
	for name := range c.r.URL.Query() {
		if !slices.Contains(route.query, name) {
			c.answer(400, map[string]any{"error": name + " is no parameter of " + c.r.Method + " " + c.r.URL.Path})
			return false
		}
	}
	data, err := io.ReadAll(c.r.Body)
	if err != nil || len(data) > 0 && json.Unmarshal(data, &c.body) != nil {
		c.answer(400, map[string]any{"error": "the body is no JSON object"})
		return false
	}
	for name := range c.body {
		if !slices.Contains(route.body, name) {
			c.answer(400, map[string]any{"error": name + " is no parameter of " + c.r.Method + " " + c.r.URL.Path})
			return false
		}
	}
	for _, name := range route.required {
		if text, _ := c.body[name].(string); text == "" {
			c.answer(400, map[string]any{"error": name + " is missing"})
			return false
		}
	}
	return true
}

// text gives a parameter of the body, and whether it is there.
func (c call) text(name string) (string, bool) {
	text, ok := c.body[name].(string)
	return text, ok
}

// one of the values that a parameter of the query may have, or the first.
func (c call) oneOf(name string, values ...string) string {
	got := cmp.Or(c.r.URL.Query().Get(name), values[0])
	if !slices.Contains(values, got) {
		c.answer(400, map[string]any{"error": name + " does not have a valid value"})
		panic(http.ErrAbortHandler)
	}
	return got
}

func (c call) answer(code int, body any) {
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(code)
	_ = json.NewEncoder(c.w).Encode(body)
}

func (c call) refuse(code int, message any) { c.answer(code, map[string]any{"message": message}) }

// page answers with one page of a list. (docs.gitlab.com/api/rest, "Pagination".)
func (c call) page(all []any) {
	size, _ := strconv.Atoi(cmp.Or(c.r.URL.Query().Get("per_page"), "20"))
	number, _ := strconv.Atoi(cmp.Or(c.r.URL.Query().Get("page"), "1"))
	size = min(size, 100)
	from, to := min((number-1)*size, len(all)), min(number*size, len(all))
	header := c.w.Header()
	header.Set("X-Page", strconv.Itoa(number))
	header.Set("X-Per-Page", strconv.Itoa(size))
	header.Set("X-Total", strconv.Itoa(len(all)))
	header.Set("X-Next-Page", "")
	if to < len(all) {
		header.Set("X-Next-Page", strconv.Itoa(number+1))
	}
	c.answer(200, append([]any{}, all[from:to]...))
}

// conditional answers 304 where the client has the answer already.
func conditional(w http.ResponseWriter, r *http.Request, answered *httptest.ResponseRecorder) {
	for name, values := range answered.Header() {
		w.Header()[name] = values
	}
	if r.Method == http.MethodGet && answered.Code == 200 {
		tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(answered.Body.Bytes()))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(304)
			return
		}
	}
	w.WriteHeader(answered.Code)
	_, _ = w.Write(answered.Body.Bytes())
}

// with changes or reads the fake from a test.
func (f *fake) with(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

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

// now is the time of a change, in milliseconds as GitLab has it.
func (f *fake) now() time.Time {
	f.seconds++
	return time.Date(2026, 1, 1, 0, 0, f.seconds, 123_000_000, time.UTC)
}

func (f *fake) id() int {
	f.lastID++
	return f.lastID
}

func user(login string) map[string]any {
	return map[string]any{"id": slices.Index(users, login), "username": login, "state": "active"}
}

func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:40] }
