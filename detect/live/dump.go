package live

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"holdfast/detect/live/internal/jsonvalue"
	"holdfast/gitops"
	"holdfast/gitops/packed"
)

// Dump reads objects from files instead of a cluster: what `kubectl get … -o yaml --show-managed-fields`
// prints, as YAML or JSON, lists or many documents. A folder stands for its .yaml, .yml and .json files,
// sub-folders included. What does not parse, or is no object, is an error with its file and line: a dump is
// taken whole or not at all, since an object that it lacks counts as missing.
//
// An object that appears more than once with different content is taken in its newest resourceVersion, else
// as the last file has it, and a note says so.
func Dump(paths []string) (*Snapshot, error) {
	d := dump{objects: packed.New(), places: map[gitops.ObjectID]place{}}
	var errs []error
	for _, path := range paths {
		files, err := dumpFiles(path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, file := range files {
			data, err := readDump(file)
			if err != nil {
				errs = append(errs, fmt.Errorf("dump: %w", err))
				continue
			}
			errs = append(errs, d.addFile(file, data))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return d.snapshot(), nil
}

// maxDump bounds one file: some 400,000 objects with their managedFields.
const maxDump = 2 << 30

// readDump reads a file or a pipe to its end.
func readDump(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode()&fs.ModeDevice != 0 {
		return nil, fmt.Errorf("%s is a device, not a file", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxDump+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxDump {
		return nil, fmt.Errorf("%s holds more than %d GiB: dump fewer namespaces or kinds at once", file, maxDump>>30)
	}
	return data, nil
}

func dumpFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("dump: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch strings.ToLower(filepath.Ext(name)) {
		case ".yaml", ".yml", ".json":
			if entry.Type().IsRegular() {
				files = append(files, name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("dump: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("dump: folder %s holds no .yaml, .yml or .json file", path)
	}
	return files, nil
}

// dump collects objects of many files.
type dump struct {
	objects *packed.Set
	places  map[gitops.ObjectID]place
	notes   []string
	owned   bool // some object has managedFields
}

// place is where an object stands.
type place struct {
	file string
	line int
}

func (d *dump) addFile(file string, data []byte) error {
	var errs []error
	decoder := jsonvalue.NewDecoder()
	for _, doc := range documents(data) {
		content, err := doc.decode(decoder)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%w", file, err))
			continue
		}
		if content == nil {
			continue
		}
		if err := d.addContent(content, file, doc.line); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, doc.line, err))
		}
	}
	return errors.Join(errs...)
}

// addContent takes an object, or the items of a list.
func (d *dump) addContent(content map[string]any, file string, line int) error {
	kind, _ := content["kind"].(string)
	items, isList := content["items"].([]any)
	switch {
	case strings.HasSuffix(kind, "List") && (isList || content["items"] == nil && listMetadata(content)):
		return d.addList(content, items, file, line)
	case kind == "Status":
		return fmt.Errorf("this is the server's refusal (kind Status), not a dump: %v", content["message"])
	case kind == "Table":
		return errors.New("this is a table: dump with -o yaml --show-managed-fields")
	}
	object := gitops.NewObject(content)
	if isList && kind == "" {
		return errors.New("a list without its kind, which kubectl writes last: the file may be cut off")
	}
	if object.ID.Kind == "" || object.APIVersion == "" {
		return errors.New("no Kubernetes object: apiVersion or kind is missing")
	}
	if object.ID.Name == "" {
		return fmt.Errorf("%s without metadata.name: no object that a server has", object.ID.Kind)
	}
	d.add(object, place{file, line})
	return nil
}

// listMetadata tells an empty list from an object whose kind ends in List.
func listMetadata(content map[string]any) bool {
	metadata, _ := content["metadata"].(map[string]any)
	return metadata["name"] == nil
}

func (d *dump) addList(list map[string]any, items []any, file string, line int) error {
	kind, _ := list["kind"].(string)
	var errs []error
	for i, item := range items {
		content, ok := item.(map[string]any)
		if !ok {
			errs = append(errs, fmt.Errorf("items[%d] of the %s is no object", i, kind))
			continue
		}
		if content["kind"] == nil && kind != "List" {
			content["kind"], content["apiVersion"] = strings.TrimSuffix(kind, "List"), list["apiVersion"]
		}
		if err := d.addContent(content, file, line); err != nil {
			errs = append(errs, fmt.Errorf("items[%d] of the %s: %w", i, kind, err))
		}
	}
	return errors.Join(errs...)
}

func (d *dump) add(next gitops.Object, at place) {
	strip(next)
	metadata, _ := next.Content["metadata"].(map[string]any)
	d.owned = d.owned || metadata["managedFields"] != nil
	first, twice := d.objects.Get(next.ID)
	if twice && !reflect.DeepEqual(first.Content, next.Content) {
		before, kept := d.places[next.ID], at
		if resourceVersion(first) > resourceVersion(next) {
			next, kept = first, before
		}
		d.notes = append(d.notes, fmt.Sprintf("%s stands in the dump twice with different content (%s:%d and %s:%d): %s:%d is taken",
			next.ID, before.file, before.line, at.file, at.line, kept.file, kept.line))
		at = kept
	}
	d.objects.Add(d.objects.Pack(next))
	d.places[next.ID] = at
}

// resourceVersion orders states of one object; 0 when it has none.
func resourceVersion(o gitops.Object) uint64 {
	metadata, _ := o.Content["metadata"].(map[string]any)
	text, _ := metadata["resourceVersion"].(string)
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (d *dump) snapshot() *Snapshot {
	s := &Snapshot{Secrets: SecretsValues, Notes: d.notes, Objects: d.objects}
	if s.Objects.Len() > 0 && !d.owned {
		s.Notes = append(s.Notes, "no object of the dump has managedFields, so that writers cannot be told: dump with --show-managed-fields")
	}
	s.finish()
	s.Namespaced = dumpScope(s)
	return s
}

// dumpScope tells the scope of kinds from the built-in table, CustomResourceDefinitions and the objects
// themselves, which come from a server and so have a namespace exactly when their kind does.
func dumpScope(s *Snapshot) func(gitops.GroupKind) (bool, bool) {
	scopes := map[gitops.GroupKind]bool{}
	for _, id := range s.Objects.IDs() {
		scopes[id.GroupKind()] = scopes[id.GroupKind()] || id.Namespace != ""
	}
	for _, crd := range s.CRDs {
		spec, _ := crd.Content["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		group, _ := spec["group"].(string)
		kind, _ := names["kind"].(string)
		switch spec["scope"] {
		case "Namespaced":
			scopes[gitops.GroupKind{Group: group, Kind: kind}] = true
		case "Cluster":
			scopes[gitops.GroupKind{Group: group, Kind: kind}] = false
		}
	}
	return func(kind gitops.GroupKind) (namespaced, known bool) {
		if namespaced, known = gitops.BuiltinNamespaced(kind); known {
			return namespaced, true
		}
		namespaced, known = scopes[kind]
		return namespaced, known
	}
}

// document is one YAML document or JSON value of a file, and the line that it starts on, from 1.
type document struct {
	data []byte
	line int
	json bool
	err  error
}

// documents splits a file: JSON values that follow each other, or YAML documents between lines of ---.
func documents(data []byte) []document {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && start[0] == '{' {
		return jsonDocuments(data)
	}
	var out []document
	line, start, startLine := 0, 0, 1
	for at := 0; at < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line++
		if separates(data[at:end]) {
			out = append(out, document{data: data[start:at], line: startLine})
			start, startLine = at, line
		}
		at = end
	}
	out = append(out, document{data: data[start:], line: startLine})
	return slices.DeleteFunc(out, func(d document) bool { return len(bytes.TrimSpace(d.data)) == 0 })
}

func separates(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}
