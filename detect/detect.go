// Package detect holds the nouns of drift: the Difference between a declared and a live field, its Writer
// and Cause, the Risk and Controls, and the Finding and Decision that come of them. It does no I/O.
package detect

import (
	"strings"
	"time"

	"holdfast/gitops"
)

// Cause says why a live value is not the declared one.
type Cause string

// The causes. Drift is told by Field.Drift, not by the cause alone.
const (
	CauseNone       Cause = "none"       // no difference, or equal by spelling
	CauseManual     Cause = "manual"     // somebody changed it past Git
	CauseAdmission  Cause = "admission"  // a mutating webhook, a policy or an admission plug-in
	CauseAutoscaler Cause = "autoscaler" // HPA, VPA, KEDA
	CauseController Cause = "controller" // another controller, or the engine's own bookkeeping
	CauseAPI        Cause = "api"        // defaults, normalisation, dropped fields, merge keys, immutable fields
	CauseRender     Cause = "render"     // a renderer gives not the same, or no, output
	CauseMissing    Cause = "missing"    // in Git, not in the cluster
	CauseOrphaned   Cause = "orphaned"   // in the cluster, left from an earlier Git
	CausePending    Cause = "pending"    // Git is ahead of the engine
	CauseContested  Cause = "contested"  // two writers keep overwriting each other
	CauseUnknown    Cause = "unknown"    // it cannot be told
)

// Disposition is what is to be done about a difference.
type Disposition string

// The dispositions, weakest first.
const (
	Ignore  Disposition = "ignore"
	Codify  Disposition = "codify"
	Revert  Disposition = "revert"
	AsIssue Disposition = "issue"
)

// Risk is how much a drift matters. The zero Risk is "not assessed".
type Risk int

// The risks, lowest first.
const (
	Low Risk = iota + 1
	Medium
	High
	Critical
)

// Presence says on which side an object exists.
type Presence string

// The presences.
const (
	Both     Presence = "both"
	GitOnly  Presence = "git-only"
	LiveOnly Presence = "live-only"
)

// Confidence is how well a writer is known, best first in the order of the constants.
type Confidence string

// The confidences.
const (
	ByAudit         Confidence = "audit"          // an audit event with the change in it
	ByAuditMetadata Confidence = "audit-metadata" // an audit event that names the object only
	ByManager       Confidence = "manager"        // the managedFields entry: chosen by the client, a hint
	Inferred        Confidence = "inferred"       // target, bounds and shape fit; nobody signed
	Unresolved      Confidence = "unresolved"     // nothing names the writer
)

// Writer is who wrote a live value.
type Writer struct {
	Manager     string    `json:"manager,omitempty"`
	Operation   string    `json:"operation,omitempty"`
	Subresource string    `json:"subresource,omitempty"`
	Time        time.Time `json:"time,omitzero"`
	// User signed in; As is whom that user impersonated.
	User string `json:"user,omitempty"`
	As   string `json:"as,omitempty"`
	// Session is the cloud's own name for who signed in, where many share the user: an ARN and its session.
	Session    string     `json:"session,omitempty"`
	Confidence Confidence `json:"confidence"`
}

// Name is how outputs name a writer: "alice as system:admin", else the user, else the manager. A session stands in
// brackets.
func (w Writer) Name() string {
	name := w.User
	if w.Session != "" && name != "" {
		name += " (" + w.Session + ")"
	}
	switch {
	case w.User == "":
		return w.Manager
	case w.As != "":
		return name + " as " + w.As
	}
	return name
}

// How says how well the name is known, in words for people; empty without a name.
func (w Writer) How() string {
	switch {
	case w.Name() == "":
		return ""
	case w.Confidence == ByAudit:
		return "audit log"
	case w.Confidence == ByAuditMetadata:
		return "audit log, object only"
	case w.Confidence == ByManager:
		return "manager name, chosen by the client"
	case w.Confidence == Inferred:
		return "inferred"
	}
	return "manager name, which the audit log does not confirm"
}

