package codify

import (
	"encoding/json"
	"reflect"
	"slices"

	"holdfast/gitops"
)

// agree says whether two readings of an Application tell it to be rendered alike, as far as both know.
func agree(a, b gitops.Application) bool {
	x, y := said(a, b), said(b, a)
	return reflect.DeepEqual(x, y)
}

// said gives what an Application says of its render, without the texts and names of ConfigMaps that either it or
// another reading does not know.
func said(a, other gitops.Application) any {
	names, others := configNames(a), configNames(other)
	for ref := range names {
		if _, there := others[ref]; there && known(a, ref) && known(other, ref) {
			continue
		}
		if ref.variables {
			a.Render.Kustomize = withVariables(*a.Render.Kustomize, ref.index, nil, false)
			a.Render.Kustomize.PostBuild.SubstituteFrom[ref.index].Name = ""
			continue
		}
		helm := *a.Render.Helm
		helm.Values = slices.Clone(helm.Values)
		helm.Values[ref.index].From = &gitops.ValuesFrom{Kind: "ConfigMap", Key: helm.Values[ref.index].From.Key, TargetPath: helm.Values[ref.index].From.TargetPath}
		a.Render.Helm = &helm
	}
	text, err := json.Marshal(struct {
		Render gitops.Render
		Parts  []gitops.Part
	}{a.Render, a.Parts})
	if err != nil {
		return err
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		return err
	}
	return pruned(out)
}

// pruned takes away what is empty.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if e = pruned(e); e != nil && !hollow(e) {
				out[k] = e
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = pruned(e)
		}
		return out
	}
	return v
}
