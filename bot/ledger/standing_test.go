package ledger_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/gitops"
)

func order(finding, by string, ended bool) ledger.Record {
	return ledger.Record{Kind: ledger.Ordered, Subject: ledger.SubjectOfEvent(ledger.Ordered, finding), Content: ledger.Order{
		Finding: finding, Disposition: detect.Revert, By: by, Fields: []ledger.OrderedField{{Path: "spec.replicas", Content: "00"}}, Ended: ended,
	}}
}

// orders tells what stands: finding, by whom, and whether it has ended.
func orders(t *testing.T, said ledger.Said) []string {
	t.Helper()
	var out []string
	for _, e := range said.Entries {
		var o ledger.Order
		if err := json.Unmarshal(e.Statement.Predicate.Content, &o); err != nil {
			t.Fatal(err)
		}
		text := o.Finding + " by " + o.By
		if o.Ended {
			text += ", ended"
		}
		out = append(out, text)
	}
	return out
}

func TestStanding(t *testing.T) {
	w := newWorld(t)
	s := &ledger.Standing{Ledger: w.ledger(), Keys: w.keys(t, "bot@example.com "+w.key.public), Kinds: []ledger.Kind{ledger.Ordered}}
	read := func() ledger.Said {
		t.Helper()
		said, err := s.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	if said := read(); said.Head.Commit != "" || len(said.Entries) > 0 {
		t.Fatalf("an empty ledger says %+v", said)
	}
	w.append(t, seen("web", "5"), order("f1", "alice", false), order("f2", "bob", false))
	w.append(t, order("f1", "bob", false), decided("web", detect.Revert))
	w.append(t, order("f2", "alice", true))
	if diff := cmp.Diff([]string{"f1 by bob", "f2 by alice, ended"}, orders(t, read())); diff != "" {
		t.Errorf("the newest of each finding (-want +got):\n%s", diff)
	}
	if said := read(); !said.Knows(ledger.SubjectOfEvent(ledger.Ordered, "f1")) || said.Knows(ledger.SubjectOfEvent(ledger.Ordered, "f3")) || !said.Knows(ledger.SubjectOfFinding(detect.Digest("web")[:12])) {
		t.Error("what is known of subjects is wrong")
	}
	w.append(t, order("f3", "alice", false))
	if diff := cmp.Diff([]string{"f1 by bob", "f2 by alice, ended", "f3 by alice"}, orders(t, read())); diff != "" {
		t.Errorf("after a further batch (-want +got):\n%s", diff)
	}
	e, ok, err := s.Newest(t.Context(), ledger.FindingSeen, ledger.SubjectOfFinding(detect.Digest("web")[:12]))
	if err != nil || !ok || e.Name.Sequence != 1 {
		t.Errorf("the finding is %+v, %v, %v", e.Name, ok, err)
	}
	if _, ok, err = s.Newest(t.Context(), ledger.FindingSeen, "finding/none"); ok || err != nil {
		t.Errorf("a finding that nobody saw: %v, %v", ok, err)
	}
}

// TestAStrangersOrderIsNotObeyed pushes a record that another key signed, and one whose content was changed.
func TestAStrangersOrderIsNotObeyed(t *testing.T) {
	for name, change := range map[string]func(*record){
		"signed by another key":  func(r *record) { r.signer = newKey(t).signer },
		"signed for another use": func(r *record) { r.signer = confused{r.signer} },
		"of a number of its own": func(r *record) { r.sequence++ },
		"about something else":   func(r *record) { r.subject = "order/f2" },
		"of a version to come":   func(r *record) { r.predicateType = "urn:holdfast:ledger:order:v2" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.append(t, order("f1", "alice", true))
			r := w.next(t)
			r.kind, r.subject = ledger.Ordered, "order/f1"
			r.content = `{"by":"mallory","disposition":"codify","fields":[{"content":"00","path":"spec.replicas"}],"finding":"f1"}`
			path := r.path()
			change(&r)
			w.forge(t, w.key.signer, w.now, gitops.Edit{Path: path, After: r.edit(t).After})
			s := &ledger.Standing{Ledger: w.ledger(), Keys: w.keys(t, "bot@example.com "+w.key.public), Kinds: []ledger.Kind{ledger.Ordered}}
			said, err := s.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := orders(t, said); len(got) > 0 || len(said.Problems) == 0 {
				t.Errorf("it says %v with the problems %v, want nothing but problems", got, said.Problems)
			}
			if again, err := s.Read(t.Context()); err != nil || len(again.Problems) > 0 {
				t.Errorf("read again: %v, %v, want the problems told once", again.Problems, err)
			}
		})
	}
}
