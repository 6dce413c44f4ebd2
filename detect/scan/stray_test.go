package scan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"holdfast/detect"
	"holdfast/detect/audit"
	"holdfast/gitops"
)

// scanOfTwo scans two Applications of Argo CD, a and b, each in the namespace of its name, with what else lives there.
func scanOfTwo(t *testing.T, tracking func(name string) gitops.Tracking, live string) []string {
	t.Helper()
	const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: %[1]s%[2]s}\ndata: {x: '1'}\n"
	const made = ", creationTimestamp: '2026-03-02T00:00:00Z'"
	s := readScenario(t, &txtar.Archive{Files: []txtar.File{
		{Name: "git/1/a/all.yaml", Data: fmt.Appendf(nil, settings, "a", "")},
		{Name: "git/1/b/all.yaml", Data: fmt.Appendf(nil, settings, "b", "")},
		{Name: "live.yaml", Data: []byte(fmt.Sprintf(settings, "a", made) + "---\n" + fmt.Sprintf(settings, "b", made) + live)},
	}})
	in := s.input(t)
	in.Targets[0].OnlyGiven = true
	for _, name := range []string{"a", "b"} {
		in.Targets[0].Applications = append(in.Targets[0].Applications, gitops.Application{
			Name: name, Namespace: "argocd", Kind: "Application", Engine: gitops.ArgoCD, Ready: true, Tracking: tracking(name),
			Managers: []gitops.Manager{{Name: "argocd-controller"}},
			Source:   gitops.Source{Repo: "https://git.example/shop", Path: name}, Render: gitops.Render{Namespace: name},
		})
	}
	result, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range result.Findings {
		if f.Presence == detect.LiveOnly {
			got = append(got, f.Application+" "+f.Object.ID().String()+" "+verdict(f.Drift, f.Cause, f.Risk, f.Disposition, f.Writer))
		}
	}
	slices.Sort(got)
	return got
}

func byAnnotation(string) gitops.Tracking {
	return gitops.Tracking{Annotation: "argocd.argoproj.io/tracking-id"}
}

func byLabel(name string) gitops.Tracking {
	return gitops.Tracking{Labels: map[string]string{"app.kubernetes.io/instance": name}}
}

// binding is a binding in namespace b, or of the whole cluster to bob, with further metadata.
func binding(kind, name, manager, metadata string) string {
	if kind == "RoleBinding" {
		metadata += ", namespace: b"
	}
	return strings.NewReplacer("KIND", kind, "NAME", name, "MANAGER", manager, "MORE", metadata).Replace(`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: KIND
metadata:
  {name: NAME, managedFields: [{manager: MANAGER, operation: Update, time: "2026-03-05T00:00:00Z", fieldsV1: {"f:roleRef": {}}}], MORE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob@example.test}]
`)
}

