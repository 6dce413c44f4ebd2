package guard_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast/bot/guard"
	"holdfast/detect/audit"
	"holdfast/gitops"
)

// cluster makes a cluster of YAML documents.
func cluster(t *testing.T, documents ...string) guard.Cluster {
	t.Helper()
	var objects []gitops.Object
	for _, text := range documents {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, gitops.NewObject(content))
	}
	return guard.Cluster{Name: "north", Objects: func() iter.Seq[gitops.Object] { return slices.Values(objects) }}
}

const (
	everythingRole = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: all}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}"
	webOfFlux      = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop}}}"
	webOfArgoCD    = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/Deployment:shop/web'}}}"
	chartsOwnLabel = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: shop, labels: {app.kubernetes.io/instance: shop}}}"
)

func bound(name, kind, namespace, subject string) string {
	s := "{kind: " + kind + ", name: '" + subject + "'}"
	if account, ok := strings.CutPrefix(subject, "sa "); ok {
		in, name, _ := strings.Cut(account, "/")
		s = "{kind: ServiceAccount, namespace: " + in + ", name: " + name + "}"
	}
	if namespace == "" {
		return "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: " + name + "}, roleRef: {kind: ClusterRole, name: all}, subjects: [" + s + "]}"
	}
	return "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: " + name + ", namespace: " + namespace + "}, roleRef: {kind: ClusterRole, name: all}, subjects: [" + s + "]}"
}

