package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"holdfast/deploy/lab"
	"holdfast/detect"
	"holdfast/gitops"
)

// TestPublicRepositories tries repositories that nobody here wrote. HOLDFAST_PUBLIC lists them with commas between, each
// as DIR//PATH, the notation of kustomize: PATH is a kustomization root. More roots that have to be there first,
// such as definitions of custom resources, follow with a plus sign each (DIR//PATH+PATH). Kinds that nothing defines
// get a definition that takes anything.
//
// Every root is applied untouched, as Flux applies and as a pipeline with kubectl does: there may be no drift. Then
// alice makes HOLDFAST_PUBLIC_EDITS changes (40 when unset) by kubectl, drawn with the seed HOLDFAST_PUBLIC_SEED (1):
// each must be found with her name, and nothing else. Then everything is codified: what was placed must be closed.
func TestPublicRepositories(t *testing.T) {
	list := os.Getenv("HOLDFAST_PUBLIC")
	if list == "" {
		t.Skip("HOLDFAST_PUBLIC names no repositories")
	}
	kinds := map[string]bool{}
	for _, entry := range strings.Split(list, ",") {
		dir, roots, ok := strings.Cut(entry, "//")
		if !ok {
			t.Fatalf("HOLDFAST_PUBLIC: %s: want DIR//PATH", entry)
		}
		for _, how := range []string{"flux", "pipeline"} {
			t.Run(filepath.Base(dir)+"/"+how, func(t *testing.T) {
				p := newPublic(t, dir, strings.Split(roots, "+"), how == "flux")
				t.Run("untouched", p.untouched)
				t.Run("edited", p.edited)
				t.Run("codified", p.codified)
				for _, o := range p.objects {
					kinds[o.ID.GroupKind().Group+"/"+o.ID.Kind] = true
				}
			})
		}
	}
	t.Logf("%d kinds together", len(kinds))
}

// public is one repository, applied to a cluster of its own.
type public struct {
	cluster    *lab.Cluster
	repository string // a copy
	root       string
	input      []string
	objects    []gitops.Object // as rendered by kubectl
	edits      []madeEdit
}

// The field managers of Flux, and of the pipeline that stands for no engine.
const (
	fluxManager     = "kustomize-controller"
	pipelineManager = "deployer"
)

func newPublic(t *testing.T, dir string, roots []string, flux bool) *public {
	t.Helper()
	p := &public{
		cluster:    lab.Start(t, lab.Options{Audit: true, ControllerManager: true}).Clusters[0],
		repository: copyTree(t, dir), root: roots[0],
	}
	p.cluster.Grant(t, lab.Alice, "cluster-admin")
	for _, root := range roots[1:] {
		p.apply(t, rendered(t, kustomize(t, p.cluster, p.repository, root)), "someone-else")
	}
	p.objects = rendered(t, kustomize(t, p.cluster, p.repository, p.root))
	p.apply(t, p.objects, map[bool]string{true: fluxManager, false: pipelineManager}[flux])

	spec := map[string]any{"engine": "none", "managers": []string{pipelineManager}, "path": p.root, "kustomize": map[string]any{}}
	if flux {
		spec = map[string]any{"engine": "flux", "path": p.root, "kustomize": map[string]any{}}
	}
	application := filepath.Join(t.TempDir(), "application.yaml")
	writeYAMLFile(t, application, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Application", "metadata": map[string]any{"name": "shop", "namespace": "flux-system"}, "spec": spec,
	})
	p.input = []string{"--git", p.repository, "--application", application, "--kubeconfig", p.cluster.Kubeconfig(lab.Admin),
		"--secrets", "values", "--audit", p.cluster.AuditLog}
	return p
}

// copyTree copies the files of a working tree, without its history.
func copyTree(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(to, ".git")); err != nil {
		t.Fatal(err)
	}
	return to
}

func rendered(t *testing.T, manifests string) []gitops.Object {
	t.Helper()
	var out []gitops.Object
	for _, doc := range strings.Split(manifests, "\n---\n") {
		content := map[string]any{}
		if err := yaml.Unmarshal([]byte(doc), &content); err != nil {
			t.Fatal(err)
		}
		if len(content) > 0 {
			out = append(out, gitops.NewObject(content))
		}
	}
	return out
}

