package classify

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
)

// Autoscalers holds, by target, what scales it. An API group is part of the target's identity; a version
// is not.
type Autoscalers map[gitops.ObjectID][]Autoscaler

// Autoscaler is one HorizontalPodAutoscaler, ScaledObject, Rollout or Canary that sets its target's
// replicas.
type Autoscaler struct {
	ID gitops.ObjectID
	// Min and Max bound what it sets. Exactly lists counts that it may set outside of them.
	Min, Max int64
	Exactly  []int64
	// Writers are the field managers that it writes with.
	Writers []string
	// Cause is autoscaler, or controller for a Rollout or Canary that takes over the target's pods.
	Cause detect.Cause
	// Paused says that a mark holds it at a count or where it stands.
	Paused bool
}

// allows says whether the autoscaler may have set this count.
func (a Autoscaler) allows(count int64) bool {
	for _, n := range a.Exactly {
		if n == count {
			return true
		}
	}
	return a.Min <= count && count <= a.Max
}

func (a Autoscalers) add(object gitops.Object) {
	spec, _ := object.Content["spec"].(map[string]any)
	if spec == nil {
		return
	}
	switch object.ID.GroupKind() {
	case gitops.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		a.put(object.ID, target(spec["scaleTargetRef"], "", object.ID.Namespace), Autoscaler{
			Min: integer(spec["minReplicas"], 1), Max: integer(spec["maxReplicas"], 0),
			Writers: []string{"kube-controller-manager"}, Cause: detect.CauseAutoscaler,
		})
	case gitops.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}:
		a.put(object.ID, target(spec["scaleTargetRef"], "apps/v1/Deployment", object.ID.Namespace), scaledObject(object, spec))
	case gitops.GroupKind{Group: "argoproj.io", Kind: "Rollout"}:
		// A Rollout that runs a Deployment's template scales that Deployment down
		// (argoproj/argo-rollouts pkg/apis/rollouts/v1alpha1, workloadRef.scaleDown).
		a.put(object.ID, target(spec["workloadRef"], "", object.ID.Namespace), Autoscaler{
			Min: 0, Max: 0, Writers: []string{"rollouts-controller"}, Cause: detect.CauseController,
		})
	case gitops.GroupKind{Group: "flagger.app", Kind: "Canary"}:
		// Flagger keeps the target at 0 and runs a -primary copy (fluxcd/flagger pkg/canary).
		a.put(object.ID, target(spec["targetRef"], "", object.ID.Namespace), Autoscaler{
			Min: 0, Max: 0, Writers: []string{"flagger"}, Cause: detect.CauseController,
		})
	}
}

func (a Autoscalers) put(id, target gitops.ObjectID, scaler Autoscaler) {
	if target.Name == "" {
		return
	}
	scaler.ID = id
	a[target] = append(a[target], scaler)
}

// scaledObject reads KEDA's bounds: idle, minimum (0 by default), maximum (100 by default), and the pause
// annotations (kedacore/keda apis/keda/v1alpha1/scaledobject_types.go).
func scaledObject(object gitops.Object, spec map[string]any) Autoscaler {
	s := Autoscaler{
		Min: integer(spec["minReplicaCount"], 0), Max: integer(spec["maxReplicaCount"], 100),
		Writers: []string{"keda", "keda-operator", "kube-controller-manager"}, Cause: detect.CauseAutoscaler,
	}
	if idle, ok := gitops.Number(spec["idleReplicaCount"]); ok {
		s.Exactly = append(s.Exactly, int64(idle))
	}
	marks := object.Annotations()
	if text, ok := marks["autoscaling.keda.sh/paused-replicas"]; ok {
		var count int64
		if _, err := fmt.Sscan(text, &count); err == nil {
			s.Paused, s.Min, s.Max, s.Exactly = true, count, count, nil
		}
	} else if strings.EqualFold(marks["autoscaling.keda.sh/paused"], "true") {
		s.Paused = true
	}
	return s
}

// target reads a reference to an object of the same namespace. Fallback is group/version/kind for what the
// reference leaves out.
func target(v any, fallback, namespace string) gitops.ObjectID {
	ref, _ := v.(map[string]any)
	name, _ := ref["name"].(string)
	apiVersion, _ := ref["apiVersion"].(string)
	kind, _ := ref["kind"].(string)
	if at := strings.LastIndex(fallback, "/"); at > 0 {
		if kind == "" {
			kind = fallback[at+1:]
		}
		if apiVersion == "" {
			apiVersion = fallback[:at]
		}
	}
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group = ""
	}
	return gitops.ObjectID{Group: group, Kind: kind, Namespace: namespace, Name: name}
}

func integer(v any, otherwise int64) int64 {
	if n, ok := gitops.Number(v); ok {
		return int64(n)
	}
	return otherwise
}

