package lab

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// AuditEvent is the part of an audit entry that tests ask for. Bodies are kept as they are.
type AuditEvent struct {
	Stage     string
	Verb      string
	UserAgent string
	User      struct {
		Username string
		Groups   []string
	}
	ObjectRef struct {
		APIGroup, APIVersion, Resource, Subresource, Namespace, Name string
	}
	ResponseStatus struct{ Code int }
	RequestObject  json.RawMessage
	ResponseObject json.RawMessage
}

// Audit reads the cluster's audit log and returns the entries that keep wants, oldest first. An entry is there once
// the client has its answer.
func (c *Cluster) Audit(t testing.TB, keep func(AuditEvent) bool) []AuditEvent {
	t.Helper()
	if c.AuditLog == "" {
		t.Fatal("this lab writes no audit log: set Options.Audit")
	}
	file, err := os.Open(c.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var events []AuditEvent
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event AuditEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // the last line while the API server writes it
		}
		if keep(event) {
			events = append(events, event)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}