func TestACopiedMarkExcusesNoBinding(t *testing.T) {
	const mark = "annotations: {argocd.argoproj.io/tracking-id: 'a:apps/Deployment:a/web'}"
	got := scanOfTwo(t, byAnnotation, binding("RoleBinding", "hand", "kubectl-create", mark)+
		binding("RoleBinding", "script", "grant.sh", mark)+
		binding("RoleBinding", "operator", "cert-manager-controller", mark)+
		binding("RoleBinding", "as-argocd", "argocd-controller", mark)+
		strings.ReplaceAll(binding("RoleBinding", "stripped", "", mark), `{manager: , operation: Update, time: "2026-03-05T00:00:00Z", fieldsV1: {"f:roleRef": {}}}`, ""))
	want := []string{
		"argocd/a RoleBinding.rbac.authorization.k8s.io/b/as-argocd (drift, unknown, critical, issue, by argocd-controller)",
		"argocd/a RoleBinding.rbac.authorization.k8s.io/b/hand (drift, manual, critical, issue, by kubectl-create)",
		"argocd/a RoleBinding.rbac.authorization.k8s.io/b/operator (drift, unknown, critical, issue, by cert-manager-controller)",
		"argocd/a RoleBinding.rbac.authorization.k8s.io/b/script (drift, manual, critical, issue, by grant.sh)",
		"argocd/a RoleBinding.rbac.authorization.k8s.io/b/stripped (drift, unknown, critical, issue, by )",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAnOwnerExcusesABindingOnlyWhereItMayBeThere: the dump holds other Gadgets of the namespace, and no Widget.
func TestAnOwnerExcusesABindingOnlyWhereItMayBeThere(t *testing.T) {
	const parent = "\n---\napiVersion: example.org/v1\nkind: Gadget\nmetadata: {name: parent, namespace: b, uid: u1}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: parent, namespace: b, uid: u1}\n"
	owner := func(apiVersion, kind, name, uid string) string {
		return fmt.Sprintf("ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: %s}]", apiVersion, kind, name, uid)
	}
	found := func(name, cause, manager string) string {
		return fmt.Sprintf("argocd/b RoleBinding.rbac.authorization.k8s.io/b/%s (drift, %s, critical, issue, by %s)", name, cause, manager)
	}
	got := scanOfTwo(t, byAnnotation, parent+
		binding("RoleBinding", "owned", "some-operator", owner("example.org/v1", "Gadget", "parent", "u1"))+
		binding("RoleBinding", "not-read", "some-operator", owner("example.org/v1", "Widget", "w", "u2"))+
		binding("RoleBinding", "of-built-in", "some-operator", owner("v1", "ConfigMap", "parent", "u1"))+
		binding("RoleBinding", "of-engine", "some-operator", owner("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "k", "u1"))+
		binding("RoleBinding", "of-not-read", "some-operator", owner("v1", "Secret", "parent", "u1"))+
		binding("RoleBinding", "other-uid", "some-operator", owner("example.org/v1", "Gadget", "parent", "u2"))+
		binding("RoleBinding", "gone", "some-operator", owner("example.org/v1", "Gadget", "ghost", "u1"))+
		binding("RoleBinding", "gone-named", "kube-controller-manager", owner("example.org/v1", "Gadget", "ghost", "u1"))+
		binding("RoleBinding", "hand", "kubectl-create", owner("example.org/v1", "Gadget", "parent", "u1")))
	want := []string{
		found("gone", "manual", "some-operator"), found("gone-named", "unknown", "kube-controller-manager"),
		found("hand", "manual", "kubectl-create"), found("of-built-in", "manual", "some-operator"), found("of-engine", "manual", "some-operator"),
		found("of-not-read", "manual", "some-operator"), found("other-uid", "manual", "some-operator"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestALabelOfOneApplicationHidesNoBindingInTheNamespaceOfAnother(t *testing.T) {
	got := scanOfTwo(t, byLabel, binding("RoleBinding", "hand", "kubectl-create", "labels: {app.kubernetes.io/instance: a}"))
	want := []string{"argocd/b RoleBinding.rbac.authorization.k8s.io/b/hand (drift, manual, critical, issue, by kubectl-create)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatAnApplicationThatIsNotScannedDeliversIsQuiet(t *testing.T) {
	const guest = "\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: guest, namespace: argocd}\n"
	mark := func(name string) string {
		return "annotations: {argocd.argoproj.io/tracking-id: '" + name + ":rbac.authorization.k8s.io/RoleBinding:b/made'}"
	}
	made := binding("RoleBinding", "made", "argocd-controller", mark("guest"))
	if got := scanOfTwo(t, byAnnotation, guest+made); got != nil {
		t.Errorf("got %q of an Application that is there", got)
	}
	want := []string{"argocd/b RoleBinding.rbac.authorization.k8s.io/b/made (drift, unknown, critical, issue, by argocd-controller)"}
	if diff := cmp.Diff(want, scanOfTwo(t, byAnnotation, made)); diff != "" {
		t.Errorf("without the Application: -want +got:\n%s", diff)
	}
	scanned := binding("RoleBinding", "made", "argocd-controller", "labels: {app.kubernetes.io/instance: a}")
	if diff := cmp.Diff(want, scanOfTwo(t, byAnnotation, scanned)); diff != "" {
		t.Errorf("with the label of an Application that tracks by annotation: -want +got:\n%s", diff)
	}
}

// TestPeoplesRightsStayDriftWhenObjectsAreMadeAnew has declared objects of 2 March, and rights given on 1 March.
func TestPeoplesRightsStayDriftWhenObjectsAreMadeAnew(t *testing.T) {
	rights := strings.ReplaceAll(binding("ClusterRoleBinding", "people", "kubectl-create", "creationTimestamp: '2026-03-01T00:00:00Z'"), "2026-03-05", "2026-03-01")
	application := func(at string) string {
		return "\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: b, namespace: argocd, creationTimestamp: '" + at + "'}\n"
	}
	namespace := func(name string) string {
		return "\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + ", creationTimestamp: '2026-02-01T00:00:00Z'}\n"
	}
	reported := []string{"argocd/b ClusterRoleBinding.rbac.authorization.k8s.io/people (drift, manual, critical, issue, by kubectl-create)"}
	for _, tt := range []struct {
		name, live string
		want       []string
	}{
		{"only the objects are known", "", nil},
		{"the Namespace is older", namespace("b"), reported},
		{"the Application is older", application("2026-02-01T00:00:00Z"), reported},
		{"the Application is younger", application("2026-03-01T00:00:01Z"), nil},
		{"the Application is of the same second", application("2026-03-01T00:00:00Z"), nil},
		{"another Namespace is older", namespace("c"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, scanOfTwo(t, byAnnotation, rights+tt.live)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRightsCountFromWhenTheyWereLastGiven has declared objects of 2 March, and a binding of 1 March.
func TestRightsCountFromWhenTheyWereLastGiven(t *testing.T) {
	old := strings.ReplaceAll(binding("ClusterRoleBinding", "people", "kubectl-create", "creationTimestamp: '2026-03-01T00:00:00Z'"), "2026-03-05", "2026-03-01")
	again := func(manager, fields string) string {
		return strings.Replace(old, "managedFields: [", `managedFields: [{manager: `+manager+`, operation: Update, time: "2026-03-09T00:00:00Z", fieldsV1: {`+fields+`}}, `, 1)
	}
	bare := func(text string) string {
		return regexp.MustCompile(`managedFields: \[.*\]`).ReplaceAllString(text, "managedFields: []") +
			"\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: other, managedFields: [{manager: kube-apiserver, operation: Update, fieldsV1: {}}]}\n"
	}
	for _, tt := range []struct {
		name, live, by string
	}{
		{"never since", old, ""},
		{"to others", again("kubectl-edit", `"f:subjects": {}`), "kubectl-edit"},
		{"a label alone", again("kubectl-label", `"f:metadata": {"f:labels": {}}`), ""},
		{"an upgrade by Helm", strings.ReplaceAll(strings.ReplaceAll(old, "kubectl-create", "helm"), `time: "2026-03-01`, `time: "2026-03-09`), ""},
		{"with managedFields taken off", bare(old), "nobody"},
		{"made when API servers did not keep them", strings.ReplaceAll(bare(old), "2026-03-01", "2019-03-01"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []string
			switch tt.by {
			case "":
			case "nobody":
				want = []string{"argocd/a ClusterRoleBinding.rbac.authorization.k8s.io/people (drift, unknown, critical, issue, by )"}
			default:
				want = []string{"argocd/a ClusterRoleBinding.rbac.authorization.k8s.io/people (drift, manual, critical, issue, by " + tt.by + ")"}
			}
			if diff := cmp.Diff(want, scanOfTwo(t, byAnnotation, tt.live)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAFileThatCannotBeReadHidesNoHandMadeBinding has an Application whose source is broken: what an engine may have made
// of it, or what carries its mark, is not told from a stray, and what kubectl alone wrote is.
func TestAFileThatCannotBeReadHidesNoHandMadeBinding(t *testing.T) {
	s := readScenario(t, &txtar.Archive{Files: []txtar.File{
		{Name: "git/1/b/all.yaml", Data: []byte("a: [\n")},
		{Name: "live.yaml", Data: []byte(strings.TrimPrefix(binding("RoleBinding", "hand", "kubectl-create", "uid: a")+
			binding("RoleBinding", "engine", "argocd-controller", "uid: b")+
			binding("RoleBinding", "operator", "some-operator", "uid: d")+
			binding("RoleBinding", "marked", "kubectl-create", "annotations: {argocd.argoproj.io/tracking-id: 'b:rbac.authorization.k8s.io/RoleBinding:b/marked'}"), "\n---\n"))},
	}})
	in := s.input(t)
	in.Targets[0].OnlyGiven = true
	in.Targets[0].Applications = []gitops.Application{{
		Name: "b", Namespace: "argocd", Kind: "Application", Engine: gitops.ArgoCD, Ready: true, Tracking: byAnnotation(""),
		Managers: []gitops.Manager{{Name: "argocd-controller"}},
		Source:   gitops.Source{Repo: "https://git.example/shop", Path: "b"}, Render: gitops.Render{Namespace: "b"},
		Inventory: []gitops.ObjectID{{Kind: "ConfigMap", Namespace: "b", Name: "settings"}},
	}}
	result, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range result.Findings {
		if f.Object.Kind == "RoleBinding" && f.Drift {
			got = append(got, f.Object.Name)
		}
	}
	if diff := cmp.Diff([]string{"hand"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !slices.ContainsFunc(result.Notes, func(n string) bool { return strings.Contains(n, "in namespace b is known in part") }) {
		t.Errorf("no note of what is not known: %q", result.Notes)
	}
}

// TestAnAccountOfTheNamespaceIsNoController has the audit log name who made a binding under an operator's usual name.
func TestAnAccountOfTheNamespaceIsNoController(t *testing.T) {
	for account, cause := range map[string]detect.Cause{
		"system:serviceaccount:b:robot":                               detect.CauseUnknown,
		"system:serviceaccount:operators:robot":                       detect.CauseController,
		"system:serviceaccount:kube-system:generic-garbage-collector": detect.CauseController,
		"system:serviceaccount:bb:robot":                              detect.CauseController,
	} {
		log, err := audit.Decode(strings.NewReader(fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":"ResponseComplete","verb":"create",`+
			`"requestURI":"/apis/rbac.authorization.k8s.io/v1/namespaces/b/rolebindings?fieldManager=manager","user":{"username":%q},`+
			`"objectRef":{"resource":"rolebindings","namespace":"b","name":"made","apiGroup":"rbac.authorization.k8s.io"},"responseStatus":{"code":201},`+
			`"requestObject":{"metadata":{"name":"made"}},"responseObject":{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"made","namespace":"b"}},`+
			`"stageTimestamp":"2026-03-05T00:00:00Z"}`+"\n", account)))
		if err != nil {
			t.Fatal(err)
		}
		j, m := contesting(t, log, 1)
		live := gitops.NewObject(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": "made", "namespace": "b"}})
		f := detect.Finding{Object: detect.Ref(live), Presence: detect.LiveOnly, Live: &live, Cause: detect.CauseUnknown, Drift: true, Writer: &detect.Writer{Manager: "manager"}}
		j.nameMaker(&f, m)
		if f.Cause != cause || f.Drift != (cause == detect.CauseUnknown) || f.Writer.User != account {
			t.Errorf("%s: %s, drift %v, by %+v", account, f.Cause, f.Drift, f.Writer)
		}
	}
}

func TestTheAgeOfTheClusterIsNotThatOfAnApplication(t *testing.T) {
	const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: kube-system, creationTimestamp: '2026-03-02T00:00:00Z'}\n---\n" +
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system, creationTimestamp: '2026-02-01T00:00:00Z'}\n"
	s := readScenario(t, &txtar.Archive{Files: []txtar.File{{Name: "live.yaml", Data: []byte(settings)}}})
	m := &member{declared: []gitops.Declared{{Object: gitops.Object{ID: gitops.ObjectID{Kind: "ConfigMap", Namespace: "kube-system", Name: "settings"}}}}}
	j := &judge{snapshot: s.live, engines: s.live.Objects}
	got := places{"kube-system": &place{keeper: m}}.since(j, "kube-system", []*member{m})
	if want := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
