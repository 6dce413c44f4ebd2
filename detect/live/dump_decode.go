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

// decode gives the document as plain JSON values; nil for an empty one. The error starts with the line in
// the file. Parsers' messages name keys and places, never values.
func (d document) decode(decoder *jsonvalue.Decoder) (map[string]any, error) {
	if d.err != nil {
		return nil, fmt.Errorf("%d: %w", d.line, d.err)
	}
	var value any
	var err error
	if d.json {
		if value, err = decoder.Decode(d.data); err != nil {
			return nil, fmt.Errorf("%d: %w", d.line, err)
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
		return nil, fmt.Errorf("%d: no Kubernetes object: %s stands where a mapping is wanted", d.line, what)
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
	return fmt.Errorf("%d: YAML: %s", line, message)
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
			return append(out, doc)
		}
		doc.data = raw
		out = append(out, doc)
	}
}
