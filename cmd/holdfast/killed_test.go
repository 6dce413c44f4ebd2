package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/forge/folder"
	"holdfast/bot/publish"
	"holdfast/bot/store/storetest"
)

// effectSocket names the socket on which a program under test asks before and after each outside effect whether it may
// go on.
const effectSocket = "HOLDFAST_TEST_EFFECTS"

// askBeforeEffects asks on a socket; without one it does not ask.
func askBeforeEffects(socket string) publish.Watch {
	if socket == "" {
		return nil
	}
	ask := func(line string) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_, err = fmt.Fprintln(conn, line)
		}
		if err == nil {
			_, err = conn.Read(make([]byte, 1)) // whoever does not answer kills
			conn.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "asking before an effect:", err)
			os.Exit(3)
		}
	}
	return func(effect string) func(error) {
		ask("before " + effect)
		return func(error) { ask("after " + effect) }
	}
}

// reaper kills a program at each of its effects, once before and once after it.
type reaper struct {
	listener net.Listener
	seen     map[string]bool
	// kill, when set, ends the program.
	kill func()
}

func newReaper(t *testing.T, dir string) *reaper {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(dir, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	r := &reaper{listener: listener, seen: map[string]bool{}}
	t.Cleanup(func() { listener.Close() })
	go r.run()
	return r
}

func (r *reaper) run() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && !r.seen[line] && r.kill != nil {
			r.seen[line] = true
			r.kill()
		}
		_, _ = conn.Write([]byte{'\n'}) // nobody is there any more where it was killed
		conn.Close()
	}
}

// smallShop is a service that watches two ConfigMaps in a dump, on a folder as forge. One was changed by a hotfix that
// is kept, the other by one that is reverted.
type smallShop struct {
	*serving
	t *testing.T
	// url is the repository's; repository gives a bare one with all its branches as they are now.
	url        string
	repository func() string
	forge      interface {
		forge.Finder
		forge.CommentReader
	}
	// merge merges a pull request as people do.
	merge func(bot.Thread)
}

func newSmallShop(t *testing.T, database string) *smallShop {
	t.Helper()
	s := &smallShop{serving: &serving{t: t, dir: t.TempDir(), log: &lockedBuffer{}, address: freeAddress(t)}, t: t, url: fleetURL}
	work := filepath.Join(s.dir, "work")
	s.repository = func() string { return filepath.Join(s.dir, "fleet.git") }
	s.merge = s.mergeByHand
	var err error
	if s.forge, err = folder.New(filepath.Join(s.dir, "forge"), folderAccount); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"key": newKey(t), "holdfast.yaml": `apiVersion: holdfast/v1
kind: Config
clusters: [{name: north, interval: 2s}]
repositories:
  - url: ` + fleetURL + `
    clusters: [north]
    namespaces: [flux-system]
    forge: {type: folder, path: forge}
signing: {keyFile: key, name: Holdfast, email: holdfast@example.test}
ledger: {branch: holdfast/ledger}
database: ` + database + `
serve: {listen: "` + s.address + `", grace: 5s}
`,
	}
	for name, text := range smallShopFiles() {
		files["work/"+name] = text
	}
	for name, text := range files {
		file := filepath.Join(s.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, work, "init", "--quiet", "--initial-branch=main")
	git(t, work, "add", "--all")
	git(t, work, "commit", "--quiet", "--message=Start")
	git(t, s.dir, "clone", "--quiet", "--bare", "work", "fleet.git")
	s.args = []string{"--live", filepath.Join(s.dir, "live.yaml"), "--git", fleetURL + "=" + filepath.Join(s.dir, "fleet.git")}
	s.live("30s", "fast")
	return s
}

// smallShopFiles are those of the repository.
func smallShopFiles() map[string]string {
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: shop\ndata:\n  TIMEOUT: 5s # seconds are enough\n  MODE: safe\n"
	return map[string]string{"apps/shop/api.yaml": fmt.Sprintf(manifest, "api"), "apps/shop/web.yaml": fmt.Sprintf(manifest, "web"), policyFile: keepTimeouts}
}

// newKey gives a throw-away signing key.
func newKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

