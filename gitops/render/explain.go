package render

import (
	"encoding/base64"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// replacement is a part of kustomize's messages that repeats content, and what is left of it.
type replacement struct {
	pattern *regexp.Regexp
	by      string
}

// contentPatterns are the places in which kustomize prints objects, patches and literals.
func contentPatterns() []replacement {
	return []replacement{
		{regexp.MustCompile("(?s)with config: `.*`"), ""},
		{regexp.MustCompile(`(?s)\[patch: ".*"\]`), "[inline patch]"},
		{regexp.MustCompile(`(?s)literal sources.*`), "a literal is not key=value"},
		{regexp.MustCompile(`(?s)has invalid utf8 bytes.*`), "has invalid utf8 bytes"},
		{regexp.MustCompile(`(?s)"[^"]*" is not a valid (key|env)`), "a line has no valid $1"},
		{regexp.MustCompile(`(?s)\bin object .*`), ""},
		{regexp.MustCompile(`(?s)invalid document separator: .*`), "there is text behind a document separator"},
		{regexp.MustCompile(`(?s)out of bounds for value .*`), "out of bounds"},
		{regexp.MustCompile(`(?s)is not a string: .*`), "is not a string"},
		{regexp.MustCompile(`(?s)value: \{.*`), ""},
		{regexp.MustCompile("`[^`]*`"), "a value"},
	}
}

// explained makes an error of kustomize readable: paths are those of the repository, and no content of
// objects or patches, which may be secret, is repeated.
func explained(err error, fs *treeFS) error {
	text := err.Error()
	for _, r := range contentPatterns() {
		text = r.pattern.ReplaceAllString(text, r.by)
	}
	text = strings.ReplaceAll(text, mount+"/", "")
	text = strings.ReplaceAll(text, mount, ".")
	if head, _, cut := strings.Cut(text, "\n"); cut {
		text = head
	}
	for _, value := range fs.secrets() {
		text = strings.ReplaceAll(text, value, "<secret>")
	}
	return errors.New("kustomize: " + strings.TrimSpace(text))
}

// shortSecret is the length below which hiding a value would garble a message more than it hides.
const shortSecret = 4

// secrets are the values of Secrets and of secret generators in the files that were read, longest first.
func (t *treeFS) secrets() []string {
	var out []string
	add := func(values ...string) {
		for _, v := range values {
			if len(v) >= shortSecret {
				out = append(out, v)
			}
		}
	}
	t.src.mu.Lock()
	names := slices.Collect(maps.Keys(t.src.reads))
	t.src.mu.Unlock()
	for _, name := range names {
		file, _ := t.src.tree.File(name)
		if isKustomization(name) {
			var k types.Kustomization
			if k.Unmarshal(file.Data) != nil {
				continue
			}
			for _, g := range k.SecretGenerator {
				for _, literal := range g.LiteralSources {
					_, value, _ := strings.Cut(literal, "=")
					add(value, literal)
				}
				for _, source := range sources(g.KvPairSources) {
					data, _ := t.src.tree.Read(strings.TrimPrefix(name[:len(name)-len(lastPart(name))]+source, "./"))
					add(strings.Fields(string(data))...)
				}
			}
			continue
		}
		objects, _ := File(name, file.Data)
		for _, o := range objects {
			if o.IsSecret() {
				add(secretValues(o.Content)...)
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(out)
}

func secretValues(content map[string]any) []string {
	var out []string
	for _, field := range []string{"data", "stringData"} {
		values, _ := content[field].(map[string]any)
		for _, v := range values {
			text, ok := v.(string)
			if !ok {
				continue
			}
			out = append(out, text)
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
				out = append(out, string(plain))
			}
		}
	}
	return out
}

func lastPart(name string) string { return name[strings.LastIndex(name, "/")+1:] }
