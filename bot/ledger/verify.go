package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// Keys judges signatures; sign.Allowed does.
type Keys interface {
	Verify(namespace string, payload []byte, armored string, at time.Time) (sign.Identity, error)
}

// Input is a ledger to be verified.
type Input struct {
	// Steps are its commits from the oldest on, Head is the newest.
	Steps iter.Seq[repo.Step]
	Head  string
	Keys  Keys
	// Anchors are batches that were seen elsewhere. Without any, a ledger that was cut or rewritten by the owner of
	// an allowed key cannot be told from a whole one.
	Anchors []Anchor
	// Beyond says of a commit that is not in the ledger whether it is in the repository at all, and after the head.
	Beyond func(commit string) (found, after bool)
	Now    time.Time
	// Each gets every record that nothing is wrong with, in order; may be nil.
	Each func(Entry)
}

// Entry is a record as it was read.
type Entry struct {
	Name      Name
	Path      string
	Commit    string
	Statement Statement
	Signer    sign.Identity
}

// Verify judges a ledger, batch by batch. Its time is linear in what the ledger holds, and it keeps nothing of the
// records but what State keeps.
func Verify(in Input) Report {
	v := verifier{in: in, state: &State{subjects: map[string]said{}}, signatures: map[string]*Signature{}, unknown: map[string]int{}}
	v.report = Report{Head: in.Head, Kinds: map[Kind]int{}}
	v.places = map[string]int{}
	for _, a := range in.Anchors {
		v.places[a.Commit] = -1
	}
	for step := range in.Steps {
		v.step(step)
	}
	v.anchors()
	return v.finish()
}

type verifier struct {
	in         Input
	report     Report
	state      *State
	signatures map[string]*Signature
	unknown    map[string]int
	// last is the time of the newest batch so far, previous its commit. lost says that a part of the ledger could
	// not be read, so that what the next record must be is not known.
	last     time.Time
	previous string
	lost     bool
	// committer is the key that signed the batch at hand; empty where that could not be told.
	committer string
	// next is the sequence number that comes next; gaps are those that were left out, for telling what was moved.
	next int64
	gaps []gap
	// places are the positions of anchored batches, made when; -1 for one that is not found.
	places map[string]int
	times  map[string]time.Time
}

type gap struct{ first, last int64 }

func (v *verifier) step(s repo.Step) {
	v.report.Batches++
	c := s.Commit
	if _, anchored := v.places[c.Hash]; anchored {
		v.places[c.Hash] = v.report.Batches
		if v.times == nil {
			v.times = map[string]time.Time{}
		}
		v.times[c.Hash] = c.When
	}
	if s.Err != nil {
		message := s.Err.Error()
		if s.First {
			message += "; what lies before it is lost"
		}
		v.report.add(Problem{Fault: Unreadable, Commit: c.Hash, Message: message})
		v.lost = true
	}
	v.committer = ""
	if len(c.Payload) > 0 { // the commit itself could be read
		v.committer = v.commit(c)
	}
	if s.Err == nil {
		v.changes(c, s.Changes)
	}
	if !c.When.IsZero() {
		v.last = c.When
	}
	v.previous = c.Hash
}

// commit judges what a batch says of itself, and gives the key that signed it.
func (v *verifier) commit(c repo.RawCommit) string {
	fail := func(f Fault, format string, args ...any) {
		v.report.add(Problem{Fault: f, Commit: c.Hash, Message: fmt.Sprintf(format, args...)})
	}
	if len(c.Parents) > 1 {
		fail(MergeCommit, "a batch with %d parents: a ledger is one line", len(c.Parents))
	}
	if len(c.Odd) > 0 {
		fail(Malformed, "the commit has headers that Holdfast does not write: %q", c.Odd)
	}
	if v.report.First.IsZero() {
		v.report.First = c.When
	}
	if back := v.last.Sub(c.When); back > 0 {
		fail(WrongTime, "made %s before the batch before it", back)
	}
	if c.When.After(v.in.Now.Add(Tolerance)) {
		fail(WrongTime, "made in the future, at %s", c.When.Format(time.RFC3339))
	}
	v.report.Last = c.When
	who, err := v.in.Keys.Verify(sign.CommitNamespace, c.Payload, c.Signature, c.When)
	if err != nil {
		fail(faultOf(err), "the commit: %s%s", err, by(who))
		return ""
	}
	s := v.signature(who)
	s.Batches++
	if s.First.IsZero() {
		s.First = c.When
	}
	s.Last = c.When
	return who.KeyID
}

func (v *verifier) signature(who sign.Identity) *Signature {
	s := v.signatures[who.KeyID]
	if s == nil {
		s = &Signature{Key: who.KeyID, Principals: who.Principals}
		v.signatures[who.KeyID] = s
	}
	return s
}

func by(who sign.Identity) string {
	if who.KeyID == "" {
		return ""
	}
	return " (" + who.String() + ")"
}

func faultOf(err error) Fault {
	switch {
	case errors.Is(err, sign.ErrNotSigned):
		return Unsigned
	case errors.Is(err, sign.ErrForeign), errors.Is(err, sign.ErrNamespace):
		return ForeignKey
	case errors.Is(err, sign.ErrOutOfDate):
		return ExpiredKey
	case errors.Is(err, sign.ErrKeyRevoked):
		return RevokedKey
	}
	return BadSignature
}

