// Package audit reads the API server's audit events, in every form that clouds export them in, and says which
// user made a change. It decodes and matches only; whoever calls it opens the log or takes the webhook's call.
//
// A log is read once into a Log: the finished writes by object. History is one object's part of it. For a field it
// follows the value from write to write, so that the answer is the write that brought the present value, not just
// one that names it; where the log cannot tell, nobody is named.
package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast/gitops"
)

// slack is how far times of one write may lie apart: managedFields have whole seconds and are stamped before the
// event is, and clocks of API servers differ a little.
const slack = 3 * time.Second

// Event is one finished write. Bodies of Secrets hold no values.
type Event struct {
	Time time.Time
	// User is who signed in; As is whom that user impersonated, empty for nobody.
	User, As string
	// Session says more of who signed in, where the cluster shares one user among many: the cloud's own name.
	Session string
	// Verb is create, update, patch, delete or deletecollection.
	Verb string
	// Manager is the field manager; empty where the log does not tell it.
	Manager     string
	Subresource string

	groups  []string // of whoever acts, until the Log has them
	id      string   // the request's, the same in each stage and each delivery
	target  key
	kind    string // of the object, where a body tells it
	uid     string
	creates bool
	// selective says that a deletecollection asked for some objects only.
	selective bool
	// request is the object or patch, response the object afterwards or the list of those deleted; empty where they
	// were not logged. They are decoded when somebody asks.
	request, response json.RawMessage
}

// key names an object, or with an empty name a collection.
type key struct{ group, resource, namespace, name string }

// Log holds the writes of one cluster's audit log by object. It is made by Decode, or by NewLog and Add, and may be
// read by several goroutines once nothing is added any more.
type Log struct {
	// Name is the log's in messages, such as its file's.
	Name string
	// Lines counts lines or records; Events are those of the audit log, Writes those that changed something; Skipped
	// are of other kinds, and Broken could not be read. Where says of the first broken ones where and why, without
	// their content.
	Lines, Events, Writes, Skipped, Broken int
	Where                                  []string
	// Dropped are those of the Writes that gave way to newer ones.
	Dropped int
	// First and Last are the times of the oldest and newest event of any kind: the log says nothing outside.
	First, Last time.Time

	events map[key][]Event
	// cut says that a list of events breaks off: any number of them may be missing.
	cut   bool
	lost  []Window
	notes []string // of logs merged into this one
	// resources gives the resource of a kind, as bodies told it.
	resources map[schema.GroupKind]string
	// groups are those of each user, as the newest event tells them.
	groups map[string][]string
	// kept and bytes count what is kept now, in writes and in bytes of their bodies; bounds limits them.
	kept, bytes int
	bounds      bounds
}

// Window is a span of time of which events are missing.
type Window struct{ From, To time.Time }

// NewLog gives an empty log.
func NewLog() *Log {
	return &Log{events: map[key][]Event{}, resources: map[schema.GroupKind]string{}, groups: map[string][]string{}}
}

// Add adds a write.
func (l *Log) Add(e Event) {
	l.Writes++
	l.Cover(e.Time)
	l.enroll(&e)
	l.events[e.target] = append(l.events[e.target], e)
	if e.kind != "" {
		l.resources[schema.GroupKind{Group: e.target.group, Kind: e.kind}] = e.target.resource
	}
	l.kept, l.bytes = l.kept+1, l.bytes+e.size()
	if b := l.bounds; b.writes > 0 && (l.kept > b.writes || l.bytes > b.bytes) {
		l.trim()
	}
}

// Cover says that the log was being written at a time.
func (l *Log) Cover(t time.Time) {
	if t.IsZero() {
		return
	}
	if l.First.IsZero() || t.Before(l.First) {
		l.First = t
	}
	if t.After(l.Last) {
		l.Last = t
	}
}

// maxLost bounds the spans of time that a Log tells apart: each is looked at for every object.
const maxLost = 64

