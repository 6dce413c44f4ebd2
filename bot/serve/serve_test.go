package serve_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/serve"
	"holdfast/bot/store"
	"holdfast/detect"
	"holdfast/gitops"
)

func TestWebhooksAreAnswered(t *testing.T) {
	s := run(t, newFleet(), nil)
	push := event(t, bot.Event{Kind: bot.EventPush, Branch: "main"})
	comment := event(t, bot.Event{Kind: bot.EventComment, Action: "created", Comment: bot.Comment{ID: 1, Body: "/drift help"}})
	for _, c := range []struct {
		name, hook, id string
		body           []byte
		sign           string
		code           int
		want           string
	}{
		{"a signed push is accepted", "shop", "1", push, "", 202, "accepted"},
		{"the same delivery again is seen", "shop", "1", push, "", 200, "seen"},
		{"a push with the same body may come again", "shop", "2", push, "", 202, "accepted"},
		{"a comment is accepted", "shop", "3", comment, "", 202, "accepted"},
		{"a replayed comment under another ID is seen", "shop", "4", comment, "", 200, "seen"},
		{"a forged signature is refused", "shop", "5", push, strings.Repeat("0", 64), 401, "not signed"},
		{"no signature is refused", "shop", "6", push, "none", 401, "not signed"},
		{"a signed body that cannot be read", "shop", "7", []byte("{"), "", 400, "cannot be read"},
		{"a ping is answered", "shop", "8", event(t, bot.Event{Kind: bot.EventPing}), "", 200, "nothing to do"},
		{"another kind is answered", "shop", "9", event(t, bot.Event{Kind: bot.EventOther}), "", 200, "nothing to do"},
		{"another repository is none of this hook's", "shop", "10", event(t, bot.Event{Kind: bot.EventPush, Repo: "https://git.example.test/other/x.git"}), "", 200, "not for that repository"},
		{"another spelling of the repository is the same", "shop", "11", event(t, bot.Event{Kind: bot.EventPush, Repo: "git@git.example.test:team/shop"}), "", 202, "accepted"},
		{"a hook that does not exist", "other", "12", push, "", 404, "not found"},
		{"too large a body", "shop", "13", make([]byte, 25<<20+1), "x", 413, "25 MB"},
		{"the largest body, which is unreadable", "shop", "14", make([]byte, 25<<20), "", 400, "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, text := s.post(t, c.hook, c.id, c.body, c.sign)
			if code != c.code || !strings.Contains(text, c.want) {
				t.Errorf("%d %q, want %d %q", code, text, c.code, c.want)
			}
		})
	}
	if code, _ := s.get(t, "/webhooks/shop"); code != http.StatusMethodNotAllowed {
		t.Errorf("GET is answered by %d, want 405", code)
	}
	_, metrics := s.get(t, "/metrics")
	for _, line := range []string{
		`holdfast_webhook_deliveries_total{hook="shop",outcome="accepted"} 4`,
		`holdfast_webhook_deliveries_total{hook="shop",outcome="seen"} 2`,
		`holdfast_webhook_deliveries_total{hook="shop",outcome="forged"} 2`,
		`holdfast_webhook_deliveries_total{hook="shop",outcome="too-large"} 1`,
		`holdfast_webhook_deliveries_total{hook="shop",outcome="foreign"} 1`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics lack %s", line)
		}
	}
}

