// Package cache keeps renders by what they read. A render is found again for every tree in which the files
// that it read, looked for and listed are the same, whatever else changed: a commit that touches nothing that
// an Application reads costs no render. It holds a bounded number of bytes; what was not used for longest goes.
package cache

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// DefaultBytes is room for the renders of some hundred Applications.
const DefaultBytes = 256 << 20

// Renders is the cache. It is safe for concurrent use; New makes it.
type Renders struct {
	limit int64

	mutex    sync.Mutex
	stats    Stats
	order    *list.List // of *entry, the last used first
	variants map[string][]*variant
	contents contents
}

// Stats counts what the cache did and holds.
type Stats struct {
	Hits, Misses, Entries int
	// Bytes estimates the memory of the entries; what several share counts once.
	Bytes int64
}

// variant are the renders of one Application that read the same names. A kustomization that names other files
// after a change makes another variant, so there are few.
type variant struct {
	names  string
	inputs render.Inputs
	kinds  []gitops.GroupKind
	// entries are by the digest of what the names hold, and of what the cluster said of the kinds.
	entries map[string]*entry
}

// entry is one render.
type entry struct {
	application, digest string
	of                  *variant
	result              *render.Result
	shared              []*content
	size                int64
	place               *list.Element
}

// New gives an empty cache that holds about so many bytes at most.
func New(bytes int64) *Renders {
	return &Renders{limit: bytes, order: list.New(), variants: map[string][]*variant{}, contents: contents{}}
}

// Render gives what app declares in tree, from the cache where it can. The Result is shared and must not be
// changed. Errors are not kept, since a failed render does not tell all that it depends on.
func (r *Renders) Render(ctx context.Context, tree gitops.Tree, app gitops.Application, env render.Env) (*render.Result, error) {
	application, err := identify(app, env)
	if err != nil {
		return nil, err
	}
	mounted := tree
	for _, m := range app.Mounts {
		mounted = mounted.Mounted(m.At, m.Tree)
	}
	if result, ok := r.find(application, mounted, env.Namespaced); ok {
		return result, nil
	}
	answers := map[gitops.GroupKind]bool{}
	recording := env
	if env.Namespaced != nil {
		recording.Namespaced = func(kind gitops.GroupKind) (namespaced, known bool) {
			answers[kind] = true
			return env.Namespaced(kind)
		}
	}
	result, err := render.Application(ctx, tree, app, recording)
	if err != nil {
		return result, err
	}
	return r.keep(application, mounted, env.Namespaced, answers, result), nil
}

// Lookup gives the render of app that an earlier call made of a tree with the same inputs, without rendering.
func (r *Renders) Lookup(tree gitops.Tree, app gitops.Application, env render.Env) (*render.Result, bool) {
	application, err := identify(app, env)
	if err != nil {
		return nil, false
	}
	for _, m := range app.Mounts {
		tree = tree.Mounted(m.At, m.Tree)
	}
	return r.find(application, tree, env.Namespaced)
}

// Stats gives the counts so far.
func (r *Renders) Stats() Stats {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.stats
}

// identify is a digest of all that a render takes from the Application and the environment, apart from the
// trees, and from scopes, which are compared by the answers that a render asked for.
func identify(app gitops.Application, env render.Env) (string, error) {
	env.Namespaced = nil
	said := struct {
		Engine gitops.Engine
		Path   string
		Render gitops.Render
		Parts  []gitops.Part
		Mounts []string
		Env    string
	}{Engine: app.Engine, Path: app.Source.Path, Render: app.Render, Parts: app.Parts, Env: fmt.Sprintf("%#v", env)}
	for _, m := range app.Mounts {
		said.Mounts = append(said.Mounts, fmt.Sprintf("%s %t", m.At, m.Known))
	}
	data, err := json.Marshal(said)
	if err != nil {
		return "", fmt.Errorf("application %s: what its engine says of rendering it: %w", app.ID(), err)
	}
	sum := sha256.Sum256(data) // values may come from Secrets, so none is kept as it is
	return hex.EncodeToString(sum[:]), nil
}

func (r *Renders) find(application string, tree gitops.Tree, scope scope) (*render.Result, bool) {
	r.mutex.Lock()
	variants := append([]*variant(nil), r.variants[application]...)
	r.mutex.Unlock()
	for _, v := range variants {
		digest := v.digest(tree, scope) // takes long, hence without the lock
		r.mutex.Lock()
		if e := v.entries[digest]; e != nil {
			r.order.MoveToFront(e.place)
			r.stats.Hits++
			r.mutex.Unlock()
			return e.result, true
		}
		r.mutex.Unlock()
	}
	r.mutex.Lock()
	r.stats.Misses++
	r.mutex.Unlock()
	return nil, false
}

// keep stores a render and makes room for it. Equal objects of several renders are kept once.
func (r *Renders) keep(application string, tree gitops.Tree, scope scope, asked map[gitops.GroupKind]bool, result *render.Result) *render.Result {
	fresh := newVariant(result.Inputs(), asked)
	digest := fresh.digest(tree, scope)
	prints := fingerprints(result.Objects)

	r.mutex.Lock()
	defer r.mutex.Unlock()
	v := r.variant(application, fresh)
	if e := v.entries[digest]; e != nil {
		return e.result // another call was faster
	}
	before := r.contents.size
	e := &entry{application: application, digest: digest, of: v, result: result, size: overhead(result)}
	for i := range result.Objects {
		c := r.contents.take(prints[i], result.Objects[i].Content)
		result.Objects[i].Content = c.value
		e.shared = append(e.shared, c)
	}
	v.entries[digest] = e
	e.place = r.order.PushFront(e)
	r.stats.Entries++
	r.stats.Bytes += e.size + r.contents.size - before
	for r.stats.Bytes > r.limit && r.order.Len() > 0 {
		r.drop(r.order.Back().Value.(*entry))
	}
	return result
}

func (r *Renders) variant(application string, fresh *variant) *variant {
	for _, v := range r.variants[application] {
		if v.names == fresh.names {
			return v
		}
	}
	r.variants[application] = append(r.variants[application], fresh)
	return fresh
}

func (r *Renders) drop(e *entry) {
	before := r.contents.size
	for _, c := range e.shared {
		r.contents.release(c)
	}
	r.order.Remove(e.place)
	r.stats.Entries--
	r.stats.Bytes -= e.size + before - r.contents.size
	delete(e.of.entries, e.digest)
	if len(e.of.entries) > 0 {
		return
	}
	var left []*variant
	for _, v := range r.variants[e.application] {
		if v != e.of {
			left = append(left, v)
		}
	}
	if r.variants[e.application] = left; len(left) == 0 {
		delete(r.variants, e.application)
	}
}
