package render

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"holdfast/gitops"
)

// plain reads the manifests of a folder, or one file, as they are.
func plain(src *source, root string, how gitops.Render, result *Result) error {
	target, ok := src.resolve(root)
	if !ok {
		return fmt.Errorf("%w: %s is a symbolic link that leaves it", ErrNotFound, root)
	}
	if src.isFile(target) {
		return namedFile(src, target, result)
	}
	paths := src.tree.Paths(target)
	if len(paths) == 0 && target != "." {
		return ErrNotFound
	}
	src.listed(target, how.Recurse)
	counts, err := directory(how)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, name := range paths {
		if !how.Recurse && path.Dir(name) != target || !counts(strings.TrimPrefix(name, target+"/")) {
			continue
		}
		file, ok := src.resolve(name)
		if done[file] {
			continue // a link and what it leads to are one file
		}
		if !ok || !src.isFile(file) {
			if !ok || !src.isDir(file) {
				result.Problems = append(result.Problems, Problem{
					File: name, Kind: Unreadable, Message: "symbolic link that leads to no file of this repository",
				})
			}
			continue
		}
		done[file] = true
		if isJsonnet(name) {
			result.Problems = append(result.Problems, Problem{File: name, Kind: Syntax, Message: "Jsonnet, which is not run here: what it makes is not known"})
			continue
		}
		if err := plainFile(src, file, how, result); err != nil {
			return err
		}
	}
	return nil
}

// directory tells which paths of a plain folder are manifests.
func directory(how gitops.Render) (counts func(name string) bool, err error) {
	include, err := pattern("include", how.Include)
	if err != nil {
		return nil, err
	}
	exclude, err := pattern("exclude", how.Exclude)
	if err != nil {
		return nil, err
	}
	return func(name string) bool {
		return (manifest(name) || how.Directory && isJsonnet(name)) &&
			(include == nil || include.Match(name)) && (exclude == nil || !exclude.Match(name))
	}, nil
}

// pattern compiles a glob pattern as Argo CD does: without separators, so that * crosses slashes
// (https://argo-cd.readthedocs.io/en/stable/user-guide/directory/#includingexcluding-files). An empty one gives nil.
func pattern(name, text string) (glob.Glob, error) {
	if text == "" {
		return nil, nil
	}
	compiled, err := glob.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("spec.source.directory.%s: %q is no glob pattern: %w", name, text, err)
	}
	return compiled, nil
}

func isJsonnet(name string) bool { return path.Ext(name) == ".jsonnet" }

// skipMark in a file keeps Argo CD from reading it
// (https://argo-cd.readthedocs.io/en/stable/user-guide/directory/#skipping-file-rendering).
const skipMark = "+argocd:skip-file-rendering"

// plainFile reads a file of a folder. What is no object in it may be something else's.
func plainFile(src *source, name string, how gitops.Render, result *Result) error {
	data, err := existing(src, name)
	if err != nil || how.Directory && bytes.Contains(data, []byte(skipMark)) {
		return err
	}
	objects, problems := File(name, data)
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Kind == NoObject })
	result.add(objects, problems)
	return nil
}

// namedFile reads a file that was asked for by its name.
func namedFile(src *source, name string, result *Result) error {
	data, err := existing(src, name)
	if err == nil {
		result.add(File(name, data))
	}
	return err
}

func existing(src *source, name string) ([]byte, error) {
	data, ok, err := src.read(name)
	if err == nil && !ok {
		err = ErrNotFound
	}
	return data, err
}

func (r *Result) add(objects []gitops.Declared, problems []Problem) {
	r.Objects, r.Problems = append(r.Objects, objects...), append(r.Problems, problems...)
}

