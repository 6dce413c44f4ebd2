package repo

import (
	"errors"
	"strings"
	"testing"
)

const (
	rawTree   = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
	rawParent = "parent 0123456789abcdef0123456789abcdef01234567\n"
	rawPeople = "author alice <alice@example.com> 1767225600 +0000\ncommitter bob <bob@example.com> 1767225601 -0500\n"
	rawSigned = "gpgsig -----BEGIN SSH SIGNATURE-----\n AAAA\n \n -----END SSH SIGNATURE-----\n"
)

func TestCommitsAreReadByTheirBytes(t *testing.T) {
	raw := rawTree + rawParent + rawParent + rawPeople + "encoding ISO-8859-1\n" + rawSigned + "\nSubject\n\n gpgsig no\n"
	c, err := parseCommit("x", []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(raw, rawSigned, "", 1); string(c.Payload) != want {
		t.Errorf("payload %q, want %q", c.Payload, want)
	}
	if c.Signature != "-----BEGIN SSH SIGNATURE-----\nAAAA\n\n-----END SSH SIGNATURE-----\n" || len(c.Parents) != 2 || c.Author.Name != "alice" || c.Committer.Email != "bob@example.com" || c.When.Unix() != 1767225601 {
		t.Errorf("%+v", c)
	}
	if c.Message != "Subject\n\n gpgsig no\n" || len(c.Odd) != 0 {
		t.Errorf("message %q, odd %q", c.Message, c.Odd)
	}
	merged, err := parseCommit("x", []byte(rawTree+rawPeople+"mergetag object 0123\n type commit\n"+rawSigned+"\nx"))
	if err != nil || len(merged.Odd) != 1 || !strings.Contains(string(merged.Payload), "mergetag object 0123\n type commit\n\n") {
		t.Errorf("%+v, %v", merged, err)
	}
	for name, raw := range map[string]string{
		"nothing":                        "",
		"no message":                     rawTree + rawPeople,
		"no tree":                        rawPeople + "\nx",
		"no committer":                   rawTree + "author alice <alice@example.com> 1 +0000\n\nx",
		"two trees":                      rawTree + rawTree + rawPeople + "\nx",
		"a parent after the author":      rawTree + rawPeople + rawParent + "\nx",
		"two signatures":                 rawTree + rawPeople + rawSigned + rawSigned + "\nx",
		"a committer before the author":  rawTree + "committer bob <b@example.com> 1 +0000\nauthor alice <a@example.com> 1 +0000\n\nx",
		"a tree in capitals":             strings.ToUpper(rawTree[:10]) + rawTree[10:] + rawPeople + "\nx",
		"a parent cut short":             rawTree + "parent 0123\n" + rawPeople + "\nx",
		"a person without an address":    rawTree + "author alice 1 +0000\ncommitter bob <b@example.com> 1 +0000\n\nx",
		"a time that is none":            rawTree + "author alice <a@example.com> now +0000\ncommitter bob <b@example.com> 1 +0000\n\nx",
		"a time before there was any":    rawTree + "author alice <a@example.com> -1 +0000\ncommitter bob <b@example.com> 1 +0000\n\nx",
		"a time that no calendar has":    rawTree + "author alice <a@example.com> 99999999999999999 +0000\ncommitter bob <b@example.com> 1 +0000\n\nx",
		"an address the wrong way round": rawTree + "author alice >a@example.com< 1 +0000\ncommitter bob <b@example.com> 1 +0000\n\nx",
	} {
		if c, err := parseCommit("x", []byte(raw)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func TestTreesAreReadStrictly(t *testing.T) {
	entry := func(mode, name string) string { return mode + " " + name + "\x00" + strings.Repeat("h", 20) }
	good := entry("100644", "a") + entry("40000", "b") + entry("100644", "b.txt") + entry("100644", "c")
	if entries, err := parseTree([]byte(good)); err == nil {
		t.Errorf("b/ sorts behind b.txt: %+v", entries)
	}
	good = entry("100644", "a") + entry("100644", "b.txt") + entry("40000", "b") + entry("100644", "c")
	if entries, err := parseTree([]byte(good)); err != nil || len(entries) != 4 {
		t.Errorf("%+v, %v", entries, err)
	}
	for name, raw := range map[string]string{
		"a name twice": entry("100644", "a") + entry("100644", "a"), "out of order": entry("100644", "b") + entry("100644", "a"),
		"a name that leads out": entry("40000", ".."), "git's own folder": entry("40000", ".GIT"), "a slash": entry("100644", "a/b"), "no name": entry("100644", ""),
		"no mode": entry("", "a"), "a mode of zero": entry("0", "a"), "a mode that is none": entry("rwx", "a"), "cut short": entry("100644", "a")[:20],
	} {
		if entries, err := parseTree([]byte(raw)); err == nil {
			t.Errorf("%s: %+v", name, entries)
		}
	}
}

// FuzzParseCommit: a commit that is taken has a payload without its signature, and git's headers in it.
func FuzzParseCommit(f *testing.F) {
	f.Add([]byte(rawTree + rawParent + rawPeople + rawSigned + "\nx"))
	f.Add([]byte(rawTree + rawPeople + "\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := parseCommit("x", raw)
		if err != nil {
			return
		}
		if c.Signature == "" && string(c.Payload) != string(raw) {
			t.Errorf("%q has the payload %q", raw, c.Payload)
		}
		if again, err := parseCommit("x", c.Payload); err != nil || again.Signature != "" || again.Tree != c.Tree {
			t.Errorf("the payload of %q reads as %+v, %v", raw, again, err)
		}
	})
}

// FuzzParseTree: a tree that is taken has names that stay inside.
func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00hhhhhhhhhhhhhhhhhhhh"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := parseTree(raw)
		if err != nil {
			return
		}
		for _, e := range entries {
			if strings.ContainsAny(e.Name, "/\x00") || e.Name == ".." {
				t.Errorf("name %q", e.Name)
			}
		}
	})
}
