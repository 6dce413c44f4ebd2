package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/dashboard"
	"holdfast/bot/propose"
	"holdfast/bot/publish"
	"holdfast/bot/serve"
	"holdfast/detect"
	"holdfast/gitops"
)

const token = "a-token-of-enough-characters"

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fleet is north, which does well and has drift, south, which fails, and west, which was not scanned yet.
func fleet() []serve.Report {
	ref := func(kind, name string) detect.ObjectRef {
		return detect.ObjectRef{APIVersion: "apps/v1", Kind: kind, Namespace: "shop", Name: name}
	}
	path := func(text string) gitops.Path {
		p, err := gitops.ParsePath(text)
		if err != nil {
			panic(err)
		}
		return p
	}
	web := detect.Finding{
		ID: "0000000000a1", Cluster: "north", Application: "flux-system/shop", Object: ref("Deployment", "web"), Presence: detect.Both, Drift: true,
		Cause: detect.CauseManual, Disposition: detect.Codify, Risk: detect.High, Class: "capacity", Rule: "people (.holdfast.yaml, rule 2)",
		Reason: "kubectl-scale wrote it past Git", FirstSeen: now, Trace: []string{"spec.replicas: rule 1: the cause is not autoscaler"},
		Controls: []detect.Control{{Standard: "nist-800-53r5", ID: "CM-3", Title: "Configuration Change Control"}},
		Writer:   &detect.Writer{User: "alice@example.test", Time: now.Add(-3 * time.Hour), Confidence: detect.ByAudit},
		Fields: []detect.Field{
			{
				Path: path("spec.replicas"), Git: gitops.Present(3.0), Live: gitops.Present(5.0), Differs: true, Drift: true, Cause: detect.CauseManual, Risk: detect.High,
				Reason: "kubectl-scale wrote it past Git", Disposition: detect.Codify, Writer: &detect.Writer{User: "alice@example.test", Time: now.Add(-3 * time.Hour), Confidence: detect.ByAudit},
			},
			{
				Path: path("metadata.annotations.motd"), Git: gitops.Present("one\ntwo\nthree"), Live: gitops.Present("one\n2\nthree"), Differs: true, Drift: true,
				Cause: detect.CauseManual, Risk: detect.Low, Disposition: detect.Codify,
			},
			{Path: path("spec.strategy"), Live: gitops.Present(map[string]any{"type": "RollingUpdate"}), Differs: true, Cause: detect.CauseAPI, Reason: "a default of the API server"},
		},
	}
	north := serve.Report{
		Cluster: "north", Began: now.Add(-5 * time.Minute), Ended: now.Add(-4 * time.Minute),
		Scan: detect.Scan{
			Time: now.Add(-5 * time.Minute), Objects: 41,
			Findings: []detect.Finding{
				web,
				{ID: "0000000000a2", Cluster: "north", Application: "flux-system/shop", Object: ref("ConfigMap", "settings"), Presence: detect.GitOnly, Drift: true, Cause: detect.CauseMissing, Risk: detect.Low, Disposition: detect.Revert, FirstSeen: now},
				{ID: "0000000000a3", Cluster: "north", Application: "argocd/pay", Object: ref("Role", "admin"), Presence: detect.LiveOnly, Drift: true, Cause: detect.CauseManual, Risk: detect.Critical, Disposition: detect.AsIssue, FirstSeen: now.Add(-40 * 24 * time.Hour)},
				{ID: "0000000000a4", Cluster: "north", Application: "argocd/pay", Object: ref("Deployment", "explained"), Presence: detect.Both, Cause: detect.CauseAutoscaler, FirstSeen: now},
			},
			Applications: []detect.AssessedApplication{
				{State: detect.Rendered, Application: gitops.Application{Cluster: "north", Namespace: "flux-system", Name: "shop", Engine: gitops.Flux, Kind: "Kustomization", Correction: gitops.Heals, Interval: 10 * time.Minute, Source: gitops.Source{Repo: "https://user:secret-in-url@git.example.test/team/shop.git", Path: "apps/shop", Applied: "0123456789abcdef0123456789abcdef01234567"}}},
				{State: detect.Unknown, Reason: "the chart cannot be fetched", Application: gitops.Application{Cluster: "north", Namespace: "argocd", Name: "pay", Engine: gitops.ArgoCD, Kind: "Application", Source: gitops.Source{Repo: "https://git.example.test/team/pay.git"}}, Conditions: []detect.Condition{{Type: detect.Stalled, Message: "install retries exhausted", Since: now.Add(-time.Hour)}}},
			},
			Unknown: []detect.UnknownObject{
				{Cluster: "north", Application: "argocd/pay", Object: ref("Job", "once"), Reason: "cannot get jobs.batch"},
				{Cluster: "north", Application: "argocd/pay", Object: detect.ObjectRef{APIVersion: "v1", Kind: "Secret", Namespace: "pay", Name: "key"}, Reason: "Secrets are not read", ByChoice: true},
			},
		},
		Published: serve.Published{
			Plans: map[string]propose.Plan{web.ID: {Codify: "writes replicas to apps/shop/web.yaml", Revert: "flux corrects this by itself"}},
			Threads: []serve.Thread{
				{
					Kind: bot.AsPullRequest, Number: 12, URL: "https://git.example.test/team/shop/pulls/12", Title: "Codify replicas of shop", State: bot.Open, Disposition: detect.Codify,
					Verb: publish.Open, Reason: "no thread has this key", Findings: []string{web.ID},
					Files: []serve.File{{Path: "apps/shop/web.yaml", Diff: "diff --git a/apps/shop/web.yaml b/apps/shop/web.yaml\n--- a/apps/shop/web.yaml\n+++ b/apps/shop/web.yaml\n@@ -1,2 +1,2 @@\n spec:\n-  replicas: 3\n+  replicas: 5\n"}},
					Proof: &gitops.Proof{Verified: true, Complete: true, Applications: []gitops.ProvenMember{{Cluster: "north", Namespace: "flux-system", Name: "shop", Path: "apps/shop", Before: "aaaaaaaaaaaaaaaa", After: "bbbbbbbbbbbbbbbb"}}},
				},
				{Kind: bot.AsIssue, Number: 13, URL: "javascript:alert(1)", Title: "Drift of Role", State: bot.Open, Findings: []string{"0000000000a3"}},
			},
		},
		History: map[string]serve.Past{
			web.ID: {Since: now.Add(-3 * 24 * time.Hour), Application: web.Application, Object: web.Object, Events: []serve.Event{
				{Time: now.Add(-3 * 24 * time.Hour), What: "first seen, high risk"},
				{Time: now.Add(-2 * 24 * time.Hour), What: "open pull-request 12: no thread has this key", URL: "https://git.example.test/team/shop/pulls/12"},
			}},
			"0000000000b1": {Application: "flux-system/shop", Object: ref("Service", "old"), Since: now.Add(-50 * time.Hour), Gone: now.Add(-2 * time.Hour), Events: []serve.Event{{Time: now.Add(-2 * time.Hour), What: "no drift any more"}}},
		},
	}
	south := serve.Report{Cluster: "south", Ended: now.Add(-time.Minute), Error: "https://10.0.0.1:6443 does not answer", FailingSince: now.Add(-2 * time.Hour)}
	return []serve.Report{north, south}
}

