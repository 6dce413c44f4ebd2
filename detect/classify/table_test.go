package classify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/gitops"
)

const (
	early = "2026-03-02T09:00:00Z"
	late  = "2026-03-05T02:00:00Z"
)

func loadRules(t *testing.T) *Rules {
	t.Helper()
	rules, err := LoadRules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// object reads one object from YAML.
func object(t *testing.T, text string) gitops.Object {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return gitops.NewObject(content)
}

// owner makes an owner from "manager", "manager/Operation" or "manager/Operation/subresource"; a | is a slash.
func owner(text, at string) detect.Writer {
	parts := strings.Split(text+"//", "/")
	w := detect.Writer{Manager: strings.ReplaceAll(parts[0], "|", "/"), Operation: parts[1], Subresource: parts[2]}
	if w.Operation == "" {
		w.Operation = "Update"
	}
	w.Time, _ = time.Parse(time.RFC3339, at)
	return w
}

func value(v any) gitops.Value {
	if v == nil {
		return gitops.Value{}
	}
	return gitops.Present(v)
}

// cell is one cell of value x owners, and the answer to it.
type cell struct {
	name string
	// git and live are objects in YAML; without them, a ConfigMap shop/web without marks.
	git, live string
	// older are earlier forms in Git; around are other live objects.
	older, around []string
	path          string
	was, is       any
	kind          detect.DifferenceKind
	owners        []string // newest first; all late, but those that begin with "early "
	sensitive     bool
	weighty       bool
	absent        []gitops.ObjectID // known not to be there
	app           func(*gitops.Application)
	rewrites      []ImageRewrite
	ignore        []IgnoreRule

	cause  detect.Cause
	drift  bool
	writer string // manager and confidence, "" when none is given
	reason string // a part of it
}

func (c cell) run(t *testing.T, rules *Rules) detect.Field {
	t.Helper()
	const plain = "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}"
	if c.git == "" {
		c.git = plain
	}
	if c.live == "" {
		c.live = plain
	}
	var around []gitops.Object
	for _, text := range c.around {
		around = append(around, object(t, text))
	}
	live := object(t, c.live)
	facts := NewFacts(append(around, live), rules)
	facts.Sensitive = func(detect.ObjectRef, gitops.Path, gitops.Value, gitops.Value) bool { return c.sensitive }
	facts.Weighty = func(Subject, gitops.Path, gitops.Value, gitops.Value) bool { return c.weighty }
	facts.Find = func(id gitops.ObjectID) (gitops.Object, bool) {
		i := slices.IndexFunc(around, func(o gitops.Object) bool { return o.ID == id })
		if i < 0 {
			return gitops.Object{}, false
		}
		return around[i], true
	}
	facts.Absent = func(id gitops.ObjectID) bool { return slices.Contains(c.absent, id) }
	facts.ImageRewrites = c.rewrites
	path, err := gitops.ParsePath(c.path)
	if err != nil {
		t.Fatal(err)
	}
	diff := detect.Difference{Path: path, Git: value(c.was), Live: value(c.is), Kind: c.kind, Differs: true}
	if diff.Kind == "" {
		switch {
		case c.was == nil:
			diff.Kind = detect.Added
		case c.is == nil:
			diff.Kind = detect.Removed
		default:
			diff.Kind = detect.Changed
		}
	}
	switch c.kind {
	case detect.Spelling, detect.Defaulted, detect.ServerSet:
		diff.Differs = false
	}
	for _, text := range c.owners {
		at := late
		if rest, ok := strings.CutPrefix(text, "early "); ok {
			text, at = rest, early
		}
		diff.Owners = append(diff.Owners, owner(text, at))
	}
	app := gitops.Application{
		Name: "shop", Namespace: "flux-system", Engine: gitops.Flux, Ready: true,
		Managers: []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}},
	}
	if c.app != nil {
		c.app(&app)
	}
	s := Subject{App: app, Declared: &gitops.Declared{Object: object(t, c.git)}, Live: &live, Ignore: c.ignore}
	if c.older != nil {
		s.History = func() []gitops.Object {
			var out []gitops.Object
			for _, text := range c.older {
				out = append(out, object(t, text))
			}
			return out
		}
	}
	fields := facts.Fields(s, []detect.Difference{diff})
	if len(fields) != 1 {
		t.Fatalf("got %d fields, want one", len(fields))
	}
	return fields[0]
}

