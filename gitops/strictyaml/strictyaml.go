// Package strictyaml decodes one YAML document into a struct and refuses what it does not know: unknown
// and repeated keys, missing required keys, values of another type, a second document, anchors. Every
// error names the file, the line, the key and what is allowed. It does no I/O.
//
// Keys come from json tags; a field without omitempty is required; the enum entries of a jsonschema tag
// are the values allowed. So the JSON schema that is generated from the same struct says the same. An
// unknown key whose File or Env form is known is a secret written out, and the error says so.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast/gitops"
)

// MaxBytes is the largest document that Decode reads.
const MaxBytes = 4 << 20

// maxErrors is how many errors one Decode reports; a file of another kind would give hundreds.
const maxErrors = 20

// Positioned is implemented by types that want to know where they stand, for errors found later.
type Positioned interface {
	// SetLine gives the line, from 1, on which the value's content starts.
	SetLine(line int)
}

// Error is one thing wrong with a document. Line is 0 where the whole file is meant.
type Error struct {
	File    string
	Line    int
	Message string
}

// Error gives file:line: message.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Errorf makes an Error; line 0 leaves the line out.
func Errorf(file string, line int, format string, args ...any) error {
	return &Error{File: file, Line: line, Message: fmt.Sprintf(format, args...)}
}

// Parse reads the one document of a file and gives its root, which is a mapping. name is used in errors.
func Parse(name string, data []byte) (*yaml.Node, error) {
	if len(data) > MaxBytes {
		return nil, Errorf(name, 0, "has %d bytes; at most %d are read", len(data), MaxBytes)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, Errorf(name, 0, "is empty; want one YAML document")
		}
		return nil, syntaxError(name, err)
	}
	var second yaml.Node
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, Errorf(name, second.Line, "a second document starts here; want exactly one")
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(name, err)
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, Errorf(name, root.Line, "want a mapping of keys, not %s", describe(root))
	}
	return root, nil
}

// syntaxError turns "yaml: line 3: did not find …" into the form of all other errors.
func syntaxError(name string, err error) error {
	message := strings.TrimPrefix(gitops.WithoutValues(err.Error()), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(message, "line %d:", &line); n == 1 {
		_, message, _ = strings.Cut(message, ": ")
	}
	return Errorf(name, line, "no valid YAML: %s", message)
}

// Decode reads the one document of data into the struct that into points to. It reports up to 20 errors
// at once, joined; each is an *Error.
func Decode(name string, data []byte, into any) error {
	root, err := Parse(name, data)
	if err != nil {
		return err
	}
	return DecodeNode(name, root, into)
}

// DecodeNode is Decode of a part that Parse has read.
func DecodeNode(name string, node *yaml.Node, into any) error {
	d := decoder{file: name}
	d.value(node, reflect.ValueOf(into).Elem(), "", nil)
	return errors.Join(d.errs...)
}
