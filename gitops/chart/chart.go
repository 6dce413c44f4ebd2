// Package chart renders Helm charts that lie in a repository tree, with the engine of Helm itself: it loads a
// folder with its dependencies, merges values in their order and remembers who set which, and gives the documents
// that the templates make.
//
// A render reads nothing but the files that it is given. What templates can ask of the world is answered without
// it: lookup finds nothing, host names do not resolve, schemas from elsewhere are not fetched, and chance and the
// clock have two stand-ins each (see Pass), so that a render says the same whenever it is made.
package chart

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"

	"holdfast/gitops"
)

// Errors that callers can tell apart with errors.Is.
var (
	// ErrLimit: a limit of size, number or time was passed.
	ErrLimit = errors.New("over the limit of one render")
	// ErrNotFound: a file that is needed is not in the tree.
	ErrNotFound = errors.New("not in the repository")
	// ErrRemote: the chart needs something from outside the tree.
	ErrRemote = errors.New("remote content is not rendered")
)

// Files are the files of a tree. Names are slash paths from its root.
type Files interface {
	// Paths lists the files below folder, sorted.
	Paths(folder string) []string
	// Read gives a file, symbolic links followed; ok is false where there is none.
	Read(name string) (data []byte, ok bool, err error)
}

// InTree gives the files of a tree.
func InTree(tree gitops.Tree) Files { return treeFiles{tree} }

type treeFiles struct{ gitops.Tree }

// Read gives a file; it never fails.
func (t treeFiles) Read(name string) ([]byte, bool, error) {
	data, ok := t.Tree.Read(name)
	return data, ok, nil
}

// Chart is a chart as its files say it. It is made into Helm's own form anew for each render, which changes it.
type Chart struct {
	root *part
}

// part is one chart among those of a folder: the root or a dependency.
type part struct {
	// home is the folder in the tree, or the archive.
	home     string
	packed   bool
	files    []*archive.BufferedFile
	metadata *v2.Metadata
	values   map[string]any
	// replaced are the files that stand in for values.yaml, in order; nil when it counts itself.
	replaced []layer
	subs     []*part
}

const (
	chartFile  = "Chart.yaml"
	valuesFile = "values.yaml"
	schemaFile = "values.schema.json"
	ignoreFile = ".helmignore"
	// maxDepth is how deep charts may contain each other.
	maxDepth = 12
	// maxBytes is what all files of a chart may hold, archives unpacked.
	maxBytes = 128 << 20
	// maxHeaders is what the headers of an archive may take beside its content.
	maxHeaders = 20 << 20
)

// IsChart says whether a folder holds a chart.
func IsChart(files Files, folder string) bool {
	_, ok, _ := files.Read(path.Join(folder, chartFile))
	return ok
}

// Load reads the chart in a folder: with its .helmignore, the dependencies in charts/, unpacked or as archives,
// and those that Chart.yaml names by a file:// path. A dependency that is nowhere is an error of Render, and only
// when the values leave it enabled.
func Load(files Files, folder string) (*Chart, error) {
	l := loading{files: files, left: maxBytes}
	names := files.Paths(folder)
	if !slices.Contains(names, path.Join(folder, chartFile)) {
		if _, ok, err := files.Read(path.Join(folder, chartFile)); err != nil || !ok {
			return nil, errors.Join(err, fmt.Errorf("%s: %w: a chart needs it", path.Join(folder, chartFile), ErrNotFound))
		}
	}
	root, err := l.folder(folder, 0)
	if err != nil {
		return nil, err
	}
	return &Chart{root: root}, nil
}

type loading struct {
	files Files
	left  int64
}

// folder reads a chart that lies unpacked in the tree.
func (l *loading) folder(home string, depth int) (*part, error) {
	ignored, err := l.ignore(home)
	if err != nil {
		return nil, err
	}
	var all []*archive.BufferedFile
	for _, name := range l.files.Paths(home) {
		in := strings.TrimPrefix(strings.TrimPrefix(name, home), "/")
		if home == "." || home == "" {
			in = name
		}
		if ignored(in) {
			continue
		}
		data, ok, err := l.files.Read(name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // a link that leads nowhere
		}
		if err := l.count(home, len(data)); err != nil {
			return nil, err
		}
		all = append(all, &archive.BufferedFile{Name: in, Data: bytes.TrimPrefix(data, []byte("\ufeff"))})
	}
	return l.part(&part{home: home}, all, depth)
}

// archive reads a chart that lies packed in the tree.
func (l *loading) archive(home string, data []byte, depth int) (*part, error) {
	if err := unpacksTo(data, maxBytes+maxHeaders); err != nil {
		return nil, fmt.Errorf("%s: %w", home, err)
	}
	files, err := archive.LoadArchiveFiles(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: no chart archive: %w", home, err)
	}
	for _, f := range files {
		if err := l.count(home, len(f.Data)); err != nil {
			return nil, err
		}
	}
	return l.part(&part{home: home, packed: true}, files, depth)
}

// unpacksTo refuses an archive that unpacks to more than most bytes. Helm counts the content of files, and neither
// folders nor headers.
func unpacksTo(data []byte, most int64) error {
	stream, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("no chart archive: %w", err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(stream, most+1))
	switch {
	case n > most:
		return fmt.Errorf("%w: the archive unpacks to more than %d MiB, headers included", ErrLimit, most>>20)
	case err != nil:
		return fmt.Errorf("no chart archive: %w", err)
	}
	return nil
}

