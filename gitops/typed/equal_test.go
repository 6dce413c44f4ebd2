package typed_test

import (
	"encoding/json"
	"testing"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

func builtin(t testing.TB, apiVersion, kind string) *typed.Type {
	t.Helper()
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	found, ok := schemas.Lookup(apiVersion, kind)
	if !ok {
		t.Fatalf("no type for %s %s", apiVersion, kind)
	}
	return found
}

func at(t testing.TB, root *typed.Type, path string) *typed.Type {
	t.Helper()
	parsed, err := gitops.ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	found, ok := root.At(parsed)
	if !ok {
		t.Fatalf("no type at %s", path)
	}
	return found
}

func value(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEqual(t *testing.T) {
	const container = "spec.template.spec.containers[0]"
	deployment := builtin(t, "apps/v1", "Deployment")
	secret := builtin(t, "v1", "Secret")
	policy := builtin(t, "networking.k8s.io/v1", "NetworkPolicy")
	for _, row := range []struct {
		name string
		root *typed.Type
		path string
		a, b string
		want bool
	}{
		{"half a CPU is 500m", deployment, container + ".resources.limits.cpu", `0.5`, `"500m"`, true},
		{"an integer of bytes is its decimal string", deployment, container + ".resources.limits.memory", `1073741824`, `"1073741824"`, true},
		{"a mebibyte is not a megabyte", deployment, container + ".resources.limits.memory", `"500Mi"`, `"500M"`, false},
		{"an absurd exponent costs nothing", deployment, container + ".resources.limits.memory", `"1e999999999"`, `"2e999999999"`, false},
		{"text that looks like a quantity is text", deployment, container + ".env[0].value", `"1000m"`, `"1"`, false},
		{"a port by number is not a port by name", deployment, container + ".livenessProbe.httpGet.port", `80`, `"80"`, false},
		{"whole floats are integers", deployment, "spec.replicas", `3.0`, `3`, true},
		{"an empty string is an absent one where the server drops it", deployment, container + ".env[0]", `{"name":"A","value":""}`, `{"name":"A"}`, true},
		{"null is absent", deployment, container, `{"name":"a","image":null}`, `{"name":"a"}`, true},
		{"an empty structure behind a pointer is there", deployment, container, `{"name":"a","securityContext":{}}`, `{"name":"a"}`, false},
		{"an empty structure that is no pointer is not", deployment, container, `{"name":"a","resources":{"limits":{}}}`, `{"name":"a"}`, true},
		{"zero behind a pointer is there", deployment, "spec", `{"replicas":0}`, `{}`, false},
		{"keyed lists have no order", deployment, container + ".env", `[{"name":"A"},{"name":"B"}]`, `[{"name":"B"},{"name":"A"}]`, true},
		{"arguments have one", deployment, container + ".args", `["a","b"]`, `["b","a"]`, false},
		{"base64 may be wrapped", secret, "data.a", `"aGVs\nbG8="`, `"aGVsbG8=\n"`, true},
		{"other bytes are other bytes", secret, "data.a", `"aGVsbG8="`, `"aGVsbG8h"`, false},
		{"no rule and a rule for all are opposites", policy, "spec.ingress", `[]`, `[{}]`, false},
		{"a mapping is no list", deployment, "spec.template", `{}`, `[]`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			typ := at(t, row.root, row.path)
			a, b := value(t, row.a), value(t, row.b)
			if got := typed.Equal(typ, a, b); got != row.want {
				t.Errorf("Equal(%s, %s) = %v", row.a, row.b, got)
			}
			if got := typed.Equal(typ, b, a); got != row.want {
				t.Errorf("Equal(%s, %s) = %v", row.b, row.a, got)
			}
		})
	}
}

func TestDefault(t *testing.T) {
	deployment := builtin(t, "apps/v1", "Deployment")
	for _, row := range []struct {
		name, path, field string
		around            string
		want              any
	}{
		{"a version tag is pulled once", "spec.template.spec.containers[0]", "imagePullPolicy", `{"image":"example.test:5000/a:1"}`, "IfNotPresent"},
		{"latest is pulled always", "spec.template.spec.containers[0]", "imagePullPolicy", `{"image":"a:latest"}`, "Always"},
		{"no tag is latest", "spec.template.spec.containers[0]", "imagePullPolicy", `{"image":"example.test:5000/a"}`, "Always"},
		{"a digest is pulled once", "spec.template.spec.containers[0]", "imagePullPolicy", `{"image":"a@sha256:00"}`, "IfNotPresent"},
		{"latest with a digest is pulled always", "spec.template.spec.containers[0]", "imagePullPolicy", `{"image":"a:latest@sha256:00"}`, "Always"},
		{"what is no image reference is pulled once", "spec.template.spec.containers[0]", "imagePullPolicy", `{"image":"ko://example.test/a"}`, "IfNotPresent"},
		{"the old name of the service account follows the new", "spec.template.spec", "serviceAccount", `{"serviceAccountName":"robot"}`, "robot"},
		{"host ports mirror with the host's network only", "spec.template.spec.containers[0].ports[0]", "hostPort", `{"containerPort":80}`, nil},
		{"a rolling update has parameters", "spec.strategy", "rollingUpdate", `{"type":"Recreate"}`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := at(t, deployment, row.path).Field(row.field)
			around := []map[string]any{value(t, row.around).(map[string]any)}
			got, ok := f.Default(around)
			if !ok {
				got = nil
			}
			if got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func FuzzEqualIsSymmetric(f *testing.F) {
	f.Add([]byte(`{"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"a","env":[{"name":"A"}]}]}}}}`), []byte(`{"spec":{"replicas":1.0,"template":{"spec":{"containers":[{"env":[{"name":"A","value":""}],"name":"a"}]}}}}`))
	f.Add([]byte(`{"spec":null}`), []byte(`{"spec":{"strategy":{}}}`))
	f.Add([]byte(`{"spec":{"template":{"spec":{"tolerations":[{"key":"a"},{"key":"a"}]}}}}`), []byte(`{"spec":{"template":{"spec":{"tolerations":[{"key":"a"},{"key":"b"}]}}}}`))
	typ := builtin(f, "apps/v1", "Deployment")
	f.Fuzz(func(t *testing.T, x, y []byte) {
		var a, b any
		if json.Unmarshal(x, &a) != nil || json.Unmarshal(y, &b) != nil {
			t.Skip()
		}
		if typed.Equal(typ, a, b) != typed.Equal(typ, b, a) {
			t.Errorf("not symmetric: %s and %s", x, y)
		}
		if !typed.Equal(typ, a, a) {
			t.Errorf("not equal to itself: %s", x)
		}
	})
}
