package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/detect"
)

// noticeChart is a chart of one ConfigMap, at version 1.2.0, and the release that a cluster made of it. Somebody
// has changed the colour by hand.
const noticeChart = `
-- notice/Chart.yaml --
apiVersion: v2
name: notice
version: 1.2.0
-- notice/values.yaml --
text: hello
color: blue
-- notice/templates/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-notice
data:
  text: {{ .Values.text | quote }}
  color: {{ .Values.color | quote }}
`

func noticeCluster(t *testing.T, repository string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "live.yaml")
	writeFile(t, file, strings.ReplaceAll(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {interval: 1h, url: REPOSITORY}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: team, namespace: docs}
spec:
  interval: 10m
  chart: {spec: {chart: notice, version: 1.x, sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}}}
  values: {text: good morning}
status:
  conditions: [{type: Ready, status: "True", reason: InstallSucceeded, message: ok, lastTransitionTime: "2026-03-01T00:00:00Z"}]
  history:
  - {name: team, namespace: docs, version: 1, chartName: notice, chartVersion: 1.2.0, appVersion: "", status: deployed, digest: "sha256:0", configDigest: "sha256:0", firstDeployed: "2026-03-01T00:00:00Z", lastDeployed: "2026-03-01T00:00:00Z"}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: team-notice
  namespace: docs
  labels: {app.kubernetes.io/managed-by: Helm, helm.toolkit.fluxcd.io/name: team, helm.toolkit.fluxcd.io/namespace: docs}
  annotations: {meta.helm.sh/release-name: team, meta.helm.sh/release-namespace: docs}
  managedFields:
  - {manager: helm-controller, operation: Update, apiVersion: v1, fieldsType: FieldsV1, time: "2026-03-01T00:00:00Z", fieldsV1: {"f:data": {".": {}, "f:text": {}}, "f:metadata": {"f:labels": {}, "f:annotations": {}}}}
  - {manager: kubectl-edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, time: "2026-03-02T00:00:00Z", fieldsV1: {"f:data": {"f:color": {}}}}
data: {text: good morning, color: red}
`, "REPOSITORY", repository))
	return file
}

// packed gives a chart's archive.
func packedChart(t *testing.T, text string) []byte {
	t.Helper()
	dir := unpackInto(t, t.TempDir(), text)
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, name := range []string{"notice/Chart.yaml", "notice/values.yaml", "notice/templates/cm.yaml"} {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		err = w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(data))})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// wantRed checks that the changed colour is found, and nothing else.
func wantRed(t *testing.T, out string, code int) {
	t.Helper()
	var scan scanJSON
	if err := json.Unmarshal([]byte(out), &scan); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var drifts []string
	for _, f := range scan.Findings {
		for _, field := range f.Fields {
			if field.Drift {
				drifts = append(drifts, f.Object.Name+" "+field.Path.String()+" "+string(field.Cause))
			}
		}
	}
	if code != 1 || len(drifts) != 1 || drifts[0] != "team-notice data.color "+string(detect.CauseManual) {
		t.Errorf("exit %d, drifts %v\n%s", code, drifts, out)
	}
}

func TestAChartOfThisMachine(t *testing.T) {
	live := noticeCluster(t, "https://charts.example.test/stable")
	dir := unpackInto(t, t.TempDir(), noticeChart)
	for _, flag := range []string{"https://charts.example.test/stable=" + dir, "https://charts.example.test/stable/notice=" + filepath.Join(dir, "notice")} {
		out, code := holdfast(t, "scan", "-o", "json", "--live", live, "--chart", flag)
		wantRed(t, out, code)
	}
	writeFile(t, filepath.Join(dir, "notice", "Chart.yaml"), "apiVersion: v2\nname: notice\nversion: 1.3.0\n")
	out, errors, code := runAll(t, "scan", "--live", live, "--chart", "https://charts.example.test/stable="+dir)
	if code != 2 || !strings.Contains(out, "version 1.2.0, which is applied: not found; the repository has 1.3.0") {
		t.Errorf("another version than was applied: exit %d\n%s%s", code, out, errors)
	}
	for _, bad := range []string{dir, "charts=" + dir, "https://charts.example.test="} {
		if _, errors, code := runAll(t, "scan", "--live", live, "--chart", bad); code != 2 || !strings.Contains(errors, "want URL=PATH") {
			t.Errorf("--chart %s: exit %d: %s", bad, code, errors)
		}
	}
}

func TestAChartOfARepository(t *testing.T) {
	archive := packedChart(t, noticeChart)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "bot" || password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/stable/index.yaml":
			_, _ = w.Write([]byte("entries: {notice: [{version: 1.4.0, urls: [none.tgz]}, {version: 1.2.0, urls: [notice.tgz]}]}"))
		case "/stable/notice.tgz":
			_, _ = w.Write(archive)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	live := noticeCluster(t, server.URL+"/stable")
	t.Setenv("CHARTS_PASSWORD", "hunter2")
	config := func(charts string) string {
		file := filepath.Join(t.TempDir(), "holdfast.yaml")
		writeFile(t, file, `
