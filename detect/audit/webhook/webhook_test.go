package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// list is what an API server posts: one deletion by alice for each name.
func list(at time.Time, names ...string) string {
	var items []string
	for i, name := range names {
		items = append(items, fmt.Sprintf(`{"level":"Metadata","auditID":"%s-%d","stage":"ResponseComplete","verb":"delete",
			"user":{"username":"alice@example.test"},"objectRef":{"resource":"configmaps","namespace":"shop","name":%q},
			"responseStatus":{"code":200},"stageTimestamp":%q}`, name, i, name, at.Format(time.RFC3339Nano)))
	}
	return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
}

func TestRequests(t *testing.T) {
	now := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	good := list(now, "settings")
	for _, c := range []struct {
		name, method, token, content, body string
		code                               int
		want                               string
	}{
		{"events with the token are taken", "POST", "Bearer open", "application/json; charset=utf-8", good, 200, ""},
		{"another token is not let in", "POST", "Bearer opem", "application/json", good, 401, "not let in"},
		{"no token is not let in", "POST", "", "application/json", good, 401, "not let in"},
		{"an empty token is not let in", "POST", "Bearer ", "application/json", good, 401, "not let in"},
		{"a token of another scheme is not let in", "POST", "Basic open", "application/json", good, 401, "not let in"},
		{"a read is refused", "GET", "Bearer open", "", "", 405, "want POST"},
		{"another content type is refused", "POST", "Bearer open", "application/yaml", good, 415, "application/json"},
		{"what is no JSON is refused", "POST", "Bearer open", "application/json", `{"kind":"EventList`, 400, "want an EventList"},
		{"another kind is refused", "POST", "Bearer open", "application/json", `{"kind":"Secret","apiVersion":"v1"}`, 400, "want an EventList"},
		{"another version is refused", "POST", "Bearer open", "application/json", `{"kind":"EventList","apiVersion":"audit.k8s.io/v1beta1"}`, 400, "want an EventList"},
		{"too large a body is refused", "POST", "Bearer open", "application/json", good + strings.Repeat(" ", maxBody), 413, "16 MiB"},
		{"an empty list is taken", "POST", "Bearer open", "application/json", `{"kind":"EventList","apiVersion":"audit.k8s.io/v1"}`, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sink, err := New(Options{Token: "open", Start: now})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(c.method, "/audit", strings.NewReader(c.body))
			r.Header.Set("Authorization", c.token)
			r.Header.Set("Content-Type", c.content)
			w := httptest.NewRecorder()
			sink.ServeHTTP(w, r)
			if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d %q, want %d %q", w.Code, w.Body, c.code, c.want)
			}
			if refused := sink.Stats().Refused; (refused == 1) != (c.code != 200) {
				t.Errorf("%d refused", refused)
			}
		})
	}
}

func TestAClientCertificateLetsIn(t *testing.T) {
	sink, err := New(Options{ClientName: "kube-apiserver"})
	if err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]int{"kube-apiserver": 200, "kubelet": 401, "": 401} {
		r := httptest.NewRequest("POST", "/audit", strings.NewReader(list(time.Now(), "settings")))
		r.Header.Set("Content-Type", "application/json")
		if name != "" {
			r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{Subject: pkix.Name{CommonName: name}}}}}
		}
		w := httptest.NewRecorder()
		if sink.ServeHTTP(w, r); w.Code != code {
			t.Errorf("%q: %d, want %d", name, w.Code, code)
		}
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a sink without any check was made")
	}
}

func TestTheOldestGiveWayAndTheirWindowIsKnown(t *testing.T) {
	start := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	sink, err := New(Options{Token: "open", MaxWrites: 3, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	post := func(body string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/audit", bytes.NewBufferString(body))
		r.Header.Set("Authorization", "Bearer open")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if sink.ServeHTTP(w, r); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	by := func(name string) string {
		if w, ok := sink.Log().Of(gitops.ObjectID{Kind: "ConfigMap", Namespace: "shop", Name: name}, gitops.Application{}, nil).Object(detect.GitOnly); ok {
			return w.User
		}
		return ""
	}
	post(list(start.Add(time.Minute), "one", "two"))
	post(list(start.Add(2*time.Minute), "three"))
	if by("one") != "alice@example.test" || by("three") != "alice@example.test" {
		t.Errorf("one by %q, three by %q", by("one"), by("three"))
	}
	post(list(start.Add(3*time.Minute), "four"))
	if by("one") != "" || by("four") != "alice@example.test" {
		t.Errorf("after the drop: one by %q, four by %q", by("one"), by("four"))
	}
	want := Stats{Requests: 3, Events: 4, Writes: 4, Dropped: 2}
	if got := sink.Stats(); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
	// What was deleted before the dropped window may have come and gone in it.
	sink.options.MaxWrites = 2
	post(list(start.Add(-time.Hour), "five"))
	post(list(start.Add(4*time.Minute), "six", "seven"))
	if by("four") != "" || by("six") != "alice@example.test" {
		t.Errorf("four by %q, six by %q", by("four"), by("six"))
	}
}

func TestWhatIsDroppedIsOneSpanForEver(t *testing.T) {
	start := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	sink, err := New(Options{Token: "open", MaxWrites: 1, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	const posts = 300
	for i := range posts { // a minute between two
		r := httptest.NewRequest(http.MethodPost, "/audit", strings.NewReader(list(start.Add(time.Duration(i)*time.Minute), "settings")))
		r.Header.Set("Authorization", "Bearer open")
		r.Header.Set("Content-Type", "application/json")
		sink.ServeHTTP(httptest.NewRecorder(), r)
	}
	if n := reflect.ValueOf(sink.Log()).Elem().FieldByName("lost").Len(); n != 1 || sink.Stats().Dropped != posts-1 {
		t.Errorf("%d spans of %d dropped writes", n, sink.Stats().Dropped)
	}
}
