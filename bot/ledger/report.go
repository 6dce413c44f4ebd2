package ledger

import (
	"time"
)

// Fault is what is wrong.
type Fault string

// The faults.
const (
	Unreadable    Fault = "unreadable"    // an object of the repository is missing, damaged or too large
	ChangedFile   Fault = "changed"       // a record of an earlier batch was changed
	RemovedFile   Fault = "removed"       // a record of an earlier batch was removed
	ForeignFile   Fault = "foreign-file"  // something that is no record
	Malformed     Fault = "malformed"     // a record that cannot be read as one
	WrongDigest   Fault = "digest"        // a record whose content is not what its digest or name says
	Unsigned      Fault = "unsigned"      // no signature
	BadSignature  Fault = "bad-signature" // a signature that is not one of this content
	ForeignKey    Fault = "foreign-key"   // signed by a key that is not allowed, or not for this
	ExpiredKey    Fault = "expired-key"   // signed outside of the key's dates
	RevokedKey    Fault = "revoked-key"   // signed by a key that was revoked
	Missing       Fault = "missing"       // sequence numbers that no record has
	Reordered     Fault = "reordered"     // a record that comes after a later one
	Duplicated    Fault = "duplicated"    // a record that is there twice, or says what is said already
	Misplaced     Fault = "misplaced"     // a record that belongs to another place, batch or ledger
	MergeCommit   Fault = "merge"         // a batch with two parents
	EmptyBatch    Fault = "empty-batch"   // a commit without a record
	WrongTime     Fault = "time"          // times that go back, or lie in the future
	Truncated     Fault = "truncated"     // an anchored batch comes after the head
	Rewritten     Fault = "rewritten"     // an anchored batch is not part of the ledger
	AnchoredLater Fault = "anchor-time"   // an anchored batch says that it was made after it was seen
)

// Problem is one fault and where it is.
type Problem struct {
	Fault Fault `json:"fault"`
	// Commit is the batch, Path the file, Sequence the record's number, as far as they are known.
	Commit   string `json:"commit,omitempty"`
	Path     string `json:"path,omitempty"`
	Sequence int64  `json:"sequence,omitempty"`
	Message  string `json:"message"`
}

// Verdict is what comes of a verification.
type Verdict string

// The verdicts.
const (
	Whole       Verdict = "whole"                    // nothing is wrong, and every anchor was found
	Unanchored  Verdict = "consistent, not anchored" // nothing is wrong, but a cut or a rewriting by a key's owner could not be seen
	Broken      Verdict = "broken"
	maxProblems         = 1000 // that are listed
)

// Signature counts what one key signed.
type Signature struct {
	Principals []string `json:"principals,omitempty"`
	Key        string   `json:"key"`
	Batches    int      `json:"batches"`
	Records    int      `json:"records"`
	// First and Last are when it first and last signed a batch, as the batches say.
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Unknown counts records of a predicate type that this version does not know. Their envelopes are verified.
type Unknown struct {
	PredicateType string `json:"predicateType"`
	Records       int    `json:"records"`
}

// Report is what was found.
type Report struct {
	Verdict Verdict `json:"verdict"`
	Head    string  `json:"head"`
	Batches int     `json:"batches"`
	// Records counts those without a problem.
	Records int `json:"records"`
	// First and Last are the times of the first and the last batch.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Problems are at most the first 1000; ProblemsLeftOut counts the rest.
	Problems        []Problem      `json:"problems,omitempty"`
	ProblemsLeftOut int            `json:"problemsLeftOut,omitempty"`
	Signatures      []Signature    `json:"signatures,omitempty"`
	Unknown         []Unknown      `json:"unknown,omitempty"`
	Kinds           map[Kind]int   `json:"kinds,omitempty"`
	Anchors         *AnchorsReport `json:"anchors,omitempty"`
}

// AnchorsReport says what became of the anchors.
type AnchorsReport struct {
	Given int `json:"given"`
	Found int `json:"found"`
	// Newest is the newest batch that an anchor holds, After how many batches come after it: those could be cut off
	// unseen.
	Newest string `json:"newest,omitempty"`
	After  int    `json:"after"`
}

func (r *Report) add(p Problem) {
	if len(r.Problems) >= maxProblems {
		r.ProblemsLeftOut++
		return
	}
	r.Problems = append(r.Problems, p)
}
