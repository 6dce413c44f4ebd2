// Package audit reads audit.k8s.io/v1 events and says which user made a change. It decodes and matches
// only; whoever calls it opens the log.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast/gitops"
)

// maxLine bounds one event, in bytes; the API server limits a request body to 3 MiB.
const maxLine = 16 << 20

// Event is one finished write, as far as attribution needs it.
type Event struct {
	Time        time.Time
	User        string
	Verb        string
	Manager     string
	Subresource string
	// Body is the request's object or patch; nil at the levels None and Metadata.
	Body any
}

// Log holds the writes of an audit log by object, oldest first.
type Log struct {
	events map[key][]Event
	// Lines and Writes count what was read and what of it changed an object.
	Lines, Writes int
}

type key struct{ group, resource, namespace, name string }

// raw is the part of an event that is read. Source: k8s.io/apiserver/pkg/apis/audit/v1.
type raw struct {
	Kind             string    `json:"kind"`
	Stage            string    `json:"stage"`
	RequestURI       string    `json:"requestURI"`
	Verb             string    `json:"verb"`
	UserAgent        string    `json:"userAgent"`
	StageTimestamp   time.Time `json:"stageTimestamp"`
	User             user      `json:"user"`
	ImpersonatedUser *user     `json:"impersonatedUser"`
	ObjectRef        *struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus *struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject json.RawMessage `json:"requestObject"`
}

type user struct {
	Username string `json:"username"`
}

// Decode reads events, one JSON object a line, in any order. Reads, refused requests, dry runs and other
// stages than ResponseComplete are passed over. The error names the line that is no event.
func Decode(r io.Reader) (*Log, error) {
	log := &Log{events: map[key][]Event{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		log.Lines++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var e raw
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: no audit event: %w", log.Lines, plainError(err))
		}
		if e.Kind != "Event" {
			return nil, fmt.Errorf("line %d: no audit event: kind is %q, want Event of audit.k8s.io/v1", log.Lines, e.Kind)
		}
		log.add(e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", log.Lines+1, err)
	}
	for k := range log.events {
		slices.SortStableFunc(log.events[k], func(a, b Event) int { return a.Time.Compare(b.Time) })
	}
	return log, nil
}

// plainError keeps content of the log, which may hold secrets, out of messages.
func plainError(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("invalid JSON at byte %d", syntax.Offset)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Errorf("%s is not of the type that events have", mismatch.Field)
	}
	return errors.New("invalid JSON")
}

func (l *Log) add(e raw) {
	if e.Stage != "ResponseComplete" || e.ObjectRef == nil || e.ObjectRef.Name == "" && e.Verb != "create" && e.Verb != "deletecollection" {
		return
	}
	if !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) {
		return
	}
	if e.ResponseStatus == nil || e.ResponseStatus.Code >= 300 {
		return
	}
	query := query(e.RequestURI)
	if query.Has("dryRun") {
		return
	}
	event := Event{
		Time: e.StageTimestamp, User: e.User.Username, Verb: e.Verb, Manager: query.Get("fieldManager"), Subresource: e.ObjectRef.Subresource,
	}
	if e.ImpersonatedUser != nil && e.ImpersonatedUser.Username != "" {
		event.User = e.ImpersonatedUser.Username + " (impersonated by " + e.User.Username + ")"
	}
	if event.Manager == "" {
		event.Manager, _, _ = strings.Cut(e.UserAgent, "/")
	}
	if len(e.RequestObject) > 0 {
		if err := json.Unmarshal(e.RequestObject, &event.Body); err != nil {
			event.Body = nil
		}
	}
	name := e.ObjectRef.Name
	if body, ok := event.Body.(map[string]any); ok && name == "" {
		metadata, _ := body["metadata"].(map[string]any)
		name, _ = metadata["name"].(string)
	}
	l.Writes++
	k := key{e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Namespace, name}
	l.events[k] = append(l.events[k], event)
}

func query(uri string) url.Values {
	_, text, _ := strings.Cut(uri, "?")
	values, err := url.ParseQuery(text)
	if err != nil {
		return url.Values{}
	}
	return values
}

// of gives the writes of one object, and of collections that it was part of, oldest first.
func (l *Log) of(id gitops.ObjectID) []Event {
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: id.Group, Kind: id.Kind})
	k := key{id.Group, resource.Resource, id.Namespace, id.Name}
	events := slices.Clone(l.events[k])
	k.name = ""
	for _, e := range l.events[k] {
		if e.Verb == "deletecollection" {
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return events
}
