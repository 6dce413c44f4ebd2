// Package deploy holds manifests for the bot. Its tests keep them read-only.
package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// manifest is the part of a manifest that grants something.
type manifest struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Rules           []rule
	AggregationRule any
	RoleRef         struct{ Kind, Name string }
	Resources       []string // of a kustomization
}

type rule struct {
	APIGroups, Resources, ResourceNames, Verbs, NonResourceURLs []string
}

// manifests reads every manifest for the bot; the lab's and the demo's are none.
func manifests(t *testing.T) map[string][]manifest {
	t.Helper()
	out := map[string][]manifest{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (name == "lab" || name == "demo") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		documents, err := decode(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		out[filepath.ToSlash(name)] = documents
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decode(data []byte) ([]manifest, error) {
	var out []manifest
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		var m manifest
		if err := yaml.Unmarshal(document, &m); err != nil {
			return nil, err
		}
		if m.Kind != "" {
			out = append(out, m)
		}
	}
}

// faults says what about a manifest would let the bot do more than read, or read Secrets unasked.
func faults(file string, m manifest, roles []string) []string {
	var out []string
	optIn := strings.HasPrefix(filepath.Base(file), "secrets-")
	switch m.Kind {
	case "Role", "ClusterRole":
		for _, r := range m.Rules {
			out = append(out, ruleFaults(r, optIn)...)
		}
	case "RoleBinding", "ClusterRoleBinding":
		if !slices.Contains(roles, m.RoleRef.Name) {
			out = append(out, fmt.Sprintf("binds %s, which is not defined here", m.RoleRef.Name))
		}
	case "Kustomization":
		for _, r := range m.Resources {
			if strings.Contains(r, "secrets-") {
				out = append(out, "includes the opt-in "+r)
			}
		}
	}
	return out
}

func ruleFaults(r rule, secrets bool) []string {
	var out []string
	for _, verb := range r.Verbs {
		if verb != "get" && verb != "list" && verb != "watch" {
			out = append(out, "verb "+verb)
		}
	}
	for _, resource := range r.Resources {
		// A GET on pods/exec or nodes/proxy runs commands.
		if strings.Contains(resource, "/") {
			out = append(out, "subresource "+resource)
		}
		if resource == "secrets" && !secrets {
			out = append(out, "secrets outside an opt-in file")
		}
	}
	if len(r.NonResourceURLs) > 0 {
		out = append(out, "nonResourceURLs")
	}
	for _, name := range slices.Concat(r.APIGroups, r.Resources, r.ResourceNames) {
		if strings.Contains(name, "*") {
			out = append(out, "wildcard "+name)
		}
	}
	return out
}

func TestTheBotCanOnlyRead(t *testing.T) {
	all := manifests(t)
	var roles []string
	rules := 0
	for _, documents := range all {
		for _, m := range documents {
			if m.Kind == "ClusterRole" || m.Kind == "Role" {
				roles = append(roles, m.Metadata.Name)
				rules += len(m.Rules)
			}
		}
	}
	if rules < 10 {
		t.Fatalf("%d rules found: the test does not see the manifests", rules)
	}
	for file, documents := range all {
		for _, m := range documents {
			for _, fault := range faults(file, m, roles) {
				t.Errorf("%s: %s %s: %s", file, m.Kind, m.Metadata.Name, fault)
			}
		}
	}
}

func TestFaultsAreSeen(t *testing.T) {
	cases := []struct {
		name, file, manifest, want string
	}{
		{"a write verb", "a.yaml", `{kind: ClusterRole, rules: [{apiGroups: [""], resources: [pods], verbs: [get, patch]}]}`, "verb patch"},
		{"all verbs", "a.yaml", `{kind: Role, rules: [{apiGroups: [""], resources: [pods], verbs: ["*"]}]}`, "verb *"},
		{"impersonation", "a.yaml", `{kind: ClusterRole, rules: [{apiGroups: [""], resources: [users], verbs: [impersonate]}]}`, "verb impersonate"},
		{"all resources", "a.yaml", `{kind: ClusterRole, rules: [{apiGroups: [apps], resources: ["*"], verbs: [get]}]}`, "wildcard *"},
		{"all groups", "a.yaml", `{kind: ClusterRole, rules: [{apiGroups: ["*"], resources: [pods], verbs: [get]}]}`, "wildcard *"},
		{"secrets", "reader.yaml", `{kind: ClusterRole, rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}`, "secrets outside an opt-in file"},
		{"a subresource", "a.yaml", `{kind: ClusterRole, rules: [{apiGroups: [""], resources: [pods/exec], verbs: [get]}]}`, "subresource pods/exec"},
		{"a foreign role", "a.yaml", `{kind: ClusterRoleBinding, roleRef: {kind: ClusterRole, name: cluster-admin}}`, "binds cluster-admin, which is not defined here"},
		{"an opt-in made default", "a.yaml", `{kind: Kustomization, resources: [secrets-values.yaml]}`, "includes the opt-in secrets-values.yaml"},
		{"nothing wrong in an opt-in", "secrets-values.yaml", `{kind: ClusterRole, rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}]}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			documents, err := decode([]byte(c.manifest))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(faults(c.file, documents[0], nil), "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
