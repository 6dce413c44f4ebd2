package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/bot"
	"holdfast/deploy/lab"
	"holdfast/detect"
)

// argoFiles are a folder of plain manifests and a chart, which says what Argo CD tells charts.
var argoFiles = map[string]string{
	"plain/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {level: info}\n",
	"plain/web.yaml": `apiVersion: v1
kind: Service
metadata: {name: plain}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
`,
	"chart/Chart.yaml":  "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
	"chart/values.yaml": "level: info\nreplicas: 2\n",
	"chart/templates/all.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-versions"}
data:
  kubernetes: "{{ .Capabilities.KubeVersion }}"
  level: {{ .Values.level | quote }}
  {{- if .Capabilities.APIVersions.Has "argoproj.io/v1alpha1/Application" }}
  argo: "true"
  {{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: charted, labels: {app: charted, release: "{{ .Release.Name }}"}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: charted}}
  template:
    metadata: {labels: {app: charted}}
    spec:
      containers: [{name: web, image: registry.example.test/shop/web:2.4.0}]
`,
	"chart/templates/test.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: test, annotations: {helm.sh/hook: test}}
`,
}

// TestWhatArgoCDSyncedIsInSync: by each tracking method, of each kind of source and in each way of applying.
func TestWhatArgoCDSyncedIsInSync(t *testing.T) {
	cluster, _ := argoCluster(t)
	track := func(t *testing.T, method string) {
		t.Helper()
		cluster.Kubectl(t, lab.Admin, "", "patch", "--namespace=argocd", "configmap/argocd-cm", "--type=merge",
			`--patch={"data":{"application.resourceTrackingMethod":"`+method+`"}}`)
	}
	defer track(t, "label")
	for _, c := range []struct {
		name, tracking string
		spec           argoSpec
		objects        int
		manager        string // of the Deployment, where there is one
	}{
		{"label-plain", "label", argoSpec{path: "plain", syncPolicy: argoByHand}, 2, ""},
		{"label-replace", "label", argoSpec{syncPolicy: "{automated: {}, syncOptions: [Replace=true]}"}, 3, "argocd-application-controller Update"},
		{"annotation-helm", "annotation", argoSpec{path: "chart", syncPolicy: argoOnCommit}, 2, "argocd-controller Update"},
		{"annotation-apply", "annotation", argoSpec{syncPolicy: "{automated: {}, syncOptions: [ServerSideApply=true]}"}, 3, "argocd-controller Apply"},
		{"both-kustomize", "annotation+label", argoSpec{syncPolicy: argoOnCommit}, 3, "argocd-controller Update"},
	} {
		t.Run(c.name, func(t *testing.T) {
			track(t, c.tracking)
			s := newArgoShop(t, c.name, "", c.spec, argoFiles)
			out, code := s.run(t, "scan", "-o", "json")
			for _, f := range findingsOf(t, out, true) {
				t.Errorf("untouched, yet %s", describe(f, nil))
			}
			if code != 0 {
				t.Errorf("exit %d", code)
			}
			doc := scanOf(t, out)
			if doc.Summary.Objects != c.objects || len(doc.Applications) != 1 || doc.Applications[0].State != detect.Rendered || len(doc.Applications[0].Conditions) > 0 {
				t.Errorf("%d objects of %+v, want %d", doc.Summary.Objects, doc.Applications, c.objects)
			}
			if c.manager == "" {
				return
			}
			if got := s.get(t, "deployments", "{.items[0].metadata.managedFields[0].manager} {.items[0].metadata.managedFields[0].operation}"); got != c.manager {
				t.Errorf("Argo CD wrote as %q, want %q", got, c.manager)
			}
		})
	}
}

