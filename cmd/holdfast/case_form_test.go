package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/gitops"
)

// caseFile is expect.yaml. Free-text keys are accepted and not read.
type caseFile struct {
	Case   string   `json:"case"`
	Kind   string   `json:"kind"`
	Source []string `json:"source"`
	Given  struct {
		Dispositions  map[string]string `json:"dispositions"`
		Application   string            `json:"application"`
		Tracking      string            `json:"tracking"`
		ImageRewrites []struct {
			From string `json:"from"`
			To   string `json:"to"`
		} `json:"imageRewrites"`
		Note string `json:"note"`
	} `json:"given"`
	Render       renderForm          `json:"render"`
	RenderAfter  map[string]any      `json:"renderAfter"`
	Objects      []objectForm        `json:"objects"`
	Codify       []codifyForm        `json:"codify"`
	Accept       []acceptForm        `json:"accept"`
	Unchanged    []string            `json:"files_unchanged"`
	FilesWithout []string            `json:"files_must_not_contain"`
	Without      []string            `json:"must_not_contain"`
	NotListed    []map[string]string `json:"must_not_list"`

	RevertHint  any `json:"revert_hint"`
	CodifyNot   any `json:"codify_must_not"`
	ReportNot   any `json:"must_not_report"`
	PrintNot    any `json:"must_not_print"`
	Keep        any `json:"must_keep"`
	Attribution any `json:"attribution"`
	History     any `json:"history"`
	Advice      any `json:"advice"`
	Naive       any `json:"naive_render"`
	Disagree    any `json:"disagree"`
	Why         any `json:"why"`
}

type renderForm struct {
	Tool        string            `json:"tool"`
	GitOps      string            `json:"gitops"`
	Path        string            `json:"path"`
	Release     string            `json:"release"`
	Namespace   string            `json:"namespace"`
	Values      any               `json:"values"`
	Application string            `json:"application"`
	HelmRelease string            `json:"helmrelease"`
	Flux        string            `json:"flux"`
	Substitute  map[string]string `json:"substitute"`
	KubeVersion string            `json:"kubeVersion"`
	APIVersions []string          `json:"apiVersions"`
	CRDs        string            `json:"crds"`
	Broken      []string          `json:"broken"`
	Fails       any               `json:"fails"`
}

type objectForm struct {
	Ref         detect.ObjectRef   `json:"ref"`
	Presence    detect.Presence    `json:"presence"`
	ObjectLevel bool               `json:"objectLevel"`
	Drift       bool               `json:"drift"`
	Cause       detect.Cause       `json:"cause"`
	Disposition detect.Disposition `json:"disposition"`
	Note        string             `json:"note"`
	Fields      []fieldForm        `json:"fields"`
}

type fieldForm struct {
	Path        string             `json:"path"`
	Git         gitops.Value       `json:"git"`
	Live        gitops.Value       `json:"live"`
	Differs     bool               `json:"differs"`
	Drift       bool               `json:"drift"`
	Cause       detect.Cause       `json:"cause"`
	Disposition detect.Disposition `json:"disposition"`
	Note        string             `json:"note"`
}

type codifyForm struct {
	File  string `json:"file"`
	After string `json:"after"`
	Match string `json:"match"`
}

type acceptForm struct {
	Ref         string               `json:"ref"`
	Path        string               `json:"path"`
	Drift       []bool               `json:"drift"`
	Cause       []detect.Cause       `json:"cause"`
	Disposition []detect.Disposition `json:"disposition"`
}

func readCase(t *testing.T, dir string) caseFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "expect.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c caseFile
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		t.Fatalf("expect.yaml: %v", err)
	}
	return c
}

// application writes the holdfast/v1 Application that stands for the case's engine object.
func (c caseFile) application(t *testing.T, file string) {
	t.Helper()
	engine, ok := map[string]string{"argocd": "argocd", "flux-kustomize": "flux", "flux-helm": "flux"}[c.Render.GitOps]
	if !ok {
		t.Fatalf("render.gitops %q is not supported", c.Render.GitOps)
	}
	spec := map[string]any{"engine": engine, "path": c.Render.Path}
	switch c.Render.Tool {
	case "plain":
	case "kustomize":
		kustomize := map[string]any{}
		if c.Render.Substitute != nil {
			kustomize["substitute"] = c.Render.Substitute
		}
		spec["kustomize"] = kustomize
	case "helm":
		spec["helm"] = c.Render.helm(t)
	default:
		t.Fatalf("render.tool %q is not supported", c.Render.Tool)
	}
	if c.Render.Namespace != "" && c.Render.Tool != "helm" {
		spec["namespace"] = c.Render.Namespace
	}
	if c.Given.Tracking != "" {
		spec["tracking"] = c.Given.Tracking
	}
	name, namespace := cmp.Or(c.Given.Application, "case"), "default"
	if c.Render.GitOps == "flux-helm" {
		// The HelmRelease has the name and the namespace of its release.
		name, namespace = c.Render.Release, c.Render.Namespace
	}
	writeYAMLFile(t, file, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Application",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": spec,
	})
}

