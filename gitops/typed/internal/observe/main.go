// Command observe starts a real API server, asks it by dry run for each object of minimal.yaml, and writes
// what it would store beside what was asked to testdata/observed.json. internal/learn makes the table of
// defaults of it, and a test checks that the comparison explains all that the server added.
//
// Run it with `go run ./gitops/typed/internal/observe` at the root of the repository, after `make lab`.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"holdfast/deploy/lab"
)

//go:embed minimal.yaml
var minimal []byte

// Observation is an object as it was asked for and as the server would store it.
type Observation struct {
	Version string         `json:"version"`
	Asked   map[string]any `json:"asked"`
	Stored  map[string]any `json:"stored"`
}

func main() {
	out := flag.String("o", "gitops/typed/testdata/observed.json", "the file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	l, err := lab.New(ctx, lab.Options{})
	if err != nil {
		return err
	}
	defer l.Stop()
	observations, err := observe(ctx, l.Clusters[0].Config(lab.Admin))
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(observations, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

func observe(ctx context.Context, config *rest.Config) ([]Observation, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	version, err := discover.ServerVersion()
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(discover)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	// Pods are refused while their service account does not exist.
	account := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default"}}}
	_, _ = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace("default").Create(ctx, account, metav1.CreateOptions{})

	var out []Observation
	var problems []error
	for _, doc := range bytes.Split(minimal, []byte("\n---\n")) {
		var asked map[string]any
		if err := yaml.Unmarshal(doc, &asked); err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{Object: asked}
		gvk := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", gvk.Kind, object.GetName(), err))
			continue
		}
		var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == "namespace" {
			resource = client.Resource(mapping.Resource).Namespace("default")
		}
		stored, err := resource.Create(ctx, object.DeepCopy(), metav1.CreateOptions{DryRun: []string{"All"}, FieldManager: "observe"})
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", gvk.Kind, object.GetName(), err))
			continue
		}
		out = append(out, Observation{version.GitVersion, asked, stable(stored)})
	}
	return out, errors.Join(problems...)
}

// stable replaces what differs at each run.
func stable(o *unstructured.Unstructured) map[string]any {
	const uid = "00000000-0000-0000-0000-000000000001"
	text, _ := json.Marshal(o.Object)
	text = bytes.ReplaceAll(text, []byte(o.GetUID()), []byte(uid))
	var out map[string]any
	_ = json.Unmarshal(text, &out)
	metadata := out["metadata"].(map[string]any)
	metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
	delete(metadata, "managedFields")
	delete(out, "status")
	return out
}
