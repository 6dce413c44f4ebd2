package render_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/gitops"
	"holdfast/gitops/render"
)

const one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"

func tree(files map[string]string) gitops.Tree {
	out := map[string]gitops.File{}
	for name, text := range files {
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			out[name] = gitops.File{Mode: gitops.Symlink, Data: []byte(target)}
			continue
		}
		out[name] = gitops.File{Data: []byte(text)}
	}
	return gitops.NewTree(out)
}

func kustomize(t *testing.T, files map[string]string, where string) (*render.Result, error) {
	t.Helper()
	return render.Render(context.Background(), tree(files), where, gitops.Render{Kustomize: &gitops.Kustomize{}}, render.Env{})
}

// TestRemoteIsRefused has every place of a kustomization in which kustomize would use the network or run
// code. A render that let one through would fail here by a timeout or another error.
func TestRemoteIsRefused(t *testing.T) {
	const url = "https://registry.example.test/base.yaml"
	for _, row := range []struct {
		name          string
		kustomization string
		more          map[string]string
		want          error
		says          string
	}{
		{name: "a resource by https", kustomization: "resources: [" + url + "]", want: render.ErrRemote, says: url},
		{name: "a resource whose scheme is in capitals", kustomization: "resources: [HTTPS://registry.example.test/x]", want: render.ErrRemote},
		{name: "a resource with an opaque address", kustomization: "resources: ['http:registry.example.test']", want: render.ErrRemote},
		{name: "a base on a known host", kustomization: "resources: ['github.com/example/base?ref=v1']", want: render.ErrRemote},
		{name: "a base on a known host by scp", kustomization: "resources: ['github.com:example/base']", want: render.ErrRemote},
		{name: "a base by ssh", kustomization: "resources: ['git@git.example.test:example/base.git']", want: render.ErrRemote},
		{name: "a base by an ssh address", kustomization: "resources: ['ssh://git.example.test/example/base']", want: render.ErrRemote},
		{name: "a base by a local Git repository", kustomization: "resources: ['file:///srv/base']", want: render.ErrRemote},
		{name: "a base with a forced protocol", kustomization: "resources: ['git::https://git.example.test/base']", want: render.ErrRemote},
		{name: "a base by another getter", kustomization: "resources: ['s3::https://s3.example.test/base']", want: render.ErrRemote},
		{name: "an old base", kustomization: "bases: [" + url + "]", want: render.ErrRemote},
		{name: "a component", kustomization: "components: [" + url + "]", want: render.ErrRemote},
		{name: "a key in capitals", kustomization: "RESOURCES: [" + url + "]", want: render.ErrRemote},
		{name: "a patch", kustomization: "patches: [{path: " + url + "}]", want: render.ErrRemote},
		{name: "an old strategic patch", kustomization: "patchesStrategicMerge: [" + url + "]", want: render.ErrRemote},
		{name: "an old JSON patch", kustomization: "patchesJson6902: [{path: " + url + ", target: {kind: X}}]", want: render.ErrRemote},
		{name: "a generator's file", kustomization: "configMapGenerator: [{name: a, files: [" + url + "]}]", want: render.ErrRemote},
		{name: "a generator's file under a key", kustomization: "configMapGenerator: [{name: a, files: ['x=" + url + "']}]", want: render.ErrRemote},
		{name: "a generator's variables", kustomization: "secretGenerator: [{name: a, envs: [" + url + "]}]", want: render.ErrRemote},
		{name: "a generator's variables in the old field", kustomization: "secretGenerator: [{name: a, env: " + url + "}]", want: render.ErrRemote},
		{name: "a CRD", kustomization: "crds: [" + url + "]", want: render.ErrRemote},
		{name: "a configuration", kustomization: "configurations: [" + url + "]", want: render.ErrRemote},
		{name: "a schema", kustomization: "openapi: {path: '" + url + "'}", want: render.ErrRemote},
		{name: "replacements", kustomization: "replacements: [{path: " + url + "}]", want: render.ErrRemote},
		{name: "a transformer", kustomization: "transformers: [" + url + "]", want: render.ErrRemote},
		{name: "a generator's configuration", kustomization: "generators: ['git@git.example.test:a/b']", want: render.ErrRemote},
		{name: "a validator", kustomization: "validators: [github.com/example/validators]", want: render.ErrRemote},
		{
			name: "a base of a base", kustomization: "resources: [base]",
			more: map[string]string{"app/base/kustomization.yml": "resources: [" + url + "]"},
			want: render.ErrRemote, says: "app/base/kustomization.yml",
		},
		{
			name: "a component of a component", kustomization: "components: [c]",
			more: map[string]string{
				"app/c/kustomization.yaml":   "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\ncomponents: [d]",
				"app/c/d/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nresources: [" + url + "]",
			},
			want: render.ErrRemote,
		},
		{
			name: "the patch of a transformer in a file", kustomization: "transformers: [t.yaml]",
			more: map[string]string{"app/t.yaml": "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: " + url + "\n"},
			want: render.ErrRemote,
		},
		{
			name:          "the patch of an inline transformer",
			kustomization: "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: t}\n  PATH: " + url + "\n",
			want:          render.ErrRemote,
		},
		{
			name: "a file of a generator in a file", kustomization: "generators: [g.yaml]",
			more: map[string]string{"app/g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: g}\nfiles: ['k=" + url + "']\n"},
			want: render.ErrRemote,
		},
		{
			name: "a transformer that only becomes remote by a patch in its folder", kustomization: "transformers: [t]",
			more: map[string]string{
				"app/t/kustomization.yaml": "resources: [t.yaml]\npatches:\n- target: {kind: PatchTransformer}\n  patch: |\n    - {op: replace, path: /path, value: \"" + url + "\"}\n",
				"app/t/t.yaml":             "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: local.yaml\n",
			},
			want: render.ErrRemote,
		},
		{
			name: "a base in a folder of transformers", kustomization: "transformers: [t]",
			more: map[string]string{"app/t/kustomization.yaml": "resources: [" + url + "]"},
			want: render.ErrRemote,
		},
		{name: "a Helm chart", kustomization: "helmCharts: [{name: a, repo: " + url + "}]", want: render.ErrPlugin, says: "app/kustomization.yaml"},
		{name: "a Helm chart in the old field", kustomization: "helmChartInflationGenerator: [{chartName: a}]", want: render.ErrPlugin},
		{
			name: "a Helm chart by a generator's configuration", kustomization: "generators: [g.yaml]",
			more: map[string]string{"app/g.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: g}\nname: a\n"},
			want: render.ErrPlugin,
		},
		{
			name: "an exec plugin", kustomization: "generators: [g.yaml]",
			more: map[string]string{"app/g.yaml": "apiVersion: example.test/v1\nkind: Run\nmetadata: {name: g}\n"},
			want: render.ErrPlugin, says: "Run",
		},
		{
			name: "a container function", kustomization: "transformers: [f.yaml]",
			more: map[string]string{"app/f.yaml": "apiVersion: example.test/v1\nkind: Fn\nmetadata:\n  name: f\n  annotations: {config.kubernetes.io/function: 'container: {image: x}'}\n"},
			want: render.ErrPlugin,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			files := map[string]string{"app/kustomization.yaml": row.kustomization}
			for name, text := range row.more {
				files[name] = text
			}
			_, err := kustomize(t, files, "app")
			if !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, want %v that names %q", err, row.want, row.says)
			}
		})
	}
}

