package splice

import (
	"cmp"
	"maps"
	"slices"
)

// conventions are key orders that people follow in manifests (the order in which the API documents the
// fields, and kustomize documents its file). A mapping follows the first that holds all it needs.
var conventions = [][]string{
	{"apiVersion", "kind", "metadata", "type", "immutable", "spec", "data", "stringData", "binaryData", "roleRef", "subjects", "rules"},
	{"name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers"},
	{"name", "image", "imagePullPolicy", "command", "args", "workingDir", "ports", "envFrom", "env", "resources", "volumeMounts",
		"volumeDevices", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "securityContext"},
	{"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds", "paused", "strategy", "selector", "serviceName", "template"},
	{"name", "value", "valueFrom"},
	{"name", "containerPort", "port", "protocol", "appProtocol", "targetPort", "nodePort"},
	{"name", "newName", "newTag", "digest"},
	{"op", "from", "path", "value"},
	{"path", "patch", "target", "options"},
	{"name", "behavior", "files", "envs", "literals", "options"},
	{"interval", "retryInterval", "timeout", "path", "prune", "wait", "sourceRef", "targetNamespace", "components", "patches", "images", "postBuild"},
	{"limits", "requests"},
	{"cpu", "memory"},
}

// kustomization is the order in which new sections are added to a kustomization file.
var kustomization = []string{"apiVersion", "kind", "metadata", "namespace", "namePrefix", "nameSuffix", "resources", "components",
	"labels", "commonLabels", "commonAnnotations", "configMapGenerator", "secretGenerator", "replicas", "images", "patches", "transformers"}

// sortedFrom is how many keys in the order of the alphabet are taken as meant that way.
const sortedFrom = 3

// place gives the index in keys before which key belongs: behind its neighbour in the convention that the
// keys follow, in the alphabet if they are sorted, else at the end.
func place(keys []string, key string) int {
	if len(keys) >= sortedFrom && slices.IsSorted(keys) && !known(keys, key) {
		i, _ := slices.BinarySearch(keys, key)
		return i
	}
	order := conventionFor(keys, key)
	rank := slices.Index(order, key)
	if rank < 0 {
		if len(keys) >= sortedFrom && slices.IsSorted(keys) {
			i, _ := slices.BinarySearch(keys, key)
			return i
		}
		return len(keys)
	}
	at := -1
	for i, k := range keys {
		if r := slices.Index(order, k); r >= 0 && r < rank {
			at = i + 1
		}
	}
	if at >= 0 {
		return at
	}
	for i, k := range keys {
		if r := slices.Index(order, k); r > rank {
			return i
		}
	}
	return len(keys)
}

// known says whether a convention names key and at least two of keys, so that a sorted order may be chance.
func known(keys []string, key string) bool {
	order := conventionFor(keys, key)
	n := 0
	for _, k := range keys {
		if slices.Contains(order, k) {
			n++
		}
	}
	return n >= 2 && slices.Contains(order, key)
}

// conventionFor picks the convention that knows key and most of keys.
func conventionFor(keys []string, key string) []string {
	if slices.Contains(keys, "resources") && (slices.Contains(kustomization, key)) && !slices.Contains(keys, "image") {
		return kustomization
	}
	var best []string
	most := 0
	for _, order := range conventions {
		if !slices.Contains(order, key) {
			continue
		}
		n := 1
		for _, k := range keys {
			if slices.Contains(order, k) {
				n++
			}
		}
		if n > most {
			best, most = order, n
		}
	}
	return best
}

// sortedKeys gives the keys of a new mapping in the conventional order, the rest in the alphabet.
func sortedKeys(m map[string]any) []string {
	keys := slices.Sorted(maps.Keys(m))
	var order []string
	most := 0
	for _, c := range append([][]string{kustomization}, conventions...) {
		n := 0
		for _, k := range keys {
			if slices.Contains(c, k) {
				n++
			}
		}
		if n > most {
			order, most = c, n
		}
	}
	rank := func(k string) int {
		if i := slices.Index(order, k); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return keys
}
