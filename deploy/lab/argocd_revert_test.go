package lab

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// argoMode is how an Application of the test syncs. It names the Application and its namespace too.
type argoMode string

const (
	automated  argoMode = "automated"   // with selfHeal off
	byHand     argoMode = "by-hand"     // without automated: a sync only when somebody asks
	serverSide argoMode = "server-side" // automated, by server-side apply, compared by the API server's dry run
	replaced   argoMode = "replaced"    // automated, Replace=true
	additions  argoMode = "additions"   // automated, and only what others add has drifted
)

// argoDrift is a change that alice makes to the Deployment web, and what a new revision does to it.
type argoDrift struct {
	name    string
	kubectl []string
	stdin   string
	field   string // JSONPath of what it changes
	clean   string // what stands there when the drift is gone
	reverts []argoMode
}

func argoDrifts() []argoDrift {
	const container = ".spec.template.spec.containers[0]"
	deployment := func(verb string, args ...string) []string { return append([]string{verb, "deployment/web"}, args...) }
	set := func(what string, args ...string) []string {
		return append([]string{"set", what, "deployment/web"}, args...)
	}
	add := func(variable string, more ...string) []string {
		return append([]string{"patch", "deployment/web", "--type=strategic", "-p",
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"` + variable + `","value":"1"}]}]}}}}`}, more...)
	}
	inGit, added := []argoMode{automated, serverSide, replaced}, []argoMode{replaced}
	return []argoDrift{
		{"image", set("image", "web=registry.example.test/shop/web:9.9.9"), "", container + ".image", "registry.example.test/shop/web:1.4.2", inGit},
		{"replicas", deployment("scale", "--replicas=7"), "", ".spec.replicas", "3", inGit},
		{"value of a variable", set("env", "LOG_LEVEL=debug"), "", container + `.env[?(@.name=="LOG_LEVEL")].value`, "info", inGit},
		{"entry added to a list without keys",
			deployment("patch", "--type=json", "-p", `[{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--debug"}]`),
			"", container + ".args", `["serve"]`, inGit},
		{"list of Git removed",
			deployment("patch", "--type=json", "-p", `[{"op":"remove","path":"/spec/template/spec/containers/0/ports"}]`),
			"", container + ".ports[*].containerPort", "8080", inGit},
		{"variable that kubectl adds", add("EXTRA"), "", container + `.env[?(@.name=="EXTRA")].value`, "", added},
		{"variable that another program adds", add("OTHER", "--field-manager=node-fetch"), "", container + `.env[?(@.name=="OTHER")].value`, "", added},
		{"label that kubectl adds", deployment("label", "extra=1"), "", ".metadata.labels.extra", "", added},
		{"annotation that kubectl adds", deployment("annotate", "extra=1"), "", ".metadata.annotations.extra", "", added},
		{"field that alice applies by server-side apply", []string{"apply", "--server-side", "--field-manager=alice", "-f", "-"},
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {minReadySeconds: 7}}", ".spec.minReadySeconds", "", added},
	}
}

// isAddition tells whether the drift is a field that Git does not have.
func (d argoDrift) isAddition() bool { return d.clean == "" }

const argoWeb = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {note: "%s"}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example.test/shop/web:1.4.2
        args: [serve]
        env: [{name: LOG_LEVEL, value: info}]
        ports: [{containerPort: 8080}]
