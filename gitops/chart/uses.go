package chart

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"holdfast/gitops"
)

// All gives the values as the templates get them: those of the Application over the chart's own, those of a
// dependency below its name.
func (v *Values) All(c *Chart) map[string]any {
	return loader.MergeMaps(c.defaults(), gitops.Clone(v.Merged).(map[string]any))
}

var (
	reference  = regexp.MustCompile(`\.Values((?:\.[A-Za-z_]\w*)*)`)
	indexed    = regexp.MustCompile(`index\s+[$.\w]*\.Values((?:\.[A-Za-z_]\w*)*)((?:\s+"[^"]+")+)`)
	quotedKey  = regexp.MustCompile(`"([^"]+)"`)
	definition = regexp.MustCompile(`\{\{-?\s*(?:define|block)\s+"([^"]+)"`)
	relative   = regexp.MustCompile(`(?:^|[\s({]|\$\w+)\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)`)
	inclusion  = regexp.MustCompile(`(?:include|template)\s+"([^"]+)"`)
)

// builtin are the objects that Helm gives to every template (https://helm.sh/docs/chart_template_guide/builtin_objects/).
var builtin = []string{"Values", "Release", "Chart", "Files", "Capabilities", "Template", "Subcharts"}

// References lists the values that a template's text names, each once: .Values.a.b and index .Values "a" "b". An
// empty path stands for all of them.
func References(text string) []gitops.Path {
	found := map[string]gitops.Path{}
	for _, m := range indexed.FindAllStringSubmatch(text, -1) {
		path := dotted(m[1])
		for _, key := range quotedKey.FindAllStringSubmatch(m[2], -1) {
			path = path.Child(gitops.Field(key[1]))
		}
		found[path.String()] = path
	}
	for _, m := range reference.FindAllStringSubmatch(indexed.ReplaceAllString(text, ""), -1) {
		path := dotted(m[1])
		found[path.String()] = path
	}
	out := make([]gitops.Path, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out
}

// Uses lists the values that a template names, itself or in the named templates that it includes, in the words of
// the root chart, and those on which it hangs whether its chart is rendered at all. file is the template in the tree, or the archive that holds it. What a template reaches by other
// ways, such as a name made at run time, is not seen.
func (c *Chart) Uses(file string) []gitops.Path {
	named := map[string]string{}
	c.root.definitions(named)
	found := map[string]gitops.Path{}
	c.root.uses(file, nil, named, found)
	out := make([]gitops.Path, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out
}

// definitions adds the texts of the named templates of a chart and its dependencies.
func (p *part) definitions(into map[string]string) {
	for _, f := range p.files {
		if !strings.HasPrefix(f.Name, "templates/") {
			continue
		}
		text := string(f.Data)
		starts := definition.FindAllStringSubmatchIndex(text, -1)
		for i, m := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			into[text[m[2]:m[3]]] = text[m[1]:end]
		}
	}
	for _, s := range p.subs {
		s.definitions(into)
	}
}

// uses adds what the templates of file name; below is where the chart's values lie in those of the root.
func (p *part) uses(file string, below gitops.Path, named map[string]string, into map[string]gitops.Path) {
	for _, f := range p.files {
		if !strings.HasPrefix(f.Name, "templates/") || p.place(f.Name) != file {
			continue
		}
		for _, text := range included(string(f.Data), named) {
			for _, ref := range References(text) {
				path := slices.Concat(below, ref)
				into[path.String()] = path
				if len(ref) > 0 && ref[0].Field == "global" {
					into[ref.String()] = ref
				}
			}
		}
	}
	for name, sub := range p.named() {
		found := map[string]gitops.Path{}
		sub.uses(file, below.Child(gitops.Field(name)), named, found)
		if len(found) == 0 && !sub.holds(file) {
			continue
		}
		maps.Copy(into, found)
		for _, path := range p.conditions(name) {
			path = slices.Concat(below, path)
			into[path.String()] = path
		}
	}
}

// holds says whether a file is a template of the chart or of one below it.
func (p *part) holds(file string) bool {
	return slices.ContainsFunc(p.files, func(f *archive.BufferedFile) bool {
		return strings.HasPrefix(f.Name, "templates/") && p.place(f.Name) == file
	}) ||
		slices.ContainsFunc(p.subs, func(s *part) bool { return s.holds(file) })
}

// conditions are the values that switch a dependency on and off: those of its condition, and its tags
// (https://helm.sh/docs/topics/charts/#the-chart-file).
func (p *part) conditions(name string) []gitops.Path {
	var out []gitops.Path
	for _, d := range p.metadata.Dependencies {
		if d.Alias != name && (d.Alias != "" || d.Name != name) {
			continue
		}
		for _, condition := range strings.Split(d.Condition, ",") {
			if path := dotted(strings.TrimSpace(condition)); len(path) > 0 {
				out = append(out, path)
			}
		}
		for _, tag := range d.Tags {
			out = append(out, gitops.Path{gitops.Field("tags"), gitops.Field(tag)})
		}
	}
	return out
}

// Fields lists the fields that a template, itself or in the named templates that it includes, asks of what it is at: of
// a value that it goes into by with or range, or that a named template is given. Which value that is, the text alone does
// not tell.
func (c *Chart) Fields(file string) []gitops.Path {
	named := map[string]string{}
	c.root.definitions(named)
	found := map[string]gitops.Path{}
	c.root.fields(file, named, found)
	out := make([]gitops.Path, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[key])
	}
	return out
}

func (p *part) fields(file string, named map[string]string, into map[string]gitops.Path) {
	for _, f := range p.files {
		if strings.HasPrefix(f.Name, "templates/") && p.place(f.Name) == file {
			for _, text := range included(string(f.Data), named) {
				for _, m := range relative.FindAllStringSubmatch(text, -1) {
					if path := dotted(m[1]); !slices.Contains(builtin, path[0].Field) {
						into[path.String()] = path
					}
				}
			}
		}
	}
	for _, s := range p.subs {
		s.fields(file, named, into)
	}
}

// included gives a template's text and those of the named templates that it includes.
func included(text string, named map[string]string) []string {
	seen, out := map[string]bool{}, []string{text}
	for i := 0; i < len(out); i++ {
		for _, m := range inclusion.FindAllStringSubmatch(out[i], -1) {
			if !seen[m[1]] {
				seen[m[1]] = true
				out = append(out, named[m[1]])
			}
		}
	}
	return out
}
