package main

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
)

// substituted replaces Flux's variables in built objects, an object at a time
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution). Without any
// variable Flux leaves the objects alone.
func substituted(made objects, variables map[string]any) (objects, error) {
	if len(variables) == 0 {
		return made, nil
	}
	out := objects{}
	for id, content := range made {
		metadata := mapOf(content["metadata"])
		const key = "kustomize.toolkit.fluxcd.io/substitute"
		if mapOf(metadata["labels"])[key] == "disabled" || mapOf(metadata["annotations"])[key] == "disabled" {
			out[id] = content
			continue
		}
		text, err := yaml.Marshal(content)
		if err != nil {
			return nil, err
		}
		replaced, err := expand(string(text), variables)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		docs, err := documents([]byte(replaced))
		if err != nil || len(docs) != 1 {
			return nil, fmt.Errorf("%s: after the replacement of variables: %d objects, %w", id, len(docs), err)
		}
		out[gitops.NewObject(docs[0]).ID] = docs[0]
	}
	return out, nil
}

var variable = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-=])([^{}]*))?\}|\$\{[^}]*\}`)

// expand replaces ${NAME}, ${NAME:-default} and ${NAME:=default}; $$ is a dollar sign. Other expressions are
// an error, since nothing here judges them.
func expand(text string, variables map[string]any) (string, error) {
	var wrong []string
	out := variable.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		m := variable.FindStringSubmatch(found)
		value, known := variables[m[1]]
		switch {
		case m[1] == "":
			wrong = append(wrong, found)
		case known && (fmt.Sprint(value) != "" || !strings.HasPrefix(m[2], ":")):
			return fmt.Sprint(value)
		}
		return m[3]
	})
	if len(wrong) > 0 {
		return "", fmt.Errorf("%s: %w", strings.Join(wrong, " "), errOwn)
	}
	return out, nil
}
