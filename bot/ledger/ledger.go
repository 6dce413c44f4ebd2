// Package ledger keeps the evidence: what was found, decided, proposed, answered and seen to be settled, in a Git
// branch that is only ever added to.
//
// A record is an in-toto Statement in a DSSE envelope, a file of its own. A batch of records is one signed commit,
// whose parent is the batch before: Git is the hash chain. Records tell changes of state: one is written when its
// subject is not said to be so already, so that running again writes nothing twice, and a run that died before it
// wrote is made up for by the next. What is needed for that stands in the names of the files.
//
// Batch, State and Verify are pure; Ledger is the edge to the repository.
package ledger

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/detect"
)

// Namespace is that of the SSH signatures of records, so that none is taken for one of a commit.
const Namespace = "holdfast-ledger"

// DefaultBranch is where the ledger lies unless the configuration says otherwise.
const DefaultBranch = "holdfast/ledger"

// MaxRecord bounds the file of one record, in bytes.
const MaxRecord = 1 << 20

// Tolerance is how far clocks may differ before a time counts as wrong.
const Tolerance = 10 * time.Minute

// Kind is what a record is about. It stands in the record's predicate type and in its file's name.
type Kind string

// The kinds.
const (
	FindingSeen  Kind = "finding"   // a drift, as it was seen
	Decided      Kind = "decision"  // what policy says of it
	Proposed     Kind = "proposal"  // a thread was opened or changed
	Commanded    Kind = "command"   // somebody gave a command
	Ordered      Kind = "order"     // somebody wants a drift answered otherwise than policy does
	Approved     Kind = "approval"  // somebody approved, or refused
	Excepted     Kind = "exception" // a drift may stay, until when
	Merged       Kind = "merge"     // a pull request was merged
	Healed       Kind = "healed"    // the engine corrected by itself
	Converged    Kind = "converged" // live equals declared again, as observed
	ThreadClosed Kind = "closed"    // a thread was closed
)

// Kinds lists all, in the order of a drift's life.
func Kinds() []Kind {
	return []Kind{FindingSeen, Decided, Proposed, Commanded, Ordered, Approved, Excepted, Merged, Healed, Converged, ThreadClosed}
}

// typePrefix and typeVersion make a kind into the URI of its predicate type.
const (
	typePrefix  = "urn:holdfast:ledger:"
	typeVersion = ":v1"
)

// PredicateType is the URI of a kind, with its version.
func (k Kind) PredicateType() string { return typePrefix + string(k) + typeVersion }

// stage says whether records of a kind tell the state that their subject is in, of which it has one at a time. What
// is said beside it (a decision) is said anew once the state changes.
func (k Kind) stage() bool { return k != Decided }

// settles says whether a kind ends what its subject was about. It is only written while there is something to end.
func (k Kind) settles() bool { return k == Converged || k == ThreadClosed }

func (k Kind) known() bool { return slices.Contains(Kinds(), k) }

// Record is one thing to be recorded.
type Record struct {
	Kind Kind
	// Subject names what it is about, the same from record to record: SubjectOfFinding and the like.
	Subject string
	// Content is one of the content types below. Equal content is not recorded twice in a row.
	Content any
	// Observed is what was seen beside it and changes from run to run; it does not make a record new. May be nil.
	Observed any
}

// SubjectOfFinding names a finding by its ID, for FindingSeen, Decided, Healed and Converged.
func SubjectOfFinding(id string) string { return "finding/" + id }

// SubjectOfThread names a thread by the repository of its forge and its key (bot.Key), for Proposed, Merged, Healed
// and ThreadClosed.
func SubjectOfThread(repo, key string) string { return "thread/" + repo + "/" + key }

// SubjectOfEvent names a command by its comment's URL and line, an approval by its review's URL, and an order or an
// exception by its finding, of which the newest counts.
func SubjectOfEvent(k Kind, id string) string { return string(k) + "/" + id }

// Name is what the name of a record's file says.
type Name struct {
	Sequence int64
	Kind     Kind
	// Subject and Content are hashes in hex, of 12 and of 20 digits.
	Subject, Content string
}

// shardSize is how many records one folder holds, so that a batch never rewrites long folders.
const shardSize = 100

// Path is where the file lies, of a record that was made at a time.
func (n Name) Path(at time.Time) string {
	return fmt.Sprintf("records/%s/%08d/%010d-%s-%s-%s.json",
		at.UTC().Format("2006/01/02"), n.Sequence/shardSize, n.Sequence, n.Kind, n.Subject, n.Content)
}

var pathForm = regexp.MustCompile(`^records/(\d{4}/\d\d/\d\d)/(\d{8})/(\d{10})-([a-z][a-z-]{0,29})-([0-9a-f]{12})-([0-9a-f]{20})\.json$`)

// ParsePath reads a path that Path made; day is the date in it.
func ParsePath(path string) (n Name, day time.Time, ok bool) {
	parts := pathForm.FindStringSubmatch(path)
	if parts == nil {
		return n, day, false
	}
	day, err := time.Parse("2006/01/02", parts[1])
	if err != nil {
		return n, day, false
	}
	if n.Sequence, err = strconv.ParseInt(parts[3], 10, 64); err != nil {
		return n, day, false
	}
	n.Kind, n.Subject, n.Content = Kind(parts[4]), parts[5], parts[6]
	return n, day, n.Path(day) == path
}

// ID names what a record says, without its place in the ledger.
func (n Name) ID() string { return n.Subject + "-" + n.Content }

// name gives the name of a record, and its content as it is stored.
func (r Record) name() (Name, json.RawMessage, error) {
	content, err := marshal(r.Content)
	if err != nil {
		return Name{}, nil, fmt.Errorf("%s of %s: %w", r.Kind, r.Subject, err)
	}
	if !r.Kind.known() || r.Subject == "" {
		return Name{}, nil, fmt.Errorf("record of kind %q about %q: no such kind, or no subject", r.Kind, r.Subject)
	}
	return Name{Kind: r.Kind, Subject: subjectMark(r.Subject), Content: contentMark(r.Kind.PredicateType(), content)}, content, nil
}

func subjectMark(subject string) string { return detect.Digest(subject)[:12] }

func contentMark(predicateType string, content []byte) string {
	return detect.Digest(predicateType, string(content))[:20]
}

// marshal writes JSON whose bytes are the same each time, and in which no text is other than it was.
func marshal(value any) (json.RawMessage, error) {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	// What was JSON before is taken over as it is, valid text or not.
	return json.RawMessage(strings.ToValidUTF8(strings.TrimSuffix(out.String(), "\n"), "\uFFFD")), nil
}
