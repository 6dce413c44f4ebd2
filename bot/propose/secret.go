package propose

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"holdfast/detect/compare"
	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// Masked gives a file as outputs show it: what stands for the values of Secrets is replaced, in manifests,
// in the literals of secretGenerators and in patches. A document that cannot be read, and speaks of Secrets, is
// replaced whole.
func Masked(data []byte) []byte {
	if !speaksOfSecrets(data) {
		return data
	}
	var out []byte
	for _, document := range documents(data) {
		out = append(out, maskedDocument(document)...)
	}
	return out
}

var secretWord = regexp.MustCompile(`(?i)secret`)

func speaksOfSecrets(data []byte) bool { return secretWord.Match(data) }

// documents splits a YAML file before each line that begins a document.
func documents(data []byte) [][]byte {
	var out [][]byte
	start := 0
	for _, at := range documentStart.FindAllIndex(data, -1) {
		if at[0] > start {
			out = append(out, data[start:at[0]])
			start = at[0]
		}
	}
	return append(out, data[start:])
}

var documentStart = regexp.MustCompile(`(?m)^---(\s|$)`)

func maskedDocument(document []byte) []byte {
	whole := []byte(compare.Masked + "\n")
	content, err := splice.Documents(document)
	if err != nil {
		if speaksOfSecrets(document) {
			return whole
		}
		return document
	}
	for i, one := range content {
		for _, path := range secretPaths(one, nil) {
			text := compare.Masked
			if name, _, ok := strings.Cut(fmt.Sprint(gitops.Lookup(one, path).V), "="); ok && isLiteral(path) {
				text = name + "=" + text
			}
			if document, err = splice.Set(document, i, path, text); err != nil {
				return whole
			}
		}
	}
	return document
}

// secretPaths lists where a document holds the values of Secrets.
func secretPaths(at any, path gitops.Path) []gitops.Path {
	var out []gitops.Path
	switch v := at.(type) {
	case string:
		if embedded.MatchString(v) {
			out = append(out, path)
		}
	case []any:
		for i, item := range v {
			here := path.Child(gitops.Index(i))
			if _, ok := item.(string); ok && isLiteral(here) {
				out = append(out, here)
				continue
			}
			out = append(out, secretPaths(item, here)...)
		}
	case map[string]any:
		secret := v["kind"] == "Secret" && v["apiVersion"] == "v1"
		for key, value := range v {
			here := path.Child(gitops.Field(key))
			values, ok := value.(map[string]any)
			switch {
			case key == "patch" && patchesSecrets(v):
				out = append(out, here)
			case !secret || key != "data" && key != "stringData":
				out = append(out, secretPaths(value, here)...)
			case ok:
				for name := range values {
					out = append(out, here.Child(gitops.Field(name)))
				}
			case value != nil:
				out = append(out, here)
			}
		}
	}
	slices.SortFunc(out, func(a, b gitops.Path) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// embedded finds a Secret inside a text: an inline patch, or the annotation that kubectl apply leaves.
var embedded = regexp.MustCompile(`["']?kind["']?\s*:\s*["']?Secret\b`)

// patchesSecrets says whether an entry of a kustomization's patches may change a Secret's values: by what it
// aims at, or, where that is left open, by the paths it names.
func patchesSecrets(entry map[string]any) bool {
	text, ok := entry["patch"].(string)
	target, _ := entry["target"].(map[string]any)
	kind, _ := target["kind"].(string)
	return ok && (kind == "Secret" || (kind == "" || regexp.QuoteMeta(kind) != kind) && secretPath.MatchString(text))
}

// secretPath finds a path of a JSON patch that leads to what may be a Secret's values.
var secretPath = regexp.MustCompile(`/(string)?[dD]ata\b`)

// isLiteral says whether a path leads to a literal of a secretGenerator.
func isLiteral(path gitops.Path) bool {
	return len(path) == 4 && path[0].Field == "secretGenerator" && path[2].Field == "literals"
}

// withoutSecrets takes context out of a unified diff of a file that was before: no hunk reaches into a document
// that holds Secrets and is not changed itself, or to a value of one that is.
func withoutSecrets(patch string, before []byte) string {
	if !speaksOfSecrets(before) {
		return patch
	}
	changed := map[int]bool{}
	for _, l := range hunks(patch) {
		switch l.op {
		case '-':
			changed[l.before] = true
		case '+':
			changed[l.before-1] = true // a document begins with its ---, so the line before tells which one it is
		}
	}
	return withoutContext(patch, unsafeLines(before, changed))
}

// unsafeLines are the lines, from 1, of a file that the context of a patch must not show: documents that hold
// Secrets and are not changed themselves, and the values in those that are.
func unsafeLines(data []byte, changed map[int]bool) map[int]bool {
	out := map[int]bool{}
	line := 1
	for _, document := range documents(data) {
		masked := maskedDocument(document)
		n := bytes.Count(document, []byte("\n"))
		if len(document) > 0 && document[len(document)-1] != '\n' {
			n++
		}
		if !bytes.Equal(masked, document) {
			touched := false
			for i := range n {
				touched = touched || changed[line+i]
			}
			for i := range n {
				separator := i == 0 && documentStart.Match(document)
				out[line+i] = !touched && !separator
			}
			if touched {
				for _, l := range hunks(string(diff.Diff("", document, "", masked))) {
					if l.op == '-' {
						out[line+l.before-1] = true
					}
				}
			}
		}
		line += n
	}
	return out
}