// TestDriftUnderArgoCDIsFoundAndReverted: an automated Application without selfHeal.
func TestDriftUnderArgoCDIsFoundAndReverted(t *testing.T) {
	s := newArgoShop(t, "argo-reverts", "", argoSpec{syncPolicy: argoOnCommit}, nil)
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.alice(t, "set", "image", "deployment/api", "api=registry.example.test/shop/api:2.4.2")
	s.alice(t, "set", "env", "deployment/api", "CACHE_TTL=30s")
	s.alice(t, "set", "env", "deployment/api", "REGION-")
	s.alice(t, "label", "deployment/web", "team=checkout")
	s.alice(t, "delete", "service/web")
	s.alice(t, "create", "rolebinding", "hand", "--clusterrole=view", "--user=bob@example.test")
	s.argo.Await(t, s.name, lab.ArgoApplication{Sync: "OutOfSync"})

	out, code := s.run(t, "scan", "-o", "json")
	if code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	manual := func(object, path, risk string, d detect.Disposition) wantField {
		return wantField{object, path, detect.CauseManual, true, "alice@example.test", detect.ByAudit, risk, d}
	}
	const container = "spec.template.spec.containers[name=api]"
	checkFields(t, findingsOf(t, out, false), []wantField{
		manual("Deployment/web", "spec.replicas", "medium", detect.Revert),
		manual("Deployment/api", container+".image", "high", detect.Revert),
		manual("Deployment/api", container+".env[name=CACHE_TTL]", "medium", detect.AsIssue), // Argo CD leaves what is added
		manual("Deployment/api", container+".env[name=REGION]", "medium", detect.Revert),
		manual("Deployment/web", "metadata.labels.team", "low", detect.AsIssue),
		{"Service/web", "", detect.CauseMissing, true, "alice@example.test", detect.ByAudit, "high", detect.Revert},
		manual("RoleBinding/hand", "", "critical", detect.AsIssue),
	})

	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(gitWins), 0o600); err != nil {
		t.Fatal(err)
	}
	s.flags = append(s.flags, "--policy", policy)
	s.propose(t, 1)
	pulls := s.threads(t, bot.AsPullRequest)
	if len(pulls) != 1 || !slices.Contains(pulls[0].Labels, "drift/revert") {
		t.Fatalf("want one pull request, to revert, as nothing heals here: %+v", pulls)
	}
	for _, want := range []string{"spec.replicas", "REGION", "Argo CD syncs an automated Application", "CACHE_TTL] of Deployment argo-reverts/api stays"} {
		if !strings.Contains(pulls[0].Body, want) {
			t.Errorf("the pull request does not say %q:\n%s", want, pulls[0].Body)
		}
	}
	wantTitles(t, s.threads(t, bot.AsIssue), "Drift: Deployment argo-reverts/api on north", "Drift: Deployment argo-reverts/web on north",
		"Drift: RoleBinding argo-reverts/hand on north", "Drift: Service argo-reverts/web on north")
	changed := s.verify(t, pulls[0].Branch)
	if len(changed) != 1 || !strings.HasPrefix(changed[0], "A\t.holdfast/reverts/") {
		t.Errorf("the commit changes %q, want one added record", changed)
	}
	s.still(t, 1)

	s.merge(t, pulls[0])
	s.propose(t, 1) // before Argo CD has fetched it
	if pulls := s.threads(t, bot.AsPullRequest); len(pulls) != 1 {
		t.Errorf("another pull request for what is merged and not applied yet: %+v", pulls)
	}
	s.follow(t)
	for _, check := range []struct{ object, path, want string }{
		{"deployment/web", "{.spec.replicas}", "2"},
		{"deployment/web", "{.metadata.labels.team}", "checkout"},
		{"deployment/api", "{.spec.template.spec.containers[0].image}", "registry.example.test/shop/api:2.4.0"},
		{"deployment/api", `{.spec.template.spec.containers[0].env[?(@.name=="REGION")].value}`, "north"},
		{"deployment/api", `{.spec.template.spec.containers[0].env[?(@.name=="CACHE_TTL")].value}`, "30s"},
		{"service/web", "{.spec.ports[0].port}", "80"},
	} {
		if got := s.get(t, check.object, check.path); got != check.want {
			t.Errorf("after the merge %s %s is %q, want %q", check.object, check.path, got, check.want)
		}
	}
	s.propose(t, 1)
	for _, issue := range s.threads(t, bot.AsIssue) {
		want := bot.Open // for what Argo CD does not see
		if strings.Contains(issue.Title, "Service") {
			want = bot.Closed
		}
		if issue.State != want {
			t.Errorf("%s is %s, want %s", issue.Title, issue.State, want)
		}
	}
	if pulls := s.threads(t, bot.AsPullRequest); len(pulls) != 1 || pulls[0].State != bot.Merged {
		t.Errorf("a revert of what no revision undoes is proposed: %+v", pulls)
	}
	s.still(t, 1)

	s.alice(t, "set", "env", "deployment/api", "CACHE_TTL-")
	s.alice(t, "label", "deployment/web", "team-")
	s.alice(t, "delete", "rolebinding/hand")
	s.propose(t, 0)
	for name, text := range s.files(t) {
		if strings.HasPrefix(name, "issues/") && !strings.Contains(text, "the cluster and Git agree") {
			t.Errorf("%s closes without a word of what was seen:\n%s", name, text)
		}
	}
	s.still(t, 0)
}

