package scan

import (
	"testing"

	"holdfast/detect"
	"holdfast/gitops"
)

// TestTwoApplicationsDeclareOneObject: what the other says lives, so neither a person nor an earlier revision made it.
func TestTwoApplicationsDeclareOneObject(t *testing.T) {
	declaring := func(name string, replicas int64) *member {
		return &member{
			app: gitops.Application{Namespace: "flux-system", Name: name, Tracking: gitops.Tracking{
				Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": name}, Annotation: "argocd.argoproj.io/tracking-id",
			}},
			declared: []gitops.Declared{{Object: web(replicas)}},
		}
	}
	one, other, third := declaring("one", 2), declaring("other", 5), declaring("third", 9)
	third.declared = nil
	j := &judge{declarers: declarers([]*member{one, other, third})}
	mark := func(set, key string) gitops.Path {
		return gitops.Path{gitops.Field("metadata"), gitops.Field(set), gitops.Field(key)}
	}
	for _, c := range []struct {
		name string
		path gitops.Path
		live any
		want detect.Cause
	}{
		{"the other's value", specReplicas(), int64(5), detect.CauseContested},
		{"nobody's value", specReplicas(), int64(7), detect.CauseManual},
		{"a value of one that does not declare the object", specReplicas(), int64(9), detect.CauseManual},
		{"the other's label", mark("labels", "kustomize.toolkit.fluxcd.io/name"), "other", detect.CauseContested},
		{"another label", mark("labels", "team"), "other", detect.CauseManual},
		{"the other's tracking mark", mark("annotations", "argocd.argoproj.io/tracking-id"), "other:apps/Deployment:shop/web", detect.CauseContested},
		{"a stranger's tracking mark", mark("annotations", "argocd.argoproj.io/tracking-id"), "third:apps/Deployment:shop/web", detect.CauseManual},
	} {
		fields := []detect.Field{{Path: c.path, Live: gitops.Present(c.live), Drift: true, Cause: detect.CauseManual}}
		if j.doubled(one, web(2).ID, fields); fields[0].Cause != c.want || !fields[0].Drift {
			t.Errorf("%s: %s, want %s", c.name, fields[0].Cause, c.want)
		}
	}
}