// File reads the manifests of one file: many documents, lists, JSON. IDs are as written. Documents that
// hold no object give a NoObject problem; an empty document gives none.
func File(name string, data []byte) ([]gitops.Declared, []Problem) {
	values, problems := decode(name, data)
	var objects []gitops.Declared
	for _, doc := range values {
		if doc.value == nil {
			continue
		}
		found, complaint := objectsOf(doc.value)
		if complaint != "" {
			p := Problem{File: name, Line: doc.line, Document: doc.document, Kind: NoObject, Message: complaint}
			if len(found) > 0 || meantAsObject(doc.value) {
				p.Kind = HalfObject
			}
			problems = append(problems, p)
		}
		for _, f := range found {
			object := gitops.NewObject(f.content)
			if object.ID.Name == "" && isNamelessHook(object) {
				continue
			}
			if object.ID.Name == "" {
				problems = append(problems, Problem{
					File: name, Line: doc.line, Document: doc.document, Kind: NoName, Object: object.ID,
					Message: fmt.Sprintf("%s without metadata.name: what it becomes in the cluster cannot be told", object.ID.Kind),
				})
				continue
			}
			objects = append(objects, gitops.Declared{Object: object, Origin: gitops.Origin{
				File: name, Document: doc.document, Item: f.item, Written: object.ID,
			}})
		}
		for _, d := range doc.twice {
			p := Problem{
				File: name, Line: d.line, Document: doc.document, Kind: DuplicateKey,
				Message: fmt.Sprintf("key %q stands twice in one mapping; the later one counts here, kustomize refuses the file", d.key),
			}
			if len(found) == 1 {
				p.Object = gitops.NewObject(found[0].content).ID
			}
			problems = append(problems, p)
		}
	}
	return objects, problems
}

// isNamelessHook says whether an object is a hook that gets another name at each sync. Hooks run and are no declared
// state (https://argo-cd.readthedocs.io/en/stable/user-guide/resource_hooks/#generate-name).
func isNamelessHook(o gitops.Object) bool {
	metadata, _ := o.Content["metadata"].(map[string]any)
	generated, _ := metadata["generateName"].(string)
	_, helm := o.Annotations()[hookAnnotation]
	argo, isArgo := o.Annotations()["argocd.argoproj.io/hook"]
	return generated != "" && (helm || isArgo && argo != "Skip")
}

// meantAsObject tells an object that is written wrong from other YAML that lies beside manifests, such as the
// values of a chart: it says its kind or apiVersion, and it has metadata or is a list.
func meantAsObject(value any) bool {
	content, _ := value.(map[string]any)
	if content["kind"] == nil && content["apiVersion"] == nil {
		return false
	}
	if apiVersion, _ := content["apiVersion"].(string); strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") {
		return false
	}
	_, metadata := content["metadata"].(map[string]any)
	_, items := content["items"].([]any)
	return metadata || items
}

// item is an object of a document: the document itself (item -1) or an entry of its list.
type item struct {
	item    int
	content map[string]any
}

// objectsOf opens lists: any kind that ends in List and has items. Entries of a typed list may leave out
// what the list's kind says. complaint says why something is no object.
func objectsOf(value any) (found []item, complaint string) {
	content, ok := value.(map[string]any)
	if !ok {
		return nil, "no Kubernetes object: not a mapping"
	}
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	if apiVersion == "" || kind == "" {
		return nil, "no Kubernetes object: apiVersion or kind is missing"
	}
	if strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") {
		return nil, "a kustomization, which is no object of a cluster"
	}
	items, isList := content["items"].([]any)
	if !strings.HasSuffix(kind, "List") || !isList && content["items"] != nil {
		return []item{{item: -1, content: content}}, ""
	}
	if _, there := content["items"]; !there && kind != "List" {
		return []item{{item: -1, content: content}}, ""
	}
	for i, entry := range items {
		if m, ok := entry.(map[string]any); ok && kind != "List" && m["kind"] == nil {
			m["kind"] = strings.TrimSuffix(kind, "List")
			if m["apiVersion"] == nil {
				m["apiVersion"] = apiVersion
			}
		}
		inner, wrong := objectsOf(entry)
		if wrong != "" {
			complaint = fmt.Sprintf("items[%d]: %s", i, wrong)
		}
		for _, f := range inner {
			found = append(found, item{item: i, content: f.content})
		}
	}
	return found, complaint
}
