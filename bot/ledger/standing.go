package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"holdfast/gitops/repo"
)

// Standing knows what a ledger says now of the subjects of some kinds, for acting on it. A record is read once, and
// counts only when it is signed with one of the keys: who can push to the branch is not thereby obeyed. It is safe for
// concurrent use.
type Standing struct {
	Ledger Ledger
	Keys   Keys
	Kinds  []Kind

	mu    sync.Mutex
	head  Head
	known map[string]Entry // by path; without a statement for one that does not count
	last  []string         // the path of each subject's newest record
	all   map[string]bool  // the marks of all subjects
	bad   []Problem
}

// Use sets how the ledger is opened and which keys count, as a run has them. What was read stays known.
func (s *Standing) Use(l Ledger, keys Keys) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Ledger, s.Keys = l, keys
}

// Said is what a ledger says at one moment.
type Said struct {
	Head Head
	// Entries are the newest records, of each subject one, oldest first.
	Entries []Entry
	// Problems are those of records that do not count, each told once. Nothing older stands in for them.
	Problems []Problem
	subjects map[string]bool
}

// Knows says whether there is any record about a subject.
func (s Said) Knows(subject string) bool { return s.subjects[subjectMark(subject)] }

// Read gives what the ledger says now. What has not changed is not read again.
func (s *Standing) Read(ctx context.Context) (Said, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(ctx); err != nil {
		return Said{}, fmt.Errorf("ledger %s: %w", s.Ledger.Branch, err)
	}
	out := Said{Head: s.head, Problems: s.bad, subjects: s.all}
	s.bad = nil
	for _, path := range s.last {
		if e := s.known[path]; e.Path != "" {
			out.Entries = append(out.Entries, e)
		}
	}
	return out, nil
}

func (s *Standing) refresh(ctx context.Context) error {
	r, err := s.Ledger.Open(ctx)
	if err != nil {
		return err
	}
	head, names, err := s.Ledger.names(r)
	if err != nil || head.Commit != "" && head == s.head {
		return err
	}
	newest, all := map[string]string{}, map[string]bool{}
	for _, path := range names {
		n, _, ok := ParsePath(path)
		if !ok {
			return fmt.Errorf("%s is no record of a ledger: name a branch that holds nothing else", path)
		}
		all[n.Subject] = true
		if !slices.Contains(s.Kinds, n.Kind) {
			continue
		}
		subject := string(n.Kind) + " " + n.Subject
		if before, _, ok := ParsePath(newest[subject]); !ok || before.Sequence < n.Sequence {
			newest[subject] = path
		}
	}
	wanted := slices.SortedFunc(maps.Values(newest), func(a, b string) int {
		m, _, _ := ParsePath(a)
		n, _, _ := ParsePath(b)
		return cmp.Compare(m.Sequence, n.Sequence)
	})
	known, bad, err := s.read(ctx, wanted)
	if err != nil {
		return err
	}
	s.head, s.known, s.last, s.all, s.bad = head, known, wanted, all, bad
	return nil
}

// read gives the records, those that are known already without reading them again.
func (s *Standing) read(ctx context.Context, wanted []string) (map[string]Entry, []Problem, error) {
	known := map[string]Entry{}
	var missing []string
	for _, path := range wanted {
		if e, ok := s.known[path]; ok {
			known[path] = e
			continue
		}
		missing = append(missing, path)
	}
	if len(missing) == 0 {
		return known, nil, nil
	}
	r, err := s.Ledger.Whole(ctx)
	if err != nil {
		return nil, nil, err
	}
	data, err := r.ReadFiles(s.Ledger.Branch, missing) // which holds all that it held at any time
	if err != nil {
		return nil, nil, err
	}
	var bad []Problem
	for i, path := range missing {
		e, problems := readRecord(path, data[i], s.Keys)
		if len(problems) > 0 {
			e = Entry{}
			bad = append(bad, problems...)
		}
		known[path] = e
	}
	return known, bad, nil
}

// readRecord reads a record and judges it by itself; what stands around it is for Verify.
func readRecord(path string, data []byte, keys Keys) (Entry, []Problem) {
	j := judged{change: repo.Change{Kind: repo.Added, Path: path, Data: data}}
	if envelope, err := unseal(data); err == nil {
		if s, err := envelope.statement(); err == nil {
			j.judge(repo.RawCommit{When: s.Predicate.Time}, "", keys)
			if s.PredicateType != j.entry.Name.Kind.PredicateType() {
				j.problems = append(j.problems, Problem{Fault: Malformed, Message: "it is of another version: " + s.PredicateType})
			}
			for i := range j.problems {
				j.problems[i].Path = path
			}
			return j.entry, j.problems
		}
	}
	return Entry{}, []Problem{{Fault: Malformed, Path: path, Message: "it is no record"}}
}

// Newest reads the newest record of a kind about a subject; ok is false where there is none that counts.
func (s *Standing) Newest(ctx context.Context, kind Kind, subject string) (e Entry, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.Ledger.Open(ctx)
	if err != nil {
		return e, false, fmt.Errorf("ledger %s: %w", s.Ledger.Branch, err)
	}
	_, names, err := s.Ledger.names(r)
	if err != nil {
		return e, false, fmt.Errorf("ledger %s: %w", s.Ledger.Branch, err)
	}
	mark, newest, last := subjectMark(subject), "", int64(0)
	for _, path := range names {
		if n, _, ok := ParsePath(path); ok && n.Kind == kind && n.Subject == mark && n.Sequence > last {
			newest, last = path, n.Sequence
		}
	}
	if newest == "" {
		return e, false, nil
	}
	known, _, err := s.read(ctx, []string{newest})
	if err != nil {
		return e, false, fmt.Errorf("ledger %s: %w", s.Ledger.Branch, err)
	}
	e = known[newest]
	return e, e.Path != "", nil
}

// Append writes records, as Ledger.Append does.
func (s *Standing) Append(ctx context.Context, records []Record) error {
	s.mu.Lock()
	l := s.Ledger
	s.mu.Unlock()
	_, _, err := l.Append(ctx, records)
	return err
}
