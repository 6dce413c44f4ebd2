package codify

import (
	"path"
	"strings"
	"unicode"

	"holdfast/gitops"
)

// spelling writes a kind in a file's name.
type spelling func(kind string) string

func lower(kind string) string { return strings.ToLower(kind) }

func exactly(kind string) string { return kind }

// kebab writes NetworkPolicy as network-policy.
func kebab(kind string) string {
	var out strings.Builder
	runes := []rune(kind)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			out.WriteByte('-')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// abbreviated writes a kind as kubectl's short names do; source: kubernetes.io/docs/reference/kubectl, resource types.
func abbreviated(kind string) string {
	known := map[string]string{
		"ConfigMap": "cm", "CronJob": "cj", "DaemonSet": "ds", "Deployment": "deploy", "HorizontalPodAutoscaler": "hpa", "Ingress": "ing",
		"Namespace": "ns", "NetworkPolicy": "netpol", "PersistentVolumeClaim": "pvc", "PodDisruptionBudget": "pdb", "Service": "svc",
		"ServiceAccount": "sa", "StatefulSet": "sts",
	}
	if name, ok := known[kind]; ok {
		return name
	}
	return lower(kind)
}

// nameStyles are the ways in which people put kind and name together in a file's name.
func nameStyles() []string {
	return []string{"kind-name", "name-kind", "kind_name", "name_kind", "kind.name", "name.kind", "kind", "name"}
}

// nameOf gives a file's name, without its extension.
func nameOf(id gitops.ObjectID, style string, spell spelling) string {
	return strings.NewReplacer("kind", spell(id.Kind), "name", id.Name).Replace(style)
}

// nameFor gives the name of a new file as most of its neighbours have theirs, else by kind and name. joins says that several objects of one
// name share a file there, so that one which exists is joined.
func nameFor(id gitops.ObjectID, near []neighbour) (name string, joins bool) {
	best, votes := nameOf(id, "kind-name", lower), 0
	short, long := 0, 0
	for _, n := range near {
		if path.Ext(n.file) == ".yml" {
			short++
		} else {
			long++
		}
	}
	for _, style := range nameStyles() {
		for _, spell := range []spelling{lower, kebab, abbreviated, exactly} {
			count, several := 0, false
			for _, n := range near {
				stem := strings.TrimSuffix(path.Base(n.file), path.Ext(n.file))
				if (n.alone || style == "name") && stem == nameOf(n.written, style, spell) {
					count++
					several = several || !n.alone
				}
			}
			if count > votes && 2*count > len(near) {
				best, votes, joins = nameOf(id, style, spell), count, several
			}
		}
	}
	if short > long {
		return best + ".yml", joins
	}
	return best + ".yaml", joins
}