func options(reports func() ([]serve.Report, error)) dashboard.Options {
	return dashboard.Options{
		Reports:  func(context.Context) ([]serve.Report, error) { return reports() },
		Clusters: []serve.Cluster{{Name: "west", Every: time.Hour}, {Name: "north", Every: 5 * time.Minute}, {Name: "south", Every: 5 * time.Minute}},
		Token:    token, Now: func() time.Time { return now },
	}
}

func fixed(reports ...serve.Report) func() ([]serve.Report, error) {
	return func() ([]serve.Report, error) { return reports, nil }
}

func newDashboard(t *testing.T, o dashboard.Options) *dashboard.Dashboard {
	t.Helper()
	d, err := dashboard.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// get asks with the token as a bearer.
func get(t *testing.T, d http.Handler, path string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// text is what a page says to a reader: no tags, blanks run together.
func text(page string) string {
	page = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(page)), " ")
}

// row gives the text of the row of a table that holds a text.
func row(t *testing.T, page, holds string) string {
	t.Helper()
	for _, one := range regexp.MustCompile(`(?s)<tr>.*?</tr>`).FindAllString(page, -1) {
		if strings.Contains(text(one), holds) {
			return text(one)
		}
	}
	t.Fatalf("no row holds %q in\n%s", holds, text(page))
	return ""
}

