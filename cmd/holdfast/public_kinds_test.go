package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// editKind is one kind of change that a person makes by hand.
type editKind struct {
	name string
	fits string // kinds of objects, empty for all
	draw func(r *rand.Rand, d drawn) (change, bool)
}

// change is a kubectl command, in which OBJECT stands for the object, or a JSON patch.
type change struct {
	args  []string
	patch []patchOp
	place place
}

type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const (
	workloads = "Deployment StatefulSet DaemonSet"
	pods      = workloads + " CronJob Job"
)

func editKinds() []editKind {
	template := func(rest ...any) []any { return append([]any{"spec", "template", "spec"}, rest...) }
	kinds := []editKind{
		{"scale", "Deployment StatefulSet", func(r *rand.Rand, _ drawn) (change, bool) {
			return change{args: []string{"scale", "OBJECT", fmt.Sprintf("--replicas=%d", 4+r.IntN(5))}, place: place{"spec", "replicas"}}, true
		}},
		{"set image", workloads, inContainer(func(r *rand.Rand, name string) ([]string, string) {
			return []string{"set", "image", "OBJECT", fmt.Sprintf("%s=registry.example.test/patched:%d", name, r.IntN(100))}, "image"
		})},
		{"set limits", workloads, inContainer(func(r *rand.Rand, name string) ([]string, string) {
			return []string{"set", "resources", "OBJECT", "--containers=" + name, fmt.Sprintf("--limits=memory=%dMi", 3000+r.IntN(100))}, "resources limits memory"
		})},
		{"add env", workloads, inContainer(func(r *rand.Rand, name string) ([]string, string) {
			env := fmt.Sprintf("HOTFIX_%d", r.IntN(1000))
			return []string{"set", "env", "OBJECT", "--containers=" + name, env + "=on"}, "env name=" + env
		})},
		{"restart", workloads, func(*rand.Rand, drawn) (change, bool) {
			return change{args: []string{"rollout", "restart", "OBJECT"}, place: place{"spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"}}, true
		}},
		{"label", "", func(r *rand.Rand, _ drawn) (change, bool) {
			key := fmt.Sprintf("hotfix-%d", r.IntN(1000))
			return change{args: []string{"label", "OBJECT", key + "=yes"}, place: place{"metadata", "labels", key}}, true
		}},
		{"annotate", "", func(r *rand.Rand, _ drawn) (change, bool) {
			key := fmt.Sprintf("example.test/hotfix-%d", r.IntN(1000))
			return change{args: []string{"annotate", "OBJECT", key + "=yes"}, place: place{"metadata", "annotations", key}}, true
		}},
		{"remove a label", "", removeFrom("metadata", "labels")},
		{"remove an annotation", "", removeFrom("metadata", "annotations")},
		{"delete", "ConfigMap Service ServiceAccount Role RoleBinding ClusterRoleBinding NetworkPolicy PodDisruptionBudget Deployment ServiceMonitor PrometheusRule DestinationRule AuthorizationPolicy",
			func(*rand.Rand, drawn) (change, bool) {
				return change{args: []string{"delete", "OBJECT", "--wait=false"}}, true
			}},
		{"edit a label of the namespace", "Namespace", set("metadata labels pod-security.kubernetes.io~1enforce", "privileged")},
		{"secret data", "Secret", set("data hotfix", base64.StdEncoding.EncodeToString([]byte("changed by hand")))},
		{"config data", "ConfigMap", set("data hotfix", "on")},
		{"change config data", "ConfigMap", mutate("data")},
		{"remove config data", "ConfigMap", removeFrom("data")},
		{"service port", "Service", set("spec ports 0 port", 18080)},
		{"service target port", "Service", set("spec ports 0 targetPort", 18081)},
		{"service selector", "Service", set("spec selector hotfix", "yes")},
		{"service type", "Service", set("spec type", "NodePort")},
		{"rules", "ClusterRole Role", set("rules 0 verbs -", "deletecollection")},
		{"another rule", "ClusterRole Role", set("rules -", map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"get"}})},
		{"subjects", "ClusterRoleBinding RoleBinding", set("subjects -", map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob@example.test"})},
		{"image pull secrets", "ServiceAccount", set("imagePullSecrets", []any{map[string]any{"name": "mirror"}})},
		{"automount", "ServiceAccount", set("automountServiceAccountToken", false)},
		{"network policy ingress", "NetworkPolicy", set("spec ingress", []any{map[string]any{}})},
		{"network policy selector", "NetworkPolicy", set("spec podSelector matchLabels hotfix", "yes")},
		{"network policy types", "NetworkPolicy", set("spec policyTypes", []any{"Egress"})},
		{"disruption budget", "PodDisruptionBudget", set("spec minAvailable", "10%")},
		{"autoscaler bounds", "HorizontalPodAutoscaler", set("spec maxReplicas", 42)},
		{"suspend", "CronJob", set("spec suspend", true)},
		{"ingress host", "Ingress", set("spec rules 0 host", "hotfix.example.test")},
		{"failure policy", "ValidatingWebhookConfiguration MutatingWebhookConfiguration", set("webhooks 0 failurePolicy", "Ignore")},
		{"webhook rules", "ValidatingWebhookConfiguration MutatingWebhookConfiguration", set("webhooks 0 timeoutSeconds", 3)},
		{"api service", "APIService", set("spec versionPriority", 77)},
		{"short names", "CustomResourceDefinition", set("spec names shortNames", []any{"hot", "fix"})},
		{"printer columns", "CustomResourceDefinition", set("spec versions 0 additionalPrinterColumns", []any{map[string]any{"name": "Hot", "type": "string", "jsonPath": ".metadata.name"}})},
		{"finalizer", "ConfigMap ServiceAccount Role", set("metadata finalizers", []any{"example.test/keep"})},
		{"change a value of the spec", "", mutate("spec")},
		{"remove a value of the spec", "", removeLeaf("spec")},
		{"change a value of a custom resource", "ServiceMonitor PodMonitor PrometheusRule Prometheus Alertmanager DestinationRule VirtualService AuthorizationPolicy DecoratorController", mutate("spec")},
		{"remove a value of a custom resource", "ServiceMonitor PodMonitor PrometheusRule Prometheus Alertmanager DestinationRule VirtualService AuthorizationPolicy DecoratorController", removeLeaf("spec")},
		{"change a value of the pod", pods, mutate("spec", "template", "spec")},
		{"remove a value of the pod", pods, removeLeaf("spec", "template", "spec")},
		{"change a value of rules", "ClusterRole Role", mutate("rules")},
	}
	for name, value := range map[string]any{
		"tolerations": []any{map[string]any{"key": "hotfix", "operator": "Exists"}}, "nodeSelector": map[string]any{"pool": "hotfix"}, "hostNetwork": true,
		"priorityClassName": "system-cluster-critical", "terminationGracePeriodSeconds": 77, "serviceAccountName": "default", "dnsPolicy": "Default",
		"hostAliases": []any{map[string]any{"ip": "192.0.2.7", "hostnames": []any{"hotfix.example.test"}}}, "shareProcessNamespace": true,
		"containers 0 args": []any{"--hotfix"}, "containers 0 command": []any{"/bin/hotfix"}, "containers 0 imagePullPolicy": "Never",
		"containers 0 livenessProbe": map[string]any{"tcpSocket": map[string]any{"port": 7777}}, "containers 0 securityContext": map[string]any{"privileged": true},
		"containers 0 ports":              []any{map[string]any{"containerPort": 7778}},
		"containers 0 resources requests": map[string]any{"cpu": "1500m"},
		"securityContext runAsUser":       4242,
		"volumes -":                       map[string]any{"name": "hotfix", "emptyDir": map[string]any{}},
		"initContainers":                  []any{map[string]any{"name": "hotfix", "image": "registry.example.test/hotfix:1"}},
		"containers -":                    map[string]any{"name": "hotfix", "image": "registry.example.test/hotfix:1"},
	} {
		kinds = append(kinds, editKind{"pod " + name, workloads, set(text(template())+" "+name, value)})
	}
	slices.SortFunc(kinds, func(a, b editKind) int { return strings.Compare(a.name, b.name) })
	return kinds
}

