package codify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// generated edits what a kustomization's configMapGenerator makes a ConfigMap of: literals, files, env files. Of a
// secretGenerator only labels and annotations are written.
type generated struct{}

var (
	errBinary    = errors.New("binary data is not written")
	errLineBreak = errors.New("an env file holds no line breaks")
	errEnvName   = errors.New("an env file takes names of letters, digits, - _ and . only")
)

func (generated) candidates(_ context.Context, s site) []Candidate {
	section := generatorSection(s.declared.ID)
	if s.remove || section == "" || len(s.change.Path) == 0 {
		return nil
	}
	var out []Candidate
	owned, found := false, false
	for i, l := range s.layers {
		for at, v := range l.list(section) {
			entry, _ := v.(map[string]any)
			if !s.generatedBy(entry) {
				continue
			}
			found, owned = true, owned || i == 0
			g := generatorEntry{layer: l, at: gitops.Path{gitops.Field(section), gitops.Index(at)}, content: entry}
			out = append(out, s.editGenerator(g)...)
		}
	}
	if found && !owned && s.change.After.Set && len(s.layers) > 0 {
		out = append(out, s.mergeGenerator(s.layers[0], section)...)
	}
	return out
}

// generatorSection is where a kustomization generates objects of this kind; "" for others.
func generatorSection(id gitops.ObjectID) string {
	switch {
	case id.Group == "" && id.Kind == "ConfigMap":
		return "configMapGenerator"
	case id.Group == "" && id.Kind == "Secret":
		return "secretGenerator"
	}
	return ""
}

// generatorEntry is one entry of a kustomization's generators.
type generatorEntry struct {
	layer   layer
	at      gitops.Path
	content map[string]any
}

func (g generatorEntry) where() string {
	name, _ := g.content["name"].(string)
	return fmt.Sprintf("the generator of %s in %s", name, g.layer.file)
}

func (g generatorEntry) strings(key string) []string {
	list, _ := g.content[key].([]any)
	out := make([]string, len(list))
	for i, v := range list {
		out[i], _ = v.(string)
	}
	return out
}

// generatedBy says whether a generator's entry is for the object.
func (s site) generatedBy(entry map[string]any) bool {
	name, _ := entry["name"].(string)
	namespace, _ := entry["namespace"].(string)
	written := s.declared.Origin.Written
	return name != "" && name == written.Name && (namespace == "" || namespace == written.Namespace || namespace == s.declared.ID.Namespace)
}

// editGenerator gives the edits of a generator that may bring the change about.
func (s site) editGenerator(g generatorEntry) []Candidate {
	p := s.change.Path
	switch {
	case p[0].Field == "binaryData":
		s.refuse("change "+p.String(), fmt.Errorf("%s, line %d: %w", g.layer.file, splice.Line(g.layer.data, g.layer.doc, g.at), errBinary))
		return nil
	case p[0].Field == "data" && len(p) == 2 && s.declared.ID.Kind == "ConfigMap":
		return s.editSources(g, p[1].Field)
	case p[0].Field == "metadata" && len(p) > 1 && (p[1].Field == "labels" || p[1].Field == "annotations"):
		return s.editOptions(g, p[1:])
	case len(p) == 1 && p[0].Field == "immutable":
		return s.editOptions(g, p)
	}
	return nil
}

// editSources edits the literal, file or env file that gives a key, or adds one.
func (s site) editSources(g generatorEntry, key string) []Candidate {
	value, isText := s.change.After.V.(string)
	if s.change.After.Set && !isText {
		return nil
	}
	verb := "change "
	if !s.change.After.Set {
		verb = "remove "
	}
	what := verb + s.change.Path.String() + " in " + g.where() + s.hashFollows()
	for i, literal := range g.strings("literals") {
		if name, old, ok := strings.Cut(literal, "="); ok && name == key {
			return s.setOrTake(g, what, "literals", i, key+"="+literalValue(value, old))
		}
	}
	for i, source := range g.strings("files") {
		name, file := fileSource(source)
		if name != key {
			continue
		}
		if !s.change.After.Set {
			return s.setOrTake(g, what, "files", i, nil)
		}
		file = path.Join(g.layer.dir, file)
		return s.one(verb+s.change.Path.String()+" by the file "+file+s.hashFollows(), file, []byte(value), nil, changesValue)
	}
	for _, file := range g.envFiles() {
		file = path.Join(g.layer.dir, file)
		data, ok := s.tree.Read(linked(s.tree, file))
		if !ok {
			continue
		}
		if start, end, ok := envLine(data, key); ok {
			after, err := withEnv(data, start, end, key, s.change.After)
			return s.one(verb+s.change.Path.String()+" in the env file "+file+s.hashFollows(), file, after, err, changesValue)
		}
	}
	if !s.change.After.Set {
		return nil
	}
	return s.addSource(g, key, value)
}