// helm gives the chart's part of the Application. Values are a mapping, or files of the case's folder.
func (r renderForm) helm(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{"releaseName": r.Release, "namespace": r.Namespace}
	switch values := r.Values.(type) {
	case nil:
	case map[string]any:
		out["values"] = values
	case []any:
		out["valueFiles"] = values
	default:
		t.Fatalf("render.values is a %T: want a mapping or a list of files", values)
	}
	if r.KubeVersion != "" {
		out["kubeVersion"] = r.KubeVersion
	}
	if len(r.APIVersions) > 0 {
		out["apiVersions"] = r.APIVersions
	}
	return out
}

// object names the file of the engine's object, when the case has one.
func (r renderForm) object() string { return cmp.Or(r.Flux, r.HelmRelease, r.Application) }

// engineObject gives the file of the case's engine object. An Argo CD Application whose path is not that of the
// case is written anew with it.
func (c caseFile) engineObject(t *testing.T, file, path, rewritten string) string {
	t.Helper()
	if c.Render.Application == "" {
		return file
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	spec, _ := object["spec"].(map[string]any)
	source, single := spec["source"].(map[string]any)
	if !single || source["path"] == path {
		return file
	}
	source["path"] = path
	writeYAMLFile(t, rewritten, object)
	return rewritten
}

// policy writes the case's own policy: its dispositions by cause, then the rule of every case.
func (c caseFile) policy(t *testing.T, file string) {
	t.Helper()
	var rules []any
	for cause, disposition := range c.Given.Dispositions {
		rules = append(rules, map[string]any{"name": "given " + cause, "cause": []string{cause}, "drift": true, "disposition": disposition})
	}
	rules = append(rules,
		map[string]any{"name": "undo what people did", "cause": []string{"manual", "missing", "orphaned"}, "drift": true, "disposition": "revert"},
		map[string]any{"name": "other drift", "drift": true, "disposition": "issue"},
		map[string]any{"name": "cannot be known", "cause": []string{"render", "unknown"}, "disposition": "issue"},
		map[string]any{"name": "no drift", "drift": false, "disposition": "ignore"},
	)
	doc := map[string]any{"apiVersion": "holdfast/v1", "kind": "Policy", "rules": rules}
	if len(c.Given.ImageRewrites) > 0 {
		doc["imageRewrites"] = c.Given.ImageRewrites
	}
	writeYAMLFile(t, file, doc)
}

func writeYAMLFile(t *testing.T, file string, doc any) {
	t.Helper()
	data, err := yaml.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// holdfast runs the command and gives its standard output.
func holdfast(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	s := testStreams(&stdout, &stderr)
	code = run(t.Context(), args, s)
	if stderr.Len() > 0 {
		t.Logf("holdfast %s: %s", strings.Join(args[:1], " "), stderr.String())
	}
	return stdout.String(), code
}

// equalValue compares an expected value with a reported one; secret says that values are masked.
func equalValue(want, got gitops.Value, secret bool) bool {
	if !want.Set {
		return !got.Set
	}
	if text, ok := want.V.(string); ok && (text == "<present>" || text == "<varies>") {
		return got.Set
	}
	if secret {
		return got.Set
	}
	if text, ok := got.V.(string); ok && strings.Contains(text, "e+") {
		// A case that writes such a text without quotes has a number there for a YAML parser.
		if n, err := strconv.ParseFloat(text, 64); err == nil && want.V == n {
			return true
		}
	}
	return reflect.DeepEqual(canonical(want.V), canonical(got.V))
}

func canonical(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return v
	}
	return out
}

func (c caseFile) accepted(ref detect.ObjectRef, path string) acceptForm {
	short := ref.Kind + "/" + ref.Name
	if ref.Namespace != "" {
		short = ref.Kind + "/" + ref.Namespace + "/" + ref.Name
	}
	i := slices.IndexFunc(c.Accept, func(a acceptForm) bool { return a.Ref == short && a.Path == path })
	if i < 0 {
		return acceptForm{}
	}
	return c.Accept[i]
}

// judged is what is compared of a field or an object.
type judged struct {
	Drift       bool
	Cause       detect.Cause
	Disposition detect.Disposition
}

// mismatch says how got is not what the case wants, or accepts.
func (a acceptForm) mismatch(want, got judged) string {
	var out []string
	if got.Drift != want.Drift && !slices.Contains(a.Drift, got.Drift) {
		out = append(out, fmt.Sprintf("drift %v, want %v", got.Drift, want.Drift))
	}
	if got.Cause != want.Cause && !slices.Contains(a.Cause, got.Cause) {
		out = append(out, fmt.Sprintf("cause %s, want %s", got.Cause, want.Cause))
	}
	if got.Disposition != want.Disposition && !slices.Contains(a.Disposition, got.Disposition) {
		out = append(out, fmt.Sprintf("disposition %s, want %s", got.Disposition, want.Disposition))
	}
	return strings.Join(out, ", ")
}
