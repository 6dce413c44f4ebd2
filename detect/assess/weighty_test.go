package assess

import (
	"testing"

	"holdfast/detect"
	"holdfast/gitops"
)

// TestWeighty: what is never taken for admission's work on its looks alone, beside the sensitive fields.
func TestWeighty(t *testing.T) {
	const (
		service = "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}}"
		ingress = "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: shop}}"
		claim   = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: shop}}"
		config  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}"
		app     = "spec.template.spec.containers[name=app]"
	)
	workload := pod("{containers: [{name: app, image: a}]}")
	a := newAssessor(t)
	for _, c := range []struct {
		name, object, path string
		git, live          any
		want               bool
	}{
		{"addresses from outside", service, "spec.externalIPs", nil, []any{"192.0.2.1"}, true},
		{"another selector", service, "spec.selector.app", "web", "evil", true},
		{"another backend", ingress, "spec.rules[0].http.paths[0].backend.service.name", "web", "evil", true},
		{"a command", workload, app + ".command", nil, []any{"sh"}, true},
		{"a library that is loaded first", workload, app + ".env[name=LD_PRELOAD]", nil, map[string]any{"name": "LD_PRELOAD", "value": "/x"}, true},
		{"a volume of a Secret", workload, "spec.template.spec.volumes[name=s]", nil, map[string]any{"name": "s", "secret": map[string]any{"secretName": "x"}}, true},
		{"an account", workload, "spec.template.spec.serviceAccountName", nil, "cluster-admin", true},
		{"what a volume is filled from", claim, "spec.dataSource", nil, map[string]any{"kind": "VolumeSnapshot", "name": "x"}, true},

		{"a variable", workload, app + ".env[name=LEVEL]", nil, map[string]any{"name": "LEVEL", "value": "1"}, false},
		{"a volume of nothing", workload, "spec.template.spec.volumes[name=s]", nil, map[string]any{"name": "s", "emptyDir": map[string]any{}}, false},
		{"a priority", workload, "spec.template.spec.priorityClassName", nil, "low", false},
		{"resources", workload, app + ".resources.requests.cpu", "1", "2", false},
		{"a label", workload, "metadata.labels.team", nil, "a", false},
		{"a key of a ConfigMap", config, "data.a", "1", "2", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := object(t, c.object)
			path, err := gitops.ParsePath(c.path)
			if err != nil {
				t.Fatal(err)
			}
			f := detect.Field{Path: path, Live: gitops.Present(c.live)}
			if c.git != nil {
				f.Git = gitops.Present(c.git)
			}
			if got := a.Weighty(Input{Object: detect.Ref(*o), Declared: o, Live: o, Field: f}); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
