package compare_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/detect/compare"
	"holdfast/gitops"
)

var update = flag.Bool("update", false, "write what the comparison says into the scenarios")

// TestScenarios runs testdata/*.txtar. Each holds a sentence, git.yaml and live.yaml with the same objects in
// the same order, maybe crds.yaml, and want: a line for each difference with --all, of the form
// "DIFFERS|same KIND PATH: GIT -> LIVE (MANAGER/OPERATION, ...)".
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no scenarios")
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSpace(string(archive.Comment))
		t.Run(name, func(t *testing.T) {
			got := compareAll(t, section(archive, "git.yaml"), section(archive, "live.yaml"), section(archive, "crds.yaml"))
			if *update {
				setSection(archive, "want", got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(section(archive, "want")), got); diff != "" {
				t.Errorf("%s: -want +got\n%s", file, diff)
			}
		})
	}
}

func section(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func setSection(a *txtar.Archive, name, text string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(text)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
}

func objects(t testing.TB, text []byte) []gitops.Object {
	t.Helper()
	var out []gitops.Object
	for _, doc := range bytes.Split(append([]byte("\n"), text...), []byte("\n---")) {
		var content map[string]any
		if err := yaml.Unmarshal(doc, &content); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if len(content) > 0 {
			out = append(out, gitops.NewObject(content))
		}
	}
	return out
}

func compareAll(t *testing.T, git, live, crds []byte) string {
	t.Helper()
	c := newComparer(t, objects(t, crds)...)
	declared, current := objects(t, git), objects(t, live)
	if len(declared) != len(current) {
		t.Fatalf("%d objects in Git, %d live", len(declared), len(current))
	}
	var b strings.Builder
	for i := range declared {
		if len(declared) > 1 {
			fmt.Fprintf(&b, "# %s\n", current[i].ID)
		}
		all, err := c.Compare(declared[i], current[i], compare.Options{All: true})
		if err != nil {
			fmt.Fprintf(&b, "error: %v\n", err)
		}
		some, _ := c.Compare(declared[i], current[i], compare.Options{})
		differing := 0
		for _, d := range all {
			if d.Differs {
				differing++
			}
			fmt.Fprintln(&b, line(d))
		}
		if len(some) != differing {
			t.Errorf("%s: %d differences, %d with All", current[i].ID, len(some), differing)
		}
	}
	return b.String()
}

func line(d detect.Difference) string {
	word := "same"
	if d.Differs {
		word = "DIFFERS"
	}
	out := fmt.Sprintf("%s %s %s: %s -> %s", word, d.Kind, d.Path, show(d.Git), show(d.Live))
	var owners []string
	for _, o := range d.Owners {
		owners = append(owners, o.Manager+"/"+o.Operation)
	}
	if len(owners) > 0 {
		out += " (" + strings.Join(owners, ", ") + ")"
	}
	return out
}

func show(v gitops.Value) string {
	if !v.Set {
		return "absent"
	}
	text, _ := json.Marshal(v.V)
	return string(text)
}
