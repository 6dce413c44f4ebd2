package splice

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/gitops"
)

var update = flag.Bool("update", false, "rewrite the after files of testdata")

// TestScenarios runs testdata/*.txtar: the comment of each archive holds commands, one a line (set DOC PATH
// JSON | insert DOC PATH INDEX JSON | remove DOC PATH | remove-document DOC | error NAME); files are before
// and after.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			for i := 0; i+1 < len(archive.Files); i += 2 {
				before, after := &archive.Files[i], &archive.Files[i+1]
				name, commands, _ := strings.Cut(before.Name, ": ")
				t.Run(name, func(t *testing.T) {
					got := run(t, before.Data, strings.Split(commands, " ;; "))
					if *update {
						after.Data = got
						return
					}
					if diff := cmp.Diff(string(after.Data), string(got)); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func run(t *testing.T, data []byte, commands []string) []byte {
	t.Helper()
	for _, line := range commands {
		next, err := command(t, data, line)
		if err != nil {
			return []byte("error: " + err.Error() + "\n")
		}
		data = next
	}
	return data
}

func command(t *testing.T, data []byte, line string) ([]byte, error) {
	t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	number, rest, _ := strings.Cut(rest, " ")
	doc, err := strconv.Atoi(number)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	where, rest, _ := strings.Cut(rest, " ")
	path, err := gitops.ParsePath(where)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	switch verb {
	case "set":
		return Set(data, doc, path, value(t, rest))
	case "insert":
		index, rest, _ := strings.Cut(rest, " ")
		i, err := strconv.Atoi(index)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return Insert(data, doc, path, i, value(t, rest))
	case "remove":
		return Remove(data, doc, path)
	case "remove-document":
		return RemoveDocument(data, doc)
	}
	t.Fatalf("unknown command %q", line)
	return nil, nil
}

func value(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// Line endings and marks that txtar cannot hold.
func TestBytesThatDoNotShow(t *testing.T) {
	path := func(s string) gitops.Path {
		p, err := gitops.ParsePath(s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	tests := []struct {
		name, before, after string
		edit                func([]byte) ([]byte, error)
	}{
		{"CRLF, a byte order mark and no final newline stay", "\xef\xbb\xbf# tähti\r\na:\r\n  b: \"ä ☀\"  # ☾\r\n  c: '7'", "\xef\xbb\xbf# tähti\r\na:\r\n  b: \"ö ☾\"  # ☾\r\n  c: '7'",
			func(d []byte) ([]byte, error) { return Set(d, 0, path("a.b"), "ö ☾") }},
		{"a key on the first line behind a byte order mark", "\xef\xbb\xbfa: 1\nb: 2\n", "\xef\xbb\xbfa: 3\nb: 2\n",
			func(d []byte) ([]byte, error) { return Set(d, 0, path("a"), 3) }},
		{"an added key takes CRLF", "a:\r\n  b: 1\r\n", "a:\r\n  b: 1\r\n  c: x\r\n",
			func(d []byte) ([]byte, error) { return Set(d, 0, path("a.c"), "x") }},
		{"an added key behind the last line leaves the final newline missing", "a:\n  b: 1", "a:\n  b: 1\n  c: x",
			func(d []byte) ([]byte, error) { return Set(d, 0, path("a.c"), "x") }},
		{"a removed last line leaves the final newline missing", "a:\r\n  b: 1\r\n  c: 2", "a:\r\n  b: 1",
			func(d []byte) ([]byte, error) { return Remove(d, 0, path("a.c")) }},
		{"an added key takes the line ending of its neighbour in a mixed file", "a: 1\nb:\r\n  c: 1\r\nd: 2\n", "a: 1\nb:\r\n  c: 1\r\n  e: 2\r\nd: 2\n",
			func(d []byte) ([]byte, error) { return Set(d, 0, path("b.e"), 2) }},
		{"trailing blanks and tabs in comments stay", "a: 1  \t# t\tab  \nb: 2  \n", "a: 5  \t# t\tab  \nb: 2  \n",
			func(d []byte) ([]byte, error) { return Set(d, 0, path("a"), 5) }},
		{"a literal block with CRLF", "t: |\r\n  one\r\n  two\r\nz: 1\r\n", "t: |\r\n  one\r\n  2\r\nz: 1\r\n",
			func(d []byte) ([]byte, error) { return Set(d, 0, path("t"), "one\n2\n") }},
		{"a removed first document", "a: 1\n---\nb: 1\n", "b: 1\n",
			func(d []byte) ([]byte, error) { return RemoveDocument(d, 0) }},
		{"a line separator in a comment counts as a line for the parser", "# a\u2028# b\nk: 1\n", "# a\u2028# b\nk: 2\n",
			func(d []byte) ([]byte, error) { return Set(d, 0, path("k"), 2) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.edit([]byte(test.before))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name, text string
		path       gitops.Path
		want       error
	}{
		{"a carriage return alone", "a: 1\rb: 2\n", gitops.Path{gitops.Field("a")}, ErrUnsupported},
		{"broken YAML", "a: [1\nb: 2\n", gitops.Path{gitops.Field("a")}, ErrSyntax},
		{"a repeated key", "a: 1\na: 2\n", gitops.Path{gitops.Field("a")}, ErrUnsupported},
		{"no UTF-8", "a: \xff\n", gitops.Path{gitops.Field("a")}, ErrSyntax},
		{"another kind of parent", "a: [1]\n", gitops.Path{gitops.Field("a"), gitops.Field("b")}, ErrUnsupported},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Set([]byte(test.text), 0, test.path, "new"); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
