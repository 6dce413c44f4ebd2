package render

import (
	"bytes"
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// maxExpanded is how many YAML nodes a document may come to once its aliases are written out.
const maxExpanded = 2_000_000

// harmless refuses YAML whose aliases go round in circles or grow without end. Kustomize writes aliases
// out by copying: the first would overflow its stack, which no recover catches, the second its memory.
func harmless(name string, data []byte) error {
	if !bytes.ContainsRune(data, '&') || !bytes.ContainsRune(data, '*') {
		return nil
	}
	if err := harmlessStream(data, 0); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// maxNested is how deep YAML may lie in strings of YAML: a patch in a transformer in a kustomization.
const maxNested = 4

func harmlessStream(data []byte, depth int) error {
	if depth > maxNested {
		return nil
	}
	for _, doc := range split(data) {
		var root yamlv3.Node
		if yamlv3.Unmarshal(doc.text, &root) != nil {
			continue // what does not parse is not expanded either
		}
		e := expansion{sizes: map[*yamlv3.Node]int64{}, depth: depth}
		if _, err := e.size(&root); err != nil {
			return fmt.Errorf("document %d: %w", doc.index, err)
		}
	}
	return nil
}

// expansion counts the nodes of one document with its aliases written out.
type expansion struct {
	// sizes has 0 for a node that is being counted.
	sizes map[*yamlv3.Node]int64
	depth int
}

func (e *expansion) size(n *yamlv3.Node) (int64, error) {
	if known, ok := e.sizes[n]; ok {
		if known == 0 {
			return 0, fmt.Errorf("a YAML alias contains itself")
		}
		return known, nil
	}
	e.sizes[n] = 0
	total := int64(1)
	next := n.Content
	if n.Kind == yamlv3.AliasNode {
		next = []*yamlv3.Node{n.Alias}
	}
	for _, child := range next {
		size, err := e.size(child)
		if err != nil {
			return 0, err
		}
		if total += size; total > maxExpanded {
			return 0, fmt.Errorf("%w: YAML aliases come to more than %d nodes", ErrLimit, maxExpanded)
		}
	}
	if n.Kind == yamlv3.ScalarNode && strings.ContainsRune(n.Value, '&') && strings.ContainsRune(n.Value, '*') {
		if err := harmlessStream([]byte(n.Value), e.depth+1); err != nil {
			return 0, err
		}
	}
	e.sizes[n] = total
	return total, nil
}
