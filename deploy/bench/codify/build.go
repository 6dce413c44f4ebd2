package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// programs are those that judge: kubectl for kustomizations and Helm for charts, as the lab has them.
type programs struct {
	kubectl, helm string
	// home is a folder for what they keep.
	home string
}

// objects are what a build gave, by identity as written.
type objects map[gitops.ObjectID]map[string]any

// errOwn says that no other program can build what an Application asks for.
var errOwn = errors.New("no program here builds this")

// build renders an Application from a workspace, with programs that know nothing of Holdfast. How is who did it.
func (p programs) build(ctx context.Context, w *workspace, app gitops.Application) (made objects, how string, err error) {
	switch {
	case len(app.Parts) > 0 || len(app.Mounts) > 0:
		return nil, "", errOwn
	case app.Kind == "Kustomization" && app.Engine == gitops.Flux:
		return p.flux(ctx, w, app)
	case app.Kind == "HelmRelease":
		return p.helmRelease(ctx, w, app)
	case app.Engine == gitops.ArgoCD:
		return p.argocd(ctx, w, app)
	case app.Render.Helm != nil:
		h := app.Render.Helm
		r := release{chart: app.Source.Path, name: h.ReleaseName, namespace: h.Namespace}
		for _, v := range h.Values {
			r.args = append(r.args, "--values", w.at(v.File))
		}
		return p.template(ctx, w, r)
	case app.Render.Kustomize != nil:
		return p.kustomize(ctx, w, app.Source.Path)
	}
	return p.plain(ctx, w, app.Source.Path, false)
}

func (w *workspace) at(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// run runs a program and gives the objects that it prints.
func (p programs) run(ctx context.Context, w *workspace, program string, args ...string) (objects, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "HOME="+p.home, "KUBERC=off", "KUBECONFIG="+filepath.Join(p.home, "none"),
		"HELM_CACHE_HOME="+p.home, "HELM_CONFIG_HOME="+p.home, "HELM_DATA_HOME="+p.home)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %.600s", filepath.Base(program), args[0], err, strings.ReplaceAll(said.String(), w.dir+"/", ""))
	}
	all, err := documents(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s %s: what it printed: %w", filepath.Base(program), args[0], err)
	}
	return byID(all), nil
}

// kustomize builds a folder as it stands.
func (p programs) kustomize(ctx context.Context, w *workspace, folder string) (objects, string, error) {
	made, err := p.run(ctx, w, p.kubectl, "kubectl", "kustomize", "--load-restrictor", "LoadRestrictionsNone", w.at(folder))
	return made, "kubectl kustomize", err
}

// kustomizeWith builds a folder whose kustomization an engine changed before; one that lists all manifests is made
// where there is none.
func (p programs) kustomizeWith(ctx context.Context, w *workspace, folder string, change func(map[string]any) error) (made objects, err error) {
	file, before, err := kustomizationOf(w, folder)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	if before == nil {
		file = path.Join(folder, "kustomization.yaml")
		content["resources"], err = manifests(w, folder, true)
	} else {
		err = yaml.Unmarshal(before, &content)
	}
	if err == nil {
		err = change(content)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return nil, err
	}
	err = w.edited([]gitops.Edit{{Path: file, Before: before, After: text}}, func() error {
		made, _, err = p.kustomize(ctx, w, folder)
		return err
	})
	return made, err
}

// kustomizationOf reads the kustomization file of a folder; data is nil without one.
func kustomizationOf(w *workspace, folder string) (name string, data []byte, err error) {
	for _, base := range kustomizationFiles() {
		name = path.Join(folder, base)
		data, err = os.ReadFile(w.at(name))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return name, data, err
		}
	}
	return "", nil, nil
}

// manifests lists the manifests of a folder, relative to it. Deeper ones count with recurse; a folder with a
// kustomization of its own stands for what is in it.
func manifests(w *workspace, folder string, recurse bool) ([]any, error) {
	entries, err := os.ReadDir(w.at(folder))
	if err != nil {
		return nil, err
	}
	var out []any
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir() && recurse:
			inner := path.Join(folder, name)
			if _, data, err := kustomizationOf(w, inner); err != nil || data != nil {
				out = append(out, name)
				continue
			}
			below, err := manifests(w, inner, true)
			if err != nil {
				return nil, err
			}
			for _, b := range below {
				out = append(out, path.Join(name, textOf(b)))
			}
		case !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) && !slices.Contains(kustomizationFiles(), name):
			out = append(out, name)
		}
	}
	return out, nil
}

// plain builds manifests as they stand: kubectl gets a kustomization that lists them, and where it refuses one the
// files are read as YAML.
func (p programs) plain(ctx context.Context, w *workspace, at string, recurse bool) (objects, string, error) {
	folder, names := at, []any(nil)
	info, err := os.Stat(w.at(at))
	if err == nil && info.IsDir() {
		names, err = manifests(w, at, recurse)
	} else {
		folder, names = path.Dir(at), []any{path.Base(at)}
	}
	if err != nil {
		return nil, "", err
	}
	if _, data, _ := kustomizationOf(w, folder); data == nil {
		text, err := yaml.Marshal(map[string]any{"resources": names})
		if err != nil {
			return nil, "", err
		}
		var made objects
		err = w.edited([]gitops.Edit{{Path: path.Join(folder, "kustomization.yaml"), After: text}}, func() (err error) {
			made, _, err = p.kustomize(ctx, w, folder)
			return err
		})
		if err == nil {
			return made, "kubectl kustomize", nil
		}
	}
	var all []map[string]any
	for _, name := range names {
		data, err := os.ReadFile(w.at(path.Join(folder, textOf(name))))
		if err != nil {
			return nil, "", err
		}
		docs, err := documents(data)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", textOf(name), err)
		}
		all = append(all, docs...)
	}
	return byID(all), "a YAML reader", nil
}

// documents reads many YAML documents; lists of objects become their items.
func documents(data []byte) ([]map[string]any, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var out []map[string]any
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, err
		}
		var content map[string]any
		if err := utiljson.Unmarshal(asJSON, &content); err != nil {
			continue // a document that is no mapping is no object
		}
		items, isList := content["items"].([]any)
		switch {
		case isList && strings.HasSuffix(textOf(content["kind"]), "List"):
			for _, item := range items {
				out = append(out, mapOf(item))
			}
		case textOf(content["kind"]) != "":
			out = append(out, content)
		}
	}
}

func byID(all []map[string]any) objects {
	out := objects{}
	for _, content := range all {
		out[gitops.NewObject(content).ID] = content
	}
	return out
}

// release is what `helm template` is asked for.
type release struct {
	chart, name, namespace string
	args                   []string
}

func (p programs) template(ctx context.Context, w *workspace, r release) (objects, string, error) {
	args := []string{"template", r.name, w.at(r.chart), "--namespace", r.namespace, "--kube-version", kubeVersion, "--include-crds"}
	made, err := p.run(ctx, w, p.helm, append(args, r.args...)...)
	return made, "helm template", err
}
