package audit

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// slack is how far the time in managedFields, which has whole seconds and is taken before the event's, may
// lie from the event's.
const slack = 3 * time.Second

// Field completes the writer of a field, where the log tells it: the newest write whose body has the live
// value at the path names the user for sure; where no body was logged, a write by the same manager at the
// time of the entry names the writer of the object. live is the object as it lives.
func (l *Log) Field(id gitops.ObjectID, field *detect.Field, live *gitops.Object) {
	events := l.of(id)
	for _, e := range slices.Backward(events) {
		if e.Body != nil && fits(e, field, live) {
			take(field, e, detect.ByAudit)
			return
		}
	}
	if e, ok := onlyRemover(events, field, live); ok {
		take(field, e, detect.ByAuditMetadata)
		return
	}
	w := field.Writer
	if w == nil || w.Time.IsZero() || w.User != "" {
		return
	}
	for _, e := range slices.Backward(events) {
		near := e.Time.Sub(w.Time).Abs() <= slack
		if e.Body == nil && near && e.Manager == w.Manager && e.Subresource == w.Subresource {
			take(field, e, detect.ByAuditMetadata)
			return
		}
	}
}

// Object completes the writer of a finding about a whole object: who deleted or created it.
func (l *Log) Object(id gitops.ObjectID, presence detect.Presence) (*detect.Writer, bool) {
	verbs := []string{"create"}
	if presence == detect.GitOnly {
		verbs = []string{"delete", "deletecollection"}
	}
	for _, e := range slices.Backward(l.of(id)) {
		if slices.Contains(verbs, e.Verb) {
			return writer(e, detect.ByAudit), true
		}
	}
	return nil, false
}

func writer(e Event, c detect.Confidence) *detect.Writer {
	return &detect.Writer{Manager: e.Manager, Subresource: e.Subresource, Time: e.Time.UTC(), User: e.User, Confidence: c}
}

func take(field *detect.Field, e Event, c detect.Confidence) {
	w := writer(e, c)
	if old := field.Writer; old != nil {
		w.Operation = old.Operation
		if old.Manager != "" {
			w.Manager = old.Manager
		}
		if !old.Time.IsZero() {
			w.Time = old.Time
		}
	}
	field.Writer = w
}

// fits says whether a write made the live value of the field: its body is a whole object or a merge patch
// that has the value at the path, or a JSON patch that sets the path or what is above it. The manager must be
// the one that managedFields names, where it names one.
func fits(e Event, field *detect.Field, live *gitops.Object) bool {
	if w := field.Writer; w != nil && w.Manager != "" && (w.Manager != e.Manager || w.Subresource != e.Subresource) {
		return false
	}
	if operations, ok := e.Body.([]any); ok {
		return slices.ContainsFunc(operations, func(o any) bool { return touches(o, field.Path, live) })
	}
	body, ok := e.Body.(map[string]any)
	if !ok {
		return false
	}
	if field.Masked {
		return gitops.Lookup(body, field.Path).Set
	}
	got := gitops.Lookup(body, field.Path)
	if !field.Live.Set {
		return e.Verb == "patch" && got.Set && got.V == nil || removesEntry(body, field.Path)
	}
	return got.Set && same(got.V, field.Live.V)
}

// onlyRemover gives the newest write that took an entry by its index out of the list of an entry that is gone, or gave
// one of its entries another key. Which entry had the index then is not known, so it counts only where all such
// writes are one user's.
func onlyRemover(events []Event, field *detect.Field, live *gitops.Object) (Event, bool) {
	n := slices.IndexFunc(field.Path, gitops.Step.IsEntry)
	if field.Live.Set || live == nil {
		return Event{}, false
	}
	for ; n >= 0 && n < len(field.Path); n++ {
		list, _ := gitops.Lookup(live.Content, field.Path[:n]).V.([]any)
		if field.Path[n].IsEntry() && gitops.FindEntry(list, field.Path[n].Keys) < 0 {
			break
		}
	}
	if n < 0 || n == len(field.Path) {
		return Event{}, false
	}
	var found []Event
	for _, e := range events {
		operations, _ := e.Body.([]any)
		if slices.ContainsFunc(operations, func(o any) bool { return takesEntry(o, pointerOf(field.Path[:n], live), field.Path[n].Keys) }) {
			found = append(found, e)
		}
	}
	if len(found) == 0 || slices.ContainsFunc(found, func(e Event) bool { return e.User != found[0].User }) {
		return Event{}, false
	}
	return found[len(found)-1], true
}

// takesEntry says whether a JSON patch operation removes or replaces an entry of the list at pointer, or changes one
// of the keys by which it is known.
func takesEntry(operation any, pointer string, keys []gitops.Key) bool {
	o, _ := operation.(map[string]any)
	path, _ := o["path"].(string)
	below, ok := strings.CutPrefix(path, pointer+"/")
	if !ok || o["op"] != "remove" && o["op"] != "replace" {
		return false
	}
	_, key, deeper := strings.Cut(below, "/")
	return !deeper || slices.ContainsFunc(keys, func(k gitops.Key) bool { return k.Name == key })
}

// same compares as JSON; a patch of a list entry may hold less than the live one.
func same(a, b any) bool {
	if part, ok := a.(map[string]any); ok {
		whole, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range part {
			if !same(v, whole[k]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

func plain(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	_ = json.Unmarshal(data, &out) // it was marshalled a line above
	return out
}

// removesEntry finds the strategic merge patch of a removed list entry: {name: x, $patch: delete}.
func removesEntry(body map[string]any, path gitops.Path) bool {
	if len(path) == 0 || !path[len(path)-1].IsEntry() {
		return false
	}
	entry, ok := gitops.Lookup(body, path).V.(map[string]any)
	return ok && entry["$patch"] == "delete"
}

// touches says whether a JSON patch operation acts on the path, or above or below it.
func touches(operation any, path gitops.Path, live *gitops.Object) bool {
	o, ok := operation.(map[string]any)
	if !ok || o["op"] == "test" {
		return false
	}
	pointer, ok := o["path"].(string)
	if !ok {
		return false
	}
	want := strings.Split(strings.TrimPrefix(pointerOf(path, live), "/"), "/")
	have := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range min(len(want), len(have)) {
		if want[i] != have[i] && have[i] != "-" {
			return false
		}
	}
	return true
}

// pointerOf spells a path as a JSON pointer into the live object (RFC 6901).
func pointerOf(path gitops.Path, live *gitops.Object) string {
	var b strings.Builder
	for i, s := range path {
		b.WriteByte('/')
		switch {
		case s.IsField():
			b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(s.Field))
		case s.IsEntry() && live != nil:
			list, _ := gitops.Lookup(live.Content, path[:i]).V.([]any)
			b.WriteString(strconv.Itoa(gitops.FindEntry(list, s.Keys)))
		default:
			b.WriteString(strconv.Itoa(s.Index))
		}
	}
	return b.String()
}
