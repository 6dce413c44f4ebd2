package assess

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast/detect"
	"holdfast/gitops"
)

// escalation is a level that the values ask for, in place of the class's; the zero escalation asks for
// none. EveryTier levels are not lowered for a less important tier.
type escalation struct {
	level     detect.Risk
	everyTier bool
}

// escalate looks at what the values say, beyond their class. Each rule may also lower the level, where the
// values show that little is at stake.
func (a *Assessor) escalate(class string, category Category, in Input) escalation {
	last := ""
	if n := len(in.Field.Path); n > 0 {
		last = in.Field.Path[n-1].Field
	}
	switch class {
	case "rbac":
		return rbacEscalation(in)
	case "network_policy":
		return networkEscalation(in)
	case "workload_security_context":
		return a.podEscalation(category, in)
	case "workload_image":
		return a.imageEscalation(category, in)
	case "workload_runtime_spec":
		return runtimeEscalation(in)
	case "replicas":
		if n, ok := gitops.Number(in.Field.Live.V); ok && n == 0 {
			return escalation{level: detect.High}
		}
	case "autoscaler_bounds":
		return autoscalerEscalation(last, in)
	case "namespace_psa":
		return namespaceEscalation(category, in)
	case "admission_webhook":
		return webhookEscalation(last, in)
	case "policy":
		return policyEscalation(in)
	case "crd":
		return crdEscalation(in)
	case "ingress_tls":
		return exposureEscalation(category, last, in)
	case "storage":
		return storageEscalation(last, in)
	case "scheduling":
		return schedulingEscalation(category, in)
	case "service_account":
		if len(in.Field.Path) > 1 && in.Field.Path[0].Field == "metadata" {
			return escalation{level: detect.Critical}
		}
	}
	return escalation{}
}

// podEscalation judges isolation by the Pod Security Standards: a template that falls to a lower one is
// critical in every tier, one that meets a higher one is worth a look only.
func (a *Assessor) podEscalation(category Category, in Input) escalation {
	if category == Unmanaged {
		if a.podLevel(in.Live) == levelPrivileged {
			return escalation{detect.Critical, true}
		}
		return escalation{level: detect.High}
	}
	fell, rose := a.podFell(in)
	switch {
	case in.Declared == nil || in.Live == nil:
		return escalation{}
	case fell:
		return escalation{detect.Critical, true}
	case rose:
		return escalation{level: detect.Medium}
	case a.podLevel(in.Live) == levelUnknown:
		return escalation{}
	}
	return escalation{level: detect.High}
}

// imageEscalation: an added container runs code that nobody reviewed; another registry, a lost digest and
// the tag latest make the code unknown.
func (a *Assessor) imageEscalation(category Category, in Input) escalation {
	if n := len(in.Field.Path); n > 0 && !in.Field.Path[n-1].IsField() && category == FieldAdded {
		fell, _ := a.podFell(in)
		return escalation{detect.Critical, fell}
	}
	git, live := text(in.Field.Git.V), text(in.Field.Live.V)
	if category != ValueChanged || !strings.HasSuffix(in.Field.Path.String(), ".image") {
		return escalation{}
	}
	latest := strings.HasSuffix(live, ":latest") || !strings.Contains(live[strings.LastIndex(live, "/")+1:], ":") && !strings.Contains(live, "@")
	if registry(git) != registry(live) || strings.Contains(git, "@") && !strings.Contains(live, "@") || latest {
		return escalation{level: detect.Critical}
	}
	return escalation{}
}

// registry gives the host of an image name; a name without one is on Docker Hub.
func registry(image string) string {
	host, _, ok := strings.Cut(image, "/")
	if ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		return host
	}
	return "docker.io"
}

// runtimeEscalation: environment that redirects a program's code, traffic or credentials.
func runtimeEscalation(in Input) escalation {
	path := in.Field.Path.String()
	if strings.Contains(path, "ephemeralContainers") {
		return escalation{level: detect.High}
	}
	for _, name := range []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
		"AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AZURE_CLIENT_ID", "GOOGLE_APPLICATION_CREDENTIALS"} {
		if strings.Contains(path, "env[name="+name+"]") || strings.Contains(path, "env[name="+strings.ToLower(name)+"]") {
			return escalation{level: detect.High}
		}
	}
	return escalation{}
}

// autoscalerEscalation: capacity that was promised is gone, or scaling is paused.
func autoscalerEscalation(last string, in Input) escalation {
	if strings.HasPrefix(last, "autoscaling.keda.sh/paused") {
		return escalation{level: detect.High}
	}
	git, okGit := gitops.Number(in.Field.Git.V)
	live, okLive := gitops.Number(in.Field.Live.V)
	lowers := okGit && okLive && live < git
	if lowers && slices.Contains([]string{"minReplicas", "maxReplicas", "minReplicaCount", "maxReplicaCount"}, last) {
		return escalation{level: detect.High}
	}
	return escalation{}
}