func TestAFloodIsLimited(t *testing.T) {
	s := run(t, newFleet(), nil)
	limited := 0
	for range 40 {
		if code, _ := s.post(t, "shop", "1", []byte("{}"), "forged"); code == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited == 0 {
		t.Error("forty forged deliveries at once, and none was turned away")
	}
}

func TestAPushScansTheClustersThatItConcerns(t *testing.T) {
	f := newFleet()
	f.reads["north"] = []serve.Reads{{Application: "a/shop", Repo: shop, Branch: "main", Files: []string{"apps/shop/web.yaml"}, Folders: []string{"base"}}}
	f.reads["south"] = []serve.Reads{{Application: "a/other", Repo: "https://git.example.test/team/other.git", Branch: "main"}}
	s := run(t, f, nil)
	s.ready(t)
	n := 0
	push := func(branch string, all bool, changed ...string) {
		t.Helper()
		n++
		code, text := s.post(t, "shop", fmt.Sprint(n), event(t, bot.Event{Kind: bot.EventPush, Branch: branch, Changed: changed, ChangedAll: all}), "")
		if code != http.StatusAccepted {
			t.Fatalf("%d %s", code, text)
		}
	}
	push("main", true, "docs/readme.md")
	push("other", true, "apps/shop/web.yaml")
	time.Sleep(time.Second)
	if f.count("north") != 1 || f.count("south") != 1 {
		t.Errorf("%d and %d scans after pushes that concern nobody, want the first ones only", f.count("north"), f.count("south"))
	}
	push("main", true, "base/deep/x.yaml")
	eventually(t, "the push makes a round", func() bool { return f.count("north") == 2 })
	push("main", false)
	eventually(t, "a push whose paths are not known makes a round", func() bool { return f.count("north") == 3 })
	if f.count("south") != 1 {
		t.Error("a cluster that reads another repository was scanned")
	}
}

func TestWhatBotsDoMakesNoRound(t *testing.T) {
	s := run(t, newFleet(), nil)
	s.ready(t)
	robot := bot.Actor{Login: "holdfast[bot]", Bot: true}
	for i, e := range []bot.Event{
		{Kind: bot.EventIssue, Action: "opened", Sender: robot},
		{Kind: bot.EventPullRequest, Action: "opened", Sender: robot},
		{Kind: bot.EventComment, Action: "created", Sender: robot},
	} {
		if code, text := s.post(t, "shop", fmt.Sprint(i), event(t, e), ""); code != http.StatusAccepted {
			t.Fatalf("%d %s", code, text)
		}
	}
	time.Sleep(time.Second)
	if n := s.count("north"); n != 1 {
		t.Errorf("%d scans, want the first one only", n)
	}
	s.post(t, "shop", "closed", event(t, bot.Event{Kind: bot.EventPullRequest, Action: "closed", Sender: robot}), "")
	eventually(t, "a pull request that a merge queue closed makes a round", func() bool { return s.count("north") == 2 })
}

func TestOneClusterThatFailsLeavesTheOthersRunning(t *testing.T) {
	f := newFleet()
	f.fails["south"] = errors.New("https://10.0.0.1:6443 does not answer")
	s := run(t, f, nil)
	eventually(t, "both had a round", func() bool { code, _ := s.get(t, "/readyz"); return code == http.StatusOK })
	_, text := s.get(t, "/readyz")
	if !strings.Contains(text, `"failing":["south"]`) || strings.Contains(text, "10.0.0.1") {
		t.Errorf("readiness is %s; want south failing, without the address", text)
	}
	_, metrics := s.get(t, "/metrics")
	for _, line := range []string{`holdfast_round_failing{cluster="north"} 0`, `holdfast_round_failing{cluster="south"} 1`, `holdfast_jobs{kind="round",state="completed"} 1`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics lack %s", line)
		}
	}
	f.mu.Lock()
	others := f.others["north"]
	f.mu.Unlock()
	if len(others) != 1 || others[0].Cluster != "south" || others[0].Complete("") {
		t.Errorf("north was published beside %+v; want south, which is not complete", others)
	}
	if !strings.Contains(s.log.String(), "does not answer") {
		t.Error("the log does not say why")
	}
}

