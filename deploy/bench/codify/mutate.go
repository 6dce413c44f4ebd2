package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// mutator changes one field of an object as somebody with kubectl would. It gets a copy of the content, changes it
// in place, and says whether it found something to change.
type mutator struct {
	kind   string
	change func(m *mutation) bool
}

// mutation is a change under way.
type mutation struct {
	*rand.Rand
	content map[string]any
	// custom says that the kind has no built-in schema.
	custom bool
}

// mutators are the kinds of change, in the order of the report.
func mutators() []mutator {
	return []mutator{
		{"image tag", (*mutation).imageTag},
		{"replicas", (*mutation).replicas},
		{"env value", (*mutation).envValue},
		{"env added", (*mutation).envAdded},
		{"env removed", (*mutation).envRemoved},
		{"resource limit", (*mutation).resourceLimit},
		{"arg", (*mutation).arg},
		{"label", (*mutation).label},
		{"annotation", (*mutation).annotation},
		{"ConfigMap key", (*mutation).configMapKey},
		{"Service port", (*mutation).servicePort},
		{"RBAC rule", (*mutation).rbacRule},
		{"added container", (*mutation).addedContainer},
		{"nested CR field", (*mutation).customField},
		{"removed map key", (*mutation).removedKey},
	}
}

// mutated gives the content after one change of a kind; ok is false where the object has nothing to change.
func mutated(r *rand.Rand, m mutator, o gitops.Object, schemas *typed.Schemas) (map[string]any, bool) {
	if o.IsSecret() {
		return nil, false
	}
	_, known := schemas.Lookup(o.APIVersion, o.ID.Kind)
	copied, _ := gitops.Clone(o.Content).(map[string]any)
	under := &mutation{Rand: r, content: copied, custom: !known}
	if !m.change(under) {
		return nil, false
	}
	return under.content, true
}

// pick gives one of the things at random.
func pick[T any](m *mutation, of []T) (out T, ok bool) {
	if len(of) == 0 {
		return out, false
	}
	return of[m.IntN(len(of))], true
}

// picked is pick among those that fit.
func picked[T any](m *mutation, of []T, fits func(T) bool) (T, bool) {
	return pick(m, slices.DeleteFunc(slices.Clone(of), func(e T) bool { return !fits(e) }))
}

func (m *mutation) kind() string { return textOf(m.content["kind"]) }

// podSpec is the spec of the pods that a built-in workload makes, nil without.
func (m *mutation) podSpec() map[string]any {
	if m.custom {
		return nil
	}
	spec := mapOf(m.content["spec"])
	switch m.kind() {
	case "Pod":
		return spec
	case "CronJob":
		spec = mapOf(mapOf(spec["jobTemplate"])["spec"])
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job":
	default:
		return nil
	}
	return mapOf(mapOf(spec["template"])["spec"])
}

func (m *mutation) containers() []map[string]any {
	var out []map[string]any
	for _, key := range []string{"containers", "initContainers"} {
		for _, c := range listOf(m.podSpec()[key]) {
			if container := mapOf(c); container != nil {
				out = append(out, container)
			}
		}
	}
	return out
}

func (m *mutation) imageTag() bool {
	c, ok := picked(m, m.containers(), func(c map[string]any) bool { return textOf(c["image"]) != "" })
	if !ok {
		return false
	}
	name, digest, pinned := strings.Cut(textOf(c["image"]), "@sha256:")
	repository, tag := name, ""
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		repository, tag = name[:colon], name[colon+1:]
	}
	switch {
	case pinned && len(digest) > 8:
		c["image"] = name + "@sha256:" + fmt.Sprintf("%08x", m.Uint32()) + digest[8:]
	case tag == "":
		c["image"] = fmt.Sprintf("%s:v9.%d", repository, m.IntN(90))
	default:
		c["image"] = fmt.Sprintf("%s:%s-hotfix%d", repository, tag, m.IntN(90))
	}
	return true
}

func (m *mutation) replicas() bool {
	if m.custom || !slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet"}, m.kind()) {
		return false
	}
	spec := mapOf(m.content["spec"])
	now, _ := spec["replicas"].(int64)
	if spec == nil {
		return false
	}
	spec["replicas"] = now + 2 + m.Int64N(3)
	return true
}

// env gives a container with variables that have a value.
func (m *mutation) env() (container map[string]any, with []int, ok bool) {
	valued := func(c map[string]any) []int {
		var out []int
		for i, e := range listOf(c["env"]) {
			if _, text := mapOf(e)["value"].(string); text {
				out = append(out, i)
			}
		}
		return out
	}
	c, ok := picked(m, m.containers(), func(c map[string]any) bool { return len(valued(c)) > 0 })
	return c, valued(c), ok
}

func (m *mutation) envValue() bool {
	c, with, ok := m.env()
	if !ok {
		return false
	}
	at, _ := pick(m, with)
	entry := mapOf(listOf(c["env"])[at])
	entry["value"] = m.another(textOf(entry["value"]))
	return true
}

func (m *mutation) envAdded() bool {
	c, ok := pick(m, m.containers())
	if !ok {
		return false
	}
	values := []string{"debug", "true", "8080", "http://example.test:80/x?y=z", "a: b # c", ""}
	value := values[m.IntN(len(values))]
	c["env"] = append(slices.Clone(listOf(c["env"])), map[string]any{"name": fmt.Sprintf("HOTFIX_%d", m.IntN(90)), "value": value})
	return true
}

func (m *mutation) envRemoved() bool {
	c, with, ok := m.env()
	if !ok {
		return false
	}
	at, _ := pick(m, with)
	env := slices.Delete(slices.Clone(listOf(c["env"])), at, at+1)
	if c["env"] = env; len(env) == 0 {
		delete(c, "env")
	}
	return true
}

