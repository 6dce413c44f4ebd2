package compare_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"holdfast/deploy/lab"
	"holdfast/detect/compare"
	"holdfast/gitops"
)

// clusters are three: an object can be made in one way only, since much of it cannot be deleted without controllers.
var clusters = lab.Shared{Options: lab.Options{Clusters: 3, APIServerFlags: []string{"--runtime-config=api/all=true"}}}

func TestMain(m *testing.M) { os.Exit(clusters.Run(m)) }

// ways are how people write objects with kubectl, one for each cluster.
func ways() [][]string {
	return [][]string{{"create"}, {"apply"}, {"apply", "--server-side", "--field-manager=kustomize-controller"}}
}

// TestWhatWasWrittenIsInSync writes an object of each kind, in each way, and reads it back at every version that is
// served: there is nothing to find.
func TestWhatWasWrittenIsInSync(t *testing.T) {
	l := clusters.Get(t)
	text, err := os.ReadFile("../../gitops/typed/internal/observe/minimal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := inOrder(documents(t, string(text)))
	var wait sync.WaitGroup
	for i, way := range ways() {
		wait.Go(func() { roundTrip(t, l.Clusters[i], way, objects) })
	}
	wait.Wait()
}

func documents(t *testing.T, text string) []gitops.Object {
	t.Helper()
	var out []gitops.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(doc), &content); err != nil {
			t.Fatal(err)
		}
		out = append(out, gitops.NewObject(content))
	}
	return out
}

// inOrder puts last what would hinder the rest: quotas, limits, webhooks and policies.
func inOrder(objects []gitops.Object) []gitops.Object {
	slices.SortStableFunc(objects, func(a, b gitops.Object) int { return rank(a) - rank(b) })
	return objects
}

func rank(o gitops.Object) int {
	switch {
	case o.ID.Kind == "CustomResourceDefinition":
		return 0
	case o.ID.Group == "admissionregistration.k8s.io", o.ID.Group == "apiregistration.k8s.io", o.ID.Kind == "ResourceQuota", o.ID.Kind == "LimitRange":
		return 2
	}
	return 1
}

// roundTrip writes and reads the objects on one cluster. It runs beside others and ends no test.
func roundTrip(t *testing.T, c *lab.Cluster, way []string, objects []gitops.Object) {
	served, err := serve(c)
	if err != nil {
		t.Error(err)
		return
	}
	// without controllers nobody makes the account of the pods
	_, _ = c.Exec(t.Context(), lab.Admin, "", "create", "serviceaccount", "default", "-n", "default")
	var written []gitops.Object
	var manifests bytes.Buffer
	for _, o := range objects {
		if served.at(o, o.APIVersion) == nil {
			continue // of a feature that is off
		}
		written = append(written, o)
		data, err := yaml.Marshal(o.Content)
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(&manifests, "---\n%s", data)
	}
	if len(written) < 140 {
		t.Errorf("only %d objects are of kinds that are served", len(written))
	}
	if out, err := c.Exec(t.Context(), lab.Admin, manifests.String(), append(slices.Clone(way), "-f", "-")...); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(way, " "), err, out)
	}
	comparer := newComparer(t)
	for _, o := range written {
		for _, version := range served.versions(o) {
			live, err := served.get(t, o, version)
			if err != nil {
				t.Errorf("%s: %s at %s: %v", strings.Join(way, " "), o.ID, version, err)
				continue
			}
			compareWritten(t, comparer, strings.Join(way, " "), o, live)
		}
	}
}

func compareWritten(t *testing.T, c *compare.Comparer, way string, o, live gitops.Object) {
	t.Helper()
	differences, err := c.Compare(o, live, compare.Options{})
	if err != nil && live.APIVersion != o.APIVersion && strings.Contains(err.Error(), "read it at Git's version") {
		return // of another shape, and said so
	}
	if err != nil {
		t.Errorf("%s: %v", way, err)
	}
	for _, d := range differences {
		if !admitted(o.ID.Kind, d.Path) && !strings.Contains(d.Path.String(), "kubectl.kubernetes.io/last-applied-configuration") {
			t.Errorf("%s: %s declared at %s, read at %s: %s %s: Git %v, live %v", way, o.ID, o.APIVersion, live.APIVersion, d.Kind, d.Path, d.Git.V, d.Live.V)
		}
	}
}

// served is what a cluster serves.
type served struct {
	client dynamic.Interface
	lists  []*metav1.APIResourceList
}

func serve(c *lab.Cluster) (served, error) {
	config := c.Config(lab.Admin)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return served{}, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return served{}, err
	}
	_, lists, err := d.ServerGroupsAndResources()
	if discovery.IsGroupDiscoveryFailedError(err) {
		err = nil // nobody answers for the groups of the APIServices
	}
	return served{client, lists}, err
}

// at gives the resource of an object's kind at a version; nil where it is not served.
func (s served) at(o gitops.Object, apiVersion string) *metav1.APIResource {
	for _, list := range s.lists {
		if list.GroupVersion != apiVersion {
			continue
		}
		for i, r := range list.APIResources {
			if r.Kind == o.ID.Kind && !strings.Contains(r.Name, "/") {
				return &list.APIResources[i]
			}
		}
	}
	return nil
}

func (s served) versions(o gitops.Object) []string {
	var out []string
	for _, list := range s.lists {
		if gv, err := schema.ParseGroupVersion(list.GroupVersion); err == nil && gv.Group == o.ID.Group && s.at(o, list.GroupVersion) != nil {
			out = append(out, list.GroupVersion)
		}
	}
	return out
}

func (s served) get(t *testing.T, o gitops.Object, apiVersion string) (gitops.Object, error) {
	r := s.at(o, apiVersion)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return gitops.Object{}, err
	}
	namespace := o.ID.Namespace
	if r.Namespaced && namespace == "" {
		namespace = "default"
	}
	live, err := s.client.Resource(gv.WithResource(r.Name)).Namespace(namespace).Get(t.Context(), o.ID.Name, metav1.GetOptions{})
	if err != nil {
		return gitops.Object{}, err
	}
	return gitops.NewObject(live.Object), nil
}

// TestCustomResourcesAreInSyncAfterTheyAreWritten does the same with defaults that come from a definition.
func TestCustomResourcesAreInSyncAfterTheyAreWritten(t *testing.T) {
	l := clusters.Get(t)
	text, err := os.ReadFile("testdata/gears.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition, resources, _ := strings.Cut(string(text), "\n---\n")
	crd := documents(t, definition)
	for i, way := range ways() {
		c := l.Clusters[i]
		c.Kubectl(t, lab.Admin, definition, append(slices.Clone(way), "-f", "-")...)
		c.Kubectl(t, lab.Admin, "", "wait", "--for=condition=Established", "crd/gears.example.test")
		c.Kubectl(t, lab.Admin, resources, append(slices.Clone(way), "-f", "-")...)
		served, err := serve(c)
		if err != nil {
			t.Fatal(err)
		}
		comparer := newComparer(t, crd...)
		for _, o := range documents(t, resources) {
			for _, version := range served.versions(o) {
				live, err := served.get(t, o, version)
				if err != nil {
					t.Fatal(err)
				}
				compareWritten(t, comparer, strings.Join(way, " "), o, live)
			}
		}
	}
}
