package classify_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/gitops"
	"holdfast/gitops/typed"
)

var update = flag.Bool("update", false, "write what the scenarios give into their files")

// scenarioApp is the file app.yaml of a scenario.
type scenarioApp struct {
	Engine        gitops.Engine           `json:"engine"`
	Name          string                  `json:"name"`
	Namespace     string                  `json:"namespace"`
	Suspended     bool                    `json:"suspended,omitempty"`
	Failed        string                  `json:"failed,omitempty"`
	Managers      []gitops.Manager        `json:"managers,omitempty"`
	Labels        map[string]string       `json:"labels,omitempty"`
	Annotation    string                  `json:"annotation,omitempty"`
	Inventory     []gitops.ObjectID       `json:"inventory,omitempty"`
	ImageRewrites []classify.ImageRewrite `json:"imageRewrites,omitempty"`
	Tier          detect.Tier             `json:"tier,omitempty"`
}

func (a scenarioApp) application() gitops.Application {
	app := gitops.Application{
		Name: a.Name, Namespace: a.Namespace, Engine: a.Engine, Suspended: a.Suspended, Inventory: a.Inventory,
		Ready: a.Failed == "", Message: a.Failed,
		Tracking: gitops.Tracking{Labels: a.Labels, Annotation: a.Annotation},
		Managers: []gitops.Manager{{Name: "kustomize-controller", Operation: "Apply"}},
	}
	if a.Engine == gitops.ArgoCD {
		app.Managers = []gitops.Manager{
			{Name: "argocd-controller", Operation: "Update"}, {Name: "argocd-controller", Operation: "Apply"},
			{Name: "argocd-application-controller", Operation: "Update"},
		}
	}
	if a.Managers != nil {
		app.Managers = a.Managers
	}
	return app
}

// TestScenarios runs compare, classify and assess over the files of testdata: app.yaml, git.yaml,
// older.yaml (an earlier revision of Git), live.yaml and want, one line for each difference.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScenario(t, archive)
			for i, f := range archive.Files {
				if f.Name != "want" {
					continue
				}
				if diff := cmp.Diff(strings.Split(string(f.Data), "\n"), strings.Split(got, "\n")); diff != "" && !*update {
					t.Errorf("want, got:\n%s", diff)
				}
				archive.Files[i].Data = []byte(got)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func runScenario(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	files := map[string][]byte{}
	for _, f := range archive.Files {
		files[f.Name] = f.Data
	}
	var given scenarioApp
	if err := yaml.UnmarshalStrict(files["app.yaml"], &given); err != nil {
		t.Fatal(err)
	}
	rules, err := classify.LoadRules()
	if err != nil {
		t.Fatal(err)
	}
	assessor, err := assess.New()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	git, older, live := objects(t, files["git.yaml"]), objects(t, files["older.yaml"]), objects(t, files["live.yaml"])
	facts := classify.NewFacts(live, rules)
	facts.Sensitive, facts.ImageRewrites = assessor.Sensitive, given.ImageRewrites
	facts.Weighty = func(s classify.Subject, path gitops.Path, git, live gitops.Value) bool {
		return assessor.Weighty(assess.Input{
			Object: detect.Ref(*s.Live), Declared: &s.Declared.Object, Live: s.Live, Field: detect.Field{Path: path, Git: git, Live: live},
		})
	}
	comparer := compare.New(schemas)
	app := given.application()

	var lines []string
	say := func(o gitops.Object, path string, f detect.Field) {
		drift := "no drift"
		if f.Drift {
			drift = "drift"
		}
		lines = append(lines, fmt.Sprintf("%s%s: %s, %s, %s, %s %s\n    %s", o.ID, path, f.Cause, drift, spell(f.Writer), f.Class, f.Risk, f.Reason))
	}
	declared := map[gitops.ObjectID]bool{}
	for _, o := range git {
		declared[o.ID] = true
		subject := classify.Subject{App: app, Declared: &gitops.Declared{Object: o}, History: func() []gitops.Object { return same(older, o.ID) }}
		found := same(live, o.ID)
		if len(found) == 0 {
			var f detect.Field
			f.Cause, f.Drift, f.Reason = facts.Missing(subject)
			f.Class, f.Risk, _ = assessor.Object(assess.Input{Object: detect.Ref(o), Declared: &o, Presence: detect.GitOnly, Tier: given.Tier, Field: f})
			say(o, " (missing)", f)
			continue
		}
		subject.Live = &found[0]
		diffs, err := comparer.Compare(o, found[0], compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range append(facts.Fields(subject, diffs), facts.Switches(subject)...) {
			f.Class, f.Risk, _ = assessor.Field(assess.Input{Object: detect.Ref(o), Declared: &o, Live: &found[0], Field: f, Presence: detect.Both, Tier: given.Tier})
			say(o, " "+f.Path.String(), f)
		}
	}
	for _, o := range live {
		if declared[o.ID] || !slices.Contains(extraOf(files["extra"]), o.ID.Kind+"/"+o.ID.Name) {
			continue
		}
		var f detect.Field
		f.Cause, f.Drift, f.Writer, f.Reason = facts.Extra(classify.Subject{App: app, Live: &o})
		f.Class, f.Risk, _ = assessor.Object(assess.Input{Object: detect.Ref(o), Live: &o, Presence: detect.LiveOnly, Tier: given.Tier, Field: f})
		say(o, " (extra)", f)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// extraOf lists the live-only objects that the scenario asks about, as Kind/name.
func extraOf(data []byte) []string { return strings.Fields(string(data)) }

func same(list []gitops.Object, id gitops.ObjectID) []gitops.Object {
	var out []gitops.Object
	for _, o := range list {
		if o.ID == id {
			out = append(out, o)
		}
	}
	return out
}

func spell(w *detect.Writer) string {
	if w == nil {
		return "no writer"
	}
	text := string(w.Confidence)
	if w.Manager != "" {
		text = w.Manager + " " + w.Operation + " by " + text
	}
	if w.Subresource != "" {
		text += " through " + w.Subresource
	}
	return text
}

func objects(t *testing.T, data []byte) []gitops.Object {
	t.Helper()
	decoder := yamlv3.NewDecoder(bytes.NewReader(data))
	var out []gitops.Object
	for {
		var node yamlv3.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := yamlv3.Marshal(&node)
		if err != nil {
			t.Fatal(err)
		}
		var content map[string]any
		if err := yaml.Unmarshal(text, &content); err != nil {
			t.Fatal(err)
		}
		out = append(out, gitops.NewObject(integers(content).(map[string]any)))
	}
}

// integers gives whole numbers the type that objects hold them in.
func integers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = integers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	}
	return v
}