// apply applies in stages, as what comes later needs what comes earlier: namespaces, definitions, the rest, and at
// last what stands between everyone and the API server.
func (p *public) apply(t *testing.T, objects []gitops.Object, manager string) {
	t.Helper()
	var stages [4][]gitops.Object
	for _, o := range objects {
		stage := 2
		switch o.ID.Kind {
		case "Namespace":
			stage = 0
		case "CustomResourceDefinition":
			stage = 1
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicyBinding", "APIService":
			stage = 3
		}
		stages[stage] = append(stages[stage], o)
	}
	p.createNamespaces(t, objects)
	for i, stage := range stages {
		if len(stage) == 0 {
			continue
		}
		p.send(t, stage, manager, i == 1)
		if i == 1 {
			p.cluster.Kubectl(t, lab.Admin, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
			p.defineTheRest(t, objects)
		}
	}
	if len(stages[1]) == 0 {
		p.defineTheRest(t, objects)
	}
}

// send applies as the engine: by server-side apply with Flux's labels, or by Update as kubectl apply does. The
// definitions are too big for kubectl apply's annotation, and are created.
func (p *public) send(t *testing.T, objects []gitops.Object, manager string, create bool) {
	t.Helper()
	var text strings.Builder
	for _, o := range objects {
		content := o.Content
		if manager == fluxManager {
			content = marked(content)
		}
		data, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "---\n%s", data)
	}
	verb := "apply"
	if create {
		verb = "create"
	}
	args := []string{verb, "--field-manager=" + manager, "-f", "-"}
	if manager == fluxManager {
		args = []string{"apply", "--server-side", "--force-conflicts", "--field-manager=" + manager, "-f", "-"}
	}
	p.cluster.Kubectl(t, lab.Engine, text.String(), args...)
}

// marked gives a copy with the labels by which kustomize-controller knows what it applied.
func marked(content map[string]any) map[string]any {
	out := gitops.Clone(content).(map[string]any)
	metadata := out["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
		metadata["labels"] = labels
	}
	labels["kustomize.toolkit.fluxcd.io/name"] = "shop"
	labels["kustomize.toolkit.fluxcd.io/namespace"] = "flux-system"
	return out
}

// createNamespaces makes the namespaces that objects name and do not bring.
func (p *public) createNamespaces(t *testing.T, objects []gitops.Object) {
	t.Helper()
	for _, o := range objects {
		ns := o.ID.Namespace
		brought := slices.ContainsFunc(objects, func(o gitops.Object) bool { return o.ID.Kind == "Namespace" && o.ID.Name == ns })
		if ns != "" && !brought {
			// A second attempt at the same one fails, as it should.
			_, _ = p.cluster.Exec(t.Context(), lab.Admin, "", "create", "namespace", ns)
		}
	}
}

