package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast/gitops"
	"holdfast/gitops/typed"
)

func content(t *testing.T, text string) map[string]any {
	t.Helper()
	docs, err := documents([]byte(text))
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v in %s", len(docs), err, text)
	}
	return docs[0]
}

func TestExpand(t *testing.T) {
	variables := map[string]any{"A": "1", "EMPTY": ""}
	tests := []struct {
		name, text, want string
		unknown          bool
	}{
		{"a variable", "x ${A} y", "x 1 y", false},
		{"one that nobody set is empty", "x ${B} y", "x  y", false},
		{"a default stands for one that nobody set", "${B:=b} ${B:-c} ${B-d}", "b c d", false},
		{"an empty one takes the default with a colon only", "${EMPTY:=b}/${EMPTY-c}", "b/", false},
		{"two dollar signs are one", "$${A} $$", "${A} $", false},
		{"without braces nothing is a variable", "$A $(A)", "$A $(A)", false},
		{"other expressions are left to our own render", "${A:0:1}", "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := expand(test.text, variables)
			if got != test.want || errors.Is(err, errOwn) != test.unknown {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const pod, policy = "apiVersion: v1\nkind: Pod\n", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
	tests := []struct {
		name, a, b string
		want       string
	}{
		{"nothing", pod + "metadata: {name: a}\n", pod + "metadata: {name: a}\n", ""},
		{"empty labels are none", pod + "metadata: {name: a, labels: {}}\n", pod + "metadata: {name: a}\n", ""},
		{"an empty peer of a NetworkPolicy is not none", policy + "spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}\n",
			policy + "spec: {podSelector: {}, ingress: [{from: [{}]}]}\n", "spec.ingress[0].from[0].podSelector"},
		{"another text", pod + "metadata: {name: a, labels: {x: y}}\n", pod + "metadata: {name: a, labels: {x: z}}\n", "metadata.labels.x"},
		{"another spelling of a quantity", pod + "spec: {containers: [{name: c, resources: {limits: {cpu: 500m}}}]}\n",
			pod + "spec: {containers: [{name: c, resources: {limits: {cpu: 0.5}}}]}\n", ""},
		{"a default is as good as none", "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 1, protocol: TCP}]}\n", "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 1}]}\n", ""},
		{"what is no default is not", "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 1, protocol: UDP}]}\n", "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 1}]}\n", "spec.ports[0].protocol"},
		{"the order of variables", pod + "spec: {containers: [{name: c, env: [{name: A}, {name: B}]}]}\n",
			pod + "spec: {containers: [{name: c, env: [{name: B}, {name: A}]}]}\n", "spec.containers[0].env (order)"},
		{"the order of arguments", pod + "spec: {containers: [{name: c, args: [a, b]}]}\n",
			pod + "spec: {containers: [{name: c, args: [b, a]}]}\n", "spec.containers[0].args[0] spec.containers[0].args[1]"},
		{"an empty mapping of a custom resource is not none", "apiVersion: x/v1\nkind: X\nspec: {a: {}}\n", "apiVersion: x/v1\nkind: X\nspec: {}\n", "spec.a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, d := range differences(schemas, content(t, test.a), content(t, test.b)) {
				text := d.path.String()
				if d.order {
					text += " (order)"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTouch(t *testing.T) {
	tests := []struct {
		name, before, after string
		removal             bool
		lines               int
		wrong               string
	}{
		{"a changed line counts once", "a: 1\nb: 2\n", "a: 1\nb: 3\n", false, 1, ""},
		{"two places are two lines", "a: 1\nb: 2\nc: 3\n", "a: 2\nb: 2\nc: 4\n", false, 2, ""},
		{"a lost comment", "# why\na: 1\n", "a: 2\n", false, 2, "the comment"},
		{"a comment goes with what it is about", "# why\na: 1\nb: 1\n", "b: 1\n", true, 2, ""},
		{"a line of a text that begins like a comment", "a: |\n  # what\n  b\nc: 1\n", "a: |\n  # other\n  b\nc: 1\n", false, 1, ""},
		{"a comment behind a text is one", "a:\n  x: |\n    b\n  # why\n  c: 1\n", "a:\n  x: |\n    b\n  c: 2\n", false, 2, "the comment"},
		{"the end of the file", "a: 1", "a: 2\n", false, 1, "the newline at the end"},
		{"line ends", "a: 1\r\nb: 1\r\n", "a: 1\r\nb: 2\n", false, 1, "CRLF"},
		{"the byte order mark", "\xef\xbb\xbfa: 1\n", "a: 1\n", false, 1, "byte order mark"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree := gitops.NewTree(map[string]gitops.File{"f": {Data: []byte(test.before)}})
			got := touch(tree, []gitops.Edit{{Path: "f", Before: []byte(test.before), After: []byte(test.after)}}, test.removal)
			if said := strings.Join(got.wrong, "; "); got.lines != test.lines || !strings.Contains(said, test.wrong) || test.wrong == "" && said != "" {
				t.Errorf("%d lines, %s", got.lines, said)
			}
		})
	}
}

// The judge must see what an edit did not do, and what it did beside.
func TestCompare(t *testing.T) {
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	configMap := func(name, value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: " + value + "}\n"
	}
	pod := func(names string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {volumes: [{name: v, configMap: {name: " + names + "}}]}\n"
	}
	const old, next = "settings-aaaaaaaaa1", "settings-bbbbbbbbb2"
	tests := []struct {
		name                string
		before, after, live string
		want                string
	}{
		{"it reads as live", configMap("a", "x") + "---\n" + configMap("b", "x"), configMap("a", "live") + "---\n" + configMap("b", "x"), configMap("a", "live"), ""},
		{"it does not", configMap("a", "x"), configMap("a", "z"), configMap("a", "live"), `data.a: want "live", is "z"`},
		{"another one moved", configMap("a", "x") + "---\n" + configMap("b", "x"), configMap("a", "live") + "---\n" + configMap("b", "live"), configMap("a", "live"), "ConfigMap/b data.a"},
		{"one is gone", configMap("a", "x") + "---\n" + configMap("b", "x"), configMap("a", "live"), configMap("a", "live"), "ConfigMap/b is gone"},
		{"one is new", configMap("a", "x"), configMap("a", "live") + "---\n" + configMap("b", "live"), configMap("a", "live"), "ConfigMap/b is new"},
		{"a hash follows the content, and so do names", configMap(old, "x") + "---\n" + pod(old), configMap(next, "live") + "---\n" + pod(next), configMap(old, "live"), ""},
		{"a hash follows, a name does not", configMap(old, "x") + "---\n" + pod(old), configMap(next, "live") + "---\n" + pod("other"), configMap(old, "live"), "Pod/p"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			made := func(text string) objects {
				all, err := documents([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				return byID(all)
			}
			app := gitops.Application{Name: "app"}
			var out ruling
			(&judge{schemas: schemas}).compare(&out, app, &baseline{made: made(test.before)}, made(test.after), content(t, test.live), app)
			if said := strings.Join(out.Wrong, "; "); !strings.Contains(said, test.want) || test.want == "" && said != "" {
				t.Errorf("got %q, want %q", said, test.want)
			}
		})
	}
}

func TestReach(t *testing.T) {
	tree := gitops.NewTree(map[string]gitops.File{
		"prod/kustomization.yaml": {Data: []byte("resources: [../base]\nconfigMapGenerator: [{name: c, files: [x=../shared/x.txt]}]\n")},
		"base/kustomization.yaml": {Data: []byte("resources: [a.yaml]\n")},
		"base/a.yaml":             {}, "base/unused.yaml": {}, "shared/x.txt": {}, "other/kustomization.yaml": {},
	})
	r := reachOf(tree, gitops.Application{Source: gitops.Source{Path: "prod"}, Render: gitops.Render{Kustomize: &gitops.Kustomize{}}})
	for name, want := range map[string]bool{
		"prod/kustomization.yaml": true, "base/kustomization.yaml": true, "base/a.yaml": true, "shared/x.txt": true,
		"base/unused.yaml": false, "other/kustomization.yaml": false,
	} {
		if r.has(name) != want {
			t.Errorf("%s: %t, want %t", name, !want, want)
		}
	}
}

// Every kind of change must find something in an ordinary object, the same each time.
func TestMutations(t *testing.T) {
	schemas, err := typed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	deployment := `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - {name: web, image: "registry.example.test:5000/web:1.2", args: [a], env: [{name: A, value: b}]}
`
	tests := map[string]string{
		"image tag": deployment, "replicas": deployment, "env value": deployment, "env added": deployment, "env removed": deployment,
		"resource limit": deployment, "arg": deployment, "label": deployment, "annotation": deployment, "added container": deployment,
		"removed map key": deployment,
		"ConfigMap key":   "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n",
		"Service port":    "apiVersion: v1\nkind: Service\nspec: {ports: [{port: 80, targetPort: 8080}]}\n",
		"RBAC rule":       "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n",
		"nested CR field": "apiVersion: x.test/v1\nkind: X\nspec: {a: {b: {c: d}}}\n",
	}
	b := &bench{estate: &estate{}, seed: 7}
	for _, m := range mutators() {
		t.Run(m.kind, func(t *testing.T) {
			o := gitops.NewObject(content(t, tests[m.kind]))
			before, err := yaml.Marshal(o.Content)
			if err != nil {
				t.Fatal(err)
			}
			one, ok := mutated(b.chance("app", 3), m, o, schemas)
			two, _ := mutated(b.chance("app", 3), m, o, schemas)
			if !ok || len(differences(schemas, o.Content, one)) == 0 {
				t.Fatalf("nothing changed: %v", one)
			}
			if diff := cmp.Diff(one, two); diff != "" {
				t.Errorf("the same chance gave another change:\n%s", diff)
			}
			if after, _ := yaml.Marshal(o.Content); string(before) != string(after) {
				t.Error("the rendered object itself was changed")
			}
		})
	}
}

func TestTheListIsRead(t *testing.T) {
	all, err := readList("repositories.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all.Repositories {
		tree := r.written()
		for name := range r.Write {
			if data, _ := tree.Read(name); !strings.HasSuffix(string(data), "\n") {
				t.Errorf("%s: %s does not end with a newline", r.name(), name)
			}
		}
		for _, c := range r.Charts {
			for _, file := range c.Values {
				if _, ok := tree.Read(file); !ok {
					t.Errorf("%s: %s: the values file %s is not written", r.name(), c.Path, file)
				}
			}
		}
	}
}

func TestWhichValuesExpressAField(t *testing.T) {
	at := func(text string) gitops.Path {
		var p gitops.Path
		if err := p.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	set := gitops.Present("x")
	tests := []struct {
		name, moved string
		added       bool
		change      gitops.FieldChange
		want        bool
	}{
		{"the field itself", "spec.replicas", false, gitops.FieldChange{Path: at("spec.replicas"), Before: set, After: set}, true},
		{"the whole object", "", false, gitops.FieldChange{Path: at("spec.replicas"), Before: set, After: set}, false},
		{"what holds the field", "spec", false, gitops.FieldChange{Path: at("spec.replicas"), Before: set, After: set}, false},
		{"another label comes", "metadata.labels.b", true, gitops.FieldChange{Path: at("metadata.labels.a"), After: set}, true},
		{"another label changes", "metadata.labels.b", false, gitops.FieldChange{Path: at("metadata.labels.a"), After: set}, false},
		{"the list of an added entry", "spec.env", true, gitops.FieldChange{Path: at("spec.env[name=a]"), After: set}, true},
		{"the list of a changed entry", "spec.env", true, gitops.FieldChange{Path: at("spec.env[name=a].value"), Before: set, After: set}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := (movedField{path: at(test.moved), added: test.added}).is(test.change); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
