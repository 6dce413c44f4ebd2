package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/bot/dashboard"
)

// ask sends one request as it is described.
func ask(d http.Handler, method, path, form string, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(method, path, strings.NewReader(form))
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result()
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func TestWhoMayLook(t *testing.T) {
	byToken := newDashboard(t, options(fixed(fleet()...)))
	o := options(fixed(fleet()...))
	o.Token, o.UserHeader, o.Proxies = "", "X-Auth-User", []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/64")}
	byProxy := newDashboard(t, o)
	o.Token = token
	byBoth := newDashboard(t, o)
	from := func(address string, users ...string) func(*http.Request) {
		return func(r *http.Request) {
			r.RemoteAddr = address
			for _, user := range users {
				r.Header.Add("X-Auth-User", user)
			}
		}
	}
	for name, c := range map[string]struct {
		dashboard *dashboard.Dashboard
		change    func(*http.Request)
		code      int
	}{
		"the token as a bearer":                       {byToken, header("Authorization", "Bearer "+token), 200},
		"the scheme in small letters":                 {byToken, header("Authorization", "bearer "+token), 200},
		"another token":                               {byToken, header("Authorization", "Bearer "+token+"x"), 401},
		"a part of the token":                         {byToken, header("Authorization", "Bearer "+token[:10]), 401},
		"an empty token":                              {byToken, header("Authorization", "Bearer "), 401},
		"the token as a password":                     {byToken, func(r *http.Request) { r.SetBasicAuth("x", token) }, 401},
		"nobody":                                      {byToken, nil, 303},
		"the token in the address":                    {byToken, func(r *http.Request) { r.URL.RawQuery = "token=" + token }, 303},
		"the token as a cookie":                       {byToken, header("Cookie", "holdfast-session="+token), 303},
		"a user's header where no proxy is trusted":   {byToken, from("10.1.2.3:1", "alice"), 303},
		"a user whom the proxy let in":                {byProxy, from("10.1.2.3:1", "alice"), 200},
		"a proxy over IPv6":                           {byProxy, from("[fd00::7]:1", "alice"), 200},
		"a proxy's IPv4 address in IPv6's spelling":   {byProxy, from("[::ffff:10.1.2.3]:1", "alice"), 200},
		"the header from another address":             {byProxy, from("10.2.2.3:1", "alice"), 403},
		"the proxy without a user":                    {byProxy, from("10.1.2.3:1"), 403},
		"the proxy with an empty user":                {byProxy, from("10.1.2.3:1", ""), 403},
		"a header that a client sent before":          {byProxy, from("10.1.2.3:1", "mallory", "alice"), 403},
		"a user of endless length":                    {byProxy, from("10.1.2.3:1", strings.Repeat("a", 300)), 403},
		"a bearer where there is no token":            {byProxy, header("Authorization", "Bearer "), 403},
		"the token beside a proxy":                    {byBoth, header("Authorization", "Bearer "+token), 200},
		"another address beside a token":              {byBoth, from("10.2.2.3:1", "alice"), 303},
		"an address that is none, with a forged user": {byProxy, from("pipe", "alice"), 403},
		"X-Forwarded-For of a trusted one": {byProxy, func(r *http.Request) {
			from("192.0.2.1:1", "alice")(r)
			r.Header.Set("X-Forwarded-For", "10.1.2.3")
		}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/", "/drifts", "/drift/0000000000a1", "/applications", "/nothing"} {
				response := ask(c.dashboard, http.MethodGet, path, "", c.change)
				page := body(t, response)
				want := c.code
				if want == http.StatusOK && path == "/nothing" {
					want = http.StatusNotFound
				}
				if response.StatusCode != want {
					t.Errorf("%s: %d, want %d", path, response.StatusCode, want)
				}
				if want != http.StatusOK && (strings.Contains(page, "north") || strings.Contains(page, "shop")) {
					t.Errorf("%s tells of the fleet whom it does not let in", path)
				}
			}
		})
	}
}

