package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
)

// items gives the items of a list that does not parse as a whole, as far as they can be told apart, and what is known
// of the list itself. What is behind the end of a file that was cut off is not among them.
func (d document) items() (list map[string]any, items []document) {
	if d.json {
		return d.jsonItems()
	}
	return d.yamlItems()
}

// jsonItems reads items until one breaks.
func (d document) jsonItems() (map[string]any, []document) {
	list, items := map[string]any{"kind": "List"}, []document(nil)
	in := json.NewDecoder(bytes.NewReader(d.data))
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return list, nil
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return list, items
		}
		if name != "items" {
			var value any
			if in.Decode(&value) != nil {
				return list, items
			}
			if text, ok := value.(string); ok && (name == "kind" || name == "apiVersion") {
				list[name.(string)] = text
			}
			continue
		}
		if start, err := in.Token(); err != nil || start != json.Delim('[') {
			return list, items
		}
		for in.More() {
			var raw json.RawMessage
			if in.Decode(&raw) != nil {
				return list, items
			}
			start := int(in.InputOffset()) - len(raw)
			items = append(items, document{data: raw, line: d.first + bytes.Count(d.data[:start], []byte("\n")), json: true})
		}
		if _, err := in.Token(); err != nil {
			return list, items
		}
	}
	return list, items
}

// listField is a line of a list's own.
var listField = regexp.MustCompile(`^(kind|apiVersion): *["']?([^"'\s]+)`)

// yamlItems splits a list at the lines that begin its items, and makes a document of each: whatever an item holds is
// indented further. The last item of a list that breaks off in front of its kind, which kubectl writes last, is not
// whole, though it may parse.
func (d document) yamlItems() (map[string]any, []document) {
	list := map[string]any{}
	var items []document
	inside, indent, at := false, -1, 0
	for n := 0; at < len(d.data); n++ {
		end := len(d.data)
		if i := bytes.IndexByte(d.data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := d.data[at:end]
		text := bytes.TrimLeft(line, " ")
		depth := len(line) - len(text)
		begins := bytes.HasPrefix(text, []byte("- "))
		blank := len(bytes.TrimSpace(text)) == 0 || text[0] == '#'
		switch {
		case inside && begins && (indent < 0 || depth == indent):
			indent = depth
			items = append(items, document{line: d.line + n, data: bytes.Repeat([]byte(" "), depth)})
			line = append([]byte(" "), text[1:]...)
			fallthrough
		case inside && len(items) > 0 && (blank || depth > indent):
			last := &items[len(items)-1]
			last.data = append(last.data, line...)
		case blank:
		case depth == 0 && strings.HasPrefix(string(text), "items:"):
			inside = true
		default:
			inside = false
			if m := listField.FindSubmatch(line); m != nil {
				list[string(m[1])] = string(m[2])
			}
		}
		at = end
	}
	if kind, _ := list["kind"].(string); strings.HasSuffix(kind, "List") {
		return list, items
	}
	if list["kind"] != nil || len(items) == 0 {
		return nil, nil // an object that has items of its own
	}
	list["kind"] = "List"
	last := &items[len(items)-1]
	last.err = errors.New("the list ends without its kind: this item may be cut off")
	return list, items
}
