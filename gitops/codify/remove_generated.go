package codify

import (
	"context"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// removedGenerator takes the entry of a configMapGenerator out that makes an object which is gone from the cluster.
// Files that it reads stay: others may read them.
type removedGenerator struct{}

func (removedGenerator) candidates(_ context.Context, s site) []Candidate {
	if !s.remove || s.declared.Origin.File != "" || s.declared.IsSecret() {
		return nil
	}
	const key = "configMapGenerator"
	var out []Candidate
	for _, l := range s.layers {
		for i, v := range l.list(key) {
			entry, _ := v.(map[string]any)
			if entry["name"] != s.declared.Origin.Written.Name {
				continue
			}
			at := gitops.Path{gitops.Field(key)}
			if len(l.list(key)) > 1 {
				at = at.Child(gitops.Index(i))
			}
			after, err := splice.Remove(l.data, l.doc, at)
			out = append(out, s.one("remove the generator of "+s.declared.ID.String()+" from "+l.file, l.file, after, err, changesValue)...)
		}
	}
	return out
}
