package jqpath_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"holdfast/gitops/jqpath"
)

const deployment = `
metadata: {name: web, annotations: {a.b/c: x, "": y}}
spec:
  replicas: 3
  template:
    spec:
      containers:
        - {name: web, resources: {limits: {cpu: 1}}, env: [{name: A, value: s3cret}]}
        - {name: worker, resources: {}}
        - {name: log}
`

func content(t testing.TB) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(deployment), &out); err != nil {
		t.Fatal(err)
	}
	spec := out["spec"].(map[string]any)
	spec["replicas"] = int64(3) // as live objects have it
	return out
}

func TestPaths(t *testing.T) {
	const containers = "spec.template.spec.containers"
	for _, row := range []struct{ name, expression, want string }{
		{"a field", ".spec.replicas", "spec.replicas"},
		{"a field that is not there", ".spec.paused", "spec.paused"},
		{"one entry of a list", `.spec.template.spec.containers[] | select(.name == "web") | .resources`, containers + "[0].resources"},
		{"an entry that no list has", `.spec.template.spec.containers[] | select(.name == "x") | .resources`, ""},
		{"several at once", ".spec.replicas, .metadata.name", "spec.replicas metadata.name"},
		{"a slice", ".spec.template.spec.containers[1:]", containers + "[1] " + containers + "[2]"},
		{"a slice from the end", ".spec.template.spec.containers[-1:].name?", ""},
		{"the last entry", ".spec.template.spec.containers[-1]", containers + "[2]"},
		{"an index that is not there", ".spec.template.spec.containers[7]", ""},
		{"a key with dots", `.metadata.annotations["a.b/c"]`, `metadata.annotations["a.b/c"]`},
		{"a key without characters", `.metadata.annotations[""]`, ""},
		{"a number compared", `.spec | select(.replicas == 3) | .replicas`, "spec.replicas"},
		{"a definition of its own", `def r: .replicas; .spec | r`, "spec.replicas"},
		{"a comment at the end", ".spec.replicas # not more", "spec.replicas"},
		{"everything", ".", ""},
		{"fields of any depth", `.. | .cpu? | select(. != null)`, containers + "[0].resources.limits.cpu"},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := jqpath.Compile(row.expression)
			if err != nil {
				t.Fatal(err)
			}
			paths, err := e.Paths(t.Context(), content(t))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range paths {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(row.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, row := range []struct{ name, expression, want string }{
		{"no expression", "", "unexpected token"},
		{"a syntax error", ".spec[", "unexpected EOF"},
		{"an end of the parentheses that stand around it", ".spec) | (.x", "unexpected token"},
		{"the next input", ".spec | input", "input"},
		{"all inputs", "inputs", "input"},
		{"a module", `import "m" as m; m::f`, "m"},
		{"an unknown function", ".spec | nothing_such", "nothing_such"},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := jqpath.Compile(row.expression)
			if err == nil {
				_, err = e.Paths(t.Context(), content(t))
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got error %v, want one with %q", err, row.want)
			}
		})
	}
}

func TestLimitsOfAnExpression(t *testing.T) {
	nested := func(n int, open, inner, end string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, row := range []struct{ name, expression, want string }{
		{"parentheses as deep as allowed", nested(100, "(", ".spec", ")"), ""},
		{"one more", nested(101, "(", ".spec", ")"), "nested deeper than 100"},
		{"brackets of all kinds", ".spec | select(" + nested(34, "[({a: ", "1", "})]") + ")", "nested deeper than 100"},
		{"brackets inside of texts", ".spec | select(" + nested(101, `"\(`, "1", `)"`) + " != 1)", "nested deeper than 100"},
		{"brackets side by side", strings.Repeat("(.spec) | ", 200) + ".replicas", ""},
		{"brackets that are text", `.spec | select(.x != "` + strings.Repeat("(", 200) + `\"[")`, ""},
		{"brackets in a comment", ".spec # " + strings.Repeat("(", 200), ""},
		{"as long as allowed", ".spec" + strings.Repeat(" ", 16<<10-5), ""},
		{"one byte more", ".spec" + strings.Repeat(" ", 16<<10-4), "16 KiB are allowed"},
		{"what would overflow the stack", nested(650_000, "(", ".", ")"), "16 KiB are allowed"},
		{"conditions, which need no bracket", nested(1000, "if 1 then ", ".", " end"), ""},
		{"signs", ".spec | select(" + strings.Repeat("-", 16_000) + "1 != 2)", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := time.Now()
			_, err := jqpath.Compile(row.expression)
			switch {
			case row.want == "" && err != nil:
				t.Errorf("got error %v", err)
			case row.want != "" && (!errors.Is(err, jqpath.ErrLimit) || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got error %v, want ErrLimit and %q", err, row.want)
			case row.want != "" && len(err.Error()) > 300:
				t.Error("the error repeats the whole expression")
			}
			if took := time.Since(before); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestNoEnvironment(t *testing.T) {
	t.Setenv("HOLDFAST_JQ", "seen")
	for _, expression := range []string{`select($ENV.HOLDFAST_JQ == "seen")`, `select(env.HOLDFAST_JQ == "seen")`} {
		e, err := jqpath.Compile(expression)
		if err != nil {
			continue // refused: as good
		}
		if paths, err := e.Paths(t.Context(), content(t)); err == nil && len(paths) > 0 {
			t.Errorf("%s sees the environment", expression)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, row := range []struct {
		name, expression string
		limit            bool
	}{
		{"no path expression", ".spec.replicas + 1", false},
		{"an error after a path", `.spec.replicas, error("s3cret")`, false},
		{"a value where a mapping is wanted", `.metadata.name.x, (.spec.template.spec.containers[0].env[0].value | .[0])`, false},
		{"an end of the process", "halt_error", false},
		{"an endless loop", ".spec | until(false; .)", true},
		{"an endless recursion", "def f: f; f", true},
		{"more paths than fields", "range(200000) as $i | .spec", true},
		{"a single step that takes long", "select(reduce range(60) as $i (3; . * .) > 0)", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, err := jqpath.Compile(row.expression)
			if err != nil {
				t.Fatal(err)
			}
			before := time.Now()
			paths, err := e.Paths(t.Context(), content(t))
			if err == nil || len(paths) > 0 {
				t.Fatalf("got %v and error %v, want no path and an error", paths, err)
			}
			if strings.Contains(err.Error(), "s3cret") && !strings.Contains(row.expression, "s3cret") {
				t.Errorf("the error holds a value: %v", err)
			}
			if errors.Is(err, jqpath.ErrLimit) != row.limit {
				t.Errorf("got %v", err)
			}
			if took := time.Since(before); took > 2*jqpath.Limit {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestTheCallersEnd(t *testing.T) {
	e, err := jqpath.Compile("until(false; .)")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Paths(ctx, content(t)); err == nil {
		t.Error("an evaluation without end came to an end")
	}
}

// FuzzPaths looks for panics, hangs and paths that are none.
func FuzzPaths(f *testing.F) {
	for _, expression := range []string{
		".spec.replicas", ".. | select(.name? == \"web\")", ".spec.template.spec.containers[1:]", "paths", "recurse", "env", "$__loc__",
		"limit(3; .[]?)", "to_entries[]", "getpath([\"spec\",\"x\"])", "first(.[]?)", "..[.name?]?", ".[-1e300]?", "splits(\"a\")", "ltrimstr(\"a\")",
		"def f: .[0:1]; f", "label $x | ., break $x", ".spec as {replicas: $r} | select($r > 1)", "try error catch .", "@json \"x\\(.)\"",
	} {
		f.Add(expression)
	}
	object := content(f)
	before := cmp.Diff(nil, object)
	f.Fuzz(func(t *testing.T, expression string) {
		e, err := jqpath.Compile(expression)
		if err != nil {
			return
		}
		start := time.Now()
		paths, err := e.Paths(t.Context(), object)
		if took := time.Since(start); took > 3*jqpath.Limit {
			t.Errorf("it took %v", took)
		}
		if err != nil && len(paths) > 0 {
			t.Errorf("got paths and the error %v", err)
		}
		for _, p := range paths {
			for _, step := range p {
				if step.IsIndex() && step.Index < 0 {
					t.Errorf("path %v has a negative index", p)
				}
			}
		}
		if cmp.Diff(nil, object) != before {
			t.Error("the object was changed")
		}
	})
}
