package propose

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"holdfast/bot"
	"holdfast/gitops"
)

// Combined gives the files of all pull requests as one change of each file, sorted by path. They are of one repository
// and rest on the same commit. Two that change the same lines in other ways are an error.
func Combined(proposals []bot.Proposal) ([]bot.FileChange, error) {
	made := map[string]bot.Proposal{}
	var out []bot.FileChange
	for _, p := range proposals {
		for _, f := range p.Files {
			if f.Hidden {
				return nil, fmt.Errorf("%s: the change of %q stands beside a Secret's value, which a patch would have to show: let a pull request make it, or choose other findings by --finding ID", f.Path, p.Title)
			}
			i := slices.IndexFunc(out, func(o bot.FileChange) bool { return o.Path == f.Path })
			if i < 0 {
				out, made[f.Path] = append(out, f), p
				continue
			}
			edit, ok := combined(out[i].Edit, f.Edit)
			if !ok {
				return nil, fmt.Errorf("%s: %q and %q change the same lines of it: choose one by --finding ID", f.Path, made[f.Path].Title, p.Title)
			}
			both, err := fileChange(edit)
			if err != nil {
				return nil, err
			}
			out[i] = both
		}
	}
	slices.SortFunc(out, func(a, b bot.FileChange) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// combined makes one edit of two that were made of the same file.
func combined(a, b gitops.Edit) (gitops.Edit, bool) {
	switch {
	case a.Remove == b.Remove && bytes.Equal(a.After, b.After):
		return a, true
	case a.Remove || b.Remove || a.Before == nil || !bytes.Equal(a.Before, b.Before):
		return a, false
	}
	all := append(replacements(a), replacements(b)...)
	slices.SortStableFunc(all, func(x, y replacement) int { return x.from - y.from })
	lines := strings.SplitAfter(string(a.Before), "\n")
	var out strings.Builder
	at, last := 0, replacement{from: -1, to: -1}
	for _, r := range all {
		if r == last {
			continue // both want it
		}
		if r.from <= last.to && last.to >= 0 {
			return a, false // also where they only touch: whose lines come first is not known
		}
		out.WriteString(strings.Join(lines[at:r.from], ""))
		out.WriteString(r.text)
		at, last = r.to, r
	}
	out.WriteString(strings.Join(lines[at:], ""))
	a.After = []byte(out.String())
	return a, true
}

// replacement puts text in the place of the lines from (counted from 0) up to to.
type replacement struct {
	from, to int
	text     string
}

func replacements(e gitops.Edit) []replacement {
	var out []replacement
	inside := false
	for _, l := range hunks(string(diff.Diff("", e.Before, "", e.After))) {
		if l.op == ' ' {
			inside = false
			continue
		}
		if !inside {
			at := max(0, l.before-1) // a diff counts an empty file from 0
			out = append(out, replacement{from: at, to: at})
			inside = true
		}
		r := &out[len(out)-1]
		if l.op == '-' {
			r.to = l.before
			continue
		}
		r.text += l.plain()
	}
	return out
}
