package chart

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"holdfast/gitops"
)

// All gives the values as the templates get them: those of the Application over the chart's own, those of a
// dependency below its name.
func (v *Values) All(c *Chart) map[string]any {
	return loader.MergeMaps(c.defaults(), clone(v.Merged).(map[string]any))
}

var (
	reference  = regexp.MustCompile(`\.Values((?:\.[A-Za-z_]\w*)*)`)
	indexed    = regexp.MustCompile(`index\s+[$.\w]*\.Values((?:\.[A-Za-z_]\w*)*)((?:\s+"[^"]+")+)`)
	quotedKey  = regexp.MustCompile(`"([^"]+)"`)
	definition = regexp.MustCompile(`\{\{-?\s*(?:define|block)\s+"([^"]+)"`)
	inclusion  = regexp.MustCompile(`(?:include|template)\s+"([^"]+)"`)
)

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
// the root chart. file is the template in the tree, or the archive that holds it. What a template reaches by other
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
		seen, texts := map[string]bool{}, []string{string(f.Data)}
		for len(texts) > 0 {
			text := texts[0]
			texts = texts[1:]
			for _, ref := range References(text) {
				path := slices.Concat(below, ref)
				into[path.String()] = path
				if len(ref) > 0 && ref[0].Field == "global" {
					into[ref.String()] = ref
				}
			}
			for _, m := range inclusion.FindAllStringSubmatch(text, -1) {
				if !seen[m[1]] {
					seen[m[1]] = true
					texts = append(texts, named[m[1]])
				}
			}
		}
	}
	for name, sub := range p.named() {
		sub.uses(file, below.Child(gitops.Field(name)), named, into)
	}
}
