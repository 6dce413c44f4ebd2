package live

import (
	"context"
	"slices"
	"sync"

	"holdfast/gitops"
	"holdfast/gitops/release"
)

// fetchReleases asks for Helm's records of the wanted releases, by name alone: a list would bring every revision of
// every release. They are in Secrets; those of which none is there are looked for in ConfigMaps. Nothing fails without
// them, so all that is refused is optional.
func (r *reader) fetchReleases(ctx context.Context) {
	if r.cluster.secrets != SecretsValues {
		return
	}
	left := slices.DeleteFunc(slices.Clone(r.wanted.Releases), func(s StoredRelease) bool {
		return !validSegment(s.Namespace) || !validSegment(s.Name)
	})
	for _, kind := range []string{release.Secret, release.ConfigMap} {
		res, ok := r.served.find(gitops.GroupKind{Kind: kind}, "")
		if !ok || !res.get || r.failed[res.groupKind()] {
			return
		}
		res.list = false
		bunches := map[string]*bunch{}
		for _, s := range left {
			if bunches[s.Namespace] == nil {
				bunches[s.Namespace] = &bunch{resource: res, namespace: s.Namespace}
			}
			bunches[s.Namespace].ids = append(bunches[s.Namespace].ids, s.ids(kind)...)
		}
		var wg sync.WaitGroup
		for _, b := range bunches {
			wg.Go(func() { r.fetch(ctx, b) })
		}
		wg.Wait()
		left = slices.DeleteFunc(left, func(s StoredRelease) bool { return r.settled(s, kind) })
	}
}

// settled says whether any record of a release is there, or could not be asked for.
func (r *reader) settled(s StoredRelease, kind string) bool {
	for u := range r.unread {
		if u.Group == "" && u.Kind == kind && u.Verb == "get" && u.Namespace == s.Namespace && (u.Name == "" || slices.Contains(s.names(), u.Name)) {
			return true
		}
	}
	return slices.ContainsFunc(s.ids(kind), r.objects.Has)
}

func (s StoredRelease) ids(kind string) []gitops.ObjectID {
	var out []gitops.ObjectID
	for _, revision := range s.Revisions {
		out = append(out, release.ID(kind, s.Namespace, s.Name, revision))
	}
	return out
}

func (s StoredRelease) names() []string {
	var out []string
	for _, id := range s.ids(release.Secret) {
		out = append(out, id.Name)
	}
	return out
}
