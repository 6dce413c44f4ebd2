package ledger

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"holdfast/gitops/repo"
)

// judged is a record with what is wrong in itself, whatever stands around it.
type judged struct {
	change   repo.Change
	entry    Entry
	problems []Problem
	// read says that the statement could be read.
	read bool
}

// judgeAll judges the records of one batch, several at a time: signatures take the most of a verification.
func judgeAll(all []judged, c repo.RawCommit, committer string, keys Keys) {
	workers := min(runtime.GOMAXPROCS(0), (len(all)+7)/8)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w; i < len(all); i += workers {
				all[i].judge(c, committer, keys)
			}
		})
	}
	group.Wait()
}

// judge is given the key that signed the batch; empty where that could not be told.
func (j *judged) judge(c repo.RawCommit, committer string, keys Keys) {
	fail := func(f Fault, format string, args ...any) {
		j.problems = append(j.problems, Problem{Fault: f, Message: fmt.Sprintf(format, args...)})
	}
	n, day, _ := ParsePath(j.change.Path)
	j.entry = Entry{Name: n, Path: j.change.Path, Commit: c.Hash}
	if j.change.Err != nil {
		fail(Unreadable, "%s", j.change.Err)
		return
	}
	envelope, err := unseal(j.change.Data)
	if err != nil {
		fail(Malformed, "%s", err)
		return
	}
	if j.entry.Signer, err = keys.Verify(Namespace, envelope.signed, envelope.armored, c.When); err != nil {
		fail(faultOf(err), "the record: %s%s", err, by(j.entry.Signer))
	}
	id := j.entry.Signer.KeyID
	if err == nil && id != envelope.keyID {
		fail(BadSignature, "its envelope names key %s, and it is signed by %s", envelope.keyID, id)
	}
	if err == nil && committer != "" && committer != id {
		fail(ForeignKey, "it is signed by %s, and its batch by %s", id, committer)
	}
	s, err := envelope.statement()
	if err != nil {
		fail(Malformed, "%s", err)
		return
	}
	j.entry.Statement, j.read = s, true
	j.matches(n, s, fail)
	if at := s.Predicate.Time; !at.Equal(c.When) {
		fail(WrongTime, "it says that it was made at %s, its batch at %s", at.UTC().Format("2006-01-02T15:04:05Z"), c.When.Format("2006-01-02T15:04:05Z"))
	}
	if got := c.When.Format("2006-01-02"); got != day.Format("2006-01-02") {
		fail(Misplaced, "it lies in the folder of %s, and its batch is of %s", day.Format("2006-01-02"), got)
	}
}

// matches compares a statement with the name of its file, and its digest with its content.
func (j *judged) matches(n Name, s Statement, fail func(Fault, string, ...any)) {
	content := s.Predicate.Content
	if digest := s.Subject[0].Digest; len(digest) != 1 || digest["sha256"] != sum(content) {
		fail(WrongDigest, "the statement's digest is not that of its content")
	}
	kind, ok := kindOf(s.PredicateType)
	switch {
	case !ok:
		// Of another version, or another tool: what it means cannot be judged.
	case kind != n.Kind:
		fail(Misplaced, "its name says %s, and it is a %s", n.Kind, kind)
	default:
		into := ContentOf(kind)
		if err := json.Unmarshal(content, into); err != nil {
			fail(Malformed, "its content is no %s: %s", kind, err)
		}
	}
	if subjectMark(s.Predicate.Subject) != n.Subject || contentMark(s.PredicateType, content) != n.Content {
		fail(WrongDigest, "it is not the record that its name says")
	}
	if s.Predicate.Sequence != n.Sequence {
		fail(Misplaced, "its name says record %d, and it is record %d", n.Sequence, s.Predicate.Sequence)
	}
}

// kindOf gives the kind of a predicate type that this version knows.
func kindOf(predicateType string) (Kind, bool) {
	rest, ok := strings.CutPrefix(predicateType, typePrefix)
	name, versioned := strings.CutSuffix(rest, typeVersion)
	if k := Kind(name); ok && versioned && k.known() {
		return k, true
	}
	return "", false
}
