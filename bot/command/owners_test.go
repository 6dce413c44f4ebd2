package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/bot"
)

func TestOwners(t *testing.T) {
	type paths map[string]string // to owners; several lists are told apart by /
	for _, c := range []struct {
		name    string
		dialect Dialect
		content string
		want    paths
	}{
		{"github: the last that matches decides", GitHub, "* @all\n*.yaml @yaml\n/apps/shop/ @shop @alice\n", paths{
			"README.md": "all", "x/y/z.yaml": "yaml", "apps/shop/a/b.yaml": "shop alice", "other/apps/shop/b.yaml": "yaml",
		}},
		{"github: comments, also behind, and what is no owner", GitHub, "# text @no\n\n*.go @go # @never\nx word me@example.com\n", paths{"a.go": "go", "x": "me@example.com", "y": ""}},
		{"github: no owners takes them away", GitHub, "/apps/ @apps\n/apps/github\n", paths{"apps/x": "apps", "apps/github/x": "", "apps/github": ""}},
		{"github: a folder anywhere", GitHub, "logs/ @logs\n", paths{"logs/x": "logs", "a/logs/b/x": "logs", "logs": "", "a/logs": ""}},
		{"github: directly in a folder", GitHub, "docs/* @docs\n", paths{"docs/a.md": "docs", "docs/b/a.md": "", "x/docs/a.md": ""}},
		{"github: directly in the root", GitHub, "/* @root\n", paths{"a": "root", "a/b": ""}},
		{"github: a file or folder by name", GitHub, "web @web\n", paths{"web": "web", "a/web": "web", "a/web/b": "web", "webs": ""}},
		{"github: two stars", GitHub, "**/logs @l\n/a/**/b @ab\n/c/** @c\n", paths{"logs": "l", "x/y/logs/z": "l", "a/b": "ab", "a/x/y/b": "ab", "c/d/e": "c", "x/a/b": ""}},
		{"github: a question mark and what means itself", GitHub, "/a?c.(x) @q\n", paths{"abc.(x)": "q", "a/c.(x)": "", "abcd(x)": ""}},
		{"github: a space in a name", GitHub, `/a\ b/ @s` + "\n", paths{"a b/x": "s", "a": ""}},
		{"github: letters count", GitHub, "/Apps/ @x\n", paths{"apps/y": "", "Apps/y": "x"}},
		{"github: what it does not support is left out", GitHub, "/a @a\n!/a @b\n/[ab] @c\n", paths{"a": "a", "b": ""}},

		{"gitlab: the last of each section decides", GitLab, "* @all\n/apps/ @apps\n[Docs]\n*.md @docs\n[Security] @sec\n/apps/secret/\n", paths{
			"x": "all", "apps/a.md": "apps / docs", "apps/secret/k": "apps / sec", "README.md": "all / docs",
		}},
		{"gitlab: an optional section asks nobody", GitLab, "^[Maybe]\n* @maybe\n[Must][2] @must\n/a\n/b @other\n", paths{"x": "", "a": "must", "b": "other"}},
		{"gitlab: sections of one name are one", GitLab, "[Docs]\n*.md @one\n[X]\n*.txt @x\n[docs] @two\nREADME.md\n", paths{"a.md": "one", "README.md": "two", "a.txt": "x"}},
		{"gitlab: an exclusion takes out of its section for good", GitLab, "* @all\n!*.lock\n*.lock @late\n[B]\n* @b\n", paths{"a.lock": "b", "a": "all / b"}},
		{"gitlab: a name without a slash at its end is a file", GitLab, "docs @d\n/cfg @c\n", paths{"docs": "d", "a/docs": "d", "docs/x": "", "cfg": "c", "cfg/x": ""}},
		{"gitlab: a relative path is found anywhere", GitLab, "a/b/ @ab\ninternal/README.md @r\n", paths{"a/b/c": "ab", "x/a/b/c/d": "ab", "y/internal/README.md": "r"}},
		{"gitlab: directly in a folder, and below", GitLab, "/docs/* @top\n/db/**/index.md @index\n", paths{"docs/a": "top", "docs/b/a": "", "db/index.md": "index", "db/a/b/index.md": "index"}},
		{"gitlab: a name with a hash, a space and a class", GitLab, "\\#a @h\n/b\\ c/ @s\n/[xy].md @xy\n", paths{"#a": "h", "b c/d": "s", "x.md": "xy", "z.md": ""}},
		{"gitlab: words behind that are no owners", GitLab, "/a @a # by @b\n", paths{"a": "a b"}},

		{"gitea: all that match decide together", Gitea, ".*\\\\.go @go\n/apps/.* alice @org/team # text\n", paths{"apps/x.go": "go alice org/team", "x.go": "go", "x": ""}},
		{"gitea: the whole path is meant", Gitea, "apps @a\n", paths{"apps": "a", "apps/x": "", "x/apps": ""}},
		{"gitea: an expression turned round", Gitea, "!docs/.* @code\n", paths{"docs/x": "", "y": "code"}},
		{"gitea: a space in an expression", Gitea, `a\ b/.* @s` + "\n", paths{"a b/x": "s"}},
		{"gitea: a line without owners is left out", Gitea, ".*\n", paths{"x": ""}},
	} {
		o := ParseOwners(c.dialect, c.content)
		for path, want := range c.want {
			var lists []string
			for _, list := range o.Of(path) {
				lists = append(lists, strings.Join(list, " "))
			}
			if got := strings.Join(lists, " / "); got != want {
				t.Errorf("%s: %s is owned by %q, want %q", c.name, path, got, want)
			}
		}
	}
}

func TestOwnersTellWhatIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		dialect             Dialect
		content             string
		unreadable, ignored []int
	}{
		{GitHub, "* @a\n!x @b\n\n[ab] @c\n", nil, []int{2, 4}},
		{GitLab, "/[z-a] @a\n", nil, []int{1}},
		{Gitea, "# x\n(?!a).* @a\n.*\n", []int{2}, []int{3}},
	} {
		o := ParseOwners(c.dialect, c.content)
		if !cmp.Equal(o.Unreadable, c.unreadable) || !cmp.Equal(o.Ignored, c.ignored) {
			t.Errorf("%s: unreadable %v, ignored %v; want %v, %v", c.dialect, o.Unreadable, o.Ignored, c.unreadable, c.ignored)
		}
	}
}

func TestEntitled(t *testing.T) {
	lab := ParseOwners(GitLab, "* @all\n/apps/ @@maintainer\n[Sec]\n/apps/ @sec\n/x @group/sub\n")
	for _, c := range []struct {
		name   string
		person Person
		path   string
		want   bool
	}{
		{"by a role", Person{Login: "x", Role: bot.Keeper, TeamsKnown: true}, "apps/a", true},
		{"by a higher role", Person{Login: "x", Role: bot.Administrator, TeamsKnown: true}, "apps/a", true},
		{"by a lower role", Person{Login: "x", Role: bot.Writer, TeamsKnown: true}, "apps/a", false},
		{"by one section of two", Person{Login: "sec", Role: bot.Writer, TeamsKnown: true}, "apps/a", true},
		{"by a group", Person{Login: "x", Teams: []string{"group/sub"}, TeamsKnown: true}, "x", true},
		{"by nothing", Person{Login: "x", TeamsKnown: true}, "x", false},
		{"without a name", Person{TeamsKnown: true}, "x", false},
	} {
		if got := lab.Entitled(c.person, []string{c.path}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func FuzzOwners(f *testing.F) {
	for _, seed := range []string{"* @a", "/a/**/b @a\n[S][2] @b\n^[T]\n!x", `\#a\ b @@owner`, "[!x]* @a", "(a|b)+ @x", "**"} {
		f.Add(seed, "a/b")
	}
	f.Fuzz(func(t *testing.T, content, path string) {
		for _, d := range []Dialect{GitHub, GitLab, Gitea} {
			o := ParseOwners(d, content)
			for _, list := range o.Of(path) {
				if len(list) == 0 || slices.Contains(list, "") {
					t.Fatalf("%s: %q is owned by %q", d, path, fmt.Sprint(list))
				}
			}
		}
	})
}