func (m *mutation) resourceLimit() bool {
	c, ok := pick(m, m.containers())
	if !ok {
		return false
	}
	resources := child(c, "resources")
	limits := child(resources, "limits")
	what, _ := pick(m, []string{"memory", "cpu"})
	if what == "memory" {
		limits[what] = fmt.Sprintf("%dMi", 32*(3+m.IntN(90)))
	} else {
		limits[what] = fmt.Sprintf("%dm", 50*(3+m.IntN(90)))
	}
	return true
}

// child gives the mapping at key, made where it is absent.
func child(of map[string]any, key string) map[string]any {
	inner := mapOf(of[key])
	if inner == nil {
		inner = map[string]any{}
		of[key] = inner
	}
	return inner
}

func (m *mutation) arg() bool {
	has := func(c map[string]any) bool { return len(listOf(c["args"])) > 0 }
	c, ok := picked(m, m.containers(), has)
	if !ok {
		return false
	}
	args := slices.Clone(listOf(c["args"]))
	c["args"] = args
	at := m.IntN(len(args))
	switch n := m.IntN(10); {
	case n == 0 && len(args) > 1:
		c["args"] = slices.Delete(args, at, at+1)
	case n < 3:
		c["args"] = append(args, fmt.Sprintf("--hotfix=%d", m.IntN(90)))
	default:
		args[at] = m.another(fmt.Sprint(args[at]))
	}
	return true
}

// another gives a text like the given one.
func (m *mutation) another(text string) string {
	switch lines := strings.Split(text, "\n"); {
	case text == "true":
		return "false"
	case text == "false":
		return "true"
	case len(lines) > 2:
		at := m.IntN(len(lines) - 1)
		lines[at] += fmt.Sprintf(" # %d", m.IntN(90))
		return strings.Join(lines, "\n")
	case text != "" && strings.Trim(text, "0123456789") == "" && len(text) < 9:
		return fmt.Sprintf("%d", 1+m.IntN(9000))
	}
	return text + fmt.Sprintf("-h%d", m.IntN(90))
}

func (m *mutation) label() bool      { return m.metadata("labels") }
func (m *mutation) annotation() bool { return m.metadata("annotations") }

func (m *mutation) metadata(key string) bool {
	metadata := mapOf(m.content["metadata"])
	if metadata == nil {
		return false
	}
	pairs := mapOf(metadata[key])
	if name, ok := pick(m, slices.Sorted(maps.Keys(pairs))); ok && m.IntN(2) == 0 {
		pairs[name] = m.another(fmt.Sprint(pairs[name]))
		return true
	}
	name, _ := pick(m, []string{"owner", "example.test/hotfix", "stage"})
	child(metadata, key)[name] = fmt.Sprintf("alice-%d", m.IntN(90))
	return true
}

func (m *mutation) configMapKey() bool {
	if m.custom || m.kind() != "ConfigMap" {
		return false
	}
	data := child(m.content, "data")
	name, ok := pick(m, slices.Sorted(maps.Keys(data)))
	switch n := m.IntN(5); {
	case n == 0 || !ok:
		data[fmt.Sprintf("hotfix-%d", m.IntN(90))] = "on"
	case n == 1 && len(data) > 1:
		delete(data, name)
	default:
		data[name] = m.another(fmt.Sprint(data[name]))
	}
	return true
}

func (m *mutation) servicePort() bool {
	if m.custom || m.kind() != "Service" {
		return false
	}
	port, ok := pick(m, listOf(mapOf(m.content["spec"])["ports"]))
	entry := mapOf(port)
	if !ok || entry == nil {
		return false
	}
	if _, number := entry["targetPort"].(int64); number && m.IntN(2) == 0 {
		entry["targetPort"] = 1024 + m.Int64N(9000)
		return true
	}
	entry["port"] = 1024 + m.Int64N(9000)
	return true
}

func (m *mutation) rbacRule() bool {
	if m.custom || !slices.Contains([]string{"Role", "ClusterRole"}, m.kind()) {
		return false
	}
	rules := listOf(m.content["rules"])
	rule, ok := picked(m, rules, func(r any) bool { return len(listOf(mapOf(r)["verbs"])) > 0 })
	if !ok {
		return false
	}
	entry := mapOf(rule)
	verbs := slices.Clone(listOf(entry["verbs"]))
	switch n := m.IntN(4); {
	case n == 0:
		m.content["rules"] = append(slices.Clone(rules), map[string]any{
			"apiGroups": []any{"hotfix.example.test"}, "resources": []any{"things"}, "verbs": []any{"get", "list"},
		})
	case n == 1 && len(verbs) > 1:
		at := m.IntN(len(verbs))
		entry["verbs"] = slices.Delete(verbs, at, at+1)
	default:
		verb, more := picked(m, []string{"get", "list", "watch", "create", "update", "patch", "delete", "impersonate"}, func(v string) bool {
			return !slices.Contains(verbs, any(v))
		})
		if !more {
			return false
		}
		entry["verbs"] = append(verbs, verb)
	}
	return true
}

func (m *mutation) addedContainer() bool {
	pod := m.podSpec()
	containers := listOf(pod["containers"])
	if len(containers) == 0 {
		return false
	}
	pod["containers"] = append(slices.Clone(containers), map[string]any{
		"name": fmt.Sprintf("debug-%d", m.IntN(90)), "image": "registry.example.test/debug:1.2",
		"args":      []any{"sleep", "infinity"},
		"resources": map[string]any{"limits": map[string]any{"memory": "64Mi"}},
	})
	return true
}
