package codify

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// place is one source of a chart's values that may be written to.
type place struct {
	kind placeKind
	// name is the file, or the object, that people know it by; label the part of it.
	name, label string
	// rank orders places: a later one outranks an earlier one.
	rank int
	file string
	data []byte
	doc  int
	// at is where the values stand in the document, and content what stands there.
	at      gitops.Path
	content any
	// parameter is what a parameter sets, for one that is there; text that it is forced to be a text.
	parameter gitops.Path
	text      bool
	// general says that the place is meant for more than this Application, though nobody else is known to read it;
	// others that others are known to.
	general, others bool
	// engine is the engine's own object, for places in it.
	engine *gitops.ObjectID
	// via is the object that holds the values, where another member declares it; made is the object that is made of
	// file. allow is the field of either that moves with the values.
	via, made *provided
	allow     gitops.Path
}

type placeKind int

const (
	valuesFile   placeKind = iota
	inlineValues           // a mapping of the engine's object
	textValues             // YAML in a text of the engine's object
	oneParameter           // an Argo CD parameter
	oneText                // a text that is one value: a key of a ConfigMap with a target path
	wholeFile              // a file that is one value
	ownValues              // the chart's own values.yaml
)

// ownRank is below that of everything that an Application says.
const ownRank = math.MinInt

// places lists where the release's values may be written, the lowest rank first. What lies outside of the
// repository, in a cluster or in an archive is not among them.
func (r *chartRelease) places(s site) []place {
	var out []place
	if p, ok := filePlace(s.tree, path.Join(r.path, "values.yaml")); ok && len(r.how.Helm.ValuesFiles) == 0 {
		p.kind, p.rank, p.general = ownValues, ownRank, true
		out = append(out, p)
	}
	for i, v := range r.how.Helm.ValuesFiles {
		if p, ok := filePlace(s.tree, v.File); ok {
			p.rank = ownRank + 1 + i
			if path.Clean(v.File) == path.Join(r.path, "values.yaml") {
				p.kind, p.general = ownValues, true
			}
			out = append(out, p)
		}
	}
	object, engine := s.engineObject()
	for i, v := range r.how.Helm.Values {
		p, ok := place{}, false
		switch {
		case v.File != "":
			p, ok = filePlace(s.tree, v.File)
			if path.Clean(v.File) == path.Join(r.path, "values.yaml") {
				p.general = true
			}
		case v.From != nil:
			p, ok = s.configPlace(r, i)
		case v.Parameter != nil && len(v.At) == 0:
			p, ok = s.overridePlace(r, *v.Parameter)
		case v.Parameter != nil && v.Parameter.File != "":
			p, ok = s.parameterFile(*v.Parameter)
		case len(v.At) > 0 && engine != nil:
			p, ok = object.within(v), true
		}
		if ok {
			p.rank = i
			out = append(out, p)
		}
	}
	if engine != nil {
		out = append(out, r.newInline(object)...)
	}
	var files []*place
	for i := range out {
		if out[i].kind == valuesFile {
			files = append(files, &out[i])
		}
	}
	for i, p := range files {
		p.others = s.others(p.file)
		p.general = p.general || slices.ContainsFunc(files[i+1:], func(later *place) bool { return widerThan(p.file, later.file) })
	}
	return out
}

// filePlace is a values file of the repository itself.
func filePlace(tree gitops.Tree, file string) (place, bool) {
	data, ok := tree.Read(file)
	if !ok || file == "" || strings.HasPrefix(file, "$") {
		return place{}, false
	}
	docs, err := splice.Documents(data)
	if err != nil || len(docs) > 1 {
		return place{}, false
	}
	p := place{kind: valuesFile, name: path.Clean(file), file: linked(tree, file), data: data}
	if len(docs) == 1 {
		p.content = docs[0]
	}
	return p, true
}

