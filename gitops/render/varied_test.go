package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// TestVariedIsNoMoreThanWhatVaries gives the paths for a chart's two renders, and those that moved gives, which stays
// wide: what is secret or not known may stand under any key.
func TestVariedIsNoMoreThanWhatVaries(t *testing.T) {
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const pod, config, custom = "apiVersion: v1\nkind: Pod\nspec:\n  ", "apiVersion: v1\nkind: ConfigMap\n", "apiVersion: example.com/v1\nkind: Thing\nspec:\n  "
	for _, c := range []struct {
		name, head, a, b string
		varied, moved    []string
	}{
		{"nothing", config, "data: {a: b}", "data: {a: b}", nil, nil},
		{"a value", config, "data: {a: b, c: d}", "data: {a: x, c: d}", []string{"data.a"}, []string{"data.a"}},
		{"a key of a mapping", config, "data: {a: b}", "data: {a: b, c: d}", []string{"data.c"}, []string{"data"}},
		{"random keys", config, "data: {a: b, x: y}", "data: {a: b, z: y}", []string{"data"}, []string{"data"}},
		{"a mapping from elsewhere", config, "data: {a: b}", "data: {}", []string{"data"}, []string{"data"}},
		{"a mapping that is null", config, "data: {a: b}", "data:", []string{"data"}, []string{"data"}},
		{"two fields take turns", pod, "{containers: [{name: c, args: [a]}]}", "{containers: [{name: c, command: [a]}]}",
			[]string{"spec.containers[name=c].args", "spec.containers[name=c].command"}, []string{"spec.containers[0]"}},
		{"fields of a structure that is not always there", pod, "containers: [{name: c, securityContext: {runAsUser: 1}}]", "containers: [{name: c}]",
			[]string{"spec.containers[name=c].securityContext.runAsUser"}, []string{"spec.containers[0]"}},
		{"an empty structure", pod, "securityContext: {}", "hostPID: false", []string{"spec.hostPID", "spec.securityContext"}, []string{"spec"}},
		{"an entry before others", pod, "containers: [{name: c, image: x}]", "containers: [{name: s}, {name: c, image: y}]",
			[]string{"spec.containers[name=c].image", "spec.containers[name=s]"}, []string{"spec.containers"}},
		{"a list that one has", pod, "containers: [{name: c}]", "containers: [{name: c, env: [{name: A}, {name: B}]}]",
			[]string{"spec.containers[name=c].env[name=A]", "spec.containers[name=c].env[name=B]"}, []string{"spec.containers[0]"}},
		{"random names", pod, "containers: [{name: c}, {name: a}]", "containers: [{name: c}, {name: b}]", []string{"spec.containers"}, []string{"spec.containers[1].name"}},
		{"names that repeat", pod, "containers: [{name: c}, {name: c}]", "containers: [{name: c}]", []string{"spec.containers"}, []string{"spec.containers"}},
		{"another order", pod, "initContainers: [{name: a}, {name: b}]", "initContainers: [{name: b}, {name: a}]", []string{"spec.initContainers"},
			[]string{"spec.initContainers[0].name", "spec.initContainers[1].name"}},
		{"another order without a meaning", pod, "containers: [{name: a}, {name: b}]", "containers: [{name: b}, {name: a}]", nil,
			[]string{"spec.containers[0].name", "spec.containers[1].name"}},
		{"ports by two keys", pod, "containers: [{name: c, ports: [{containerPort: 53, name: t}]}]", "containers: [{name: c, ports: [{containerPort: 53, protocol: TCP, name: u}, {containerPort: 80}]}]",
			[]string{"spec.containers[name=c].ports[containerPort=53].name", "spec.containers[name=c].ports[containerPort=53].protocol", "spec.containers[name=c].ports[containerPort=80]"}, []string{"spec.containers[0].ports"}},
		{"mounts", pod, "containers: [{name: c, volumeMounts: [{name: v, mountPath: /a}]}]", "containers: [{name: c, volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]}]",
			[]string{"spec.containers[name=c].volumeMounts[mountPath=/b]"}, []string{"spec.containers[0].volumeMounts"}},
		{"a list without keys", pod, "containers: [{name: c, args: [a, b]}]", "containers: [{name: c, args: [a]}]",
			[]string{"spec.containers[name=c].args"}, []string{"spec.containers[0].args"}},
		{"a place in a list without keys", pod, "containers: [{name: c, args: [a, b]}]", "containers: [{name: c, args: [a, x]}]",
			[]string{"spec.containers[name=c].args[1]"}, []string{"spec.containers[0].args[1]"}},
		{"a custom resource", custom, "{list: [{name: a, x: 1}], rest: 1}", "{list: [{name: a, x: 2}, {name: b}], rest: 1, more: 2}",
			[]string{"spec.list[name=a].x", "spec.list[name=b]", "spec.more"}, []string{"spec"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a, b map[string]any
			for text, into := range map[string]*map[string]any{c.a: &a, c.b: &b} {
				if err := yaml.Unmarshal([]byte(c.head+text), into); err != nil {
					t.Fatal(err)
				}
			}
			if c.a == c.b {
				b = a
			}
			paths := func(find finder) []string {
				var out []string
				find(a, b, func(p gitops.Path) { out = append(out, p.String()) })
				slices.Sort(out)
				return out
			}
			if diff := cmp.Diff(c.varied, paths(variedIn(schemas))); diff != "" {
				t.Errorf("varied: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(c.moved, paths(movedIn)); diff != "" {
				t.Errorf("moved: -want +got:\n%s", diff)
			}
		})
	}
}
