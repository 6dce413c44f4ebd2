package codify

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

// memo keeps what members that others take from render from one tree.
type memo struct {
	mutex   sync.Mutex
	made    bool
	tree    gitops.Tree
	changed []string
	renders map[int]rendered
}

func (m *memo) forget() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.made = false
}

// of makes room for another tree, and tells which files differ in it from now.
func (m *memo) of(now, tree gitops.Tree) (changed []string, renders map[int]rendered) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if !m.made || !m.tree.Same(tree) {
		m.made, m.tree, m.changed, m.renders = true, tree, now.Differing(tree), map[int]rendered{}
	}
	return m.changed, m.renders
}

// provider gives what a member renders from a tree. One that waits for itself is taken as it was.
func (w *work) provider(ctx context.Context, tree gitops.Tree, i int, via []*member) rendered {
	m, before := w.members[i], w.now.renders[i]
	if slices.ContainsFunc(via[:max(len(via)-1, 0)], func(o *member) bool { return o == m }) || tree.Same(w.now.tree) && before.result != nil {
		return before
	}
	changed, renders := w.memo.of(w.now.tree, tree)
	if before.result != nil && before.err == nil && !w.may(m, before, changed) {
		return before
	}
	w.memo.mutex.Lock()
	r, ok := renders[i]
	w.memo.mutex.Unlock()
	if ok {
		return r
	}
	r = w.renderVia(ctx, tree, m, before.app, via)
	if ctx.Err() == nil {
		w.memo.mutex.Lock()
		renders[i] = r
		w.memo.mutex.Unlock()
	}
	return r
}

// renderVia renders a member from a tree with its inputs as they are there. What neither they nor the files change
// is taken as it was.
func (w *work) renderVia(ctx context.Context, tree gitops.Tree, m *member, app gitops.Application, via []*member) rendered {
	fed, err := w.fed(ctx, tree, m, app, via)
	if err != nil {
		return rendered{app: app, err: err}
	}
	if i := slices.Index(w.members, m); m.inputs != nil && i >= 0 {
		now := w.now.renders[i]
		changed, _ := w.memo.of(w.now.tree, tree)
		if now.result != nil && now.err == nil && reflect.DeepEqual(now.app, fed) && !slices.ContainsFunc(changed, now.result.Touches) {
			return now
		}
	}
	result, err := w.request.Render(ctx, tree, fed)
	if err == nil && result == nil {
		result = &render.Result{}
	}
	return rendered{app: fed, result: w.named(m, result), err: err, raw: result}
}
