package codify

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

// Bytes that a txtar archive cannot hold: a change of one field of a plain manifest, and the exact file after it.
func TestManifestsKeepTheirBytes(t *testing.T) {
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	tests := []struct {
		name, file, before, path string
		after                    any
		want, refused            string
	}{
		{name: "CRLF stays, also in an added line", before: crlf(head + "data:\n    a: '1' # one\n"), path: "data.b", after: "2",
			want: crlf(head + "data:\n    a: '1' # one\n    b: '2'\n")},
		{name: "a byte order mark stays", before: "\ufeff" + head + "data:\n  a: x\n", path: "data.a", after: "z",
			want: "\ufeff" + head + "data:\n  a: z\n"},
		{name: "a missing final newline stays missing", before: head + "data:\n  a: x", path: "data.a", after: "z",
			want: head + "data:\n  a: z"},
		{name: "an added last line leaves the final newline missing", before: head + "data:\n  a: x", path: "data.b", after: "y",
			want: head + "data:\n  a: x\n  b: \"y\""},
		{name: "tabs in comments and blanks at line ends stay", before: head + "data: \t# all\tof it  \n  a: x  \t# one\t\n\n  b: y   \n", path: "data.a", after: "z",
			want: head + "data: \t# all\tof it  \n  a: z  \t# one\t\n\n  b: y   \n"},
		{name: "blank lines that hold blanks stay", before: head + "data:\n  a: x\n   \n  b: y\n", path: "data.b", after: "z",
			want: head + "data:\n  a: x\n   \n  b: z\n"},
		{name: "a long line beside the change stays on one line", before: head + "data:\n  a: \"" + strings.Repeat("word ", 60) + "\"\n  b: y\n", path: "data.b", after: "z",
			want: head + "data:\n  a: \"" + strings.Repeat("word ", 60) + "\"\n  b: z\n"},
		{name: "escapes beside the change stay", before: head + "data:\n  a: \"\\u00e4\\x41 \\t\"\n  b: y\n", path: "data.b", after: "ä",
			want: head + "data:\n  a: \"\\u00e4\\x41 \\t\"\n  b: ä\n"},
		{name: "a JSON manifest with a byte order mark stays JSON", file: "c.json", before: "\ufeff{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"x\"}}", path: "data.b", after: "y",
			want: "\ufeff{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"x\",\"b\":\"y\"}}"},
		{name: "a JSON manifest keeps its tabs", file: "c.json", before: "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"c\"},\n\t\"data\": {\n\t\t\"a\": \"x\"\n\t}\n}\n", path: "data.b", after: "y",
			want: "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"c\"},\n\t\"data\": {\n\t\t\"a\": \"x\",\n\t\t\"b\": \"y\"\n\t}\n}\n"},
		{name: "a text with carriage returns is written with escapes", before: head + "data:\n  a: x\n", path: "data.a", after: "one\r\ntwo\r\n",
			want: head + "data:\n  a: \"one\\r\\ntwo\\r\\n\"\n"},
		{name: "what YAML 1.1 reads as something else is quoted", before: head + "data:\n  a: x\n", path: "data.a", after: "0x1F",
			want: head + "data:\n  a: \"0x1F\"\n"},
		{name: "a file whose lines end in carriage returns alone is refused by name and line", before: strings.ReplaceAll(head+"data: {a: x}\n", "\n", "\r"), path: "data.a", after: "y",
			refused: "a/c.yaml: form not supported: line 1 ends in a carriage return alone"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := "a/c.yaml"
			if test.file != "" {
				file = "a/" + test.file
			}
			tree := gitops.NewTree(map[string]gitops.File{file: {Data: []byte(test.before)}})
			app := gitops.Application{Name: "a", Source: gitops.Source{Path: "a"}}
			result, err := renderTree(t.Context(), tree, app)
			if err != nil || len(result.Objects) != 1 {
				t.Fatalf("%v %v", result, err)
			}
			path, err := gitops.ParsePath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			declared := result.Objects[0]
			wish := Wish{App: app, Declared: declared, FindingID: "f", Changes: []gitops.FieldChange{
				{Path: path, Before: gitops.Lookup(declared.Content, path), After: gitops.Present(test.after)},
			}}
			answer, err := Propose(t.Context(), Request{Tree: tree, Wishes: []Wish{wish}, Fleet: []gitops.Application{app}, Render: renderTree, Schemas: schemas})
			if err != nil {
				t.Fatal(err)
			}
			if test.refused != "" {
				if len(answer.Failed) != 1 || !strings.Contains(answer.Failed[0].NearestMiss, test.refused) {
					t.Fatalf("got %+v, want it refused: %s", answer.Failed, test.refused)
				}
				return
			}
			if len(answer.Edits) != 1 {
				t.Fatalf("%d edits: %+v", len(answer.Edits), answer.Failed)
			}
			if diff := cmp.Diff(test.want, string(answer.Edits[0].After)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
