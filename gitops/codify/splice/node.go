package splice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const maxDepth = 200

type kind int

const (
	scalar kind = iota
	mapping
	sequence
	alias
)

// file is a parsed text: its documents as nodes that know their bytes.
type file struct {
	data  []byte
	lines []int // offset of the first byte of each line
	docs  []*node
	// json says that the text is one JSON value, so that only JSON may be written.
	json bool
	// anchors finds the node of an anchored YAML node; shared counts the aliases to it.
	anchors map[*yaml.Node]*node
	shared  map[*yaml.Node]int
}

// node is a YAML node with its place. Offsets are bytes from the start of the file.
type node struct {
	y      *yaml.Node
	kind   kind
	parent *node
	// first is where the node begins, anchor and tag included; start where its value does; end is the
	// offset behind its last byte (of a block scalar: behind its last line's text).
	first, start, end int
	flow              bool
	// bare is a mapping of one pair inside a flow list, without braces.
	bare  bool
	items []*node
	// dashes are the offsets of the dashes of a block list.
	dashes []int
	pairs  []pair
}

// pair is an entry of a mapping. colon is the offset of its colon, -1 where it has none.
type pair struct {
	key, value *node
	colon      int
	explicit   bool
}

// parse reads all documents and places their nodes.
func parse(data []byte) (*file, error) {
	f := &file{data: data, anchors: map[*yaml.Node]*node{}, shared: map[*yaml.Node]int{}}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrSyntax)
	}
	if err := f.findLines(); err != nil {
		return nil, err
	}
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(data, bom))
	f.json = len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed)
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	at := 0
	if bytes.HasPrefix(data, bom) {
		at = len(bom)
	}
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSyntax, err)
		}
		if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" && doc.Content[0].Value == "" {
			f.docs = append(f.docs, nil)
			continue
		}
		b := builder{file: f, at: at}
		root, err := b.build(doc.Content[0], nil, false, 0)
		if err != nil {
			return nil, err
		}
		at = root.end
		f.docs = append(f.docs, root)
	}
}

var bom = []byte("\xef\xbb\xbf")

// findLines records line starts as the YAML parser counts them: after LF, CRLF, and the Unicode breaks
// NEL, LS and PS. A carriage return alone is refused.
func (f *file) findLines() error {
	f.lines = []int{0}
	for i := 0; i < len(f.data); i++ {
		switch c := f.data[i]; {
		case c == '\n':
			f.lines = append(f.lines, i+1)
		case c == '\r':
			if i+1 >= len(f.data) || f.data[i+1] != '\n' {
				return fmt.Errorf("%w: line %d ends in a carriage return alone", ErrUnsupported, len(f.lines))
			}
		case c == 0xc2 && i+1 < len(f.data) && f.data[i+1] == 0x85:
			f.lines = append(f.lines, i+2)
		case c == 0xe2 && i+2 < len(f.data) && f.data[i+1] == 0x80 && (f.data[i+2] == 0xa8 || f.data[i+2] == 0xa9):
			f.lines = append(f.lines, i+3)
		}
	}
	return nil
}

// offset turns a 1-based line and column (in characters) into an offset.
func (f *file) offset(line, column int) (int, error) {
	if line < 1 || line > len(f.lines) {
		return 0, fmt.Errorf("%w: line %d of %d", ErrUnsupported, line, len(f.lines))
	}
	at := f.lines[line-1]
	if line == 1 && bytes.HasPrefix(f.data, bom) {
		at = len(bom)
	}
	for range column - 1 {
		_, size := utf8.DecodeRune(f.data[at:])
		if size == 0 {
			return 0, fmt.Errorf("%w: line %d has no column %d", ErrUnsupported, line, column)
		}
		at += size
	}
	return at, nil
}

// lineOf gives the 1-based line of an offset.
func (f *file) lineOf(offset int) int {
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > offset })
}

// lineStart gives the first byte of the line that holds offset.
func (f *file) lineStart(offset int) int {
	start := f.lines[f.lineOf(offset)-1]
	if start == 0 && bytes.HasPrefix(f.data, bom) {
		return len(bom)
	}
	return start
}

// lineEnd gives the offset of the line break (or the end of the text) behind offset.
func (f *file) lineEnd(offset int) int {
	i := bytes.IndexByte(f.data[offset:], '\n')
	if i < 0 {
		return len(f.data)
	}
	if i > 0 && f.data[offset+i-1] == '\r' {
		i--
	}
	return offset + i
}

// nextLine gives the first byte of the line behind the one that holds offset.
func (f *file) nextLine(offset int) int {
	end := f.lineEnd(offset)
	if end < len(f.data) && f.data[end] == '\r' {
		end++
	}
	if end < len(f.data) {
		end++
	}
	return end
}

// column gives the 0-based column of an offset in bytes; what stands before a block node is ASCII.
func (f *file) column(offset int) int { return offset - f.lineStart(offset) }

