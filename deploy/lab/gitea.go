package lab

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"sync"
	"testing"
	"text/template"
	"time"

	"holdfast/deploy/lab/binary"
)

// Gitea is a real forge on loopback: repositories over HTTP, issues, pull requests, reviews, branch protection and
// signed webhooks. Admin is its administrator; Bot, Alice and Bob have accounts without rights until a repository
// gives them some.
type Gitea struct {
	url        string
	dir        string
	program    string
	supervisor *supervisor
	stopOnce   sync.Once

	people map[User]giteaAccount // complete once New has returned
}

// giteaAccount is a user's way in.
type giteaAccount struct {
	login, password string
	client          *http.Client // signs in with a token that may do everything the user may
}

//go:embed gitea.ini
var giteaSettings string

// giteaLogins are the names that the users have there; admin is one that Gitea keeps for itself.
func giteaLogins() map[User]string {
	return map[User]string{Admin: "root", Bot: "drift-bot", Alice: "alice", Bob: "bob"}
}

// StartGitea runs a Gitea for one test and stops it when the test is over. It skips the test unless HOLDFAST_E2E is set, and fails it
// when the program is not built. It needs git.
func StartGitea(t testing.TB) *Gitea {
	t.Helper()
	skipForge(t)
	g, err := NewGitea(t.Context())
	if err != nil {
		t.Fatalf("start Gitea: %v", err)
	}
	t.Cleanup(g.Stop)
	return g
}

// skipForge leaves out tests on the real forge where nobody asked for them: Gitea takes minutes to build.
func skipForge(t testing.TB) {
	t.Helper()
	if testing.Short() || os.Getenv("HOLDFAST_E2E") == "" {
		t.Skip("needs a real Gitea: make e2e runs it")
	}
}

// SharedGitea is one Gitea for all tests of a package, used like [Shared]. Tests that share make repositories of their
// own.
type SharedGitea struct {
	once  sync.Once
	gitea *Gitea
	err   error
}

// Run runs the tests, stops Gitea if it was started, and returns the exit code.
func (s *SharedGitea) Run(m *testing.M) int {
	defer func() {
		if s.gitea != nil {
			s.gitea.Stop()
		}
	}()
	return m.Run()
}

// Get returns the Gitea. It skips the test unless HOLDFAST_E2E is set, and fails it when Gitea cannot start.
func (s *SharedGitea) Get(t testing.TB) *Gitea {
	t.Helper()
	skipForge(t)
	// not the test's context: Gitea outlives the test that asked first
	s.once.Do(func() { s.gitea, s.err = NewGitea(context.Background()) })
	if s.err != nil {
		t.Fatalf("start Gitea: %v", s.err)
	}
	return s.gitea
}

// NewGitea runs a Gitea until Stop. The context bounds the start only. When NewGitea fails, nothing is left running.
func NewGitea(ctx context.Context) (*Gitea, error) {
	store, err := binary.Open(".", os.Getenv(binary.CacheEnv))
	if err != nil {
		return nil, err
	}
	program, err := store.Find(binary.Gitea())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "holdfast-gitea-")
	if err != nil {
		return nil, err
	}
	g := &Gitea{dir: dir, program: program, supervisor: newSupervisor(dir), people: map[User]giteaAccount{}}
	if err := g.boot(ctx); err != nil {
		g.Stop()
		return nil, err
	}
	return g, nil
}

// Stop kills Gitea, waits until it is gone, and removes its folder. A second call does nothing.
func (g *Gitea) Stop() {
	g.stopOnce.Do(func() {
		g.supervisor.stop()
		_ = os.RemoveAll(g.dir) // a temporary folder; a hook of git that ends at this moment may still write to it
	})
}

// URL is the address of the server, without a slash at its end.
func (g *Gitea) URL() string { return g.url }

// Login is the name of a user's account.
func (g *Gitea) Login(user User) string { return giteaLogins()[user] }

func (g *Gitea) boot(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	g.url = "http://" + address(ports[0])
	if err := g.configure(ports[0]); err != nil {
		return err
	}
	web, err := g.supervisor.start("gitea", g.program, g.environment(), "web", "--config", g.config())
	if err != nil {
		return err
	}
	if err := web.await(ctx, "healthy", readyTimeout, func(ctx context.Context) error {
		return get(ctx, http.DefaultClient, g.url+"/api/healthz")
	}); err != nil {
		return err
	}
	return g.populate(ctx)
}

