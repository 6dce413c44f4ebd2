package chart

import (
	"slices"
	"strings"

	"holdfast/gitops"
)

// Provenance tells which sources set a value of a chart.
type Provenance struct {
	values *Values
	chart  *Chart
}

// Source is one place that sets a value.
type Source struct {
	// Entry is the index in gitops.Helm.Values; -1 is a chart's own values.yaml, or a file that stands in for it.
	Entry int
	// File is the file in the tree: a values file, the file of a parameter, a values.yaml, or the archive that holds
	// it. It is empty for what stands in the engine's object or in a cluster.
	File string
	// Packed says that File is an archive.
	Packed bool
	// Path is where the value stands in the source: for a dependency's own values without its name in front. It is
	// shorter than what was asked for where the source sets a whole list, or something that is no mapping, above it.
	Path gitops.Path
}

// Provenance answers for the values as the chart gets them.
func (v *Values) Provenance(c *Chart) Provenance { return Provenance{values: v, chart: c} }

// Of gives the sources that set the value at path, or something below it, the winner first: the Application's
// sources from the last to the first, then the chart's own values, then those of the dependency that the path
// leads into, then values that the chart imports from dependencies. Path is in the words of the root chart:
// a value of the dependency db begins with db. A value under a dependency's global is looked for under the
// parents' global first, since that wins.
func (p Provenance) Of(path gitops.Path) []Source {
	if len(path) == 0 {
		return nil
	}
	return p.of(path, map[string]bool{})
}

func (p Provenance) of(path gitops.Path, seen map[string]bool) []Source {
	if seen[path.String()] {
		return nil
	}
	seen[path.String()] = true
	var out []Source
	if at := slices.IndexFunc(path, func(s gitops.Step) bool { return s.Field == "global" }); at > 0 && p.chart.root.at(path[:at]) != nil {
		out = p.of(slices.Concat(path[:at-1], path[at:]), seen)
	}
	for _, l := range slices.Backward(p.values.layers) {
		if found, ok := sets(l.set, path, l.sparse); ok {
			out = append(out, Source{Entry: l.entry, File: l.file, Path: found})
		}
	}
	out = append(out, p.chart.root.own(path)...)
	for _, imported := range p.chart.root.imports(path) {
		out = append(out, p.of(imported, seen)...)
	}
	return out
}

// own gives the charts' own values files that set a value, parents before dependencies.
func (p *part) own(path gitops.Path) []Source {
	var out []Source
	for _, l := range slices.Backward(p.replaced) {
		if found, ok := sets(l.set, path, l.sparse); ok {
			out = append(out, Source{Entry: -1, File: l.file, Path: found})
		}
	}
	if found, ok := sets(p.values, path, false); ok && p.replaced == nil {
		out = append(out, Source{Entry: -1, File: p.place(valuesFile), Packed: p.packed, Path: found})
	}
	if sub := p.named()[path[0].Field]; sub != nil && len(path) > 1 {
		out = append(out, sub.own(path[1:])...)
	}
	return out
}

// at gives the dependency whose values lie at path.
func (p *part) at(path gitops.Path) *part {
	for _, s := range path {
		if p = p.named()[s.Field]; p == nil {
			return nil
		}
	}
	return p
}

// imports gives where a value comes from that a dependency's import-values put into its parent.
func (p *part) imports(path gitops.Path) []gitops.Path {
	var out []gitops.Path
	for _, d := range p.metadata.Dependencies {
		name := d.Name
		if d.Alias != "" {
			name = d.Alias
		}
		for _, entry := range d.ImportValues {
			var child, parent string
			switch entry := entry.(type) {
			case string:
				child, parent = "exports."+entry, "."
			case map[string]any:
				child, _ = entry["child"].(string)
				parent, _ = entry["parent"].(string)
			}
			into := dotted(parent)
			if child == "" || !path.HasPrefix(into) || path[0].Field == name { // its own values are no import
				continue
			}
			out = append(out, slices.Concat(gitops.Path{gitops.Field(name)}, dotted(child), path[len(into):]))
		}
	}
	return out
}

func dotted(text string) gitops.Path {
	var out gitops.Path
	for _, name := range strings.Split(text, ".") {
		if name != "" {
			out = append(out, gitops.Field(name))
		}
	}
	return out
}

// sets says whether a table sets the value at path or below it, and gives the path as far as it goes.
func sets(table map[string]any, path gitops.Path, sparse bool) (gitops.Path, bool) {
	var at any = table
	for i, step := range path {
		switch v := at.(type) {
		case map[string]any:
			next, there := v[step.Field]
			if !step.IsField() || !there {
				return nil, false
			}
			at = next
		case []any:
			n := step.Index
			if step.IsEntry() {
				n = gitops.FindEntry(v, step.Keys)
			}
			if step.IsField() || n < 0 || n >= len(v) || sparse && v[n] == nil {
				return path[:i], !sparse
			}
			at = v[n]
		default:
			return path[:i], true // something that is no mapping hides all that lies below it
		}
	}
	return path, true
}
