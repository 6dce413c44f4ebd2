package audit

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// record is one value of a log in any of its forms: the event itself, a list, or an envelope around either. Names of
// fields are matched whatever their case, so that an event and a row of Azure's table AKSAudit are one form.
// Source of the event: https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
type record struct {
	event
	envelope
	lists
}

type event struct {
	Kind              string          `json:"kind"`
	APIVersion        string          `json:"apiVersion"`
	AuditID           string          `json:"auditID"`
	Stage             string          `json:"stage"`
	RequestURI        string          `json:"requestURI"`
	Verb              string          `json:"verb"`
	UserAgent         string          `json:"userAgent"`
	StageTimestamp    json.RawMessage `json:"stageTimestamp"`
	StageReceivedTime json.RawMessage `json:"stageReceivedTime"`
	User              json.RawMessage `json:"user"`
	ImpersonatedUser  json.RawMessage `json:"impersonatedUser"`
	ObjectRef         json.RawMessage `json:"objectRef"`
	ResponseStatus    json.RawMessage `json:"responseStatus"`
	RequestObject     json.RawMessage `json:"requestObject"`
	ResponseObject    json.RawMessage `json:"responseObject"`
}

type user struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
	// Extra is what the authenticator knows beside that, a list a key.
	Extra json.RawMessage `json:"extra"`
}

// session gives the ARN and the session's name of EKS, whose access entries put many people behind one user. Source:
// https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
func (u user) session() string {
	var extra struct {
		ARN         []string `json:"arn"`
		SessionName []string `json:"sessionName"`
	}
	if len(u.Extra) == 0 || json.Unmarshal(u.Extra, &extra) != nil || len(extra.ARN) != 1 {
		return ""
	}
	session := extra.ARN[0]
	if len(extra.SessionName) == 1 && extra.SessionName[0] != "" && !strings.HasSuffix(session, "/"+extra.SessionName[0]) {
		session += ", session " + extra.SessionName[0]
	}
	return session
}