// IsPerson says whether a person wrote, as far as the user's name tells: service accounts, nodes, components of
// Kubernetes and the clouds' own accounts are none. Source: kubernetes.io/docs/reference/access-authn-authz/authentication.
func (w Writer) IsPerson() bool {
	if w.User == "system:admin" { // the administrator whom some distributions make
		return true
	}
	return w.User != "" && !strings.HasPrefix(w.User, "system:") && !strings.HasPrefix(w.User, "eks:") &&
		!strings.HasSuffix(w.User, ".gserviceaccount.com") && w.User != "aksService"
}

// IsComponent says whether an account that no person logs in with wrote: a service account, a node or a component of
// the control plane, which wrote as itself.
func (w Writer) IsComponent() bool {
	return w.As == "" && (strings.HasPrefix(w.User, "system:serviceaccount:") || strings.HasPrefix(w.User, "system:node:") ||
		strings.HasPrefix(w.User, "system:kube-") || w.User == "system:apiserver")
}

// DifferenceKind is compare's verdict on one field, before anybody asks who did it.
type DifferenceKind string

// The kinds. Spelling, Defaulted and Reordered have Differs false: they are listed on request only.
const (
	Spelling     DifferenceKind = "spelling"      // other spelling of the same meaning
	Defaulted    DifferenceKind = "defaulted"     // absent in Git, live holds the default; or a zero value that the server drops
	ServerSet    DifferenceKind = "server-set"    // absent in Git, and only the API server sets it (uid, clusterIP …)
	Reordered    DifferenceKind = "reordered"     // same entries, other order, and order has a meaning (Differs true) or none (false)
	Changed      DifferenceKind = "changed"       // declared, live has another value
	Removed      DifferenceKind = "removed"       // declared, absent live
	Added        DifferenceKind = "added"         // not declared, present live
	UnknownField DifferenceKind = "unknown-field" // declared, but the schema does not know it: it can never arrive
	RepeatedKeys DifferenceKind = "repeated-keys" // a keyed list with repeated keys, compared by position
)

// Difference is one field whose declared and live forms are not byte-equal. Values of Secrets are masked
// before they leave compare.
type Difference struct {
	Path      gitops.Path
	Git, Live gitops.Value
	// Differs says that the values still differ once defaults, quantities and the like are equal.
	Differs bool
	Kind    DifferenceKind
	// Owners are all managers whose field sets hold the live value or, for a removed one, its parent:
	// a set, latest first.
	Owners []Writer
	// Masked says that Git and Live are placeholders for a Secret's value.
	Masked bool
}

// Field is a Difference with its cause, weight and decision.
type Field struct {
	Path      gitops.Path  `json:"path"`
	Git       gitops.Value `json:"git,omitzero"`
	Live      gitops.Value `json:"live,omitzero"`
	Differs   bool         `json:"differs"`
	Drift     bool         `json:"drift"`
	Cause     Cause        `json:"cause"`
	Writer    *Writer      `json:"writer,omitempty"`
	Risk      Risk         `json:"risk,omitzero"`
	Class     string       `json:"class,omitempty"`
	Sensitive bool         `json:"sensitive,omitempty"`
	// Reason is one sentence on why this cause: the rule, mutator or fact it rests on.
	Reason      string         `json:"reason,omitempty"`
	Kind        DifferenceKind `json:"kind,omitempty"`
	Disposition Disposition    `json:"disposition"`
	Rule        string         `json:"rule,omitempty"`
	Masked      bool           `json:"masked,omitempty"`
	// AfterHeal says what becomes of a proposal once the engine undid the drift: keep or close.
	// Offer is another answer that the issue offers.
	AfterHeal string      `json:"afterHeal,omitempty"`
	Offer     Disposition `json:"offer,omitempty"`
	Grant
	// Leaves says, and why, that a codify takes the field out of Git, or leaves it out, instead of writing the live
	// value: something else sets it. Empty for none.
	Leaves string `json:"leaves,omitempty"`
}

