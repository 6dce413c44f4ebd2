package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// cookieName is that of the session. Browsers take a __Host- cookie over TLS only, so that no other host of the
	// domain can set it; without TLS there is no such promise to be had.
	cookieName       = "holdfast-session"
	secureCookieName = "__Host-holdfast-session"
	// sessionKept is how long a login lasts.
	sessionKept = 12 * time.Hour
	// mostForm bounds the login's body.
	mostForm = 8 << 10
	// mostUser bounds what a proxy says a user is called.
	mostUser = 256
)

// viewer is who looks at a page.
type viewer struct {
	name string
	// session says that a cookie lets in, which a logout takes away.
	session bool
}

// viewer says who asks; false where nobody is let in.
func (d *Dashboard) viewer(r *http.Request) (viewer, bool) {
	if user, ok := d.proxied(r); ok {
		return viewer{name: user}, true
	}
	if d.options.Token == "" {
		return viewer{}, false
	}
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		return viewer{name: "token"}, d.isToken(strings.TrimSpace(token))
	}
	for _, name := range []string{secureCookieName, cookieName} {
		if cookie, err := r.Cookie(name); err == nil && d.isSession(cookie.Value) {
			return viewer{name: "token", session: true}, true
		}
	}
	return viewer{}, false
}

// proxied gives whom a trusted proxy has let in. What anybody else writes into the header counts for nothing.
func (d *Dashboard) proxied(r *http.Request) (string, bool) {
	if d.options.UserHeader == "" {
		return "", false
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "", false
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return "", false
	}
	address = address.Unmap().WithZone("")
	if !slices.ContainsFunc(d.options.Proxies, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return "", false
	}
	values := r.Header.Values(d.options.UserHeader)
	if len(values) != 1 { // a proxy that adds to what a client sent would let the client choose
		return "", false
	}
	user := strings.TrimSpace(values[0])
	return user, user != "" && len(user) <= mostUser
}

// isToken compares in a time that does not depend on where texts differ, nor on how long they are.
func (d *Dashboard) isToken(text string) bool {
	given, want := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(d.options.Token))
	return d.options.Token != "" && hmac.Equal(given[:], want[:])
}

// newSession makes what the cookie holds: when it ends, a number of its own, and a code over both with a key made of
// the token, so that every replica knows it and another token ends it.
func (d *Dashboard) newSession() string {
	data := binary.BigEndian.AppendUint64(nil, uint64(d.options.Now().Add(sessionKept).Unix()))
	data = append(data, rand.Text()...)
	return base64.RawURLEncoding.EncodeToString(append(data, d.seal(data)...))
}

func (d *Dashboard) isSession(text string) bool {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(data) < 8+sha256.Size {
		return false
	}
	data, code := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	return hmac.Equal(code, d.seal(data)) && d.options.Now().Unix() < int64(binary.BigEndian.Uint64(data))
}

func (d *Dashboard) seal(data []byte) []byte {
	code := hmac.New(sha256.New, []byte("holdfast dashboard session\x00"+d.options.Token))
	code.Write(data)
	return code.Sum(nil)
}

// cookie gives the session cookie with a value; an empty one takes it away. Secure is as the browser's connection is:
// a header that says TLS where there is none costs only who forged it the login.
func cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{Name: cookieName, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(sessionKept.Seconds())}
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		c.Name, c.Secure = secureCookieName, true
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// within gives a path of this dashboard to go to after the login; whatever leads elsewhere becomes the first page.
func within(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") || u.Path == "/login" || u.Path == "/logout" {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// guarded lets those in who may look.
func (d *Dashboard) guarded(page func(http.ResponseWriter, *http.Request, viewer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, ok := d.viewer(r)
		switch {
		case ok:
			page(w, r, who)
		case d.options.Token == "":
			d.problem(w, viewer{}, http.StatusForbidden, "No access", "This page is reached through the proxy in front of it.")
		case r.Header.Get("Authorization") != "":
			w.Header().Set("WWW-Authenticate", `Bearer realm="holdfast"`)
			d.problem(w, viewer{}, http.StatusUnauthorized, "No access", "The token is not the one of the configuration.")
		default:
			http.Redirect(w, r, "/login?next="+url.QueryEscape(within(r.URL.RequestURI())), http.StatusSeeOther)
		}
	}
}

// login takes the form.
func (d *Dashboard) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		d.problem(w, viewer{}, http.StatusBadRequest, "Bad request", "The form cannot be read.")
		return
	}
	next := within(r.PostForm.Get("next"))
	if !d.isToken(strings.TrimSpace(r.PostForm.Get("token"))) {
		d.refused.Do(func() { d.options.Log.Warn("a login to the dashboard is refused", "from", r.RemoteAddr) })
		d.form(w, http.StatusUnauthorized, "This is not the token.", next)
		return
	}
	http.SetCookie(w, cookie(r, d.newSession()))
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// logout takes the cookie away. Sessions are kept nowhere: one that was copied lasts until its end.
func (d *Dashboard) logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, cookie(r, ""))
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}