func assess(t *testing.T, c guard.Cluster, o guard.Options) guard.Result {
	t.Helper()
	r, err := guard.Assess(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWhichAccountsAreEngines(t *testing.T) {
	cases := []struct {
		name      string
		documents []string
		options   guard.Options
		want      []string
	}{
		{"in its usual namespace", []string{webOfFlux, bound("b", "", "flux-system", "sa flux-system/kustomize-controller")}, guard.Options{}, []string{"ServiceAccount flux-system/kustomize-controller"}},
		{"elsewhere, where an administrator bound it in the whole cluster", []string{webOfFlux, bound("b", "", "", "sa gitops/helm-controller")}, guard.Options{}, []string{"ServiceAccount gitops/helm-controller"}},
		{"an account of that name that a tenant made", []string{webOfFlux, bound("b", "", "tenant", "sa tenant/kustomize-controller")}, guard.Options{}, nil},
		{"of an engine that is not in use", []string{webOfArgoCD, bound("b", "", "", "sa flux-system/kustomize-controller")}, guard.Options{}, nil},
		{"Argo CD's", []string{webOfArgoCD, bound("b", "", "", "sa argocd/argocd-application-controller"), bound("c", "", "", "sa argocd/argocd-server")}, guard.Options{}, []string{"ServiceAccount argocd/argocd-application-controller"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, a := range assess(t, cluster(t, append(c.documents, everythingRole)...), c.options).Accounts {
				got = append(got, a.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheAccountThatAnEngineActsAs(t *testing.T) {
	c := cluster(t, webOfFlux, everythingRole)
	c.Engines = []gitops.Object{manifest(t, "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: shop, namespace: shop}, spec: {serviceAccountName: deployer}}").Object,
		manifest(t, "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: p, namespace: argocd}, spec: {destinationServiceAccounts: [{namespace: till, defaultServiceAccount: till-deployer}, {namespace: '*', defaultServiceAccount: any}, {namespace: x, defaultServiceAccount: 'y:z'}]}}").Object}
	var got []string
	for _, a := range assess(t, c, guard.Options{}).Accounts {
		got = append(got, a.String())
	}
	if diff := cmp.Diff([]string{"ServiceAccount shop/deployer", "ServiceAccount till/till-deployer", "ServiceAccount y/z"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsManaged(t *testing.T) {
	argo := func(t gitops.Tracking) []gitops.Application {
		return []gitops.Application{{Engine: gitops.ArgoCD, Name: "shop", Namespace: "argocd", Kind: "Application", Tracking: t}}
	}
	label := map[string]string{"app.kubernetes.io/instance": "shop"}
	cases := []struct {
		name     string
		tracking gitops.Tracking
		want     int
	}{
		{"by annotation a chart's label says nothing", gitops.Tracking{Annotation: "argocd.argoproj.io/tracking-id"}, 1},
		{"where it is left open, the objects tell that it is the annotation", gitops.Tracking{Annotation: "argocd.argoproj.io/tracking-id", Labels: label}, 1},
		{"by label, beside annotations that are there", gitops.Tracking{Labels: label}, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := cluster(t, webOfArgoCD, chartsOwnLabel, everythingRole)
			in.Applications = argo(c.tracking)
			if got := assess(t, in, guard.Options{}).Objects; got != c.want {
				t.Errorf("%d objects, want %d", got, c.want)
			}
		})
	}
	copies := cluster(t, webOfFlux, "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-x, namespace: shop, labels: {kustomize.toolkit.fluxcd.io/name: shop}}}", everythingRole)
	if got := assess(t, copies, guard.Options{}).Objects; got != 1 {
		t.Errorf("%d objects: a controller copied the label of what it follows", got)
	}
}

func TestStrictLetsOnlyThoseThroughThatCanWrite(t *testing.T) {
	c := cluster(t, webOfFlux, everythingRole, bound("flux", "", "", "sa flux-system/kustomize-controller"), bound("inject", "", "shop", "sa cert-manager/cainjector"), bound("idle", "", "elsewhere", "sa elsewhere/idle"))
	text, err := guard.YAML(assess(t, c, guard.Options{Strict: true}).Manifests)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"system:serviceaccount:flux-system:kustomize-controller": true, "system:serviceaccount:cert-manager:cainjector": true, "system:serviceaccount:elsewhere:idle": false} {
		if strings.Contains(string(text), "'"+name+"'") != want {
			t.Errorf("%s is let through: %v, want %v", name, !want, want)
		}
	}
}

func TestWhoDid(t *testing.T) {
	const events = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"1","stage":"ResponseComplete","verb":"patch","user":{"username":"alice","groups":["sre"]},"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","subresource":"scale"},"responseStatus":{"code":200},"stageTimestamp":"2026-03-01T02:00:00Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"2","stage":"ResponseComplete","verb":"patch","user":{"username":"alice","groups":["sre"]},"objectRef":{"resource":"deployments","namespace":"shop","name":"other","apiGroup":"apps"},"responseStatus":{"code":200},"stageTimestamp":"2026-03-01T02:00:01Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"3","stage":"ResponseComplete","verb":"delete","user":{"username":"carol","groups":["gone"]},"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps"},"responseStatus":{"code":200},"stageTimestamp":"2026-03-01T02:00:02Z"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"4","stage":"ResponseComplete","verb":"patch","user":{"username":"system:serviceaccount:flux-system:kustomize-controller"},"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps"},"responseStatus":{"code":200},"stageTimestamp":"2026-03-01T02:00:03Z"}
`
	log, err := audit.Decode(strings.NewReader(strings.ReplaceAll(events, "carol", "bob")))
	if err != nil {
		t.Fatal(err)
	}
	c := cluster(t, webOfFlux, everythingRole, bound("sre", "Group", "", "sre"), bound("unused", "Group", "", "unused"), bound("flux", "", "", "sa flux-system/kustomize-controller"))
	c.Audit = log
	r := assess(t, c, guard.Options{})
	type did struct {
		User, Sort string
		Writes     int
		Verbs, By  []string
	}
	var got []did
	for _, a := range r.Actors {
		got = append(got, did{a.User, string(a.Sort), a.Writes, a.Verbs, a.By})
	}
	want := []did{
		{"alice", "person", 1, []string{"patch/scale"}, []string{"Group sre"}},
		{"bob", "person", 1, []string{"delete"}, nil},
		{"system:serviceaccount:flux-system:kustomize-controller", "engine", 1, []string{"patch"}, []string{"ServiceAccount flux-system/kustomize-controller"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	seen := map[string]int{}
	for _, f := range r.Findings {
		seen[f.Subject.Name] = f.Seen.Writes
	}
	if diff := cmp.Diff(map[string]int{"sre": 1, "unused": 0, "kustomize-controller": 1}, seen); diff != "" {
		t.Error(diff)
	}
}
