package ledger

import (
	"fmt"
	"slices"
	"strings"
)

// State is what a ledger says of each subject at one moment, as far as is needed to tell what is new.
type State struct {
	// Last is the sequence number of the newest record; 0 for an empty ledger.
	Last     int64
	subjects map[string]said
}

// said is what a ledger says of one subject.
type said struct {
	kind  Kind
	stage string // the content of the record that tells the state
	open  bool   // nothing has settled it since
	// beside is the content of what is said beside the state, by kind.
	beside map[Kind]string
}

// NewState reads the names of a ledger's files. A path of another form is an error: the branch holds something
// else.
func NewState(paths []string) (*State, error) {
	s := &State{subjects: map[string]said{}}
	names := make([]Name, 0, len(paths))
	for _, path := range paths {
		n, _, ok := ParsePath(path)
		if !ok {
			return nil, fmt.Errorf("%s is no record of a ledger: name a branch that holds nothing else", path)
		}
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b Name) int { return int(a.Sequence - b.Sequence) })
	for _, n := range names {
		s.add(n)
	}
	return s, nil
}

// News says whether a record says something that the ledger does not say already.
func (s *State) News(n Name) bool {
	now, known := s.subjects[n.Subject]
	switch {
	case !n.Kind.stage():
		return now.beside[n.Kind] != n.Content
	case n.Kind.settles():
		return known && now.open
	}
	return now.kind != n.Kind || now.stage != n.Content
}

// Stage is the kind of the record that tells how a subject stands; empty where nothing is known of it.
func (s *State) Stage(subject string) Kind { return s.subjects[subjectMark(subject)].kind }

// add takes a record in, whose sequence number is set.
func (s *State) add(n Name) {
	s.Last = n.Sequence
	if !n.Kind.known() { // of a later version: what it means for its subject cannot be told
		delete(s.subjects, n.Subject)
		return
	}
	now := s.subjects[n.Subject]
	if n.Kind.stage() {
		now = said{kind: n.Kind, stage: n.Content, open: !n.Kind.settles()}
	} else {
		if now.beside == nil {
			now.beside = map[Kind]string{}
		}
		now.beside[n.Kind] = n.Content
	}
	s.subjects[n.Subject] = now
}

// numbered is a record that is new, with its place.
type numbered struct {
	record  Record
	name    Name
	content []byte
}

// take gives the records that are new, numbered, and takes them in.
func (s *State) take(records []Record) ([]numbered, error) {
	var out []numbered
	for _, r := range records {
		n, content, err := r.name()
		if err != nil {
			return nil, err
		}
		if !s.News(n) {
			continue
		}
		n.Sequence = s.Last + 1
		s.add(n)
		out = append(out, numbered{r, n, content})
	}
	return out, nil
}

// summary counts records by kind, for a commit's message.
func summary(all []numbered) string {
	counts := map[Kind]int{}
	for _, r := range all {
		counts[r.name.Kind]++
	}
	var parts []string
	for _, k := range Kinds() {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", k, counts[k]))
		}
	}
	return strings.Join(parts, ", ")
}
