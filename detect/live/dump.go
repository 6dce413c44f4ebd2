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

	"golang.org/x/text/encoding/unicode"

	"holdfast/detect/live/internal/jsonvalue"
	"holdfast/gitops"
	"holdfast/gitops/packed"
)

// Dump reads objects from files instead of a cluster: what `kubectl get … -o yaml --show-managed-fields`
// prints, as YAML or JSON, lists or many documents. A folder stands for its .yaml, .yml and .json files,
// sub-folders included. What does not parse, or is no object, is in Snapshot.Unread with its file and line, and
// what stands beside it is read: of a list that breaks off, the items before the end. An error means a path that
// is not there, or ErrUnreadable.
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
				d.broken(Unread{Place: file, Reason: gitops.WithoutValues(err.Error())})
				continue
			}
			d.addFile(file, data)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s := d.snapshot()
	if s.Objects.Len() == 0 {
		if err := s.Whole(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
	return s, nil
}

// ErrUnreadable is told of a dump in which there is something, and nothing that can be read.
var ErrUnreadable = errors.New("dump: nothing of it can be read")

// Whole gives an error that names every part of a dump that could not be read; nil for one that was read whole.
func (s *Snapshot) Whole() error {
	var errs []error
	for _, u := range s.Unread {
		if u.Place != "" {
			errs = append(errs, fmt.Errorf("%s: %s", u.Place, u.Reason))
		}
	}
	return errors.Join(errs...)
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
	unread  []Unread
	more    int // parts that are not in unread any more, for there are too many
}

// maxBroken is how many parts of a dump that cannot be read are told one by one.
const maxBroken = 50

// broken notes a part that cannot be read. What is empty in its identity is not known: any object may stand there.
func (d *dump) broken(u Unread) {
	if len(d.unread) >= maxBroken {
		d.more++
		return
	}
	d.unread = append(d.unread, u)
}

// place is where an object stands.
type place struct {
	file string
	line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func (d *dump) addFile(file string, data []byte) {
	decoder := jsonvalue.NewDecoder()
	data, err := utf8Of(data)
	if err != nil {
		d.broken(Unread{Place: file, Reason: err.Error()})
		return
	}
	docs, empty := documents(data), true
	for i, doc := range docs {
		at := part{place: place{file, doc.line}, last: i == len(docs)-1 && !doc.json}
		content, err := doc.decode(decoder)
		empty = empty && content == nil && err == nil
		var bad fault
		switch {
		case errors.As(err, &bad):
			if !d.addItems(doc, decoder, file) {
				d.broken(Unread{Place: place{file, bad.line}.String(), Reason: bad.reason})
			}
		case content != nil:
			d.addContent(content, at)
		}
	}
	if empty {
		d.broken(Unread{Place: file, Reason: "it is empty: what wrote it has failed, or found nothing and said so elsewhere"})
	}
}

// utf8Of decodes UTF-16 with a byte order mark, as PowerShell's > writes it. Other data stays as it is.
func utf8Of(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0xff, 0xfe}) && !bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return data, nil
	}
	text, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(data)
	if err != nil {
		return nil, fmt.Errorf("UTF-16 that cannot be decoded: %w", err)
	}
	return text, nil
}

// addItems takes what can be read of a list that does not parse as a whole, and says whether it told of an item why.
func (d *dump) addItems(doc document, decoder *jsonvalue.Decoder, file string) (told bool) {
	list, items := doc.items()
	for i, item := range items {
		content, err := item.decode(decoder)
		var bad fault
		switch {
		case errors.As(err, &bad):
			d.broken(Unread{Place: place{file, bad.line}.String(), Reason: fmt.Sprintf("items[%d]: %s", i, bad.reason)})
			told = true
		case content != nil:
			d.addItem(list, content, part{place: place{file, item.line}, where: fmt.Sprintf("items[%d]: ", i)})
		}
	}
	return told
}

// part is a part of a file: an object, or an item of a list, which where names.
type part struct {
	place
	where string
	// last says that the file may have been cut off in it.
	last bool
}

