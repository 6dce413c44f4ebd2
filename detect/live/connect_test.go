package live

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestConnectSaysWhatIsWrong(t *testing.T) {
	write := func(t *testing.T, text string) string {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	refused := newAPIServer(t)
	refused.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		refuse(w, 401, "Unauthorized")
		return true
	}
	gone := newAPIServer(t)
	gone.url = "http://127.0.0.1:1"
	cases := []struct {
		name    string
		options Options
		want    []string
	}{
		{"a context that is not there names those that are", Options{Kubeconfig: refused.kubeconfig(), Context: "red"}, []string{`no context "red"`, "blue, green"}},
		{"a file that is not there", Options{Kubeconfig: "/nowhere/kubeconfig"}, []string{"/nowhere/kubeconfig", "no such file"}},
		{"a file that is no YAML", Options{Kubeconfig: write(t, "a: [")}, []string{"kubeconfig"}},
		{"a file without a current context", Options{Kubeconfig: write(t, "contexts: [{name: a, context: {cluster: c, user: u}}]")}, []string{"--context", "there are a"}},
		{"a file without contexts", Options{Kubeconfig: write(t, "apiVersion: v1\nkind: Config\n")}, []string{"--kubeconfig", "--live"}},
		{"a server that cannot be reached is named by URL", Options{Kubeconfig: gone.kubeconfig()}, []string{"http://127.0.0.1:1", "cannot be reached", `context "blue"`}},
		{"a credential that is refused", Options{Kubeconfig: refused.kubeconfig()}, []string{refused.url, "credential", `user "bot"`, "expired"}},
		{"a mode that does not exist", Options{Kubeconfig: refused.kubeconfig(), Secrets: "all"}, []string{`secrets mode "all"`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			_, err := Connect(t.Context(), c.options)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "secret-token") {
				t.Errorf("error %q holds the token", err)
			}
		})
	}
}

func TestConnectToAServerThatNeverAnswers(t *testing.T) {
	s := newAPIServer(t)
	s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		<-r.Context().Done()
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Connect(ctx, Options{Kubeconfig: s.kubeconfig()})
	if err == nil || !strings.Contains(err.Error(), "does not answer in time") || !strings.Contains(err.Error(), s.url) {
		t.Errorf("error %v", err)
	}
}

func TestRetryPause(t *testing.T) {
	busy := func(after time.Duration) error { return &statusError{code: 429, retryAfter: after} }
	cases := []struct {
		name   string
		err    error
		chance float64
		want   time.Duration
		again  bool
	}{
		{"a busy server gets the usual pause", busy(0), 0, time.Second, true},
		{"jitter adds up to half", busy(0), 0.5, 1250 * time.Millisecond, true},
		{"the server's own wish is kept", busy(7 * time.Second), 0, 7 * time.Second, true},
		{"a wish beyond the bound ends it", busy(time.Hour), 0, 0, false},
		{"a broken connection is tried again", &brokenError{errors.New("reset")}, 0, time.Second, true},
		{"a server error is tried again", &statusError{code: 500}, 0, time.Second, true},
		{"a refusal is final", &statusError{code: 403}, 0, 0, false},
		{"a missing object is final", &statusError{code: 404}, 0, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, again := retryPause(c.err, time.Second, c.chance)
			if got != c.want || again != c.again {
				t.Errorf("got %v, %v; want %v, %v", got, again, c.want, c.again)
			}
		})
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	s := newAPIServer(t)
	c := s.connect(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		cancel()
		<-r.Context().Done()
		return true
	}
	if _, err := c.Read(ctx, Wanted{IDs: ids("ConfigMap/shop/a")}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestNoMoreRequestsInFlightThanAllowed(t *testing.T) {
	s := newAPIServer(t)
	slots := make(chan struct{}, 2)
	s.fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		select {
		case slots <- struct{}{}:
			time.Sleep(2 * time.Millisecond)
			<-slots
		default:
			t.Error("a third request at the same time")
		}
		return false
	}
	s.read(Options{InFlight: 2, QPS: 1000, Burst: 1000}, Wanted{IDs: ids("ConfigMap/shop/a"), Selectors: []string{trackedBy}, AllKinds: true})
}
