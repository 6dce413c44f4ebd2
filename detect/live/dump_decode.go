package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"holdfast/detect/live/internal/jsonvalue"
	"holdfast/gitops"
)

// fault is why a document cannot be read, and the line of the file at which.
type fault struct {
	line   int
	reason string
}

func (f fault) Error() string { return fmt.Sprintf("%d: %s", f.line, f.reason) }

// decode gives the document as plain JSON values; nil for an empty one. The error is a fault. Parsers' messages name
// keys and places, never values.
func (d document) decode(decoder *jsonvalue.Decoder) (map[string]any, error) {
	if d.err != nil {
		return nil, fault{d.line, d.err.Error()}
	}
	var value any
	var err error
	if d.json {
		if value, err = decoder.Decode(d.data); err != nil {
			return nil, fault{d.line, err.Error()}
		}
	} else if value, err = yamlValue(d.data); err != nil {
		return nil, d.yamlError(err)
	}
	content, ok := value.(map[string]any)
	if !ok && value != nil {
		what := fmt.Sprintf("a %T", value)
		if _, isList := value.([]any); isList {
			what = "a list"
		}
		return nil, fault{d.line, "no Kubernetes object: " + what + " stands where a mapping is wanted"}
	}
	return content, nil
}

// yamlError puts the line of the file in front; the parser counts from the start of the document.
func (d document) yamlError(err error) error {
	line := d.line
	message := gitops.WithoutValues(err.Error())
	if m := regexp.MustCompile(`line (\d+): `).FindStringSubmatchIndex(message); m != nil {
		n, _ := strconv.Atoi(message[m[2]:m[3]])
		line = d.line + n - 1
		message = message[:m[0]] + message[m[1]:]
	}
	return fault{line, "YAML: " + message}
}

// jsonDocuments splits JSON values that follow each other, as several kubectl calls into one file give.
func jsonDocuments(data []byte) []document {
	var out []document
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		start := int(decoder.InputOffset())
		for start < len(data) && bytes.IndexByte([]byte(" \t\r\n"), data[start]) >= 0 {
			start++
		}
		if start == len(data) {
			return out
		}
		doc := document{line: 1 + bytes.Count(data[:start], []byte("\n")), json: true}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				doc.line = 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
			}
			doc.err = fmt.Errorf("JSON: %w", err)
			doc.data, doc.first = data[start:], 1+bytes.Count(data[:start], []byte("\n"))
			return append(out, doc)
		}
		doc.data = raw
		out = append(out, doc)
	}
}