// TestWhereArgoCDHealsNothingFlaps: the drift is made while selfHeal is off, since it lives less than a second else.
func TestWhereArgoCDHealsNothingFlaps(t *testing.T) {
	s := newArgoShop(t, "argo-heals", "", argoSpec{syncPolicy: argoHeals}, nil)
	s.propose(t, 0)
	heal := func(yes string) { s.edit(t, `{"spec":{"syncPolicy":{"automated":{"selfHeal":`+yes+`}}}}`) }
	healed := func() {
		t.Helper()
		eventually(t, "Argo CD has healed", func() bool {
			return s.get(t, "deployment/web", "{.spec.replicas}") == "2" && s.get(t, "service", "{.items[*].metadata.name}") == "web"
		})
		s.argo.Await(t, s.name, lab.ArgoApplication{Sync: "Synced", Operation: "Succeeded"})
	}
	heal("false")
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.alice(t, "delete", "service/web")
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte(keepHotfixes), 0o600); err != nil {
		t.Fatal(err)
	}
	s.flags = append(s.flags, "--policy", policy)
	s.propose(t, 1)
	issues := s.threads(t, bot.AsIssue)
	wantTitles(t, issues, "Drift: Deployment argo-heals/web on north", "Drift: Service argo-heals/web on north")

	heal("true")
	healed()
	s.propose(t, 0)
	for _, issue := range s.threads(t, bot.AsIssue) {
		if issue.State != bot.Closed {
			t.Errorf("issue %d is %s", issue.Number, issue.State)
		}
	}
	for _, pull := range s.threads(t, bot.AsPullRequest) {
		if slices.Contains(pull.Labels, "drift/codify") && (pull.State != bot.Open || !strings.Contains(pull.Body, "Undone by the engine")) {
			t.Errorf("after Argo CD healed, the codify must stay open and say so: %+v", pull)
		}
	}
	s.still(t, 0)
	pulls := len(s.threads(t, bot.AsPullRequest))

	// A second time, what the bot sees of it depends on who is faster; the audit log has it in any case: alice and the
	// engine keep overwriting each other, which an issue tells, and no further pull request does.
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.run(t, "propose")
	healed()
	s.propose(t, 1)
	if n := len(s.threads(t, bot.AsPullRequest)); n != pulls {
		t.Errorf("%d pull requests, want %d", n, pulls)
	}
	for _, issue := range s.threads(t, bot.AsIssue) {
		contested := strings.Contains(issue.Title, "Deployment")
		if contested != (issue.State == bot.Open) || contested && !strings.Contains(issue.Body, "keep overwriting each other") {
			t.Errorf("%s is %s:\n%s", issue.Title, issue.State, issue.Body)
		}
	}
	s.still(t, 1)
}

// TestArgoCDThatSyncsByHand: nothing but a person brings Git back, and the issue says how.
func TestArgoCDThatSyncsByHand(t *testing.T) {
	s := newArgoShop(t, "argo-by-hand", gitWins, argoSpec{syncPolicy: argoByHand}, nil)
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.propose(t, 1)
	if pulls := s.threads(t, bot.AsPullRequest); len(pulls) != 0 {
		t.Errorf("a revert that no commit makes: %+v", pulls)
	}
	issues := s.threads(t, bot.AsIssue)
	if len(issues) != 1 || !strings.Contains(issues[0].Body, "argocd app sync argo-by-hand") {
		t.Fatalf("the issue must say what brings Git back: %+v", issues)
	}
	s.still(t, 1)
	s.argo.Sync(t, s.name)
	s.propose(t, 0)
	if issues := s.threads(t, bot.AsIssue); issues[0].State != bot.Closed {
		t.Errorf("the issue is %s", issues[0].State)
	}
}

