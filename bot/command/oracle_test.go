package command

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// A whole Markdown parser is the oracle: what spoken lets through must be text of a paragraph or heading that is not
// quoted, and no code, HTML or struck out text.
func FuzzSpoken(f *testing.F) {
	for _, body := range []string{
		"/drift revert", "text\n/drift revert\n\n> quote\n/drift codify", "```\n/drift revert\n```\n/drift codify", "- ```\n  /drift revert\n  ```\n/drift x",
		"- ```\n```\n/drift revert\n```", "1. a\n   ```\n   /drift revert\nx\n   ```\n/drift codify", "text <!--\n```\n-->\n/drift revert\n```",
		"<!--\n/drift revert\n-->\n/drift codify", "`a\n/drift revert\n`", "\\` b `\n/drift revert\n`", "~~a\n/drift revert\n~~", "<pre>\n\n/drift revert\n</pre>",
		"> ```\n/drift revert", "- a\n\n      /drift revert", "~~~\n/drift revert", "a\n===\n/drift revert", "| a |\n|---|\n/drift revert", "[x\n/drift revert\n](y)",
		"\t/drift revert", "a\r/drift revert\r\n/drift codify", "<a\n/drift revert\n>", "*a\n/drift revert*", "[a]: b\n/drift revert",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if strings.ContainsAny(body, "\x00\u2028\u2029\v\f") || strings.Contains(strings.ReplaceAll(body, "\r\n", ""), "\r") {
			t.Skip("line ends that the oracle counts in another way")
		}
		compare(t, body)
	})
}

// Texts of everything that opens and closes something, in any order.
// A single tilde is left out: GitHub strikes out by it too, but it mostly stands for "about".
func TestSpokenAgainstAParser(t *testing.T) {
	parts := []string{
		"/drift revert", "/drift codify", "\n", "\n", "\n", "\n\n", "text", " ", "  ", "    ", "\t", "> ", ">", ">>>", "- ", "1. ", "10) ", "* ", "+ ", "# ",
		"```", "````", "~~~", "~~", "`", "``", "\\", "<!--", "-->", "<!-- x -->", "<pre>", "</pre>", "<b>", "<details>", "<https://a.test>", "<", "===", "---", "| a |", "[x]: /y", "*",
	}
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 0))
		var body strings.Builder
		for range 3 + random.IntN(16) {
			body.WriteString(parts[random.IntN(len(parts))])
		}
		compare(t, body.String())
	}
}

func compare(t *testing.T, body string) {
	t.Helper()
	var starts []int // of lines
	at := 0
	for line := range strings.Lines(body) {
		starts = append(starts, at+len(line)-len(strings.TrimLeft(line, " \t")))
		at += len(line)
	}
	var hidden []stretch
	for number, line := range spoken(body) {
		if _, ok := parseLine(line); !ok {
			continue
		}
		if hidden == nil {
			hidden = notSpoken(body)
		}
		for _, h := range hidden {
			if at := starts[number-1]; h.start <= at && at < h.stop {
				t.Errorf("line %d counts and is %s:\n%q\n%s", number, h.why, body, body)
			}
		}
	}
}

// stretch is a part of a text that its author does not say, and what it is instead.
type stretch struct {
	start, stop int
	why         string
}

// notSpoken gives the parts of a text that are code, HTML, quoted or struck out.
func notSpoken(body string) []stretch {
	source := []byte(body)
	var out []stretch
	// texts adds all that stands below a node.
	texts := func(n ast.Node, why string) {
		_ = ast.Walk(n, func(inner ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			if inner.Type() == ast.TypeBlock {
				for _, s := range inner.Lines().Sliced(0, inner.Lines().Len()) {
					out = append(out, stretch{s.Start, s.Stop, why})
				}
			}
			switch inner := inner.(type) {
			case *ast.Text:
				out = append(out, stretch{inner.Segment.Start, inner.Segment.Stop, why})
			case *ast.RawHTML:
				for _, s := range inner.Segments.Sliced(0, inner.Segments.Len()) {
					out = append(out, stretch{s.Start, s.Stop, why})
				}
			}
			return ast.WalkContinue, nil
		})
	}
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch why := n.Kind(); why {
		case ast.KindFencedCodeBlock, ast.KindCodeBlock, ast.KindHTMLBlock, ast.KindCodeSpan, ast.KindRawHTML, ast.KindBlockquote, extast.KindStrikethrough:
			if entering {
				texts(n, why.String())
			}
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return out
}