// defineTheRest gives kinds that the cluster does not serve a definition that takes anything.
func (p *public) defineTheRest(t *testing.T, objects []gitops.Object) {
	t.Helper()
	for _, o := range objects {
		if p.serves(t, o) {
			continue
		}
		plural := strings.ToLower(o.ID.Kind) + "s"
		scope := "Cluster"
		if o.ID.Namespace != "" {
			scope = "Namespaced"
		}
		_, version, _ := strings.Cut(o.APIVersion, "/")
		crd := gitops.NewObject(map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{
				"name": plural + "." + o.ID.Group, "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, for a test"},
			},
			"spec": map[string]any{
				"group": o.ID.Group, "scope": scope, "names": map[string]any{"kind": o.ID.Kind, "plural": plural},
				"versions": []any{map[string]any{"name": version, "served": true, "storage": true, "schema": map[string]any{
					"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
			},
		})
		t.Logf("nothing defines %s of %s", o.ID.Kind, o.APIVersion)
		data, err := yaml.Marshal(crd.Content)
		if err != nil {
			t.Fatal(err)
		}
		p.cluster.Kubectl(t, lab.Admin, string(data), "create", "-f", "-")
		p.cluster.Kubectl(t, lab.Admin, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
	}
}

// serves says whether the API server knows the kind of an object in its version.
func (p *public) serves(t *testing.T, o gitops.Object) bool {
	t.Helper()
	if o.ID.Group == "" {
		return true
	}
	out, err := p.cluster.Exec(t.Context(), lab.Admin, "", "get", "--raw", "/apis/"+o.APIVersion)
	return err == nil && strings.Contains(out, strconv.Quote("kind")+":"+strconv.Quote(o.ID.Kind))
}

// settle waits until the controllers have seen every workload, and what they write has been written.
func (p *public) settle(t *testing.T) {
	t.Helper()
	const behind = `{range .items[*]}{.metadata.generation}/{.status.observedGeneration} {end}`
	eventually(t, "the controllers have seen every workload", func() bool {
		for _, pair := range strings.Fields(p.cluster.Kubectl(t, lab.Admin, "", "get", "deployments,statefulsets,daemonsets", "-A", "-o", "jsonpath="+behind)) {
			if wanted, seen, _ := strings.Cut(pair, "/"); wanted != seen {
				return false
			}
		}
		return true
	})
	time.Sleep(2 * time.Second)
}

func (p *public) scan(t *testing.T) scanJSON {
	t.Helper()
	started := time.Now()
	out, code := holdfast(t, append([]string{"scan", "-o", "json"}, p.input...)...)
	var doc scanJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("exit %d: %v in %.300s", code, err, out)
	}
	for _, a := range doc.Applications {
		if a.State != detect.Rendered {
			t.Errorf("application %s: %s: %s", a.Name, a.State, a.Reason)
		}
	}
	for _, u := range doc.Unknown {
		t.Errorf("unknown: %s: %s", u.Object.ID(), u.Reason)
	}
	t.Logf("scan: %d objects, %d findings, exit %d, %s", doc.Summary.Objects, len(doc.Findings), code, time.Since(started).Round(time.Millisecond))
	return doc
}

// untouched says that what was applied and left alone has no drift.
func (p *public) untouched(t *testing.T) {
	t.Helper()
	p.settle(t)
	doc := p.scan(t)
	if doc.Summary.Objects != len(p.objects) {
		t.Errorf("%d objects compared, %d rendered by kubectl", doc.Summary.Objects, len(p.objects))
	}
	kinds := map[gitops.GroupKind]int{}
	for _, o := range p.objects {
		kinds[o.ID.GroupKind()]++
	}
	t.Logf("%d objects of %d kinds", len(p.objects), len(kinds))
	for _, f := range doc.Findings {
		if f.Drift {
			t.Errorf("untouched, yet %s", describe(f, nil))
		}
	}
}

// edited says that every edit is found with its writer, and nothing else.
func (p *public) edited(t *testing.T) {
	t.Helper()
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds
	wanted, seed := number(t, "HOLDFAST_PUBLIC_EDITS", 40), number(t, "HOLDFAST_PUBLIC_SEED", 1)
	p.edits = makeEdits(t, p.cluster, p.objects, wanted, rand.New(rand.NewPCG(uint64(seed), uint64(len(p.objects)))))
	p.settle(t)
	doc := p.scan(t)
	for _, e := range p.edits {
		if problem := e.missedBy(doc.Findings); problem != "" {
			t.Errorf("%s: %s", e, problem)
		}
	}
	for _, f := range doc.Findings {
		if f.Drift && f.Presence != detect.Both && !slices.ContainsFunc(p.edits, func(e madeEdit) bool { return e.about(f) }) {
			t.Errorf("nobody touched it, yet %s", describe(f, nil))
		}
		for _, field := range f.Fields {
			if field.Drift && !slices.ContainsFunc(p.edits, func(e madeEdit) bool { return e.about(f) && e.explains(field) }) {
				t.Errorf("nobody touched it, yet %s", describe(f, field.Path))
			}
		}
	}
	t.Logf("%d edits, %d findings drift", len(p.edits), doc.Summary.Drifted)
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func describe(f detect.Finding, only gitops.Path) string {
	text := fmt.Sprintf("%s is %s (%s)", f.Object.ID(), f.Cause, f.Reason)
	for _, field := range f.Fields {
		if field.Drift && (only == nil || field.Path.Equal(only)) {
			text += fmt.Sprintf("\n  %s %s %s: git %.150v, live %.150v: %s", field.Kind, field.Cause, field.Path, show(field.Git), show(field.Live), field.Reason)
		}
	}
	return text
}

func show(v gitops.Value) string {
	if !v.Set {
		return "absent"
	}
	data, err := json.Marshal(v.V)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