// TestWhatArgoCDIgnoresIsNoDrift: by pointer, by jq and by manager, as Argo CD itself sees it.
func TestWhatArgoCDIgnoresIsNoDrift(t *testing.T) {
	s := newArgoShop(t, "argo-ignores", "", argoSpec{syncPolicy: argoByHand, more: `  ignoreDifferences:
  - {group: apps, kind: Deployment, name: web, jsonPointers: [/spec/replicas]}
  - {group: apps, kind: Deployment, jqPathExpressions: ['.spec.template.spec.containers[] | select(.name == "api") | .image']}
  - {kind: Service, managedFieldsManagers: [k9s]}`}, nil)
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.alice(t, "set", "image", "deployment/api", "api=registry.example.test/shop/api:2.4.2")
	s.alice(t, "patch", "service/web", "--field-manager=k9s", "--type=json", `--patch=[{"op":"replace","path":"/spec/ports/0/targetPort","value":9090}]`)
	s.argo.Refresh(t, s.name)
	s.argo.Await(t, s.name, lab.ArgoApplication{Sync: "Synced"})
	out, code := s.run(t, "scan", "-o", "json")
	checkFields(t, findingsOf(t, out, false), nil)
	if code != 0 {
		t.Errorf("exit %d", code)
	}

	s.alice(t, "set", "image", "deployment/web", "web=registry.example.test/shop/web:2.4.1")
	s.alice(t, "scale", "deployment/api", "--replicas=3")
	s.argo.Await(t, s.name, lab.ArgoApplication{Sync: "OutOfSync"})
	out, _ = s.run(t, "scan", "-o", "json")
	manual := func(object, path, risk string) wantField {
		return wantField{object, path, detect.CauseManual, true, "alice@example.test", detect.ByAudit, risk, detect.Revert}
	}
	checkFields(t, findingsOf(t, out, false), []wantField{
		manual("Deployment/web", "spec.template.spec.containers[name=web].image", "high"),
		manual("Deployment/api", "spec.replicas", "medium"),
	})
}

// TestCodifyMergedIsSyncedWithoutARollout: what was live before the merge is what Argo CD finds after it.
func TestCodifyMergedIsSyncedWithoutARollout(t *testing.T) {
	s := newArgoShop(t, "argo-codified", keepHotfixes, argoSpec{syncPolicy: argoOnCommit}, nil)
	s.alice(t, "scale", "deployment/web", "--replicas=5")
	s.alice(t, "set", "image", "deployment/api", "api=registry.example.test/shop/api:2.4.2")
	s.alice(t, "set", "env", "deployment/api", "CACHE_TTL=30s")
	s.propose(t, 1)
	const spec = "{.metadata.generation} {.spec}"
	api, web := s.get(t, "deployment/api", spec), s.get(t, "deployment/web", spec)
	pulls := s.threads(t, bot.AsPullRequest)
	if len(pulls) != 1 || !slices.Contains(pulls[0].Labels, "drift/codify") {
		t.Fatalf("want one pull request, to codify: %+v", pulls)
	}
	s.merge(t, pulls[0])
	s.follow(t)
	if now := s.get(t, "deployment/api", spec); now != api {
		t.Errorf("the merge changed api:\n%s\nwas\n%s", now, api)
	}
	if now := s.get(t, "deployment/web", spec); now != web {
		t.Errorf("the merge changed web:\n%s\nwas\n%s", now, web)
	}
	s.propose(t, 0)
	for _, issue := range s.threads(t, bot.AsIssue) {
		if issue.State != bot.Closed {
			t.Errorf("issue %d is %s", issue.Number, issue.State)
		}
	}
	s.still(t, 0)
}
