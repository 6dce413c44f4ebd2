package chart_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"holdfast/gitops"
	"holdfast/gitops/chart"
)

// tree gives the files of a txtar text.
func tree(text string) chart.Files {
	files := map[string]gitops.File{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		files[f.Name] = gitops.File{Data: f.Data}
	}
	return chart.InTree(gitops.NewTree(files))
}

// one is a chart with a single template.
func one(template, values string) chart.Files {
	return tree("-- c/Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\n-- c/values.yaml --\n" + values + "\n-- c/templates/t.yaml --\n" + template)
}

// render renders the chart in c and gives its documents as one text.
func render(ctx context.Context, files chart.Files, release chart.Release, pass chart.Pass) (string, *chart.Output, error) {
	loaded, err := chart.Load(files, "c")
	if err != nil {
		return "", nil, err
	}
	out, err := loaded.Render(ctx, nil, release, pass, nil)
	if err != nil {
		return "", nil, err
	}
	var texts []string
	for _, d := range out.Documents {
		texts = append(texts, d.Text)
	}
	return strings.Join(texts, "---\n"), out, nil
}

func TestTemplatesAreStopped(t *testing.T) {
	const never, much = "the chart's templates: context deadline", "write more than 128 MiB"
	for _, test := range []struct{ name, template, want string }{
		{"a loop that writes nothing and ends never", `{{ range 9000000000000000000 }}{{ end }}`, never},
		{"a loop that writes a gigabyte of text", `{{ range 1000000 }}` + strings.Repeat("x", 1100) + `{{ end }}`, much},
		{"a loop that writes a gigabyte of values", `{{ range 1000000 }}{{ $.Values.long }}{{ end }}`, much},
		{"loops that trim what is around them", `{{- range 900000000000 -}}  {{- range 900000000000 -}} x {{- end -}} {{- end -}}`, never},
		{"a loop in a text that tpl evaluates", `{{ tpl .Values.loop . }}`, never},
		{"a text that tpl evaluates and that calls tpl with itself", `{{ tpl .Values.again . }}`, "tpl evaluates texts that call tpl again"},
		{"a loop in a text that tpl makes", `{{ tpl (print "{{ range 90000000000" "0 }}{{ end }}") . }}`, never},
		{"named templates that call each other twice", `{{ define "a" }}{{ include "b" . }}{{ include "b" . }}{{ end }}{{ define "b" }}{{ include "a" . }}{{ include "a" . }}{{ end }}{{ include "a" . }}`, "error calling include"}, // Helm's own limit of depth
		{"a single call that makes a gigabyte", `{{ repeat 1000000000 "x" }}`, much},
		{"a list of numbers without end", `{{ until 1000000000000 | len }}`, much},
		{"a sequence without end", `{{ seq 1 1000000000000 | len }}`, much},
		{"a random text of a gigabyte", `{{ randAlphaNum 1000000000 | len }}`, much},
		{"a text that is doubled until memory ends", `{{ $x := "x" }}` + strings.Repeat(`{{ $x = print $x $x }}`, 40), much},
		{"a replacement that makes much of little", `{{ replace "x" (repeat 100000 "y") (repeat 100000 "x") | len }}`, much},
		{"an indentation without end", `{{ indent 2000000000 "x" | len }}`, much},
		{"a list that is joined with a long separator", `{{ join (repeat 100000 "y") (until 100000) | len }}`, much},
		{"a chart that calls itself through a template", `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`, "exceeded maximum template depth"},
		{"a loop over named templates with no own words", `{{ define "x" }}{{ end }}{{ range 90000000000000 }}{{ template "x" $ }}{{ end }}`, never},
	} {
		t.Run(test.name, func(t *testing.T) {
			limit := time.Minute // more than a test may take: the size ends it
			if test.want == never {
				limit = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			files := one(test.template, "long: "+strings.Repeat("y", 2000)+"\nloop: '{{ range 900000000000000 }}{{ end }}'\nagain: '{{ tpl .Values.again . }}'")
			_, _, err := render(ctx, files, chart.Release{}, chart.First)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if (test.want == never || test.want == much) && !errors.Is(err, chart.ErrLimit) {
				t.Errorf("error %v, want one over the limit", err)
			}
		})
	}
}

func TestStoppedTemplatesStop(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	turns := 0
	loaded, err := chart.Load(one(`{{ range 90000000000 }}{{ end }}`, ""), "c")
	if err != nil {
		t.Fatal(err)
	}
	watched := &watchedContext{Context: ctx, asked: &turns}
	if _, err := loaded.Render(watched, nil, chart.Release{}, chart.First, nil); !errors.Is(err, chart.ErrLimit) {
		t.Fatalf("error %v, want one over the limit", err)
	}
	time.Sleep(50 * time.Millisecond)
	before := watched.count()
	time.Sleep(50 * time.Millisecond)
	if after := watched.count(); after != before {
		t.Errorf("the loop still runs: %d turns after its end", after-before)
	}
}

// unstableCalls are all functions of Helm whose answer hangs on chance, on the clock or on the order of a mapping:
// sprig's nonhermetic ones, what makes keys and salts, and what reads the clock for something that is no date.
var unstableCalls = []string{
	`now | date "2006-01-02T15:04:05"`, `now | date "06"`, `now | date "Jan"`, `now | date "Mon"`, `now | date "2"`, `now | date "3PM"`,
	`now | date "4"`, `now | date "5"`, `now | date ".000"`, `now | unixEpoch`, `now | htmlDate`, `htmlDateInZone now "UTC"`, `dateInZone "15" now "Asia/Tokyo"`,
	`date_in_zone "15" now "UTC"`, `now | dateModify "-1h" | date "15"`, `date "2006" "no date"`, `date "2006" nil`, `ago 0`, `ago now | print (ago 5)`,
	`durationRound (toDate "2006" "2000")`,
	`randAlphaNum 1`, `randAlpha 1`, `randNumeric 1`, `randAscii 1 | b64enc`, `randBytes 1`, `randInt 0 2`, `shuffle "ab"`, `uuidv4`,
	`randAlphaNum 8 | sha256sum | trunc 8`, `randAlpha 5 | upper`, `randAlphaNum 3 | quote`,
	`(genCA "a" 1).Cert`, `(genCA "a" 1).Key`, `(genSelfSignedCert "a" nil nil 1).Cert | b64enc`,
	`(genSignedCert "a" (list "1.2.3.4") (list "b") 1 (genCA "a" 1)).Cert`, `(genSignedCert "a" nil nil 1 (genCA "a" 1)).Key`,
	`(genCAWithKey "a" 1 (genPrivateKey "rsa")).Cert`, `(genSelfSignedCertWithKey "a" nil nil 1 "k").Cert`,
	`(genSignedCertWithKey "a" nil nil 1 (genCA "a" 1) "k").Cert`,
	`genPrivateKey "ecdsa"`, `genPrivateKey "ed25519"`, `genPrivateKey "dsa"`, `genPrivateKey ""`, `bcrypt "a"`, `htpasswd "a" "b"`, `encryptAES "a" "b"`,
	`(buildCustomCert ((genCA "a" 1).Cert | b64enc) "a2V5").Cert`,
	`keys (dict "a" 1 "b" 2) | join ","`, `values (dict "a" 1 "b" 2) | join ","`,
}

func TestUnstableFunctionsDifferBetweenThePasses(t *testing.T) {
	for _, call := range unstableCalls {
		t.Run(call, func(t *testing.T) {
			files := one("{{ "+call+" }}", "")
			first, out, err := render(t.Context(), files, chart.Release{}, chart.First)
			if err != nil {
				t.Fatal(err)
			}
			if !out.Varies {
				t.Error("it is not said to vary")
			}
			again, _, _ := render(t.Context(), files, chart.Release{}, chart.First)
			if first != again && !strings.HasPrefix(call, "encryptAES") {
				t.Errorf("one pass gives %q, then %q", first, again)
			}
			if second, _, err := render(t.Context(), files, chart.Release{}, chart.Second); err != nil || first == second {
				t.Errorf("both passes give %q (%v)", first, err)
			}
		})
	}
}

func TestStableFunctionsNeedOnePass(t *testing.T) {
	for _, call := range []string{
		`lookup "v1" "Secret" "a" "b" | len`, `keys (dict "a" 1) | join ","`, `randAlpha 0`, `randInt 3 4`, `date "2006" 86400`,
		`"2020" | toDate "2006" | unixEpoch`, `getHostByName "localhost"`, `uuidv4 | len | print "no" | trunc 0`,
		`.Release.Revision`, `toYaml .Values`, `range $k, $v := dict "b" 1 "a" 2 }}{{ $k }}{{ end`,
	} {
		t.Run(call, func(t *testing.T) {
			files := one("x{{ "+call+" }}", "a: 1")
			first, out, err := render(t.Context(), files, chart.Release{}, chart.First)
			if err != nil {
				t.Fatal(err)
			}
			if out.Varies && !strings.HasPrefix(call, "uuidv4") {
				t.Error("it is said to vary")
			}
			if second, _, _ := render(t.Context(), files, chart.Release{}, chart.Second); first != second {
				t.Errorf("the passes give %q and %q", first, second)
			}
		})
	}
}

func TestHostNamesDoNotResolve(t *testing.T) {
	if got, _, err := render(t.Context(), one(`<{{ getHostByName "localhost" }}>`, ""), chart.Release{}, chart.First); err != nil || strings.TrimSpace(got) != "<>" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestChartsThatDoNotRender(t *testing.T) {
	const head = "-- c/Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\n"
	for _, test := range []struct {
		name, files, want string
		release           chart.Release
		is                error
	}{
		{name: "no Chart.yaml", files: "-- c/values.yaml --\n", want: "c/Chart.yaml: not in the repository", is: chart.ErrNotFound},
		{name: "a Chart.yaml that is no YAML", files: "-- c/Chart.yaml --\nname: [\n", want: "c: cannot load Chart.yaml"},
		{name: "a Chart.yaml without a version", files: "-- c/Chart.yaml --\napiVersion: v2\nname: c\n", want: "chart.metadata.version is required"},
		{name: "a library", files: head + "type: library\n", want: "library chart"},
		{name: "a dependency that is nowhere", is: chart.ErrRemote, want: "depends on the chart db 1.x.x of https://charts.example.test",
			files: head + "dependencies: [{name: db, version: 1.x.x, repository: 'https://charts.example.test'}]\n"},
		{name: "a path that leaves the repository", want: "leaves the repository",
			files: head + "dependencies: [{name: db, version: 1.x.x, repository: 'file://../../db'}]\n"},
		{name: "a cluster that is too old", want: "wants Kubernetes >=1.30.0, and the cluster has v1.29.1", release: chart.Release{KubeVersion: "v1.29.1"},
			files: head + "kubeVersion: '>=1.30.0'\n"},
		{name: "no version of Kubernetes", want: `Kubernetes version "new"`, release: chart.Release{KubeVersion: "new"}, files: head},
		{name: "values against the schema", want: "at '/replicas'",
			files: head + "-- c/values.yaml --\nreplicas: many\n-- c/values.schema.json --\n{\"properties\": {\"replicas\": {\"type\": \"number\"}}}\n"},
		{name: "a template that does not parse", want: "parse error at (c/templates/a.yaml:2)", files: head + "-- c/templates/a.yaml --\n\n{{ if }}\n"},
		{name: "a template that fails", want: "(c/templates/a.yaml:1:3): say a color",
			files: head + "-- c/templates/a.yaml --\n{{ required \"say a color\" .Values.color }}\n"},
		{name: "a value below nothing", want: "nil pointer evaluating", files: head + "-- c/templates/a.yaml --\n{{ .Values.a.b.c }}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := render(t.Context(), tree(test.files), test.release, chart.First)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "holdfast") {
				t.Errorf("the error shows what was put into the templates: %v", err)
			}
		})
	}
}

