package audit

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/detect"
)

func TestALogIsReadUpToItsBound(t *testing.T) {
	one := line(t, nil) + "\n"
	zeros := func(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }
	for _, c := range []struct {
		name string
		in   io.Reader
		read int64
		err  error
	}{
		{"a log of just that length", strings.NewReader(one + one), int64(2 * len(one)), nil},
		{"one byte more", strings.NewReader(one + one), int64(2*len(one)) - 1, errTooMuch},
		{"one line without end", io.MultiReader(strings.NewReader(one), zeros(32<<20)), 16 << 20, errTooMuch},
		{"a document", strings.NewReader("[\n" + strings.Repeat(strings.TrimSpace(one)+",\n", 200)), 1000, errTooMuch},
		{"a small file that unpacks to much", unpacked(t, one, 32<<20), 16 << 20, errTooMuch},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := decode(c.in, bounds{read: c.read})
			if !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			if c.err == nil && log.Events != 2 {
				t.Errorf("%d events", log.Events)
			}
		})
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// unpacked reads a packed text with blanks after it.
func unpacked(t *testing.T, text string, blanks int) io.Reader {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, text+strings.Repeat(" ", blanks)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheOldestWritesGiveWay(t *testing.T) {
	var events []string
	for i := range 10 { // in no order
		minute := i * 7 % 10
		events = append(events, said(t, fmt.Sprintf("09:0%d:00", minute), "alice@example.test", "e", asks(minute)))
	}
	text := strings.Join(events, "\n")
	whole, err := decode(strings.NewReader(text), usual())
	if err != nil || whole.Dropped > 0 || len(whole.Notes()) > 0 {
		t.Fatal(err, whole.Dropped, whole.Notes())
	}
	for name, b := range map[string]bounds{"by number": {1 << 20, 8, 1 << 20}, "by bytes": {1 << 20, 100, whole.bytes * 8 / 10}} {
		t.Run(name, func(t *testing.T) {
			log, err := decode(strings.NewReader(text), b)
			if err != nil {
				t.Fatal(err)
			}
			log.Name = "audit.log"
			live := live6()
			history := log.Of(web(), application(), &live)
			if n := history.Writes(time.Time{}); n > 8 || n < 5 || n+log.Dropped != 10 || log.Writes != 10 || log.kept != n {
				t.Fatalf("%d kept, %d dropped of %d", n, log.Dropped, log.Writes)
			}
			want := []Window{{at("09:00:00"), at(fmt.Sprintf("09:0%d:00", log.Dropped-1))}}
			if diff := cmp.Diff(want, log.lost); diff != "" {
				t.Error(diff)
			}
			if note := fmt.Sprintf("audit.log: it has more writes than are kept: the oldest %d of 10 ", log.Dropped); len(log.Notes()) != 1 || !strings.HasPrefix(log.Notes()[0], note) {
				t.Errorf("%q, want %q", log.Notes(), note)
			}
		})
	}
}

func TestSpansThatAreMissingAreBounded(t *testing.T) {
	log := NewLog()
	start := at("00:00:00")
	for i := range 500 {
		log.Lose(Window{start.Add(time.Duration(i) * time.Minute), start.Add(time.Duration(i)*time.Minute + time.Second)})
	}
	last := start.Add(499 * time.Minute)
	if n := len(log.lost); n != maxLost || !log.lost[0].From.Equal(start) || !log.lost[n-1].From.Equal(last) {
		t.Fatalf("%d spans from %v to %v", n, log.lost[0].From, log.lost[n-1].From)
	}
	log.Lose(Window{start.Add(time.Hour), last})
	if want := []Window{{start, last.Add(time.Second)}}; !cmp.Equal(want, log.lost) {
		t.Errorf("one over all: %v", log.lost)
	}
}

func TestWritesThatTellNothingOfGitKeepNoBodies(t *testing.T) {
	for _, c := range []struct {
		name, group, resource, subresource string
		kept                               bool
	}{
		{"a Deployment", "apps", "deployments", "", true},
		{"its scale", "apps", "deployments", "scale", true},
		{"its status", "apps", "deployments", "status", false},
		{"a Lease", "coordination.k8s.io", "leases", "", false},
		{"an Event", "", "events", "", false},
		{"an Event of the newer group", "events.k8s.io", "events", "", false},
		{"somebody's own kind of that name", "example.com", "leases", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := Decode(strings.NewReader(line(t, map[string]any{
				"objectRef":      map[string]any{"resource": c.resource, "apiGroup": c.group, "subresource": c.subresource, "namespace": "shop", "name": "web"},
				"responseObject": spec(6),
			})))
			if err != nil || log.Writes != 1 {
				t.Fatal(err, log)
			}
			if kept := log.bytes > 0; kept != c.kept {
				t.Errorf("bodies of %d bytes kept", log.bytes)
			}
		})
	}
	// The status that a controller wrote afterwards does not hide who wrote the field.
	log, err := Decode(strings.NewReader(said(t, "09:00:00", "alice@example.test", "e", asks(6)) + "\n" + said(t, "09:01:00", "system:kcm", "kcm", map[string]any{
		"verb": "update", "requestObject": spec(6), "objectRef": map[string]any{"resource": "deployments", "apiGroup": "apps", "subresource": "status", "namespace": "shop", "name": "web"},
	})))
	if err != nil {
		t.Fatal(err)
	}
	live, field := live6(), replicas("", "")
	field.Writer = nil
	if !log.Of(web(), application(), &live).Field(field) || field.Writer.User != "alice@example.test" || field.Writer.Confidence != detect.ByAudit {
		t.Errorf("got %+v", field.Writer)
	}
}
