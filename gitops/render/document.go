package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// document is one YAML document of a file: its text, the line it starts at (from 1) and its index.
type document struct {
	index, line int
	text        []byte
}

// split cuts a YAML stream into documents, so that a broken one leaves the others readable. Documents are
// counted as a YAML parser counts them: an empty document between two markers is one, a comment before
// the first marker is none.
func split(data []byte) []document {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var docs []document
	start, startLine := 0, 1
	explicit, content := false, false
	emit := func(end int) {
		if explicit || content {
			docs = append(docs, document{index: len(docs), line: startLine, text: data[start:end]})
		}
	}
	line := 0
	for at := 0; at < len(data); {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		line++
		text := data[at:next]
		switch {
		case marker(text, "---"):
			if explicit || content {
				emit(at)
				start, startLine = at, line
			}
			explicit, content = true, false
		case marker(text, "..."):
			emit(at)
			start, startLine = next, line+1
			explicit, content = false, false
		default:
			trimmed := bytes.TrimSpace(text)
			directive := !explicit && !content && bytes.HasPrefix(text, []byte("%"))
			if len(trimmed) > 0 && trimmed[0] != '#' && !directive {
				content = true
			}
		}
		at = next
	}
	emit(len(data))
	return docs
}

// marker says whether a line is a document marker: it starts with sign, and a blank or nothing follows.
func marker(line []byte, sign string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(sign))
	return ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// decode reads a file as Kubernetes clients do: YAML 1.1 booleans and octal numbers, integers as int64.
// Values are in the order of the documents; a document that does not parse has a Syntax problem instead.
func decode(name string, data []byte) ([]decoded, []Problem) {
	if path.Ext(name) == ".json" {
		if values, problems, ok := decodeJSON(name, data); ok {
			return values, problems
		}
	}
	var values []decoded
	var problems []Problem
	for _, doc := range split(data) {
		value, found, err := parse(doc.text)
		if err != nil {
			line, message := position(err)
			// The parser may point behind the end of what it was given.
			line = min(line, 1+bytes.Count(bytes.TrimRight(doc.text, "\r\n"), []byte("\n")))
			problems = append(problems, Problem{
				File: name, Line: line + doc.line - 1, Document: doc.index, Kind: Syntax, Message: message,
			})
			continue
		}
		for i := range found {
			found[i].line += doc.line - 1
		}
		values = append(values, decoded{document: doc.index, line: doc.line, value: value, twice: found})
	}
	return values, problems
}

// decoded is the value of one document and the keys that it has twice.
type decoded struct {
	document, line int
	value          any
	twice          []duplicate
}

// duplicate is a mapping key that was there before; the line is that of the later one.
type duplicate struct {
	key  string
	line int
}

// parse reads one document; where a key stands twice the last one wins.
func parse(text []byte) (any, []duplicate, error) {
	var twice []duplicate
	encoded, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		if encoded, err = yaml.YAMLToJSON(text); err != nil {
			return parseTabs(text, err)
		}
		// The strict parser also objects to a key that overrides a merged one; only the nodes tell.
		twice = duplicates(text)
	}
	var value any
	if err := utiljson.Unmarshal(encoded, &value); err != nil {
		return nil, nil, err
	}
	return value, twice, nil
}

// parseTabs reads JSON that is indented with tabs, which YAML forbids and kubectl takes.
func parseTabs(text []byte, original error) (any, []duplicate, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, nil, original
	}
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		return nil, nil, original
	}
	return value, nil, nil
}

// decodeJSON reads a stream of JSON values, each a document. ok is false when it is none: the file may
// still be YAML.
func decodeJSON(name string, data []byte) ([]decoded, []Problem, bool) {
	stream := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	var values []decoded
	for {
		before := stream.InputOffset()
		var raw json.RawMessage
		err := stream.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return values, nil, true
		}
		if err != nil {
			return nil, nil, false
		}
		line := 1 + bytes.Count(data[:before], []byte("\n"))
		var value any
		if err := utiljson.Unmarshal(raw, &value); err != nil {
			return nil, []Problem{{File: name, Line: line, Document: len(values), Kind: Syntax, Message: err.Error()}}, true
		}
		twice := duplicates(raw)
		for i := range twice {
			twice[i].line += line - 1
		}
		values = append(values, decoded{document: len(values), line: line, value: value, twice: twice})
	}
}

// duplicates finds keys that stand twice in one mapping.
func duplicates(text []byte) []duplicate {
	var root yamlv3.Node
	if yamlv3.Unmarshal(text, &root) != nil {
		return nil
	}
	return duplicatesIn(&root)
}

func duplicatesIn(root *yamlv3.Node) []duplicate {
	var found []duplicate
	var walk func(n *yamlv3.Node)
	walk = func(n *yamlv3.Node) {
		if n.Kind == yamlv3.MappingNode {
			seen := map[string]bool{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i]
				if key.Kind == yamlv3.ScalarNode && seen[key.Value] {
					found = append(found, duplicate{key: key.Value, line: key.Line})
				}
				seen[key.Value] = true
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(root)
	return found
}

var linePattern = regexp.MustCompile(`^(?:error converting YAML to JSON: )?(?:yaml: )?(?:unmarshal errors:\s+)?(?:line (\d+): )?`)

// position takes the line out of a YAML parser's message; without one it is 1.
func position(err error) (int, string) {
	text := gitops.WithoutValues(err.Error())
	match := linePattern.FindStringSubmatch(text)
	message := strings.TrimPrefix(text, match[0])
	line := 1
	if n, err := strconv.Atoi(match[1]); err == nil && n > 0 {
		line = n
	}
	return line, fmt.Sprintf("broken YAML: %s", message)
}
