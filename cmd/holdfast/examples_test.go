package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/deploy/lab"
	"holdfast/detect"
	"holdfast/gitops"
)

// example is a folder of an engine's own example repositories.
type example struct {
	repo, path string
	argo       bool // by Argo CD; else by Flux
	// not says why it is not tried; empty when it is.
	not string
	// remark is printed with the result.
	remark string
}

const (
	argoExamples = "argocd-example-apps"
	fluxHelm     = "flux2-kustomize-helm-example"
	fluxTenancy  = "flux2-multi-tenancy"
	podinfo      = "podinfo"

	// loose: the definitions of these custom resources are not in the repository.
	loose = "the custom resources have a definition that takes anything"
)

// examples are all folders of these repositories that an engine applies.
func examples() []example {
	argo := func(path, not string) example { return example{repo: argoExamples, path: path, argo: true, not: not} }
	return []example{
		argo("apps", ""), argo("guestbook", ""), argo("helm-guestbook", ""), argo("helm-hooks", ""), argo("kustomize-guestbook", ""),
		argo("pre-post-sync", ""), argo("sock-shop", ""), argo("sync-waves", ""),
		argo("blue-green", "needs Argo Rollouts"),
		argo("helm-dependency", "its chart depends on one at charts.helm.sh"),
		argo("jsonnet-guestbook", "jsonnet, which Holdfast does not render and says so"),
		argo("jsonnet-guestbook-tla", "jsonnet, which Holdfast does not render and says so"),
		argo("plugins/kasane", "needs a config management plugin"),
		argo("plugins/kustomized-helm", "needs a config management plugin"),
		argo("plugins/nix", "needs a config management plugin"),
		{repo: podinfo, path: "charts/podinfo", argo: true},
		{repo: podinfo, path: "kustomize"}, {repo: podinfo, path: "deploy/overlays/dev"},
		{repo: podinfo, path: "deploy/overlays/staging"}, {repo: podinfo, path: "deploy/overlays/production"},
		{repo: podinfo, path: "deploy/webapp", remark: loose}, {repo: podinfo, path: "deploy/secure", remark: loose},
		{repo: fluxHelm, path: "apps/staging", remark: loose}, {repo: fluxHelm, path: "apps/production", remark: loose},
		{repo: fluxHelm, path: "infrastructure/controllers", remark: loose}, {repo: fluxHelm, path: "infrastructure/configs", remark: loose},
		{repo: fluxHelm, path: "clusters/staging", not: "installs Flux itself, with sources on github.com"},
		{repo: fluxHelm, path: "clusters/production", not: "installs Flux itself, with sources on github.com"},
		{repo: fluxTenancy, path: "tenants/staging"}, {repo: fluxTenancy, path: "tenants/production"},
		{repo: fluxTenancy, path: "infrastructure/kyverno-policies", remark: loose},
		{repo: fluxTenancy, path: "infrastructure/kyverno", not: "installs Kyverno from github.com"},
		{repo: fluxTenancy, path: "clusters/staging", not: "installs Flux itself, with sources on github.com"},
		{repo: fluxTenancy, path: "clusters/production", not: "installs Flux itself, with sources on github.com"},
	}
}

// name is that of the example's Application: for Argo CD's own as its app of apps makes them.
func (e example) name() string {
	if e.repo == argoExamples && e.path != "apps" {
		return "example." + e.path
	}
	return e.repo + "-" + strings.ReplaceAll(e.path, "/", "-")
}

// TestExamples applies the examples of HOLDFAST_EXAMPLES, a folder that holds their repositories, by the real engines,
// and wants each that was left alone to be in sync. It writes the list into PEERS.md.
func TestExamples(t *testing.T) {
	dir := os.Getenv("HOLDFAST_EXAMPLES")
	if dir == "" {
		t.Skip("HOLDFAST_EXAMPLES names no folder")
	}
	p := newExamples(t, dir)
	p.applications(t)
	var table strings.Builder
	whole := true
	table.WriteString("| example | engine | objects | result |\n| --- | --- | --- | --- |\n")
	for _, e := range examples() {
		engine := map[bool]string{true: "Argo CD", false: "Flux"}[e.argo]
		objects, result := "", "not tried: "+e.not
		if e.not == "" {
			ran := false
			t.Run(e.name(), func(t *testing.T) {
				ran = true
				n := p.try(t, e)
				objects, result = fmt.Sprint(n), "in sync"
				if t.Failed() {
					result = "NOT in sync"
				}
				if e.remark != "" {
					result += "; " + e.remark
				}
			})
			whole = whole && ran
		}
		fmt.Fprintf(&table, "| %s %s | %s | %s | %s |\n", e.repo, e.path, engine, objects, result)
	}
	t.Logf("\n%s", table.String())
	if whole && !t.Failed() {
		writeSection(t, "examples", table.String())
	}
}

// exampleLab is the cluster with both engines, and the examples on a Git server.
type exampleLab struct {
	*lab.Cluster
	git  *lab.Git
	argo *lab.Argo
}

