package compare

import (
	"cmp"
	"maps"
	"slices"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// walker goes through a declared and a live object side by side. Paths, owners and anything else that needs
// memory are made when a difference is found, not before.
type walker struct {
	comparer *Comparer
	all      bool
	secret   bool
	known    bool
	root     *typed.Type
	git      map[string]any
	live     map[string]any
	managed  map[string]any // the live object as read, before conversion

	// gitAround and liveAround are the mappings from the root to where the walk stands; nil where a side
	// has none.
	gitAround, liveAround []map[string]any
	frames                []frame

	// quiet looks for the first difference and keeps none.
	quiet, differs bool
	// excused counts what was in one place only and meant the same.
	excused int
	guesses bool
	out     []detect.Difference
	problem error
	sets    []typed.FieldSet
	parsed  bool
}

// object compares two whole objects.
func (w *walker) object() {
	w.enter(w.git, w.live)
	defer w.leave()
	w.metadata()
	for name, g := range w.git {
		if !compared(name) {
			continue
		}
		l, ok := w.live[name]
		w.field(w.root, name, g, l, ok)
	}
	for name, l := range w.live {
		if _, ok := w.git[name]; !ok && compared(name) {
			w.extra(w.root, name, l, gitops.Value{})
		}
	}
}

// compared says whether a top-level field is desired state.
func compared(name string) bool {
	return name != "apiVersion" && name != "kind" && name != "metadata" && name != "status"
}

// metadata compares the four parts of metadata that are not the server's own.
func (w *walker) metadata() {
	f := w.root.Field("metadata")
	git, _ := w.git["metadata"].(map[string]any)
	live, _ := w.live["metadata"].(map[string]any)
	w.frames = append(w.frames, frame{field: "metadata"})
	w.enter(git, live)
	for _, name := range [...]string{"labels", "annotations", "finalizers", "ownerReferences"} {
		g, inGit := git[name]
		l, inLive := live[name]
		switch {
		case inGit:
			w.field(f.Type, name, g, l, inLive)
		case inLive:
			w.extra(f.Type, name, l, gitops.Value{})
		}
	}
	w.leave()
	w.frames = w.frames[:len(w.frames)-1]
}

func (w *walker) enter(git, live map[string]any) {
	w.gitAround = append(w.gitAround, git)
	w.liveAround = append(w.liveAround, live)
}

func (w *walker) leave() {
	w.gitAround = w.gitAround[:len(w.gitAround)-1]
	w.liveAround = w.liveAround[:len(w.liveAround)-1]
}

func (w *walker) done() bool { return w.quiet && w.differs }

// mapping compares two mappings of type t; either may be nil.
func (w *walker) mapping(t *typed.Type, git, live map[string]any) {
	w.enter(git, live)
	shared := 0
	for name, g := range git {
		l, ok := live[name]
		if ok {
			shared++
		}
		w.field(t, name, g, l, ok)
		if w.done() {
			break
		}
	}
	if shared < len(live) {
		for name, l := range live {
			if _, ok := git[name]; ok {
				continue
			}
			w.extra(t, name, l, gitops.Value{})
			if w.done() {
				break
			}
		}
	}
	w.leave()
}

// field compares a field that Git names. A null leaves the field to the server.
func (w *walker) field(t *typed.Type, name string, git, live any, inLive bool) {
	if git == nil {
		if inLive && live != nil && t.Kind == typed.Map && !t.Custom && isZero(t.Elem, live) {
			return // a null in a map is the zero value to the server
		}
		if inLive && live != nil {
			w.extra(t, name, live, gitops.Present(nil))
		} else if w.all {
			w.frames = append(w.frames, frame{field: name})
			w.excuse(detect.Defaulted, gitops.Present(nil), gitops.Value{})
			w.frames = w.frames[:len(w.frames)-1]
		}
		return
	}
	f := t.Field(name)
	child := t.Child(name)
	w.frames = append(w.frames, frame{field: name})
	if inLive && live != nil {
		w.both(f, cmp.Or(child, typed.Anything()), git, live)
	} else {
		w.missing(f, child, git)
	}
	w.frames = w.frames[:len(w.frames)-1]
}

// extra judges a field that live alone has.
func (w *walker) extra(t *typed.Type, name string, live any, git gitops.Value) {
	if live == nil {
		return
	}
	f := t.Field(name)
	child := t.Child(name)
	w.frames = append(w.frames, frame{field: name})
	if child == nil {
		w.guesses = true // the server knows more than the table
		child = typed.Anything()
	}
	w.added(f, child, git, live)
	w.frames = w.frames[:len(w.frames)-1]
}

// both compares two values that are there. f is nil for what is no known field.
func (w *walker) both(f *typed.Field, t *typed.Type, git, live any) {
	switch g := git.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			w.mapping(t, g, l)
			return
		}
	case []any:
		if l, ok := live.([]any); ok {
			w.list(t, g, l)
			return
		}
	default:
		if t.Format.SameScalar(git, live) {
			if w.all && !identical(git, live) {
				w.excuse(detect.Spelling, gitops.Present(git), gitops.Present(live))
			}
			return
		}
	}
	if f != nil && typed.Absent(f, git) && w.isDefault(f, t, live) {
		w.excuse(detect.Defaulted, gitops.Present(git), gitops.Present(live))
		return
	}
	w.emit(detect.Changed, gitops.Present(git), gitops.Present(live))
}

func isZero(t *typed.Type, v any) bool {
	return typed.IsZero(v) || t.Format == typed.Quantity && t.Format.SameScalar(v, int64(0))
}

