package deploy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"holdfast/bot"
	"holdfast/bot/forge/github"
	"holdfast/cmd/holdfast/config"
)

func build(t *testing.T, dir string) resmap.ResMap {
	t.Helper()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// object gives the only object of a kind and name, strictly decoded.
func object[T any](t *testing.T, all resmap.ResMap, kind, name string) T {
	t.Helper()
	var out T
	found := 0
	for _, r := range all.Resources() {
		if r.GetKind() != kind || r.GetName() != name {
			continue
		}
		found++
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, &out); err != nil {
			t.Fatalf("%s %s: %v", kind, name, err)
		}
	}
	if found != 1 {
		t.Fatalf("%d of %s %s", found, kind, name)
	}
	return out
}

func TestOverlays(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		replicas int32
		strategy appsv1.DeploymentStrategyType
		state    bool
		database string
	}{
		"sqlite":   {1, appsv1.RecreateDeploymentStrategyType, true, ""},
		"postgres": {2, appsv1.RollingUpdateDeploymentStrategyType, false, "/etc/holdfast/secrets/database-url"},
	} {
		t.Run(name, func(t *testing.T) {
			all := build(t, "overlays/"+name)
			deployment := object[appsv1.Deployment](t, all, "Deployment", "holdfast")
			pod := deployment.Spec.Template
			if *deployment.Spec.Replicas != want.replicas || deployment.Spec.Strategy.Type != want.strategy {
				t.Errorf("%d replicas, %s", *deployment.Spec.Replicas, deployment.Spec.Strategy.Type)
			}
			for _, result := range evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
				if !result.Allowed {
					t.Errorf("the Pod Security level restricted refuses it: %s: %s", result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
			container := pod.Spec.Containers[0]
			if s := container.SecurityContext; len(pod.Spec.Containers) != 1 || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Error("the root file system can be written to")
			}
			if pod.Spec.SecurityContext.RunAsUser == nil || *pod.Spec.SecurityContext.RunAsUser == 0 {
				t.Error("it does not run as a user of its own")
			}
			if pod.Spec.ServiceAccountName != object[corev1.ServiceAccount](t, all, "ServiceAccount", "holdfast").Name {
				t.Errorf("it runs as %q", pod.Spec.ServiceAccountName)
			}
			mounted := slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/var/lib/holdfast" })
			if claimed := strings.Contains(strings.Join(container.Args, " "), "--database /var/lib/holdfast/"); mounted != want.state || claimed != want.state {
				t.Errorf("its state has a volume: %v, and is there: %v, want %v", mounted, claimed, want.state)
			}
			configured(t, all, pod.Spec, want.database)
			reachable(t, all, pod)
		})
	}
}

// configured checks that the pod's configuration can be read, and that each secret that it names is mounted.
func configured(t *testing.T, all resmap.ResMap, pod corev1.PodSpec, database string) {
	t.Helper()
	var at *corev1.ProjectedVolumeSource
	for _, v := range pod.Volumes {
		if v.Name == "config" {
			at = v.Projected
		}
	}
	text := object[corev1.ConfigMap](t, all, "ConfigMap", at.Sources[0].ConfigMap.Name).Data["holdfast.yaml"]
	dir := t.TempDir() + "/etc/holdfast"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/holdfast.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(dir + "/holdfast.yaml")
	if err != nil {
		t.Fatal(err)
	}
	named := []string{c.Signing.KeyFile, c.Serve.Dashboard.TokenFile}
	if c.Database.URLFile != "" {
		named = append(named, c.Database.URLFile)
	}
	for _, r := range c.Repositories {
		named = append(named, r.Auth.PasswordFile, r.Forge.TokenFile, r.Webhook.SecretFile)
	}
	if got := strings.TrimPrefix(c.Database.URLFile, strings.TrimSuffix(dir, "/etc/holdfast")); got != database {
		t.Errorf("the database is that of %q, want %q", got, database)
	}
	for _, file := range named {
		if !slices.ContainsFunc(at.Sources[1].Secret.Items, func(i corev1.KeyToPath) bool { return dir+"/"+i.Path == file }) {
			t.Errorf("%s is not mounted", strings.TrimPrefix(file, dir))
		}
	}
}

// reachable checks that Services, probes and the NetworkPolicy mean ports that the pod has, and the pod itself.
func reachable(t *testing.T, all resmap.ResMap, pod corev1.PodTemplateSpec) {
	t.Helper()
	ports := map[string]int32{}
	for _, p := range pod.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	if ports["http"] != 8080 || ports["dashboard"] != 8081 {
		t.Errorf("ports %v", ports)
	}
	selects := func(what string, labels map[string]string) {
		t.Helper()
		for key, value := range labels {
			if pod.Labels[key] != value {
				t.Errorf("%s selects %s=%s, which the pod does not have", what, key, value)
			}
		}
	}
	for name, port := range map[string]string{"holdfast": "http", "holdfast-dashboard": "dashboard"} {
		s := object[corev1.Service](t, all, "Service", name)
		selects("Service "+name, s.Spec.Selector)
		if s.Spec.Ports[0].TargetPort.StrVal != port {
			t.Errorf("Service %s leads to %s", name, s.Spec.Ports[0].TargetPort.StrVal)
		}
	}
	guard := object[networkingv1.NetworkPolicy](t, all, "NetworkPolicy", "holdfast")
	selects("the NetworkPolicy", guard.Spec.PodSelector.MatchLabels)
	if len(guard.Spec.PolicyTypes) != 2 {
		t.Error("the NetworkPolicy leaves a direction open")
	}
	for _, in := range guard.Spec.Ingress {
		if len(in.From) == 0 || len(in.Ports) == 0 {
			t.Error("anybody may come in")
		}
		for _, p := range in.Ports {
			if ports[p.Port.StrVal] == 0 {
				t.Errorf("the NetworkPolicy opens port %s, which the pod does not have", p.Port.StrVal)
			}
		}
	}
	for _, out := range guard.Spec.Egress {
		if len(out.Ports) == 0 {
			t.Error("it may go anywhere")
		}
	}
}

