package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/gitops"
)

// touched is what edits do to the lines of files.
type touched struct {
	// lines counts removed and added lines; a changed one is both, and counts once.
	lines int
	// wrong are what an edit should have left as it was.
	wrong []string
}

// touch compares files before and after, line by line. removal says that something was to go, with its comments.
func touch(tree gitops.Tree, edits []gitops.Edit, removal bool) touched {
	var out touched
	for _, e := range edits {
		now, _ := tree.Read(e.Path)
		if e.Before != nil && !bytes.Equal(now, e.Before) {
			out.wrong = append(out.wrong, e.Path+": the edit does not start from the file as it is")
		}
		before, after := linesOf(e.Before), linesOf(e.After)
		if e.Remove {
			out.lines += len(before)
			continue
		}
		gone, came := changedLines(before, after)
		out.lines += max(len(gone), len(came))
		if e.Before == nil {
			continue
		}
		for _, line := range gone {
			if text := strings.TrimSpace(line); strings.HasPrefix(text, "#") && !removal && !inBlock(before, line) && !slices.ContainsFunc(came, func(l string) bool { return strings.TrimSpace(l) == text }) {
				out.wrong = append(out.wrong, fmt.Sprintf("%s: the comment %q is lost", e.Path, text))
			}
		}
		out.wrong = append(out.wrong, endings(e)...)
	}
	return out
}

// blockHead is the end of a line that begins a block scalar.
var blockHead = regexp.MustCompile(`(^|[\s:-])[|>][-+0-9]*\s*(#.*)?$`)

// inBlock says whether a line stands in a block scalar of a file, where # begins no comment.
func inBlock(lines []string, line string) bool {
	indent := func(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }
	for i, l := range lines {
		if l != line {
			continue
		}
		deep := indent(l)
		for k := i - 1; k >= 0; k-- {
			if strings.TrimSpace(lines[k]) == "" || indent(lines[k]) >= deep {
				continue
			}
			if deep = indent(lines[k]); blockHead.MatchString(strings.TrimRight(lines[k], "\r\n")) {
				return true
			}
		}
	}
	return false
}

// endings says what became of line ends, the byte order mark and the end of the file.
func endings(e gitops.Edit) []string {
	var out []string
	bom := []byte("\xef\xbb\xbf")
	if bytes.HasPrefix(e.Before, bom) != bytes.HasPrefix(e.After, bom) {
		out = append(out, e.Path+": the byte order mark changed")
	}
	if len(e.Before) > 0 && len(e.After) > 0 && bytes.HasSuffix(e.Before, []byte("\n")) != bytes.HasSuffix(e.After, []byte("\n")) {
		out = append(out, e.Path+": the newline at the end changed")
	}
	if crlf := bytes.Count(e.Before, []byte("\r\n")); crlf > 0 && crlf == bytes.Count(e.Before, []byte("\n")) &&
		bytes.Count(e.After, []byte("\r\n")) != bytes.Count(e.After, []byte("\n")) {
		out = append(out, e.Path+": not all lines end in CRLF any more")
	}
	return out
}

func linesOf(data []byte) []string {
	lines := strings.SplitAfter(string(data), "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	return lines
}

// changedLines gives the lines that are in one text only, by a longest common subsequence of what lies between the
// first and the last change.
func changedLines(before, after []string) (gone, came []string) {
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	common := make([][]int, len(before)+1)
	for i := range common {
		common[i] = make([]int, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for k := len(after) - 1; k >= 0; k-- {
			if before[i] == after[k] {
				common[i][k] = common[i+1][k+1] + 1
			} else {
				common[i][k] = max(common[i+1][k], common[i][k+1])
			}
		}
	}
	i, k := 0, 0
	for i < len(before) || k < len(after) {
		switch {
		case i < len(before) && k < len(after) && before[i] == after[k]:
			i, k = i+1, k+1
		case k == len(after) || i < len(before) && common[i+1][k] >= common[i][k+1]:
			gone, i = append(gone, before[i]), i+1
		default:
			came, k = append(came, after[k]), k+1
		}
	}
	return gone, came
}