func TestChartsThatRender(t *testing.T) {
	const head = "-- c/Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\n"
	for _, test := range []struct {
		name, files, want string
		release           chart.Release
	}{
		{name: "a dependency that is nowhere and disabled", want: "x\n",
			files: head + "dependencies: [{name: db, version: 1.x.x, repository: 'https://charts.example.test', condition: db.enabled}]\n-- c/values.yaml --\ndb: {enabled: false}\n-- c/templates/a.yaml --\nx\n"},
		{name: "a schema that refers to elsewhere is not fetched", want: "x\n",
			files: head + "-- c/values.schema.json --\n{\"$ref\": \"https://schemas.example.test/a.json\"}\n-- c/templates/a.yaml --\nx\n"},
		{name: "a schema that the Application skips", want: "x\n", release: chart.Release{SkipSchema: true},
			files: head + "-- c/values.schema.json --\n{\"required\": [\"a\"]}\n-- c/templates/a.yaml --\nx\n"},
		{name: "CRDs that the Application skips", want: "x\n", release: chart.Release{SkipCRDs: true},
			files: head + "-- c/crds/a.yaml --\na: b\n-- c/templates/a.yaml --\nx\n"},
		{name: "values that a dependency exports", want: "from db, and db's\n",
			files: head + "dependencies: [{name: db, version: 1.x.x, import-values: [shown, {child: inner, parent: outer}]}]\n-- c/templates/a.yaml --\n{{ .Values.word }}, and {{ .Values.outer.word }}\n" +
				"-- c/charts/db/Chart.yaml --\napiVersion: v2\nname: db\nversion: 1.0.0\n-- c/charts/db/values.yaml --\nexports: {shown: {word: from db}}\ninner: {word: db's}\n"},
		{name: "an old chart with requirements.yaml", want: "x\n",
			files: "-- c/Chart.yaml --\nname: c\nversion: 1.0.0\n-- c/requirements.yaml --\ndependencies: [{name: db, version: 1.x.x, condition: db.enabled}]\n-- c/values.yaml --\ndb: {enabled: false}\n-- c/templates/a.yaml --\nx\n"},
		{name: "API versions that are all there are", want: "false true\n", release: chart.Release{Exact: true, APIVersions: []string{"a/v1"}},
			files: head + "-- c/templates/a.yaml --\n{{ .Capabilities.APIVersions.Has \"apps/v1\" }} {{ .Capabilities.APIVersions.Has \"a/v1\" }}\n"},
		{name: "API versions beside those that Helm knows", want: "true true\n", release: chart.Release{APIVersions: []string{"a/v1"}},
			files: head + "-- c/templates/a.yaml --\n{{ .Capabilities.APIVersions.Has \"apps/v1\" }} {{ .Capabilities.APIVersions.Has \"a/v1\" }}\n"},
		{name: "files beside the templates", want: "a: hello\n",
			files: head + "-- c/files/a --\nhello\n-- c/templates/a.yaml --\na: {{ .Files.Get \"files/a\" }}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := render(t.Context(), tree(test.files), test.release, chart.First)
			if err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(got) != strings.TrimSpace(test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDependencyInAnArchive(t *testing.T) {
	packed := func(files map[string]string) []byte {
		var out bytes.Buffer
		zip := gzip.NewWriter(&out)
		archive := tar.NewWriter(zip)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
				t.Fatal(err)
			}
			if _, err := archive.Write([]byte(files[name])); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(archive.Close(), zip.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	files := chart.InTree(gitops.NewTree(map[string]gitops.File{
		"c/Chart.yaml": {Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")},
		"c/charts/db-1.0.0.tgz": {Data: packed(map[string]string{
			"db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n", "db/values.yaml": "port: 5432\n", "db/templates/a.yaml": "port: {{ .Values.port }}\n",
		})},
	}))
	got, out, err := render(t.Context(), files, chart.Release{}, chart.First)
	if err != nil || got != "port: 5432\n" {
		t.Fatalf("got %q, %v", got, err)
	}
	if d := out.Documents[0]; d.File != "c/charts/db-1.0.0.tgz" || d.Template != "c/charts/db/templates/a.yaml" {
		t.Errorf("document %+v", d)
	}
	loaded, err := chart.Load(files, "c")
	if err != nil {
		t.Fatal(err)
	}
	values, err := chart.Merge(files, nil, chart.StandIns{})
	if err != nil {
		t.Fatal(err)
	}
	want := []chart.Source{{Entry: -1, File: "c/charts/db-1.0.0.tgz", Packed: true, Path: gitops.Path{gitops.Field("port")}}}
	if diff := cmp.Diff(want, values.Provenance(loaded).Of(path(t, "db.port"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var nothing bytes.Buffer
	zip := gzip.NewWriter(&nothing)
	for range 149 {
		if _, err := zip.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	endless := chart.InTree(gitops.NewTree(map[string]gitops.File{
		"c/Chart.yaml": {Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")}, "c/charts/db.tgz": {Data: nothing.Bytes()},
	}))
	if _, err := chart.Load(endless, "c"); !errors.Is(err, chart.ErrLimit) {
		t.Errorf("an archive without files that goes on and on: error %v", err)
	}
	broken := chart.InTree(gitops.NewTree(map[string]gitops.File{
		"c/Chart.yaml":    {Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")},
		"c/charts/db.tgz": {Data: []byte("no archive")},
	}))
	if _, err := chart.Load(broken, "c"); err == nil || !strings.Contains(err.Error(), "c/charts/db.tgz: no chart archive") {
		t.Errorf("error %v", err)
	}
}

func path(t testing.TB, text string) gitops.Path {
	t.Helper()
	p, err := gitops.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func BenchmarkTwentyTemplates(b *testing.B) {
	var text strings.Builder
	text.WriteString("-- c/Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\n-- c/templates/_h.tpl --\n{{- define \"labels\" }}\napp: {{ .Chart.Name }}\nversion: {{ .Chart.Version | quote }}\n{{- end }}\n-- c/values.yaml --\n")
	for i := range 20 {
		fmt.Fprintf(&text, "part%d: {replicas: 2, image: {name: registry.example.test/app, tag: v1}, env: {A: b, C: d}, resources: {limits: {cpu: 1, memory: 1Gi}}}\n", i)
	}
	for i := range 20 {
		fmt.Fprintf(&text, `-- c/templates/part%d.yaml --
{{- with .Values.part%d }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $.Release.Name }}-part%d
  labels: {{- include "labels" $ | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  template:
    metadata:
      labels: {{- include "labels" $ | nindent 8 }}
    spec:
      containers:
        - name: app
          image: "{{ .image.name }}:{{ .image.tag }}"
          resources: {{- toYaml .resources | nindent 12 }}
          env:
            {{- range $k, $v := .env }}
            - {name: {{ $k }}, value: {{ $v | quote }}}
            {{- end }}
{{- end }}
`, i, i, i)
	}
	files := tree(text.String())
	b.ReportAllocs()
	for b.Loop() {
		if _, out, err := render(b.Context(), files, chart.Release{Name: "r"}, chart.First); err != nil || len(out.Documents) != 20 {
			b.Fatal(err)
		}
	}
}
