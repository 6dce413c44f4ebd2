// Package storetest starts a throw-away PostgreSQL for tests, from the machine's own initdb and postgres.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL that listens on a Unix socket in a folder of its own, and nowhere else.
type Server struct {
	dir     string
	process *exec.Cmd
	ended   chan error
	log     strings.Builder // what the server says, whole once it has ended
}

// Postgres starts a server for the rest of the test. Where PostgreSQL is not installed the test fails, and says
// what to do; with -short it is skipped.
func Postgres(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a PostgreSQL")
	}
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Start starts a server, for several tests. Stop ends it.
func Start() (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	as, err := owner()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(shortTemp(), "holdfast-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, ended: make(chan error, 1)}
	if err := s.start(bin, as); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// start makes the server's data, starts it, and waits until it answers.
func (s *Server) start(bin string, as *syscall.Credential) error {
	if as != nil {
		if err := os.Chown(s.dir, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir = s.dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC", "HOME=" + s.dir}
		cmd.SysProcAttr = childAttributes(as)
		return cmd
	}
	data := filepath.Join(s.dir, "data")
	// Nobody but the owner of the socket's folder gets in, so trust is enough.
	if out, err := command("initdb", "--pgdata", data, "--username", "holdfast", "--auth", "trust", "--encoding", "UTF8", "--no-sync").CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	s.process = command("postgres", "-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=100", "-c", "shared_buffers=16MB")
	s.process.Stderr = &s.log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return err
	}
	go func() {
		s.ended <- s.process.Wait()
		close(s.ended)
	}()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := s.run(context.Background(), "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case ended := <-s.ended:
			return fmt.Errorf("PostgreSQL ended at its start: %w\n%s", ended, s.log.String())
		default:
		}
		if time.Now().After(end) {
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
	}
}

// Database makes an empty database and gives its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "t" + strings.ToLower(rand.Text()[:12])
	if err := s.run(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.url(name)
}

func (s *Server) url(database string) string {
	return "postgres://holdfast@/" + database + "?host=" + s.dir
}

func (s *Server) run(ctx context.Context, statement string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, statement)
	return err
}

// Stop ends the server at once, and removes what it held.
func (s *Server) Stop() {
	if s.process != nil {
		_ = s.process.Process.Signal(syscall.SIGQUIT) // one that has ended already needs none
		select {
		case <-s.ended: //nolint:errcheck // whatever it ended with
		case <-time.After(10 * time.Second):
			_ = s.process.Process.Kill()
			<-s.ended //nolint:errcheck // killed
		}
	}
	_ = os.RemoveAll(s.dir)
}

// programs finds the folder of initdb and postgres: the newest of Debian's, else where PATH says.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is well-formed
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			found = append(found, path)
		}
	}
	for _, initdb := range found {
		bin := filepath.Dir(initdb)
		if _, err := os.Stat(filepath.Join(bin, "postgres")); err == nil {
			return bin, nil
		}
	}
	return "", errors.New("no initdb of PostgreSQL on this machine: apt-get install postgresql (or put the folder of initdb and postgres on PATH); -short leaves these tests out")
}

func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb)))) // 0 for what is no number
	return n
}

// owner is whom PostgreSQL runs as where this is root, whom it refuses; nil where it can run as this user.
func owner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

// shortTemp is where a socket's path is not too long: it has 107 bytes at most.
func shortTemp() string {
	if dir := os.TempDir(); len(dir) < 60 {
		return dir
	}
	return "/tmp"
}