type objectRef struct {
	Resource    string `json:"resource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	UID         string `json:"uid"`
	APIGroup    string `json:"apiGroup"`
	Subresource string `json:"subresource"`
}

// write makes an Event of a request that was carried out and changed something; ok is false for any other. fault says
// what is not as events have it, without content.
func (e event) write() (out Event, ok bool, fault string) {
	var ref objectRef
	if e.Stage != "ResponseComplete" || len(e.ObjectRef) == 0 {
		return out, false, ""
	}
	var who, as user
	var status struct {
		Code int `json:"code"`
	}
	for _, part := range []struct {
		name string
		raw  json.RawMessage
		into any
	}{{"objectRef", e.ObjectRef, &ref}, {"user", e.User, &who}, {"impersonatedUser", e.ImpersonatedUser, &as}, {"responseStatus", e.ResponseStatus, &status}} {
		if raw := unquoted(part.raw); len(raw) > 0 && json.Unmarshal(raw, part.into) != nil {
			return out, false, part.name + " is not of the type that events have"
		}
	}
	query := queryOf(e.RequestURI)
	if status.Code < 200 || status.Code > 299 || query.Has("dryRun") {
		return out, false, ""
	}
	at, good := e.time()
	if !good {
		return out, false, "stageTimestamp is no time"
	}
	out = Event{
		Time: at, User: who.Username, As: as.Username, Verb: e.Verb, Subresource: ref.Subresource,
		Manager: query.Get("fieldManager"), Session: who.session(), id: e.AuditID, uid: ref.UID, creates: status.Code == 201,
		target:    key{ref.APIGroup, ref.Resource, ref.Namespace, ref.Name},
		selective: query.Get("labelSelector") != "" || query.Get("fieldSelector") != "",
	}
	if out.groups = who.Groups; as.Username != "" {
		out.groups = as.Groups
	}
	if out.Manager == "" { // as the API server does: k8s.io/apiserver pkg/endpoints/handlers/create.go
		out.Manager, _, _ = strings.Cut(e.UserAgent, "/")
	}
	ok = out.complete(unquoted(e.RequestObject), unquoted(e.ResponseObject))
	return out, ok, ""
}

func (e event) time() (time.Time, bool) {
	var at time.Time
	raw := e.StageTimestamp
	if len(raw) == 0 {
		raw = e.StageReceivedTime
	}
	return at, len(raw) > 0 && json.Unmarshal(raw, &at) == nil && !at.IsZero()
}

// complete adds the bodies. It says whether the event changed the object, or shows what it held.
func (e *Event) complete(request, response json.RawMessage) bool {
	if !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) {
		return false
	}
	switch e.Subresource {
	case "", "scale", "status", "ephemeralcontainers", "resize", "binding", "finalize":
	case "eviction":
		e.Verb, request, response = "delete", nil, nil
	default: // exec, portforward, proxy, token and the like change no object
		return false
	}
	if e.Subresource != "" || e.Verb != "create" && e.Verb != "patch" && e.Verb != "update" {
		e.creates = false
	}
	if e.Verb == "create" && e.Subresource == "" {
		e.creates = true
	}
	e.request, e.response = request, response
	if e.target.group == "" && e.target.resource == "secrets" {
		e.request, e.response = emptied(request), emptied(response)
	}
	head := headOf(response)
	if head.Kind == "" && e.Verb != "delete" && e.Verb != "deletecollection" {
		head = headOf(request)
	}
	if e.Subresource == "" && e.Verb != "deletecollection" {
		e.kind = head.Kind
	}
	if e.target.name == "" && e.Verb != "deletecollection" {
		e.target.name = head.Metadata.Name
	}
	if e.uid == "" && e.Subresource == "" {
		e.uid = head.Metadata.UID
	}
	if e.target.resource == "namespaces" { // events name a Namespace as its own namespace
		e.target.namespace = ""
	}
	if e.idle() {
		e.request, e.response = nil, nil
	}
	return e.target.name != "" || e.Verb == "deletecollection"
}

// idle says whether a write tells nothing of what Git declares: it is a status, or an object that components keep for
// themselves. There are more of them than of all others.
func (e *Event) idle() bool {
	switch (schema.GroupResource{Group: e.target.group, Resource: e.target.resource}) {
	case schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, schema.GroupResource{Resource: "events"},
		schema.GroupResource{Group: "events.k8s.io", Resource: "events"}:
		return true
	}
	return e.Subresource == "status"
}

// head is what identifies an object in a body.
type head struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
		UID  string `json:"uid"`
	} `json:"metadata"`
}

// headOf reads it; empty where the body is none of one object, but the server's answer to a request, say.
func headOf(body json.RawMessage) head {
	var h head
	if len(body) == 0 || body[0] != '{' || json.Unmarshal(body, &h) != nil || h.Kind == "Status" {
		return head{}
	}
	return h
}

// emptied is a Secret's body without its values.
func emptied(raw json.RawMessage) json.RawMessage {
	body := decodeBody(raw)
	if body == nil {
		return nil
	}
	data, err := json.Marshal(withoutValues(body))
	if err != nil {
		return nil
	}
	return data
}

func decodeBody(raw json.RawMessage) any {
	var body any
	if len(raw) == 0 || utiljson.Unmarshal(raw, &body) != nil {
		return nil
	}
	switch body.(type) {
	case map[string]any, []any:
		return body
	}
	return nil // AKS writes a text in place of an object that is too big
}

// unquoted takes JSON out of a text that holds it, as exported tables do.
func unquoted(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return raw
	}
	return json.RawMessage(text)
}

func queryOf(uri string) url.Values {
	_, text, _ := strings.Cut(uri, "?")
	values, err := url.ParseQuery(text)
	if err != nil {
		return url.Values{}
	}
	return values
}

// masked stands for each value of a Secret.
const masked = "<secret>"

// withoutValues keeps of a Secret's body, list or patch what it is about: its kind and identity, which keys it has,
// and what removes one.
func withoutValues(body any) any {
	if operations, ok := body.([]any); ok {
		out := make([]any, len(operations))
		for i, o := range operations {
			out[i] = mask(o, "op", "path", "from")
		}
		return out
	}
	content, ok := body.(map[string]any)
	if !ok {
		return mask(body)
	}
	out, _ := mask(content, "kind", "apiVersion").(map[string]any)
	if metadata, ok := content["metadata"]; ok {
		out["metadata"] = mask(metadata, "name", "namespace", "uid", "resourceVersion", "creationTimestamp")
	}
	if items, ok := content["items"].([]any); ok {
		list := make([]any, len(items))
		for i, item := range items {
			list[i] = withoutValues(item)
		}
		out["items"] = list
	}
	return out
}

// mask puts a placeholder for every value but null, the marks of strategic merge patches, and the texts of body's own
// fields named in keep.
func mask(body any, keep ...string) any {
	switch b := body.(type) {
	case map[string]any:
		out := make(map[string]any, len(b))
		for name, v := range b {
			if _, isText := v.(string); isText && slices.Contains(keep, name) || name == "$patch" && v == "delete" {
				out[name] = v
			} else {
				out[name] = mask(v)
			}
		}
		return out
	case []any:
		out := make([]any, len(b))
		for i, v := range b {
			out[i] = mask(v)
		}
		return out
	case nil:
		return nil
	}
	return masked
}