// Grant is what policy grants to a codify: how far it may reach, and how much of its proof may be loose.
type Grant struct {
	Scope           gitops.Scope `json:"-"`
	AllowWide       bool         `json:"-"`
	AllowIncomplete bool         `json:"-"`
}

// Control is a reference to a control of a standard that bears on a finding.
type Control struct {
	Standard string `json:"standard"`
	ID       string `json:"id"`
	Title    string `json:"title"`
}

// ObjectRef is an object's identity as outputs print it.
type ObjectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// Ref gives the printed identity of an object.
func Ref(o gitops.Object) ObjectRef {
	return ObjectRef{APIVersion: o.APIVersion, Kind: o.ID.Kind, Namespace: o.ID.Namespace, Name: o.ID.Name}
}

// ID gives the identity without the version.
func (r ObjectRef) ID() gitops.ObjectID {
	return gitops.NewObject(map[string]any{
		"apiVersion": r.APIVersion, "kind": r.Kind,
		"metadata": map[string]any{"namespace": r.Namespace, "name": r.Name},
	}).ID
}

// Finding is what is known and decided about one object of one Application: drift, or an explained
// difference. Its own Cause, Risk and Disposition are those of the object as a whole when it exists on one
// side only or ObjectLevel is true; else they sum up Fields.
type Finding struct {
	ID          string      `json:"id"`
	Cluster     string      `json:"cluster"`
	Application string      `json:"application"` // namespace/name
	Object      ObjectRef   `json:"object"`
	Presence    Presence    `json:"presence"`
	ObjectLevel bool        `json:"objectLevel,omitempty"`
	Drift       bool        `json:"drift"`
	Cause       Cause       `json:"cause"`
	Disposition Disposition `json:"disposition"`
	Risk        Risk        `json:"risk,omitzero"`
	Class       string      `json:"class,omitempty"`
	Controls    []Control   `json:"controls,omitempty"`
	Rule        string      `json:"rule,omitempty"`
	Trace       []string    `json:"trace,omitempty"`
	Reason      string      `json:"reason,omitempty"`
	Sensitive   bool        `json:"sensitive,omitempty"`
	Writer      *Writer     `json:"writer,omitempty"`
	FirstSeen   time.Time   `json:"firstSeen,omitzero"`
	LastSeen    time.Time   `json:"lastSeen,omitzero"`
	// Fingerprint changes when, and only when, the content of the drift does.
	Fingerprint string  `json:"fingerprint"`
	Fields      []Field `json:"fields,omitempty"`
	// AfterHeal, Offer and Grant are the decision's, as Field has them.
	AfterHeal string      `json:"afterHeal,omitempty"`
	Offer     Disposition `json:"offer,omitempty"`
	Grant
	// Declared and Live are the two sides that were compared; nil where the object does not exist.
	Declared *gitops.Declared `json:"-"`
	Live     *gitops.Object   `json:"-"`
	// Doubt says, of an object that exists in Git only, why it may stand in the cluster all the same; empty where it is
	// known that it does not.
	Doubt string `json:"doubt,omitempty"`
	// Unauthored are, of an object that exists live only, the fields that neither people nor tools wrote, but
	// controllers, admission or the engine.
	Unauthored []gitops.Path `json:"-"`
}

// Decision is policy's answer for one field or object.
type Decision struct {
	Disposition Disposition
	// Offer is the other answer that an issue offers as a command; empty for none.
	Offer Disposition
	// Rule names the rule that matched, its file and place; "no rule matched" has its own name.
	Rule string
	// Trace says of each earlier rule why it did not match.
	Trace []string
	// Until is when an exception that decided ends.
	Until time.Time
	// AfterHeal is "keep" or "close": what becomes of a proposal once the engine undid the drift.
	AfterHeal string
	// Grant is what a codify may do: AllowWide is to move other Applications that share the file, AllowIncomplete to
	// stand although not everything could be rendered.
	Grant
}
