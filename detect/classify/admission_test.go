package classify

import (
	"strings"
	"testing"

	"holdfast/detect"
)

// TestWhatAdmissionExplains: sensitive fields that only the engine owns, or nobody.
func TestWhatAdmissionExplains(t *testing.T) {
	const (
		web      = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}"
		cron     = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: web, namespace: shop}}"
		pod      = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}}"
		image    = "spec.template.spec.containers[name=web].image"
		security = "spec.template.spec.securityContext.runAsNonRoot"
		digest   = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		hook     = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: h}, webhooks: [{name: h.example.com, rules: [{apiGroups: ["*"], operations: ["*"], resources: ["*/*"]}]}]}`
		label    = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: ["*"]}}]}, mutate: {patchStrategicMerge: {metadata: {labels: {+(team): x}}}}}]}}`
		secure   = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p%}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {patchStrategicMerge: {spec: {securityContext: {+(runAsNonRoot): true}}}}}]}}`
		mirror   = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Deployment]}}]}, mutate: {foreach: [{list: request.object.spec.template.spec.containers, patchStrategicMerge: {spec: {template: {spec: {containers: [{name: "{{ element.name }}", image: "mirror.example.com/{{ images.containers.name }}"}]}}}}}]}}]}}`
		jsonform = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Deployment]}}]}, mutate: {patchesJson6902: "[{op: replace, path: /spec/template/spec/containers/0/image, value: mirror.example.com/web:1}]"}}]}}`
		verify   = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, verifyImages: [{imageReferences: ["*"]}]}]}}`
		assign   = `{apiVersion: mutations.gatekeeper.sh/v1, kind: Assign, metadata: {name: a}, spec: {applyTo: [{groups: [apps], kinds: [Deployment], versions: [v1]}], location: "%", parameters: {assign: {value: ~}}}}`
		domain   = `{apiVersion: mutations.gatekeeper.sh/v1, kind: AssignImage, metadata: {name: a}, spec: {applyTo: [{groups: [apps], kinds: [Deployment], versions: [v1]}], location: "spec.template.spec.containers[name:*].image", parameters: {assignDomain: mirror.example.com}}}`
		sidecar  = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: m}, spec: {matchConstraints: {resourceRules: [{apiGroups: [apps], operations: [CREATE], resources: [deployments]}]}, mutations: [{applyConfiguration: {expression: 'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "proxy", image: "r.example.com/proxy:1"}]}}}}'}}]}}`
		patch    = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: m}, spec: {matchConstraints: {resourceRules: [{apiGroups: [apps], operations: [CREATE], resources: [deployments]}]}, mutations: [{jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec/template/spec/hostUsers", value: false}]'}}]}}`
		bound    = "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: m}}"
	)
	engine := []string{"kustomize-controller/Apply"}
	assigned := func(location, value string) string {
		return strings.NewReplacer("%", location, "~", value).Replace(assign)
	}
	autogen := func(note string) string { return strings.Replace(secure, "%", note, 1) }
	added := map[string]any{"name": "proxy", "image": "r.example.com/proxy:1"}
	rules := loadRules(t)
	for _, c := range []struct {
		name    string
		live    string
		around  []string
		path    string
		was, is any
		owners  []string
		quiet   bool
		reason  string
	}{
		{name: "a webhook that is asked about everything", around: []string{hook}, path: image, was: "r.example.com/web:1", is: "evil.example.com/x", owners: engine, reason: "imageRewrites"},
		{name: "a webhook and another registry", around: []string{hook}, path: image, was: "r.example.com/web:1", is: "evil.example.com/web:1", owners: engine},
		{name: "a webhook that pins the tag by its digest", around: []string{hook}, path: image, was: "web:1", is: "docker.io/library/web:1" + digest, owners: engine, quiet: true, reason: "pins a tag"},
		{name: "a digest of another repository", around: []string{hook}, path: image, was: "web:1", is: "docker.io/library/other:1" + digest, owners: engine},
		{name: "a digest in place of another", around: []string{hook}, path: image, was: "web" + strings.Replace(digest, "0", "1", 1), is: "web" + digest, owners: engine},
		{name: "a digest where no webhook is asked", path: image, was: "web:1", is: "web:1" + digest, owners: engine},
		{name: "a webhook and a setting that takes rights away", around: []string{hook}, path: security, is: true, quiet: true},
		{name: "a webhook and a privileged container", around: []string{hook}, path: "spec.template.spec.containers[name=web].securityContext", is: map[string]any{"privileged": true, "runAsNonRoot": true}},
		{name: "a webhook that completes a Pod", live: pod, around: []string{hook}, path: "spec.containers[name=proxy]", is: added, quiet: true},
		{name: "an ephemeral container, which a person can add", live: pod, around: []string{hook}, path: "spec.ephemeralContainers[name=proxy]", is: added},
		{name: "a webhook and a role", live: "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web, namespace: shop}}", around: []string{hook}, path: "rules", was: []any{"a"}, is: []any{"b"}, owners: engine},
		{name: "a policy that names the field of a role", live: "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web, namespace: shop}}",
			around: []string{`{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Role]}}]}, mutate: {patchStrategicMerge: {rules: [b]}}}]}}`}, path: "rules", was: []any{"a"}, is: []any{"b"}, owners: engine},
		{name: "a policy that names the key of a Secret", live: "{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: shop}}",
			around: []string{`{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, mutate: {patchStrategicMerge: {data: {a: b}}}}]}}`}, path: "data.a", was: "a", is: "b", owners: engine},

		{name: "a policy that adds a label", around: []string{label}, path: image, was: "web:1", is: "evil:1", owners: engine, reason: "sets no such value"},
		{name: "a policy about Pods, carried over to Deployments", around: []string{autogen("")}, path: security, is: true, quiet: true, reason: "rule r sets it"},
		{name: "and to CronJobs", live: cron, around: []string{autogen("")}, path: "spec.jobTemplate.spec.template.spec.securityContext.runAsNonRoot", is: true, quiet: true},
		{name: "a policy that is carried over to none", around: []string{autogen(", annotations: {pod-policies.kyverno.io/autogen-controllers: none}")}, path: security, is: true},
		{name: "a policy that is carried over to others", around: []string{autogen(", annotations: {pod-policies.kyverno.io/autogen-controllers: 'CronJob,Job'}")}, path: security, is: true},
		{name: "another value than the policy's", around: []string{autogen("")}, path: security, is: false},
		{name: "what a policy sets only where nothing is", around: []string{autogen("")}, path: security, was: false, is: true, owners: engine},
		{name: "more than the policy sets", around: []string{autogen("")}, path: "spec.template.spec.securityContext", is: map[string]any{"runAsNonRoot": true, "runAsUser": int64(0)}},
		{name: "a policy that computes a mirror's image", around: []string{mirror}, path: image, was: "r.example.com/web:1", is: "mirror.example.com/web:1", owners: engine, quiet: true},
		{name: "a computed image that is another program", around: []string{mirror}, path: image, was: "r.example.com/web:1", is: "mirror.example.com/evil:1", owners: engine},
		{name: "a policy by JSON patch", around: []string{jsonform}, path: image, was: "web:1", is: "mirror.example.com/web:1", owners: engine, quiet: true},
		{name: "a policy by JSON patch and another image", around: []string{jsonform}, path: image, was: "web:1", is: "evil.example.com/web:1", owners: engine},
		{name: "a policy that verifies and pins", around: []string{verify}, path: image, was: "web:1", is: "web:1" + digest, owners: engine, quiet: true},
		{name: "a policy that verifies and another image", around: []string{verify}, path: image, was: "web:1", is: "evil:1" + digest, owners: engine},

		{name: "a mutator of this field", around: []string{assigned("spec.template.spec.securityContext.runAsNonRoot", "true")}, path: security, is: true, quiet: true},
		{name: "a mutator of another field", around: []string{assigned("spec.template.spec.priorityClassName", "low")}, path: security, is: true},
		{name: "a mutator of one container", around: []string{assigned("spec.template.spec.containers[name: side].image", "a:1")}, path: image, was: "b:1", is: "a:1", owners: engine},
		{name: "a mutator of all containers", around: []string{assigned("spec.template.spec.containers[name:*].image", "a:1")}, path: image, was: "b:1", is: "a:1", owners: engine, quiet: true},
		{name: "a mutator of the registry", around: []string{domain}, path: image, was: "r.example.com/web:1", is: "mirror.example.com/web:1", owners: engine, quiet: true},
		{name: "a mutator of the registry and another tag", around: []string{domain}, path: image, was: "r.example.com/web:1", is: "mirror.example.com/web:2", owners: engine},

		{name: "a bound policy that adds this container", around: []string{sidecar, bound}, path: "spec.template.spec.containers[name=proxy]", is: added, quiet: true},
		{name: "a policy that nothing binds", around: []string{sidecar}, path: "spec.template.spec.containers[name=proxy]", is: added},
		{name: "a bound policy and another image", around: []string{sidecar, bound}, path: "spec.template.spec.containers[name=proxy]", is: map[string]any{"name": "proxy", "image": "evil:1"}},
		{name: "a bound policy that patches this field", around: []string{patch, bound}, path: "spec.template.spec.hostUsers", is: false, quiet: true},
		{name: "a bound policy that patches another field", around: []string{patch, bound}, path: "spec.template.spec.hostPID", is: false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.live == "" {
				c.live = web
			}
			got := cell{git: c.live, live: c.live, around: c.around, path: c.path, was: c.was, is: c.is, owners: c.owners, sensitive: true}.run(t, rules)
			want := detect.CauseUnknown
			if c.quiet {
				want = detect.CauseAdmission
			}
			if got.Cause != want || got.Drift == c.quiet || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("got %s, drift %v (%s)", got.Cause, got.Drift, got.Reason)
			}
		})
	}
}

// TestWeightyFields: what is not sensitive is taken for admission's work unless it weighs too much.
func TestWeightyFields(t *testing.T) {
	rules := loadRules(t)
	for _, c := range []struct {
		name   string
		was    any
		owners []string
		weighs bool
		cause  detect.Cause
	}{
		{"added, of little weight", nil, nil, false, detect.CauseAdmission},
		{"added, of weight", nil, nil, true, detect.CauseUnknown},
		{"changed, of little weight", "a", []string{"kustomize-controller/Apply"}, false, detect.CauseAdmission},
		{"changed, of weight", "a", []string{"kustomize-controller/Apply"}, true, detect.CauseUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := cell{live: withEngine, path: "spec.x", was: c.was, is: "b", owners: c.owners, weighty: c.weighs}.run(t, rules)
			if got.Cause != c.cause || got.Drift != c.weighs {
				t.Errorf("got %s, drift %v (%s)", got.Cause, got.Drift, got.Reason)
			}
		})
	}
}
