package steer

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"holdfast/bot/ledger"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
)

// Kinds are the records that tell what stands.
func Kinds() []ledger.Kind { return []ledger.Kind{ledger.Ordered, ledger.Excepted} }

// Standing is what people asked for and nobody took back, by finding.
type Standing struct {
	Orders     map[string]ledger.Order
	Exceptions map[string]ledger.Exception
}

// StandingOf reads what a ledger says about one repository.
func StandingOf(said ledger.Said, repository string) Standing {
	out := Standing{Orders: map[string]ledger.Order{}, Exceptions: map[string]ledger.Exception{}}
	for _, e := range said.Entries {
		content := ledger.ContentOf(e.Name.Kind)
		if content == nil || json.Unmarshal(e.Statement.Predicate.Content, content) != nil {
			continue // of what does not read as it should nothing follows
		}
		switch c := content.(type) {
		case *ledger.Order:
			if c.Thread != nil && gitops.SameRepository(c.Thread.Repository, repository) {
				out.put(*c)
			}
		case *ledger.Exception:
			if c.Thread != nil && gitops.SameRepository(c.Thread.Repository, repository) {
				out.except(*c)
			}
		}
	}
	return out
}

func (s *Standing) put(o ledger.Order) {
	if delete(s.Orders, o.Finding); !o.Ended {
		s.Orders[o.Finding] = o
	}
}

func (s *Standing) except(e ledger.Exception) {
	if delete(s.Exceptions, e.Finding); !e.Ended {
		s.Exceptions[e.Finding] = e
	}
}

// take adds records that are about to be written.
func (s *Standing) take(records []ledger.Record) {
	for _, r := range records {
		switch c := r.Content.(type) {
		case ledger.Order:
			s.put(c)
		case ledger.Exception:
			s.except(c)
		}
	}
}

// endException gives the record that ends the exception of a finding; none where none stands.
func (s *Standing) endException(finding, by, comment string) []ledger.Record {
	e, ok := s.Exceptions[finding]
	if !ok {
		return nil
	}
	e.Ended, e.By, e.Comment = true, by, comment
	return []ledger.Record{{Kind: ledger.Excepted, Subject: ledger.SubjectOfEvent(ledger.Excepted, finding), Content: e}}
}

// endOrder gives the record that ends the order about a finding; none where none stands.
func (s *Standing) endOrder(finding, by, comment string) []ledger.Record {
	o, ok := s.Orders[finding]
	if !ok {
		return nil
	}
	o.Ended, o.By, o.Comment = true, by, comment
	return []ledger.Record{{Kind: ledger.Ordered, Subject: ledger.SubjectOfEvent(ledger.Ordered, finding), Content: o}}
}

// Commanded gives what stands as policies take it, in an order that is always the same.
func (s Standing) Commanded() []policy.Commanded {
	var out []policy.Commanded
	for _, id := range slices.Sorted(maps.Keys(s.Exceptions)) {
		e := s.Exceptions[id]
		fields := map[string]string{}
		for _, path := range e.Paths {
			fields[path] = ""
		}
		out = append(out, policy.Commanded{Finding: id, Disposition: detect.Ignore, Fields: fields, By: e.By, Until: e.Until})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Orders)) {
		o := s.Orders[id]
		fields := map[string]string{}
		for _, f := range o.Fields {
			fields[f.Path] = f.Content
		}
		out = append(out, policy.Commanded{Finding: id, Disposition: o.Disposition, Fields: fields, By: o.By})
	}
	return out
}

// Over gives the records that say of exceptions whose end has come that they have ended.
func (s Standing) Over(now time.Time) []ledger.Record {
	var out []ledger.Record
	for _, id := range slices.Sorted(maps.Keys(s.Exceptions)) {
		e := s.Exceptions[id]
		if e.Until.After(now) {
			continue
		}
		e.Ended = true
		out = append(out, ledger.Record{Kind: ledger.Excepted, Subject: ledger.SubjectOfEvent(ledger.Excepted, id), Content: e})
	}
	return out
}

// Settled gives the records that say of orders whose drift is gone that they have ended: when somebody makes the same
// change again, it is another drift, and policy's to answer. Gone says so of a finding on a cluster.
func (s Standing) Settled(gone func(cluster, finding string) bool) []ledger.Record {
	var out []ledger.Record
	for _, id := range slices.Sorted(maps.Keys(s.Orders)) {
		o := s.Orders[id]
		if !gone(o.Cluster, id) {
			continue
		}
		o.Ended = true
		out = append(out, ledger.Record{Kind: ledger.Ordered, Subject: ledger.SubjectOfEvent(ledger.Ordered, id), Content: o})
	}
	return out
}
