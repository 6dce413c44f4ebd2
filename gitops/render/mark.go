package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"

	"holdfast/gitops"
)

// Kustomize forgets the written name of an object before it gives the result, and never knew the
// document. So each object of a resource file is marked when kustomize reads the file: an annotation
// with a number is spliced into the text, travels with the object and is taken off the result. The key
// has the prefix that kustomize keeps through JSON patches; generated names do not depend on it.
const markKey = "internal.config.kubernetes.io/holdfast-object"

// marks hands out the numbers.
type marks struct {
	// expected are the units of a resource file in the order in which kustomize will read it.
	expected map[string][]*unit
	// excluded are files that are read for another purpose too (a patch, a generator's file): a mark
	// would end up in the wrong place, so their objects are told by their names instead.
	excluded map[string]bool
	given    []marked
}

// marked is what a number stands for.
type marked struct {
	unit           *unit
	document, item int
	written        gitops.ObjectID
}

func newMarks() *marks {
	return &marks{expected: map[string][]*unit{}, excluded: map[string]bool{}}
}

func (m *marks) expect(u *unit)      { m.expected[u.path] = append(m.expected[u.path], u) }
func (m *marks) exclude(name string) { m.excluded[name] = true }
func (m *marks) of(n int) (marked, bool) {
	if n < 0 || n >= len(m.given) {
		return marked{}, false
	}
	return m.given[n], true
}

// apply gives the text of a file with marks, when it is read as a resource. A key that stands twice in a
// mapping is an error: kustomize fails on it in the end too, but does not say where, and in one place ends
// the process.
func (m *marks) apply(name string, data []byte) ([]byte, error) {
	units := m.expected[name]
	if len(units) == 0 {
		return data, nil
	}
	m.expected[name] = units[1:]
	if m.excluded[name] {
		return data, nil
	}
	return m.splice(units[0], data)
}

// insertion is text to be put in at a byte offset.
type insertion struct {
	at   int
	text string
}

// splice puts a mark into each object of a file, in the style that the place has. Objects in which no
// safe place is found stay without: those without metadata, with an empty or aliased annotations mapping,
// or inside an anchor that another place may repeat.
func (m *marks) splice(u *unit, data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var all []insertion
	lines := offsets(data)
	first := len(m.given)
	decoder := yamlv3.NewDecoder(bytes.NewReader(data))
	for index := 0; ; index++ {
		var doc yamlv3.Node
		if err := decoder.Decode(&doc); err != nil {
			if !errors.Is(err, io.EOF) {
				m.given = m.given[:first]
				return data, nil // kustomize says what is wrong with it
			}
			break
		}
		if twice := duplicatesIn(&doc); len(twice) > 0 {
			return nil, fmt.Errorf("%s:%d: key %q stands twice in one mapping", u.path, twice[0].line, twice[0].key)
		}
		if len(doc.Content) != 1 {
			continue
		}
		for _, o := range nodesOf(doc.Content[0]) {
			number := len(m.given)
			in, ok := insert(o.node, lines, data, `"`+strconv.Itoa(number)+`"`)
			if !ok {
				continue
			}
			all = append(all, in)
			m.given = append(m.given, marked{unit: u, document: index, item: o.item, written: identity(o.node)})
		}
	}
	slices.SortStableFunc(all, func(a, b insertion) int { return cmp.Compare(a.at, b.at) })
	var out bytes.Buffer
	out.Grow(len(data) + 80*len(all))
	at := 0
	for _, in := range all {
		out.Write(data[at:in.at])
		out.WriteString(in.text)
		at = in.at
	}
	out.Write(data[at:])
	return out.Bytes(), nil
}

// itemNode is the mapping of one object, and its index in a list or -1.
type itemNode struct {
	item int
	node *yamlv3.Node
}