func TestLogin(t *testing.T) {
	o := options(fixed(fleet()...))
	clock := now
	o.Now = func() time.Time { return clock }
	d := newDashboard(t, o)
	if response := ask(d, http.MethodGet, "/drifts?risk=high", "", nil); response.Header.Get("Location") != "/login?next=%2Fdrifts%3Frisk%3Dhigh" {
		t.Errorf("leads to %q", response.Header.Get("Location"))
	}
	form := body(t, ask(d, http.MethodGet, "/login?next=%2Fdrifts%3Frisk%3Dhigh", "", nil))
	if !strings.Contains(form, `name="next" value="/drifts?risk=high"`) || !strings.Contains(form, `type="password"`) {
		t.Errorf("the form is\n%s", form)
	}
	login := func(given, next string, change func(*http.Request)) *http.Response {
		return ask(d, http.MethodPost, "/login", url.Values{"token": {given}, "next": {next}}.Encode(), change)
	}
	if response := login("wrong-wrong-wrong-wrong", "/", nil); response.StatusCode != http.StatusUnauthorized || len(response.Cookies()) > 0 || !strings.Contains(body(t, response), "This is not the token.") {
		t.Errorf("a wrong token: %d, %v", response.StatusCode, response.Cookies())
	}
	for name, change := range map[string]func(*http.Request){
		"by its origin":     header("Origin", "https://evil.example.test"),
		"by fetch metadata": header("Sec-Fetch-Site", "cross-site"),
	} {
		if response := login(token, "/", change); response.StatusCode != http.StatusForbidden || len(response.Cookies()) > 0 {
			t.Errorf("a form of another site, told %s: %d", name, response.StatusCode)
		}
	}
	if response := ask(d, http.MethodPost, "/login", "token="+token+"&x="+strings.Repeat("a", 64<<10), nil); response.StatusCode != http.StatusBadRequest {
		t.Errorf("an endless form: %d", response.StatusCode)
	}
	for next, want := range map[string]string{
		"/drifts?risk=high": "/drifts?risk=high", "": "/", "//evil.example.test": "/", "https://evil.example.test/": "/", `/\evil.example.test`: "/", "javascript:alert(1)": "/",
		"drifts": "/", "/logout": "/", "/login": "/", "/%2F/evil.example.test": "/", "/a\r\nSet-Cookie: x=y": "/",
	} {
		if response := login(token, next, nil); response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != want {
			t.Errorf("after the login, %q leads to %q, want %q", next, response.Header.Get("Location"), want)
		}
	}
	cookies := login(token, "/", nil).Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/" || cookies[0].MaxAge != 12*3600 || strings.Contains(cookies[0].Value, token) {
		t.Fatalf("cookies %+v", cookies)
	}
	secure := login(token, "/", header("X-Forwarded-Proto", "https")).Cookies()
	if len(secure) != 1 || !secure[0].Secure || secure[0].Name != "__Host-holdfast-session" {
		t.Errorf("over TLS: %+v", secure)
	}
	with := func(c *http.Cookie) func(*http.Request) { return func(r *http.Request) { r.AddCookie(c) } }
	inside := func(d http.Handler, c *http.Cookie) bool {
		return ask(d, http.MethodGet, "/", "", with(c)).StatusCode == http.StatusOK
	}
	if !inside(d, cookies[0]) || !inside(d, secure[0]) {
		t.Error("the session does not let in")
	}
	if page := body(t, ask(d, http.MethodGet, "/", "", with(cookies[0]))); !strings.Contains(page, `action="/logout"`) {
		t.Error("there is no way to log out")
	}
	for i := range len(cookies[0].Value) {
		forged := *cookies[0]
		other := byte('A')
		if forged.Value[i] == other {
			other = 'B'
		}
		forged.Value = forged.Value[:i] + string(other) + forged.Value[i+1:]
		if i < len(forged.Value)-1 && inside(d, &forged) { // the last character has bits that mean nothing
			t.Errorf("a cookie changed at %d lets in", i)
		}
	}
	o.Token = "another-token-of-enough-characters"
	if inside(newDashboard(t, o), cookies[0]) {
		t.Error("the session outlives its token")
	}
	clock = now.Add(12*time.Hour - time.Second)
	if !inside(d, cookies[0]) {
		t.Error("the session ends early")
	}
	clock = now.Add(12*time.Hour + time.Second)
	if inside(d, cookies[0]) {
		t.Error("the session does not end")
	}
	out := ask(d, http.MethodPost, "/logout", "", with(cookies[0]))
	if gone := out.Cookies(); out.StatusCode != http.StatusSeeOther || len(gone) != 1 || gone[0].MaxAge != -1 || gone[0].Value != "" {
		t.Errorf("logout: %d %+v", out.StatusCode, gone)
	}
	if response := ask(d, http.MethodGet, "/logout", "", with(cookies[0])); len(response.Cookies()) > 0 {
		t.Error("a link logs out")
	}
}

func TestHeaders(t *testing.T) {
	d := newDashboard(t, options(fixed(fleet()...)))
	style := ""
	for _, path := range []string{"/", "/login", "/nothing", "/drift/0000000000a1", "/icon.svg"} {
		for _, change := range []func(*http.Request){nil, header("Authorization", "Bearer "+token)} {
			response := ask(d, http.MethodGet, path, "", change)
			page := body(t, response)
			for name, want := range map[string]string{
				"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
				"X-Content-Type-Options":  "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			} {
				if got := response.Header.Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", path, name, got, want)
				}
			}
			if path != "/icon.svg" && response.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s may be kept: %q", path, response.Header.Get("Cache-Control"))
			}
			if strings.Contains(page, "<script") || strings.Contains(page, "style=") {
				t.Errorf("%s holds a script or a style of its own", path)
			}
			if _, after, found := strings.Cut(page, `<link rel="stylesheet" href="`); found {
				style, _, _ = strings.Cut(after, `"`)
			}
		}
	}
	sheet := ask(d, http.MethodGet, style, "", nil)
	if css := body(t, sheet); sheet.StatusCode != http.StatusOK || sheet.Header.Get("Content-Type") != "text/css; charset=utf-8" || !strings.Contains(css, "prefers-color-scheme: dark") {
		t.Errorf("the sheet %s: %d %s", style, sheet.StatusCode, sheet.Header.Get("Content-Type"))
	}
	if response := ask(d, http.MethodPost, "/drifts", "x=y", header("Authorization", "Bearer "+token)); response.StatusCode == http.StatusOK {
		t.Error("something takes a POST")
	}
}
