package propose

import (
	"strings"
	"testing"

	"holdfast/bot"
	"holdfast/gitops"
)

func TestHowABranchStandsToABaseThatWentOn(t *testing.T) {
	const file = "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\ng: 1\nh: 1\ni: 1\n"
	tree := func(pairs ...string) gitops.Tree {
		files := map[string]gitops.File{}
		for i := 0; i < len(pairs); i += 2 {
			files[pairs[i]] = gitops.File{Data: []byte(pairs[i+1])}
		}
		return gitops.NewTree(files)
	}
	set := func(text, key, value string) string {
		return strings.Replace(text, key+": 1\n", key+": "+value+"\n", 1)
	}
	parent, branch := tree("x", file), tree("x", set(file, "a", "2"))
	for name, c := range map[string]struct {
		parent, branch, base gitops.Tree
		want                 bot.Standing
	}{
		"the base is where it was":                   {parent, branch, parent, bot.Fits},
		"the base has it, byte for byte":             {parent, branch, branch, bot.Settled},
		"the base has it, and more":                  {parent, branch, tree("x", set(set(file, "a", "2"), "i", "9")), bot.Settled},
		"the base went on elsewhere in the file":     {parent, branch, tree("x", set(file, "i", "9")), bot.Fits},
		"the base went on in another file":           {parent, branch, tree("x", file, "y", "1\n"), bot.Fits},
		"the base has a third value":                 {parent, branch, tree("x", set(file, "a", "3")), bot.Overtaken},
		"the file is gone":                           {parent, branch, tree("y", file), bot.Overtaken},
		"a new file that the base has":               {parent, tree("x", file, "n", "1\n"), tree("x", file, "n", "1\n"), bot.Settled},
		"a new file in whose place another one lies": {parent, tree("x", file, "n", "1\n"), tree("x", file, "n", "2\n"), bot.Overtaken},
		"a removed file that the base removed, too":  {tree("x", file, "n", "1\n"), parent, parent, bot.Settled},
		"a removed file that the base changed":       {tree("x", file, "n", "1\n"), parent, tree("x", file, "n", "2\n"), bot.Overtaken},
		"the last line, without an end":              {tree("x", "a: 1"), tree("x", "a: 2"), tree("x", "a: 2\nb: 1\n"), bot.Settled},
		"one of two changes is there":                {parent, tree("x", set(set(file, "a", "2"), "i", "2")), tree("x", set(file, "a", "2")), bot.Fits},
	} {
		t.Run(name, func(t *testing.T) {
			if got := StandingOf(c.parent, c.branch, c.base); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