// eol gives the line ending of the line that holds offset, or of the nearest line that has one.
func (f *file) eol(offset int) string {
	if end := f.lineEnd(offset); end < len(f.data) && f.data[end] == '\r' {
		return "\r\n"
	} else if end < len(f.data) {
		return "\n"
	}
	if bytes.Contains(f.data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// builder walks the text beside the parsed nodes, in document order.
type builder struct {
	*file
	at int
}

func (b *builder) misplaced(y *yaml.Node, why string) error {
	return fmt.Errorf("%w: line %d, column %d: %s", ErrUnsupported, y.Line, y.Column, why)
}

// build places y and all below it, starting at b.at, and leaves b.at behind it.
func (b *builder) build(y *yaml.Node, parent *node, inFlow bool, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, b.misplaced(y, "nested too deep")
	}
	n := &node{y: y, parent: parent, flow: inFlow}
	if y.Kind == yaml.ScalarNode && y.Style&^yaml.TaggedStyle == 0 && y.Value == "" && y.Anchor == "" && y.Style&yaml.TaggedStyle == 0 {
		n.first, n.start, n.end = b.at, b.at, b.at
		return n, nil
	}
	first, err := b.offset(y.Line, y.Column)
	if err != nil {
		return nil, err
	}
	if first < b.at {
		return nil, b.misplaced(y, "out of order")
	}
	n.first, b.at = first, first
	b.properties(y)
	n.start = b.at
	if y.Anchor != "" {
		b.anchors[y] = n
	}
	switch y.Kind {
	case yaml.AliasNode:
		n.kind = alias
		if b.peek() != '*' {
			return nil, b.misplaced(y, "no alias here")
		}
		b.at += 1 + len(y.Value)
		b.shared[y.Alias]++
	case yaml.MappingNode:
		n.kind = mapping
		n.flow = y.Style&yaml.FlowStyle != 0
		err = b.buildMapping(n, depth)
	case yaml.SequenceNode:
		n.kind = sequence
		n.flow = y.Style&yaml.FlowStyle != 0
		err = b.buildSequence(n, depth)
	default:
		b.at, err = b.scalarEnd(n)
	}
	n.end = b.at
	return n, err
}

// properties skips the anchor and tag of y.
func (b *builder) properties(y *yaml.Node) {
	count := 0
	if y.Anchor != "" {
		count++
	}
	if y.Style&yaml.TaggedStyle != 0 {
		count++
	}
	for range count {
		if c := b.peek(); c != '&' && c != '!' {
			return
		}
		for b.at < len(b.data) && !strings.ContainsRune(" \t\r\n", rune(b.data[b.at])) {
			b.at++
		}
		behind := b.at
		b.trivia()
		if y.Kind == yaml.ScalarNode && y.Value == "" && y.Style&^yaml.TaggedStyle == 0 {
			b.at = behind
		}
	}
}

func (b *builder) buildMapping(n *node, depth int) error {
	y := n.y
	if n.flow {
		if b.peek() == '{' {
			b.at++
		} else {
			n.bare = true
		}
	}
	for i := 0; i+1 < len(y.Content); i += 2 {
		b.trivia()
		if n.flow && !n.bare && i > 0 && b.peek() == ',' {
			b.at++
			b.trivia()
		}
		p := pair{colon: -1}
		if b.peek() == '?' && y.Content[i].Column > 0 && !b.startsHere(y.Content[i]) {
			p.explicit = true
			b.at++
			b.trivia()
		}
		var err error
		if p.key, err = b.build(y.Content[i], n, n.flow, depth+1); err != nil {
			return err
		}
		behind := b.at
		b.trivia()
		if b.peek() == ':' {
			p.colon = b.at
			b.at++
			behind = b.at
		} else if !n.flow && !p.explicit {
			return b.misplaced(y.Content[i], "no colon behind this key")
		}
		b.at = behind
		if p.value, err = b.build(y.Content[i+1], n, n.flow, depth+1); err != nil {
			return err
		}
		n.pairs = append(n.pairs, p)
	}
	if n.flow && !n.bare {
		return b.closing(y, '}')
	}
	return nil
}

func (b *builder) buildSequence(n *node, depth int) error {
	y := n.y
	if n.flow {
		if b.peek() != '[' {
			return b.misplaced(y, "no list here")
		}
		b.at++
	}
	for i, c := range y.Content {
		b.trivia()
		if n.flow && i > 0 && b.peek() == ',' {
			b.at++
			b.trivia()
		}
		if !n.flow {
			if b.peek() != '-' {
				return b.misplaced(c, "no dash before this entry")
			}
			n.dashes = append(n.dashes, b.at)
			b.at++
		}
		item, err := b.build(c, n, n.flow, depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	if n.flow {
		return b.closing(y, ']')
	}
	return nil
}

func (b *builder) closing(y *yaml.Node, bracket byte) error {
	b.trivia()
	if b.peek() == ',' {
		b.at++
		b.trivia()
	}
	if b.peek() != bracket {
		return b.misplaced(y, "no closing bracket found")
	}
	b.at++
	return nil
}

func (b *builder) startsHere(y *yaml.Node) bool {
	at, err := b.offset(y.Line, y.Column)
	return err == nil && at == b.at
}

func (b *builder) peek() byte {
	if b.at < len(b.data) {
		return b.data[b.at]
	}
	return 0
}

// trivia skips white space, line breaks, comments and byte order marks.
func (b *builder) trivia() {
	for b.at < len(b.data) {
		switch c := b.data[b.at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			b.at++
		case c == '#' && (b.at == 0 || strings.ContainsRune(" \t\n", rune(b.data[b.at-1])) || b.at == len(bom)):
			b.at = b.lineEnd(b.at)
		case bytes.HasPrefix(b.data[b.at:], bom):
			b.at += len(bom)
		default:
			return
		}
	}
}