// setOrTake sets an entry of a generator's list, or takes it away, and the list with its last entry.
func (s site) setOrTake(g generatorEntry, what, list string, i int, value any) []Candidate {
	at := append(slices.Clip(g.at), gitops.Field(list), gitops.Index(i))
	if s.change.After.Set {
		return s.set(g.layer, what, at, value, changesValue)
	}
	if len(g.strings(list)) == 1 {
		at = at[:len(at)-1]
	}
	after, err := splice.Remove(g.layer.data, g.layer.doc, at)
	return s.one(what, g.layer.file, after, err, changesValue)
}

// addSource adds a key to a generator: as a literal, as a line of its env file, or, a text of several lines among
// files, as a file.
func (s site) addSource(g generatorEntry, key, value string) []Candidate {
	var out []Candidate
	what := "add " + s.change.Path.String() + " to " + g.where() + s.hashFollows()
	literals, files := g.strings("literals"), g.strings("files")
	added := addsSection
	if len(literals) > 0 {
		added = addsEntry
	}
	if !strings.Contains(key, "=") {
		at := append(slices.Clip(g.at), gitops.Field("literals"), gitops.Index(len(literals)))
		out = append(out, s.set(g.layer, what, at, key+"="+literalValue(value, ""), added)...)
	}
	if envs := g.envFiles(); len(envs) > 0 && len(literals) == 0 {
		file := path.Join(g.layer.dir, envs[len(envs)-1])
		if data, ok := s.tree.Read(linked(s.tree, file)); ok {
			after, err := withEnv(data, len(data), len(data), key, s.change.After)
			out = append(out, s.one("add "+s.change.Path.String()+" to the env file "+file+s.hashFollows(), file, after, err, addsEntry)...)
		}
	}
	if strings.Contains(value, "\n") && len(files) > 0 && path.Base(key) == key {
		out = append(out, s.addSourceFile(g, what, key, value)...)
	}
	return out
}

// addSourceFile adds a key as a file beside the generator's other files.
func (s site) addSourceFile(g generatorEntry, what, key, value string) []Candidate {
	files := g.strings("files")
	_, beside := fileSource(files[len(files)-1])
	file := path.Join(path.Dir(beside), key)
	if _, taken := s.tree.File(path.Join(g.layer.dir, file)); taken {
		return nil
	}
	out := s.set(g.layer, what, append(slices.Clip(g.at), gitops.Field("files"), gitops.Index(len(files))), file, addsEntry)
	for i := range out {
		e, _ := s.edit(path.Join(g.layer.dir, file), []byte(value))
		out[i].Edits = append(out[i].Edits, e)
	}
	return out
}

// editOptions edits the labels, annotations or immutability that a generator gives, its own or those of all
// generators of the file.
func (s site) editOptions(g generatorEntry, field gitops.Path) []Candidate {
	var out []Candidate
	own := append(slices.Clip(g.at), gitops.Field("options"))
	add := func(what string, at gitops.Path, added int) {
		if s.change.After.Set {
			out = append(out, s.set(g.layer, what, at, s.change.After.V, added)...)
			return
		}
		after, err := splice.Remove(g.layer.data, g.layer.doc, at)
		out = append(out, s.one(what, g.layer.file, after, err, added)...)
	}
	set := func(in any, at gitops.Path, where string) bool {
		if !splice.Lookup(in, field).Set {
			return false
		}
		if !s.change.After.Set {
			add("remove "+s.change.Path.String()+" in "+where, append(slices.Clip(at), lone(in, field)...), changesValue)
			return true
		}
		add("change "+s.change.Path.String()+" in "+where, append(slices.Clip(at), field...), changesValue)
		return true
	}
	here := set(g.content["options"], own, g.where())
	set(g.layer.content["generatorOptions"], gitops.Path{gitops.Field("generatorOptions")}, "the generatorOptions of "+g.layer.file)
	if !here && s.change.After.Set {
		added := addsSection
		if splice.Lookup(g.content["options"], field[:1]).Set {
			added = addsEntry
		}
		add("add "+s.change.Path.String()+" to "+g.where(), append(slices.Clip(own), field...), added)
	}
	return out
}

