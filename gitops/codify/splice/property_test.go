package splice

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"holdfast/gitops"
)

// awkward are texts that YAML dialects disagree about, or that need care to write.
var awkward = []string{"", "y", "n", "No", "on", "OFF", "true", "null", "~", "1", "1.10", "1e3", "0x1f", "0400", "0o17", "1_000", "+1", ".5", "-.inf",
	"2024-01-31", "12:30", "190:20:30", "a: b", "a #b", "#a", "- a", "-", "? x", ":x", "x:", "&a", "*a", "!a", "|", ">", "'", "\"", "it's", "%a", "@a", "`a",
	"{a}", "[a]", "a,b", "a{b", "=", "<<", "---", "... x", " lead", "trail ", "tab\tin", "\ttab", "line\nbreak", "line\nbreak\n", "two\n\n", "\nfirst", "  deep\nflat\n",
	"ä ☀ 𝛑", "a\u2028b", "a\u0085b", "\ufeffbom", "bell\a", "C:\\dir", "${VAR}", "registry.test/a/b:1.10@sha256:00", "10Gi", "plain text", "a\r\nb",
	"0b11", "0B1", "1E5", "-0x1", "1.", "1,000", ".", "..", "...", "+", "1__0", "0x1p-2", "a\tb: c", "http://x:80/?a=b&c", "a ? b", "::", "a:b", "a::", "x\\n", "\x7f"}

// generator writes random YAML with comments in random styles.
type generator struct {
	*rand.Rand
	b   strings.Builder
	eol string
}

func (g *generator) text(flow bool) string {
	s := awkward[g.IntN(len(awkward))]
	switch g.IntN(4) {
	case 0:
		return writeString(s, single, flow)
	case 1:
		return writeString(s, double, flow)
	case 2:
		return []string{"1", "true", "null", "0400", "1.5", "-7"}[g.IntN(6)]
	}
	return writeString(s, plain, flow)
}

func (g *generator) comment(indent string) {
	if g.IntN(4) == 0 {
		g.b.WriteString(indent + "# über " + fmt.Sprint(g.IntN(100)) + g.eol)
	}
	if g.IntN(8) == 0 {
		g.b.WriteString(g.eol)
	}
}

func (g *generator) tail() string {
	if g.IntN(3) == 0 {
		return "  # ☾ tail" + g.eol
	}
	return g.eol
}

func (g *generator) flow(depth int) string {
	var parts []string
	for i := range g.IntN(3) {
		if depth%2 == 0 {
			parts = append(parts, fmt.Sprintf("k%d: %s", i, g.text(true)))
		} else {
			parts = append(parts, g.text(true))
		}
	}
	if depth%2 == 0 {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (g *generator) value(indent int, inList bool) {
	pad := strings.Repeat(" ", indent)
	switch g.IntN(7) {
	case 0, 1:
		if indent < 10 {
			if inList {
				g.mapping(indent, true)
			} else {
				g.b.WriteString(g.tail())
				g.mapping(indent, false)
			}
			return
		}
	case 2:
		if indent < 10 && !inList {
			g.b.WriteString(g.tail())
			g.list(indent)
			return
		}
	case 3:
		g.b.WriteString(" " + g.flow(g.IntN(2)) + g.tail())
		return
	case 4:
		mark := []string{" |", " |-", " >", " >-", " |+"}[g.IntN(5)]
		g.b.WriteString(mark + g.tail())
		for range g.IntN(3) + 1 {
			g.b.WriteString(pad + []string{"text here", "# no comment", "- a: b", "ä\tö  "}[g.IntN(4)] + g.eol)
			if g.IntN(4) == 0 {
				g.b.WriteString(g.eol)
			}
		}
		return
	}
	g.b.WriteString(" " + g.text(false) + g.tail())
}

func (g *generator) mapping(indent int, afterDash bool) {
	pad := strings.Repeat(" ", indent)
	for i := range g.IntN(4) + 1 {
		if i == 0 && afterDash {
			g.b.WriteString(" ")
		} else {
			g.comment(pad)
			g.b.WriteString(pad)
		}
		g.b.WriteString(fmt.Sprintf("key%d:", i))
		g.value(indent+2, false)
	}
}

func (g *generator) list(indent int) {
	pad := strings.Repeat(" ", indent)
	for range g.IntN(3) + 1 {
		g.comment(pad)
		g.b.WriteString(pad + "-")
		g.value(indent+2, true)
	}
}

func document(seed uint64) []byte {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), eol: "\n"}
	if g.IntN(4) == 0 {
		g.eol = "\r\n"
	}
	if g.IntN(8) == 0 {
		g.b.WriteString("\ufeff")
	}
	for i := range g.IntN(3) + 1 {
		if i > 0 {
			g.b.WriteString("---" + g.eol)
		}
		g.comment("")
		g.mapping(0, false)
	}
	text := g.b.String()
	if g.IntN(4) == 0 {
		text = strings.TrimRight(text, "\r\n")
	}
	return []byte(text)
}

// paths lists all paths of a value.
func paths(v any, at gitops.Path) []gitops.Path {
	out := []gitops.Path{at}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			out = append(out, paths(v[k], at.Child(gitops.Field(k)))...)
		}
	case []any:
		for i, e := range v {
			out = append(out, paths(e, at.Child(gitops.Index(i)))...)
		}
	}
	return out
}

