package render

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
)

// Naming gives the objects of the given API groups in the YAML and JSON files of a tree, as written. A file
// that mentions one of the groups and does not parse is a problem; other files are not read.
func Naming(tree gitops.Tree, groups ...string) ([]gitops.Declared, []gitops.EngineProblem) {
	var out []gitops.Declared
	var problems []gitops.EngineProblem
	for _, name := range tree.Paths("") {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" && ext != ".json" || strings.HasPrefix(name, "$") {
			continue
		}
		file, _ := tree.File(name)
		mentions := func(group string) bool { return bytes.Contains(file.Data, []byte(group)) }
		if file.Mode == gitops.Symlink || !slices.ContainsFunc(groups, mentions) {
			continue
		}
		objects, wrong := File(name, file.Data)
		for _, o := range objects {
			if slices.Contains(groups, o.ID.Group) {
				out = append(out, o)
			}
		}
		for _, p := range wrong {
			if p.Kind == Syntax {
				problems = append(problems, gitops.EngineProblem{File: name, Document: p.Document, Kind: gitops.Syntax, Message: p.Message})
			}
		}
	}
	return out, problems
}