// podSecurityRank orders the values of the Pod Security labels, laxest first.
func podSecurityRank(value string) int {
	return slices.Index([]string{"privileged", "baseline", "restricted"}, value)
}

// namespaceEscalation: the level that admission enforces for everything inside.
func namespaceEscalation(category Category, in Input) escalation {
	if len(in.Field.Path) == 0 || in.Field.Path[len(in.Field.Path)-1].Field != "pod-security.kubernetes.io/enforce" {
		return escalation{}
	}
	git, live := podSecurityRank(text(in.Field.Git.V)), podSecurityRank(text(in.Field.Live.V))
	switch {
	case category == FieldRemoved && git > 0, category == ValueChanged && live < git, category == FieldAdded && live == 0:
		return escalation{detect.Critical, true}
	case category == ValueChanged && live > git:
		return escalation{level: detect.Medium}
	}
	return escalation{}
}

// webhookEscalation: a gatekeeper that lets pass when it fails, or that is asked about less.
func webhookEscalation(last string, in Input) escalation {
	if last == "failurePolicy" {
		if text(in.Field.Live.V) == "Ignore" {
			return escalation{detect.Critical, true}
		}
		return escalation{level: detect.Medium}
	}
	return escalation{}
}

// policyEscalation: enforcement turned to a warning, or an exception made.
func policyEscalation(in Input) escalation {
	if in.Object.Kind == "PolicyException" {
		return escalation{detect.Critical, true}
	}
	weak := []string{"audit", "warn", "dryrun", "ignore"}
	strong := []string{"enforce", "deny", "fail"}
	git, live := strings.ToLower(text(in.Field.Git.V)), strings.ToLower(text(in.Field.Live.V))
	if slices.Contains(strong, git) && slices.Contains(weak, live) || strings.Contains(in.Field.Path.String(), "exclude") && !in.Field.Git.Set {
		return escalation{detect.Critical, true}
	}
	return escalation{}
}

// crdEscalation: where conversions, or the API itself, are served from.
func crdEscalation(in Input) escalation {
	path := in.Field.Path.String()
	if strings.HasPrefix(path, "spec.conversion") || strings.HasPrefix(path, "spec.service") || strings.HasPrefix(path, "spec.insecureSkipTLSVerify") {
		return escalation{level: detect.Critical}
	}
	return escalation{}
}

// exposureEscalation: a Service or route that more of the world can reach, or that lost its encryption.
func exposureEscalation(category Category, last string, in Input) escalation {
	path := in.Field.Path.String()
	switch {
	case path == "spec.type" && slices.Contains([]string{"LoadBalancer", "NodePort"}, text(in.Field.Live.V)),
		strings.HasPrefix(path, "spec.externalIPs") && category != FieldRemoved,
		path == "spec.loadBalancerSourceRanges" && (category == FieldRemoved || holdsText(in.Field.Live.V, "0.0.0.0/0")),
		strings.HasPrefix(path, "spec.tls") && category == FieldRemoved,
		strings.Contains(last, "ssl-redirect") && text(in.Field.Live.V) != "true",
		strings.Contains(last, "auth-") && category == FieldRemoved:
		return escalation{level: detect.Critical}
	}
	return escalation{}
}

// storageEscalation: data that would be deleted or left unencrypted. A claim that only grew is harmless.
func storageEscalation(last string, in Input) escalation {
	switch {
	case (last == "reclaimPolicy" || last == "persistentVolumeReclaimPolicy") && text(in.Field.Live.V) == "Delete",
		last == "encrypted" || last == "kmsKeyId":
		return escalation{level: detect.Critical}
	case last == "storage":
		git, errGit := resource.ParseQuantity(text(in.Field.Git.V))
		live, errLive := resource.ParseQuantity(text(in.Field.Live.V))
		if errGit == nil && errLive == nil && live.Cmp(git) > 0 {
			return escalation{level: detect.Low}
		}
	}
	return escalation{}
}

// schedulingEscalation: work that may now run where it is kept from.
func schedulingEscalation(category Category, in Input) escalation {
	path := in.Field.Path.String()
	if strings.Contains(path, "tolerations") && (holdsText(in.Field.Live.V, "node-role.kubernetes.io/control-plane") ||
		holdsText(in.Field.Live.V, "node-role.kubernetes.io/master")) || strings.HasSuffix(path, "runtimeClassName") && category != FieldAdded {
		return escalation{level: detect.High}
	}
	return escalation{}
}

// holdsText says whether a JSON value holds the text anywhere.
func holdsText(v any, want string) bool {
	switch v := v.(type) {
	case string:
		return v == want
	case map[string]any:
		for _, item := range v {
			if holdsText(item, want) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return holdsText(item, want) })
	}
	return false
}

// part gives what stands at a path of field names on one side; nil where the side or the part is not there.
func part(object *gitops.Object, path ...string) any {
	if object == nil {
		return nil
	}
	var steps gitops.Path
	for _, name := range path {
		steps = append(steps, gitops.Field(name))
	}
	return gitops.Lookup(object.Content, steps).V
}