// live records the cluster: the engine applied main some hours ago, and people changed what is not as in Git an hour ago.
func (s *smallShop) live(timeout, mode string) {
	s.t.Helper()
	head := strings.TrimSpace(git(s.t, s.repository(), "rev-parse", "main"))
	text := strings.SplitN(deployedWeb, "---\napiVersion: v1\n", 2)
	object := func(name, timeout, mode string) string {
		out := "---\napiVersion: v1\n" + strings.Replace(text[1], "data: {GREETING: hello, TIMEOUT: 30s}", fmt.Sprintf("data: {TIMEOUT: %s, MODE: %s}", timeout, mode), 1)
		out = strings.ReplaceAll(strings.ReplaceAll(out, "f:GREETING", "f:NONE"), "name: web\n", "name: "+name+"\n")
		return strings.Replace(out, `{"f:data": {"f:TIMEOUT": {}}}`, `{"f:data": {"f:TIMEOUT": {}, "f:MODE": {}}}`, 1)
	}
	doc := fmt.Sprintf(text[0], s.url, head) + object("api", "5s", mode) + object("web", timeout, "safe")
	ago := func(d time.Duration) string { return time.Now().UTC().Add(-d).Format(time.RFC3339) }
	doc = strings.NewReplacer("2026-11-30T10:00:00Z", ago(3*time.Hour), "2026-11-30T11:00:00Z", ago(time.Hour)).Replace(doc)
	if err := os.WriteFile(filepath.Join(s.dir, "live.yaml"), []byte(doc), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// settles starts the program, again where it was killed, until a round ends, then stops it. It gives how often it was
// started.
func (s *smallShop) settles(r *reaper) (starts int) {
	s.t.Helper()
	for starts < 200 {
		starts++
		s.log = &lockedBuffer{}
		s.start()
		if r != nil {
			r.kill = func() { _ = s.cmd.Process.Kill() }
		}
		if s.roundEnds() {
			if err := s.stop(); err != nil {
				s.t.Fatalf("SIGTERM: %v\n%s", err, s.log)
			}
			return starts
		}
	}
	s.t.Fatalf("started %d times, and no round ended\n%s", starts, s.log)
	return starts
}

// roundEnds waits until a round has ended, or gives false when the program was killed.
func (s *smallShop) roundEnds() bool {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(s.log.String(), `"round ends"`) {
			return true
		}
		select {
		case err := <-s.ended:
			if s.cmd.ProcessState.ExitCode() != -1 {
				s.t.Fatalf("the service ended: %v\n%s", err, s.log)
			}
			return false
		default:
		}
	}
	s.t.Fatalf("no round ends\n%s", s.log)
	return false
}

// mergeCodify merges the codify pull request, and lets the engine apply it and undo the rest.
func (s *smallShop) mergeCodify() {
	s.t.Helper()
	for _, thread := range s.held(bot.AsPullRequest) {
		if slices.Contains(thread.Labels, "drift/codify") {
			s.merge(thread)
		}
	}
	s.live("30s", "safe")
}

// mergeByHand merges with git and says so in the folder.
func (s *smallShop) mergeByHand(thread bot.Thread) {
	s.t.Helper()
	work := filepath.Join(s.dir, "work")
	git(s.t, work, "fetch", "--quiet", "../fleet.git", thread.Branch)
	git(s.t, work, "merge", "--quiet", "--no-ff", "--message=Merge", "FETCH_HEAD")
	git(s.t, work, "push", "--quiet", "../fleet.git", "main")
	s.set(thread, bot.Merged)
}

func (s *smallShop) held(kind bot.Kind) []bot.Thread {
	s.t.Helper()
	threads, err := s.forge.Threads(s.t.Context(), kind)
	if err != nil {
		s.t.Fatal(err)
	}
	return threads
}

// summary tells all that there is outside of the program, but for times, hashes of commits, and what rests on them.
func (s *smallShop) summary() map[string][]string {
	s.t.Helper()
	out := map[string][]string{}
	repository := s.repository()
	hidden := regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z| UTC)|[0-9a-f]{40}|<!-- holdfast [a-z]+ [^>]*-->|\.holdfast/reverts/[0-9a-f-]+|[0-9a-f]{12,}|clos(ed|ing) [0-9]+|\]\([^)]*\)`)
	for _, kind := range []bot.Kind{bot.AsPullRequest, bot.AsIssue} {
		for _, thread := range s.held(kind) {
			comments, err := s.forge.Comments(s.t.Context(), kind, thread.Number, time.Time{})
			if err != nil {
				s.t.Fatal(err)
			}
			slices.Sort(thread.Labels)
			text := fmt.Sprintf("%s, %s, %s, %s, %s\n%s", kind, thread.State, thread.Title, thread.Labels, thread.Branch, thread.Body)
			for _, c := range comments {
				text += "\nsaid: " + c.Body
			}
			out["threads"] = append(out["threads"], hidden.ReplaceAllString(text, "X"))
		}
	}
	slices.Sort(out["threads"])
	for _, branch := range strings.Fields(git(s.t, repository, "for-each-ref", "--format=%(refname)", "refs/heads")) {
		commits := strings.TrimSpace(git(s.t, repository, "rev-list", "--count", branch))
		if strings.HasSuffix(branch, "/ledger") {
			commits = "some" // a run that died between effects wrote a batch of its own
		}
		out["branches"] = append(out["branches"], branch+" "+commits)
	}
	for _, name := range strings.Fields(git(s.t, repository, "ls-tree", "-r", "--name-only", "holdfast/ledger")) {
		kind := regexp.MustCompile(`[0-9]+-([a-z-]+)-`).FindStringSubmatch(filepath.Base(name))
		if kind == nil {
			s.t.Fatalf("%s is no record", name)
		}
		out["ledger"] = append(out["ledger"], kind[1])
	}
	slices.Sort(out["ledger"])
	return out
}

// databases are those that a service is killed on.
func databases() map[string]string {
	return map[string]string{"SQLite": "{file: queue.db}", "PostgreSQL": "{urlEnv: HOLDFAST_TEST_DATABASE, lease: 1s}"}
}

// TestServeKilledAtEachEffect kills the service before and after each of its outside effects, while drifts are opened and
// while they are closed, and wants the same end as without: nothing lost, nothing twice.
func TestServeKilledAtEachEffect(t *testing.T) { killedAtEachEffect(t, newSmallShop) }

func killedAtEachEffect(t *testing.T, newShop func(t *testing.T, database string) *smallShop) {
	t.Helper()
	whole := newShop(t, databases()["SQLite"])
	whole.settles(nil)
	if len(whole.held(bot.AsPullRequest)) != 2 || len(whole.held(bot.AsIssue)) != 3 {
		t.Fatalf("a codify, a revert, an issue for each and the dashboard are wanted: %+v, %+v", whole.held(bot.AsPullRequest), whole.held(bot.AsIssue))
	}
	opened := whole.summary()
	whole.mergeCodify()
	whole.settles(nil)
	closed := whole.summary()
	for _, thread := range whole.held(bot.AsIssue) {
		if strings.HasPrefix(thread.Title, "Drift: ") && thread.State != bot.Closed {
			t.Fatalf("%s is %s after its drift is gone", thread.Title, thread.State)
		}
	}
	for name, database := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			s := newShop(t, database)
			r := newReaper(t, s.dir)
			s.env = append(s.env, effectSocket+"="+r.listener.Addr().String())
			if name == "PostgreSQL" {
				s.env = append(s.env, "HOLDFAST_TEST_DATABASE="+storetest.Postgres(t).Database(t))
			}
			starts := s.settles(r)
			if diff := cmp.Diff(opened, s.summary()); diff != "" {
				t.Errorf("after %d starts (-without kills +with):\n%s", starts, diff)
			}
			s.mergeCodify()
			again := s.settles(r)
			if diff := cmp.Diff(closed, s.summary()); diff != "" {
				t.Errorf("after %d more starts (-without kills +with):\n%s", again, diff)
			}
			if points := len(r.seen); points < 32 || starts+again != points+2 {
				t.Errorf("killed at %d points by %d starts, want at least 32 and a start for each, with one more for each end:\n%s", points, starts+again, strings.Join(keys(r.seen), ""))
			}
			s.settles(r)
			if diff := cmp.Diff(closed, s.summary()); diff != "" {
				t.Errorf("a further round changes something (-before +after):\n%s", diff)
			}
			s.verifies()
		})
	}
}

func keys(m map[string]bool) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// verifies wants the ledger whole.
func (s *smallShop) verifies() {
	s.t.Helper()
	key, err := os.ReadFile(filepath.Join(s.dir, "key"))
	if err != nil {
		s.t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	signers := filepath.Join(s.dir, "signers")
	if err := os.WriteFile(signers, append([]byte("holdfast@example.test "), ssh.MarshalAuthorizedKey(signer.PublicKey())...), 0o600); err != nil {
		s.t.Fatal(err)
	}
	var out bytes.Buffer
	streams := testStreams(&out, &out)
	streams.now = time.Now
	if code := run(s.t.Context(), []string{"verify", "--git", s.repository(), "--allowed-signers", signers}, streams); code != 0 {
		s.t.Errorf("verify: exit %d\n%s", code, out.String())
	}
}
