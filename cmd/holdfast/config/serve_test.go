package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheExampleServes(t *testing.T) {
	c, err := Load("../../../deploy/holdfast.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("..", "..", "..", "deploy")
	hook := c.Repository("https://github.com/example/shop").Webhook
	if hook.Name != "shop" || hook.Type != "github" || hook.SecretFile != filepath.Join(folder, "secrets/webhook") {
		t.Errorf("webhook: %+v", hook)
	}
	if c.Database.File != filepath.Join(folder, "holdfast.db") || time.Duration(c.Serve.Interval) != 5*time.Minute || time.Duration(c.Clusters[1].Interval) != time.Minute {
		t.Errorf("database and intervals: %+v %+v", c.Database, c.Serve)
	}
	if c.Clusters[0].AuditWebhook.TokenEnv != "NORTH_AUDIT_TOKEN" {
		t.Errorf("audit webhook: %+v", c.Clusters[0].AuditWebhook)
	}
}

func TestWhatServeCannotRunWithIsRefused(t *testing.T) {
	repository := "repositories:\n- url: https://github.com/example/shop\n  clusters: ['*']\n  namespaces: ['*']\n"
	second := "- url: https://github.com/example/other\n  clusters: ['*']\n  namespaces: ['*']\n"
	for name, c := range map[string]struct{ text, want string }{
		"a webhook without a secret":       {repository + "  webhook: {name: shop, type: github}", "needs secretFile or secretEnv"},
		"a webhook's secret written out":   {repository + "  webhook: {name: shop, type: github, secret: hunter2}", `key "secret" in webhook: a secret is never written here`},
		"a secret as a variable's name":    {repository + "  webhook: {name: shop, type: github, secretEnv: hunter2-really}", "is not the name of an environment variable"},
		"a name that is no path":           {repository + "  webhook: {name: a/b, type: github, secretEnv: A}", "want letters, digits, - and _"},
		"a webhook of no forge":            {repository + "  webhook: {name: shop, secretEnv: A}", "which forge sends the deliveries"},
		"a folder sends nothing":           {repository + "  forge: {type: folder, path: x}\n  webhook: {name: shop, secretEnv: A}", "which forge sends the deliveries"},
		"one name for two secrets":         {repository + "  webhook: {name: shop, type: github, secretEnv: A}\n" + second + "  webhook: {name: shop, type: github, secretEnv: B}", `name "shop" is already on line 4 with another type or secret`},
		"a file and a URL for the queue":   {"database: {file: a.db, urlEnv: URL}", "holdfast.yaml:3: database: has a file and a URL"},
		"a connection string written out":  {"database: {url: 'postgres://u:hunter2@h/d'}", `key "url" in database: a secret is never written here`},
		"an address without a port":        {"serve: {listen: 127.0.0.1}", "want an address and a port"},
		"an interval of no time":           {"serve: {interval: 1ms}", "interval"},
		"a user in the collector's URL":    {"serve: {traces: 'http://u:hunter2@127.0.0.1:4318'}", "serve: traces: want a URL"},
		"another format of logs":           {"serve: {logFormat: xml}", `"xml" is not allowed; want json or text`},
		"a dashboard without an address":   {"serve: {dashboard: {tokenEnv: A}}", `key "listen" is missing in dashboard`},
		"a dashboard for everybody":        {"serve: {dashboard: {listen: ':8081'}}", "needs tokenFile, tokenEnv or proxy"},
		"a dashboard's token written out":  {"serve: {dashboard: {listen: ':8081', token: hunter2}}", `key "token" in dashboard: a secret is never written here`},
		"a proxy at any address":           {"serve: {dashboard: {listen: ':8081', proxy: {header: X-User, addresses: [0.0.0.0/0]}}}", "but not all addresses"},
		"a proxy at no address":            {"serve: {dashboard: {listen: ':8081', proxy: {header: X-User, addresses: []}}}", "needs addresses"},
		"a proxy by a host's name":         {"serve: {dashboard: {listen: ':8081', proxy: {header: X-User, addresses: [proxy.example.test]}}}", "want an address such as 10.1.2.3"},
		"a header that is none":            {"serve: {dashboard: {listen: ':8081', proxy: {header: 'X User', addresses: [10.0.0.1]}}}", "want the name of a header"},
		"an audit webhook without a token": {"clusters: [{name: a, auditWebhook: {}}]", "auditWebhook: needs tokenFile or tokenEnv"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("holdfast.yaml", []byte(head+c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds the secret: %v", err)
			}
		})
	}
}

func TestRepositoriesMayShareAWebhook(t *testing.T) {
	text := head + "repositories:\n" +
		"- {url: 'https://github.com/example/a', clusters: ['*'], namespaces: ['*'], webhook: {name: app, type: github, secretEnv: A}}\n" +
		"- {url: 'https://github.com/example/b', clusters: ['*'], namespaces: ['*'], webhook: {name: app, type: github, secretEnv: A}}\n"
	if _, err := Decode("holdfast.yaml", []byte(text)); err != nil {
		t.Error(err)
	}
}

func TestServeSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := (Webhook{SecretFile: file}).Secret(); string(got) != "s3cret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := (Database{URLFile: file}).URL(); got != "s3cret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := (AuditWebhook{TokenFile: file}).Token(); got != "s3cret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := (Dashboard{TokenFile: file}).Token(); got != "s3cret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	if enabled, _ := (Serve{}).Tracing(); enabled {
		t.Error("traces without an endpoint")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
	if enabled, endpoint := (Serve{}).Tracing(); !enabled || endpoint != "" {
		t.Errorf("with the variable: %v, %q", enabled, endpoint)
	}
}

func TestWhoIsAProxy(t *testing.T) {
	text := head + "serve: {dashboard: {listen: ':8081', proxy: {header: X-User, addresses: [10.0.0.1, 10.1.2.3/16, 'fd00::1']}}}"
	c, err := Decode("holdfast.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	header, networks := c.Serve.Dashboard.Trusted()
	if got := fmt.Sprint(header, networks); got != "X-User[10.0.0.1/32 10.1.0.0/16 fd00::1/128]" {
		t.Errorf("trusted: %s", got)
	}
}
