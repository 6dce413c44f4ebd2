package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"holdfast/bot"
	"holdfast/detect"
)

func TestWhichEventsConcernAnApplication(t *testing.T) {
	const repo = "https://git.example.test/team/shop.git"
	reads := Reads{Repo: repo, Branch: "main", Files: []string{".holdfast.yaml", "apps/web.yaml"}, Folders: []string{"base", "flat/*"}}
	push := func(branch string, changed ...string) bot.Event {
		return bot.Event{Kind: bot.EventPush, Repo: repo, Branch: branch, Changed: changed, ChangedAll: true}
	}
	for name, c := range map[string]struct {
		reads Reads
		event bot.Event
		want  bool
	}{
		"a file that it reads":                      {reads, push("main", "x", "apps/web.yaml"), true},
		"a file beside it":                          {reads, push("main", "apps/web.yaml.orig"), false},
		"a file deep in a folder":                   {reads, push("main", "base/a/b.yaml"), true},
		"a file in a folder with a longer name":     {reads, push("main", "base2/a.yaml"), false},
		"a file in a folder without its folders":    {reads, push("main", "flat/a.yaml"), true},
		"a file below a folder without its folders": {reads, push("main", "flat/a/b.yaml"), false},
		"the policy":                                {reads, push("main", ".holdfast.yaml"), true},
		"another branch":                            {reads, push("other", "apps/web.yaml"), false},
		"another repository":                        {reads, bot.Event{Kind: bot.EventPush, Repo: "https://git.example.test/team/x.git", Branch: "main"}, false},
		"no paths are told":                         {reads, push("main"), true},
		"not all paths are told":                    {reads, bot.Event{Kind: bot.EventPush, Repo: repo, Branch: "main", Changed: []string{"x"}}, true},
		"what it reads is not known":                {Reads{Repo: repo, Branch: "main"}, push("main", "x"), true},
		"it follows no branch":                      {Reads{Repo: repo, Files: []string{"a"}}, push("other", "a"), true},
		"the root folder is read whole":             {Reads{Repo: repo, Branch: "main", Folders: []string{"."}}, push("main", "x/y"), true},
		"files of the root folder":                  {Reads{Repo: repo, Branch: "main", Folders: []string{"*"}}, push("main", "x"), true},
		"below the root folder":                     {Reads{Repo: repo, Branch: "main", Folders: []string{"*"}}, push("main", "x/y"), false},
		"a pull request of the repository":          {reads, bot.Event{Kind: bot.EventPullRequest, Repo: repo}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.reads.concerns(c.event); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestSourcesAreLimitedEachForItself(t *testing.T) {
	now := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	l := newLimiter(func() time.Time { return now })
	for range burst {
		if !l.allows("a") {
			t.Fatal("a burst is limited")
		}
	}
	if l.allows("a") || !l.allows("b") {
		t.Error("want a limited and b free")
	}
	now = now.Add(time.Second)
	for range perSecond {
		if !l.allows("a") {
			t.Fatal("the limit does not come back")
		}
	}
	l.punish("b")
	now = now.Add(10 * restful)
	l.allows("c")
	if len(l.sources) != 1 {
		t.Errorf("%d sources are remembered, want the new one", len(l.sources))
	}
	for i := range mostSources + 100 {
		l.allows(fmt.Sprint(i))
	}
	if len(l.sources) > mostSources {
		t.Errorf("%d sources are remembered, want at most %d", len(l.sources), mostSources)
	}
}

func TestSources(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:5": "192.0.2.1", "[::ffff:192.0.2.1]:5": "192.0.2.1", "[2001:db8:1:2:3:4:5:6]:5": "2001:db8:1:2::/64", "@": "@",
	} {
		if got := source(&http.Request{RemoteAddr: address}); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestForgeCallsAreToldByShape(t *testing.T) {
	m := NewMetrics("test")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Remaining", "4321")
		w.Header().Set("X-RateLimit-Resource", "core")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	client := http.Client{Transport: m.Calls("github", noop.NewTracerProvider().Tracer(""), http.DefaultTransport)}
	for _, path := range []string{"/api/v3/repos/acme/private-name/issues/17/comments?token=hunter2", "/repos/acme/other/issues/18/comments"} {
		response, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`holdfast_scm_calls_total{api="github",operation="GET repos/_/_/issues/_/comments",response_code="403"} 2`,
		`holdfast_scm_rate_limit_remaining{api="github",resource="core"} 4321`,
	} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("metrics lack %s", line)
		}
	}
	if text := w.Body.String(); strings.Contains(text, "private-name") || strings.Contains(text, "hunter2") {
		t.Error("metrics name a repository or a secret")
	}
}

func TestDriftGaugesAreBounded(t *testing.T) {
	m := NewMetrics("test")
	r := Report{Cluster: "north"}
	for i := range mostApplications + 50 {
		r.Scan.Findings = append(r.Scan.Findings, detect.Finding{Application: fmt.Sprintf("a/%d", i), Drift: true, Risk: detect.Low})
	}
	for range 2 { // the same Applications keep their gauges
		m.drift(r)
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if n := strings.Count(w.Body.String(), "\nholdfast_drift{"); n != mostApplications+1 {
		t.Errorf("%d drift gauges, want %d", n, mostApplications+1)
	}
	if !strings.Contains(w.Body.String(), `holdfast_drift{application="other",cluster="north",risk="low"} 50`) {
		t.Error("the Applications beyond the bound do not count together")
	}
	m.drift(Report{Cluster: "north"})
	w = httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if strings.Contains(w.Body.String(), "\nholdfast_drift{") {
		t.Error("what does not drift any more has a gauge still")
	}
}
