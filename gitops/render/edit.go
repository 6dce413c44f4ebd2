package render

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/api/types"

	"holdfast/gitops"
)

// edit does what Argo CD does by `kustomize edit` and Flux has no field for: replicas by name, labels and
// annotations of the kustomization itself.
func edit(w *walker, k *types.Kustomization, add gitops.Kustomize) error {
	for _, r := range add.Replicas {
		replica := types.Replica{Name: r.Name, Count: r.Count}
		w.engine.Replicas = append(w.engine.Replicas, replica)
		if at := slices.IndexFunc(k.Replicas, func(o types.Replica) bool { return o.Name == r.Name }); at >= 0 {
			k.Replicas[at] = replica
			continue
		}
		k.Replicas = append(k.Replicas, replica)
	}
	if add.Annotations != nil {
		w.engine.CommonAnnotations = add.Annotations.Pairs
		if err := put("annotation", &k.CommonAnnotations, *add.Annotations); err != nil {
			return err
		}
	}
	labels := add.Labels
	switch {
	case labels == nil:
		return nil
	case !labels.WithoutSelector:
		w.engine.Labels = []types.Label{{Pairs: labels.Pairs, IncludeSelectors: true}}
		return put("label", &k.CommonLabels, *labels) //nolint:staticcheck // what kustomize edit writes
	}
	w.engine.Labels = []types.Label{{Pairs: labels.Pairs, IncludeTemplates: labels.IncludeTemplates}}
	at := slices.IndexFunc(k.Labels, func(l types.Label) bool { return !l.IncludeSelectors && l.IncludeTemplates == labels.IncludeTemplates })
	if at < 0 {
		k.Labels = append(k.Labels, w.engine.Labels...)
		return nil
	}
	return put("label", &k.Labels[at].Pairs, *labels)
}

// put adds pairs to those that are there. One that is there already is an error, unless it is forced.
func put(what string, into *map[string]string, add gitops.Common) error {
	out := maps.Clone(*into)
	if out == nil {
		out = map[string]string{}
	}
	for _, key := range slices.Sorted(maps.Keys(add.Pairs)) {
		if _, there := out[key]; there && !add.Force {
			return fmt.Errorf("%s %s is in the kustomization already, and the engine's object does not force it", what, key)
		}
		out[key] = add.Pairs[key]
	}
	*into = out
	return nil
}

// setImage puts an override in the place of the one that is there, as `kustomize edit set image` does: only what
// the new one has as * stays.
func setImage(images []types.Image, image types.Image) []types.Image {
	const keep = "*"
	at := slices.IndexFunc(images, func(i types.Image) bool { return i.Name == image.Name })
	there := types.Image{}
	if at >= 0 {
		there = images[at]
	}
	kept := func(now, before string) string {
		if now == keep {
			return before
		}
		return now
	}
	image.NewName, image.NewTag = kept(image.NewName, there.NewName), kept(image.NewTag, there.NewTag)
	image.Digest = kept(image.Digest, there.Digest)
	if at < 0 {
		return append(images, image)
	}
	images[at] = image
	return images
}
