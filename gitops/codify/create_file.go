package codify

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// neighbour is an object that a file near a new one declares. Alone says that the file declares nothing else.
type neighbour struct {
	file    string
	written gitops.ObjectID
	alone   bool
}

// neighbours are the objects that YAML files below a folder declare; where there are none, those of all folders.
func (s site) neighbours(dir string) []neighbour {
	count := map[string]int{}
	for _, d := range s.objects {
		count[d.Origin.File]++
	}
	var near, all []neighbour
	for _, d := range s.objects {
		if ext := path.Ext(d.Origin.File); ext != ".yaml" && ext != ".yml" {
			continue
		}
		n := neighbour{d.Origin.File, d.Origin.Written, count[d.Origin.File] == 1 && d.Origin.Item < 0}
		all = append(all, n)
		if within(n.file, dir) {
			near = append(near, n)
		}
	}
	if len(near) > 0 {
		return near
	}
	return all
}

// inNamespace gives the object with and without its namespace, as most of its neighbours are written first.
func (s site) inNamespace(h home, written map[string]any) []map[string]any {
	if s.declared.ID.Namespace == "" {
		return []map[string]any{written}
	}
	bare := maps.Clone(written)
	metadata, _ := bare["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	delete(metadata, "namespace")
	bare["metadata"] = metadata
	named, unnamed := 0, 0
	for _, n := range s.neighbours(h.dir) {
		if namespaced, known := gitops.BuiltinNamespaced(n.written.GroupKind()); known && !namespaced {
			continue
		}
		if n.written.Namespace == "" {
			unnamed++
		} else {
			named++
		}
	}
	sets := slices.ContainsFunc(h.chain, func(l layer) bool { return l.content["namespace"] != nil })
	if unnamed > named || unnamed == named && sets {
		return []map[string]any{bare, written}
	}
	return []map[string]any{written, bare}
}

// declareIn gives the edits that declare content at a home.
func (s site) declareIn(h home, content map[string]any) []Candidate {
	what := "declare " + s.declared.ID.String()
	id := gitops.NewObject(content).ID
	near := s.neighbours(h.dir)
	style := s.styleFor(h, id, near)
	if h.file != "" {
		return s.append(what, h.file, content, style)
	}
	dir := s.folderFor(h, id, near)
	name, joins := nameFor(id, near)
	file := path.Join(dir, name)
	if joins {
		if _, there := s.tree.Read(file); there {
			return s.append(what, file, content, style)
		}
	}
	for i := 2; ; i++ {
		if _, taken := s.tree.File(file); !taken {
			break
		}
		stem := nameOf(id, "kind-name", lower)
		if i > 2 {
			stem = fmt.Sprintf("%s-%d", stem, i-1)
		}
		file = path.Join(dir, stem+path.Ext(name))
	}
	edits := []gitops.Edit{{Path: file, After: splice.Document(content, style)}}
	if h.list == nil {
		return []Candidate{{What: what + " in the new file " + file, Edits: edits, Added: addsFile}}
	}
	entry, err := s.listed(*h.list, file)
	if err != nil {
		s.refuse(what+" in "+h.list.file, err)
		return nil
	}
	return []Candidate{{What: what + " in the new file " + file + ", listed in " + h.list.file, Edits: append(edits, entry), Added: addsFile}}
}

// append declares content as the last document of a file.
func (s site) append(what, file string, content map[string]any, style splice.Style) []Candidate {
	data, ok := s.tree.Read(file)
	if !ok || path.Ext(file) == ".json" {
		return nil
	}
	eol := "\n"
	if style.CRLF {
		eol = "\r\n"
	}
	after := bytes.Clone(data)
	if len(after) > 0 && !bytes.HasSuffix(after, []byte("\n")) {
		after = append(after, eol...)
	}
	if docs, err := splice.Documents(data); err != nil {
		s.refuse(what+" in "+file, err)
		return nil
	} else if len(docs) > 0 && docs[len(docs)-1] != nil {
		after = append(after, "---"+eol...)
	}
	after = append(after, splice.Document(content, style)...)
	return s.one(what+" as the last document of "+file, file, after, nil, addsFile)
}

// listed adds a file to the resources of a kustomization: in the alphabet where its files stand so, else at the end.
func (s site) listed(l layer, file string) (gitops.Edit, error) {
	entry, dotted := relative(l.dir, file), 0
	list := l.strings("resources")
	var files []int
	var names []string
	for i, ref := range list {
		if strings.HasPrefix(ref, "./") {
			dotted++
		}
		if _, isFile := s.tree.Read(path.Join(l.dir, ref)); isFile {
			files, names = append(files, i), append(names, strings.TrimPrefix(ref, "./"))
		}
	}
	at := len(l.list("resources"))
	if len(names) > 1 && slices.IsSorted(names) {
		if i, _ := slices.BinarySearch(names, entry); i < len(files) {
			at = files[i]
		} else {
			at = files[len(files)-1] + 1
		}
	}
	if dotted > 0 && 2*dotted >= len(list) {
		entry = "./" + entry
	}
	resources := gitops.Path{gitops.Field("resources")}
	var after []byte
	var err error
	if len(l.list("resources")) > 0 {
		after, err = splice.Insert(l.data, l.doc, resources, at, entry)
	} else {
		after, err = splice.Set(l.data, l.doc, resources, []any{entry})
	}
	return gitops.Edit{Path: l.file, Before: l.data, After: after}, err
}

// relative gives a file below a folder as seen from there.
func relative(dir, file string) string {
	if dir == "." {
		return file
	}
	return strings.TrimPrefix(file, dir+"/")
}

// styleFor is the layout of the files that are most like the new one.
func (s site) styleFor(h home, id gitops.ObjectID, near []neighbour) splice.Style {
	const enough = 5
	var files [][]byte
	for _, n := range closest(id, near) {
		if data, ok := s.tree.Read(n.file); ok && len(files) < enough {
			files = append(files, data)
		}
	}
	if len(files) == 0 && h.list != nil {
		files = append(files, h.list.data)
	}
	return splice.StyleOf(bytes.Join(files, []byte("\n---\n")))
}

// closest are the neighbours of the same kind and namespace, else of the same kind, else of the same namespace, else all.
func closest(id gitops.ObjectID, near []neighbour) []neighbour {
	for _, like := range []func(gitops.ObjectID) bool{
		func(o gitops.ObjectID) bool { return o.GroupKind() == id.GroupKind() && o.Namespace == id.Namespace },
		func(o gitops.ObjectID) bool { return o.GroupKind() == id.GroupKind() },
		func(o gitops.ObjectID) bool { return o.Namespace == id.Namespace },
	} {
		if found := slices.DeleteFunc(slices.Clone(near), func(n neighbour) bool { return !like(n.written) }); len(found) > 0 {
			return found
		}
	}
	return near
}

// folderFor is the folder of a home in which objects like the new one stand, where they all stand in one.
func (s site) folderFor(h home, id gitops.ObjectID, near []neighbour) string {
	dir := ""
	for _, n := range closest(id, near) {
		switch d := path.Dir(n.file); {
		case !within(n.file, h.dir) || d != h.dir && s.listsItself(d):
			return h.dir
		case dir != "" && d != dir:
			return h.dir
		default:
			dir = d
		}
	}
	if dir == "" {
		return h.dir
	}
	return dir
}

// listsItself says whether a folder has a kustomization of its own.
func (s site) listsItself(dir string) bool {
	_, ok := layerAt(s.tree, dir)
	return ok
}