`

// TestArgoCDRevertsOnCommit measures what Holdfast's revert rests on: which drifts Argo CD takes back when a new
// revision comes that names none of the drifted fields. Where a drift stays, only a change of that field in Git, or on
// the cluster, ends it.
//
// Plain ServerSideApply=true is no row: on a cluster whose Deployments have the status field terminatingReplicas (1.35
// and newer, with the deployment controller) version 2.14 fails to compare them at all, and syncs nothing.
func TestArgoCDRevertsOnCommit(t *testing.T) {
	l := Start(t, Options{})
	c := l.Clusters[0]
	git := GitServer(t, GitOptions{})
	url := git.Create(t, "shop", map[string]string{"apps/web.yaml": fmt.Sprintf(argoWeb, "first")})
	argo := c.StartArgoCD(t, ArgoOptions{Tracking: ByAnnotationLabel})
	policies := map[argoMode]string{
		automated:  "{automated: {}}",
		byHand:     "{}",
		serverSide: "{automated: {}, syncOptions: [ServerSideApply=true]}",
		replaced:   "{automated: {}, syncOptions: [Replace=true]}",
		additions:  "{automated: {}}",
	}
	var manifests strings.Builder
	for mode, policy := range policies {
		fmt.Fprintf(&manifests, "---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n", mode)
		manifests.WriteString(argoApplication(string(mode), url, "apps", string(mode), policy))
	}
	c.Apply(t, Admin, "kubectl", manifests.String())
	c.Kubectl(t, Admin, "", "annotate", "-n", "argocd", "application.argoproj.io/"+string(serverSide),
		"argocd.argoproj.io/compare-options=ServerSideDiff=true")
	argo.Await(t, string(byHand), ArgoApplication{Sync: "OutOfSync"})
	argo.Sync(t, string(byHand))
	for mode := range policies {
		argo.Await(t, string(mode), ArgoApplication{Sync: "Synced", Operation: "Succeeded"})
	}
	for mode, marks := range map[argoMode]argoMarks{
		automated:  {manager: "argocd-controller Update", lastApplied: true},
		serverSide: {manager: "argocd-controller Apply"},
		// Created and replaced, never applied: the name of the program, and no annotation.
		replaced: {manager: "argocd-application-controller Update"},
	} {
		marks.label, marks.id = string(mode), fmt.Sprintf("%[1]s:apps/Deployment:%[1]s/web", mode)
		marks.check(t, c, string(mode), "deployment/web")
	}

	drifts := argoDrifts()
	// values reads the fields of all drifts at once.
	values := func(mode argoMode) []string {
		t.Helper()
		var path strings.Builder
		for _, drift := range drifts {
			fmt.Fprintf(&path, "{%s}{\"\\n\"}", drift.field)
		}
		out := c.Kubectl(t, Alice, "", "get", "-n", string(mode), "deployment", "web", "-o", "jsonpath="+path.String())
		return strings.Split(out, "\n")
	}
	makeDrift := func(mode argoMode, drift argoDrift) {
		t.Helper()
		c.Kubectl(t, Alice, drift.stdin, append([]string{"--namespace", string(mode)}, drift.kubectl...)...)
	}
	before := map[argoMode][]string{}
	for mode := range policies {
		for _, drift := range drifts {
			if mode != additions || drift.isAddition() {
				makeDrift(mode, drift)
			}
		}
		before[mode] = values(mode)
	}
	argo.Await(t, string(automated), ArgoApplication{Sync: "OutOfSync"})
	argo.Await(t, string(additions), ArgoApplication{Sync: "Synced"})

	commit := git.Commit(t, "shop", "main", "Say so in a note", map[string]string{"apps/web.yaml": fmt.Sprintf(argoWeb, "second")})
	for mode := range policies {
		argo.Refresh(t, string(mode))
	}
	for mode := range policies {
		t.Run(string(mode), func(t *testing.T) {
			sync := "Synced" // with additions of others on the object, too: Argo CD does not see them
			if mode == byHand {
				sync = "OutOfSync"
			}
			argo.Await(t, string(mode), ArgoApplication{Sync: sync, Revision: commit})
			after := values(mode)
			for i, drift := range drifts {
				if mode == additions && !drift.isAddition() {
					continue
				}
				want := before[mode][i]
				if want == drift.clean {
					t.Errorf("%s: the drift was not made: %q", drift.name, want)
				}
				if slices.Contains(drift.reverts, mode) {
					want = drift.clean
				}
				if after[i] != want {
					t.Errorf("%s: %q after the commit, want %q", drift.name, after[i], want)
				}
			}
		})
	}

	t.Run("a commit outside of the path reverts as well", func(t *testing.T) {
		replicas := slices.IndexFunc(drifts, func(d argoDrift) bool { return d.name == "replicas" })
		makeDrift(automated, drifts[replicas])
		argo.Await(t, string(automated), ArgoApplication{Sync: "OutOfSync"})
		commit := git.Commit(t, "shop", "main", "Read me", map[string]string{"README.md": "Shop\n"})
		argo.Refresh(t, string(automated))
		argo.Await(t, string(automated), ArgoApplication{Sync: "Synced", Revision: commit})
		if got := values(automated)[replicas]; got != "3" {
			t.Errorf("%s replicas after the commit", got)
		}
	})
}
