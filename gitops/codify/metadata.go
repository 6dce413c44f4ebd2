package codify

import (
	"context"

	"holdfast/gitops"
)

// commonMetadata edits labels and annotations that an engine's object puts on everything: spec.commonMetadata of Flux,
// commonLabels and commonAnnotations of an Argo CD Application's kustomize options. It is right where the same is wished of
// all that the Application declares.
type commonMetadata struct{}

func (commonMetadata) candidates(ctx context.Context, s site) []Candidate {
	at := s.change.Path
	if s.remove || len(at) != 3 || at[0].Field != "metadata" || !at[2].IsField() {
		return nil
	}
	places := map[string]gitops.Path{}
	put := func(pairs map[string]string, where gitops.Path) {
		if _, set := pairs[at[2].Field]; set {
			places[where[len(where)-1].Field] = where
		}
	}
	fluxPath := gitops.Path{gitops.Field("spec"), gitops.Field("commonMetadata"), at[1]}
	labels := at[1].Field == "labels"
	if k := s.app.Render.Kustomize; k != nil {
		put(choose(labels, k.CommonLabels, k.CommonAnnotations), fluxPath)
		if object, engine := s.engineObject(); engine != nil && engine.Kind == "Application" {
			options := argoSource(object.content, s.app.Source.Path).Child(gitops.Field("kustomize"))
			if c := k.Labels; c != nil && labels {
				put(c.Pairs, options.Child(gitops.Field("commonLabels")))
			}
			if c := k.Annotations; c != nil && !labels {
				put(c.Pairs, options.Child(gitops.Field("commonAnnotations")))
			}
		}
	}
	if h := s.app.Render.Helm; h != nil {
		put(choose(labels, h.CommonLabels, h.CommonAnnotations), fluxPath)
	}
	verb := "change "
	if !s.change.After.Set {
		verb = "remove "
	}
	var out []Candidate
	for _, where := range places {
		change := gitops.FieldChange{Path: where.Child(at[2]), After: s.change.After}
		out = append(out, s.inObject(ctx, wording{head: verb + at.String(), label: where.String()}, change, where, changesValue)...)
	}
	return out
}

func choose[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
