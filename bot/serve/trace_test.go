package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

func TestTracesReachTheCollector(t *testing.T) {
	var mu sync.Mutex
	var path, body string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		path, body = r.URL.Path, body+string(data)
	}))
	defer collector.Close()
	tracer, flush, err := Tracing(t.Context(), true, collector.URL, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := tracer.Start(t.Context(), "round")
	phase, end := Phases(ctx, tracer)
	phase("north: reading the engines' objects")
	phase("north: rendering flux-system/shop")
	end()
	span.End()
	if err := flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if path != "/v1/traces" {
		t.Errorf("traces went to %q", path)
	}
	for _, want := range []string{"round", "scan reading", "scan rendering", "north: rendering flux-system/shop", "holdfast", "1.2.3"} {
		if !strings.Contains(body, want) {
			t.Errorf("the traces lack %q", want)
		}
	}
}

func TestWithoutAnEndpointNothingIsTraced(t *testing.T) {
	tracer, flush, err := Tracing(t.Context(), false, "", "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if _, span := tracer.Start(t.Context(), "round"); span.IsRecording() {
		t.Error("it records")
	}
	if err := flush(t.Context()); err != nil {
		t.Error(err)
	}
}
