package audit

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// History is one object's part of a log.
type History struct {
	log    *Log
	app    gitops.Application
	id     gitops.ObjectID
	live   *gitops.Object
	writes []write
	// engineTime is when the engine's newest entry in managedFields was made, created when the object was.
	engineTime, created time.Time
}

// write is an event with its bodies decoded. One with lost set stands for events that are missing.
type write struct {
	Event
	lost bool
	// body is the request's object or patch; nil where it was not logged.
	body any
	// content is the whole object afterwards; nil where it was not logged.
	content map[string]any
	// replicas is what a Scale says, absent without one.
	replicas gitops.Value
	version  uint64
}

// Of gives the history of an object that an Application declares or owns. Live is nil when it does not exist. A nil
// Log gives a nil History, which knows nothing.
func (l *Log) Of(id gitops.ObjectID, app gitops.Application, live *gitops.Object) *History {
	if l == nil {
		return nil
	}
	h := &History{log: l, app: app, id: id, live: live}
	uid := ""
	if live != nil {
		metadata, _ := live.Content["metadata"].(map[string]any)
		uid, _ = metadata["uid"].(string)
		h.created = timeOf(metadata["creationTimestamp"])
		entries, _ := metadata["managedFields"].([]any)
		for _, item := range entries {
			entry, _ := item.(map[string]any)
			manager, _ := entry["manager"].(string)
			operation, _ := entry["operation"].(string)
			if at := timeOf(entry["time"]); h.isManager(manager, operation) && at.After(h.engineTime) {
				h.engineTime = at
			}
		}
	}
	for _, e := range l.of(id) {
		if uid != "" && e.uid != "" && e.uid != uid || e.Time.Before(h.created.Add(-slack)) {
			continue // of an earlier object of this name, or of another cluster's
		}
		h.writes = append(h.writes, decoded(e))
	}
	h.inOrder()
	for _, w := range l.lost {
		for _, at := range []time.Time{w.From, w.To} {
			h.writes = append(h.writes, write{Event: Event{Time: at}, lost: true})
		}
	}
	slices.SortStableFunc(h.writes, func(a, b write) int { return a.Time.Compare(b.Time) })
	return h
}

// inOrder swaps writes that ended in another order than they were stored in, which their resource versions tell.
func (h *History) inOrder() {
	for i := range h.writes {
		for j := i; j > 0; j-- {
			a, b := &h.writes[j-1], &h.writes[j]
			if a.version == 0 || b.version == 0 || a.version <= b.version || b.Time.Sub(a.Time) > slack {
				break
			}
			a.Time, b.Time = b.Time, a.Time
			*a, *b = *b, *a
		}
	}
}

func decoded(e Event) write {
	w := write{Event: e, body: decodeBody(e.request)}
	response, _ := decodeBody(e.response).(map[string]any)
	switch {
	case e.Subresource == "scale":
		w.replicas = gitops.Lookup(response, replicasPath())
	case e.Verb == "delete" || e.Verb == "deletecollection" || response["kind"] == "Status":
	case response != nil:
		w.content = response
		metadata, _ := response["metadata"].(map[string]any)
		text, _ := metadata["resourceVersion"].(string)
		w.version, _ = strconv.ParseUint(text, 10, 64) // 0 where it is none
	}
	return w
}

func replicasPath() gitops.Path { return gitops.Path{gitops.Field("spec"), gitops.Field("replicas")} }

func timeOf(v any) time.Time {
	text, _ := v.(string)
	at, _ := time.Parse(time.RFC3339, text) // zero where it is none
	return at
}

func (h *History) isManager(name, operation string) bool {
	return slices.ContainsFunc(h.app.Managers, func(m gitops.Manager) bool {
		return m.Name == name && (m.Operation == "" || operation == "" || m.Operation == operation)
	})
}

// byEngine says whether a write is the Application's engine's: under its manager's name, and by a service account
// where the engine is a controller. A person can borrow the name, not the account.
func (h *History) byEngine(w write) bool {
	account, isAccount := strings.CutPrefix(w.User, "system:serviceaccount:")
	if h.app.Engine == gitops.None {
		return h.isManager(w.Manager, "")
	}
	if w.Manager != "" {
		return isAccount && h.isManager(w.Manager, "")
	}
	_, name, _ := strings.Cut(account, ":")
	return isAccount && (h.isManager(name, "") || h.app.Engine == gitops.ArgoCD && name == "argocd-application-controller")
}

