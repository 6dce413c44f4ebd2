package live

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxAliases bounds what anchors may expand to.
const maxAliases = 10_000

// yamlValue reads one YAML document as plain JSON values. A dump is what an API server said, so it is read
// by the rules of YAML 1.2: y, n, yes, no, on and off are text, which printers leave unquoted, and so is a
// time. Repeated keys are refused.
func yamlValue(data []byte) (any, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, err
	}
	if root.Kind == 0 {
		return nil, nil
	}
	r := yamlReader{}
	return r.value(root.Content[0])
}

type yamlReader struct{ aliases int }

func (r *yamlReader) value(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		return r.mapping(n)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := r.value(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.AliasNode:
		if r.aliases++; r.aliases > maxAliases {
			return nil, errors.New("too many aliases")
		}
		return r.value(n.Alias)
	}
	return scalar(n)
}

func (r *yamlReader) mapping(n *yaml.Node) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			return nil, fmt.Errorf("line %d: a key that is no text has no place in an object", key.Line)
		}
		if _, twice := out[key.Value]; twice {
			return nil, fmt.Errorf("line %d: key %q already set in map", key.Line, key.Value)
		}
		v, err := r.value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		out[key.Value] = v
	}
	return out, nil
}

func scalar(n *yaml.Node) (any, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		return n.Value[0] == 't' || n.Value[0] == 'T', nil
	case "!!int":
		var i int64
		if err := n.Decode(&i); err == nil {
			return i, nil
		}
		return strconv.ParseFloat(n.Value, 64)
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return nil, fmt.Errorf("line %d: no number that JSON knows", n.Line)
		}
		return f, nil
	}
	return n.Value, nil
}
