package knowledge

import (
	"slices"
	"testing"

	"holdfast/detect"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

func load(t *testing.T) *Base {
	t.Helper()
	b, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNothingIsLeftOut(t *testing.T) {
	b := load(t)
	for _, p := range []setting.Provider{setting.EKS, setting.GKE, setting.Autopilot, setting.AKS, setting.OpenShift, setting.SelfManaged} {
		if one, ok := b.Provider(p); !ok || one.Admission == "" || one.Autoscaling == "" || one.Audit == "" {
			t.Errorf("provider %s: %+v", p, one)
		}
	}
	for _, e := range []gitops.Engine{gitops.Flux, gitops.ArgoCD} {
		one, ok := b.Engine(e)
		if !ok || one.Detects == "" || one.Corrects == "" || one.Records == "" || len(one.Blind) == 0 || one.Sharding == "" || one.Jitter+one.JitterSeconds <= 0 {
			t.Errorf("engine %s: %+v", e, one)
		}
		for _, v := range b.Vectors {
			if v.Sees[e] == "" || v.Only == "" || v.Looms == "" {
				t.Errorf("vector %s says nothing of %s", v.ID, e)
			}
		}
	}
	for _, tier := range []detect.Tier{detect.Dev, detect.Staging, detect.Production, detect.Regulated, detect.DR} {
		one, ok := b.Tier(tier)
		if !ok || len(one.Causes) < 3 {
			t.Errorf("tier %s: %+v", tier, one)
		}
		for _, c := range one.Causes {
			if _, ok := b.Vector(c.Vector); !ok {
				t.Errorf("tier %s names the vector %s, which there is not", tier, c.Vector)
			}
		}
	}
}

func TestNotesHoldForOlderVersions(t *testing.T) {
	flux, _ := load(t).Engine(gitops.Flux)
	for _, c := range []struct {
		name, version string
		notes         int
	}{
		{"an older minor", "2.8.3", 2}, {"the same", "2.9.0", 0}, {"a newer one", "2.9.4", 0}, {"a release candidate", "2.9.0-rc.1", 0},
		{"only the major", "2", 0}, {"none", "", 0}, {"two digits are more than one", "2.10.0", 0},
	} {
		if got := flux.Before(c.version); len(got) != c.notes {
			t.Errorf("%s: %v, want %d", c.name, got, c.notes)
		}
	}
	argo, _ := load(t).Engine(gitops.ArgoCD)
	if got := argo.Before("2.14.21"); !slices.ContainsFunc(got, func(s string) bool { return len(s) > 0 && s[:22] == "timeout.reconciliation" }) {
		t.Errorf("Argo CD 2.14: %v", got)
	}
}
