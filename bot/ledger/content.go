package ledger

import (
	"encoding/json"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// Finding is the content of a FindingSeen: a drift, as far as it is the same from scan to scan. Nothing of a
// Secret's values is in it, no digest either: of them it says only that they changed.
type Finding struct {
	// ID is the finding's, as `holdfast scan -o json` prints it; Fingerprint that of its content.
	ID          string           `json:"id"`
	Fingerprint string           `json:"fingerprint"`
	Cluster     string           `json:"cluster"`
	Application string           `json:"application"`
	Object      detect.ObjectRef `json:"object"`
	Presence    detect.Presence  `json:"presence"`
	Cause       detect.Cause     `json:"cause"`
	Risk        string           `json:"risk,omitempty"`
	Class       string           `json:"class,omitempty"`
	Sensitive   bool             `json:"sensitive,omitempty"`
	Reason      string           `json:"reason,omitempty"`
	Controls    []detect.Control `json:"controls,omitempty"`
	Writer      *detect.Writer   `json:"writer,omitempty"`
	Fields      []Field          `json:"fields,omitempty"`
	// FieldsLeftOut counts the drifting fields beyond those that are listed.
	FieldsLeftOut int `json:"fieldsLeftOut,omitempty"`
}

// Field is one drifting field of a finding.
type Field struct {
	Path   string         `json:"path"`
	Cause  detect.Cause   `json:"cause"`
	Risk   string         `json:"risk,omitempty"`
	Writer *detect.Writer `json:"writer,omitempty"`
	// Declared and Live are absent where the value is; both are absent of a Secret's value, for which Changed is all.
	Declared *Value `json:"declared,omitempty"`
	Live     *Value `json:"live,omitempty"`
	Changed  bool   `json:"changed,omitempty"`
}

// Value is one side of a field. A long one is given by its digest alone.
type Value struct {
	// SHA256 is over the value as JSON, keys sorted.
	SHA256 string          `json:"sha256"`
	JSON   json.RawMessage `json:"json,omitempty"`
}

// FindingObserved goes with a Finding.
type FindingObserved struct {
	FirstSeen time.Time `json:"firstSeen,omitzero"`
	// Applied is the revision that the engine had applied.
	Applied string `json:"applied,omitempty"`
	// DeclaredSHA256 and LiveSHA256 are over the whole objects as JSON, keys sorted; absent of Secrets.
	DeclaredSHA256 string `json:"declaredSha256,omitempty"`
	LiveSHA256     string `json:"liveSha256,omitempty"`
}

// Decision is the content of a Decided.
type Decision struct {
	Finding     string             `json:"finding"`
	Disposition detect.Disposition `json:"disposition"`
	Rule        string             `json:"rule,omitempty"`
	Trace       []string           `json:"trace,omitempty"`
	Policy      Policy             `json:"policy"`
	Fields      []FieldDecision    `json:"fields,omitempty"`
}

// Policy is the policy that decided.
type Policy struct {
	// Name is its file, or the name of a built-in one; SHA256 is over its rules, its exceptions and the server's
	// floor.
	Name   string `json:"name"`
	SHA256 string `json:"sha256,omitempty"`
}

// FieldDecision is the part of a decision about one field.
type FieldDecision struct {
	Path        string             `json:"path"`
	Disposition detect.Disposition `json:"disposition"`
	Rule        string             `json:"rule,omitempty"`
}

// Thread is a pull request or issue on a forge.
type Thread struct {
	// Repository is the URL of the repository, Key the thread's own (the hidden marker has it too).
	Repository string `json:"repository"`
	Key        string `json:"key"`
	Kind       string `json:"kind" jsonschema:"enum=pull-request,enum=issue"`
	Number     int    `json:"number,omitempty"`
	URL        string `json:"url,omitempty"`
}

// Proposal is the content of a Proposed.
type Proposal struct {
	Thread      Thread             `json:"thread"`
	Hash        string             `json:"hash"`
	Title       string             `json:"title"`
	Disposition detect.Disposition `json:"disposition"`
	Risk        string             `json:"risk,omitempty"`
	Findings    []string           `json:"findings,omitempty"`
	Branch      string             `json:"branch,omitempty"`
	Base        string             `json:"base,omitempty"`
	Files       []File             `json:"files,omitempty"`
	Proof       *Proof             `json:"proof,omitempty"`
}

// File is a file that a pull request changes.
type File struct {
	Path string `json:"path"`
	// BeforeSHA256 and AfterSHA256 are over its bytes; absent where there is no such file, and of a file in which
	// values of Secrets stand.
	BeforeSHA256 string `json:"beforeSha256,omitempty"`
	AfterSHA256  string `json:"afterSha256,omitempty"`
	Changed      bool   `json:"changed,omitempty"`
}

// Proof says what was rendered before and after, and what moved.
type Proof struct {
	Verified bool                    `json:"verified"`
	Complete bool                    `json:"complete"`
	Members  []Member                `json:"members,omitempty"`
	Unproven []gitops.UnprovenMember `json:"unproven,omitempty"`
	Closed   []string                `json:"closed,omitempty"`
	Moved    []string                `json:"moved,omitempty"`
	Reason   string                  `json:"reason,omitempty"`
}

// Member is what was rendered. Its digests, over all its objects, are left out where a Secret is among them or may
// be; Changed then says whether they differ.
type Member struct {
	Cluster      string `json:"cluster,omitempty"`
	Namespace    string `json:"namespace,omitempty"`
	Name         string `json:"name"`
	Path         string `json:"path"`
	BeforeSHA256 string `json:"beforeSha256,omitempty"`
	AfterSHA256  string `json:"afterSha256,omitempty"`
	Changed      bool   `json:"changed,omitempty"`
}

// ProposalObserved goes with a Proposal.
type ProposalObserved struct {
	// Action is what was done: open, update, reopen, nothing.
	Action string `json:"action"`
	// Commit is the head of the branch, BaseCommit what it rests on.
	Commit     string `json:"commit,omitempty"`
	BaseCommit string `json:"baseCommit,omitempty"`
}

// Command is the content of a Commanded.
type Command struct {
	Thread Thread `json:"thread"`
	// Comment is its URL, Text the command's line.
	Comment string `json:"comment"`
	Text    string `json:"text"`
	By      string `json:"by"`
	// Role is what entitled them, or what they lacked.
	Role string `json:"role,omitempty"`
	// Outcome is accepted, refused or unknown; Reason says why.
	Outcome string `json:"outcome" jsonschema:"enum=accepted,enum=refused,enum=unknown"`
	Reason  string `json:"reason,omitempty"`
}

// Order is the content of an Ordered.
type Order struct {
	Finding     string             `json:"finding"`
	Cluster     string             `json:"cluster,omitempty"`
	Object      string             `json:"object,omitempty"`
	Disposition detect.Disposition `json:"disposition"`
	// Fields are those that it is about.
	Fields []OrderedField `json:"fields"`
	Thread *Thread        `json:"thread,omitempty"`
	// Comment is the URL of the command.
	Comment string `json:"comment,omitempty"`
	By      string `json:"by"`
	// Ended says that another command has taken its place, or that the drift is gone.
	Ended bool `json:"ended,omitempty"`
}

// OrderedField is a field, as outputs print its path, the empty one being the object as a whole, and a digest of what
// Git and the cluster had then: another content is not what was asked about.
type OrderedField struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Approval is the content of an Approved.
type Approval struct {
	Thread Thread `json:"thread"`
	By     string `json:"by"`
	// Commit is the head that was approved. Rejected says that changes were asked for instead.
	Commit   string    `json:"commit,omitempty"`
	Rejected bool      `json:"rejected,omitempty"`
	URL      string    `json:"url,omitempty"`
	At       time.Time `json:"at,omitzero"`
	// Counts says whether it is one of those that four eyes need, Reason why or why not.
	Counts bool   `json:"counts"`
	Reason string `json:"reason,omitempty"`
}

// Exception is the content of an Excepted.
type Exception struct {
	Finding string `json:"finding,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	// Object is as a policy's exception has it. Paths are the fields, as outputs print them; the empty one is the object
	// as a whole.
	Object string   `json:"object,omitempty"`
	Paths  []string `json:"paths,omitempty"`
	// Thread is where it was asked for, Comment the URL of the command.
	Thread  *Thread   `json:"thread,omitempty"`
	Comment string    `json:"comment,omitempty"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Until   time.Time `json:"until"`
	// Ended says that it was taken back, or that its end has come.
	Ended bool `json:"ended,omitempty"`
}

// Merge is the content of a Merged.
type Merge struct {
	Thread Thread    `json:"thread"`
	Commit string    `json:"commit,omitempty"`
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Healing is the content of a Healed: of a finding, or of a thread whose drift the engine undid.
type Healing struct {
	Finding string  `json:"finding,omitempty"`
	Thread  *Thread `json:"thread,omitempty"`
	Reason  string  `json:"reason,omitempty"`
}

// Convergence is the content of a Converged.
type Convergence struct {
	Finding string `json:"finding"`
	// Applied is the revision at which live equals declared.
	Applied string  `json:"applied,omitempty"`
	Thread  *Thread `json:"thread,omitempty"`
	Reason  string  `json:"reason,omitempty"`
}

// Closing is the content of a ThreadClosed.
type Closing struct {
	Thread Thread `json:"thread"`
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`
}

// ContentOf gives an empty content of a kind; nil for an unknown one.
func ContentOf(k Kind) any {
	switch k {
	case FindingSeen:
		return &Finding{}
	case Decided:
		return &Decision{}
	case Proposed:
		return &Proposal{}
	case Commanded:
		return &Command{}
	case Ordered:
		return &Order{}
	case Approved:
		return &Approval{}
	case Excepted:
		return &Exception{}
	case Merged:
		return &Merge{}
	case Healed:
		return &Healing{}
	case Converged:
		return &Convergence{}
	case ThreadClosed:
		return &Closing{}
	}
	return nil
}