func TestTheMonitoringMeansTheService(t *testing.T) {
	service := object[corev1.Service](t, build(t, "overlays/sqlite"), "Service", "holdfast")
	monitor := object[struct {
		APIVersion, Kind string
		Metadata         map[string]any
		Spec             struct {
			JobLabel  string
			Selector  struct{ MatchLabels map[string]string }
			Endpoints []struct{ Port, Path, Interval, ScrapeTimeout string }
		}
	}](t, build(t, "monitoring"), "ServiceMonitor", "holdfast")
	for key, value := range monitor.Spec.Selector.MatchLabels {
		if service.Labels[key] != value {
			t.Errorf("it selects %s=%s, which the Service does not have", key, value)
		}
	}
	if len(monitor.Spec.Selector.MatchLabels) == 0 || monitor.Spec.Endpoints[0].Port != service.Spec.Ports[0].Name || service.Labels[monitor.Spec.JobLabel] != "holdfast" {
		t.Errorf("%+v", monitor.Spec)
	}
}

// TestTheAppAsksForTheLeast holds the manifest of the GitHub App to what DECISIONS.md and the ledger need, and its
// events to those that the bot reads.
func TestTheAppAsksForTheLeast(t *testing.T) {
	data, err := os.ReadFile("github-app.json")
	if err != nil {
		t.Fatal(err)
	}
	var app struct {
		Public             bool
		HookAttributes     struct{ URL string } `json:"hook_attributes"`
		DefaultPermissions map[string]string    `json:"default_permissions"`
		DefaultEvents      []string             `json:"default_events"`
	}
	if err := json.Unmarshal(data, &app); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"checks": "write", "contents": "write", "issues": "write", "members": "read", "metadata": "read", "pull_requests": "write"}
	if len(app.DefaultPermissions) != len(want) {
		t.Errorf("permissions %v", app.DefaultPermissions)
	}
	for name, level := range want {
		if app.DefaultPermissions[name] != level {
			t.Errorf("%s is %q, want %q", name, app.DefaultPermissions[name], level)
		}
	}
	if app.Public || !strings.Contains(app.HookAttributes.URL, "/webhooks/") {
		t.Errorf("public %v, webhook %s", app.Public, app.HookAttributes.URL)
	}
	read := eventsRead(t)
	slices.Sort(read)
	if !slices.Equal(app.DefaultEvents, read) {
		t.Errorf("events %v, want those that are read, %v", app.DefaultEvents, read)
	}
}

// eventsRead gives GitHub's events of which the webhook makes something. (docs.github.com, "Webhook events and payloads")
func eventsRead(t *testing.T) []string {
	t.Helper()
	secret := []byte("a secret of the test")
	hook, err := github.NewHook(secret, "holdfast[bot]")
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"action": "rerequested", "ref": "refs/heads/main", "before": "1", "after": "2", "repository": {"full_name": "team/shop", "clone_url": "https://git.example.test/team/shop.git"},
		"issue": {"number": 1}, "comment": {"id": 1}, "pull_request": {"number": 1}, "review": {"id": 1}, "check_run": {"name": "holdfast"}, "check_suite": {"id": 1}}`)
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	var out []string
	for _, name := range []string{
		"branch_protection_rule", "check_run", "check_suite", "code_scanning_alert", "commit_comment", "create", "delete", "dependabot_alert", "deploy_key", "deployment",
		"deployment_status", "discussion", "discussion_comment", "fork", "gollum", "installation", "installation_repositories", "issue_comment", "issues", "label", "member",
		"membership", "merge_group", "meta", "milestone", "organization", "page_build", "project", "public", "pull_request", "pull_request_review",
		"pull_request_review_comment", "pull_request_review_thread", "push", "registry_package", "release", "repository", "repository_dispatch", "repository_ruleset",
		"secret_scanning_alert", "security_advisory", "star", "status", "team", "team_add", "watch", "workflow_dispatch", "workflow_job", "workflow_run",
	} {
		event, err := hook.Read(http.Header{
			"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}, "X-Github-Delivery": {"1"}, "X-Github-Event": {name}, "Content-Type": {"application/json"},
		}, body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if event.Kind != bot.EventOther {
			out = append(out, name)
		}
	}
	return out
}
