package codify

import (
	"errors"
	"slices"
	"strings"

	"holdfast/gitops"
)

// asWritten gives the site with the names of other objects as source files have them, before prefixes, suffixes and
// hashes: a reference that is written so follows its object. ok is false where nothing reads otherwise then.
func (s site) asWritten() (out site, ok bool) {
	names := s.writtenNames()
	if len(names) == 0 {
		return s, false
	}
	out = s
	touched := false
	back := func(v any, at []string) any {
		now, changed := gitops.RewriteTexts(v, at, names.back)
		touched = touched || changed
		return now
	}
	trail := fieldsOf(s.change.Path)
	if s.change.After.Set {
		out.change.After.V = back(s.change.After.V, trail)
	}
	out.change.Path = slices.Clone(s.change.Path)
	for i, step := range s.change.Path {
		if !step.IsEntry() {
			continue
		}
		keys := slices.Clone(step.Keys)
		for j, k := range keys {
			if text, isText := back(k.Value, append(fieldsOf(s.change.Path[:i]), k.Name)).(string); isText {
				keys[j].Value = text
			}
		}
		out.change.Path[i] = gitops.Entry(keys...)
	}
	// A patch may repeat the list that the change lies in, and looks for neighbours in it.
	if list := slices.IndexFunc(s.change.Path, func(step gitops.Step) bool { return !step.IsField() }); list >= 0 || touched {
		out.declared.Content, _ = back(s.declared.Content, nil).(map[string]any)
		out.live.Content, _ = back(s.live.Content, nil).(map[string]any)
	}
	return out, touched
}

// inBothSpellings gives the candidates with other objects' names as sources have them, then with those as rendered.
// A reference that follows the hash of a generated name is never pinned to another hash: nothing would declare that
// object, and the reference would follow no more.
func (s site) inBothSpellings(candidates func(site) []Candidate) []Candidate {
	var err error
	switch {
	case s.pinsHash():
		err = errPinned
	case s.change.Path[0].Field == "binaryData" && s.declared.Origin.File == "" && generatorSection(s.declared.ID) != "":
		err = errBinary
	}
	if err != nil {
		s.refuse("change "+s.change.Path.String(), err)
		return nil
	}
	written, ok := s.asWritten()
	if !ok {
		return candidates(s)
	}
	return append(candidates(written), candidates(s)...)
}

var errPinned = errors.New("it follows the contents of what a generator makes: change those, and the name follows")

// pinsHash says whether the change is from the name of a generated object to that name with another hash.
func (s site) pinsHash() bool {
	before, _ := s.declaredValue().V.(string)
	after, _ := s.change.After.V.(string)
	return baseOf(before) != "" && before != after && baseOf(before) == baseOf(after) && slices.ContainsFunc(s.objects, func(d gitops.Declared) bool {
		return d.ID.Name == before && d.Origin.Written.Name != before && generatorSection(d.ID) != ""
	})
}

// fieldsOf gives the field names of a path.
func fieldsOf(p gitops.Path) []string {
	var out []string
	for _, step := range p {
		if step.IsField() {
			out = append(out, step.Field)
		}
	}
	return out
}

// givenNames finds the written name of an object by its kind and rendered name.
type givenNames map[[2]string]string

// writtenNames are the objects that bear another name than their source gives them.
func (s site) writtenNames() givenNames {
	out := givenNames{}
	for _, d := range s.objects {
		written := d.Origin.Written.Name
		if written == "" || written == d.ID.Name {
			continue
		}
		key := [2]string{d.ID.Kind, d.ID.Name}
		if other, there := out[key]; there && other != written {
			written = d.ID.Name // two sources: it cannot be told which
		}
		out[key] = written
	}
	return out
}

// back gives a text, which stands at the fields of at, as it is written where it refers to another object.
func (n givenNames) back(text string, at []string) string {
	for _, kind := range referredKinds(at) {
		if name, ok := n[[2]string{kind, text}]; ok && name != text {
			return name
		}
	}
	return text
}

// referredKinds are the kinds of objects that a field refers to by name, the most likely ones of those that kustomize
// follows (https://github.com/kubernetes-sigs/kustomize, api/internal/konfig/builtinpluginconsts/namereference.go).
func referredKinds(fields []string) []string {
	if len(fields) == 0 {
		return nil
	}
	last, parent := fields[len(fields)-1], ""
	if len(fields) > 1 {
		parent = fields[len(fields)-2]
	}
	switch last {
	case "secretName":
		return []string{"Secret"}
	case "claimName":
		return []string{"PersistentVolumeClaim"}
	case "volumeName":
		return []string{"PersistentVolume"}
	case "serviceAccountName", "serviceAccount":
		return []string{"ServiceAccount"}
	case "serviceName":
		return []string{"Service"}
	case "ingressClassName":
		return []string{"IngressClass"}
	case "storageClassName":
		return []string{"StorageClass"}
	case "priorityClassName":
		return []string{"PriorityClass"}
	case "name":
	default:
		return nil
	}
	switch parent {
	case "configMap", "configMapRef", "configMapKeyRef":
		return []string{"ConfigMap"}
	case "secret", "secretRef", "secretKeyRef", "imagePullSecrets", "secrets":
		return []string{"Secret"}
	case "service":
		return []string{"Service"}
	case "scaleTargetRef":
		return []string{"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"}
	case "roleRef":
		return []string{"Role", "ClusterRole"}
	case "subjects":
		return []string{"ServiceAccount"}
	case "sources":
		return []string{"ConfigMap", "Secret"}
	}
	if strings.HasSuffix(parent, "Ref") {
		return []string{"ConfigMap", "Secret", "Service"}
	}
	return nil
}
