package serve_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/bot"
	"holdfast/bot/forge"
	"holdfast/bot/propose"
	"holdfast/bot/serve"
	"holdfast/bot/store"
	"holdfast/detect"
)

const (
	shop   = "https://git.example.test/team/shop.git"
	secret = "hunter2"
)

// signed is a forge.Hook whose deliveries are events in JSON, with an HMAC of the body in X-Signature.
type signed struct{}

func signature(body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func (signed) Read(header http.Header, body []byte) (bot.Event, error) {
	var e bot.Event
	if !hmac.Equal([]byte(header.Get("X-Signature")), []byte(signature(body))) {
		return e, fmt.Errorf("test: %w", forge.ErrSignature)
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return e, fmt.Errorf("test: %w", forge.ErrDelivery)
	}
	e.Delivery = header.Get("X-Delivery")
	return e, nil
}

// fleet is a serve.Rounds whose clusters find what they are told to.
type fleet struct {
	mu     sync.Mutex
	scans  map[string]int            // by cluster
	fails  map[string]error          // scans that fail
	forges map[string]error          // publishing that fails
	found  map[string]detect.Scan    // by cluster
	reads  map[string][]serve.Reads  // by cluster
	others map[string][]serve.Report // what Publish was given last
	hold   map[string]chan struct{}  // Publish waits for it
	inside map[string]int            // rounds that publish now, by repository
	crowd  int                       // the most of them
}

func newFleet() *fleet {
	return &fleet{
		scans: map[string]int{}, fails: map[string]error{}, forges: map[string]error{}, found: map[string]detect.Scan{}, reads: map[string][]serve.Reads{},
		others: map[string][]serve.Report{}, hold: map[string]chan struct{}{}, inside: map[string]int{},
	}
}

func (f *fleet) Scan(_ context.Context, cluster string) (serve.Round, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scans[cluster]++
	if err := f.fails[cluster]; err != nil {
		return nil, err
	}
	scan := f.found[cluster]
	scan.Time = time.Now()
	return fleetRound{f, cluster, scan}, nil
}

func (f *fleet) count(cluster string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.scans[cluster]
}

func (f *fleet) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

type fleetRound struct {
	fleet   *fleet
	cluster string
	scan    detect.Scan
}

func (r fleetRound) Result() detect.Scan    { return r.scan }
func (r fleetRound) Repositories() []string { return []string{shop} }

func (r fleetRound) Publish(ctx context.Context, others []serve.Report) (serve.Published, error) {
	f := r.fleet
	f.mu.Lock()
	f.others[r.cluster] = others
	f.inside[shop]++
	f.crowd = max(f.crowd, f.inside[shop])
	hold, err, reads := f.hold[r.cluster], f.forges[r.cluster], f.reads[r.cluster]
	f.mu.Unlock()
	defer f.set(func() { f.inside[shop]-- })
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return serve.Published{}, ctx.Err()
		}
	}
	return serve.Published{
		Plans: map[string]propose.Plan{"id-" + r.cluster: {Codify: "proposed"}}, Effects: map[string]int{"open issue": 1}, Reads: reads,
	}, err
}

// service is a running Server.
type service struct {
	*fleet
	server *serve.Server
	http   *httptest.Server
	log    *logs
	stop   func() error
}

// logs is where a service logs to.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// run starts a service with the clusters north and south, whose hook shop is for one repository.
func run(t *testing.T, f *fleet, change func(*serve.Options)) *service {
	t.Helper()
	queue, err := store.Open(t.Context(), store.Options{File: filepath.Join(t.TempDir(), "holdfast.db")})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{fleet: f, log: &logs{}}
	options := serve.Options{
		Listen: "127.0.0.1:0", Store: queue, Rounds: f, Metrics: serve.NewMetrics("test"),
		Clusters: []serve.Cluster{{Name: "north", Every: time.Hour}, {Name: "south", Every: time.Hour}},
		Hooks:    []serve.Hook{{Name: "shop", Reader: signed{}, Repositories: []string{shop}}},
		Log:      slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Grace:    2 * time.Second,
	}
	if change != nil {
		change(&options)
	}
	if s.server, err = serve.New(options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(ctx) }()
	s.http = httptest.NewServer(s.server.Handler())
	s.stop = sync.OnceValue(func() error {
		cancel()
		s.http.Close()
		err := <-ended
		queue.Close()
		return err
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		if strings.Contains(s.log.String(), secret) {
			t.Error("the secret is logged")
		}
	})
	return s
}

func (s *service) get(t *testing.T, path string) (int, string) {
	t.Helper()
	response, err := http.Get(s.http.URL + path)
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

// post sends a delivery, signed rightly unless sign says otherwise.
func (s *service) post(t *testing.T, hook, id string, body []byte, sign string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodPost, s.http.URL+"/webhooks/"+hook, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if sign == "" {
		sign = signature(body)
	}
	request.Header.Set("X-Signature", sign)
	request.Header.Set("X-Delivery", id)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text))
}

func event(t *testing.T, e bot.Event) []byte {
	t.Helper()
	if e.Repo == "" {
		e.Repo = shop
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

// ready waits for the first rounds.
func (s *service) ready(t *testing.T) {
	t.Helper()
	eventually(t, "the service is ready", func() bool { code, _ := s.get(t, "/readyz"); return code == http.StatusOK })
}
