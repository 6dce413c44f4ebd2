package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const dashboardToken = "a-dashboard-token-that-no-log-may-show"

// TestServeShowsItsDashboard is the service with a dashboard: what the first round found is there for who has the
// token, on an address of its own.
func TestServeShowsItsDashboard(t *testing.T) {
	s := newService(t)
	free := httptest.NewServer(http.NotFoundHandler())
	address := free.Listener.Addr().String()
	free.Close()
	file := filepath.Join(s.dir, "holdfast.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "logLevel: debug}", "logLevel: debug, dashboard: {listen: '"+address+"', tokenFile: dashboard-token}}", 1)
	for name, content := range map[string]string{"holdfast.yaml": changed, "dashboard-token": dashboardToken + "\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.start()
	s.ready()
	page := func(path, token string) (int, string) {
		t.Helper()
		request, err := http.NewRequest(http.MethodGet, "http://"+address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	if code, _ := page("/", "wrong-wrong-wrong-wrong-wrong"); code != http.StatusUnauthorized {
		t.Errorf("another token is answered by %d, want 401", code)
	}
	code, list := page("/drifts", dashboardToken)
	if code != http.StatusOK || !strings.Contains(list, "flux-system/shop") {
		t.Fatalf("%d %s", code, list)
	}
	link := regexp.MustCompile(`href="(/drift/[0-9a-f]{12})"><bdi>Deployment shop/web`).FindStringSubmatch(list)
	if link == nil {
		t.Fatalf("no drift of the Deployment in\n%s", list)
	}
	_, drift := page(link[1], dashboardToken)
	for _, want := range []string{"kubectl-label", "(manager name, chosen by the client)", "pull request 2", "first seen", "open pull request", "closes the drift and moves nothing else", `class="plus"`} {
		if !strings.Contains(drift, want) {
			t.Errorf("the page of the drift lacks %q in\n%s", want, drift)
		}
	}
	if code, _ := s.get("/drifts"); code != http.StatusNotFound {
		t.Errorf("where webhooks come, pages are answered by %d, want 404", code)
	}
	if code, _ := page("/metrics", dashboardToken); code != http.StatusNotFound {
		t.Errorf("metrics are answered by %d where the pages are, want 404", code)
	}
	if err := s.stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, s.log)
	}
	if strings.Contains(s.log.String(), dashboardToken) {
		t.Error("the token is logged")
	}
}
