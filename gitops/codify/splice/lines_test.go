package splice

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"holdfast/gitops"
)

// TestOnlyTheEditedLinesChange makes random edits of texts in random styles. What is edited reads as wanted (Set,
// Insert and Remove see to that themselves); every line that is no part of it is there afterwards, byte for byte.
func TestOnlyTheEditedLinesChange(t *testing.T) {
	refusals, edits := map[string]int{}, 0
	for seed := range uint64(1000) {
		data := stylish(seed)
		f, err := parse(data)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, data)
		}
		docs := f.contents()
		r := rand.New(rand.NewPCG(seed, 29))
		for range 6 {
			doc := r.IntN(len(docs))
			if docs[doc] == nil {
				continue
			}
			all := paths(docs[doc], nil)
			e := lineEdit{file: f, doc: doc, path: all[r.IntN(len(all))], kind: r.IntN(4)}
			after, err := e.make(r)
			if errors.Is(err, errSkip) {
				continue
			}
			if err != nil {
				reason := err.Error()
				for _, known := range []string{"another kind of value", "merge key", "used elsewhere"} {
					if strings.Contains(reason, known) {
						reason = known
					}
				}
				refusals[reason]++
				if errors.Is(err, ErrMismatch) || errors.Is(err, ErrSyntax) {
					t.Errorf("seed %d: %s %s: %v\n%s", seed, e.what(), e.path, err, data)
				}
				continue
			}
			edits++
			if problem := e.strayed(after); problem != "" {
				t.Errorf("seed %d: %s %s: %s\n%s\n--- after\n%s", seed, e.what(), e.path, problem, data, after)
			}
		}
		if t.Failed() {
			return
		}
	}
	total := 0
	for reason, n := range refusals {
		t.Logf("refused %d times: %s", n, reason)
		total += n
	}
	if edits < 2000 || total*20 > edits {
		t.Errorf("%d edits, %d refused", edits, total)
	}
}

var errSkip = errors.New("nothing to do here")

// lineEdit is one edit of the test: a scalar set, a key added, an entry inserted, something removed.
type lineEdit struct {
	file *file
	doc  int
	path gitops.Path
	kind int
	// from and to are the lines, from 0 and to excluded, that the edit may change.
	from, to int
	// whole says that only whole lines may come or go there.
	whole bool
}

func (e *lineEdit) what() string {
	return []string{"set", "add below", "insert into", "remove"}[e.kind]
}

func (e *lineEdit) make(r *rand.Rand) ([]byte, error) {
	s, err := e.file.spot(e.doc, e.path)
	if err != nil || s.via != nil || e.file.guard(s.node) != nil || s.node.kind == alias {
		return nil, errSkip // anchors have tests of their own
	}
	n, f := s.node, e.file
	v := any(awkward[r.IntN(len(awkward))])
	if r.IntN(4) == 0 {
		v = []any{int64(8080), true, nil, 1.5, map[string]any{"name": "x", "value": v}, []any{v, "z"}}[r.IntN(6)]
	}
	e.from, e.to = f.lineOf(n.first)-1, f.lineOf(n.end)
	if n.parent != nil && n.first == n.end {
		e.from = f.lineOf(f.head(n)) - 1
	}
	switch e.kind {
	case 0:
		if n.kind != scalar || n.parent == nil {
			return nil, errSkip
		}
		return Set(f.data, e.doc, e.path, v)
	case 1:
		if n.kind != mapping {
			return nil, errSkip
		}
		e.from, e.to = f.lineOf(f.ownStart(n.first))-1, max(e.to, f.lineOf(f.behindDeeper(n.end, f.indentOf(n))-1))
		e.whole = !n.flow && len(n.pairs) > 0 && len(f.data) > 0 && f.data[len(f.data)-1] == '\n'
		return Set(f.data, e.doc, e.path.Child(gitops.Field("added")), v)
	case 2:
		if n.kind != sequence {
			return nil, errSkip
		}
		e.from, e.to = f.lineOf(f.ownStart(n.first))-1, max(e.to, f.lineOf(f.behindDeeper(n.end, f.indentOf(n))-1))
		e.whole = !n.flow && len(n.items) > 0 && f.data[len(f.data)-1] == '\n'
		return Insert(f.data, e.doc, e.path, r.IntN(len(n.items)+1), v)
	}
	if n.parent == nil || f.holdsSharedAnchor(n) != nil {
		return nil, errSkip
	}
	e.removal(n)
	return Remove(f.data, e.doc, e.path)
}

// removal says which lines may go with node n.
func (e *lineEdit) removal(n *node) {
	f, p := e.file, n.parent
	spans := f.pairSpans(p)
	i := slices.IndexFunc(p.pairs, func(o pair) bool { return o.value == n })
	if p.kind == sequence {
		spans, i = f.itemSpans(p), slices.Index(p.items, n)
	}
	start, end := spans[i][0], spans[i][1]
	e.from, e.to = f.lineOf(f.ownStart(start))-1, f.lineOf(end)
	if p.flow || len(spans) == 1 {
		e.from, e.to = min(e.from, f.lineOf(p.first)-1), max(e.to, f.lineOf(p.end))
		if len(spans) == 1 && p.parent != nil && !p.flow {
			e.from = f.lineOf(f.head(p)) - 1
		}
		return
	}
	e.to = f.lineOf(max(f.behindDeeper(end, f.column(start))-1, end))
	for e.to < len(f.lines) && strings.TrimSpace(string(f.data[f.lines[e.to]:f.lineEnd(f.lines[e.to])])) == "" {
		e.to++ // blank lines may go with it where they would come to belong to a block above
	}
	if !f.startsLine(start) {
		e.to++ // what follows takes the place behind the dash
	}
}

// strayed says what an edit changed that was none of its business.
func (e *lineEdit) strayed(after []byte) string {
	if bytes.HasPrefix(e.file.data, bom) != bytes.HasPrefix(after, bom) {
		return "the byte order mark is lost"
	}
	ended := bytes.HasSuffix(e.file.data, []byte("\n"))
	had, has := lines(e.file.data, ended), lines(after, ended)
	head, tail := e.from, len(had)-min(e.to, len(had))
	if len(has) < head+tail {
		return fmt.Sprintf("only %d lines are left", len(has))
	}
	for i := range head {
		if had[i] != has[i] {
			return fmt.Sprintf("line %d changed to %q", i+1, has[i])
		}
	}
	for i := range tail {
		if have, now := had[len(had)-1-i], has[len(has)-1-i]; have != now {
			return fmt.Sprintf("line %d changed to %q", len(had)-i, now)
		}
	}
	if e.whole {
		i := 0
		for _, line := range has {
			if i < len(had) && had[i] == line {
				i++
			}
		}
		if i < len(had) {
			return fmt.Sprintf("line %d is lost", i+1)
		}
	}
	return ""
}

// lines are those of a text that ends in a line break, or does not.
func lines(data []byte, ended bool) []string {
	eol := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		eol = "\r\n"
	}
	text := string(bytes.TrimPrefix(data, bom))
	if ended {
		text = strings.TrimSuffix(text, eol)
	}
	return strings.Split(text, eol)
}