// addContent takes an object, or the items of a list. What is neither is noted.
func (d *dump) addContent(content map[string]any, at part) {
	kind, _ := content["kind"].(string)
	items, isList := content["items"].([]any)
	object := gitops.NewObject(content)
	// What follows is not told apart from what stands here where a file may be cut off.
	broken := func(id gitops.ObjectID, format string, args ...any) {
		if at.last && id.Name == "" {
			id = gitops.ObjectID{}
		}
		d.broken(Unread{Place: at.String(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, Reason: at.where + fmt.Sprintf(format, args...)})
	}
	switch {
	case strings.HasSuffix(kind, "List") && (isList || content["items"] == nil && listMetadata(content)):
		d.addList(content, items, at)
	case kind == "Status":
		broken(gitops.ObjectID{}, "this is the server's refusal (kind Status), not a dump: %v", content["message"])
	case kind == "Table":
		broken(gitops.ObjectID{}, "this is a table: dump with -o yaml --show-managed-fields")
	case isList && kind == "":
		broken(gitops.ObjectID{}, "a list without its kind, which kubectl writes last: the file may be cut off, in the last item or behind it")
		if len(items) > 0 { // half of the last one would look like drift
			content["kind"] = "List"
			d.addList(content, items[:len(items)-1], at)
		}
	case object.ID.Kind == "" || object.APIVersion == "":
		broken(object.ID, "no Kubernetes object: apiVersion or kind is missing")
	case object.ID.Name == "":
		broken(object.ID, "%s without metadata.name: no object that a server has", object.ID.Kind)
	default:
		d.add(object, at.place)
	}
}

// listMetadata tells an empty list from an object whose kind ends in List.
func listMetadata(content map[string]any) bool {
	metadata, _ := content["metadata"].(map[string]any)
	return metadata["name"] == nil
}

func (d *dump) addList(list map[string]any, items []any, at part) {
	kind, _ := list["kind"].(string)
	for i, item := range items {
		at := part{place: at.place, where: fmt.Sprintf("%sitems[%d] of the %s: ", at.where, i, kind)}
		content, ok := item.(map[string]any)
		if !ok {
			d.broken(Unread{Place: at.String(), Reason: at.where + "is no object"})
			continue
		}
		d.addItem(list, content, at)
	}
}

// addItem takes an item, which need not say its kind where its list does.
func (d *dump) addItem(list, content map[string]any, at part) {
	if kind, _ := list["kind"].(string); content["kind"] == nil && kind != "List" {
		content["kind"], content["apiVersion"] = strings.TrimSuffix(kind, "List"), list["apiVersion"]
	}
	d.addContent(content, at)
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
		d.notes = append(d.notes, fmt.Sprintf("%s stands in the dump twice with different content (%s and %s): %s is taken", next.ID, before, at, kept))
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
	s := &Snapshot{Secrets: SecretsValues, Notes: d.notes, Objects: d.objects, Unread: d.unread}
	if d.more > 0 {
		s.Unread = append(s.Unread, Unread{Place: d.unread[0].Place, Reason: fmt.Sprintf("and %d other parts of the dump cannot be read", d.more)})
	}
	if s.Objects.Len() > 0 && !d.owned {
		s.Notes = append(s.Notes, "no object of the dump has managedFields, so that writers cannot be told: dump with --show-managed-fields")
	}
	s.finish()
	s.Namespaced = dumpScope(s)
	return s
}

// Settle puts the objects of namespaced kinds that say no namespace, as none of a server's do, into the namespace
// default, and notes how many there are.
func (s *Snapshot) Settle() {
	adrift := func(id gitops.ObjectID) bool {
		namespaced, known := s.Namespaced(id.GroupKind())
		return id.Namespace == "" && namespaced && known
	}
	if !slices.ContainsFunc(s.Objects.IDs(), adrift) {
		return
	}
	objects, count := packed.New(), 0
	for o := range s.Objects.All() {
		if adrift(o.ID) {
			o.ID.Namespace = "default"
			count++
			if s.Objects.Has(o.ID) {
				continue // the one that says so counts
			}
		}
		objects.Add(objects.Pack(o))
	}
	s.Objects = objects
	s.Notes = append(s.Notes, fmt.Sprintf("%d objects of the dump say no namespace, although their kinds have one: they are taken to stand in default", count))
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
	// err is why the document cannot be read; first is then the line on which it starts.
	err   error
	first int
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