func (g *Gitea) config() string { return filepath.Join(g.dir, "app.ini") }

// environment is all that Gitea, and the hooks of git that call it again, see of the caller's.
func (g *Gitea) environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "TMPDIR=" + g.dir, "GITEA_WORK_DIR=" + g.dir}
}

func (g *Gitea) configure(port int) error {
	me, err := osuser.Current()
	if err != nil {
		return err
	}
	settings, err := template.New("gitea.ini").Parse(giteaSettings)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(g.config(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	return settings.Execute(file, map[string]any{
		"User": me.Username, "Dir": g.dir, "Port": port, "Static": binary.Folder(g.program), "Secret": random(), "Internal": random(),
	})
}

// populate makes the accounts. The first one is made by Gitea's own command, since nobody could ask for it.
func (g *Gitea) populate(ctx context.Context) error {
	admin := giteaAccount{login: g.Login(Admin), password: random()}
	command := exec.CommandContext(ctx, g.program, "admin", "user", "create", "--config", g.config(), "--admin",
		"--username", admin.login, "--password", admin.password, "--email", admin.login+"@example.test", "--must-change-password=false")
	command.Dir, command.Env = g.dir, g.environment()
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make Gitea's administrator: %w\n%.2000s", err, out)
	}
	var err error
	if admin.client, err = g.signIn(ctx, admin); err != nil {
		return err
	}
	g.people[Admin] = admin
	for _, user := range []User{Bot, Alice, Bob} {
		a := giteaAccount{login: g.Login(user), password: random()}
		if err := g.call(ctx, Admin, http.MethodPost, "/admin/users", map[string]any{
			"username": a.login, "email": a.login + "@example.test", "password": a.password, "must_change_password": false,
		}, nil); err != nil {
			return err
		}
		if a.client, err = g.signIn(ctx, a); err != nil {
			return err
		}
		g.people[user] = a
	}
	return nil
}

func (g *Gitea) signIn(ctx context.Context, a giteaAccount) (*http.Client, error) {
	token, err := g.newToken(ctx, a, "all")
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: authorized{"token " + token}}, nil
}

// Token makes an access token of a user with the scopes given, such as write:repository; none means all.
func (g *Gitea) Token(t testing.TB, user User, scopes ...string) string {
	t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"all"}
	}
	token, err := g.newToken(t.Context(), g.people[user], scopes...)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (g *Gitea) newToken(ctx context.Context, a giteaAccount, scopes ...string) (string, error) {
	// Gitea gives out tokens for the password alone.
	password := base64.StdEncoding.EncodeToString([]byte(a.login + ":" + a.password))
	basic := &http.Client{Transport: authorized{"Basic " + password}}
	var token struct {
		Sha1 string // the token itself
	}
	err := call(ctx, basic, http.MethodPost, g.url+"/api/v1/users/"+a.login+"/tokens",
		map[string]any{"name": random(), "scopes": scopes}, &token, http.StatusCreated)
	return token.Sha1, err
}

// Call asks the API as a user and fails the test on any answer but a success. path stands below /api/v1. A nil body is
// none, a nil result is not read.
func (g *Gitea) Call(t testing.TB, user User, method, path string, body, result any) {
	t.Helper()
	if err := g.call(t.Context(), user, method, path, body, result); err != nil {
		t.Fatal(err)
	}
}

func (g *Gitea) call(ctx context.Context, user User, method, path string, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // a commit of hundreds of files takes some
	defer cancel()
	return ask(ctx, g.people[user].client, method, g.url+"/api/v1"+path, body, result,
		http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent)
}

// authorized signs every request with one Authorization header.
type authorized struct{ header string }

func (a authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	signed := request.Clone(request.Context())
	signed.Header.Set("Authorization", a.header)
	return http.DefaultTransport.RoundTrip(signed)
}

func random() string {
	bytes := make([]byte, 16)
	rand.Read(bytes) // never fails
	return hex.EncodeToString(bytes)
}
