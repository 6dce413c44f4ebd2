package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
)

// seeds are the files of all scenarios.
func seeds(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			f.Add(file.Data)
			f.Add(bytes.ReplaceAll(file.Data, []byte("\n"), []byte("\r\n")))
		}
	}
	for _, text := range []string{
		"", "---", "---\n---\n", "...\n", "a: 1\n...\n---\nb: 2\n", "a: 1\n...\nb: 2\n", "%YAML 1.1\n---\na: 1\n",
		"--- {a: 1}\n--- |\n text\n", "\ufeffa: 1\n", "{\"a\":\t1}", "a: &a [*a]\n", "? a\n: b\n", "---\n# only a comment\n",
	} {
		f.Add([]byte(text))
	}
}

// FuzzFile feeds the plain parser. Documents are counted as the YAML parser counts them, wherever the
// parser takes the whole file.
func FuzzFile(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, problems := File("a.yaml", data)
		for _, o := range objects {
			if o.ID.Name == "" || o.ID.Kind == "" || o.Origin.Written != o.ID {
				t.Errorf("object %+v", o)
			}
		}
		for _, p := range problems {
			if p.Line < 0 || p.Line > bytes.Count(data, []byte("\n"))+2 {
				t.Errorf("line %d of %d in %v", p.Line, bytes.Count(data, []byte("\n"))+1, p)
			}
		}
		if !simpleBreaks(data) {
			return
		}
		count, err := parserCount(data)
		if err == nil && count != len(split(data)) {
			t.Errorf("the parser counts %d documents, split %d", count, len(split(data)))
		}
	})
}

// simpleBreaks says whether lines end as people's editors end them; YAML knows more line breaks.
func simpleBreaks(data []byte) bool {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	return !strings.ContainsAny(text, "\r\u0085\u2028\u2029\x00") && !strings.Contains(text[min(3, len(text)):], "\ufeff")
}

func parserCount(data []byte) (int, error) {
	decoder := yamlv3.NewDecoder(bytes.NewReader(data))
	for count := 0; ; count++ {
		var n yamlv3.Node
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			return count, nil
		} else if err != nil {
			return 0, err
		}
	}
}

// FuzzMarks checks that marks change nothing else: with the marks taken out again, a file reads as before.
func FuzzMarks(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if harmless("a.yaml", data) != nil {
			return
		}
		m := newMarks()
		u := &unit{path: "a.yaml"}
		m.expect(u)
		with, err := m.apply("a.yaml", data)
		if err != nil || len(m.given) == 0 {
			return
		}
		before, err := values(data)
		if err != nil {
			return
		}
		after, err := values(with)
		if err != nil {
			t.Fatalf("with marks it cannot be read any more: %v\n%s", err, with)
		}
		taken := 0
		for _, v := range after {
			taken += unmarkValue(v)
		}
		if taken != len(m.given) {
			t.Errorf("%d marks given, %d found\n%s", len(m.given), taken, with)
		}
		if fmt.Sprint(before) != fmt.Sprint(after) && !reflect.DeepEqual(before, after) {
			t.Errorf("before: %v\nafter:  %v\n%s", before, after, with)
		}
	})
}

func values(data []byte) ([]any, error) {
	decoder := yamlv3.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	var out []any
	for {
		var v any
		if err := decoder.Decode(&v); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

// unmarkValue takes the marks out of a value and counts them.
func unmarkValue(v any) int {
	taken := 0
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if m, ok := child.(map[string]any); ok && key == "annotations" {
				if _, there := m[markKey]; there {
					taken++
					delete(m, markKey)
					if len(m) == 0 {
						delete(v, key)
					}
				}
			}
			taken += unmarkValue(child)
		}
	case map[any]any:
		for key, child := range v {
			if m, ok := child.(map[string]any); ok && key == "annotations" && m[markKey] != nil {
				taken++
				delete(m, markKey)
				if len(m) == 0 {
					delete(v, key)
				}
			}
			taken += unmarkValue(child)
		}
	case []any:
		for _, child := range v {
			taken += unmarkValue(child)
		}
	}
	return taken
}
