package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// asProgram makes this test binary be the program itself, so that it can be started, signalled and killed.
const asProgram = "HOLDFAST_TEST_AS_PROGRAM"

const (
	fleetURL   = "https://git.example.test/fleet.git"
	hookSecret = "a webhook secret that no log may show"
)

// serving is holdfast serve on the demo's recorded cluster and repository, with a folder as forge.
type serving struct {
	t       *testing.T
	dir     string
	address string
	cmd     *exec.Cmd
	log     *lockedBuffer
	ended   chan error
	// args and env are what it is started with beside its configuration.
	args, env []string
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newService writes the configuration and makes the repository, whose commit the recorded cluster has applied.
func newService(t *testing.T) *serving {
	t.Helper()
	s := &serving{t: t, dir: t.TempDir(), log: &lockedBuffer{}}
	demo, err := filepath.Abs("../../deploy/demo")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(filepath.Join(demo, "prepare.sh"), filepath.Join(s.dir, "work")).CombinedOutput(); err != nil {
		t.Fatalf("prepare.sh: %v\n%s", err, out)
	}
	git(t, s.dir, "clone", "--quiet", "--bare", "work", "fleet.git") // branches are pushed to it
	live, err := os.ReadFile(filepath.Join(demo, "live.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile(filepath.Join(demo, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	s.address = freeAddress(t)
	for name, text := range map[string]string{
		"live.yaml": string(live), "policy.yaml": string(policy), "key": string(pem.EncodeToMemory(block)), "hook-secret": hookSecret + "\n",
		"holdfast.yaml": `apiVersion: holdfast/v1
kind: Config
clusters: [{name: production, interval: 10m}]
repositories:
  - url: ` + fleetURL + `
    clusters: [production]
    namespaces: [flux-system]
    forge: {type: folder, path: forge}
    webhook: {name: fleet, type: github, secretFile: hook-secret}
signing: {keyFile: key, name: Holdfast, email: holdfast@example.test}
database: {file: queue.db}
serve: {listen: "` + s.address + `", grace: 5s, logLevel: debug}
`,
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(s.dir, name) }
	s.args = []string{"--live", at("live.yaml"), "--git", fleetURL + "=" + at("fleet.git"), "--policy", at("policy.yaml")}
	return s
}

// freeAddress gives an address that nobody listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	return port.Addr().String()
}

func (s *serving) start() {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(self, append([]string{"serve", "--config", filepath.Join(s.dir, "holdfast.yaml")}, s.args...)...)
	s.cmd.Env = append(append(os.Environ(), asProgram+"=1"), s.env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan error) { ended <- cmd.Wait() }(s.cmd, s.ended)
	s.t.Cleanup(func() { _ = s.cmd.Process.Kill() })
}

// stop sends SIGTERM and gives how the process ended.
func (s *serving) stop() error {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		return err
	case <-time.After(20 * time.Second):
		s.t.Fatalf("SIGTERM does not end it\n%s", s.log)
		return nil
	}
}

func (s *serving) eventually(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if done() {
			return
		}
		select {
		case err := <-s.ended:
			s.t.Fatalf("the service ended: %v\n%s", err, s.log)
		default:
		}
	}
	s.t.Fatalf("waited in vain until %s\n%s", what, s.log)
}

