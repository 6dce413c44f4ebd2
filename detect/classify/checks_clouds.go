package classify

import (
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// autopilotHardened says whether the value only takes rights away, as Autopilot does: the default seccomp
// profile, and dropped capabilities.
func autopilotHardened(s *situation) bool {
	if !autopilotAdjusted(s) {
		return false
	}
	at := slices.IndexFunc(s.Path, func(step gitops.Step) bool { return step.Field == "securityContext" })
	return at >= 0 && onlyHardens(s.Path[at+1:], s.Live.V)
}

func onlyHardens(below gitops.Path, v any) bool {
	if m, ok := v.(map[string]any); ok {
		for key, value := range m {
			if !onlyHardens(below.Child(gitops.Field(key)), value) {
				return false
			}
		}
		return true
	}
	switch below.String() {
	case "seccompProfile.type":
		return v == "RuntimeDefault"
	case "runAsNonRoot", "readOnlyRootFilesystem":
		return v == true
	case "allowPrivilegeEscalation", "privileged":
		return v == false
	case "capabilities.drop":
		list, _ := v.([]any)
		return len(list) > 0 && !slices.ContainsFunc(list, func(c any) bool { return c != "NET_RAW" && c != "ALL" })
	}
	return strings.HasPrefix(below.String(), "capabilities.drop[") && (v == "NET_RAW" || v == "ALL")
}

// enforcerExpressions says whether a webhook's namespace selector gained nothing but the expressions by
// which AKS keeps its own namespaces out (Azure/AKS CHANGELOG).
func enforcerExpressions(s *situation) bool {
	at := slices.IndexFunc(s.Path, func(step gitops.Step) bool { return step.Field == "namespaceSelector" })
	if at < 0 {
		return false
	}
	git, _ := gitops.Lookup(s.Declared.Content, s.Path[:at+1]).V.(map[string]any)
	live, _ := gitops.Lookup(s.liveContent(), s.Path[:at+1]).V.(map[string]any)
	labels, _ := git["matchLabels"].(map[string]any)
	now, _ := live["matchLabels"].(map[string]any)
	if len(labels) != len(now) || len(labels) > 0 && !sameValue(labels, now) {
		return false
	}
	return onlyAdds(git["matchExpressions"], live["matchExpressions"], []any{
		map[string]any{"key": "kubernetes.azure.com/managedby", "operator": "NotIn", "values": []any{"aks"}},
		map[string]any{"key": "control-plane", "operator": "NotIn", "values": []any{"true"}},
		map[string]any{"key": "control-plane", "operator": "DoesNotExist"},
	})
}

// roleMapping is an entry of mapRoles in EKS's aws-auth ConfigMap.
type roleMapping struct {
	RoleARN  string   `json:"rolearn"`
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

// onlyNodeRoles says whether mapRoles kept every entry of Git, and gained only roles of nodes.
func onlyNodeRoles(s *situation) bool {
	var before, after []roleMapping
	git, _ := s.Git.V.(string)
	live, _ := s.Live.V.(string)
	if yaml.Unmarshal([]byte(git), &before) != nil || yaml.Unmarshal([]byte(live), &after) != nil {
		return false
	}
	same := func(a roleMapping) func(roleMapping) bool {
		return func(b roleMapping) bool {
			return a.RoleARN == b.RoleARN && a.Username == b.Username && slices.Equal(a.Groups, b.Groups)
		}
	}
	for _, entry := range before {
		if !slices.ContainsFunc(after, same(entry)) {
			return false
		}
	}
	for _, entry := range after {
		if slices.ContainsFunc(before, same(entry)) {
			continue
		}
		if len(entry.Groups) == 0 || slices.ContainsFunc(entry.Groups, func(g string) bool {
			return g != "system:bootstrappers" && g != "system:nodes" && g != "system:node-proxier"
		}) {
			return false
		}
	}
	return true
}

// registrySecrets says whether a service account gained only pull secrets of OpenShift's registry.
func registrySecrets(s *situation) bool {
	if s.Path[0].Field == "metadata" {
		return true
	}
	list, isList := s.Live.V.([]any)
	if !isList {
		list = []any{s.Live.V}
	}
	was, _ := s.Git.V.([]any)
	for _, item := range list {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		if !contains(was, item) && !strings.Contains(name, "-dockercfg-") {
			return false
		}
	}
	return true
}

// reloaderHash says whether the value is one that Reloader writes: a hexadecimal hash, or for its
// annotation and restartAt anything.
func reloaderHash(s *situation) bool {
	value := s.Live.V
	if m, ok := value.(map[string]any); ok {
		if len(m) > 2 {
			return false
		}
		value = m["value"]
	} else if s.Path[len(s.Path)-1].Field != "value" {
		return true
	}
	text, ok := value.(string)
	return ok && len(text) >= 8 && len(text) <= 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// sameInjection says whether the annotations that tell cert-manager where the CA comes from are Git's: a
// changed one redirects trust.
func sameInjection(s *situation) bool {
	const prefix = "cert-manager.io/inject-"
	git, live := s.Declared.Annotations(), s.about.Live.Annotations()
	for key, value := range live {
		if strings.HasPrefix(key, prefix) && git[key] != value {
			return false
		}
	}
	for key := range git {
		if strings.HasPrefix(key, prefix) && live[key] == "" {
			return false
		}
	}
	return true
}

// policyMatches says whether a mutating policy on this cluster sets the field so.
func policyMatches(s *situation) bool {
	every := func(gitops.Path, gitops.Value) bool { return true }
	return s.facts.Admission.sets(*s.about.Live, s.Path, s.Git, s.Live, every) != ""
}

// sameService says whether a webhook asks the Service that Git names, and that Service is not known to be missing.
func sameService(s *situation) bool {
	at := slices.IndexFunc(s.Path, func(step gitops.Step) bool { return step.Field == "clientConfig" })
	if at < 0 {
		return false
	}
	path := s.Path[:at+1].Child(gitops.Field("service"))
	git, _ := gitops.Lookup(s.Declared.Content, path).V.(map[string]any)
	live, _ := gitops.Lookup(s.liveContent(), path).V.(map[string]any)
	name, _ := live["name"].(string)
	namespace, _ := live["namespace"].(string)
	if name == "" || git["name"] != live["name"] || git["namespace"] != live["namespace"] {
		return false
	}
	id := gitops.ObjectID{Kind: "Service", Namespace: namespace, Name: name}
	_, found := s.facts.find(id)
	return found || s.facts.Absent == nil || !s.facts.Absent(id)
}

// namedExternalSecret says whether the ExternalSecret that an owner's name tells is there and writes to this Secret.
// Source: external-secrets/external-secrets pkg/controllers/externalsecret/externalsecret_controller.go.
func namedExternalSecret(s *situation) bool {
	live := s.about.Live
	for _, w := range slices.Concat(s.controllers, s.tools) {
		name, ok := strings.CutPrefix(w.Manager, "externalsecrets.external-secrets.io/")
		if !ok {
			continue
		}
		source, found := s.facts.find(gitops.ObjectID{Group: "external-secrets.io", Kind: "ExternalSecret", Namespace: live.ID.Namespace, Name: name})
		target, set := gitops.Lookup(source.Content, gitops.Path{gitops.Field("spec"), gitops.Field("target"), gitops.Field("name")}).V.(string)
		if found && (target == live.ID.Name || !set && name == live.ID.Name) {
			return true
		}
	}
	return false
}

// ownFinalizer says whether a finalizer is of the domain of the object's own kind, which its operator sets.
func ownFinalizer(s *situation) bool {
	group := s.about.Live.ID.Group
	if !qualifiedFinalizers(s) || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		return false
	}
	was, _ := s.Git.V.([]any)
	now, isList := s.Live.V.([]any)
	if !isList {
		now = []any{s.Live.V}
	}
	return !slices.ContainsFunc(now, func(item any) bool {
		name, _ := item.(string)
		domain, _, _ := strings.Cut(name, "/")
		return !contains(was, item) && ownDomain(domain) != ownDomain(group)
	})
}

// ownDomain is the last two labels of a domain.
func ownDomain(domain string) string {
	labels := strings.Split(domain, ".")
	return strings.Join(labels[max(0, len(labels)-2):], ".")
}

// qualifiedFinalizers says whether a list of finalizers only gained entries of the form that controllers
// use: a domain, and mostly a name after a slash.
func qualifiedFinalizers(s *situation) bool {
	if s.removed() {
		return false
	}
	was, _ := s.Git.V.([]any)
	now, isList := s.Live.V.([]any)
	if !isList {
		now = []any{s.Live.V}
	}
	for _, item := range was {
		if !contains(now, item) {
			return false
		}
	}
	for _, item := range now {
		name, _ := item.(string)
		if !contains(was, item) && !strings.Contains(name, ".") && !strings.Contains(name, "/") {
			return false
		}
	}
	return true
}