// TestEditsReadAsWanted makes random edits of random texts. Set, Insert and Remove check themselves with
// the YAML 1.2 parser; here the YAML 1.1 parser that Kubernetes clients use must agree, comments must
// survive, and an edit of a scalar must leave all other lines alone.
func TestEditsReadAsWanted(t *testing.T) {
	edits, refused := 0, 0
	for seed := range uint64(800) {
		data := document(seed)
		docs, err := Documents(data)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, data)
		}
		r := rand.New(rand.NewPCG(seed, 11))
		for range 6 {
			doc := r.IntN(len(docs))
			all := paths(docs[doc], nil)
			path := all[r.IntN(len(all))]
			v := any(awkward[r.IntN(len(awkward))])
			switch r.IntN(6) {
			case 0:
				v = []any{int64(8080), true, nil, 1.5, int64(-3)}[r.IntN(5)]
			case 1:
				v = map[string]any{"name": "x", "value": v}
			case 2:
				v = []any{v, "z"}
			}
			var after []byte
			want := gitops.Present(v)
			switch r.IntN(4) {
			case 0:
				if len(path) == 0 {
					continue
				}
				after, err = Remove(data, doc, path)
				want = gitops.Value{}
			case 1:
				path = path.Child(gitops.Field("added"))
				after, err = Set(data, doc, path, v)
			case 2:
				if _, isList := gitops.Lookup(docs[doc], path).V.([]any); !isList {
					continue
				}
				after, err = Insert(data, doc, path, 1, v)
				path = path.Child(gitops.Index(min(1, len(gitops.Lookup(docs[doc], path).V.([]any)))))
			default:
				if len(path) == 0 {
					continue
				}
				after, err = Set(data, doc, path, v)
			}
			if err != nil {
				if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "another kind of value") {
					t.Fatalf("seed %d: %s = %#v: %v\n%s", seed, path, v, err, data)
				}
				refused++
				continue
			}
			edits++
			checkOldReading(t, seed, data, after, doc, path, want)
		}
	}
	if edits < 2000 {
		t.Errorf("only %d edits, %d refused", edits, refused)
	}
}

func checkOldReading(t *testing.T, seed uint64, before, after []byte, doc int, path gitops.Path, want gitops.Value) {
	t.Helper()
	docs := oldReading(t, after)
	got := gitops.Lookup(docs[doc], path)
	if want.Set && !equal(got.V, normal(want.V)) {
		t.Fatalf("seed %d: %s reads as %#v in YAML 1.1, want %#v\n%s\n--- after\n%s", seed, path, got.V, want.V, before, after)
	}
	if bytes.Count(after, []byte("\r\n")) > 0 && bytes.Count(before, []byte("\r\n")) == 0 {
		t.Fatalf("seed %d: new carriage returns\n%q\n%q", seed, before, after)
	}
	if bytes.HasPrefix(before, bom) != bytes.HasPrefix(after, bom) {
		t.Fatalf("seed %d: byte order mark lost", seed)
	}
	if want.Set {
		for _, line := range strings.SplitAfter(string(before), "\n") {
			if strings.HasPrefix(strings.TrimLeft(line, " "), "# über") && !strings.Contains(string(after), line) && !replacedCollection(before, doc, path) {
				t.Fatalf("seed %d: %s: comment line lost: %q\n%s\n--- after\n%s", seed, path, line, before, after)
			}
		}
	}
}

// replacedCollection says that the edit replaced a mapping or list, whose inner comments may go with it.
func replacedCollection(before []byte, doc int, path gitops.Path) bool {
	docs, _ := Documents(before)
	switch gitops.Lookup(docs[doc], path).V.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func oldReading(t *testing.T, data []byte) []any {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(data))
	var out []any
	for {
		var v any
		err := d.Decode(&v)
		if err != nil {
			if err.Error() == "EOF" {
				return out
			}
			t.Fatalf("YAML 1.1: %v\n%s", err, data)
		}
		out = append(out, fromOld(v))
	}
}

func fromOld(v any) any {
	switch v := v.(type) {
	case map[any]any:
		out := map[string]any{}
		for k, e := range v {
			out[fmt.Sprint(k)] = fromOld(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = fromOld(e)
		}
		return out
	}
	return normal(v)
}

func FuzzSet(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(document(seed), uint(seed), "new")
		f.Add(stylish(seed), uint(seed), "a: b\n # c")
	}
	f.Add([]byte("a: &x {b: *y, ? c : d}\n"), uint(1), "- no")
	f.Fuzz(func(t *testing.T, data []byte, pick uint, text string) {
		docs, err := Documents(data)
		if err != nil || len(docs) == 0 {
			return
		}
		doc := int(pick % uint(len(docs)))
		all := paths(docs[doc], nil)
		path := all[int(pick%uint(len(all)))]
		text = strings.ToValidUTF8(text, "")
		for _, edit := range []func() ([]byte, error){
			func() ([]byte, error) { return Set(data, doc, path, text) },
			func() ([]byte, error) { return Set(data, doc, path.Child(gitops.Field("new")), text) },
			func() ([]byte, error) { return Set(data, doc, path, map[string]any{"new": text, "list": []any{text}}) },
			func() ([]byte, error) { return Insert(data, doc, path, int(pick%3), text) },
			func() ([]byte, error) { return Remove(data, doc, path) },
			func() ([]byte, error) { return RemoveDocument(data, doc) },
		} {
			after, err := edit()
			if err != nil {
				continue
			}
			now, err := Documents(after)
			if err != nil {
				t.Fatalf("no YAML any more: %v", err)
			}
			for i := range min(doc, len(now)) {
				if !equal(docs[i], now[i]) {
					t.Errorf("document %d changed", i)
				}
			}
			if bytes.HasPrefix(data, bom) != bytes.HasPrefix(after, bom) || !bytes.Contains(data, []byte("\r\n")) && bytes.Contains(after, []byte("\r\n")) {
				t.Error("a byte order mark or line ends changed")
			}
		}
	})
}
