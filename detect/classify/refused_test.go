package classify

import (
	"testing"

	"holdfast/detect"
	"holdfast/gitops"
)

func TestRefused(t *testing.T) {
	const (
		claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: s}}"
		set   = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: c, namespace: s}}"
	)
	facts := NewFacts(nil, loadRules(t))
	for _, c := range []struct {
		name, object, path string
		git, live          any
		want               bool
	}{
		{"a claim does not shrink", claim, "spec.resources.requests.storage", "10Gi", "25Gi", true},
		{"a claim grows", claim, "spec.resources.requests.storage", "25Gi", "10Gi", false},
		{"a claim keeps its class", claim, "spec.storageClassName", "slow", "fast", true},
		{"a StatefulSet keeps its claim templates", set, "spec.volumeClaimTemplates[0].spec.resources.requests.storage", "10Gi", "25Gi", true},
		{"a StatefulSet changes its replicas", set, "spec.replicas", int64(1), int64(2), false},
		{"what is gone can be put back", claim, "spec.storageClassName", "slow", nil, false},
	} {
		path, err := gitops.ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		live := object(t, c.object)
		_, got := facts.Refused(Subject{Live: &live}, detect.Field{Path: path, Git: value(c.git), Live: value(c.live), Differs: true})
		if got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}
