package chart

import (
	"path"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
)

// templates are pieces of Helm's language whose output must not change.
var templates = map[string]string{
	"text alone":             "a: b\n",
	"values":                 "{{ .Values.a }} {{.Values.a}}{{- .Values.a -}} \n {{- .Values.a }}",
	"nothing":                "<{{ .Values.absent }}|{{ .Values.null }}|{{ .Values.absent | default \"x\" }}>",
	"all kinds of values":    "{{ .Values.list }} {{ .Values.map }} {{ .Values.big }} {{ .Values.yes }} {{ 1 }} {{ 'a' }} {{ 1.5 }} {{ true }} {{ \"}}\" }} {{ `{{` }} {{ .Chart.Version }}",
	"what prints itself":     "{{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.APIVersions | len }}",
	"loops":                  "{{ range $i, $e := .Values.list }}{{ $i }}={{ $e }}\n{{ else }}none{{ end }}{{ range .Values.none }}x{{ else }}none{{ end }}",
	"trimmed loops":          "a\n  {{- range .Values.list -}}\n   {{ . }}  \n  {{- end -}}\n b",
	"half trimmed loops":     "a\n  {{ range .Values.list -}}   {{ . -}}  \n  {{- end }}\n b",
	"breaks":                 "{{ range .Values.list }}{{ if eq . \"y\" }}{{ continue }}{{ end }}{{ . }}{{ break }}{{ end }}",
	"assignments":            "{{ $x := .Values.a }}{{ $x = print $x 1 }}{{$x}}{{ $y:=2 }}{{ $y }}",
	"conditions":             "{{ if .Values.a }}1{{ else if .Values.b }}2{{ else }}3{{ end }}{{ with .Values.map }}{{ .k }}{{ else with .Values.a }}{{ . }}{{ end }}",
	"comments":               "{{/* a }} b */}}x{{- /* c */ -}} y",
	"named templates":        "{{ define \"t\" }}<{{ . }}>{{ end }}{{ template \"t\" 1 }}{{ include \"t\" .Values.a | upper }}{{ block \"b\" .Values.a }}[{{ . }}]{{ end }}",
	"an empty definition":    "{{ define \"e\" }}{{ end }}<{{ include \"e\" . }}>{{ define \"f\" }} {{/* c */}} {{ end }}{{ include \"f\" . | trim }}",
	"actions over lines":     "{{ list 1\n   2\n | join \"-\" }}\n{{\n .Values.a\n}}",
	"tpl":                    "{{ tpl .Values.text . }} {{ tpl \"{{ .Values.a }}\" $ | upper }} {{ tpl (print \"{{ range .Values.list }}{{ . }}{{ end }}\") . }} {{ include \"x\" (tpl .Values.text .) }}{{ define \"x\" }}({{ . }}){{ end }}",
	"tpl of tpl":             "{{ tpl \"{{ tpl .Values.text . }}\" . }}{{ if tpl \"{{ .Values.a }}\" . }}yes{{ end }}{{ $t := tpl .Values.text . }}{{ $t }}",
	"names that look alike":  "{{ $range := 1 }}{{ $range }}{{ .Values.tpl }}{{ $tpl := 3 }}{{ $tpl }}{{ endsLike }}",
	"files":                  "{{ (.Files.Glob \"*.txt\").AsConfig }}{{ range $p, $_ := .Files.Glob \"*\" }}{{ $p }}{{ end }}{{ .Files.Get \"a.txt\" }}{{ range .Files.Lines \"a.txt\" }}[{{ . }}]{{ end }}",
	"functions on structure": "{{ toYaml .Values.map | nindent 2 }}{{ .Values.map | toJson }}{{ dict \"a\" (list 1 2) | toYaml }}{{ index .Values.list 0 }}{{ len .Values.list }}{{ printf \"%s-%d\" .Values.a 3 }}{{ print 1 2 \"a\" nil }}{{ println \"x\" }}{{ cat 1 \"a\" }}{{ repeat 2 \"ab\" }}{{ join \",\" .Values.list }}{{ seq 1 3 }}{{ until 3 }}{{ untilStep 0 9 3 }}{{ replace \"x\" \"zz\" .Values.a }}{{ indent 2 \"a\" }}{{ wrapWith 2 \"-\" \"abcd\" }}",
	"encoders":               "{{ range list .Values (list 1 (dict \"a\" nil \"b\" \"<é> \\n x\")) \"t\" 1.5 nil }}{{ toYaml . }}{{ toYamlPretty . }}{{ toJson . }}{{ toPrettyJson . }}{{ toRawJson . }}{{ mustToYaml . }}{{ mustToJson . }}{{ mustToPrettyJson . }}{{ quote . }}{{ squote . }}{{ toString . }}{{ html . }}{{ js . }}{{ urlquery . }}{{ int . }}{{ end }}{{ mustToToml .Values.map }}{{ toToml .Values }}{{ toToml (list 1 nil) }}{{ merge (dict \"a\" 1) .Values.map }}{{ concat .Values.list (list 1) }}{{ add 1 2 }}{{ max 1 2.5 }}{{ maxf 1 2.5 }}{{ deepCopy .Values.map }}",
	"text that is no action": "}} { { {{ \"a\" }} %",
	"windows line ends":      "{{ range .Values.list }}\r\n{{ . }}\r\n{{ end }}\r\n",
}

