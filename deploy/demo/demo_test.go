// Package demo holds a small Flux repository and the recording of a real API server that ran it. Its tests
// keep the two together.
package demo

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"holdfast/detect/live"
	"holdfast/gitops"
)

// prepare makes the repository as the demo does and gives its commit.
func prepare(t *testing.T, dir string) string {
	t.Helper()
	command := exec.Command("./prepare.sh", dir)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("prepare.sh: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func recorded(t *testing.T) map[gitops.ObjectID]gitops.Object {
	t.Helper()
	snapshot, err := live.Dump([]string{"live.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if len(snapshot.Notes) > 0 {
		t.Errorf("notes: %q", snapshot.Notes)
	}
	objects := map[gitops.ObjectID]gitops.Object{}
	for o := range snapshot.Objects.All() {
		objects[o.ID] = o
	}
	return objects
}

func at(t *testing.T, o gitops.Object, path string) any {
	t.Helper()
	p, err := gitops.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	return gitops.Lookup(o.Content, p).V
}

func TestTheRecordedRevisionIsTheCommitThatTheDemoMakes(t *testing.T) {
	t.Setenv("GIT_AUTHOR_NAME", "somebody else")
	commit := prepare(t, t.TempDir())
	kustomization := recorded(t)[gitops.ObjectID{
		Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "flux-system", Name: "shop"}]
	if got, want := at(t, kustomization, "status.lastAppliedRevision"), "main@sha1:"+commit; got != want {
		t.Errorf("recorded %v, the repository is at %s: record again (see README.md)", got, want)
	}
}

func TestTheRecordingHoldsTheDriftThatTheDemoShows(t *testing.T) {
	objects := recorded(t)
	deployment := func(name string) gitops.Object {
		return objects[gitops.ObjectID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: name}]
	}
	for _, c := range []struct {
		object gitops.Object
		path   string
		want   any
	}{
		{deployment("web"), "spec.replicas", int64(6)},
		{deployment("web"), "metadata.labels.team", "checkout"},
		{deployment("api"), "spec.template.spec.containers[name=api].image", "registry.example.test/shop/api:2.4.2"},
		{deployment("api"), "spec.template.spec.containers[name=api].env[name=CACHE_TTL].value", "30s"},
		{deployment("worker"), "spec.template.spec.containers[name=worker].resources.limits.memory", "1Gi"},
		{deployment("media"), "spec.template.spec.hostNetwork", true},
		{deployment("search"), "spec.replicas", int64(3)},
	} {
		if got := at(t, c.object, c.path); got != c.want {
			t.Errorf("%s %s is %v, want %v", c.object.ID, c.path, got, c.want)
		}
	}
	if _, there := objects[gitops.ObjectID{Kind: "Service", Namespace: "shop", Name: "search"}]; there {
		t.Error("the Service search is there")
	}
	stray := objects[gitops.ObjectID{Kind: "ConfigMap", Namespace: "shop", Name: "feature-flags"}]
	if stray.Labels()["kustomize.toolkit.fluxcd.io/name"] != "shop" {
		t.Errorf("the stray ConfigMap has labels %v", stray.Labels())
	}
}

func TestTheAuditLogNamesWhoMadeTheDrift(t *testing.T) {
	file, err := os.Open("audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var got []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			APIVersion, Verb string
			User             struct{ Username string }
			ObjectRef        struct{ Resource, Subresource, Name string }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if event.APIVersion != "audit.k8s.io/v1" || event.User.Username != "alice@example.test" {
			t.Errorf("event %+v", event)
		}
		got = append(got, strings.TrimSuffix(event.Verb+" "+event.ObjectRef.Resource+" "+event.ObjectRef.Name+" "+event.ObjectRef.Subresource, " "))
	}
	want := []string{
		"patch deployments web scale", "patch deployments api", "patch deployments worker", "patch deployments api",
		"patch deployments web", "patch deployments media", "delete services search", "create configmaps feature-flags",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestNothingPrivateIsRecorded(t *testing.T) {
	for _, name := range []string{"live.yaml", "audit.jsonl"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"kind: Secret", `"kind":"Secret"`, "BEGIN CERTIFICATE", "Bearer", "/root", "/home"} {
			if strings.Contains(string(data), word) {
				t.Errorf("%s holds %q", name, word)
			}
		}
	}
}
