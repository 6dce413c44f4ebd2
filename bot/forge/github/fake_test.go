package github_test

import (
	"cmp"
	"crypto/sha256"
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
)

// fake is as much of GitHub as Holdfast uses, with the state of one repository alice/shop behind it. Where GitHub's
// documents leave a choice, it takes the stricter one: a label must exist before it is given.
type fake struct {
	mu       sync.Mutex
	requests []string // method and path of each, as they came
	// intercept answers in place of the fake where it gives true.
	intercept func(w http.ResponseWriter, r *http.Request) bool
	server    *httptest.Server
	seconds   int // that passed: each change takes one
	lastID    int64

	threads   []*thread // in order of numbers, issues and pull requests together
	labels    []string
	comments  []*remark
	reactions []reaction
	reviews   map[int][]*review

	defaultBranch string
	archived      bool
	branches      map[string]string // to commit
	commits       map[string]*commit
	trees         map[string]map[string]file // files by path
	blobs         map[string]string          // content by hash
	protection    map[string]any             // of the default branch
	rules         []any
	// blind keeps the protection from the token, which lacks the permission.
	blind bool

	runs     []*run
	statuses []*status
	// granted are the permissions of the App's installation.
	granted map[string]string
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

const repo = "/repos/alice/shop"

func newFake(t *testing.T) *fake {
	f := &fake{
		defaultBranch: "main", branches: map[string]string{}, commits: map[string]*commit{}, trees: map[string]map[string]file{}, blobs: map[string]string{},
		reviews: map[int][]*review{},
		granted: map[string]string{"metadata": "read", "contents": "write", "issues": "write", "pull_requests": "write", "checks": "write", "actions": "write"},
	}
	f.branches["main"] = f.addCommit("", map[string]file{"README.md": {"# Shop\n", "100644"}})
	mux := http.NewServeMux()
	for _, routes := range []map[string]http.HandlerFunc{f.accountRoutes(), f.threadRoutes(), f.commentRoutes(), f.reviewRoutes(), f.repositoryRoutes(), f.gitRoutes(), f.checkRoutes()} {
		for pattern, handle := range routes {
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
		answered := httptest.NewRecorder()
		http.StripPrefix("/api/v3", mux).ServeHTTP(answered, r)
		conditional(w, r, answered)
	}))
	t.Cleanup(f.server.Close)
	return f
}

// conditional answers 304 where the client has the answer already. (docs.github.com, "Use conditional requests".)
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

// now is the time of a change.
func (f *fake) now() string {
	f.seconds++
	return time.Date(2026, 1, 1, 0, 0, f.seconds, 0, time.UTC).Format(time.RFC3339)
}

func (f *fake) id() int64 {
	f.lastID++
	return f.lastID
}

func (f *fake) accountRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /user": f.user,
		"GET /app":  f.appOnly(func(w http.ResponseWriter) { answer(w, 200, map[string]any{"slug": "holdfast-app"}) }),
		"GET " + repo + "/installation": f.appOnly(func(w http.ResponseWriter) {
			answer(w, 200, map[string]any{"id": 77, "permissions": f.granted})
		}),
		"POST /app/installations/{id}/access_tokens": f.token,
	}
}

func (f *fake) user(w http.ResponseWriter, r *http.Request) {
	login := account(r.Header.Get("Authorization"))
	if login == "" {
		refuse(w, 401, "Bad credentials")
		return
	}
	answer(w, 200, person(login))
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

// token gives one for the repository alone, with no more than what the installation has.
func (f *fake) token(w http.ResponseWriter, r *http.Request) {
	f.appOnly(func(w http.ResponseWriter) {
		var in struct {
			Repositories []string
			Permissions  map[string]string
		}
		decode(r, &in)
		if r.PathValue("id") != "77" {
			refuse(w, 404, "Not Found")
			return
		}
		for name, wanted := range in.Permissions {
			if f.granted[name] != wanted && f.granted[name] != "write" {
				refuse(w, 422, "The permissions requested are not granted to this installation.")
				return
			}
		}
		if !slices.Equal(in.Repositories, []string{"shop"}) || len(in.Permissions) == 0 || in.Permissions["actions"] != "" {
			refuse(w, 422, "this fake wants a token for one repository and few permissions")
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
			if f.archived {
				refuse(w, 403, "Repository was archived so is read-only.")
				return
			}
			handle(w, r)
		}
	}
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

// person is an account as GitHub writes it.
func person(login string) map[string]any {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return map[string]any{"login": login, "type": kind}
}