func text(path []any) string { return strings.Trim(fmt.Sprint(path), "[]") }

// set puts a value at a path of words: fields, indexes, "-" for the end of a list. Mappings on the way are made.
func set(words string, value any) func(*rand.Rand, drawn) (change, bool) {
	return func(_ *rand.Rand, d drawn) (change, bool) {
		var at any = d.live
		var where place
		pointer := ""
		path := strings.Fields(words)
		for i, word := range path {
			pointer += "/" + word
			word = strings.ReplaceAll(word, "~1", "/")
			last := i == len(path)-1
			switch in := at.(type) {
			case map[string]any:
				where = append(where, word)
				if last {
					return change{patch: []patchOp{{"add", pointer, value}}, place: where}, true
				}
				next, ok := in[word]
				if !ok { // make it, with the rest inside
					rest := value
					for _, inner := range slices.Backward(path[i+1:]) {
						if _, err := strconv.Atoi(inner); err == nil || inner == "-" {
							return change{}, false
						}
						rest = map[string]any{strings.ReplaceAll(inner, "~1", "/"): rest}
					}
					return change{patch: []patchOp{{"add", pointer, rest}}, place: where}, true
				}
				at = next
			case []any:
				if word == "-" {
					return change{patch: []patchOp{{"add", pointer, value}}, place: where}, true
				}
				n, err := strconv.Atoi(word)
				if err != nil || n >= len(in) {
					return change{}, false
				}
				where = append(where, entryName(in, n))
				at = in[n]
			default:
				return change{}, false
			}
		}
		return change{}, false
	}
}

