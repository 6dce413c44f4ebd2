package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"

	"go.yaml.in/yaml/v3"
)

// Marshal writes the policy as one document that Decode reads: its own rules, then those of the built-in
// policy that it extends. Floors are no part of it.
func (p *Policy) Marshal() ([]byte, error) {
	document := Document{APIVersion: "holdfast/v1", Kind: "Policy", Tier: p.Tier, ImageRewrites: p.ImageRewrites}
	taken := map[string]bool{}
	for _, r := range p.rules {
		rule := *r
		if taken[rule.Name] { // of the extended policy, with a name that the policy uses itself
			rule.Name = path.Base(r.file) + "/" + rule.Name
		}
		taken[rule.Name] = true
		document.Rules = append(document.Rules, rule)
	}
	for _, e := range p.exceptions {
		if e.command == nil { // else the ledger has it
			document.Exceptions = append(document.Exceptions, *e)
		}
	}
	return MarshalYAML(document)
}

// MarshalYAML writes a value whose keys are json tags as YAML, keys in the order of the struct. Lists of
// texts stand on one line.
func MarshalYAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	plain(&node)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return out.Bytes(), encoder.Close()
}

// plain takes JSON's quotes and braces away; the encoder quotes again where a text would read as something
// else.
func plain(node *yaml.Node) {
	scalars := node.Kind == yaml.SequenceNode
	for _, child := range node.Content {
		plain(child)
		scalars = scalars && child.Kind == yaml.ScalarNode
	}
	node.Style = 0
	if scalars {
		node.Style = yaml.FlowStyle
	}
}
