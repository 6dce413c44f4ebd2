package repo

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RawCommit is a commit object as it is stored: what its signature is about is its very bytes.
type RawCommit struct {
	Hash    string
	Tree    string
	Parents []string
	// Author and Committer, and When the committer says that it was made.
	Author, Committer Person
	When              time.Time
	Message           string
	// Signature is armored; empty for a commit that is not signed. Payload is what it is about.
	Signature string
	Payload   []byte
	// Odd are headers that are not git's usual ones.
	Odd []string
}

// parseCommit reads a commit object. Git's own headers stand once and in git's order; any other, which no program of
// Holdfast's writes, is named in Odd.
func parseCommit(hash string, raw []byte) (RawCommit, error) {
	c := RawCommit{Hash: hash}
	headers, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		return c, fmt.Errorf("commit %s: %w: it has no message", hash, ErrCorrupt)
	}
	c.Message = string(message)
	payload := make([]byte, 0, len(raw))
	order := []string{"tree", "parent", "author", "committer", "encoding", "gpgsig"}
	at := 0 // what comes next of them
	lines := strings.SplitAfter(string(headers)+"\n", "\n")
	for i := 0; i < len(lines) && lines[i] != ""; {
		name, value, _ := strings.Cut(strings.TrimSuffix(lines[i], "\n"), " ")
		text := lines[i]
		for i++; i < len(lines) && strings.HasPrefix(lines[i], " "); i++ {
			value += "\n" + strings.TrimSuffix(lines[i][1:], "\n")
			text += lines[i]
		}
		place := slices.Index(order, name)
		switch {
		case place < 0:
			c.Odd = append(c.Odd, name)
		case place < at:
			return c, fmt.Errorf("commit %s: %w: its header %q is repeated or out of order", hash, ErrCorrupt, name)
		case name == "parent":
			at = place
		default:
			at = place + 1
		}
		if name == "gpgsig" {
			c.Signature = value + "\n"
			continue
		}
		payload = append(payload, text...)
		if err := c.header(name, value); err != nil {
			return c, fmt.Errorf("commit %s: %w: its header %q: %w", hash, ErrCorrupt, name, err)
		}
	}
	if c.Tree == "" || c.When.IsZero() {
		return c, fmt.Errorf("commit %s: %w: it has no tree or no committer", hash, ErrCorrupt)
	}
	c.Payload = append(append(payload, '\n'), message...)
	return c, nil
}

func (c *RawCommit) header(name, value string) (err error) {
	switch name {
	case "tree":
		c.Tree = value
		return checkHex(value)
	case "parent":
		c.Parents = append(c.Parents, value)
		return checkHex(value)
	case "author":
		c.Author, _, err = parsePerson(value)
	case "committer":
		c.Committer, c.When, err = parsePerson(value)
	}
	return err
}

func checkHex(text string) error {
	if data, err := hex.DecodeString(text); err != nil || len(data) != 20 || strings.ToLower(text) != text {
		return fmt.Errorf("%q is no SHA-1 in hex", text)
	}
	return nil
}

// parsePerson reads "Name <e-mail> seconds zone".
func parsePerson(text string) (Person, time.Time, error) {
	open, end := strings.LastIndex(text, "<"), strings.LastIndex(text, ">")
	if open < 0 || end < open {
		return Person{}, time.Time{}, fmt.Errorf("no e-mail address in angle brackets")
	}
	p := Person{Name: strings.TrimSpace(text[:open]), Email: text[open+1 : end]}
	seconds, _, _ := strings.Cut(strings.TrimPrefix(text[end+1:], " "), " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return p, time.Time{}, fmt.Errorf("%q is no time in seconds", seconds)
	}
	return p, time.Unix(n, 0).UTC(), nil
}
