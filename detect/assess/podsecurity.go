package assess

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"

	"holdfast/gitops"
)

// securityLevel is the strictest of the Pod Security Standards that a pod template meets
// (kubernetes.io/docs/concepts/security/pod-security-standards). The zero level is "not known": the object
// has no pod template, or one that does not decode.
type securityLevel int

const (
	levelUnknown securityLevel = iota
	levelPrivileged
	levelBaseline
	levelRestricted
)

// podLevel judges the object's pod template by the latest version of the standards.
func (a *Assessor) podLevel(object *gitops.Object) securityLevel {
	if object == nil {
		return levelUnknown
	}
	meta, spec, ok := podTemplate(*object)
	if !ok {
		return levelUnknown
	}
	for _, try := range []struct {
		standard api.Level
		level    securityLevel
	}{{api.LevelRestricted, levelRestricted}, {api.LevelBaseline, levelBaseline}} {
		if a.meets(try.standard, meta, spec) {
			return try.level
		}
	}
	return levelPrivileged
}

// Privileged says whether the object has a pod template that does not even meet the baseline of the Pod Security
// Standards: its pods have a hold on the node.
func (a *Assessor) Privileged(object gitops.Object) bool {
	return a.podLevel(&object) == levelPrivileged
}

func (a *Assessor) meets(level api.Level, meta *metav1.ObjectMeta, spec *corev1.PodSpec) bool {
	for _, result := range a.pods.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, meta, spec) {
		if !result.Allowed {
			return false
		}
	}
	return true
}

// violations names the checks of the baseline that the pod template fails, with what they object to.
func (a *Assessor) violations(object *gitops.Object) map[string]bool {
	out := map[string]bool{}
	meta, spec, ok := podTemplate(*object)
	if !ok {
		return out
	}
	for _, result := range a.pods.EvaluatePod(api.LevelVersion{Level: api.LevelBaseline, Version: api.LatestVersion()}, meta, spec) {
		if !result.Allowed {
			out[result.ForbiddenReason+": "+result.ForbiddenDetail] = true
		}
	}
	return out
}

// podTemplate finds and decodes a pod template: its metadata and its spec.
func podTemplate(object gitops.Object) (*metav1.ObjectMeta, *corev1.PodSpec, bool) {
	for _, path := range podSpecs(object.ID.Kind) {
		raw, isMap := gitops.Lookup(object.Content, path).V.(map[string]any)
		if !isMap || raw["containers"] == nil {
			continue
		}
		var spec corev1.PodSpec
		if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &spec) != nil {
			return nil, nil, false
		}
		var meta metav1.ObjectMeta
		above := append(path[:len(path)-1:len(path)-1], gitops.Field("metadata"))
		if m, ok := gitops.Lookup(object.Content, above).V.(map[string]any); ok {
			annotations, _ := m["annotations"].(map[string]any)
			meta.Annotations = map[string]string{}
			for key, value := range annotations {
				meta.Annotations[key] = text(value)
			}
		}
		return &meta, &spec, true
	}
	return nil, nil, false
}

// podFell says whether the live template meets a lower standard than the declared one, or breaks more of
// the baseline; rose says the opposite.
func (a *Assessor) podFell(in Input) (fell, rose bool) {
	declared, live := a.podLevel(in.Declared), a.podLevel(in.Live)
	if declared == levelUnknown || live == levelUnknown {
		return false, false
	}
	before, after := a.violations(in.Declared), a.violations(in.Live)
	return live < declared || adds(before, after), live > declared || adds(after, before) && !adds(before, after)
}

// adds says whether after holds something that before does not.
func adds(before, after map[string]bool) bool {
	for key := range after {
		if !before[key] {
			return true
		}
	}
	return false
}
