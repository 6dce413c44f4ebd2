package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/deploy/lab"
)

// TestNoSecretValueIsPrintedOfACluster scans a real API server in each mode of reading Secrets, as a user who may do
// just what deploy/rbac gives for it, and as one who may read nothing.
func TestNoSecretValueIsPrintedOfACluster(t *testing.T) {
	s := newSecretShop(t)
	cluster := lab.Start(t, lab.Options{}).Clusters[0]
	for _, file := range []string{"reader.yaml", "secrets-values.yaml"} {
		role, err := os.ReadFile(filepath.Join("..", "..", "deploy", "rbac", file))
		if err != nil {
			t.Fatal(err)
		}
		cluster.Apply(t, lab.Admin, "kubectl", string(role))
	}
	cluster.Kubectl(t, lab.Admin, "", "create", "namespace", "shop")
	cluster.Apply(t, lab.Engine, "kustomize-controller", `
apiVersion: v1
kind: Secret
metadata: {name: drifted, namespace: shop}
data: {password: Y25yeS1naXQtZGF0YQ==, user: Y25yeS1naXQtc3RyaW5n}
---
apiVersion: v1
kind: Secret
metadata: {name: patched, namespace: shop}
data: {password: Y25yeS1wYXRjaGVk}
`)
	time.Sleep(1100 * time.Millisecond) // managedFields count whole seconds
	cluster.Kubectl(t, lab.Admin, `{apiVersion: v1, kind: Secret, metadata: {name: drifted, namespace: shop}, data: {password: Y25yeS1saXZlLWRhdGE=}}`, "apply", "-f", "-")
	application := s.path("application.yaml")
	writeYAMLFile(t, application, map[string]any{
		"apiVersion": "holdfast/v1", "kind": "Application", "metadata": map[string]any{"name": "shop", "namespace": "flux-system"},
		"spec": map[string]any{"engine": "flux", "path": "app", "kustomize": map[string]any{}},
	})
	input := []string{"--git", s.path("git"), "--application", application, "--kubeconfig", cluster.Kubeconfig(lab.Bot)}
	scanAll := func(mode string) (doc scanJSON) {
		t.Helper()
		args := append([]string{"--secrets", mode, "--all"}, input...)
		out := s.run(t, append([]string{"scan", "-o", "json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		s.run(t, append([]string{"scan"}, args...)...)
		s.run(t, append([]string{"propose", "--dry-run", "--disposition", "codify"}, args...)...)
		s.run(t, append([]string{"propose", "--dry-run", "-o", "json"}, args...)...)
		return doc
	}
	password := func(doc scanJSON) bool {
		for _, f := range doc.Findings {
			if f.Object.Kind == "Secret" && f.Object.Name == "drifted" {
				for _, field := range f.Fields {
					if field.Path.String() == "data.password" && field.Drift {
						return true
					}
				}
			}
		}
		return false
	}

	// Nobody has been given any right yet: every list is refused, and named.
	doc := scanAll("values")
	reasons := ""
	for _, u := range doc.Unknown {
		reasons += u.Reason + "\n"
		if u.ByChoice {
			t.Errorf("%+v counts as chosen", u)
		}
	}
	for _, want := range []string{"cannot get secrets in namespace shop", "cannot get configmaps in namespace shop", "cannot get deployments.apps in namespace shop"} {
		if !strings.Contains(reasons, want) {
			t.Errorf("%q is not named in\n%s", want, reasons)
		}
	}
	if doc.Summary.Drifted > 0 {
		t.Errorf("%d objects drifted, and none could be read", doc.Summary.Drifted)
	}

	cluster.Grant(t, lab.Bot, "holdfast-reader")
	for _, mode := range []string{"none", "metadata", "values"} {
		if mode != "none" {
			cluster.Grant(t, lab.Bot, "holdfast-secrets-values")
		}
		doc := scanAll(mode)
		if found := password(doc); found != (mode != "none") {
			t.Errorf("--secrets %s: the password's drift is found: %v", mode, found)
		}
		unread := 0
		for _, u := range doc.Unknown {
			if u.Object.Kind == "Secret" && u.ByChoice {
				unread++
			}
		}
		if (unread > 0) != (mode == "none") {
			t.Errorf("--secrets %s: %d Secrets are unknown by choice: %+v", mode, unread, doc.Unknown)
		}
	}
}
