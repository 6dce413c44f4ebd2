package typed_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

const metadata = `{"managedFields": [
	{"manager": "flux", "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1":
		{"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:nodeSelector": {}, "f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}, "f:resources": {}, "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}, "f:args": {}}}}}}}},
	{"manager": "alice", "operation": "Update", "fieldsV1": {"f:metadata": {"f:finalizers": {"v:\"x.test/a\"": {}}}}},
	{"manager": "bad", "operation": "Update", "fieldsV1": {"f:spec": "not a mapping"}},
	{"manager": "odd", "operation": "Update", "fieldsType": "FieldsV2"},
	"no mapping",
	{"manager": "late", "operation": "Update", "time": "yesterday"},
	{"manager": "scaler", "operation": "Update", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
]}`

const live = `{
	"metadata": {"finalizers": ["x.test/a"]},
	"spec": {"replicas": 2, "template": {"spec": {"nodeSelector": {"zone": "a"}, "containers": [
		{"name": "log"},
		{"name": "web", "image": "x", "args": ["a", "b"], "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}]}]}}}}`

func TestBadEntriesAreToldAndTheRestIsGood(t *testing.T) {
	sets, err := typed.ParseManagedFields(value(t, metadata).(map[string]any))
	var names []string
	for _, set := range sets {
		names = append(names, set.Manager)
	}
	if got := strings.Join(names, " "); got != "flux alice scaler" {
		t.Errorf("good entries: %s", got)
	}
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"managedFields[2]", "managedFields[3]", "managedFields[4]", "managedFields[5]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	if !sets[2].Time.IsZero() || sets[2].Subresource != "scale" {
		t.Errorf("scale entry: %+v", sets[2])
	}
}

func TestHolds(t *testing.T) {
	sets, _ := typed.ParseManagedFields(value(t, metadata).(map[string]any))
	deployment := builtin(t, "apps/v1", "Deployment")
	object := value(t, live)
	const web = "spec.template.spec.containers[name=web]"
	for _, row := range []struct {
		name, manager, path string
		want                typed.Hold
	}{
		{"a field in the set", "flux", "spec.replicas", typed.Held},
		{"what lies above it", "flux", "spec.template", typed.Held},
		{"a field of a list entry, found by its keys", "flux", web + ".image", typed.Held},
		{"an entry by two keys, addressed by one", "flux", web + ".ports[containerPort=80].containerPort", typed.Held},
		{"a neighbour in the same entry", "flux", web + ".ports[containerPort=80].name", typed.NotHeld},
		{"another entry", "flux", "spec.template.spec.containers[name=log]", typed.NotHeld},
		{"a part of an atomic list", "flux", web + ".args[1]", typed.HeldWhole},
		{"a key of an atomic map", "flux", "spec.template.spec.nodeSelector.zone", typed.HeldWhole},
		{"a key that an atomic map lost", "flux", "spec.template.spec.nodeSelector.gone", typed.HeldWhole},
		{"a part of a structure that was empty when it was applied", "flux", web + ".resources.limits.cpu", typed.NotHeld},
		{"a value of a set", "alice", "metadata.finalizers[0]", typed.HeldWhole},
		{"an entry that is not there", "flux", "spec.template.spec.containers[name=gone].image", typed.NotHeld},
	} {
		t.Run(row.name, func(t *testing.T) {
			path, err := gitops.ParsePath(row.path)
			if err != nil {
				t.Fatal(err)
			}
			for _, set := range sets {
				if set.Manager != row.manager {
					continue
				}
				if got := set.Holds(deployment, object, path); got != row.want {
					t.Errorf("%s of %s: %v, want %v", row.path, row.manager, got, row.want)
				}
			}
		})
	}
}

func FuzzParseManagedFields(f *testing.F) {
	f.Add([]byte(metadata), "spec.template.spec.containers[name=web].image")
	f.Add([]byte(`{"managedFields":{"a":1}}`), "a")
	f.Add([]byte(`{"managedFields":[{"fieldsV1":{"f:a":{"k:{":{},"v:":{},"i:0":{}}}}]}`), "a[0].b")
	deployment := builtin(f, "apps/v1", "Deployment")
	object := value(f, live)
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		var metadata map[string]any
		if json.Unmarshal(data, &metadata) != nil {
			t.Skip()
		}
		sets, _ := typed.ParseManagedFields(metadata)
		path, err := gitops.ParsePath(text)
		if err != nil {
			t.Skip()
		}
		for _, set := range sets {
			set.Holds(deployment, object, path)
		}
	})
}
