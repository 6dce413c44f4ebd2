package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"holdfast/deploy/lab/binary"
	"holdfast/gitops"
	"holdfast/gitops/render"
	"holdfast/gitops/repo"
)

const overlaid = 50

// overlay writes an overlay of 50 resources: a base of Deployments, Services and ConfigMaps, and on top a
// namespace, a prefix, labels, images, replicas and a patch.
func overlay(folder string) error {
	files := map[string]string{}
	var resources, images, replicas strings.Builder
	for i := range overlaid {
		o := manifest(i)
		if metadata, ok := o["metadata"].(map[string]any); ok {
			delete(metadata, "namespace")
		}
		text, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("base/object-%02d.yaml", i)
		files[name] = string(text)
		fmt.Fprintf(&resources, "- %s\n", filepath.Base(name))
		if i%3 == 0 {
			fmt.Fprintf(&images, "- {name: registry.example.test/app-%03d/web, newTag: 2.%d.0}\n", i/3, i)
			fmt.Fprintf(&replicas, "- {name: app-%03d, count: %d}\n", i/3, i+1)
		}
	}
	files["base/kustomization.yaml"] = "resources:\n" + resources.String()
	files["overlay/kustomization.yaml"] = "resources: [../base]\nnamespace: shop\nnamePrefix: prod-\n" +
		"labels: [{pairs: {env: prod}, includeSelectors: true}]\nimages:\n" + images.String() + "replicas:\n" + replicas.String() +
		"patches:\n- target: {kind: Deployment}\n  patch: |\n    - {op: add, path: /spec/template/spec/priorityClassName, value: high}\n"
	for name, text := range files {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func renderFigures(ctx context.Context, _ string, rounds int) ([]figure, error) {
	folder, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := overlay(folder); err != nil {
		return nil, err
	}
	store, err := binary.Open(".", os.Getenv(binary.CacheEnv))
	if err != nil {
		return nil, err
	}
	kubectl, err := store.Find(binary.Kubebox())
	if err != nil {
		return nil, err
	}
	where := filepath.Join(folder, "overlay")
	jobs := []struct {
		times time.Duration // a round
		run   func() error
	}{
		{5, func() error { // from the files on disk, as kustomize does
			tree, err := repo.Folder(folder, repo.Limits{})
			if err != nil {
				return err
			}
			result, err := render.Render(ctx, tree, "overlay", gitops.Render{Kustomize: &gitops.Kustomize{}}, render.Env{})
			if err == nil && len(result.Objects) != overlaid {
				err = fmt.Errorf("%d objects, want %d", len(result.Objects), overlaid)
			}
			return err
		}},
		{5, func() error {
			built, err := krusty.MakeKustomizer(&krusty.Options{
				Reorder: krusty.ReorderOptionLegacy, PluginConfig: types.DisabledPluginConfig(),
			}).Run(filesys.MakeFsOnDisk(), where)
			if err != nil {
				return err
			}
			_, err = built.AsYaml()
			return err
		}},
		{1, func() error {
			_, err := runProgram(exec.CommandContext(ctx, kubectl, "kubectl", "kustomize", where), "kind: Deployment")
			return err
		}},
	}
	all := make([][]cost, len(jobs))
	for round := range rounds + 1 { // the first warms up
		for i, job := range jobs {
			start, cpu := time.Now(), ownCPU()
			for range job.times {
				if err := job.run(); err != nil {
					return nil, err
				}
			}
			if round > 0 {
				all[i] = append(all[i], cost{wall: time.Since(start) / job.times, cpu: (ownCPU() - cpu) / job.times})
			}
		}
	}
	own, library, program := median(all[0]), median(all[1]), median(all[2])
	return []figure{
		{
			what: "render of a 50-resource overlay against kustomize in this process, wall", measured: seconds(own.wall),
			against: seconds(library.wall), ratio: by(own.wall, library.wall), atMost: 1.2,
		},
		{
			what: "  the same, processor time", measured: seconds(own.cpu),
			against: seconds(library.cpu), ratio: by(own.cpu, library.cpu), atMost: 1.2,
		},
		{
			what: "render of the same against the program kubectl kustomize, wall", measured: seconds(own.wall),
			against: seconds(program.wall), ratio: by(own.wall, program.wall), atMost: 1.2,
		},
	}, nil
}