// Object says who deleted an object that is gone, or created one that Git does not have; ok is false where the log
// does not tell.
func (h *History) Object(presence detect.Presence) (w *detect.Writer, ok bool) {
	if h == nil {
		return nil, false
	}
	if presence == detect.LiveOnly {
		w, ok = h.creator()
	} else {
		w, ok = h.remover()
	}
	if !ok || w.User == "" { // some clouds leave out whom they do not know
		return nil, false
	}
	return w, true
}

func (h *History) creator() (*detect.Writer, bool) {
	for _, w := range slices.Backward(h.writes) {
		if w.lost {
			return nil, false // it may have come and gone since
		}
		if w.creates && (h.created.IsZero() || w.Time.Sub(h.created) <= admissionTime) {
			return writer(w, detect.ByAudit), true
		}
	}
	return nil, false
}

// remover: after the last creation a deletion by name that was carried out is proof; else one of the whole collection;
// else those of a part of it, which may not have been this object's, where they are one user's.
func (h *History) remover() (*detect.Writer, bool) {
	var named, swept, maybe []write
	for _, w := range h.writes {
		switch {
		case w.lost, w.creates: // it may have come and gone since, or come back
			named, swept, maybe = nil, nil, nil
		case w.Verb == "delete":
			named = append(named, w)
		case w.Verb == "deletecollection" && w.selective && len(w.response) == 0:
			maybe = append(maybe, w)
		case w.Verb == "deletecollection":
			swept = append(swept, w)
		}
	}
	switch {
	case len(named) > 0:
		return writer(named[0], detect.ByAudit), true
	case len(swept) > 0:
		return writer(swept[0], detect.ByAudit), true
	case len(maybe) > 0 && ofOne(maybe):
		return writer(maybe[0], detect.ByAuditMetadata), true
	}
	return nil, false
}

// ofOne says whether all writes are one user's.
func ofOne(writes []write) bool {
	return !slices.ContainsFunc(writes, func(w write) bool { return w.User != writes[0].User || w.As != writes[0].As })
}

// admissionTime is the longest that a request may take after its object got its creation time: two rounds of
// webhooks, 30 s each at most (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/).
const admissionTime = time.Minute

func writer(w write, c detect.Confidence) *detect.Writer {
	return &detect.Writer{Manager: w.Manager, Subresource: w.Subresource, Time: w.Time.UTC(), User: w.User, As: w.As, Session: w.Session, Confidence: c}
}

// take puts what an event knows into a field's writer and keeps what managedFields know better.
func take(field *detect.Field, e write, c detect.Confidence) {
	w := writer(e, c)
	if old := field.Writer; old != nil && old.Confidence == detect.ByManager {
		w.Operation, w.Manager = old.Operation, old.Manager
		if !old.Time.IsZero() {
			w.Time = old.Time
		}
	}
	field.Writer = w
}

// Covers says whether the log was being written when a field changed, as far as that time is known. Since is the
// earliest time at which it may have been.
func (h *History) Covers(field detect.Field) (covered bool, since time.Time) {
	if h == nil {
		return true, since
	}
	if w := field.Writer; w != nil && !w.Time.IsZero() {
		return !w.Time.Before(h.log.First.Add(-slack)) && !w.Time.After(h.log.Last.Add(slack)), w.Time
	}
	since = h.open(time.Time{})
	return !since.Before(h.log.First.Add(-slack)), since
}

// open gives the time since when a field without a time may have changed: the engine's last apply, the object's
// creation, or when the log last showed another value.
func (h *History) open(from time.Time) time.Time {
	for _, at := range []time.Time{h.engineTime, h.created} {
		if at.After(from) {
			from = at
		}
	}
	return from
}

// same compares values, equal quantities and numbers of every Go type included. A patch of a mapping may hold less
// than the live one.
func same(part, whole any) bool {
	if m, ok := part.(map[string]any); ok {
		of, ok := whole.(map[string]any)
		for k, v := range m {
			if !ok || v != nil && !same(v, of[k]) || v == nil && of[k] != nil {
				return false
			}
		}
		return ok
	}
	if list, ok := part.([]any); ok {
		of, ok := whole.([]any)
		if !ok || len(list) != len(of) {
			return false
		}
		for i := range list {
			if !same(list[i], of[i]) {
				return false
			}
		}
		return true
	}
	return typed.Quantity.SameScalar(part, whole)
}
