package release_test

import (
	"encoding/json"
	"testing"
	"time"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"

	"holdfast/gitops/release"
	"holdfast/gitops/release/releasetest"
)

// TestDecodeAgainstHelm reads a record in Helm's own encoding.
func TestDecodeAgainstHelm(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 123, time.UTC)
	encoded, err := json.Marshal(&helm.Release{
		Name: "shop", Namespace: "store", Version: 3, Manifest: "kind: Secret\n", Config: map[string]any{"a": 1.5}, ApplyMethod: "ssa",
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0"}},
		Info:  &helm.Info{Status: common.StatusPendingUpgrade, Description: "Preparing upgrade", FirstDeployed: at, LastDeployed: at},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := release.Decode(object(release.Secret, "helm.sh/release.v1", releasetest.Packed(t, string(encoded))))
	want := release.Release{Name: "shop", Namespace: "store", Revision: 3, Status: "pending-upgrade", Time: at, Manifest: "kind: Secret\n"}
	if err != nil || got != want || !got.Pending() {
		t.Errorf("%+v, error %v", got, err)
	}
}
