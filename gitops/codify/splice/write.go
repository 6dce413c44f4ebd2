package splice

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Document writes value as one YAML document in style, ending in a line break.
func Document(value any, style Style) []byte {
	w := writer{style: style, noBlocks: style.Quoted}
	value = normal(value)
	lines := w.block(value, 0)
	if lines == nil {
		lines = []string{w.inline(value, false)}
	}
	return []byte(strings.Join(lines, style.eol()) + style.eol())
}

// writer turns new values into text.
type writer struct {
	style Style
	json  bool
	// spaced puts blanks inside the braces of flow mappings.
	spaced bool
	// quoteAll quotes every string value but names, since the neighbours do.
	quoteAll bool
	// noBlocks writes texts of several lines in quotes: at the end of a text without a final line break
	// a literal block would lose its own.
	noBlocks bool
}

// under gives the writer for the value of key.
func (w writer) under(key string) writer {
	if key == "name" {
		w.quoteAll = false
	}
	return w
}

// block gives value as lines of block style at indent, nil when it goes on one line (see inline).
func (w writer) block(value any, indent int) []string {
	pad := strings.Repeat(" ", indent)
	switch v := value.(type) {
	case map[string]any:
		var out []string
		for _, k := range sortedKeys(v) {
			out = append(out, w.under(k).entry(pad+w.key(k, false)+":", v[k], indent)...)
		}
		return out
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, w.item(e, indent)...)
		}
		return out
	}
	return nil
}

// entry gives the lines of a key (written in head, at column indent) and its value.
func (w writer) entry(head string, value any, indent int) []string {
	if s, ok := value.(string); ok && w.literalFits(s) {
		return w.literal(head, s, indent, w.style.Indent)
	}
	deeper := indent + w.style.Indent
	if _, ok := value.([]any); ok {
		deeper = indent + w.style.ListIndent
	}
	lines := w.block(value, deeper)
	if lines == nil {
		return []string{head + " " + w.inline(value, false)}
	}
	return append([]string{head}, lines...)
}

// item gives the lines of a list entry whose dash stands at column indent.
func (w writer) item(value any, indent int) []string {
	dash := strings.Repeat(" ", indent) + "-" + strings.Repeat(" ", w.style.Gap-1)
	if s, ok := value.(string); ok && w.literalFits(s) {
		return w.literal(strings.TrimRight(dash, " "), s, indent, w.style.Gap)
	}
	lines := w.block(value, indent+w.style.Gap)
	if lines == nil {
		return []string{dash + w.inline(value, false)}
	}
	lines[0] = dash + lines[0][indent+w.style.Gap:]
	return lines
}

// literal gives a string of several lines as a literal block behind head, deeper columns to the right of indent.
func (w writer) literal(head, s string, indent, deeper int) []string {
	marks := "-"
	if strings.HasSuffix(s, "\n") {
		marks, s = "", strings.TrimSuffix(s, "\n")
	}
	if strings.HasPrefix(strings.TrimLeft(s, "\n"), " ") {
		marks = strconv.Itoa(deeper) + marks
	}
	out := []string{head + " |" + marks}
	for _, line := range strings.Split(s, "\n") {
		if line != "" {
			line = strings.Repeat(" ", indent+deeper) + line
		}
		out = append(out, line)
	}
	return out
}

func (w writer) literalFits(s string) bool { return !w.noBlocks && literal(s) }

// literal says whether s reads best, and safely, as a literal block.
func literal(s string) bool {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") {
		return false
	}
	if strings.Trim(body, " \t\n") == "" || strings.ContainsAny(body[:1], "\t\n") {
		return false
	}
	for _, line := range strings.Split(body, "\n") {
		for _, r := range line {
			if r != '\t' && !printable(r) {
				return false
			}
		}
	}
	return true
}

// inline gives value on one line. flow says that it stands inside brackets already.
func (w writer) inline(value any, flow bool) string {
	if w.json {
		return jsonText(value)
	}
	switch v := value.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range sortedKeys(v) {
			parts = append(parts, w.key(k, true)+": "+w.under(k).inline(v[k], true))
		}
		if len(parts) == 0 {
			return "{}"
		}
		if w.spaced {
			return "{ " + strings.Join(parts, ", ") + " }"
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, 0, len(v))
		for _, e := range v {
			parts = append(parts, w.inline(e, true))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		if w.quoteAll || needsQuotes(v, flow) {
			return writeString(v, w.style.wish(), flow)
		}
		return v
	case nil:
		return "null"
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return writeNumber(value, "")
}

// key gives a mapping key.
func (w writer) key(k string, flow bool) string {
	if w.json {
		return jsonText(k)
	}
	if needsQuotes(k, flow) {
		return writeString(k, w.style.wish(), flow)
	}
	return k
}

// indented gives JSON over several lines, the first without indentation.
func indented(value any, prefix, unit string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, unit)
	if err := e.Encode(value); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