// mergeGenerator adds to the overlay a generator that merges into that of a base.
func (s site) mergeGenerator(l layer, section string) []Candidate {
	written := s.declared.Origin.Written
	entry := map[string]any{"name": written.Name, "behavior": "merge"}
	if written.Namespace != "" {
		entry["namespace"] = written.Namespace
	}
	g := generatorEntry{layer: l, at: gitops.Path{gitops.Field(section), gitops.Index(len(l.list(section)))}, content: entry}
	switch p := s.change.Path; {
	case p[0].Field == "data" && len(p) == 2 && section == "configMapGenerator":
		value, ok := s.change.After.V.(string)
		if !ok || strings.Contains(p[1].Field, "=") {
			return nil
		}
		entry["literals"] = []any{p[1].Field + "=" + literalValue(value, "")}
	case p[0].Field == "metadata" && len(p) > 2 && (p[1].Field == "labels" || p[1].Field == "annotations"):
		entry["options"] = map[string]any{p[1].Field: map[string]any{p[2].Field: s.change.After.V}}
	default:
		return nil
	}
	return s.set(l, "add "+s.change.Path.String()+" by "+g.where()+s.hashFollows(), g.at, entry, addsSection)
}

// envFiles are the generator's env files in both notations.
func (g generatorEntry) envFiles() []string {
	out := g.strings("envs")
	if one, ok := g.content["env"].(string); ok && one != "" {
		out = append(out, one)
	}
	return out
}

// hashFollows is what people are told where the change gives the object another name.
func (s site) hashFollows() string {
	if s.change.Path[0].Field != "data" || baseOf(s.declared.ID.Name) == "" {
		return ""
	}
	return "; the hash in its name follows, and what uses it restarts"
}

// fileSource reads key=file, or a file that gives its own name to the key.
func fileSource(source string) (key, file string) {
	if key, file, ok := strings.Cut(source, "="); ok {
		return key, file
	}
	return path.Base(source), source
}

// literalValue writes the value of a literal. kustomize takes one pair of quotes around it away, so a value that has
// such quotes itself gets another pair; old quotes stay the custom.
func literalValue(value, old string) string {
	quoted := func(s string) bool {
		return len(s) > 1 && s[0] == s[len(s)-1] && (s[0] == '"' || s[0] == '\'')
	}
	switch {
	case quoted(old):
		return old[:1] + value + old[:1]
	case quoted(value):
		return `"` + value + `"`
	}
	return value
}

var envName = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)

// envLine finds the line of an env file that gives key: its first byte, and the one behind it without its line end.
func envLine(data []byte, key string) (start, end int, found bool) {
	for at := 0; at < len(data); {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		line := bytes.TrimRight(data[at:next], "\r\n")
		if at == 0 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		text := bytes.TrimLeftFunc(line, unicode.IsSpace)
		name, _, _ := strings.Cut(string(text), "=")
		if len(text) > 0 && text[0] != '#' && name == key {
			end := at + len(bytes.TrimRight(data[at:next], "\r\n"))
			return end - len(text), end, true
		}
		at = next
	}
	return 0, 0, false
}

// withEnv gives an env file in which the line between start and end gives key the value, or is gone.
func withEnv(data []byte, start, end int, key string, value gitops.Value) ([]byte, error) {
	text, _ := value.V.(string)
	eol := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		eol = "\r\n"
	}
	switch {
	case strings.ContainsAny(text, "\r\n"):
		return nil, errLineBreak
	case !envName.MatchString(key):
		return nil, errEnvName
	case !value.Set:
		if i := bytes.IndexByte(data[end:], '\n'); i >= 0 {
			end += i + 1
		}
		start = bytes.LastIndexByte(data[:start], '\n') + 1
		return slices.Concat(data[:start], data[end:]), nil
	case start == len(data) && start > 0 && data[start-1] != '\n':
		return slices.Concat(data, []byte(eol+key+"="+text)), nil
	case start == len(data):
		return slices.Concat(data, []byte(key+"="+text+eol)), nil
	}
	return slices.Concat(data[:start], []byte(key+"="+text), data[end:]), nil
}
