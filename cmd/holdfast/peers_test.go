package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/jsonpath"

	"holdfast/deploy/lab"
	"holdfast/detect"
)

// TestPeers makes the same drifts under the real Flux and the real Argo CD, asks each of them and Holdfast, and writes
// what they said into PEERS.md. It is `make e2e`'s, by HOLDFAST_E2E=1. Where an engine and Holdfast differ, the row must
// say why.
func TestPeers(t *testing.T) {
	if os.Getenv("HOLDFAST_E2E") == "" {
		t.Skip("make e2e runs it")
	}
	p := newPeers(t)
	engines := []peerEngine{
		{name: "peers-flux"},
		{name: "peers-label", tracking: "label"},
		{name: "peers-annotation", tracking: "annotation"},
	}
	verdicts := map[string][]peerVerdict{}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { verdicts[e.name] = p.ask(t, e) })
	}
	if t.Failed() {
		t.FailNow()
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%s\n\n", p.versions(t))
	table.WriteString("| drift | Flux | Argo CD | Holdfast | why they differ |\n| --- | --- | --- | --- | --- |\n")
	for i, row := range p.rows {
		flux, label, annotation := verdicts[engines[0].name][i], verdicts[engines[1].name][i], verdicts[engines[2].name][i]
		differ := false
		for n, v := range []peerVerdict{flux, label, annotation} {
			want := row.cause
			if row.argo != "" && engines[n].tracking != "" {
				want = row.argo
			}
			differ = differ || v.sees != row.drift
			if v.drift != row.drift || v.cause != want {
				t.Errorf("%s: under %s Holdfast says %s", row.name, engines[n].name, v.holdfast)
			}
		}
		if differ != (row.why != "") {
			t.Errorf("%s: explained by %q, and the engines say %s; %s; %s", row.name, row.why, flux.engine, label.engine, annotation.engine)
		}
		fmt.Fprintf(&table, "| %s |\n", strings.Join([]string{
			row.name, flux.engine, both(label.engine, annotation.engine, "label", "annotation"),
			both(flux.holdfast, both(label.holdfast, annotation.holdfast, "label", "annotation"), "Flux", "Argo CD"), row.why,
		}, " | "))
	}
	t.Logf("\n%s", table.String())
	if !t.Failed() {
		writeSection(t, "peers", table.String())
	}
}

// both names two verdicts, or the one that they are.
func both(one, two, ofOne, ofTwo string) string {
	if one == two {
		return one
	}
	return ofOne + ": " + one + "; " + ofTwo + ": " + two
}

// peers is the cluster with both engines.
type peers struct {
	*lab.Cluster
	git  *lab.Git
	argo *lab.Argo
	rows []peerRow
}

// peerVerdict is what an engine and Holdfast say of one row.
type peerVerdict struct {
	sees     bool // the engine
	engine   string
	drift    bool // Holdfast
	cause    detect.Cause
	holdfast string
}

const peerWidgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.test}
spec:
  group: example.test
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string}}}}}}
`

func newPeers(t *testing.T) *peers {
	t.Helper()
	c := lab.Start(t, lab.Options{Audit: true, ControllerManager: true}).Clusters[0]
	p := &peers{Cluster: c, git: lab.GitServer(t, lab.GitOptions{}), rows: peerRows()}
	c.Apply(t, lab.Admin, "kubectl", peerWidgets)
	c.Kubectl(t, lab.Admin, "", "wait", "--for=condition=Established", "crd/widgets.example.test", "--timeout=60s")
	files := map[string]string{}
	for _, row := range p.rows {
		if row.git != "" {
			files["all/"+strings.ToLower(strings.ReplaceAll(row.object, "/", "-"))+".yaml"] = row.git
		}
	}
	p.git.Create(t, shopRepository, files)
	c.StartFlux(t, lab.FluxOptions{})
	p.argo = c.StartArgoCD(t, lab.ArgoOptions{})
	return p
}

// ask makes the drifts under one engine and gives the verdicts.
func (p *peers) ask(t *testing.T, e peerEngine) []peerVerdict {
	t.Helper()
	p.start(t, e)
	eventually(t, "the autoscaler has scaled", func() bool { return p.read(t, e).value(t, "Deployment/scaled", ".spec.replicas") == "3" })
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds
	before := p.scan(t, e)
	for _, f := range before.Findings {
		if f.Drift {
			t.Errorf("untouched, yet %s", describe(f, nil))
		}
	}
	clean := p.read(t, e)
	for _, row := range p.rows {
		if row.do == nil {
			continue
		}
		for _, step := range row.do(e) {
			p.Kubectl(t, lab.Alice, step.stdin, append([]string{"--namespace=" + e.name}, step.args...)...)
		}
	}
	drifted := p.read(t, e)
	found := p.scan(t, e)
	status := p.correct(t, e)
	corrected := p.read(t, e)
	p.stop(t, e)

	var out []peerVerdict
	for _, row := range p.rows {
		was, made, now := clean.value(t, row.object, row.field), drifted.value(t, row.object, row.field), corrected.value(t, row.object, row.field)
		if row.clean != "" {
			was = row.clean
		}
		if row.do != nil && was == made {
			t.Errorf("%s: the drift was not made: %q", row.name, made)
		}
		v := peerVerdict{}
		reverts := now != made && now == was
		if e.tracking == "" {
			v.sees, v.engine = reverts, "leaves it"
			if reverts {
				v.engine = "reverts it"
			}
		} else {
			listed := status[row.object]
			v.sees = listed == "OutOfSync"
			v.engine = orDefault(listed, "not listed") + ", a sync leaves it"
			if reverts {
				v.engine = orDefault(listed, "not listed") + ", a sync reverts it"
			}
		}
		v.drift, v.cause, v.holdfast = row.verdict(found.Findings, e.name)
		out = append(out, v)
	}
	return out
}

// start makes the engine apply the repository.
func (p *peers) start(t *testing.T, e peerEngine) {
	t.Helper()
	p.Kubectl(t, lab.Admin, "", "create", "namespace", e.name)
	if e.tracking == "" {
		p.Kubectl(t, lab.Admin, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: flux-system}
spec: {interval: 1h, url: %[2]q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: flux-system}
spec: {interval: 1h, path: ./all, prune: true, targetNamespace: %[1]s, sourceRef: {kind: GitRepository, name: %[1]s}}
`, e.name, p.git.URL(shopRepository)), "apply", "-f", "-")
		p.Reconcile(t, lab.FluxObject{Kind: "GitRepository", Namespace: "flux-system", Name: e.name})
		p.Reconcile(t, lab.FluxObject{Kind: "Kustomization", Namespace: "flux-system", Name: e.name})
		return
	}
	p.Kubectl(t, lab.Admin, "", "patch", "--namespace=argocd", "configmap/argocd-cm", "--type=merge",
		`--patch={"data":{"application.resourceTrackingMethod":"`+e.tracking+`"}}`)
	p.Kubectl(t, lab.Admin, fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %[1]s, namespace: argocd}
spec:
  project: default
  source: {repoURL: %[2]q, path: all, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: %[1]s}