func run(t *testing.T, text string, guarded bool) (string, error) {
	t.Helper()
	c := &v2.Chart{
		Metadata:  &v2.Metadata{Name: "c", Version: "1.0.0", APIVersion: "v2"},
		Templates: []*common.File{{Name: "templates/t.yaml", Data: []byte(text)}},
		Files:     []*common.File{{Name: "a.txt", Data: []byte("one\ntwo\n")}, {Name: "b.md", Data: []byte("three")}},
	}
	values := map[string]any{
		"a": "x", "null": nil, "list": []any{"x", "y"}, "none": []any{}, "map": map[string]any{"k": "v", "n": 1.0}, "big": 1000000.0, "yes": true,
		"text": "{{ range .Values.list }}{{ . }},{{ end }}{{ .Values.a | quote }}", "tpl": "plain",
	}
	release := Release{Name: "r", Namespace: "n"}
	capabilities, err := release.capabilities(First)
	if err != nil {
		t.Fatal(err)
	}
	all, err := commonutil.ToRenderValues(c, values, common.ReleaseOptions{}, capabilities)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.Engine{CustomTemplateFuncs: template.FuncMap{}}
	if guarded {
		guard(c)
		e.CustomTemplateFuncs = (&session{ctx: t.Context(), left: maxOutput}).functions()
	}
	e.CustomTemplateFuncs["endsLike"] = func() string { return "function" }
	out, err := e.RenderWithContext(t.Context(), c, all)
	return out[path.Join("c", "templates", "t.yaml")], err
}

func TestGuardsChangeNoOutput(t *testing.T) {
	for name, text := range templates {
		t.Run(name, func(t *testing.T) {
			want, err := run(t, text, false)
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(t, text, true)
			if err != nil {
				t.Fatalf("%v in\n%s", err, guarded(text))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-engine +guarded)\n%s\nguarded: %s", diff, guarded(text))
			}
		})
	}
}

func TestWhatGuardsPutIn(t *testing.T) {
	for text, want := range map[string]string{
		"{{ .a }}":                      "{{ .a | holdfastOut }}",
		"{{- .a -}}":                    "{{- .a | holdfastOut -}}",
		"{{ range .a }}xyz{{ end }}z":   "{{ range .a }}{{holdfastStep 3}}xyz{{ end }}z",
		"{{- range .a -}} x {{- end }}": "{{- range .a -}}{{- holdfastStep 3 -}} x {{- end }}",
		"{{ range .a }}{{ if .b }}12{{ end }}3{{ end }}45": "{{ range .a }}{{holdfastStep 3}}{{ if .b }}12{{ end }}3{{ end }}45",
		"{{ define \"a\" }}{{ end }}":                      "{{ define \"a\" }}{{ end }}",
		"{{ define \"a\" }}12{{ end }}":                    "{{ define \"a\" }}{{holdfastStep 2}}12{{ end }}",
		"{{ $x := tpl (.a | b) $ }}":                       "{{ $x := tpl (holdfastText (.a | b)) $ }}",
		"{{ tpl .a.b . | c }}":                             "{{ tpl (holdfastText .a.b) . | c | holdfastOut }}",
		"{{ \"tpl .a\" }}":                                 "{{ \"tpl .a\" | holdfastOut }}",
		"{{ broken":                                        "{{ broken",
		"{{/* tpl .a */}}":                                 "{{/* tpl .a */}}",
	} {
		if got := guarded(text); got != want {
			t.Errorf("guarded(%s)\n got %s\nwant %s", text, got, want)
		}
	}
}

func FuzzGuarded(f *testing.F) {
	for _, text := range templates {
		f.Add(text)
	}
	functions := (&session{left: maxOutput}).functions()
	for name, fn := range map[string]any{"include": strings.Repeat, "default": strings.Repeat} {
		functions[name] = fn
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := guarded(text)
		if strings.Count(text, "\n") != strings.Count(out, "\n") {
			t.Errorf("lines move: %q", out)
		}
		if _, err := template.New("t").Funcs(functions).Parse(text); err != nil {
			return
		}
		if _, err := template.New("t").Funcs(functions).Parse(out); err != nil {
			t.Errorf("%q parses, and %q does not: %v", text, out, err)
		}
	})
}