func newExamples(t *testing.T, dir string) *exampleLab {
	t.Helper()
	c := lab.Start(t, lab.Options{ControllerManager: true, Scheduler: true, Kwok: true}).Clusters[0]
	p := &exampleLab{Cluster: c, git: lab.GitServer(t, lab.GitOptions{})}
	for _, repo := range []string{argoExamples, fluxHelm, fluxTenancy, podinfo} {
		found, err := filepath.Glob(filepath.Join(dir, "*"+repo))
		if err != nil || len(found) != 1 {
			t.Fatalf("HOLDFAST_EXAMPLES: %s has not one folder for %s: %v %v", dir, repo, found, err)
		}
		p.git.Create(t, repo, filesBelow(t, found[0]))
	}
	c.StartFlux(t, lab.FluxOptions{})
	p.argo = c.StartArgoCD(t, lab.ArgoOptions{})
	return p
}

func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, dir+"/")] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// applications makes Argo CD's Applications: the app of apps makes most of them.
func (p *exampleLab) applications(t *testing.T) {
	t.Helper()
	const application = `---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: argocd}
spec:
  project: default
  source: {repoURL: %q, path: %s, targetRevision: main, helm: {parameters: [%s]}}
  destination: {server: "https://kubernetes.default.svc", namespace: %[1]s}
  syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true]}
`
	own := fmt.Sprintf("{name: config.spec.source.repoURL, value: %q}, {name: config.spec.source.targetRevision, value: main}", p.git.URL(argoExamples))
	p.Kubectl(t, lab.Admin, fmt.Sprintf(application, argoExamples+"-apps", p.git.URL(argoExamples), "apps", own)+
		fmt.Sprintf(application, podinfo+"-charts-podinfo", p.git.URL(podinfo), "charts/podinfo", ""), "apply", "-f", "-")
}

// try has the example applied, looks at it, and takes it away; it gives the number of objects.
func (p *exampleLab) try(t *testing.T, e example) int {
	t.Helper()
	if e.argo {
		p.argo.Await(t, e.name(), lab.ArgoApplication{Sync: "Synced", Operation: "Succeeded"})
		return p.check(t, e)
	}
	objects := p.objects(t, e)
	(&public{cluster: p.Cluster}).defineTheRest(t, objects)
	source := fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: flux-system}
spec: {interval: 1h, url: %[2]q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: flux-system}
spec: {interval: 1h, retryInterval: 2s, path: ./%[3]s, prune: true, sourceRef: {kind: GitRepository, name: %[1]s}}
`, e.name(), p.git.URL(e.repo), e.path)
	for _, o := range objects {
		if o.ID.Namespace == "" && o.ID.Kind == "Deployment" { // one that leaves its namespace to whoever applies it
			source = strings.Replace(source, "prune: true,", "prune: true, targetNamespace: default,", 1)
		}
		if o.ID.Namespace != "" { // a second attempt at the same one fails, as it should
			_, _ = p.Exec(t.Context(), lab.Admin, "", "create", "namespace", o.ID.Namespace)
		}
	}
	p.Kubectl(t, lab.Admin, source, "apply", "-f", "-")
	p.Reconcile(t, lab.FluxObject{Kind: "GitRepository", Namespace: "flux-system", Name: e.name()})
	p.Reconcile(t, lab.FluxObject{Kind: "Kustomization", Namespace: "flux-system", Name: e.name()})
	n := p.check(t, e)
	p.Kubectl(t, lab.Admin, "", "delete", "--namespace=flux-system", "--timeout=120s", "kustomization/"+e.name(), "gitrepository/"+e.name())
	return n
}

// objects gives what the example declares: Flux reads every manifest below a folder that is no kustomization.
func (p *exampleLab) objects(t *testing.T, e example) []gitops.Object {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "clone", "--quiet", p.git.URL(e.repo), ".")
	dir = filepath.Join(dir, e.path)
	if _, err := os.Stat(filepath.Join(dir, "kustomization.yaml")); err == nil {
		return rendered(t, p.Kubectl(t, lab.Admin, "", "kustomize", dir))
	}
	var all strings.Builder
	for name, text := range filesBelow(t, dir) {
		if strings.HasSuffix(name, ".yaml") {
			all.WriteString("\n---\n" + text)
		}
	}
	return rendered(t, all.String())
}

// check scans, and wants no drift of the example and nothing unknown.
func (p *exampleLab) check(t *testing.T, e example) int {
	t.Helper()
	time.Sleep(2 * time.Second) // for controllers that answer to what was applied
	out, _ := holdfast(t, "scan", "-o", "json", "--secrets", "values", "--kubeconfig", p.Kubeconfig(lab.Admin))
	doc := scanOf(t, out)
	namespace := map[bool]string{true: "argocd", false: "flux-system"}[e.argo]
	objects := -1
	for _, a := range doc.Applications {
		if a.Name == e.name() && a.Namespace == namespace {
			objects = a.Objects
			if a.State != detect.Rendered || a.Reason != "" || len(a.Conditions) > 0 {
				t.Errorf("%s: %s %s %+v", a.Name, a.State, a.Reason, a.Conditions)
			}
		}
	}
	if objects < 1 {
		t.Errorf("%d objects", objects)
	}
	id := namespace + "/" + e.name()
	for _, f := range doc.Findings {
		if f.Drift && f.Application == id && !strings.HasPrefix(f.Object.Name, "lab:") { // the lab's own bindings are in no Git
			t.Errorf("untouched, yet %s", describe(f, nil))
		}
	}
	for _, u := range doc.Unknown {
		if u.Application == id {
			t.Errorf("unknown: %s: %s", u.Object.ID(), u.Reason)
		}
	}
	return objects
}