// Lose says that events of a span of time are missing: what it may hide is unresolved. Spans that meet become one, and
// of too many the oldest two, as if nothing were known between them.
func (l *Log) Lose(w Window) {
	apart := l.lost[:0]
	for _, o := range l.lost {
		if w.From.After(o.To.Add(slack)) || o.From.After(w.To.Add(slack)) {
			apart = append(apart, o)
		} else {
			w = w.with(o)
		}
	}
	l.lost = append(apart, w)
	slices.SortFunc(l.lost, func(a, b Window) int { return a.From.Compare(b.From) })
	if len(l.lost) > maxLost {
		l.lost[1] = l.lost[1].with(l.lost[0])
		l.lost = l.lost[1:]
	}
}

// with gives the span from the earlier beginning to the later end.
func (w Window) with(o Window) Window {
	if o.From.Before(w.From) {
		w.From = o.From
	}
	if o.To.After(w.To) {
		w.To = o.To
	}
	return w
}

// Merge adds what another log of the same cluster holds.
func (l *Log) Merge(o *Log) {
	l.Lines, l.Events, l.Writes = l.Lines+o.Lines, l.Events+o.Events, l.Writes+o.Writes
	l.Skipped, l.Broken = l.Skipped+o.Skipped, l.Broken+o.Broken
	l.kept, l.bytes = l.kept+o.kept, l.bytes+o.bytes
	l.notes = append(l.notes, o.Notes()...)
	l.Cover(o.First)
	l.Cover(o.Last)
	for k, events := range o.events {
		l.events[k] = append(l.events[k], events...)
	}
	for _, w := range o.lost {
		l.Lose(w)
	}
	maps.Copy(l.resources, o.resources)
	maps.Copy(l.groups, o.groups)
}

// Notes says what of the log could not be read or kept, with the log's name.
func (l *Log) Notes() []string {
	notes := slices.Clone(l.notes)
	if l.Dropped > 0 {
		notes = append(notes, fmt.Sprintf("%s: it has more writes than are kept: the oldest %d of %d are left out, and what they tell is unresolved", l.Name, l.Dropped, l.Writes))
	}
	if len(l.Where) == 0 {
		return notes
	}
	notes = append(notes, fmt.Sprintf("%s: %d of %d records of the audit log are broken and left out; what they tell is unresolved", l.Name, l.Broken, l.Lines))
	for _, where := range l.Where {
		notes = append(notes, l.Name+": "+where)
	}
	return notes
}

// of gives the writes of one object, and of collections that it was part of, oldest first, each once.
func (l *Log) of(id gitops.ObjectID) []Event {
	resource, ok := l.resources[schema.GroupKind{Group: id.Group, Kind: id.Kind}]
	if !ok {
		guess, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: id.Group, Kind: id.Kind})
		resource = guess.Resource
	}
	k := key{id.Group, resource, id.Namespace, id.Name}
	events := slices.Clone(l.events[k])
	for _, namespace := range slices.Compact([]string{id.Namespace, ""}) {
		for _, e := range l.events[key{id.Group, resource, namespace, ""}] {
			if e.Verb == "deletecollection" && e.mayDelete(id) {
				events = append(events, e)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.id, b.id))
	})
	return slices.CompactFunc(events, func(a, b Event) bool { return a.id != "" && a.id == b.id })
}

// mayDelete says whether a deletecollection may have deleted an object: its answer lists it, or lists nothing.
func (e Event) mayDelete(id gitops.ObjectID) bool {
	var answer struct {
		Items []struct {
			Metadata struct {
				Namespace, Name string
			} `json:"metadata"`
		} `json:"items"`
	}
	if json.Unmarshal(e.response, &answer) != nil || answer.Items == nil {
		return true
	}
	for _, item := range answer.Items {
		if item.Metadata.Name == id.Name && item.Metadata.Namespace == id.Namespace {
			return true
		}
	}
	return false
}