func (s *serving) get(path string) (code int, body string) {
	response, err := http.Get("http://" + s.address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	data, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(data)
}

func (s *serving) ready() {
	s.t.Helper()
	s.eventually("it is ready", func() bool { code, _ := s.get("/readyz"); return code == http.StatusOK })
}

// metric gives the value of a sample, or "" where there is none.
func (s *serving) metric(sample string) string {
	_, body := s.get("/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(sample) + ` (.*)$`).FindStringSubmatch(body)
	if found == nil {
		return ""
	}
	return found[1]
}

// push sends a webhook about a push to main, as GitHub does.
func (s *serving) push(id, secret string, changed ...string) (int, string) {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{
		"ref": "refs/heads/main", "before": strings.Repeat("1", 40), "after": strings.Repeat("2", 40),
		"repository": map[string]any{"full_name": "fleet", "clone_url": fleetURL, "default_branch": "main"},
		"sender":     map[string]any{"login": "bob", "type": "User"},
		"commits":    []any{map[string]any{"id": strings.Repeat("2", 40), "added": []string{}, "removed": []string{}, "modified": changed}},
		"size":       1, "forced": false,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	request, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/webhooks/fleet", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": "push", "X-GitHub-Delivery": id,
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text))
}

func (s *serving) threads() []string {
	found, _ := filepath.Glob(filepath.Join(s.dir, "forge", "*", "*.md")) // the pattern is well-formed
	return found
}

const roundsDone = `holdfast_round_duration_seconds_count{cluster="production",outcome="success"}`

// TestServe is the service as a process: its first round opens the threads, a signed push makes a round and a forged
// one none, SIGTERM ends it, and its next start knows what was before.
func TestServe(t *testing.T) {
	s := newService(t)
	s.start()
	s.ready()
	threads := s.threads()
	if len(threads) == 0 {
		t.Fatalf("the first round opened no thread\n%s", s.log)
	}
	branches := git(t, s.dir, "--git-dir", "fleet.git", "branch", "--list", "holdfast/*")
	if !strings.Contains(branches, "holdfast/") {
		t.Error("the first round pushed no branch")
	}
	if got := s.metric(roundsDone); got != "1" {
		t.Errorf("%q rounds, want 1", got)
	}

	if code, text := s.push("1", hookSecret, "docs/nothing.md"); code != http.StatusAccepted {
		t.Errorf("a push that concerns nobody: %d %s", code, text)
	}
	if code, text := s.push("2", "wrong", "apps"); code != http.StatusUnauthorized {
		t.Errorf("a forged push: %d %s", code, text)
	}
	s.eventually("the first push is worked", func() bool { return s.metric(`holdfast_jobs{kind="event",state="completed"}`) == "1" })
	if got := s.metric(roundsDone); got != "1" {
		t.Errorf("%q rounds after a push that concerns nobody and a forged one, want 1", got)
	}
	if code, text := s.push("3", hookSecret); code != http.StatusAccepted {
		t.Errorf("a signed push: %d %s", code, text)
	}
	s.eventually("the push makes a round", func() bool { return s.metric(roundsDone) == "2" })
	if code, text := s.push("3", hookSecret); code != http.StatusOK || text != "seen" {
		t.Errorf("the same delivery again: %d %s", code, text)
	}
	for sample, want := range map[string]string{
		`holdfast_webhook_deliveries_total{hook="fleet",outcome="accepted"}`: "2",
		`holdfast_webhook_deliveries_total{hook="fleet",outcome="forged"}`:   "1",
		`holdfast_webhook_deliveries_total{hook="fleet",outcome="seen"}`:     "1",
		`holdfast_round_failing{cluster="production"}`:                       "0",
		`holdfast_applications{cluster="production",state="rendered"}`:       "1",
	} {
		if got := s.metric(sample); got != want {
			t.Errorf("%s is %q, want %s", sample, got, want)
		}
	}
	if _, body := s.get("/metrics"); !strings.Contains(body, `holdfast_drift{application="flux-system/shop"`) || !strings.Contains(body, "holdfast_git_operations_duration_seconds") {
		t.Error("the metrics tell no drift, or no Git operations")
	}
	if err := s.stop(); err != nil {
		t.Errorf("SIGTERM: %v, want exit code 0\n%s", err, s.log)
	}

	s.start()
	s.ready()
	if got := s.metric(`holdfast_jobs{kind="round",state="completed"}`); got != "2" {
		t.Errorf("after the restart the queue holds %q rounds, want the 2 of before", got)
	}
	if code, text := s.push("3", hookSecret); code != http.StatusOK || text != "seen" {
		t.Errorf("a delivery of before the restart: %d %s", code, text)
	}
	if got := s.threads(); len(got) != len(threads) {
		t.Errorf("%d threads, want the %d of the first round", len(got), len(threads))
	}
	if err := s.stop(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	if strings.Contains(s.log.String(), hookSecret) || strings.Contains(s.log.String(), "PRIVATE KEY") {
		t.Error("a secret is logged")
	}
	for _, line := range strings.Split(strings.TrimSpace(s.log.String()), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of the log is no JSON: %s", line)
		}
	}
}

// TestServeKilledInARound starts a round, kills the process in it, and sees the next start end what was begun.
func TestServeKilledInARound(t *testing.T) {
	s := newService(t)
	s.start()
	s.eventually("a round begins", func() bool { return strings.Contains(s.log.String(), "round begins") })
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended //nolint:errcheck // killed: that is an error
	if len(s.threads()) > 0 {
		t.Log("the round was faster than the kill")
	}
	s.start()
	s.ready()
	first := s.threads()
	if len(first) == 0 {
		t.Fatalf("no thread was opened\n%s", s.log)
	}
	titles := map[string]string{}
	for _, name := range first {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		key := regexp.MustCompile(`holdfast key=([0-9a-f]+)`).FindStringSubmatch(string(data))
		if key == nil {
			t.Fatalf("%s has no marker", name)
		}
		if other, twice := titles[key[1]]; twice {
			t.Errorf("%s and %s are the same thread", name, other)
		}
		titles[key[1]] = name
	}
	if err := s.stop(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

func TestServeSaysWhatIsWrongBeforeItStarts(t *testing.T) {
	for name, c := range map[string]struct{ change, to, want string }{
		"no signing key":        {"signing: {keyFile: key, name: Holdfast, email: holdfast@example.test}", "", "no signing key"},
		"a webhook secret gone": {"secretFile: hook-secret", "secretFile: none", "webhook.secret"},
		"a database folder":     {"file: queue.db", "file: none/queue.db", "does not exist"},
		"an address of others":  {"listen: \"", "listen: \"192.0.2.1:1\" # ", "192.0.2.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			file := filepath.Join(s.dir, "holdfast.yaml")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), c.change, c.to, 1)
			if c.change == "listen: \"" {
				changed = regexp.MustCompile(`listen: "[^"]*"`).ReplaceAllString(string(text), `listen: "192.0.2.1:1"`)
			}
			if changed == string(text) {
				t.Fatalf("no %q to replace", c.change)
			}
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			s.start()
			select {
			case err := <-s.ended:
				if err == nil || fmt.Sprint(err) != "exit status 2" || !strings.Contains(s.log.String(), c.want) {
					t.Errorf("%v, want exit status 2 and %q in\n%s", err, c.want, s.log)
				}
			case <-time.After(time.Minute):
				t.Fatalf("it serves\n%s", s.log)
			}
		})
	}
}
