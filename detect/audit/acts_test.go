package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestActsTellWhoDidWhat(t *testing.T) {
	const events = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"1","stage":"ResponseComplete","verb":"patch","user":{"username":"alice","groups":["system:authenticated","sre"]},"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps"},"responseStatus":{"code":200},"stageTimestamp":"2026-03-01T02:00:00.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"1","stage":"ResponseComplete","verb":"patch","user":{"username":"alice","groups":["sre"]},"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps"},"responseStatus":{"code":200},"stageTimestamp":"2026-03-01T02:00:00.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"2","stage":"ResponseComplete","verb":"update","user":{"username":"system:node:n"},"objectRef":{"resource":"pods","namespace":"shop","name":"p","subresource":"status"},"responseStatus":{"code":200},"stageTimestamp":"2026-03-01T02:00:01.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"3","stage":"ResponseComplete","verb":"delete","user":{"username":"alice","groups":["sre"]},"impersonatedUser":{"username":"bob","groups":["developers"]},"objectRef":{"resource":"configmaps","namespace":"shop","name":"c"},"responseStatus":{"code":403},"stageTimestamp":"2026-03-01T02:00:02.000000Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"4","stage":"ResponseComplete","verb":"update","user":{"username":"alice","groups":["sre"]},"impersonatedUser":{"username":"bob","groups":["developers"]},"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","subresource":"scale"},"responseStatus":{"code":200},"stageTimestamp":"2026-03-01T02:00:03.000000Z"}
`
	log, err := Decode(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	got := slices.SortedFunc(log.Acts(), func(a, b Act) int { return a.Time.Compare(b.Time) })
	at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	want := []Act{
		{at, "alice", "", "patch", "apps", "deployments", "", "shop", "web"},
		{at.Add(3 * time.Second), "alice", "bob", "update", "apps", "deployments", "scale", "shop", "web"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	other := NewLog()
	other.Merge(log)
	if diff := cmp.Diff([][]string{{"sre"}, {"developers"}, nil}, [][]string{other.Groups("alice"), other.Groups("bob"), other.Groups("system:node:n")}); diff != "" {
		t.Error(diff)
	}
}
