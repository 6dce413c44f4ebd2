package audit

import (
	"iter"
	"slices"
	"time"
)

// Act is one write, as far as it says who did what to which object.
type Act struct {
	Time time.Time
	// User signed in, and acted as As where that is set.
	User, As string
	// Verb is create, update, patch, delete or deletecollection. Name is empty for a deletecollection.
	Verb                                          string
	Group, Resource, Subresource, Namespace, Name string
}

// Acts gives every write that is kept, each once, in no order. Writes of status change nothing that Git declares and
// are left out.
func (l *Log) Acts() iter.Seq[Act] {
	return func(yield func(Act) bool) {
		for target, events := range l.events {
			seen := make(map[string]bool, len(events))
			for _, e := range events {
				if e.Subresource == "status" || e.id != "" && seen[e.id] {
					continue
				}
				seen[e.id] = true
				act := Act{e.Time, e.User, e.As, e.Verb, target.group, target.resource, e.Subresource, target.namespace, target.name}
				if !yield(act) {
					return
				}
			}
		}
	}
}

// Groups gives the groups that a user was in when it last wrote, in order; nil where the log does not tell, as Google's
// does not.
func (l *Log) Groups(user string) []string { return l.groups[user] }

// enroll keeps the groups of whoever made a write, once for each user.
func (l *Log) enroll(e *Event) {
	who := e.User
	if e.As != "" {
		who = e.As
	}
	if len(e.groups) > 0 && !slices.Equal(l.groups[who], e.groups) {
		l.groups[who] = slices.Sorted(slices.Values(e.groups))
	}
	e.groups = nil
}
