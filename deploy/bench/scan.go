package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"k8s.io/client-go/rest"

	"holdfast/deploy/lab"
	"holdfast/deploy/lab/binary"
)

const (
	namespace = "bench"
	objects   = 1000 // 334 Deployments, 333 Services, 333 ConfigMaps
	sampled   = 100  // of them are applied as a dry run
)

// manifest gives one object as Git has it: Deployments, Services and ConfigMaps in turn.
func manifest(i int) map[string]any {
	app := fmt.Sprintf("app-%03d", i/3)
	labels := func() map[string]any { return map[string]any{"app": app, "team": fmt.Sprintf("team-%d", i%20)} }
	head := func(apiVersion, kind string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": app, "namespace": namespace, "labels": labels()}}
	}
	container := func(name string, port int) map[string]any {
		return map[string]any{
			"name": name, "image": fmt.Sprintf("registry.example.test/%s/%s:1.%d.0", app, name, i%30),
			"ports":     []any{map[string]any{"name": "http", "containerPort": port}},
			"env":       []any{map[string]any{"name": "REGION", "value": "north"}, map[string]any{"name": "LEVEL", "value": "info"}},
			"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}, "limits": map[string]any{"memory": "256Mi"}},
		}
	}
	switch i % 3 {
	case 0:
		o := head("apps/v1", "Deployment")
		o["spec"] = map[string]any{
			"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": app}},
			"template": map[string]any{"metadata": map[string]any{"labels": labels()}, "spec": map[string]any{"containers": []any{
				container("web", 8080), container("proxy", 15090), container("logs", 9100),
			}}},
		}
		return o
	case 1:
		o := head("v1", "Service")
		o["spec"] = map[string]any{"selector": map[string]any{"app": app}, "ports": []any{map[string]any{"name": "http", "port": 80, "targetPort": "http"}}}
		return o
	}
	o := head("v1", "ConfigMap")
	o["data"] = map[string]any{"level": "info", "app.conf": strings.Repeat("key = value\n", 40)}
	return o
}

// withMarks adds the labels that Flux puts on what it applies.
func withMarks(o map[string]any) map[string]any {
	metadata, _ := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	labels["kustomize.toolkit.fluxcd.io/name"], labels["kustomize.toolkit.fluxcd.io/namespace"] = "shop", "flux-system"
	return o
}

// bench is a control plane that holds the objects, and a repository that declares them.
type bench struct {
	cluster                 *lab.Cluster
	client                  *http.Client
	folder                  string
	holdfast, kubectl       string
	application, repository []string
	idle                    float64 // CPU seconds a second of the API server with nothing to do
}

func scanFigures(ctx context.Context, program string, rounds int) ([]figure, error) {
	control, err := lab.New(ctx, lab.Options{})
	if err != nil {
		return nil, err
	}
	defer control.Stop()
	b, err := newBench(ctx, control, program)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(b.folder)
	get, scan, flux, err := b.runs(ctx, rounds)
	if err != nil {
		return nil, err
	}
	dry, err := b.dryRun(ctx)
	if err != nil {
		return nil, err
	}
	return []figure{
		{
			what: "scan of 1,000 objects in a folder, wall, against kubectl get -o json", measured: seconds(scan.program.wall),
			against: seconds(get.program.wall), ratio: by(scan.program.wall, get.program.wall), atMost: 1.5,
		},
		{
			what: "scan of 1,000 objects of Flux, and for strays of every kind", measured: seconds(flux.program.wall),
			against: seconds(get.program.wall), ratio: by(flux.program.wall, get.program.wall), atMost: 1.5,
		},
		{
			what: "  processor time of the command: scan (folder)", measured: seconds(scan.program.cpu),
			against: seconds(get.program.cpu), ratio: by(scan.program.cpu, get.program.cpu),
		},
		{
			what: "  processor time of the command: scan (Flux)", measured: seconds(flux.program.cpu),
			against: seconds(get.program.cpu), ratio: by(flux.program.cpu, get.program.cpu),
		},
		{
			what: "  peak memory of the command: scan (Flux)", measured: mebibytes(uint64(flux.program.memory)),
			against: mebibytes(uint64(get.program.memory)), ratio: float64(flux.program.memory) / float64(max(get.program.memory, 1)),
		},
		{
			what: "API server's CPU: scan (folder) against kubectl get", measured: seconds(scan.server),
			against: seconds(get.server), ratio: by(scan.server, get.server),
		},
		{
			what:     fmt.Sprintf("API server's CPU: scan (folder) against a dry run of each (of %d, times %d)", sampled, objects/sampled),
			measured: seconds(scan.server), against: seconds(dry), ratio: by(scan.server, dry), atMost: 0.05,
		},
		{
			what: "API server's CPU: scan (Flux) against the same", measured: seconds(flux.server), against: seconds(dry),
			ratio: by(flux.server, dry), atMost: 0.05,
		},
	}, nil
}

