package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Anchor is a batch that was seen somewhere outside of the ledger: a closing comment, a commit of the default
// branch.
type Anchor struct {
	Commit string
	// Time is when it was seen.
	Time  time.Time
	Where string
}

// AnchorText is how a text for people quotes a ledger's head.
func AnchorText(branch string, h Head) string {
	if h.Commit == "" {
		return ""
	}
	return fmt.Sprintf("Ledger: %s at %s", branch, h.Commit)
}

// AnchorTrailer is how a commit's message quotes a ledger's head, on a line of its own.
func AnchorTrailer(h Head) string {
	if h.Commit == "" {
		return ""
	}
	return "Holdfast-Ledger: " + h.Commit + "\n"
}

// ParseAnchors reads a file of anchors: a line each with the commit, the time as RFC 3339 has it, and where it was
// seen. Errors name file and line.
func ParseAnchors(file string, data []byte) ([]Anchor, error) {
	var out []Anchor
	var errs []error
	n := 0
	for line := range bytes.Lines(data) {
		n++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 2 || len(fields[0]) != 40 || strings.Trim(fields[0], "0123456789abcdef") != "" {
			errs = append(errs, fmt.Errorf("%s:%d: want a full commit hash, a time and where it was seen", file, n))
			continue
		}
		at, err := time.Parse(time.RFC3339, fields[1])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %q is no time as RFC 3339 has it (2026-11-30T15:04:05Z)", file, n, fields[1]))
			continue
		}
		out = append(out, Anchor{Commit: fields[0], Time: at, Where: strings.Join(fields[2:], " ")})
	}
	if len(out) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: holds no anchor", file))
	}
	return out, errors.Join(errs...)
}
