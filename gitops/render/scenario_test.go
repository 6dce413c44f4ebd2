package render_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/flux"
	"holdfast/gitops/render"
)

var update = flag.Bool("update", false, "rewrite the want sections of testdata")

// scenario is one txtar file: a repository, how to render it, and what comes out. how.yaml holds the fields
// below; flux.yaml, a Flux Kustomization, stands for path and kustomize.
type scenario struct {
	name    string
	archive *txtar.Archive
	files   map[string]gitops.File
	flux    []byte
	kubectl []byte

	Path      string            `json:"path"`
	Namespace string            `json:"namespace"`
	Recurse   bool              `json:"recurse"`
	File      string            `json:"file"`
	Kustomize *gitops.Kustomize `json:"kustomize"`
	Helm      *gitops.Helm      `json:"helm"`
	// Engine matters for charts: Flux installs and upgrades releases, Argo CD prints templates.
	Engine gitops.Engine `json:"engine"`
	// Links are symbolic links, CRLF and BOM are files that are written with them.
	Links map[string]string `json:"links"`
	CRLF  []string          `json:"crlf"`
	BOM   []string          `json:"bom"`
	// Differs says why kustomize's or Flux's own output is another one.
	Differs string `json:"differs"`
}

func scenarios(t testing.TB) []*scenario {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var out []*scenario
	for _, name := range names {
		out = append(out, load(t, name))
	}
	return out
}

func load(t testing.TB, name string) *scenario {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), archive: archive, files: map[string]gitops.File{}}
	for _, f := range archive.Files {
		switch f.Name {
		case "how.yaml":
			if err := yaml.UnmarshalStrict(f.Data, s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		case "flux.yaml":
			s.flux = f.Data
		case "kubectl.yaml":
			s.kubectl = f.Data
		case "want":
		default:
			s.files[f.Name] = gitops.File{Data: f.Data}
		}
	}
	for link, target := range s.Links {
		s.files[link] = gitops.File{Mode: gitops.Symlink, Data: []byte(target)}
	}
	for _, name := range s.CRLF {
		s.files[name] = gitops.File{Data: bytes.ReplaceAll(s.files[name].Data, []byte("\n"), []byte("\r\n"))}
	}
	for _, name := range s.BOM {
		s.files[name] = gitops.File{Data: append([]byte("\ufeff"), s.files[name].Data...)}
	}
	return s
}

// render renders the scenario.
func (s *scenario) render(t testing.TB) (*render.Result, error) {
	t.Helper()
	where, how := s.Path, gitops.Render{
		Kustomize: s.Kustomize, Helm: s.Helm, Namespace: s.Namespace, Recurse: s.Recurse, File: s.File,
	}
	if s.flux != nil {
		objects, problems := render.File("flux.yaml", s.flux)
		var plain []gitops.Object
		for _, o := range objects {
			plain = append(plain, o.Object)
		}
		apps, wrong := flux.Decode("", plain)
		if len(problems) > 0 || len(apps) != 1 {
			t.Fatalf("flux.yaml: %v, %v, %d applications", problems, wrong, len(apps))
		}
		where, how = apps[0].Source.Path, apps[0].Render
		how.File = "flux.yaml"
	}
	app := gitops.Application{Engine: s.Engine, Source: gitops.Source{Path: where}, Render: how}
	result, err := render.Application(context.Background(), gitops.NewTree(s.files), app, render.Env{})
	if result == nil {
		result = &render.Result{}
	}
	return result, err
}

func TestScenarios(t *testing.T) {
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			got := s.print(s.render(t))
			if *update {
				s.set("want", got)
				if err := os.WriteFile("testdata/"+s.name+".txtar", txtar.Format(s.archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(s.get("want"), got); diff != "" {
				t.Errorf("(-want +got; -update rewrites it)\n%s", diff)
			}
		})
	}
}

func (s *scenario) get(name string) string {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func (s *scenario) set(name, text string) {
	for i, f := range s.archive.Files {
		if f.Name == name {
			s.archive.Files[i].Data = []byte(text)
			return
		}
	}
	s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// print shows a result: each object with its origin, then problems and the files read.
func (s *scenario) print(r *render.Result, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	for _, o := range r.Objects {
		fmt.Fprintf(&b, "== %s\n", o.ID)
		origin := o.Origin
		if origin.File == "" {
			fmt.Fprintf(&b, "   made, as %s\n", origin.Written)
		} else {
			item := ""
			if origin.Item >= 0 {
				item = fmt.Sprintf(", item %d", origin.Item)
			}
			fmt.Fprintf(&b, "   %s, document %d%s, as %s\n", origin.File, origin.Document, item, origin.Written)
		}
		for _, step := range origin.Transformers {
			fmt.Fprintf(&b, "   %s of %s\n", step.Kind, step.File)
		}
		for _, p := range r.Unsure[o.ID] {
			fmt.Fprintf(&b, "   unsure: %s\n", p)
		}
		for _, p := range r.Secret[o.ID] {
			fmt.Fprintf(&b, "   secret: %s\n", p)
		}
		for _, p := range r.Unstable[o.ID] {
			fmt.Fprintf(&b, "   unstable: %s\n", p)
		}
		text, err := yaml.Marshal(o.Content)
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
		}
		b.Write(text)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "problem %s: %s (document %d) %s\n", p.Kind, p, p.Document, p.Object)
	}
	fmt.Fprintf(&b, "reads: %s\n", strings.Join(r.Reads, " "))
	return b.String()
}

// disk writes the repository into a folder.
func (s *scenario) disk(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		file := s.files[name]
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if file.Mode == gitops.Symlink {
			err = os.Symlink(string(file.Data), to)
		} else {
			err = os.WriteFile(to, file.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// stream prints objects as kustomize does.
func stream(t testing.TB, objects []gitops.Declared) string {
	t.Helper()
	var parts []string
	for _, o := range objects {
		text, err := yaml.Marshal(o.Content)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, "---\n")
}