// inContainer draws a container and gives a kubectl command about it, and the place below it.
func inContainer(command func(r *rand.Rand, name string) (args []string, below string)) func(*rand.Rand, drawn) (change, bool) {
	return func(r *rand.Rand, d drawn) (change, bool) {
		list, _ := child(child(child(child(d.live, "spec"), "template"), "spec"), "containers").([]any)
		if len(list) == 0 {
			return change{}, false
		}
		name := child(list[r.IntN(len(list))], "name").(string)
		args, below := command(r, name)
		return change{args: args, place: append(place{"spec", "template", "spec", "containers", "name=" + name}, strings.Fields(below)...)}, true
	}
}

// leaf is a declared scalar, where live has the same.
type leaf struct {
	pointer string
	place   place
	value   any
}

// leaves lists the scalars that Git declares below a path and live holds.
func leaves(d drawn, below ...string) []leaf {
	var declared, live any = d.declared.Content, d.live
	at := leaf{}
	for _, field := range below {
		declared, live = child(declared, field), child(live, field)
		at.pointer, at.place = at.pointer+"/"+field, append(at.place, field)
	}
	var out []leaf
	collect(at, declared, live, &out)
	return out
}

func collect(at leaf, declared, live any, out *[]leaf) {
	switch d := declared.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		for name, v := range d {
			if lv, ok := l[name]; ok {
				escaped := strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
				collect(leaf{at.pointer + "/" + escaped, append(slices.Clip(at.place), name), nil}, v, lv, out)
			}
		}
	case []any:
		l, _ := live.([]any)
		if len(l) != len(d) {
			return
		}
		for i, v := range d {
			collect(leaf{at.pointer + "/" + strconv.Itoa(i), append(slices.Clip(at.place), entryName(l, i)), nil}, v, l[i], out)
		}
	default:
		if fmt.Sprint(declared) == fmt.Sprint(live) && declared != nil {
			at.value = live
			*out = append(*out, at)
		}
	}
}

// drawLeaf draws a declared scalar. Of the definition of a custom resource, only words for people may change.
func drawLeaf(r *rand.Rand, d drawn, below []string) (leaf, bool) {
	all := leaves(d, below...)
	if d.declared.ID.Kind == "CustomResourceDefinition" {
		all = slices.DeleteFunc(all, func(l leaf) bool {
			_, isText := l.value.(string)
			return l.place[len(l.place)-1] != "description" || !isText
		})
	}
	if len(all) == 0 {
		return leaf{}, false
	}
	slices.SortFunc(all, func(a, b leaf) int { return strings.Compare(a.pointer, b.pointer) })
	return all[r.IntN(len(all))], true
}

// mutate changes a declared scalar.
func mutate(below ...string) func(*rand.Rand, drawn) (change, bool) {
	return func(r *rand.Rand, d drawn) (change, bool) {
		l, ok := drawLeaf(r, d, below)
		if !ok {
			return change{}, false
		}
		var other any
		switch v := l.value.(type) {
		case string:
			other = v + "x"
			if n, err := strconv.Atoi(strings.TrimRight(v, "smhMiG%")); err == nil && v != "" {
				other = strconv.Itoa(n+1) + strings.TrimLeft(v, "0123456789")
			}
		case float64:
			other = v + 1
		case bool:
			other = !v
		default:
			return change{}, false
		}
		return change{patch: []patchOp{{"replace", l.pointer, other}}, place: l.place}, true
	}
}

// removeLeaf removes a declared scalar.
func removeLeaf(below ...string) func(*rand.Rand, drawn) (change, bool) {
	return func(r *rand.Rand, d drawn) (change, bool) {
		l, ok := drawLeaf(r, d, below)
		if !ok {
			return change{}, false
		}
		where := l.place
		if strings.HasPrefix(where[len(where)-1], "#") { // an entry of a list: the others move up
			where = where[:len(where)-1]
		}
		return change{patch: []patchOp{{"remove", l.pointer, nil}}, place: where}, true
	}
}

// removeFrom removes a declared entry of a mapping.
func removeFrom(path ...string) func(*rand.Rand, drawn) (change, bool) {
	return func(r *rand.Rand, d drawn) (change, bool) {
		all := slices.DeleteFunc(leaves(d, path...), func(l leaf) bool { return len(l.place) != len(path)+1 })
		if len(all) == 0 {
			return change{}, false
		}
		slices.SortFunc(all, func(a, b leaf) int { return strings.Compare(a.pointer, b.pointer) })
		l := all[r.IntN(len(all))]
		return change{patch: []patchOp{{"remove", l.pointer, nil}}, place: l.place}, true
	}
}