// HandMade gives the person's tool that made an autoscaler, or changed it since, where no Application is known to declare
// it: what it sets is then that person's change. Nil where nothing tells so.
func (f *Facts) HandMade(a Autoscaler) *detect.Writer {
	object, ok := f.find(a.ID)
	if !ok || f.Declared == nil || f.Declared(a.ID) {
		return nil
	}
	if maker := f.maker(gitops.Application{}, object); maker.tool && !ofOwnChart(object) {
		return maker.writer
	}
	return nil
}

// isReplicas says whether the difference is the replica count of something that can be scaled.
func isReplicas(s *situation) bool {
	if !s.Path.Equal(gitops.Path{gitops.Field("spec"), gitops.Field("replicas")}) {
		return false
	}
	switch s.about.Live.ID.Kind {
	case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Rollout", "DeploymentConfig":
		return true
	}
	return len(s.facts.Autoscalers[s.about.Live.ID]) > 0
}

// scaler finds what explains the live count: it targets the object, the count lies within its bounds, and
// the field is its own or nobody's, or Git says nothing of it and somebody scaled. Autoscalers write the scale
// subresource alone, unless an audit log shows their own account; a Rollout or Canary, the object. Writing the scale subresource leaves
// an entry in managedFields only where the field had an owner, so an unowned count is inferred.
func scaler(s *situation) (Autoscaler, detect.Writer, bool) {
	if !isReplicas(s) || !s.Live.Set {
		return Autoscaler{}, detect.Writer{}, false
	}
	count, ok := gitops.Number(s.Live.V)
	if !ok {
		return Autoscaler{}, detect.Writer{}, false
	}
	for _, a := range s.facts.Autoscalers[s.about.Live.ID] {
		if !a.allows(int64(count)) || s.facts.HandMade(a) != nil {
			continue
		}
		for _, owner := range s.Owners {
			whole := owner.Subresource == "" && (a.Cause != detect.CauseAutoscaler || owner.IsComponent())
			named := slices.ContainsFunc(a.Writers, func(want string) bool { return isManager(want, owner.Manager) })
			if named && (owner.Subresource == "scale" || whole) {
				owner.Confidence = detect.ByManager
				return a, owner, true
			}
		}
		if len(s.tools) == 0 && len(s.controllers) == 0 {
			return a, detect.Writer{Confidence: detect.Inferred}, true
		}
		if s.added() && len(s.tools) > 0 && s.tools[0].Subresource == "scale" {
			return a, s.tools[0], true // Git leaves the count to the autoscaler, which corrects what people set meanwhile
		}
	}
	return Autoscaler{}, detect.Writer{}, false
}

func isAutoscaled(s *situation) bool {
	_, _, ok := scaler(s)
	return ok
}

func byAutoscaler(s *situation) verdict {
	a, writer, _ := scaler(s)
	reason := fmt.Sprintf("%s %s targets it, and %v lies within %d to %d.", a.ID.Kind, a.ID.Name, s.Live.V, a.Min, a.Max)
	if a.Paused {
		reason = fmt.Sprintf("%s %s targets it and is paused; act on the pause, not on the count.", a.ID.Kind, a.ID.Name)
	}
	if s.Git.Set {
		reason += " Git names a count as well: take replicas out of Git, and hand the field over first, or it drops to 1 for a moment."
	}
	return verdict{a.Cause, false, &writer, reason}
}

// isFreeReplicas: a count that no autoscaler explains and that nobody, or only the API server's own
// bookkeeping, owns up to. kubectl scale leaves no entry where replicas had no owner.
func isFreeReplicas(s *situation) bool {
	return isReplicas(s) && s.Live.Set && len(s.tools) == 0 && (s.unowned() || len(s.controllers) > 0)
}

func replicasByHand(s *situation) verdict {
	reason := "No autoscaler targets it."
	var hand *detect.Writer
	for _, a := range s.facts.Autoscalers[s.about.Live.ID] {
		reason = fmt.Sprintf("%s %s targets it, but %v lies outside %d to %d.", a.ID.Kind, a.ID.Name, s.Live.V, a.Min, a.Max)
		if count, ok := gitops.Number(s.Live.V); ok && a.allows(int64(count)) {
			reason = fmt.Sprintf("%s %s targets it and scales by the scale subresource, which did not write this count.", a.ID.Kind, a.ID.Name)
		}
		if hand = s.facts.HandMade(a); hand != nil {
			reason = fmt.Sprintf("%s %s targets it, which %s made past Git.", a.ID.Kind, a.ID.Name, hand.Manager)
		}
	}
	writer := unresolved()
	switch {
	case hand != nil:
		writer = hand
	case len(s.controllers) > 0:
		writer = &s.controllers[0]
	}
	switch {
	case s.added():
		reason += " Git leaves the count to its default, and scaling by hand leaves no owner where there was none."
	case s.unowned():
		return verdict{detect.CauseUnknown, true, writer, reason + " Nobody owns the declared count: its ownership was stripped."}
	}
	return verdict{detect.CauseManual, true, writer, reason}
}