func (l *loading) count(home string, bytes int) error {
	if l.left -= int64(bytes); l.left < 0 {
		return fmt.Errorf("%w: the chart %s holds more than %d MiB", ErrLimit, home, maxBytes>>20)
	}
	return nil
}

// part sorts the files of a chart into its own and those of its dependencies.
func (l *loading) part(p *part, all []*archive.BufferedFile, depth int) (*part, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: %s: charts in charts, more than %d deep", ErrLimit, p.home, maxDepth)
	}
	below := map[string][]*archive.BufferedFile{}
	for _, f := range all {
		in, ok := strings.CutPrefix(f.Name, "charts/")
		switch {
		case !ok:
			p.files = append(p.files, f)
		case path.Ext(in) == ".prov", strings.IndexAny(in, "_.") == 0:
		default:
			name, rest, nested := strings.Cut(in, "/")
			if nested || path.Ext(name) == ".tgz" {
				below[name] = append(below[name], &archive.BufferedFile{Name: rest, Data: f.Data})
			}
		}
	}
	made, err := loader.LoadFiles(p.files)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", p.home, gitops.WithoutValues(oneLine(err.Error())))
	}
	p.metadata, p.values = made.Metadata, made.Values
	for _, name := range sortedKeys(below) {
		sub := &part{home: path.Join(p.home, "charts", name), packed: p.packed}
		if p.packed {
			sub.home = p.home
		}
		files := below[name]
		switch {
		case path.Ext(name) == ".tgz" && files[0].Name == "":
			sub, err = l.archive(sub.home, files[0].Data, depth+1)
		case !slices.ContainsFunc(files, func(f *archive.BufferedFile) bool { return f.Name == chartFile }):
			continue // a folder that is no chart
		default:
			sub, err = l.part(sub, files, depth+1)
		}
		if err != nil {
			return nil, err
		}
		p.subs = append(p.subs, sub)
	}
	return p, l.beside(p, depth)
}

// beside loads the dependencies that Chart.yaml names by a path in the repository and that are not in charts/, as
// `helm dependency build` packs them.
func (l *loading) beside(p *part, depth int) error {
	for _, d := range p.metadata.Dependencies {
		rest, ok := strings.CutPrefix(d.Repository, "file://")
		if !ok || p.packed || slices.ContainsFunc(p.subs, func(s *part) bool { return s.metadata.Name == d.Name }) {
			continue
		}
		home := path.Join(p.home, rest)
		if home == ".." || strings.HasPrefix(home, "../") || path.IsAbs(rest) {
			return fmt.Errorf("%s: dependency %s: %s leaves the repository", path.Join(p.home, chartFile), d.Name, d.Repository)
		}
		if !IsChart(l.files, home) {
			continue // said where it is missed
		}
		sub, err := l.folder(home, depth+1)
		if err != nil {
			return err
		}
		p.subs = append(p.subs, sub)
	}
	return nil
}

// ignore gives the rules of a chart's .helmignore.
func (l *loading) ignore(home string) (func(name string) bool, error) {
	rules := ignore.Empty()
	file := path.Join(home, ignoreFile)
	data, ok, err := l.files.Read(file)
	if err != nil {
		return nil, err
	}
	if ok {
		if rules, err = ignore.Parse(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	rules.AddDefaults()
	folders := map[string]bool{}
	return func(name string) bool {
		for i, r := range name {
			if r != '/' {
				continue
			}
			folder := name[:i]
			left, known := folders[folder]
			if !known {
				left = rules.Ignore(folder, info{path.Base(folder), true})
				folders[folder] = left
			}
			if left {
				return true
			}
		}
		return rules.Ignore(name, info{path.Base(name), false})
	}, nil
}

// info is what ignore rules ask of a file.
type info struct {
	name   string
	folder bool
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return 0 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.folder }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir
	}
	return 0
}

// made is a chart in Helm's own form, and where in the tree each of its files is.
type made struct {
	*v2.Chart
	places map[*common.File]string
}

func (c *Chart) make(skipSchema bool) (made, error) {
	m := made{places: map[*common.File]string{}}
	var err error
	m.Chart, err = m.add(c.root, skipSchema)
	return m, err
}

func (m made) add(p *part, skipSchema bool) (*v2.Chart, error) {
	c, err := loader.LoadFiles(p.files)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", p.home, gitops.WithoutValues(oneLine(err.Error())))
	}
	if skipSchema || !closed(c.Schema) {
		c.Schema = nil
	}
	for _, list := range [][]*common.File{c.Templates, c.Files} {
		for _, f := range list {
			m.places[f] = p.place(f.Name)
		}
	}
	for _, sub := range p.subs {
		d, err := m.add(sub, skipSchema)
		if err != nil {
			return nil, err
		}
		c.AddDependency(d)
	}
	return c, nil
}

// place gives the file in the tree that holds a file of the chart.
func (p *part) place(name string) string {
	if p.packed {
		return p.home
	}
	return path.Join(p.home, name)
}

// closed says whether a schema refers to nothing but itself, so that checking values against it fetches nothing.
func closed(schema []byte) bool {
	var doc any
	if len(schema) > 0 && json.Unmarshal(schema, &doc) != nil {
		return true // Helm says what is wrong with it
	}
	var look func(v any) bool
	look = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			for key, e := range v {
				text, isText := e.(string)
				switch {
				case isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") && !strings.HasPrefix(text, "#"),
					isText && key == "$schema" && !strings.Contains(text, "://json-schema.org/"),
					!look(e):
					return false
				}
			}
		case []any:
			for _, e := range v {
				if !look(e) {
					return false
				}
			}
		}
		return true
	}
	return look(doc)
}