func (c cell) check(t *testing.T, rules *Rules) {
	t.Helper()
	got := c.run(t, rules)
	writer := ""
	if got.Writer != nil {
		writer = strings.TrimSpace(got.Writer.Manager + " " + string(got.Writer.Confidence))
	}
	if got.Cause != c.cause || got.Drift != c.drift || c.writer != "" && writer != c.writer {
		t.Errorf("got %s, drift %v, writer %q; want %s, %v, %q\n%s", got.Cause, got.Drift, writer, c.cause, c.drift, c.writer, got.Reason)
	}
	if got.Reason == "" || !strings.Contains(got.Reason, c.reason) {
		t.Errorf("reason %q, want it to say %q", got.Reason, c.reason)
	}
}

func argo(app *gitops.Application) {
	app.Engine = gitops.ArgoCD
	app.Managers = []gitops.Manager{{Name: "argocd-controller", Operation: "Update"}, {Name: "argocd-controller", Operation: "Apply"}}
	app.Tracking.Annotation = argoTrackingKey
}

// withEngine is a live ConfigMap whose engine applied early.
const withEngine = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, managedFields: [
  {manager: kustomize-controller, operation: Apply, time: "2026-03-03T09:00:00Z", fieldsV1: {"f:data": {}}}]}}`

func TestDecisionTable(t *testing.T) {
	older := []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}, data: {size: "2"}}`}
	const applied = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop,
	  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"old":"1"}}'},
	  managedFields: [{manager: kustomize-controller, operation: Apply, time: "2026-03-03T09:00:00Z", fieldsV1: {}}]}}`
	rules := loadRules(t)
	for _, c := range []cell{
		{name: "another spelling of the same value is no drift", path: "data.size", was: "4", is: "4.0", kind: detect.Spelling, owners: []string{"kubectl-edit"},
			cause: detect.CauseAPI},
		{name: "a default is no drift whoever owns it", path: "spec.paused", is: false, kind: detect.Defaulted, owners: []string{"kubectl-edit"},
			cause: detect.CauseAPI},
		{name: "a field that the schema does not know never arrives", path: "spec.typo", was: "x", kind: detect.UnknownField,
			cause: detect.CauseAPI, drift: true, reason: "Correct Git"},
		{name: "an entry that repeats a key past Git is its writer's", path: "spec.env[1]", is: map[string]any{"name": "A"}, kind: detect.RepeatedKeys, owners: []string{"kubectl-patch"},
			cause: detect.CauseManual, drift: true, writer: "kubectl-patch manager", reason: "repeated it past Git"},
		{name: "repeated merge keys never arrive, even under a person's name", path: "spec.env[0].value", was: "1", is: "2", kind: detect.RepeatedKeys, owners: []string{"kubectl-edit"},
			cause: detect.CauseAPI, drift: true},

		{name: "a person changed a declared field", path: "data.size", was: "4", is: "5", owners: []string{"kubectl-edit"},
			cause: detect.CauseManual, drift: true, writer: "kubectl-edit manager"},
		{name: "the latest of two people is the writer", path: "data.size", was: "4", is: "5", owners: []string{"node-fetch", "early kubectl-edit"},
			cause: detect.CauseManual, drift: true, writer: "node-fetch manager"},
		{name: "a person beside the engine is the writer", path: "data.size", was: "4", is: "5", owners: []string{"early kustomize-controller/Apply", "kubectl-edit"},
			cause: detect.CauseManual, drift: true, writer: "kubectl-edit manager"},
		{name: "a name that nobody knows counts as a tool", path: "data.size", was: "4", is: "5", owners: []string{"tuner"},
			cause: detect.CauseManual, drift: true, writer: "tuner manager"},
		{name: "the engine's name with another operation is borrowed", path: "data.size", was: "4", is: "5", owners: []string{"kustomize-controller/Update"},
			cause: detect.CauseManual, drift: true, writer: "kustomize-controller manager", reason: "borrowed"},
		{name: "the engine's name through a subresource is borrowed", path: "data.size", was: "4", is: "5", owners: []string{"kustomize-controller/Apply/status"},
			cause: detect.CauseManual, drift: true, reason: "borrowed"},
		{name: "another engine is a second authority", path: "data.size", was: "4", is: "5", owners: []string{"argocd-controller"},
			cause: detect.CauseManual, drift: true, writer: "argocd-controller manager", reason: "another GitOps engine"},
		{name: "a built-in controller outside its rules proves nothing", path: "data.size", was: "4", is: "5", owners: []string{"kube-controller-manager"},
			cause: detect.CauseManual, drift: true, writer: "kube-controller-manager manager"},

		{name: "a person added a field", path: "data.new", is: "1", owners: []string{"kubectl-edit"},
			cause: detect.CauseManual, drift: true, writer: "kubectl-edit manager"},
		{name: "a person owns a field that an earlier revision declared", path: "data.size", is: "2", owners: []string{"kubectl-edit"}, older: older,
			cause: detect.CauseOrphaned, drift: true, writer: "kubectl-edit manager", reason: "earlier revision"},
		{name: "an old client-side apply left it, and last-applied says so", live: applied, path: "data.old", is: "1", owners: []string{"early kubectl-client-side-apply"},
			cause: detect.CauseOrphaned, drift: true, reason: "last-applied"},
		{name: "an old client-side apply left it without a note", live: withEngine, path: "data.old", is: "1", owners: []string{"early kubectl-client-side-apply"},
			cause: detect.CauseOrphaned, drift: true, reason: "before the engine"},
		{name: "a kubectl apply after the engine's own is an addition", live: applied, path: "data.old", is: "1", owners: []string{"kubectl-client-side-apply"},
			cause: detect.CauseManual, drift: true},
		{name: "the engine left it over", path: "data.gone", is: "1", owners: []string{"kustomize-controller/Apply"},
			cause: detect.CauseOrphaned, drift: true, writer: "kustomize-controller manager"},
		{name: "it was there before the first server-side apply", path: "data.first", is: "1", owners: []string{"before-first-apply"},
			cause: detect.CauseOrphaned, drift: true, writer: "before-first-apply unresolved"},
		{name: "who wrote it was folded away", path: "data.size", was: "4", is: "5", owners: []string{"ancient-changes"},
			cause: detect.CauseManual, drift: true, writer: "ancient-changes unresolved"},
		{name: "folded away under an engine that updates, it may be anybody's", path: "data.size", was: "4", is: "5", owners: []string{"ancient-changes"}, app: argo,
			cause: detect.CauseUnknown, drift: true},

		{name: "a removal leaves no trace", path: "data.size", was: "4", owners: []string{"kustomize-controller/Apply"},
			cause: detect.CauseManual, drift: true, writer: "unresolved", reason: "no trace"},
		{name: "a reorder of a keyed list leaves no trace", path: "spec.initContainers", was: []any{"a", "b"}, is: []any{"b", "a"}, kind: detect.Reordered, owners: []string{"kustomize-controller/Apply"},
			cause: detect.CauseManual, drift: true, writer: "unresolved"},
		{name: "a reorder of an atomic list has its writer", path: "spec.args", was: []any{"a", "b"}, is: []any{"b", "a"}, kind: detect.Reordered, owners: []string{"kubectl-patch"},
			cause: detect.CauseManual, drift: true, writer: "kubectl-patch manager", reason: "order"},

		{name: "an immutable field under the engine's name can never arrive", path: "roleRef.name", was: "b", is: "a", owners: []string{"kustomize-controller/Apply"}, sensitive: true,
			git:   "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web, namespace: shop}}",
			live:  "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web, namespace: shop}}",
			cause: detect.CauseAPI, drift: true, reason: "refuses"},
		{name: "data of an immutable ConfigMap can never arrive", path: "data.size", was: "4", is: "5", owners: []string{"kustomize-controller/Apply"},
			live:  "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}, immutable: true}",
			cause: detect.CauseAPI, drift: true},
		{name: "a part of a StatefulSet that can be changed is not immutable", path: "spec.minReadySeconds", was: "4", is: "5", owners: []string{"kustomize-controller/Apply"}, sensitive: true,
			live:  "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: shop}}",
			cause: detect.CauseUnknown, drift: true},
		{name: "an earlier value under the engine's name was not corrected", path: "data.size", was: "4", is: "2", owners: []string{"kustomize-controller/Apply"}, older: older,
			cause: detect.CausePending, drift: true, reason: "did not correct"},
		{name: "a suspended Application says so", path: "data.size", was: "4", is: "2", owners: []string{"kustomize-controller/Apply"}, older: older,
			app:   func(a *gitops.Application) { a.Suspended = true },
			cause: detect.CausePending, drift: true, reason: "suspended"},
		{name: "without an engine an earlier value is not deployed yet", path: "data.size", was: "4", is: "2", owners: []string{"kustomize-controller/Apply"}, older: older,
			app:   func(a *gitops.Application) { a.Engine = gitops.None },
			cause: detect.CausePending, drift: false, reason: "ahead"},
		{name: "a failed apply says so", path: "data.size", was: "4", is: "2", owners: []string{"kustomize-controller/Apply"}, older: older,
			app:   func(a *gitops.Application) { a.Ready, a.Message = false, "boom" },
			cause: detect.CausePending, drift: true, reason: "did not succeed"},

		{name: "an Update under Flux's name alone is nobody's but a person's", path: "data.size", was: "4", is: "5", owners: []string{"kustomize-controller/Update"},
			app: func(a *gitops.Application) {
				a.Managers = []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}, {Name: "kustomize-controller", Operation: "Update"}}
			},
			live:  "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, managedFields: [{manager: kustomize-controller, operation: Update, fieldsV1: {'f:data': {}}}]}}",
			cause: detect.CauseManual, drift: true, writer: "kustomize-controller manager", reason: "borrowed"},
		{name: "broken managedFields are no stripped ones", path: "data.size", was: "4", is: "5",
			live:  "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, managedFields: [{manager: x, operation: Apply, fieldsType: FieldsV1, fieldsV1: '{{{'}]}}",
			cause: detect.CauseUnknown, drift: true, writer: "unresolved", reason: "broken"},
		{name: "managedFields of a form that is not known are no stripped ones", path: "data.size", was: "4", is: "5",
			live:  "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, managedFields: [{manager: x, operation: Apply, fieldsType: FieldsV7, fieldsV1: {'f:data': {}}}]}}",
			cause: detect.CauseUnknown, drift: true, writer: "unresolved", reason: "not known"},
		{name: "what admission changes stays with the engine", path: "data.size", was: "4", is: "5", owners: []string{"kustomize-controller/Apply"},
			cause: detect.CauseAdmission, writer: "inferred"},
		{name: "a sensitive field under the engine's name is not excused", path: "data.size", was: "4", is: "5", owners: []string{"kustomize-controller/Apply"}, sensitive: true,
			cause: detect.CauseUnknown, drift: true, writer: "unresolved"},
		{name: "a declared field without an owner was stripped", live: withEngine, path: "data.size", was: "4", is: "5",
			cause: detect.CauseUnknown, drift: true, writer: "unresolved", reason: "stripped"},
		{name: "without managedFields nothing can be told", path: "data.size", was: "4", is: "5",
			cause: detect.CauseUnknown, drift: true, reason: "--show-managed-fields"},
		{name: "without managedFields nothing can be told of an undeclared field either", path: "data.new", is: "5",
			cause: detect.CauseUnknown, drift: true, writer: "unresolved", reason: "--show-managed-fields"},
		{name: "an undeclared field without an owner is admission's", live: withEngine, path: "data.new", is: "5",
			cause: detect.CauseAdmission, writer: "inferred"},
		{name: "a sensitive undeclared field without an owner is not excused", path: "data.new", is: "5", sensitive: true,
			cause: detect.CauseUnknown, drift: true, writer: "unresolved"},

		{name: "an image rewrite that the policy names is admission's", path: "spec.containers[name=a].image", was: "nginx:1", is: "mirror.example.com/library/nginx:1", owners: []string{"kustomize-controller/Apply"}, sensitive: true,
			rewrites: []ImageRewrite{{From: "docker.io/", To: "mirror.example.com/"}},
			cause:    detect.CauseAdmission},
		{name: "another tag behind the same rewrite is drift", path: "spec.containers[name=a].image", was: "nginx:1", is: "mirror.example.com/library/nginx:2", owners: []string{"kubectl-set"}, sensitive: true,
			rewrites: []ImageRewrite{{From: "docker.io/", To: "mirror.example.com/"}},
			cause:    detect.CauseManual, drift: true},

		{name: "the engine's ignore rule keeps the cause and ends the drift", path: "data.size", was: "4", is: "5", owners: []string{"kubectl-edit"},
			ignore: []IgnoreRule{{Name: "spec.ignore[0]", Pointers: []string{"/data/size"}}},
			cause:  detect.CauseManual, writer: "kubectl-edit manager", reason: "spec.ignore[0]"},
		{name: "an ignore rule for another object does not count", path: "data.size", was: "4", is: "5", owners: []string{"kubectl-edit"},
			ignore: []IgnoreRule{{Name: "r", Pointers: []string{"/data"}, Target: &gitops.PatchTarget{Kind: "Secret"}}},
			cause:  detect.CauseManual, drift: true},
		{name: "an ignore rule for a neighbour does not count", path: "data.size", was: "4", is: "5", owners: []string{"kubectl-edit"},
			ignore: []IgnoreRule{{Name: "r", Pointers: []string{"/data/siz"}}},
			cause:  detect.CauseManual, drift: true},
		{name: "an ignore rule that names the manager makes it a controller's", path: "data.size", was: "4", is: "5", owners: []string{"rightsizer"},
			ignore: []IgnoreRule{{Name: "r", Managers: []string{"rightsizer"}}},
			cause:  detect.CauseController, writer: "rightsizer manager"},
		{name: "an ignore rule selects a path by a query", path: "spec.list[name=b].cpu", was: "4", is: "5", owners: []string{"kubectl-edit"},
			git:  "{apiVersion: x.io/v1, kind: X, metadata: {name: web}, spec: {list: [{name: a, cpu: '1'}, {name: b, cpu: '4'}]}}",
			live: "{apiVersion: x.io/v1, kind: X, metadata: {name: web}, spec: {list: [{name: b, cpu: '5'}, {name: a, cpu: '1'}]}}",
			ignore: []IgnoreRule{{Name: "r", Select: func(map[string]any) []gitops.Path {
				return []gitops.Path{{gitops.Field("spec"), gitops.Field("list"), gitops.Entry(gitops.Key{Name: "name", Value: "b"})}}
			}}},
			cause: detect.CauseManual},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, rules) })
	}
}

// TestRowsHaveNames: a row is told from another by its name.
func TestRowsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for i, row := range decisionTable() {
		if row.name == "" || seen[row.name] {
			t.Errorf("row %d: the name %q is empty or used twice", i, row.name)
		}
		seen[row.name] = true
	}
}

// TestReplicas: autoscaling is proven, not assumed.
func TestReplicas(t *testing.T) {
	const web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}"
	hpa := func(spec string) []string {
		return []string{fmt.Sprintf("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: shop}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, %s}}", spec)}
	}
	keda := func(marks, spec string) []string {
		return []string{fmt.Sprintf("{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: web, namespace: shop, annotations: {%s}}, spec: {scaleTargetRef: {name: web}, %s}}", marks, spec)}
	}
	scale := []string{"kube-controller-manager/Update/scale"}
	rules := loadRules(t)
	for _, c := range []cell{
		{name: "the autoscaler wrote a count within its bounds", was: 3, is: 7, owners: scale, around: hpa("minReplicas: 2, maxReplicas: 10"),
			cause: detect.CauseAutoscaler, writer: "kube-controller-manager manager", reason: "take replicas out of Git"},
		{name: "an autoscaler's name that did not write the scale subresource is nothing", was: 3, is: 7, owners: []string{"kube-controller-manager"}, around: hpa("minReplicas: 2, maxReplicas: 10"),
			cause: detect.CauseManual, drift: true, reason: "scale subresource"},
		{name: "an unowned count within the bounds is inferred", is: 5, around: hpa("minReplicas: 2, maxReplicas: 6"),
			cause: detect.CauseAutoscaler, writer: "inferred"},
		{name: "the minimum is 1 where none is given", was: 3, is: 1, owners: scale, around: hpa("maxReplicas: 10"),
			cause: detect.CauseAutoscaler},
		{name: "a count outside the bounds is nobody's excuse", was: 3, is: 12, owners: scale, around: hpa("minReplicas: 2, maxReplicas: 10"),
			cause: detect.CauseManual, drift: true, reason: "outside 2 to 10"},
		{name: "a person's count is manual, also within the bounds", was: 3, is: 7, owners: []string{"kubectl/Update/scale"}, around: hpa("minReplicas: 2, maxReplicas: 10"),
			cause: detect.CauseManual, drift: true, writer: "kubectl manager"},
		{name: "an autoscaler's name without an autoscaler is nothing", was: 3, is: 7, owners: scale,
			cause: detect.CauseManual, drift: true, reason: "No autoscaler"},
		{name: "an autoscaler of another Deployment explains nothing", was: 3, is: 7, owners: scale,
			around: []string{"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: shop}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}, maxReplicas: 10}}"},
			cause:  detect.CauseManual, drift: true},
		{name: "an autoscaler in another namespace explains nothing", was: 3, is: 7, owners: scale,
			around: []string{"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: other}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 10}}"},
			cause:  detect.CauseManual, drift: true},
		{name: "scaling by hand what Git leaves open leaves no owner", is: 2,
			cause: detect.CauseManual, drift: true, writer: "unresolved"},
		{name: "a declared count without an owner was stripped", was: 1, is: 2,
			cause: detect.CauseUnknown, drift: true},
		{name: "KEDA scales to zero by design", was: 1, is: 0, around: keda("", "minReplicaCount: 0, maxReplicaCount: 4"),
			cause: detect.CauseAutoscaler},
		{name: "KEDA scales to its idle count", was: 1, is: 0, owners: []string{"keda/Update/scale"}, around: keda("", "minReplicaCount: 2, idleReplicaCount: 0"),
			cause: detect.CauseAutoscaler, writer: "keda manager"},
		{name: "a paused ScaledObject holds its count", is: 0, around: keda(`autoscaling.keda.sh/paused-replicas: "0"`, "minReplicaCount: 1, maxReplicaCount: 5"),
			cause: detect.CauseAutoscaler, reason: "act on the pause"},
		{name: "a paused ScaledObject explains no other count", is: 3, around: keda(`autoscaling.keda.sh/paused-replicas: "0"`, "minReplicaCount: 1, maxReplicaCount: 5"),
			cause: detect.CauseManual, drift: true},
		{name: "Flagger keeps its target at zero", was: 2, is: 0, owners: []string{"flagger"},
			around: []string{"{apiVersion: flagger.app/v1beta1, kind: Canary, metadata: {name: web, namespace: shop}, spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"},
			cause:  detect.CauseController},
		{name: "a Rollout scales down the Deployment it runs", was: 2, is: 0, owners: []string{"rollouts-controller"},
			around: []string{"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: r, namespace: shop}, spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"},
			cause:  detect.CauseController},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.path, c.git, c.live = "spec.replicas", web, web
			if n, ok := c.was.(int); ok {
				c.was = int64(n)
			}
			c.is = int64(c.is.(int))
			c.check(t, rules)
		})
	}
}