func newBench(ctx context.Context, control *lab.Lab, program string) (*bench, error) {
	store, err := binary.Open(".", os.Getenv(binary.CacheEnv))
	if err != nil {
		return nil, err
	}
	b := &bench{cluster: control.Clusters[0]}
	if b.kubectl, err = store.Find(binary.Kubebox()); err != nil {
		return nil, err
	}
	if b.holdfast, err = filepath.Abs(program); err != nil {
		return nil, err
	}
	if b.client, err = rest.HTTPClientFor(b.cluster.Config(lab.Engine)); err != nil {
		return nil, err
	}
	if b.folder, err = os.MkdirTemp("", "holdfast-bench-"); err != nil {
		return nil, err
	}
	if err := b.declare(ctx); err != nil {
		return nil, err
	}
	if err := b.apply(ctx); err != nil {
		return nil, err
	}
	return b, b.rest(ctx)
}

// declare writes the repository, one file for each application.
func (b *bench) declare(ctx context.Context) error {
	repository := filepath.Join(b.folder, "repository")
	if err := os.MkdirAll(filepath.Join(repository, "apps"), 0o755); err != nil {
		return err
	}
	for i := 0; i < objects; i += 3 {
		var file bytes.Buffer
		for j := i; j < min(i+3, objects); j++ {
			text, err := yaml.Marshal(manifest(j))
			if err != nil {
				return err
			}
			file.WriteString("---\n")
			file.Write(text)
		}
		if err := os.WriteFile(filepath.Join(repository, "apps", fmt.Sprintf("app-%03d.yaml", i/3)), file.Bytes(), 0o644); err != nil {
			return err
		}
	}
	application := filepath.Join(b.folder, "application.yaml")
	text := "apiVersion: holdfast/v1\nkind: Application\nmetadata: {name: shop, namespace: flux-system}\nspec: {engine: flux, path: apps}\n"
	if err := os.WriteFile(application, []byte(text), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=bench", "-c", "user.email=bench@example.test", "commit", "-q", "-m", "All"},
	} {
		if out, err := exec.CommandContext(ctx, "git", append([]string{"-C", repository}, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, out)
		}
	}
	b.repository = []string{"--git", repository, "--path", "apps"}
	b.application = []string{"--git", repository, "--application", application}
	return nil
}

// apply applies the objects as Flux's kustomize-controller does, eight at a time.
func (b *bench) apply(ctx context.Context) error {
	if err := b.send(ctx, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}, false); err != nil {
		return err
	}
	numbers := make(chan int)
	failures := make([]error, 8)
	var wait sync.WaitGroup
	for w := range failures {
		wait.Go(func() {
			for i := range numbers {
				if err := b.send(ctx, withMarks(manifest(i)), false); err != nil {
					failures[w] = err
				}
			}
		})
	}
	for i := range objects {
		numbers <- i
	}
	close(numbers)
	wait.Wait()
	return errors.Join(failures...)
}

