package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/detect"
)

// auditInput is a Deployment that alice scaled, and what managedFields tell of it.
const auditInput = `
-- git/apps/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.test/shop/web:1.0"}]}
-- live.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  creationTimestamp: "2026-11-01T09:00:00Z"
  managedFields:
  - {manager: deployer, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1, time: "2026-11-01T09:00:00Z", fieldsV1: {"f:spec": {"f:selector": {}, "f:template": {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:name": {}, "f:image": {}}}}}}}}
  - {manager: kubectl-patch, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1, time: "2026-11-02T09:00:00Z", fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.test/shop/web:1.0"}]}
`

// twoClusters is a kubeconfig of clusters that are never asked.
const twoClusters = `{apiVersion: v1, kind: Config, users: [{name: u, user: {}}],
  clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
  contexts: [{name: east, context: {cluster: c, user: u}}, {name: west, context: {cluster: c, user: u}}]}
`

// patchEvent is alice's request, as an API server logs it.
const patchEvent = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"1","stage":"ResponseComplete",` +
	`"requestURI":"/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubectl-patch","verb":"patch","user":{"username":"alice@example.test"},` +
	`"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","apiVersion":"v1"},"responseStatus":{"code":200},` +
	`"requestObject":{"spec":{"replicas":6}},"stageTimestamp":"2026-11-02T09:00:00.5Z"}`

func scanAudit(t *testing.T, args ...string) (scanJSON, string, int) {
	t.Helper()
	args = append([]string{"scan", "-o", "json", "--live", "live.yaml", "--git", "git", "--path", "apps", "--manager", "deployer"}, args...)
	out, errs, code := runAll(t, args...)
	var doc scanJSON
	if code != 2 {
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
	}
	return doc, errs, code
}

func TestEveryCloudsLogNamesWhoWrote(t *testing.T) {
	message := func(key string) string {
		data, _ := json.Marshal(map[string]string{key: patchEvent}) // a text
		return string(data)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	fmt.Fprintln(w, patchEvent)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const byAlice, impersonating = "alice@example.test", "alice@example.test as system:admin"
	t.Chdir(unpackInto(t, t.TempDir(), auditInput))
	for _, c := range []struct{ name, file, log, want string }{
		{"an API server's own log", "audit.log", patchEvent, byAlice},
		{"a compressed log", "audit.log.gz", zipped.String(), byAlice},
		{"somebody who impersonates", "audit.log", strings.Replace(patchEvent, `"objectRef"`, `"impersonatedUser":{"username":"system:admin"},"objectRef"`, 1), impersonating},
		{"an EventList", "list.json", `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[` + patchEvent + `]}`, byAlice},
		{"EKS: CloudWatch Logs", "eks.json", "{\n\"events\": [\n" + message("message") + ",\n{\"message\": \"I1102 another component\"}\n]\n}", byAlice},
		{"EKS: Logs Insights", "insights.json", "[\n" + message("@message") + "\n]", byAlice},
		{"AKS: resource logs", "aks.json", `{"category":"kube-audit-admin","properties":` + message("log") + `}`, byAlice},
		{"AKS: Log Analytics", "analytics.json", message("log_s"), byAlice},
		{"GKE: Cloud Logging", "gke.json", `{"insertId":"1","timestamp":"2026-11-02T09:00:00.5Z","protoPayload":{"@type":"type.googleapis.com/google.cloud.audit.AuditLog","serviceName":"k8s.io","methodName":"io.k8s.apps.v1.deployments.patch","resourceName":"apps/v1/namespaces/shop/deployments/web","authenticationInfo":{"principalEmail":"alice@example.test"},"request":{"@type":"k8s.io/Patch","spec":{"replicas":6}},"status":{}}}`, byAlice},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeFile(t, c.file, c.log)
			doc, errs, code := scanAudit(t, "--audit", c.file)
			if code != 1 || len(doc.Findings) != 1 || len(doc.Findings[0].Fields) != 1 {
				t.Fatalf("exit %d, %s, findings %+v", code, errs, doc.Findings)
			}
			by := doc.Findings[0].Fields[0].Writer
			if by == nil || by.Name() != c.want || by.Confidence != detect.ByAudit || by.Manager != "kubectl-patch" {
				t.Errorf("writer %+v, want %s", by, c.want)
			}
			table, _, _ := runAll(t, "scan", "--live", "live.yaml", "--git", "git", "--path", "apps", "--manager", "deployer", "--audit", c.file)
			if !strings.Contains(table, c.want) {
				t.Errorf("the table does not name %s:\n%s", c.want, table)
			}
		})
	}
}

func TestWhatAnAuditLogCannotTellIsSaid(t *testing.T) {
	t.Chdir(unpackInto(t, t.TempDir(), auditInput))
	later := strings.NewReplacer("2026-11-02T09:00:00.5Z", "2026-11-02T12:00:00Z", `"replicas":6`, `"paused":true`).Replace(patchEvent)
	writeFile(t, "late.log", later)
	writeFile(t, "empty.log", "")
	writeFile(t, "broken.log", patchEvent+"\n"+`{"kind":"Event","requestObject":{"password":"hunter2"`)
	for _, c := range []struct{ name, file, note string }{
		{"a log that begins after the change", "late.log", "the audit log begins at 2026-11-02T12:00:00Z and ends at 2026-11-02T12:00:00Z: 1 drifting fields changed, or may have, outside of it"},
		{"an empty log", "empty.log", "the audit log holds no event: whoever changed the 1 drifting fields is not in it"},
		{"a log with a broken line", "broken.log", "broken.log: line 2: no audit event: invalid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, errs, code := scanAudit(t, "--audit", c.file)
			notes := strings.Join(doc.Notes, "\n")
			if code != 1 || !strings.Contains(notes, c.note) || strings.Contains(notes+errs, "hunter2") {
				t.Errorf("exit %d, %s, notes %q, want %q", code, errs, notes, c.note)
			}
		})
	}
}

func TestAuditLogsAreOfOneClusterEach(t *testing.T) {
	dir := unpackInto(t, t.TempDir(), auditInput)
	t.Chdir(dir)
	writeFile(t, "audit.log", patchEvent)
	writeFile(t, "empty.log.gz", "this is not compressed at all")
	writeFile(t, "kubeconfig", twoClusters)
	for _, c := range []struct {
		name string
		args []string
		want string // of the error; empty where it works
	}{
		{"by its name", []string{"--audit", "dump=audit.log"}, ""},
		{"two files of one cluster", []string{"--audit", "audit.log", "--audit", filepath.Join(dir, "audit.log")}, ""},
		{"of a cluster that is not scanned", []string{"--audit", "west=audit.log"}, `no cluster "west" is scanned`},
		{"no such file", []string{"--audit", "absent.log"}, "--audit absent.log: open absent.log: no such file"},
		{"not compressed", []string{"--audit", "empty.log.gz"}, "--audit empty.log.gz: gzip: invalid header"},
		{"no log at all", []string{"--audit", "live.yaml"}, "--audit live.yaml: no audit event in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, errs, code := scanAudit(t, c.args...)
			if c.want != "" {
				if code != 2 || !strings.Contains(errs, c.want) {
					t.Errorf("exit %d, said %q, want %q", code, errs, c.want)
				}
				return
			}
			if code != 1 || !slices.ContainsFunc(doc.Findings, func(f detect.Finding) bool { return f.Fields[0].Writer.User == "alice@example.test" }) {
				t.Errorf("exit %d, %s, findings %+v", code, errs, doc.Findings)
			}
		})
	}
	_, errs, code := runAll(t, "scan", "--kubeconfig", "kubeconfig", "--context", "east", "--context", "west", "--audit", "audit.log")
	if code != 2 || !strings.Contains(errs, "--audit audit.log: which of the 2 clusters is it of? Write --audit CLUSTER=FILE") {
		t.Errorf("exit %d, said %q", code, errs)
	}
}
