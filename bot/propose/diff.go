package propose

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"holdfast/bot"
	"holdfast/gitops"
)

// fileChange adds the unified diff that git apply takes.
func fileChange(e gitops.Edit) (bot.FileChange, error) {
	before, after := quoted("a/"+e.Path), quoted("b/"+e.Path)
	if e.Before == nil {
		before = "/dev/null"
	}
	if e.Remove {
		after = "/dev/null"
	}
	text := string(diff.Diff(before, e.Before, after, e.After))
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, "diff ") {
		text = rest
	}
	shown := withoutSecrets(text, e.Before)
	hidden := shown != text && !anchored(shown, e.Before)
	text = shown
	header := fmt.Sprintf("diff --git %s %s\n", quoted("a/"+e.Path), quoted("b/"+e.Path))
	switch {
	case e.Before == nil:
		header += "new file mode 100644\n"
	case e.Remove:
		header += "deleted file mode 100644\n"
	}
	return bot.FileChange{Edit: e, Diff: header + text, Hidden: hidden}, nil
}

// anchored says whether git apply finds the place of every hunk: one without lines behind its change is looked for at
// the end of the file alone (git's apply.c, match_end).
func anchored(patch string, before []byte) bool {
	last := strings.Count(string(before), "\n")
	if len(before) > 0 && before[len(before)-1] != '\n' {
		last++
	}
	for _, h := range changesIn(patch) {
		end := h[len(h)-1]
		line := end.before
		if end.op == '+' {
			line--
		}
		if end.op != ' ' && line < last {
			return false
		}
	}
	return true
}

// quoted gives a file's name as git prints it in a patch: in quotes, with C's escapes, where it holds
// quotes, backslashes or control characters.
func quoted(name string) string {
	special := func(c byte) bool { return c < ' ' || c == 0x7f || c == '"' || c == '\\' }
	var out strings.Builder
	found := false
	for i := range len(name) {
		c := name[i]
		switch short := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); {
		case short >= 0:
			out.WriteString(`\` + string(`abtnvfr"\`[short]))
		case special(c):
			fmt.Fprintf(&out, `\%03o`, c)
		default:
			out.WriteByte(c)
		}
		found = found || special(c)
	}
	if !found {
		return name
	}
	return `"` + out.String() + `"`
}
