package propose

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"holdfast/bot"
	"holdfast/gitops"
)

// StandingOf compares the tree of a base branch now with what a branch, made of it at parent, changes.
func StandingOf(parent, branch, base gitops.Tree) bot.Standing {
	settled := true
	for _, name := range changedFiles(parent, branch) {
		before, had := parent.File(name)
		after, has := branch.File(name)
		now, there := base.File(name)
		same := func(f gitops.File, exists bool) bool { return there == exists && string(now.Data) == string(f.Data) }
		switch {
		case same(after, has):
		case same(before, had):
			settled = false
		case !there || !had || !has:
			return bot.Overtaken
		default:
			switch standingOfText(before.Data, after.Data, now.Data) {
			case bot.Overtaken:
				return bot.Overtaken
			case bot.Fits:
				settled = false
			}
		}
	}
	if settled {
		return bot.Settled
	}
	return bot.Fits
}

func changedFiles(a, b gitops.Tree) []string {
	var out []string
	for _, name := range a.Paths("") {
		before, _ := a.File(name)
		if after, there := b.File(name); !there || string(after.Data) != string(before.Data) {
			out = append(out, name)
		}
	}
	for _, name := range b.Paths("") {
		if _, there := a.File(name); !there {
			out = append(out, name)
		}
	}
	return out
}

// standingOfText looks for each change, with the lines around it, in a file that went on.
func standingOfText(before, after, now []byte) bot.Standing {
	settled := true
	for _, change := range changesIn(string(diff.Diff("", before, "", after))) {
		was, is := change.sides()
		switch {
		case strings.Contains(string(now), was):
			settled = false
		case strings.Contains(string(now), is):
		default:
			return bot.Overtaken
		}
	}
	if settled {
		return bot.Settled
	}
	return bot.Fits
}

// hunk is lines of a diff that follow each other.
type hunk []patchLine

func changesIn(patch string) []hunk {
	var out []hunk
	for _, l := range hunks(patch) {
		if n := len(out) - 1; n >= 0 && follows(out[n][len(out[n])-1], l) {
			out[n] = append(out[n], l)
			continue
		}
		out = append(out, hunk{l})
	}
	return out
}

// sides are the text of a hunk before and after.
func (h hunk) sides() (before, after string) {
	for _, l := range h {
		if l.op != '+' {
			before += l.plain()
		}
		if l.op != '-' {
			after += l.plain()
		}
	}
	return before, after
}
