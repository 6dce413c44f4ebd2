package gitea

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/bot"
	"holdfast/bot/forge"
)

// answering is a forge whose server answers as told.
func answering(t *testing.T, handler http.HandlerFunc) *Forge {
	t.Helper()
	fake := httptest.NewServer(handler)
	t.Cleanup(fake.Close)
	f, err := New(Options{BaseURL: fake.URL + "/git", Owner: "shop", Repo: "declared", Token: "t0ken"})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNewRefuses(t *testing.T) {
	good := Options{BaseURL: "https://git.example.com", Owner: "shop", Repo: "declared", Token: "t0ken"}
	for name, change := range map[string]func(*Options){
		"a URL without a host":     func(o *Options) { o.BaseURL = "git.example.com" },
		"a URL with a password":    func(o *Options) { o.BaseURL = "https://a:hunter2@git.example.com" },
		"a URL without TLS":        func(o *Options) { o.BaseURL = "http://git.example.com" },
		"another protocol":         func(o *Options) { o.BaseURL = "ftp://localhost" },
		"no token":                 func(o *Options) { o.Token = "" },
		"an owner with a slash":    func(o *Options) { o.Owner = "a/b" },
		"a name that leads upward": func(o *Options) { o.Repo = ".." },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || contains(err, "hunter2") || contains(err, "t0ken") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   error
		says   string
	}{
		{"a scope is missing", 403, `{"message":"token does not have at least one of required scope(s), required=[write:issue], token scope=read:issue"}`, forge.ErrForbidden, "has not the scope write:issue"},
		{"a right is missing", 403, `{"message":"user should have a permission to write to a repo"}`, forge.ErrForbidden, "give the token's user write"},
		{"the token is not valid", 401, `{"message":"invalid username, password or token"}`, forge.ErrForbidden, "token is not accepted"},
		{"the repository is archived", 423, `{"message":"shop/declared is archived"}`, forge.ErrArchived, "archived"},
		{"there is none", 404, `{"message":"not found","errors":["repository does not exist"]}`, forge.ErrNotFound, "repository does not exist"},
		{"it has moved", 301, ``, forge.ErrNotFound, "moved to /elsewhere"},
		{"the content is refused", 422, `{"message":"[Title]: Required"}`, forge.ErrInvalid, "Required"},
		{"a proxy's page", 418, `<html>teapot</html>`, forge.ErrInvalid, "teapot"},
	} {
		f := answering(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/git/api/v1/user" {
				fmt.Fprint(w, `{"id":1,"login":"drift-bot"}`)
				return
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		_, err := f.OpenIssue(t.Context(), forge.Content{Title: "x"})
		if !errors.Is(err, c.want) || !contains(err, "shop/declared") || !contains(err, c.says) && c.says != "teapot" {
			t.Errorf("%s: %v; want %v that says %q", c.name, err, c.want, c.says)
		}
	}
}

func TestListsWithoutAnEnd(t *testing.T) {
	f := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/user") {
			fmt.Fprint(w, `{"id":1,"login":"drift-bot"}`)
			return
		}
		fmt.Fprint(w, `[{"number":1}]`)
	})
	if _, err := f.Threads(t.Context(), bot.AsIssue); !errors.Is(err, forge.ErrUnavailable) || !contains(err, "no end") {
		t.Errorf("%v", err)
	}
}

// What others chose cannot lead a request elsewhere.
func TestPathsHoldWhatTheyAreGiven(t *testing.T) {
	var paths []string
	f := answering(t, func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.EscapedPath()+"?"+r.URL.RawQuery)
		fmt.Fprint(w, `{}`)
	})
	for _, name := range []string{"a/b", "..", "a?b#c", "../../user", "%2e%2e"} {
		if _, err := f.Protection(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	for i, want := range []string{"a%2Fb", "%2E%2E", "a%3Fb%23c", "..%2F..%2Fuser", "%252e%252e"} {
		if got := paths[i]; got != "/git/api/v1/repos/shop/declared/branches/"+want+"?" {
			t.Errorf("request for %s", got)
		}
	}
}

// The token goes to the server of the configuration alone.
func TestTokenStaysWithItsServer(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked elsewhere, with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	f := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "token t0ken" {
			t.Errorf("asked with %q", got)
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	if _, err := f.Repository(t.Context()); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// What was imported from another forge was said by nobody here.
func TestImportedCommentsAreNobodys(t *testing.T) {
	c := comment{ID: 1, User: user{ID: 1, Login: "root"}, OriginalAuthor: "alice", Body: "/drift revert"}
	if got := c.comment(bot.AsIssue, 1, "drift-bot"); got.Author != (bot.Actor{Bot: true}) {
		t.Errorf("author is %+v", got.Author)
	}
}