func TestPages(t *testing.T) {
	d := newDashboard(t, options(fixed(fleet()...)))
	page := func(path string) string {
		t.Helper()
		code, body := get(t, d, path)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, text(body))
		}
		return body
	}
	says := func(where, page string, want ...string) {
		t.Helper()
		for _, one := range want {
			if !strings.Contains(text(page), one) {
				t.Errorf("%s lacks %q in\n%s", where, one, text(page))
			}
		}
	}
	overview := page("/")
	says("the overview", overview, "3 of 3 clusters are not in order", "3 objects drift.", "0 of 3 clusters in order", "1 of 2 Applications assessed", "41 objects compared", "1 objects not judged")
	for holds, want := range map[string]string{
		// risk, then the counts: under 1h, 1d, 7d, 30d, more, all
		"critical 0": "critical 0 0 0 0 1 1",
		"high 0":     "high 0 0 1 0 0 1",
		"medium 0":   "medium 0 0 0 0 0 0",
		"low 1":      "low 1 0 0 0 0 1",
		"west":       "west waiting for its first round unknown 0 0 0 0",
		"south":      "south failing since 2h https://10.0.0.1:6443 does not answer unknown 0 0 0 0",
		"north scan": "north scanned in part not all could be judged 5m ago 41 2 1 3 critical",
		"shop/old":   "Service shop/old flux-system/shop on north 2h ago 2d",
	} {
		if got := row(t, overview, holds); got != want {
			t.Errorf("the row of %s is %q, want %q", holds, got, want)
		}
	}
	drifts := page("/drifts")
	if a, b := strings.Index(drifts, "Role shop/admin"), strings.Index(drifts, "Deployment shop/web"); a < 0 || b < a {
		t.Error("the critical drift does not stand before the high one")
	}
	if got, want := row(t, drifts, "shop/web"), "high Deployment shop/web flux-system/shop on north manual alice@example.test 3d ago codify pull request 12 open"; got != want {
		t.Errorf("the row of the Deployment is %q, want %q", got, want)
	}
	if strings.Contains(drifts, "explained") {
		t.Error("an explained difference is listed as drift")
	}
	drift := page("/drift/0000000000a1")
	says("the drift", drift, "Deployment shop/web", "Risk high capacity", "alice@example.test , 2026-11-20 09:00 UTC (audit log)", "codify, by rule people (.holdfast.yaml, rule 2)",
		"nist-800-53r5 CM-3, Configuration Change Control", "spec.replicas high - 3 + 5", "-two +2", "1 explained differences, no drift", "a default of the API server",
		"pull request 12 open Codify replicas of shop", "A render of everything that reads the changed files closes the drift and moves nothing else.",
		"- replicas: 3 + replicas: 5", "north/flux-system/shop apps/shop, aaaaaaaaaaaa before, bbbbbbbbbbbb after",
		"2026-11-17 12:00 UTC first seen, high risk", "Codify writes replicas to apps/shop/web.yaml", "Revert flux corrects this by itself")
	for _, link := range []string{`href="https://git.example.test/team/shop/pulls/12" rel="noreferrer noopener"`, `href="/application/`} {
		if !strings.Contains(drift, link) {
			t.Errorf("the drift lacks %s", link)
		}
	}
	says("the object that is missing", page("/drift/0000000000a2"), "in Git, not in the cluster", "Written by unresolved")
	if body := page("/drift/0000000000a3"); strings.Contains(body, "javascript:") || !strings.Contains(text(body), "issue 13 open") {
		t.Error("a thread's address that is none of the web is linked, or the thread is not named")
	}
	says("the drift that is gone", page("/drift/0000000000b1"), "Service shop/old", "settled It drifts no more.", "no drift any more")
	applications := page("/applications")
	if got, want := row(t, applications, "argocd/pay"), "argocd/pay on north argocd not assessed stalled https://git.example.test/team/pay.git 1 critical"; got != want {
		t.Errorf("the row of pay is %q, want %q", got, want)
	}
	link := regexp.MustCompile(`href="(/application/[0-9a-f]+)"><bdi>flux-system/shop`).FindStringSubmatch(applications)
	if link == nil {
		t.Fatal("no link to the Application")
	}
	says("the Application", page(link[1]), "flux-system/shop", "flux Kustomization", "https://git.example.test/team/shop.git", "by itself, within 10m0s", "0123456789abcdef", "Deployment shop/web", "ConfigMap shop/settings")
	if strings.Contains(applications+page(link[1]), "secret-in-url") {
		t.Error("a password in a repository's URL is shown")
	}
	for path, want := range map[string]int{"/drift/none": 404, "/application/none": 404, "/nothing": 404, "/drifts/": 404} {
		if code, body := get(t, d, path); code != want || !strings.Contains(text(body), "Not found") {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

func TestFilters(t *testing.T) {
	d := newDashboard(t, options(fixed(fleet()...)))
	for query, want := range map[string]string{
		"":                         "critical high low",
		"risk=high":                "high",
		"risk=medium":              "",
		"risk=nonsense":            "critical high low",
		"cluster=north":            "critical high low",
		"cluster=south":            "",
		"age=under+7d":             "high",
		"age=30d+and+more":         "critical",
		"name=SHOP%2FWEB":          "high",
		"name=argocd":              "critical",
		"risk=high&name=settings":  "",
		"page=99":                  "critical high low",
		"page=-1":                  "critical high low",
		"name=%ff%00":              "",
		"risk=high&age=under+7d":   "high",
		"cluster=%3Cscript%3E%22x": "",
	} {
		code, body := get(t, d, "/drifts?"+query)
		var got []string
		for _, found := range regexp.MustCompile(`<td data-label="Risk"><div><span class="mark (\w+)">`).FindAllStringSubmatch(body, -1) {
			got = append(got, found[1])
		}
		if code != http.StatusOK || strings.Join(got, " ") != want {
			t.Errorf("%s: %d %q, want %q", query, code, strings.Join(got, " "), want)
		}
	}
}

func TestManyFindingsArePaged(t *testing.T) {
	r := serve.Report{Cluster: "north", Ended: now, Scan: detect.Scan{Time: now}}
	for n := range 120 {
		r.Scan.Findings = append(r.Scan.Findings, detect.Finding{
			ID: fmt.Sprintf("%012d", n), Cluster: "north", Application: "a/b", Drift: true, Risk: detect.Low, FirstSeen: now.Add(-time.Duration(n) * time.Minute),
			Object: detect.ObjectRef{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("c%03d", n)},
		})
	}
	d := newDashboard(t, options(fixed(r)))
	seen := map[string]bool{}
	next := "/drifts?risk=low"
	pages := 0
	for ; next != ""; pages++ {
		_, body := get(t, d, next)
		names := regexp.MustCompile(`ConfigMap shop/c\d{3}`).FindAllString(body, -1)
		if pages == 0 && (len(names) != 50 || names[0] != "ConfigMap shop/c119") {
			t.Errorf("the first page has %d rows from %s, want 50 from the oldest", len(names), names[0])
		}
		for _, name := range names {
			if seen[name] {
				t.Errorf("%s stands on two pages", name)
			}
			seen[name] = true
		}
		next = ""
		if found := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(body); found != nil {
			next = html.UnescapeString(found[1])
			if !strings.Contains(next, "risk=low") {
				t.Fatalf("%s lost the filter", next)
			}
		}
	}
	if pages != 3 || len(seen) != 120 {
		t.Errorf("%d rows on %d pages, want 120 on 3", len(seen), pages)
	}
}

func TestPagesFollowTheReports(t *testing.T) {
	reports := fleet()
	failure := error(nil)
	d := newDashboard(t, options(func() ([]serve.Report, error) { return reports, failure }))
	if _, body := get(t, d, "/"); !strings.Contains(text(body), "3 objects drift.") {
		t.Fatal(text(body))
	}
	settled := reports[0]
	settled.Ended, settled.Scan.Findings, settled.Scan.Unknown, settled.Scan.Applications = now, nil, nil, settled.Scan.Applications[:1]
	reports = []serve.Report{settled, reports[1]}
	_, body := get(t, d, "/")
	if got := row(t, body, "north"); !strings.HasPrefix(got, "north in order") || !strings.Contains(text(body), "Nothing drifts.") {
		t.Errorf("%q", got)
	}
	late := settled
	late.Ended = now.Add(-16 * time.Minute)
	reports = []serve.Report{late}
	if _, body := get(t, d, "/"); !strings.HasPrefix(row(t, body, "north"), "north late it is to be scanned every 5m0s") {
		t.Errorf("%q", row(t, body, "north"))
	}
	failure = errors.New("the database at 10.0.0.2 does not answer")
	if code, body := get(t, d, "/"); code != http.StatusServiceUnavailable || strings.Contains(body, "10.0.0.2") {
		t.Errorf("%d %s, want 503 without the address", code, text(body))
	}
}

// hostile tries everything that a page could give it.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'` + "`{{.}}</textarea></style>javascript:alert(1)\u202egnp.exe\u2066\x1b[31m\u200b<!--[x](javascript:y)\n"

func TestHostileNamesAreTextOnly(t *testing.T) {
	long := hostile + strings.Repeat("<b>&\u202e", 64<<10/8)
	ref := detect.ObjectRef{APIVersion: long, Kind: long, Namespace: long, Name: long}
	value := gitops.Present(map[string]any{long: []any{long}})
	writer := &detect.Writer{User: long, As: long, Manager: long, Confidence: detect.ByAudit, Time: now}
	field := detect.Field{Path: gitops.Path{gitops.Field(long)}, Git: value, Live: gitops.Present(long), Drift: true, Cause: detect.Cause(long), Reason: long, Disposition: detect.Disposition(long), Writer: writer, Risk: detect.High}
	lines := field
	lines.Git, lines.Live = gitops.Present(strings.Repeat(long+"\na", 3)), gitops.Present(strings.Repeat(long+"\nb", 3))
	explained := field
	explained.Drift = false
	f := detect.Finding{
		ID: "0000000000a1", Cluster: hostile, Application: long, Object: ref, Presence: detect.Presence(long), Drift: true, Cause: detect.Cause(long), Disposition: detect.Disposition(long),
		Risk: detect.High, Class: long, Controls: []detect.Control{{Standard: long, ID: long, Title: long}}, Rule: long, Trace: []string{long}, Reason: long, Writer: writer,
		Fields: []detect.Field{field, lines, explained},
	}
	app := gitops.Application{Namespace: long, Name: long, Engine: gitops.Engine(long), Kind: long, Source: gitops.Source{Repo: "https://" + long, Path: long, Applied: long}}
	whole := app
	whole.Namespace, whole.Name, _ = strings.Cut(long, "/")
	r := serve.Report{
		Cluster: hostile, Ended: now, Error: long, FailingSince: now,
		Scan: detect.Scan{
			Time: now, Findings: []detect.Finding{f}, Unknown: []detect.UnknownObject{{Cluster: hostile, Application: long + "/" + long, Object: ref, Reason: long}},
			Applications: []detect.AssessedApplication{{State: detect.Unknown, Reason: long, Application: app, Conditions: []detect.Condition{{Type: detect.ConditionType(long), Message: long, Writer: writer}}}, {State: detect.Rendered, Application: whole}},
		},
		Published: serve.Published{
			Plans: map[string]propose.Plan{f.ID: {Codify: long, Revert: long}},
			Threads: []serve.Thread{{
				Kind: bot.Kind(long), Number: 1, URL: "https://git.example.test/" + long, Title: long, State: bot.State(long), Reason: long, Findings: []string{f.ID, "0000000000b1"},
				Files: []serve.File{{Path: long, Diff: "@@ -1 +1 @@\n-" + long + "\n+" + long}},
				Proof: &gitops.Proof{Reason: long, Applications: []gitops.ProvenMember{{Cluster: long, Name: long, Path: long, Before: long, After: "x"}}, Moved: []string{long}, Unproven: []gitops.UnprovenMember{{Name: long, Path: long, Reason: long}}},
			}},
		},
		History: map[string]serve.Past{
			f.ID:           {Since: now, Events: []serve.Event{{Time: now, What: long, URL: long}}},
			"0000000000b1": {Application: long, Object: ref, Gone: now, Events: []serve.Event{{Time: now, What: long, URL: "https://git.example.test/x"}}},
		},
	}
	o := options(fixed(r))
	o.Clusters = []serve.Cluster{{Name: hostile}}
	d := newDashboard(t, o)
	paths := []string{"/", "/drifts", "/drifts?name=" + strings.Repeat("%3Cscript%3E%22", 40), "/drift/0000000000a1", "/drift/0000000000b1", "/applications", "/drift/%3Cscript%3E", "/application/%22%3E%3Cscript%3E", "/%3Cscript%3Ealert(1)"}
	_, list := get(t, d, "/applications")
	for _, found := range regexp.MustCompile(`href="(/application/[0-9a-f]+)"`).FindAllStringSubmatch(list, -1) {
		paths = append(paths, found[1])
	}
	if len(paths) < 11 {
		t.Fatal("the Applications are not linked")
	}
	// Whatever a name holds, a page has tags, attributes and addresses of these forms only.
	tag := regexp.MustCompile(`^<(!DOCTYPE html|/?[a-z0-9]+( [a-z-]+(="[^"<>]*")?)*)>$`)
	known := regexp.MustCompile(`^</?(!DOCTYPE|html|head|meta|title|link|body|a|header|div|nav|main|footer|h1|h2|h3|p|ul|ol|li|strong|span|table|thead|tbody|tr|th|td|bdi|br|dl|dt|dd|time|code|pre|form|label|select|option|input|button|details|summary|section)\b`)
	attribute := regexp.MustCompile(` ([a-z-]+)(?:="([^"]*)")?`)
	allowed := map[string]bool{"lang": true, "charset": true, "name": true, "content": true, "rel": true, "type": true, "href": true, "class": true, "id": true, "aria-label": true, "aria-current": true, "scope": true, "data-label": true, "datetime": true, "title": true, "method": true, "action": true, "value": true, "selected": true, "maxlength": true}
	for _, path := range paths {
		code, body := get(t, d, path)
		if code != http.StatusOK && code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
		if len(body) > 600<<10 {
			t.Errorf("%s has %d bytes", path, len(body))
		}
		// The value of an option must be the cluster's own name; it is not shown.
		visible := regexp.MustCompile(`<option value="[^"]*"`).ReplaceAllString(body, "")
		if i := strings.IndexAny(visible, "\u202e\u2066\u200b\x1b"); i >= 0 {
			t.Errorf("%s turns the direction of writing, or holds a control character: %q", path, visible[max(0, i-200):i+3])
		}
		for _, one := range regexp.MustCompile(`<[^>]*>?`).FindAllString(body, -1) {
			if !tag.MatchString(one) || !known.MatchString(one) {
				t.Errorf("%s: %.100s is no tag of ours", path, one)
			}
			for _, found := range attribute.FindAllStringSubmatch(one, -1) {
				name, v := found[1], html.UnescapeString(found[2])
				if !allowed[name] && one[1] != '!' {
					t.Errorf("%s: attribute %s in %.100s", path, name, one)
				}
				if (name == "href" || name == "action") && !strings.HasPrefix(v, "/") && !strings.HasPrefix(v, "#") && !strings.HasPrefix(v, "https://git.example.test/") {
					t.Errorf("%s leads to %.100s", path, v)
				}
			}
		}
	}
}

func TestValuesOfSecretsAreNeverShown(t *testing.T) {
	reports := fleet()
	f := &reports[0].Scan.Findings[0]
	path := func(text string) gitops.Path {
		p, err := gitops.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const value = "c2VjcmV0LXZhbHVl"
	show := func(object detect.ObjectRef, field detect.Field) string {
		t.Helper()
		field.Git, field.Live, field.Drift = gitops.Present(value+"1"), gitops.Present(value+"2"), true
		f.Object, f.Fields = object, []detect.Field{field}
		_, body := get(t, newDashboard(t, options(fixed(reports...))), "/drift/"+f.ID)
		return text(body)
	}
	secret := detect.ObjectRef{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "key"}
	for name, page := range map[string]string{
		"a masked field":              show(detect.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Name: "x"}, detect.Field{Path: path("data.a"), Masked: true}),
		"data that nobody masked":     show(secret, detect.Field{Path: path("data.password")}),
		"stringData":                  show(secret, detect.Field{Path: path("stringData.password")}),
		"the Secret as a whole":       show(secret, detect.Field{}),
		"the last-applied annotation": show(secret, detect.Field{Path: path(`metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`)}),
		"a masked field of no Secret": show(detect.ObjectRef{APIVersion: "example.test/v1", Kind: "Vault", Name: "x"}, detect.Field{Path: path("spec.password"), Masked: true}),
	} {
		if strings.Contains(page, value) || !strings.Contains(page, "- (a value of a Secret, not shown) + (a value of a Secret, not shown)") {
			t.Errorf("%s: %s", name, page)
		}
	}
	if page := show(secret, detect.Field{Path: path("metadata.labels.app")}); !strings.Contains(page, value) {
		t.Error("a label of a Secret is hidden")
	}
}

func TestADashboardOfNobodyIsRefused(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	for name, c := range map[string]struct {
		change func(*dashboard.Options)
		want   string
	}{
		"neither token nor proxy": {func(o *dashboard.Options) { o.Token = "" }, "not open to everybody"},
		"a short token":           {func(o *dashboard.Options) { o.Token = "hunter2" }, "fewer than 20 characters"},
		"a header of anybody":     {func(o *dashboard.Options) { o.UserHeader = "X-User" }, "both a header and addresses"},
		"addresses without use":   {func(o *dashboard.Options) { o.Proxies = loopback }, "both a header and addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(fixed())
			c.change(&o)
			if _, err := dashboard.New(o); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
