package codify

import (
	"context"
	"slices"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// inChart declares the object in one of the lists of further objects that a chart's values may have. Whether the chart
// makes an object of it, the proof tells.
func (s site) inChart(ctx context.Context) []Candidate {
	r, err := s.chartRelease()
	if err != nil {
		return nil
	}
	var out []Candidate
	for _, at := range furtherObjects() {
		now := gitops.Lookup(r.all, at)
		list, isList := now.V.([]any)
		if !now.Set || !isList {
			continue
		}
		for _, content := range s.inNamespace(home{dir: r.path}, s.declared.Content) {
			entry := any(content)
			if _, text := first(list).(string); text { // each of them is a text
				data, err := yaml.Marshal(content)
				if err != nil {
					continue
				}
				entry = string(data)
			}
			appended := func(now gitops.Value) gitops.Value {
				list, _ := now.V.([]any)
				return gitops.Present(append(slices.Clip(list), entry))
			}
			out = append(out, r.write(ctx, s, valueEdit{at, appended})...)
		}
	}
	return out
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// furtherObjects are the values in which charts commonly take objects that they have no template for.
func furtherObjects() []gitops.Path {
	var out []gitops.Path
	for _, name := range []string{"extraObjects", "extraDeploy", "extraManifests", "extraResources", "additionalObjects", "resources", "objects"} {
		out = append(out, gitops.Path{gitops.Field(name)})
	}
	return out
}
