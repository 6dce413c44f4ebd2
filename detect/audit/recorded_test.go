package audit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/detect/audit"
)

// recorded gives the events that TestTheLabsEventsNameWhoWrote -update keeps, one a line.
func recorded(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "lab.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// without takes keys out of events, as a lower level does.
func without(t *testing.T, lines []string, keys ...string) []string {
	t.Helper()
	var out []string
	for _, line := range lines {
		e := decode(t, line)
		for _, key := range keys {
			delete(e, key)
		}
		out = append(out, encode(t, e))
	}
	return out
}

func decode(t *testing.T, line string) map[string]any {
	t.Helper()
	var e map[string]any
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// each wraps every line.
func each(lines []string, wrap func(line string) any, t *testing.T) string {
	t.Helper()
	var out []string
	for _, line := range lines {
		out = append(out, encode(t, wrap(line)))
	}
	return strings.Join(out, "\n")
}

// raw gives the events as JSON values.
func raw(lines []string) []json.RawMessage {
	var out []json.RawMessage
	for _, line := range lines {
		out = append(out, json.RawMessage(line))
	}
	return out
}

func TestEveryFormGivesTheSameAnswers(t *testing.T) {
	lines := recorded(t)
	data, err := os.ReadFile(filepath.Join("testdata", "lab.json"))
	if err != nil {
		t.Fatal(err)
	}
	objects := readObjects(t, data)
	type fields = map[string]any
	messages := func(key string) []any {
		var out []any
		for _, line := range lines {
			out = append(out, fields{"timestamp": 1, key: line})
		}
		return append(out, fields{key: "I1102 09:00:00 another component"})
	}
	indented := func(v any) string {
		data, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var twice, stages, backwards []string
	for _, line := range lines {
		twice = append(twice, line, line)
		for _, stage := range []string{"RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"} {
			stages = append(stages, strings.Replace(line, `"stage":"ResponseComplete"`, `"stage":"`+stage+`"`, 1))
		}
	}
	backwards = slices.Clone(lines)
	slices.Reverse(backwards)
	var google []any
	for _, line := range lines {
		google = append(google, logEntry(t, line))
	}
	for _, c := range []struct {
		name, log string
		level     int
	}{
		{"audit.k8s.io/v1, one event a line", strings.Join(lines, "\n"), 0},
		{"events in the reverse order", strings.Join(backwards, "\n"), 0},
		{"every event delivered twice", strings.Join(twice, "\n"), 0},
		{"every stage of every request", strings.Join(stages, "\n"), 0},
		{"level Request", strings.Join(without(t, lines, "responseObject"), "\n"), 1},
		{"level Metadata", strings.Join(without(t, lines, "requestObject", "responseObject"), "\n"), 2},
		{"an EventList on one line", encode(t, fields{"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": raw(without(t, lines, "kind", "apiVersion"))}), 0},
		{"an EventList over many lines", indented(fields{"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": raw(lines)}), 0},
		{"EKS: a message a line", each(lines, func(l string) any { return fields{"message": l} }, t), 0},
		{"EKS: CloudWatch Logs Insights, exported as JSON", indented(messages("@message")), 0},
		{"EKS: a result of aws logs get-query-results", indented(fields{"status": "Complete", "results": func() (rows []any) {
			for _, line := range lines {
				rows = append(rows, []any{fields{"field": "@timestamp", "value": "2026-11-02 09:00:00.000"}, fields{"field": "@message", "value": line}})
			}
			return rows
		}()}), 0},
		{"EKS: aws logs filter-log-events", indented(fields{"events": messages("message"), "searchedLogStreams": []any{}}), 0},
		{"EKS: a CloudWatch Logs subscription", encode(t, fields{"messageType": "DATA_MESSAGE", "logGroup": "/aws/eks/shop/cluster", "logEvents": messages("message")}), 0},
		{"EKS: an export to S3", "2026-11-02T09:00:00.000Z " + strings.Join(lines, "\n2026-11-02T09:00:00.000Z "), 0},
		{"AKS: resource logs, one record a line", each(lines, func(l string) any {
			return fields{"category": "kube-audit", "operationName": "Microsoft.ContainerService/managedClusters/diagnosticLogs/Read", "properties": fields{"log": l, "stream": "stdout"}}
		}, t), 0},
		{"AKS: Event Hubs, records in a list", encode(t, fields{"records": func() (out []any) {
			for _, line := range lines {
				out = append(out, fields{"category": "kube-audit-admin", "properties": encode(t, fields{"log": line})})
			}
			return append(out, fields{"category": "guard", "properties": fields{"log": "another component"}})
		}()}), 0},
		{"AKS: the table AzureDiagnostics", indented(func() (out []any) {
			for _, line := range lines {
				out = append(out, fields{"Category": "kube-audit", "log_s": line})
			}
			return out
		}()), 0},
		{"GKE: a LogEntry a line", each(lines, func(l string) any { return logEntry(t, l) }, t), 3},
		{"GKE: gcloud logging read --format=json", indented(google), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, err := audit.Decode(strings.NewReader(c.log))
			if err != nil {
				t.Fatal(err)
			}
			if log.Broken > 0 {
				t.Errorf("broken: %v", log.Notes())
			}
			check(t, log, objects, c.level)
		})
	}
	t.Run("AKS: the table AKSAudit", func(t *testing.T) {
		log, err := audit.Decode(strings.NewReader(each(lines, func(l string) any { return row(t, l) }, t)))
		if err != nil || log.Broken > 0 || log.Events != len(lines) || log.Writes == 0 {
			t.Fatalf("%+v, %v", log, err)
		}
		live := objects["Deployment/scaled"]
		f := drift(t, "spec.replicas", live)
		if !log.Of(live.ID, fluxApplication(), &live).Field(&f) || f.Writer.User != "alice@example.test" {
			t.Errorf("writer %+v", f.Writer)
		}
	})
}

// row is an event in Azure's table AKSAudit, dynamic columns as texts. It does not have impersonated users.
func row(t *testing.T, line string) map[string]any {
	t.Helper()
	e := decode(t, line)
	out := map[string]any{
		"Type": "AKSAudit", "AuditId": e["auditID"], "Level": e["level"], "RequestUri": e["requestURI"], "Stage": e["stage"],
		"StageReceivedTime": e["stageTimestamp"], "UserAgent": e["userAgent"], "Verb": e["verb"], "TimeGenerated": e["stageTimestamp"],
	}
	for column, key := range map[string]string{"ObjectRef": "objectRef", "User": "user", "RequestObject": "requestObject", "ResponseStatus": "responseStatus"} {
		out[column] = encode(t, e[key])
	}
	out["ResponseObject"] = "skipped-too-big-size-object"
	return out
}

// logEntry is an event as GKE's audit log has it.
func logEntry(t *testing.T, line string) map[string]any {
	t.Helper()
	e := decode(t, line)
	ref, _ := e["objectRef"].(map[string]any)
	text := func(key string) string { s, _ := ref[key].(string); return s }
	group, method := text("apiGroup"), text("apiGroup")
	if group == "" {
		group, method = "core", "core"
	}
	version := text("apiVersion")
	name := fmt.Sprintf("%s/%s/namespaces/%s/%s", group, version, text("namespace"), text("resource"))
	verb, _ := e["verb"].(string)
	what := text("resource")
	if n := text("name"); n != "" {
		name += "/" + n
	}
	if sub := text("subresource"); sub != "" {
		name, what = name+"/"+sub, what+"."+sub
	}
	who, _ := e["user"].(map[string]any)
	authentication := map[string]any{"principalEmail": who["username"]}
	if as, ok := e["impersonatedUser"].(map[string]any); ok {
		authentication["authoritySelector"] = as["username"]
	}
	payload := map[string]any{
		"@type": "type.googleapis.com/google.cloud.audit.AuditLog", "serviceName": "k8s.io", "resourceName": name,
		"methodName": strings.Join([]string{"io.k8s", method, version, what, verb}, "."), "authenticationInfo": authentication,
		"status": map[string]any{},
	}
	if status, _ := e["responseStatus"].(map[string]any); status["code"].(float64) >= 300 {
		payload["status"] = map[string]any{"code": 3}
	}
	uri, _ := e["requestURI"].(string)
	for key, from := range map[string]string{"request": "requestObject", "response": "responseObject"} {
		if body, ok := e[from].(map[string]any); ok && text("resource") != "secrets" {
			body["@type"] = "k8s.io/Body"
			payload[key] = body
		}
	}
	if strings.Contains(uri, "dryRun") { // such entries look like writes; README says so
		payload["serviceName"] = "container.googleapis.com"
		payload["methodName"] = "dry run"
	}
	return map[string]any{"insertId": e["auditID"], "timestamp": e["stageTimestamp"], "protoPayload": payload, "resource": map[string]any{"type": "k8s_cluster"}}
}
