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
	"regexp"
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

// servers are the API servers that are asked, one after the other. The second serves every version that there is; what
// the first knows too is asked there alone, since features that are off by default change defaults.
func servers() []lab.Options {
	return []lab.Options{
		{},
		{APIServerFlags: []string{"--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true"}},
	}
}

func run(out string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	rest, err := documents()
	if err != nil {
		return err
	}
	var observations []Observation
	for _, options := range servers() {
		var seen []Observation
		if seen, rest, err = start(ctx, options, rest); err != nil {
			return err
		}
		observations = append(observations, seen...)
	}
	if len(rest) > 0 {
		return fmt.Errorf("no API server serves %s %s", rest[0].GetAPIVersion(), rest[0].GetKind())
	}
	text, err := json.MarshalIndent(observations, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

func documents() ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, doc := range bytes.Split(minimal, []byte("\n---\n")) {
		var asked map[string]any
		if err := yaml.Unmarshal(doc, &asked); err != nil {
			return nil, err
		}
		out = append(out, &unstructured.Unstructured{Object: asked})
	}
	return out, nil
}

func start(ctx context.Context, options lab.Options, objects []*unstructured.Unstructured) (seen []Observation, unserved []*unstructured.Unstructured, err error) {
	l, err := lab.New(ctx, options)
	if err != nil {
		return nil, nil, err
	}
	defer l.Stop()
	return observe(ctx, l.Clusters[0].Config(lab.Admin), objects)
}

// observe asks one server for all objects whose kinds it serves.
func observe(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) (seen []Observation, unserved []*unstructured.Unstructured, err error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	version, err := discover.ServerVersion()
	if err != nil {
		return nil, nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(discover)
	if err != nil {
		return nil, nil, err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	// Pods are refused while their service account does not exist.
	account := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default"}}}
	_, _ = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace("default").Create(ctx, account, metav1.CreateOptions{})

	var problems []error
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			unserved = append(unserved, object)
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
		seen = append(seen, Observation{version.GitVersion, object.Object, stable(stored)})
	}
	return seen, unserved, errors.Join(problems...)
}

// stable replaces what differs at each run.
func stable(o *unstructured.Unstructured) map[string]any {
	const uid = "00000000-0000-0000-0000-000000000001"
	text, _ := json.Marshal(o.Object)
	text = bytes.ReplaceAll(text, []byte(o.GetUID()), []byte(uid))
	text = regexp.MustCompile(`"timeAdded":"[^"]*"`).ReplaceAll(text, []byte(`"timeAdded":"2026-01-01T00:00:00Z"`))
	var out map[string]any
	_ = json.Unmarshal(text, &out)
	metadata := out["metadata"].(map[string]any)
	metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
	delete(metadata, "managedFields")
	delete(out, "status")
	return out
}