func TestCredentialsOfAnAddressAreNotShown(t *testing.T) {
	_, err := kustomize(t, map[string]string{
		"kustomization.yaml": "resources: ['https://bob:not-a-real-one@git.example.test/x']",
	}, ".")
	if err == nil || strings.Contains(err.Error(), "not-a-real-one") {
		t.Errorf("got %v", err)
	}
}

func TestEngineComponentsMustBeLocal(t *testing.T) {
	_, err := render.Render(context.Background(), tree(map[string]string{"app/one.yaml": one}), "app",
		gitops.Render{Kustomize: &gitops.Kustomize{Generate: true, Components: []string{"https://git.example.test/c"}}}, render.Env{})
	if !errors.Is(err, render.ErrRemote) {
		t.Errorf("got %v", err)
	}
}

// TestNothingOutsideTheTreeIsRead tries the ways out of the repository. /etc/passwd is there on any
// machine that runs this; its text must never be in a result.
func TestNothingOutsideTheTreeIsRead(t *testing.T) {
	up := strings.Repeat("../", 12)
	for _, row := range []struct {
		name  string
		files map[string]string
		says  string
	}{
		{"a resource far up", map[string]string{"app/kustomization.yaml": "resources: [" + up + "etc/passwd]"}, "leaves the repository"},
		{"an absolute resource", map[string]string{"app/kustomization.yaml": "resources: [/etc/passwd]"}, "leaves the repository"},
		{"a generator's file far up", map[string]string{"app/kustomization.yaml": "configMapGenerator: [{name: a, files: [" + up + "etc/passwd]}]"}, "leaves the repository"},
		{"a generator's absolute file", map[string]string{"app/kustomization.yaml": "configMapGenerator: [{name: a, files: [/etc/passwd]}]"}, "leaves the repository"},
		{"a base far up", map[string]string{"app/kustomization.yaml": "resources: [" + up + "tmp]"}, "leaves the repository"},
		{"a link to a file", map[string]string{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": "-> /etc/passwd"}, "leaves the repository"},
		{"a relative link to a file", map[string]string{"app/kustomization.yaml": "configMapGenerator: [{name: a, files: [a]}]", "app/a": "-> " + up + "etc/passwd"}, "leaves the repository"},
		{"a link to a folder", map[string]string{"app/kustomization.yaml": "configMapGenerator: [{name: a, files: [d/passwd]}]", "app/d": "-> " + up + "etc"}, "leaves the repository"},
		{"a link that goes round", map[string]string{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": "-> b.yaml", "app/b.yaml": "-> a.yaml"}, "leaves the repository"},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, err := kustomize(t, row.files, "app")
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v and %d objects, want an error with %q", err, len(result.Objects), row.says)
			}
			if err != nil && strings.Contains(err.Error(), "/repository") {
				t.Errorf("the error shows an inner path: %v", err)
			}
		})
	}
	t.Run("a folder outside", func(t *testing.T) {
		for _, how := range []gitops.Render{{}, {Kustomize: &gitops.Kustomize{Generate: true}}} {
			if _, err := render.Render(context.Background(), tree(nil), "../etc", how, render.Env{}); err == nil {
				t.Error("no error")
			}
		}
	})
}

// TestErrorsNameTheFileAndKeepSecrets checks what people read when a render fails.
func TestErrorsNameTheFileAndKeepSecrets(t *testing.T) {
	const secret = "not-a-real-one"
	for _, row := range []struct {
		name  string
		files map[string]string
		says  string
	}{
		{"no kustomization", map[string]string{"app/one.yaml": one}, "unable to find one of 'kustomization.yaml'"},
		{"two kustomizations", map[string]string{"app/kustomization.yaml": "resources: [a]", "app/kustomization.yml": "resources: [a]"}, "several kustomization files"},
		{"a broken kustomization", map[string]string{"app/kustomization.yaml": "resources: [a"}, "app/kustomization.yaml: invalid Kustomization"},
		{"an unknown field", map[string]string{"app/kustomization.yaml": "resource: [a]"}, `app/kustomization.yaml: invalid Kustomization: json: unknown field "resource"`},
		{"a file that is not there", map[string]string{"app/kustomization.yaml": "resources: [a.yaml]"}, "a.yaml"},
		{"a broken file", map[string]string{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": "a: [b\n"}, "a.yaml"},
		{"a key that stands twice", map[string]string{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": one + "data: {a: b}\ndata: {password: " + secret + "}\n"}, `app/a.yaml:5: key "data" stands twice`},
		{"text behind a separator", map[string]string{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": one + "--- password=" + secret + "\n"}, "a.yaml"},
		{"a replacement that is out of bounds", map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\nreplacements:\n- source: {kind: Secret, fieldPath: stringData.password, options: {delimiter: '.', index: 7}}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.other]}]\n", "app/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: " + secret + "}\n"}, "out of bounds"},
		{"aliases that go round", map[string]string{"app/kustomization.yaml": "resources: [a.yaml]", "app/a.yaml": one + "a: &a [*a]\n"}, "app/a.yaml"},
		{"aliases that go round in the second document of an inline patch", map[string]string{"app/kustomization.yaml": "resources: [one.yaml]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: one}\n    ---\n    a: &a {x: *a}\n", "app/one.yaml": one}, "app/kustomization.yaml"},
		{"aliases that go round in an inline patch", map[string]string{"app/kustomization.yaml": "resources: [one.yaml]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: one}\n    data: &a {x: *a}\n", "app/one.yaml": one}, "app/kustomization.yaml"},
		{"a bad literal", map[string]string{"app/kustomization.yaml": "secretGenerator: [{name: a, literals: ['" + secret + "']}]"}, ""},
		{"a patch that is none", map[string]string{"app/kustomization.yaml": "resources: [one.yaml]\npatches:\n- patch: |\n    password: " + secret + "\n", "app/one.yaml": one}, "patch"},
		{"a patch without its target", map[string]string{"app/kustomization.yaml": "resources: [one.yaml]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: x}\n    stringData: {password: " + secret + "}\n", "app/one.yaml": one}, "x"},
		{"two objects of one name", map[string]string{"app/kustomization.yaml": "resources: [one.yaml, two.yaml]", "app/one.yaml": one, "app/two.yaml": one + "data: {password: " + secret + "}\n"}, "already registered id"},
	} {
		t.Run(row.name, func(t *testing.T) {
			result, err := kustomize(t, row.files, "app")
			if err == nil {
				t.Fatalf("no error; %d objects", len(result.Objects))
			}
			if text := err.Error(); !strings.Contains(text, row.says) || strings.Contains(text, secret) || strings.Contains(text, "\n") || strings.Contains(text, "/repository") {
				t.Errorf("got %q, want %q in it", text, row.says)
			}
		})
	}
}

func TestMalformedObjectsDoNotPanic(t *testing.T) {
	for _, text := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, annotations: [a]}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {a: b}}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: [name]\n",
		"apiVersion: v1\nkind: List\nitems: {a: b}\n",
		"apiVersion: v1\nkind: List\nitems: [[a]]\n",
		"- apiVersion: v1\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: []}\n",
		"apiVersion: 1\nkind: 2\nmetadata: {name: 3}\n",
		"a: &a [*a]\n",
	} {
		files := map[string]string{
			"app/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: p-\nnamespace: shop\nlabels: [{pairs: {a: b}, includeSelectors: true}]\nimages: [{name: x, newTag: y}]\n",
			"app/a.yaml":             text,
		}
		_, err := kustomize(t, files, "app")
		t.Logf("%q: %v", text, err)
		for _, how := range []gitops.Render{{}, {Kustomize: &gitops.Kustomize{Generate: true}}} {
			_, _ = render.Render(context.Background(), tree(files), "app", how, render.Env{})
		}
	}
}

func TestLimits(t *testing.T) {
	files := map[string]string{"kustomization.yaml": "resources: [one.yaml]", "one.yaml": one}
	for _, row := range []struct {
		name   string
		how    gitops.Render
		limits render.Limits
	}{
		{"bytes of a plain folder", gitops.Render{}, render.Limits{Bytes: 60}},
		{"bytes of a kustomization", gitops.Render{Kustomize: &gitops.Kustomize{}}, render.Limits{Bytes: 60}},
		{"objects", gitops.Render{Recurse: true}, render.Limits{Objects: 1}},
		{"time of a plain folder", gitops.Render{}, render.Limits{Timeout: time.Nanosecond}},
		{"time of a kustomization", gitops.Render{Kustomize: &gitops.Kustomize{}}, render.Limits{Timeout: time.Nanosecond}},
	} {
		t.Run(row.name, func(t *testing.T) {
			more := map[string]string{"sub/two.yaml": strings.ReplaceAll(one, "one", "two")}
			for name, text := range files {
				more[name] = text
			}
			_, err := render.Render(context.Background(), tree(more), ".", row.how, render.Env{Limits: row.limits})
			if !errors.Is(err, render.ErrLimit) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("bases that double at each level", func(t *testing.T) {
		deep := map[string]string{"0/kustomization.yaml": "resources: [one.yaml]", "0/one.yaml": one}
		for i := 1; i < 20; i++ {
			deep[fmt.Sprintf("%d/kustomization.yaml", i)] = "resources: [a, b]\n"
			deep[fmt.Sprintf("%d/a/kustomization.yaml", i)] = fmt.Sprintf("resources: [../../%d]\nnamePrefix: a-\n", i-1)
			deep[fmt.Sprintf("%d/b/kustomization.yaml", i)] = fmt.Sprintf("resources: [../../%d]\nnamePrefix: b-\n", i-1)
		}
		_, err := kustomize(t, deep, "19")
		if !errors.Is(err, render.ErrLimit) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("aliases that double at each level", func(t *testing.T) {
		text := "a0: &a0 [x, x]\n"
		for i := 1; i < 30; i++ {
			text += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
		}
		result, err := render.Render(context.Background(), tree(map[string]string{"a.yaml": one + text}), ".", gitops.Render{}, render.Env{})
		if err != nil || len(result.Problems) != 1 {
			t.Errorf("got %v, %v", err, result.Problems)
		}
		if _, err := kustomize(t, map[string]string{"kustomization.yaml": "resources: [a.yaml]", "a.yaml": one + text}, "."); err == nil {
			t.Error("kustomize: no error")
		}
	})
}

func TestCyclesEnd(t *testing.T) {
	_, err := kustomize(t, map[string]string{
		"a/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "resources: [../a]",
	}, "a")
	if err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Errorf("got %v", err)
	}
}