// changes judges what a batch did to the files.
func (v *verifier) changes(c repo.RawCommit, changes []repo.Change) {
	var added []judged
	for _, change := range changes {
		n, _, isRecord := ParsePath(change.Path)
		p := Problem{Commit: c.Hash, Path: change.Path, Sequence: n.Sequence}
		switch {
		case change.Kind == repo.Removed:
			p.Fault, p.Message = RemovedFile, "a file of an earlier batch was removed"
		case change.Kind == repo.Modified:
			p.Fault, p.Message = ChangedFile, "a file of an earlier batch was changed"
		case !isRecord || change.Submodule || change.Mode != 0:
			p.Fault, p.Message = ForeignFile, "it is no record of a ledger"
		default:
			added = append(added, judged{change: change})
			continue
		}
		v.report.add(p)
	}
	if len(added) == 0 {
		if len(changes) == 0 {
			v.report.add(Problem{Fault: EmptyBatch, Commit: c.Hash, Message: "a batch without a record"})
		}
		return
	}
	judgeAll(added, c, v.committer, v.in.Keys)
	slices.SortStableFunc(added, func(a, b judged) int { return cmp.Compare(a.entry.Name.Sequence, b.entry.Name.Sequence) })
	for i := range added {
		v.record(c, &added[i])
	}
}

// record puts one record in its place among the others.
func (v *verifier) record(c repo.RawCommit, j *judged) {
	n := j.entry.Name
	fail := func(f Fault, format string, args ...any) {
		j.problems = append(j.problems, Problem{Fault: f, Message: fmt.Sprintf(format, args...)})
	}
	v.order(n, fail)
	if j.read {
		if j.entry.Statement.Predicate.Previous != v.previous {
			fail(Misplaced, "it says that it follows batch %s, and stands after %s", orNone(j.entry.Statement.Predicate.Previous), orNone(v.previous))
		}
		if _, judged := kindOf(j.entry.Statement.PredicateType); judged && !v.state.News(n) {
			fail(Duplicated, "it says what is said of its subject already, or ends what is not open")
		}
	}
	v.state.add(n)
	for _, p := range j.problems {
		p.Commit, p.Path, p.Sequence = c.Hash, j.change.Path, n.Sequence
		v.report.add(p)
	}
	if len(j.problems) > 0 {
		return
	}
	v.report.Records++
	v.report.Kinds[n.Kind]++
	v.signature(j.entry.Signer).Records++
	if _, judged := kindOf(j.entry.Statement.PredicateType); !judged {
		v.unknown[j.entry.Statement.PredicateType]++
	}
	if v.in.Each != nil {
		v.in.Each(j.entry)
	}
}

func orNone(commit string) string {
	if commit == "" {
		return "none"
	}
	return fmt.Sprintf("%.12s", commit)
}

// order judges a sequence number.
func (v *verifier) order(n Name, fail func(Fault, string, ...any)) {
	if v.lost || v.next == 0 {
		if v.next == 0 && n.Sequence != 1 && !v.lost {
			fail(Missing, "records 1 to %d are missing", n.Sequence-1)
		}
		v.next, v.lost = n.Sequence+1, false
		return
	}
	switch {
	case n.Sequence == v.next:
		v.next++
	case n.Sequence > v.next:
		fail(Missing, "records %d to %d are missing before it", v.next, n.Sequence-1)
		v.gaps = append(v.gaps, gap{v.next, n.Sequence - 1})
		v.next = n.Sequence + 1
	case slices.ContainsFunc(v.gaps, func(g gap) bool { return g.first <= n.Sequence && n.Sequence <= g.last }):
		fail(Reordered, "it comes after record %d", v.next-1)
	default:
		fail(Duplicated, "there is a record %d already", n.Sequence)
	}
}

// anchors looks where the anchored batches are.
func (v *verifier) anchors() {
	if len(v.in.Anchors) == 0 {
		return
	}
	out := &AnchorsReport{Given: len(v.in.Anchors)}
	newest := 0
	for _, a := range v.in.Anchors {
		at := v.places[a.Commit]
		seen := fmt.Sprintf("seen at %s", a.Time.UTC().Format(time.RFC3339))
		if a.Where != "" {
			seen += " in " + a.Where
		}
		if at < 0 {
			found, after := false, false
			if v.in.Beyond != nil {
				found, after = v.in.Beyond(a.Commit)
			}
			p := Problem{Fault: Rewritten, Commit: a.Commit, Message: "batch " + seen + ", is not part of the ledger: it was cut off or rewritten"}
			switch {
			case after:
				p.Fault, p.Message = Truncated, "batch "+seen+", comes after the head: the ledger was cut off"
			case found:
				p.Message = "batch " + seen + ", is still in the repository, but not part of the ledger: it was rewritten"
			}
			v.report.add(p)
			continue
		}
		out.Found++
		if made := v.times[a.Commit]; made.After(a.Time.Add(Tolerance)) {
			v.report.add(Problem{Fault: AnchoredLater, Commit: a.Commit, Message: fmt.Sprintf("says that it was made at %s, but was %s", made.Format(time.RFC3339), seen)})
		}
		if at > newest {
			newest, out.Newest = at, a.Commit
		}
	}
	out.After = v.report.Batches - newest
	v.report.Anchors = out
}

func (v *verifier) finish() Report {
	r := &v.report
	for _, s := range v.signatures {
		r.Signatures = append(r.Signatures, *s)
	}
	slices.SortFunc(r.Signatures, func(a, b Signature) int { return strings.Compare(a.Key, b.Key) })
	for t, n := range v.unknown {
		r.Unknown = append(r.Unknown, Unknown{t, n})
	}
	slices.SortFunc(r.Unknown, func(a, b Unknown) int { return strings.Compare(a.PredicateType, b.PredicateType) })
	switch {
	case len(r.Problems) > 0:
		r.Verdict = Broken
	case r.Anchors == nil:
		r.Verdict = Unanchored
	default:
		r.Verdict = Whole
	}
	return *r
}
