package compare

import (
	"encoding/base64"
	"fmt"
	"maps"

	"holdfast/gitops"
)

// sameVersion brings the declared object to the version that live was read at, or both to a later one. The
// error says that no conversion is known; the objects are then compared as they are.
func (c *Comparer) sameVersion(declared, live gitops.Object) (git, current gitops.Object, err error) {
	if declared.APIVersion == live.APIVersion {
		return declared, live, nil
	}
	if live.ID.Group == "autoscaling" && live.ID.Kind == "HorizontalPodAutoscaler" {
		git, current = autoscalerV2(declared), autoscalerV2(live)
		if !abridged(declared) && !abridged(live) {
			return git, current, nil
		}
	} else {
		git, current = declared, live
	}
	return git, current, fmt.Errorf("declared as %s and read as %s: read it at Git's version", declared.APIVersion, live.APIVersion)
}

// autoscalerV2 converts an autoscaling/v1 object as the API server does
// (kubernetes/pkg/apis/autoscaling/v1/conversion.go).
func autoscalerV2(o gitops.Object) gitops.Object {
	if o.APIVersion != "autoscaling/v1" {
		return o
	}
	content := maps.Clone(o.Content)
	content["apiVersion"] = "autoscaling/v2"
	spec, _ := content["spec"].(map[string]any)
	if percent, ok := spec["targetCPUUtilizationPercentage"]; ok {
		spec = maps.Clone(spec)
		delete(spec, "targetCPUUtilizationPercentage")
		if percent != nil {
			spec["metrics"] = []any{map[string]any{"type": "Resource", "resource": map[string]any{
				"name":   "cpu",
				"target": map[string]any{"type": "Utilization", "averageUtilization": percent},
			}}}
		}
		content["spec"] = spec
	}
	o.APIVersion, o.Content = "autoscaling/v2", content
	return o
}

// FoldStringData gives a Secret as the API server stores it: stringData written over data.
func FoldStringData(content map[string]any) map[string]any {
	raw, there := content["stringData"]
	if !there {
		return content
	}
	out := maps.Clone(content)
	delete(out, "stringData")
	plain, _ := raw.(map[string]any)
	old, _ := content["data"].(map[string]any)
	data := maps.Clone(old)
	if data == nil && len(plain) > 0 {
		data = make(map[string]any, len(plain))
	}
	for key, value := range plain {
		text, _ := value.(string) // null is the empty string to the server
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	if data != nil {
		out["data"] = data
	}
	return out
}

// abridged says whether an autoscaling/v1 object stands for more than that version has fields for: the API server puts
// the rest into annotations, in a form that it reads and nobody writes.
func abridged(o gitops.Object) bool {
	if o.APIVersion != "autoscaling/v1" {
		return false
	}
	metadata, _ := o.Content["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, part := range []string{"metrics", "behavior"} {
		if _, there := annotations["autoscaling.alpha.kubernetes.io/"+part]; there {
			return true
		}
	}
	return false
}