// nodesOf opens a list of objects, as objectsOf does for values.
func nodesOf(n *yamlv3.Node) []itemNode {
	if n.Kind != yamlv3.MappingNode || n.Anchor != "" {
		return nil
	}
	items := child(n, "items")
	if items == nil || !strings.HasSuffix(scalar(n, "kind"), "List") {
		return []itemNode{{item: -1, node: n}}
	}
	var out []itemNode
	if items.Kind == yamlv3.SequenceNode && items.Anchor == "" {
		for i, entry := range items.Content {
			for _, o := range nodesOf(entry) {
				out = append(out, itemNode{item: i, node: o.node})
			}
		}
	}
	return out
}

// insert finds the place of the mark in one object.
func insert(object *yamlv3.Node, lines []int, data []byte, value string) (insertion, bool) {
	metadata := child(object, "metadata")
	if !splicable(metadata) {
		return insertion{}, false
	}
	entry := markKey + ": " + value
	target := metadata
	if key := keyNode(metadata, "annotations"); key != nil {
		target = child(metadata, "annotations")
		if !splicable(target) {
			return insertion{}, false
		}
	} else {
		entry = "annotations: {" + entry + "}"
	}
	first := target.Content[0]
	at := offset(lines, data, first)
	if at < 0 {
		return insertion{}, false
	}
	if target.Style&yamlv3.FlowStyle != 0 {
		return insertion{at: at, text: entry + ", "}, true
	}
	// The first key of a block mapping: an entry before it on its own line has the same indentation, be the
	// text before it blanks or the dash of a list entry.
	if len(bytes.Trim(data[lines[first.Line-1]:at], " -")) > 0 {
		return insertion{}, false
	}
	return insertion{at: at, text: entry + "\n" + strings.Repeat(" ", first.Column-1)}, true
}

// splicable says whether an entry can be added to a mapping before its first key without showing up
// anywhere else.
func splicable(n *yamlv3.Node) bool {
	if n == nil || n.Kind != yamlv3.MappingNode || n.Anchor != "" || len(n.Content) == 0 {
		return false
	}
	first := n.Content[0]
	return first.Kind == yamlv3.ScalarNode && first.Anchor == "" && first.Tag != "!!merge" &&
		first.Style&(yamlv3.TaggedStyle|yamlv3.LiteralStyle|yamlv3.FoldedStyle) == 0
}

// offsets gives the byte offset of each line.
func offsets(data []byte) []int {
	lines := []int{0}
	for i, b := range data {
		if b == '\n' {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// offset gives the byte offset of a node, whose column counts characters; -1 when it is not there.
func offset(lines []int, data []byte, n *yamlv3.Node) int {
	if n.Line < 1 || n.Line > len(lines) {
		return -1
	}
	at := lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(data) || data[at] == '\n' {
			return -1
		}
		_, size := utf8.DecodeRune(data[at:])
		at += size
	}
	return at
}

func keyNode(n *yamlv3.Node, key string) *yamlv3.Node {
	if n == nil || n.Kind != yamlv3.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i].Kind == yamlv3.ScalarNode {
			return n.Content[i]
		}
	}
	return nil
}

func child(n *yamlv3.Node, key string) *yamlv3.Node {
	k := keyNode(n, key)
	if k == nil {
		return nil
	}
	return n.Content[slices.Index(n.Content, k)+1]
}

func scalar(n *yamlv3.Node, key string) string {
	v := child(n, key)
	if v != nil && v.Kind == yamlv3.AliasNode {
		v = v.Alias
	}
	if v == nil || v.Kind != yamlv3.ScalarNode {
		return ""
	}
	return v.Value
}

func identity(object *yamlv3.Node) gitops.ObjectID {
	metadata := child(object, "metadata")
	group := ""
	if g, _, ok := strings.Cut(scalar(object, "apiVersion"), "/"); ok {
		group = g
	}
	return gitops.ObjectID{
		Group: group, Kind: scalar(object, "kind"),
		Namespace: scalar(metadata, "namespace"), Name: scalar(metadata, "name"),
	}
}