// send applies one object on the server's side.
func (b *bench) send(ctx context.Context, o map[string]any, dry bool) error {
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	metadata, _ := o["metadata"].(map[string]any)
	path := map[any]string{
		"Namespace": "/api/v1/namespaces/", "Deployment": "/apis/apps/v1/namespaces/bench/deployments/",
		"Service": "/api/v1/namespaces/bench/services/", "ConfigMap": "/api/v1/namespaces/bench/configmaps/",
	}[o["kind"]] + fmt.Sprint(metadata["name"]) + "?fieldManager=kustomize-controller&force=true"
	if dry {
		path += "&dryRun=All"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, b.cluster.Server()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	response, err := b.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("apply %v %v: %s: %s", o["kind"], metadata["name"], response.Status, answer)
	}
	return err
}

// rest waits until the API server has settled, and measures what it uses with nothing to do.
func (b *bench) rest(ctx context.Context) error {
	const settle, watch = 5 * time.Second, 5 * time.Second
	for _, wait := range []time.Duration{settle, watch} {
		before, err := b.cluster.CPU()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		after, err := b.cluster.CPU()
		if err != nil {
			return err
		}
		b.idle = (after - before).Seconds() / wait.Seconds()
	}
	return nil
}

// served runs something and gives the API server's processor time for it, without what it uses when idle.
func (b *bench) served(run func() error) (time.Duration, error) {
	before, err := b.cluster.CPU()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := run(); err != nil {
		return 0, err
	}
	idle := time.Duration(b.idle * float64(time.Since(start)))
	after, err := b.cluster.CPU()
	return max(0, after-before-idle), err
}

// trip is a program's own cost and the API server's for it.
type trip struct {
	program cost
	server  time.Duration // the mean: the kernel counts in hundredths of a second
}

// runs measures kubectl get and the two scans in turn, so that other load hits all alike. One run before
// warms caches.
func (b *bench) runs(ctx context.Context, rounds int) (get, scan, flux trip, err error) {
	kubeconfig := b.cluster.Kubeconfig(lab.Alice)
	command := func(program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBERC=off", "KUBECACHEDIR="+filepath.Join(b.folder, "cache"))
		return cmd
	}
	const inSync = "\"objects\": 1000,\n    \"drifted\": 0,"
	jobs := []struct {
		out           *trip
		program, want string
		args          []string
	}{
		{&get, b.kubectl, "app-333", []string{"kubectl", "get", "-n", namespace, "deployments,services,configmaps", "-o", "json"}},
		{&scan, b.holdfast, inSync, append([]string{"scan", "-o", "json", "--kubeconfig", kubeconfig}, b.repository...)},
		{&flux, b.holdfast, inSync, append([]string{"scan", "-o", "json", "--kubeconfig", kubeconfig}, b.application...)},
	}
	all := make([][]cost, len(jobs))
	for round := range rounds + 1 {
		for i, job := range jobs {
			var c cost
			server, err := b.served(func() (err error) {
				c, err = runProgram(command(job.program, job.args...), job.want)
				return err
			})
			if err != nil {
				return get, scan, flux, err
			}
			if round > 0 {
				all[i] = append(all[i], c)
				job.out.server += server / time.Duration(rounds)
			}
		}
	}
	for i, job := range jobs {
		job.out.program = median(all[i])
	}
	return get, scan, flux, nil
}

// dryRun gives the API server's processor time for a dry-run apply of every object, extrapolated from a
// sample that takes every tenth and the next two of it in turn.
func (b *bench) dryRun(ctx context.Context) (time.Duration, error) {
	spent, err := b.served(func() error {
		for i := range sampled {
			if err := b.send(ctx, withMarks(manifest(i*objects/sampled+i%3)), true); err != nil {
				return err
			}
		}
		return nil
	})
	return spent * objects / sampled, err
}
