package render

import (
	"context"
	"fmt"
	"slices"

	"holdfast/gitops"
)

// Application renders all parts of an Application from the tree of its source, its mounts laid in. An object
// of a later part takes the place of the same one of an earlier part, and a Problem says so.
func Application(ctx context.Context, tree gitops.Tree, app gitops.Application, env Env) (*Result, error) {
	for _, m := range app.Mounts {
		if !m.Known {
			return nil, fmt.Errorf("%s: %w: its source is not known", m.At, ErrNotFound)
		}
		tree = tree.Mounted(m.At, m.Tree)
	}
	env.helmClient = app.Engine == gitops.Flux
	// Argo CD does so before 3.4 (https://github.com/argoproj/argo-cd/pull/26469), and nothing tells which one it is.
	env.minorVersion = app.Engine == gitops.ArgoCD
	result, err := Render(ctx, tree, app.Source.Path, app.Render, env)
	if err != nil {
		return nil, err
	}
	for _, part := range app.Parts {
		more, err := Render(ctx, tree, part.Path, part.Render, env)
		if err != nil {
			return nil, err
		}
		result.join(more)
	}
	return result, nil
}

func (r *Result) join(more *Result) {
	for _, d := range more.Objects {
		if i := slices.IndexFunc(r.Objects, func(o gitops.Declared) bool { return o.ID == d.ID }); i >= 0 {
			r.Problems = append(r.Problems, Problem{
				File: r.Objects[i].Origin.File, Document: r.Objects[i].Origin.Document, Kind: DuplicateObject, Object: d.ID,
				Message: fmt.Sprintf("%s: declared again in %s, by a later source of the Application, which is kept", d.ID, d.Origin.File),
			})
			r.Objects[i] = d
			continue
		}
		r.Objects = append(r.Objects, d)
	}
	r.Problems = append(r.Problems, more.Problems...)
	r.Hooks = append(r.Hooks, more.Hooks...)
	r.Reads = append(r.Reads, more.Reads...)
	slices.Sort(r.Reads)
	r.Reads = slices.Compact(r.Reads)
	r.scans = append(r.scans, more.scans...)
	r.absent = merged(r.absent, more.absent)
	r.Unsure = merged(r.Unsure, more.Unsure)
	r.Secret = merged(r.Secret, more.Secret)
	r.Unstable = merged(r.Unstable, more.Unstable)
}

func merged[K comparable, V any](into, from map[K]V) map[K]V {
	if into == nil {
		return from
	}
	for k, v := range from {
		into[k] = v
	}
	return into
}
