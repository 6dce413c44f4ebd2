package classify

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast/gitops"
	"holdfast/gitops/argocd"
)

// check is a precondition or shape of a known mutator that a table cannot spell.
type check func(*situation) bool

// checkNamed gives the check that a rule names, or nil.
func checkNamed(name string) check {
	switch name {
	case "autopilot":
		return autopilotAdjusted
	case "autopilot-hardening":
		return autopilotHardened
	case "routed":
		return isRouted
	case "like-namespace":
		return likeNamespace
	case "tracking-value":
		return ownTrackingValue
	case "sync-from-git":
		return syncFromGit
	case "qualified-finalizers":
		return qualifiedFinalizers
	case "enforcer-expressions":
		return enforcerExpressions
	case "node-roles":
		return onlyNodeRoles
	case "registry-secrets":
		return registrySecrets
	case "reloader-hash":
		return reloaderHash
	case "same-injection":
		return sameInjection
	case "same-service":
		return sameService
	case "external-secret":
		return namedExternalSecret
	case "own-finalizer":
		return ownFinalizer
	case "policy-matches":
		return policyMatches
	}
	return nil
}

// syncFromGit says whether an Argo CD operation is a sync of what the Application's sources hold: not of files that a
// person sends along, nor from another source.
func syncFromGit(s *situation) bool {
	operation, _ := s.Live.V.(map[string]any)
	sync, ok := operation["sync"].(map[string]any)
	return ok && sync["manifests"] == nil && sync["source"] == nil && sync["sources"] == nil
}

// adjustment is GKE Autopilot's note on what its admission changed: requests and limits by container, as
// they came in and as they were let through.
type adjustment struct {
	Input, Output struct {
		Containers     []containerResources `json:"containers"`
		InitContainers []containerResources `json:"initContainers"`
	}
}

type containerResources struct {
	Name     string         `json:"name"`
	Requests map[string]any `json:"requests"`
	Limits   map[string]any `json:"limits"`
}

// autopilotAdjusted says whether Autopilot's note explains the object: for a field of a container's
// resources, its input is what Git declares and its output what lives; for any other field, some note is
// there and reads.
func autopilotAdjusted(s *situation) bool {
	text, ok := s.about.Live.Annotations()["autopilot.gke.io/resource-adjustment"]
	var note adjustment
	if !ok || json.Unmarshal([]byte(text), &note) != nil {
		return false
	}
	at := -1
	for i, step := range s.Path {
		if step.Field == "resources" && i > 0 && !s.Path[i-1].IsField() {
			at = i
		}
	}
	if at < 0 {
		return true
	}
	declared, _ := gitops.Lookup(s.Declared.Content, s.Path[:at]).V.(map[string]any)
	live, _ := gitops.Lookup(s.liveContent(), s.Path[:at]).V.(map[string]any)
	name, _ := live["name"].(string)
	before, inOK := containerOf(append(note.Input.Containers, note.Input.InitContainers...), name)
	after, outOK := containerOf(append(note.Output.Containers, note.Output.InitContainers...), name)
	if !inOK || !outOK {
		return false
	}
	git, _ := declared["resources"].(map[string]any)
	now, _ := live["resources"].(map[string]any)
	return sameQuantities(before.Requests, git["requests"]) && sameQuantities(before.Limits, git["limits"]) &&
		sameQuantities(after.Requests, now["requests"]) && sameQuantities(after.Limits, now["limits"])
}

func containerOf(list []containerResources, name string) (containerResources, bool) {
	for _, c := range list {
		if c.Name == name {
			return c, true
		}
	}
	return containerResources{}, false
}

func sameQuantities(note map[string]any, v any) bool {
	have, _ := v.(map[string]any)
	if len(note) != len(have) {
		return false
	}
	for key, a := range note {
		b, ok := have[key]
		if !ok || !sameQuantity(a, b) {
			return false
		}
	}
	return true
}

func sameQuantity(a, b any) bool {
	x, errX := resource.ParseQuantity(text(a))
	y, errY := resource.ParseQuantity(text(b))
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, _ := json.Marshal(v)
	return string(data)
}

// isRouted says whether a Rollout or Canary of the namespace names the object.
func isRouted(s *situation) bool {
	_, ok := s.facts.neighbours.routed[s.about.Live.ID.Namespace+"/"+s.about.Live.ID.Name]
	return ok
}

// likeNamespace says whether the object's annotation holds what its Namespace's annotation of the same key
// does.
func likeNamespace(s *situation) bool {
	if len(s.Path) == 0 {
		return false
	}
	key := s.Path[len(s.Path)-1].Field
	want, ok := s.facts.neighbours.namespaces[s.about.Live.ID.Namespace][key]
	return ok && s.Live.V == want
}

// ownTrackingValue says whether a tracking mark tells the truth, as far as that is known: a label of this
// Application has its value, and Argo CD's tracking id names the object that it stands on.
func ownTrackingValue(s *situation) bool {
	if len(s.Path) != 3 {
		return false
	}
	key, value := s.Path[2].Field, text(s.Live.V)
	if key == argoTrackingKey {
		app, names, _ := strings.Cut(value, ":")
		return namesObject(names, s.about.Live.ID) && (s.App.Tracking.Annotation != key || argocd.IsTrackingName(app, s.App.Namespace, s.App.Name))
	}
	want, known := s.App.Tracking.Labels[key]
	return !known || value == want
}

// isNamedRewrite says whether the live image is Git's image after a rewrite that the policy names, tag and
// digest untouched.
func isNamedRewrite(s *situation) bool {
	if !s.changed() || len(s.Path) == 0 || s.Path[len(s.Path)-1].Field != "image" {
		return false
	}
	git, _ := s.Git.V.(string)
	live, _ := s.Live.V.(string)
	for _, rewrite := range s.facts.ImageRewrites {
		for _, spelled := range imageSpellings(git) {
			if rest, ok := strings.CutPrefix(spelled, rewrite.From); ok && live == rewrite.To+rest {
				return true
			}
		}
	}
	return false
}

// imageSpellings gives the forms of one image name: as written, and with the host and library folder that
// a short name stands for (distribution/reference, the familiar form).
func imageSpellings(image string) []string {
	out := []string{image}
	host, rest, hasPath := strings.Cut(image, "/")
	switch {
	case !hasPath:
		out = append(out, "docker.io/library/"+image, "docker.io/"+image, "library/"+image)
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		out = append(out, "docker.io/"+image)
	case host == "docker.io" || host == "index.docker.io":
		out = append(out, rest, "docker.io/"+rest, "docker.io/library/"+rest)
	}
	return out
}