func TestRoundsOfOneRepositoryPublishOneAfterTheOther(t *testing.T) {
	f := newFleet()
	f.hold["north"], f.hold["south"] = make(chan struct{}), make(chan struct{})
	s := run(t, f, nil)
	eventually(t, "both are scanned", func() bool { return f.count("north") == 1 && f.count("south") == 1 })
	time.Sleep(500 * time.Millisecond)
	close(f.hold["north"])
	close(f.hold["south"])
	s.ready(t)
	if f.crowd != 1 {
		t.Errorf("up to %d rounds published to one repository at the same time", f.crowd)
	}
	reports, err := s.server.Reports(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(reports) != 2 || reports[0].Cluster != "north" || reports[0].Published.Plans["id-north"].Codify != "proposed" {
		t.Errorf("reports: %+v", reports)
	}
}

func TestAFailedRoundKeepsWhatTheLastOneFound(t *testing.T) {
	f := newFleet()
	f.found["north"] = detect.Scan{
		Objects: 7, Findings: []detect.Finding{{ID: "1", Cluster: "north", Application: "a/shop", Drift: true, Risk: detect.High}},
		Applications: []detect.AssessedApplication{{Application: gitops.Application{Cluster: "north", Namespace: "a", Name: "shop"}, State: detect.Rendered, Declared: make([]gitops.Declared, 3)}},
	}
	s := run(t, f, nil)
	s.ready(t)
	f.set(func() { f.fails["north"] = errors.New("no answer") })
	s.post(t, "shop", "1", event(t, bot.Event{Kind: bot.EventPush, Branch: "main"}), "")
	failing := func() *serve.Report {
		reports, err := s.server.Reports(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(reports, func(r serve.Report) bool { return r.Cluster == "north" && r.Error != "" })
		if i < 0 {
			return nil
		}
		return &reports[i]
	}
	eventually(t, "north fails", func() bool { return failing() != nil })
	r := failing()
	if r.Drifts() != 1 || r.Scan.Objects != 7 || r.FailingSince.IsZero() || r.Scan.Applications[0].Declared != nil {
		t.Errorf("report: %+v", r)
	}
	_, metrics := s.get(t, "/metrics")
	if line := `holdfast_drift{application="a/shop",cluster="north",risk="high"} 1`; !strings.Contains(metrics, line) {
		t.Errorf("metrics lack %s", line)
	}
}

func TestAForgeThatFailsIsTriedAgain(t *testing.T) {
	f := newFleet()
	f.forges["north"] = fmt.Errorf("listing the issues: %w", forge.ErrUnavailable)
	s := run(t, f, nil)
	s.ready(t)
	if _, text := s.get(t, "/readyz"); !strings.Contains(text, `"failing":["north"]`) {
		t.Errorf("readiness is %s; want north failing", text)
	}
	f.set(func() { f.forges["north"] = nil })
	eventually(t, "the round is tried again and succeeds", func() bool { _, text := s.get(t, "/readyz"); return !strings.Contains(text, "failing") })
	if n := f.count("south"); n != 1 {
		t.Errorf("%d scans of south, want 1: its round did not fail", n)
	}
}

func TestStoppingGivesARoundBack(t *testing.T) {
	f := newFleet()
	f.hold["north"] = make(chan struct{})
	file := filepath.Join(t.TempDir(), "holdfast.db")
	open := func() *store.Store {
		queue, err := store.Open(t.Context(), store.Options{File: file})
		if err != nil {
			t.Fatal(err)
		}
		return queue
	}
	s := run(t, f, func(o *serve.Options) { o.Store, o.Clusters, o.Grace = open(), o.Clusters[:1], 200*time.Millisecond })
	eventually(t, "north is being published", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.inside[shop] == 1 })
	began := time.Now()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("stopping took %s", took)
	}
	close(f.hold["north"])
	again := run(t, f, func(o *serve.Options) { o.Store, o.Clusters = open(), o.Clusters[:1] })
	again.ready(t)
	if n := f.count("north"); n != 2 {
		t.Errorf("%d scans, want 2: the interrupted round again, though none is due", n)
	}
}

func TestAScheduleMakesRounds(t *testing.T) {
	s := run(t, newFleet(), func(o *serve.Options) { o.Clusters = []serve.Cluster{{Name: "north", Every: 300 * time.Millisecond}} })
	eventually(t, "three rounds", func() bool { return s.count("north") >= 3 })
}

func TestAuditEventsGoToTheirCluster(t *testing.T) {
	var got []string
	sink := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.URL.Path) })
	s := run(t, newFleet(), func(o *serve.Options) { o.Clusters[0].Audit = sink })
	s.get(t, "/audit/north")
	if code, _ := s.get(t, "/audit/south"); code != http.StatusNotFound {
		t.Errorf("a cluster without an audit webhook answers %d", code)
	}
	if !slices.Equal(got, []string{"/audit/north"}) {
		t.Errorf("the sink got %q", got)
	}
}

func TestAPanicIsAnswered(t *testing.T) {
	s := run(t, newFleet(), func(o *serve.Options) {
		o.Pages = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(secret) })
	})
	if code, text := s.get(t, "/anything"); code != http.StatusInternalServerError || strings.Contains(text, secret) {
		t.Errorf("%d %q", code, text)
	}
	if code, _ := s.get(t, "/healthz"); code != http.StatusOK {
		t.Error("the service is gone")
	}
}

func TestPagesMayHaveAnAddressOfTheirOwn(t *testing.T) {
	s := run(t, newFleet(), func(o *serve.Options) {
		o.Pages = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "page "+r.URL.Path) })
		o.PagesListen = "127.0.0.1:0"
	})
	if code, _ := s.get(t, "/anything"); code != http.StatusNotFound {
		t.Errorf("where webhooks come, pages are answered by %d, want 404", code)
	}
	address := ""
	eventually(t, "the log tells the address", func() bool {
		found := regexp.MustCompile(`"serving the dashboard","address":"([^"]+)"`).FindStringSubmatch(s.log.String())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	response, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); string(text) != "page /healthz" || response.Header.Get("X-Request-Id") == "" {
		t.Errorf("the pages' address answers %q, %v", text, response.Header)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get("http://" + address + "/"); err == nil {
		t.Error("the pages outlive the service")
	}
}