`, e.name, p.git.URL(shopRepository)), "apply", "-f", "-")
	p.argo.Await(t, e.name, lab.ArgoApplication{Sync: "OutOfSync"})
	p.argo.Sync(t, e.name)
}

// stop takes the engine's Application away and leaves its objects.
func (p *peers) stop(t *testing.T, e peerEngine) {
	t.Helper()
	if e.tracking != "" {
		p.Kubectl(t, lab.Admin, "", "delete", "--namespace=argocd", "application.argoproj.io/"+e.name)
		return
	}
	p.Kubectl(t, lab.Admin, "", "patch", "--namespace=flux-system", "kustomization/"+e.name, "--type=merge", `--patch={"spec":{"prune":false}}`)
	p.Kubectl(t, lab.Admin, "", "delete", "--namespace=flux-system", "kustomization/"+e.name, "gitrepository/"+e.name)
}

// correct asks the engine for its verdict, which Argo CD gives by object, and then to correct.
func (p *peers) correct(t *testing.T, e peerEngine) map[string]string {
	t.Helper()
	if e.tracking == "" {
		p.Reconcile(t, lab.FluxObject{Kind: "Kustomization", Namespace: "flux-system", Name: e.name})
		return nil
	}
	p.argo.Refresh(t, e.name)
	var application struct {
		Status struct {
			Resources []struct{ Kind, Name, Status string }
		}
	}
	p.decode(t, &application, "get", "--namespace=argocd", "application.argoproj.io/"+e.name, "-o", "json")
	status := map[string]string{}
	for _, r := range application.Status.Resources {
		status[r.Kind+"/"+r.Name] = r.Status
	}
	p.argo.Sync(t, e.name)
	return status
}

func (p *peers) decode(t *testing.T, into any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(p.Kubectl(t, lab.Admin, "", args...)), into); err != nil {
		t.Fatal(err)
	}
}

// liveObjects are what is in a namespace, by Kind/name.
type liveObjects map[string]map[string]any

func (p *peers) read(t *testing.T, e peerEngine) liveObjects {
	t.Helper()
	var list struct{ Items []map[string]any }
	p.decode(t, &list, "get", "deployments,configmaps,services,rolebindings,networkpolicies,secrets,widgets", "--namespace="+e.name, "-o", "json")
	out := liveObjects{}
	for _, o := range list.Items {
		name, _ := o["metadata"].(map[string]any)["name"].(string)
		out[fmt.Sprintf("%s/%s", o["kind"], name)] = o
	}
	return out
}

// value is what a JSONPath finds of an object, or whether the object is there.
func (l liveObjects) value(t *testing.T, object, field string) string {
	t.Helper()
	o, ok := l[object]
	if field == "" || !ok {
		return map[bool]string{true: "there", false: "absent"}[ok]
	}
	query := jsonpath.New(object).AllowMissingKeys(true)
	var out strings.Builder
	if err := query.Parse("{" + field + "}"); err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	if err := query.Execute(&out, o); err != nil {
		t.Fatalf("%s of %s: %v", field, object, err)
	}
	return out.String()
}

func (p *peers) scan(t *testing.T, e peerEngine) scanJSON {
	t.Helper()
	out, _ := holdfast(t, "scan", "-o", "json", "--all", "--secrets", "values", "--kubeconfig", p.Kubeconfig(lab.Admin), "--audit", p.AuditLog)
	doc := scanOf(t, out)
	for _, u := range doc.Unknown {
		t.Errorf("unknown: %s: %s", u.Object.ID(), u.Reason)
	}
	for _, a := range doc.Applications {
		if a.Name != e.name || a.State != detect.Rendered {
			t.Errorf("application %s: %s %s", a.Name, a.State, a.Reason)
		}
	}
	return doc
}

// verdict is what Holdfast says of the row's field, or of its object.
func (r peerRow) verdict(findings []detect.Finding, namespace string) (drift bool, cause detect.Cause, text string) {
	for _, f := range findings {
		if f.Object.Namespace != namespace || f.Object.Kind+"/"+f.Object.Name != r.object {
			continue
		}
		if r.path == "" {
			return f.Drift, f.Cause, said(f.Drift, f.Cause, f.Writer)
		}
		i := slices.IndexFunc(f.Fields, func(field detect.Field) bool { return field.Path.String() == r.path })
		if i < 0 {
			i = slices.IndexFunc(f.Fields, func(field detect.Field) bool { return strings.HasPrefix(field.Path.String(), r.path) })
		}
		if i >= 0 {
			field := f.Fields[i]
			return field.Drift, field.Cause, said(field.Drift, field.Cause, field.Writer)
		}
	}
	return false, detect.CauseNone, "in sync"
}

func said(drift bool, cause detect.Cause, writer *detect.Writer) string {
	text := string(cause)
	if writer != nil && writer.Name() != "" {
		text += ", " + writer.Name()
	}
	if !drift {
		text += ", no drift"
	}
	return text
}

// versions names the programs, as the lab's modules require them.
func (p *peers) versions(t *testing.T) string {
	t.Helper()
	var server struct {
		ServerVersion struct{ GitVersion string }
	}
	p.decode(t, &server, "version", "-o", "json")
	out := "Kubernetes " + server.ServerVersion.GitVersion
	for _, m := range []struct{ title, file, module string }{
		{"Flux kustomize-controller", "flux/go.mod", "github.com/fluxcd/kustomize-controller"},
		{"source-controller", "flux/go.mod", "github.com/fluxcd/source-controller"},
		{"Argo CD", "argocd/go.mod", "github.com/argoproj/argo-cd/v2"},
	} {
		text, err := os.ReadFile("../../deploy/lab/" + m.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(regexp.QuoteMeta(m.module) + ` (v\S+)`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s requires no %s", m.file, m.module)
		}
		out += ", " + m.title + " " + string(found[1])
	}
	return out + "."
}

// peersFile is the document that these tests write.
const peersFile = "../../PEERS.md"

// writeSection puts text between the two marks of a name in PEERS.md.
func writeSection(t *testing.T, name, text string) {
	t.Helper()
	data, err := os.ReadFile(peersFile)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no section %s", peersFile, name)
	}
	if err := os.WriteFile(peersFile, []byte(before+begin+"\n"+strings.TrimSpace(text)+"\n\n"+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