apiVersion: holdfast/v1
kind: Config
repositories: [{url: https://git.example.test/shop.git, clusters: ["*"], namespaces: ["*"]}]
chartRepositories: `+charts)
		return file
	}
	entry := "{url: " + server.URL + "/stable, plainHTTP: true, auth: {username: bot, passwordEnv: CHARTS_PASSWORD}, clusters: [\"*\"], namespaces: [NAMESPACE]}"
	out, code := holdfast(t, "scan", "-o", "json", "--live", live, "--config", config("["+strings.Replace(entry, "NAMESPACE", "docs", 1)+"]"))
	wantRed(t, out, code)
	for charts, want := range map[string]string{
		"[]": "not bound: no chartRepositories entry",
		"[" + strings.Replace(entry, "NAMESPACE", "other", 1) + "]":                                                                                 "but not to namespace docs",
		"[" + strings.Replace(strings.Replace(entry, "NAMESPACE", "docs", 1), "auth: {username: bot, passwordEnv: CHARTS_PASSWORD}, ", "", 1) + "]": "access denied",
	} {
		out, errors, code := runAll(t, "scan", "--live", live, "--config", config(charts))
		if code != 2 || !strings.Contains(out, want) || strings.Contains(out+errors, "hunter2") {
			t.Errorf("%s: exit %d, want %q\n%s%s", charts, code, want, out, errors)
		}
	}
}

// TestAPathThatIsAChart: what --path alone names is rendered as `helm template` and Argo CD do, with the chart's own
// values, and says how to ask for others.
func TestAPathThatIsAChart(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), noticeChart)
	live := filepath.Join(t.TempDir(), "live.yaml")
	writeFile(t, live, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: notice-notice
  namespace: default
  managedFields:
  - {manager: deployer, operation: Update, apiVersion: v1, fieldsType: FieldsV1, time: "2026-03-01T00:00:00Z", fieldsV1: {"f:data": {"f:text": {}}}}
  - {manager: kubectl-edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, time: "2026-03-02T00:00:00Z", fieldsV1: {"f:data": {"f:color": {}}}}
data: {text: hello, color: red}
`)
	args := []string{"scan", "--live", live, "--git", dir, "--path", "notice", "--manager", "deployer"}
	out, errors, code := runAll(t, append(args, "-o", "json")...)
	var scan scanJSON
	if err := json.Unmarshal([]byte(out), &scan); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errors)
	}
	if code != 1 || len(scan.Findings) != 1 || len(scan.Findings[0].Fields) != 1 || scan.Findings[0].Fields[0].Path.String() != "data.color" {
		t.Errorf("exit %d\n%s", code, out)
	}
	out, _, _ = runAll(t, args...)
	if !strings.Contains(strings.Join(strings.Fields(out), " "), "as release notice in namespace default; spec.helm of a holdfast/v1 Application says otherwise") {
		t.Errorf("how it was rendered is not told:\n%s", out)
	}
}
