package codify

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// configPlace is a ConfigMap of valuesFrom that a member declares: the file that a generator makes it of, else the
// text in the object. A Secret is no place.
func (s site) configPlace(r *chartRelease, i int) (place, bool) {
	from := r.how.Helm.Values[i].From
	own, ok := s.configObject(configRef{index: i}, from.Name)
	if from.Kind != "ConfigMap" || !ok || r.part >= 0 {
		return place{}, false
	}
	d, _ := s.work.now.renders[own.member].find(own.id)
	at := gitops.Path{gitops.Field("data"), gitops.Field(from.Key)}
	text, isText := splice.Lookup(d.Content, at).V.(string)
	if !isText {
		return place{}, false
	}
	p := place{kind: textValues, name: own.id.String(), label: at.String(), via: &own, allow: at, at: at, content: text}
	if from.TargetPath != "" {
		p.kind, p.parameter, p.text = oneText, parameterPath(from.TargetPath), from.Literal
		return p, true
	}
	if file, ok := s.generatedFrom(own, d, from.Key); ok {
		if f, ok := filePlace(s.tree, file); ok {
			f.made, f.allow = &own, at
			return f, true
		}
	}
	return p, true
}

// configObject is the ConfigMap behind a reference of the Application, where a member declares it.
func (s site) configObject(ref configRef, name string) (provided, bool) {
	if s.work == nil || s.member < 0 || s.work.members[s.member].inputs == nil {
		return provided{}, false
	}
	in := s.work.members[s.member].inputs
	member, ok := in.configs[ref]
	if !ok {
		return provided{}, false
	}
	namespace := s.app.Namespace
	if in.object != nil && in.object.element == nil {
		namespace = in.object.id.Namespace
	}
	d, ok := configIn(s.work.now.renders[member], namespace, name)
	return provided{member: member, id: d.ID}, ok
}

// generatedFrom gives the file of which a configMapGenerator makes a key of a ConfigMap.
func (s site) generatedFrom(p provided, d gitops.Declared, key string) (string, bool) {
	if !slices.ContainsFunc(d.Origin.Transformers, func(t gitops.Transformer) bool { return t.Kind == "ConfigMapGenerator" }) {
		return "", false
	}
	for _, l := range layersIf(s.tree, s.work.now.renders[p.member].app) {
		for _, v := range l.list("configMapGenerator") {
			entry, _ := v.(map[string]any)
			if entry["name"] != d.Origin.Written.Name {
				continue
			}
			files, _ := entry["files"].([]any)
			for _, f := range files {
				text, _ := f.(string)
				name, file, named := strings.Cut(text, "=")
				if !named {
					name, file = path.Base(text), text
				}
				if name == key {
					return path.Join(l.dir, file), true
				}
			}
		}
	}
	return "", false
}

// parameterFile is the file that is the value of a parameter (Argo CD's fileParameters).
func (s site) parameterFile(v gitops.Parameter) (place, bool) {
	data, ok := s.tree.Read(v.File)
	if !ok || strings.HasPrefix(v.File, "$") {
		return place{}, false
	}
	return place{
		kind: wholeFile, name: path.Clean(v.File), label: "the parameter " + v.Name, file: linked(s.tree, v.File), data: data, parameter: parameterPath(v.Name),
	}, true
}

// overridePlace is a parameter in a file beside the chart, which takes the place of the Application's own ones
// (https://argo-cd.readthedocs.io/en/stable/user-guide/parameters/#store-overrides-in-git).
func (s site) overridePlace(r *chartRelease, v gitops.Parameter) (place, bool) {
	file, data, options := s.override(r.path, "helm")
	parameters := gitops.Path{gitops.Field("helm"), gitops.Field("parameters")}
	list, _ := gitops.Lookup(options, parameters).V.([]any)
	i := slices.IndexFunc(list, func(e any) bool {
		m, _ := e.(map[string]any)
		return m["name"] == v.Name
	})
	if i < 0 {
		return place{}, false
	}
	return place{
		kind: oneParameter, name: file, label: "the parameter " + v.Name, file: linked(s.tree, file), data: data,
		at: parameters.Child(gitops.Index(i)), content: list[i], parameter: parameterPath(v.Name), text: v.String,
	}, true
}

// override finds the file of overrides in a source's folder that says something of helm or kustomize. Of several the
// last one counts, since its lists replace those of the others.
func (s site) override(folder, of string) (file string, data []byte, options map[string]any) {
	for _, name := range overrideFiles(s.app) {
		text, ok := s.tree.Read(path.Join(folder, name))
		var content map[string]any
		if !ok || yaml.Unmarshal(text, &content) != nil || content[of] == nil {
			continue
		}
		file, data = path.Join(folder, name), text
		options, _ = splice.Normal(content).(map[string]any)
	}
	return file, data, options
}