func identical(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// added judges a value that live alone has. git is absent, or the null that Git says.
func (w *walker) added(f *typed.Field, t *typed.Type, git gitops.Value, live any) {
	if f != nil {
		switch {
		case f.ServerSet(w.liveAround) && (w.quiet || t.Format == typed.Time || !w.owned()): // a time is stamped on what somebody writes
			w.excuse(detect.ServerSet, git, gitops.Present(live))
			return
		case typed.Absent(f, live), w.isDefault(f, t, live):
			w.excuse(detect.Defaulted, git, gitops.Present(live))
			return
		}
	}
	switch l := live.(type) {
	case map[string]any:
		if w.split(f, t, l) {
			return
		}
	case []any:
		if t.List == typed.KeyedList {
			w.list(t, nil, l)
			return
		}
	}
	w.emit(detect.Added, git, gitops.Present(live))
}

// split lists the parts of an added mapping one by one. It gives false, and lists nothing, where the mapping
// is one difference as a whole.
func (w *walker) split(f *typed.Field, t *typed.Type, live map[string]any) bool {
	if t.Atomic && t.Kind == typed.Struct || t.Kind == typed.Scalar {
		return false
	}
	if t.Kind == typed.Any && w.quiet {
		return false
	}
	start, excused, differed := len(w.out), w.excused, w.differs
	w.mapping(t, nil, live)
	if w.quiet {
		return w.differs || f != nil && f.Zero
	}
	w.differs = differed
	found := w.out[start:]
	hasDifference := false
	for _, d := range found {
		hasDifference = hasDifference || d.Differs
	}
	if !hasDifference {
		return f != nil && f.Zero && w.excused > excused
	}
	if t.Custom && w.excused == excused && sameOwners(found) {
		w.out = w.out[:start]
		return false
	}
	return true
}

// missing judges a value that Git alone has. t is nil where the schema knows no such field. A declared default
// is no excuse: the server would have put it back where it applies.
func (w *walker) missing(f *typed.Field, t *typed.Type, git any) {
	if t == nil {
		w.emit(detect.UnknownField, gitops.Present(git), gitops.Value{})
		return
	}
	if f != nil && typed.Absent(f, git) {
		w.excuse(detect.Defaulted, gitops.Present(git), gitops.Value{})
		return
	}
	switch g := git.(type) {
	case map[string]any:
		if t.Kind == typed.Map && len(g) > 0 {
			w.mapping(t, g, nil)
			return
		}
		if f != nil && f.Zero && t.Kind == typed.Struct && w.silently(func() { w.mapping(t, g, nil) }) {
			w.excuse(detect.Defaulted, gitops.Present(git), gitops.Value{})
			return
		}
	case []any:
		if t.List == typed.KeyedList && len(g) > 0 {
			w.list(t, g, nil)
			return
		}
	}
	w.emit(detect.Removed, gitops.Present(git), gitops.Value{})
}

// isDefault says whether v is what the server puts into f, judged by the live object around it or by the
// declared one: a default that hangs on a sibling may have been set before either changed.
func (w *walker) isDefault(f *typed.Field, t *typed.Type, v any) bool {
	if !f.HasDefault() {
		return false
	}
	if d, ok := f.Constant(); ok {
		return w.means(t, d, v)
	}
	if d, ok := f.Default(w.explaining(f)); ok && w.means(t, d, v) {
		return true
	}
	d, ok := f.Default(w.gitAround)
	return ok && w.means(t, d, v)
}

// explaining gives the mappings around the live value that may explain f: without its twin where Git has none of the
// two, or else two additions would excuse each other.
func (w *walker) explaining(f *typed.Field) []map[string]any {
	last := len(w.liveAround) - 1
	twin, ok := f.Twin()
	if !ok || w.gitAround[last][twin] != nil {
		return w.liveAround
	}
	bare := maps.Clone(w.liveAround[last])
	delete(bare, twin)
	return append(slices.Clone(w.liveAround[:last]), bare)
}

// owned says whether some manager holds the live value where the walk stands: what the API server chose by itself, it
// gives to nobody. Marks in metadata it counts up for whoever wrote last.
func (w *walker) owned() bool {
	if w.frames[0].field == "metadata" {
		return false
	}
	path, _ := w.path()
	return len(w.owners(path, true)) > 0
}

// means says whether a default, completed by the defaults inside it, is v.
func (w *walker) means(t *typed.Type, d, v any) bool {
	switch d.(type) {
	case map[string]any, []any:
		return w.silently(func() { w.both(nil, t, d, v) })
	}
	return t.Format.SameScalar(d, v)
}

// silently says whether walk finds no difference.
func (w *walker) silently(walk func()) bool {
	quiet, differs, excused := w.quiet, w.differs, w.excused
	w.quiet, w.differs = true, false
	walk()
	same := !w.differs
	w.quiet, w.differs, w.excused = quiet, differs, excused
	return same
}

// excuse notes values that are not the same and mean the same.
func (w *walker) excuse(kind detect.DifferenceKind, git, live gitops.Value) {
	w.excused++
	if w.all && !w.quiet {
		w.record(detect.Difference{Kind: kind, Git: git, Live: live})
	}
}

// emit notes values that do not mean the same.
func (w *walker) emit(kind detect.DifferenceKind, git, live gitops.Value) {
	if w.quiet {
		w.differs = true
		return
	}
	w.record(detect.Difference{Kind: kind, Git: git, Live: live, Differs: true})
}

func (w *walker) record(d detect.Difference) {
	path, repeated := w.path()
	d.Path = path
	if repeated && d.Differs {
		d.Kind = detect.RepeatedKeys
	}
	d.Owners = w.owners(path, d.Live.Set)
	w.out = append(w.out, d)
}
