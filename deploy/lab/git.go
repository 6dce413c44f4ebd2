package lab

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// Git serves bare repositories over smart HTTP on loopback through the real git, the way a forge does.
type Git struct {
	dir     string // of the bare repositories
	url     string
	options GitOptions
}

// GitOptions says who may do what. The zero value lets everyone read and push.
type GitOptions struct {
	Username, Password string // when set, a push needs them
	Private            bool   // reading needs them too
}

// GitServer serves until the test is over. It needs git and none of the lab's own programs.
func GitServer(t testing.TB, options GitOptions) *Git {
	t.Helper()
	g := &Git{dir: t.TempDir(), options: options}
	programs, err := g.run(t.Context(), "", "--exec-path")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.url = "http://" + listener.Addr().String()
	server := &http.Server{
		Handler:           g.handler(filepath.Join(programs, "git-http-backend")),
		ReadHeaderTimeout: 10 * time.Second,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close() // the listener's; Serve says the rest
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("git server: %v", err)
		}
	})
	return g
}

// URL returns the address of a repository, without credentials.
func (g *Git) URL(name string) string { return g.url + "/" + name + ".git" }

// Dir returns the path of the bare repository.
func (g *Git) Dir(name string) string { return filepath.Join(g.dir, name+".git") }

// Create makes a repository whose branch main holds the files (path to content) in one commit, and returns its URL.
func (g *Git) Create(t testing.TB, name string, files map[string]string) string {
	t.Helper()
	if _, err := g.run(t.Context(), "", "init", "--quiet", "--bare", "--initial-branch=main", g.Dir(name)); err != nil {
		t.Fatal(err)
	}
	// As a forge is set up: partial clones and fetches by commit. No clean-up in the background of a test.
	for _, setting := range []string{"uploadpack.allowFilter=true", "uploadpack.allowReachableSHA1InWant=true", "gc.auto=0", "receive.autogc=false"} {
		key, value, _ := strings.Cut(setting, "=")
		g.Git(t, name, "config", key, value)
	}
	g.Commit(t, name, "main", "Start", files)
	return g.URL(name)
}

// Commit adds one commit to a branch, which starts at main's when it does not exist, and returns its hash. Files that
// are not named stay; remove takes paths of files or folders away.
func (g *Git) Commit(t testing.TB, name, branch, message string, files map[string]string, remove ...string) string {
	t.Helper()
	// fast-import takes a whole commit over one pipe: a thousand files cost no more processes than one.
	var stream bytes.Buffer
	fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter Alice <alice@example.test> %d +0000\ndata %d\n%s\n", branch,
		time.Now().Unix(), len(message), message)
	for _, parent := range []string{branch, "main"} {
		if _, err := g.run(t.Context(), "", "--git-dir", g.Dir(name), "rev-parse", "--quiet", "--verify", "refs/heads/"+parent); err == nil {
			fmt.Fprintf(&stream, "from refs/heads/%s^0\n", parent)
			break
		}
	}
	for _, path := range remove {
		fmt.Fprintf(&stream, "D %s\n", path)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if strings.ContainsAny(path, "\n\"") {
			t.Fatalf("lab: file name %q would need quoting", path)
		}
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", path, len(files[path]), files[path])
	}
	if _, err := g.run(t.Context(), stream.String(), "--git-dir", g.Dir(name), "fast-import", "--quiet", "--date-format=raw"); err != nil {
		t.Fatal(err)
	}
	return g.Git(t, name, "rev-parse", "refs/heads/"+branch)
}

// Git runs git on a bare repository, fails the test when git fails, and returns the trimmed output.
func (g *Git) Git(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := g.run(t.Context(), "", append([]string{"--git-dir", g.Dir(name)}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (g *Git) run(ctx context.Context, stdin string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Env = g.environment()
	command.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// environment keeps the settings of whoever runs the test out.
func (g *Git) environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
}

// handler checks credentials and hands the request to `git http-backend`.
func (g *Git) handler(backend string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, authorized := g.authorize(r)
		if !authorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="lab"`)
			http.Error(w, "credentials needed", http.StatusUnauthorized)
			return
		}
		// CGI has no chunked bodies, and git sends a large pack in chunks: give the request a length.
		if len(r.TransferEncoding) > 0 {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 256<<20))
			if err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
				return
			}
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		}
		environment := append(g.environment(), "GIT_PROJECT_ROOT="+g.dir, "GIT_HTTP_EXPORT_ALL=1")
		if user != "" {
			environment = append(environment, "REMOTE_USER="+user) // http-backend takes a push from a named user only
		}
		(&cgi.Handler{Path: backend, Env: environment, Stderr: io.Discard}).ServeHTTP(w, r)
	})
}

// authorize tells who asks, and whether that is enough for the request.
func (g *Git) authorize(r *http.Request) (user string, ok bool) {
	if g.options.Username == "" {
		return "anyone", true
	}
	push := strings.HasSuffix(r.URL.Path, "/git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack"
	name, password, given := r.BasicAuth()
	if given {
		valid := subtle.ConstantTimeCompare([]byte(name+":"+password), []byte(g.options.Username+":"+g.options.Password)) == 1
		return name, valid
	}
	return "", !push && !g.options.Private
}

// Files makes the files of a Git repository from txtar text.
func Files(archive string) map[string]string {
	files := map[string]string{}
	for _, file := range txtar.Parse([]byte(archive)).Files {
		files[file.Name] = string(file.Data)
	}
	return files
}
