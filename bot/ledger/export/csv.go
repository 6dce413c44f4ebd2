// Package export writes the trail of a ledger in forms that other tools read: CSV, and OSCAL assessment results.
package export

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"holdfast/bot/ledger"
)

// CSV writes one line a record. Close ends it.
type CSV struct {
	writer *csv.Writer
	err    error
}

// NewCSV writes the head line.
func NewCSV(w io.Writer) *CSV {
	c := &CSV{writer: csv.NewWriter(w)}
	c.write([]string{
		"sequence", "time", "kind", "subject", "cluster", "application", "object", "cause", "risk", "disposition",
		"who", "outcome", "thread", "summary", "batch", "signer", "file", "content",
	})
	return c
}

// Add writes a record.
func (c *CSV) Add(e ledger.Entry) {
	p := e.Statement.Predicate
	s := summarize(e)
	c.write([]string{
		strconv.FormatInt(p.Sequence, 10), p.Time.UTC().Format(time.RFC3339), string(e.Name.Kind), p.Subject,
		s.cluster, s.application, s.object, s.cause, s.risk, s.disposition, s.who, s.outcome, s.thread, s.text,
		e.Commit, e.Signer.String(), e.Path, string(p.Content),
	})
}

// Close gives the first error.
func (c *CSV) Close() error {
	c.writer.Flush()
	if c.err == nil {
		c.err = c.writer.Error()
	}
	return c.err
}

func (c *CSV) write(cells []string) {
	for i := range cells {
		cells[i] = harmless(cells[i])
	}
	if err := c.writer.Write(cells); err != nil && c.err == nil {
		c.err = err
	}
}

// harmless keeps a spreadsheet from taking a text for a formula (OWASP, CSV injection): an apostrophe in front makes
// it a text. Line breaks and other control characters become blanks, so that a record stays one line.
func harmless(cell string) string {
	cell = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(cell, "\uFFFD"))
	if trimmed := strings.TrimLeft(cell, " \u00a0"); trimmed != "" && strings.ContainsRune("=+-@|%\uff1d\uff0b\uff0d\uff20", []rune(trimmed)[0]) {
		return "'" + cell
	}
	return cell
}

// summary is what a record says, in the columns that all kinds share.
type summary struct {
	cluster, application, object, cause, risk, disposition, who, outcome, thread, text string
}

// summarize reads a record's content. Of a kind that is not known only the content itself is told.
func summarize(e ledger.Entry) summary {
	content := ledger.ContentOf(e.Name.Kind)
	if content == nil || json.Unmarshal(e.Statement.Predicate.Content, content) != nil {
		return summary{text: "a record of type " + e.Statement.PredicateType}
	}
	switch c := content.(type) {
	case *ledger.Finding:
		s := summary{
			cluster: c.Cluster, application: c.Application, object: objectOf(c), cause: string(c.Cause), risk: c.Risk,
			text: fmt.Sprintf("%s drifted: %s", objectOf(c), c.Reason),
		}
		if c.Writer != nil {
			s.who = strings.TrimSpace(fmt.Sprintf("%s (%s)", c.Writer.Name(), c.Writer.Confidence))
		}
		return s
	case *ledger.Decision:
		return summary{disposition: string(c.Disposition), outcome: c.Rule, text: fmt.Sprintf("policy %s decided %s", c.Policy.Name, c.Disposition)}
	case *ledger.Proposal:
		return summary{disposition: string(c.Disposition), risk: c.Risk, thread: threadOf(c.Thread), text: c.Title}
	case *ledger.Command:
		return summary{who: c.By, outcome: c.Outcome, thread: threadOf(c.Thread), text: strings.TrimSpace(c.Text + " " + c.Reason)}
	case *ledger.Approval:
		outcome := "approved"
		if c.Rejected {
			outcome = "changes requested"
		}
		return summary{who: c.By, outcome: outcome, thread: threadOf(c.Thread), text: strings.TrimSpace(outcome + " " + c.Commit + " " + c.Reason)}
	case *ledger.Order:
		outcome := "asked for"
		if c.Ended {
			outcome = "ended"
		}
		return summary{cluster: c.Cluster, object: c.Object, disposition: string(c.Disposition), who: c.By, outcome: outcome, thread: threadOf(value(c.Thread)), text: fmt.Sprintf("%s asked to %s", c.By, c.Disposition)}
	case *ledger.Exception:
		outcome := "until " + c.Until.UTC().Format(time.RFC3339)
		if c.Ended {
			outcome = "ended"
		}
		return summary{cluster: c.Cluster, object: c.Object, who: c.By, outcome: outcome, text: c.Reason}
	case *ledger.Merge:
		return summary{who: c.By, outcome: "merged", thread: threadOf(c.Thread), text: strings.TrimSpace("merged " + c.Commit)}
	case *ledger.Healing:
		return summary{outcome: "corrected by the engine", thread: threadOf(value(c.Thread)), text: c.Reason}
	case *ledger.Convergence:
		return summary{outcome: "converged", thread: threadOf(value(c.Thread)), text: c.Reason}
	case *ledger.Closing:
		return summary{who: c.By, outcome: "closed", thread: threadOf(c.Thread), text: c.Reason}
	}
	return summary{}
}

func objectOf(f *ledger.Finding) string { return f.Object.ID().String() }

func threadOf(t ledger.Thread) string {
	if t.URL != "" || t.Key == "" {
		return t.URL
	}
	return fmt.Sprintf("%s %s %d", t.Repository, t.Kind, t.Number)
}

func value(t *ledger.Thread) ledger.Thread {
	if t == nil {
		return ledger.Thread{}
	}
	return *t
}