// widerThan tells by their names that the values file a is meant for more than b: it has a name that says so, it
// has b's name in another folder, or b's name goes on where a's ends (values.yaml, values-prod.yaml).
func widerThan(a, b string) bool {
	stem := func(file string) string {
		name := strings.ToLower(path.Base(file))
		return strings.TrimSuffix(strings.TrimSuffix(name, path.Ext(name)), ".enc")
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(a), func(r rune) bool { return r == '/' || r == '-' || r == '_' || r == '.' }) {
		if slices.Contains([]string{"common", "base", "default", "defaults", "shared", "global", "all"}, word) {
			return true
		}
	}
	if path.Dir(a) != path.Dir(b) {
		return stem(a) == stem(b)
	}
	return stem(a) != stem(b) && strings.HasPrefix(stem(b), stem(a))
}

// within is the place of a source of values in the engine's object.
func (p place) within(v gitops.Values) place {
	object := p.content
	p.at, p.content = v.At, gitops.Lookup(object, v.At).V
	switch {
	case v.Parameter != nil:
		p.kind, p.parameter, p.text = oneParameter, parameterPath(v.Parameter.Name), v.Parameter.String
		p.label = "the parameter " + v.Parameter.Name
	case v.Text != "":
		p.kind, p.label = textValues, v.At.String()
	default:
		p.kind, p.label = inlineValues, v.At.String()
	}
	return p
}

// newInline is the place of inline values that the engine's object does not have yet: over files and valuesFrom,
// below parameters.
func (r *chartRelease) newInline(object place) []place {
	rank := 0
	for i, v := range r.how.Helm.Values {
		switch {
		case v.Inline != nil || v.Text != "":
			return nil
		case v.File != "" || v.From != nil:
			rank = i + 1
		}
	}
	p := object
	p.kind, p.content, p.rank = inlineValues, nil, rank
	switch object.engine.Kind {
	case "HelmRelease":
		p.at = gitops.Path{gitops.Field("spec"), gitops.Field("values")}
	case "Application":
		source := r.sourceIn(object.content)
		if source == nil {
			return nil
		}
		p.at = append(source, gitops.Field("helm"), gitops.Field("valuesObject"))
	default:
		return nil
	}
	p.label = p.at.String()
	return []place{p}
}

// sourceIn finds the source of an Argo CD Application that this release is of: by the place of its other values,
// else by its path, or by its number among the charts.
func (r *chartRelease) sourceIn(object any) gitops.Path {
	for _, v := range r.how.Helm.Values {
		if i := slices.IndexFunc(v.At, func(s gitops.Step) bool { return s.Field == "helm" }); i > 0 {
			return slices.Clone(v.At[:i])
		}
	}
	spec := gitops.Path{gitops.Field("spec")}
	list, many := gitops.Lookup(object, spec.Child(gitops.Field("sources"))).V.([]any)
	if !many {
		one := spec.Child(gitops.Field("source"))
		if gitops.Lookup(object, one).Set {
			return one
		}
		return nil
	}
	var found []int
	charts := 0
	for i, e := range list {
		m, _ := e.(map[string]any)
		where, _ := m["path"].(string)
		mount := ""
		if m["chart"] != nil {
			if charts++; charts > 1 {
				mount = strconv.Itoa(charts)
			}
			mount = "$chart" + mount
		}
		if mount == r.path || where != "" && (path.Clean(where) == r.path || strings.HasPrefix(r.path, "$") && strings.HasSuffix(r.path, "/"+path.Clean(where))) {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return spec.Child(gitops.Field("sources")).Child(gitops.Index(found[0]))
}

// parameterPath reads the name of a parameter, a.b[0].c, in which a backslash keeps a dot; nil for another form.
func parameterPath(name string) gitops.Path {
	var out gitops.Path
	word := ""
	flush := func() {
		if word != "" {
			out = append(out, gitops.Field(word))
		}
		word = ""
	}
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == '\\' && i+1 < len(name):
			i++
			word += name[i : i+1]
		case name[i] == '.':
			flush()
		case name[i] == '[':
			flush()
			end := strings.IndexByte(name[i:], ']')
			if end < 0 {
				return nil
			}
			n, err := strconv.Atoi(name[i+1 : i+end])
			if err != nil || n < 0 {
				return nil
			}
			out = append(out, gitops.Index(n))
			i += end
		default:
			word += name[i : i+1]
		}
	}
	flush()
	return out
}
