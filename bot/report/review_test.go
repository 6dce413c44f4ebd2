package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"holdfast/detect"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

// Each check is shown a report that it must refuse, made from one that passes. A check that no mutation proves fails the test.
func TestEachCheckSeesItsFault(t *testing.T) {
	in := world(t)
	in.Synthetic = "made from a seed"
	in.Given = setting.Setting{Clusters: 200, Interval: 5 * time.Minute, Standards: []string{"nist-800-53r5", "soc2-tsc2017"}}
	in.Controllers = []Controller{controller("prod-eu", "kustomize-controller", gitops.Flux, 2), controller("stage", "argocd-application-controller", gitops.ArgoCD, 600)}
	row := func(r *Report, id string) *VectorRow {
		for i := range r.Matrix.Rows {
			if r.Matrix.Rows[i].ID == id {
				return &r.Matrix.Rows[i]
			}
		}
		t.Fatal(id)
		return nil
	}
	manifest := func(yaml string, patch bool) func(*Report) {
		return func(r *Report) {
			r.Plan.Actions[0].Manifests = []Manifest{{YAML: yaml, Patch: patch, Definition: "Kubernetes"}}
		}
	}
	role := func(rules string) func(*Report) {
		return manifest("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: people}\nrules: ["+rules+"]", false)
	}
	mutations := []struct {
		check, name string
		mutate      func(*Report)
	}{
		{"brief-length", "a long brief", func(r *Report) { r.Brief.Text += strings.Repeat(" word", 150) }},
		{"brief-length", "a wrong count", func(r *Report) { r.Brief.Words++ }},
		{"brief-length", "no brief", func(r *Report) { r.Brief.Text = "" }},
		{"variables", "a section without the provider", func(r *Report) { r.Compliance.Scope = strings.ReplaceAll(r.Compliance.Scope, "Amazon EKS", "a cloud") }},
		{"variables", "a section without the interval", func(r *Report) { r.Matrix.Scope = strings.ReplaceAll(r.Matrix.Scope, "5m", "soon") }},
		{"variables", "a brief without the standards", func(r *Report) { r.Brief.Text = strings.ReplaceAll(r.Brief.Text, "SOC 2", "it") }},
		{"variables", "another count of clusters", func(r *Report) {
			r.Bottleneck.Scope = strings.ReplaceAll(r.Bottleneck.Scope, "200 clusters", "3 clusters")
		}},
		{"variables", "no tier", func(r *Report) { r.Plan.Scope = strings.ReplaceAll(r.Plan.Scope, "production", "") }},
		{"variables", "no engine", func(r *Report) { r.Detection.Scope = strings.ReplaceAll(r.Detection.Scope, "Flux", "it") }},
		{"variables", "a variable that is gone", func(r *Report) { r.Variables = r.Variables[:5] }},
		{"given-and-observed", "a difference that is hidden", func(r *Report) { r.Variables[2].Differs = false }},
		{"given-and-observed", "an observation that is hidden", func(r *Report) { r.Variables[3].Observed = "" }},
		{"given-and-observed", "an observation out of nowhere", func(r *Report) { r.Variables[0].Because = nil }},
		{"autoscaling", "scaling counted among drift", func(r *Report) { n := 0; r.Matrix.Autoscaling.Fields = &n }},
		{"autoscaling", "no row for it", func(r *Report) { row(r, "autoscaling").ID = "other" }},
		{"autoscaling", "it was not counted", func(r *Report) { r.Matrix.Autoscaling.Fields = nil; row(r, "autoscaling").Explained = nil }},
		{"shares", "a drift too many", func(r *Report) { n := *row(r, "manual").Count + 1; row(r, "manual").Count = &n }},
		{"shares", "shares of more than the whole", func(r *Report) { s := 0.9; row(r, "unknown").Share = &s; row(r, "manual").Share = &s }},
		{"basis", "a table from nowhere", func(r *Report) { r.Matrix.Basis = Basis{} }},
		{"basis", "percentiles of nothing", func(r *Report) { r.Detection.ChangeToDetection.N = 0 }},
		{"basis", "figures without data", func(r *Report) { r.NoData = true }},
		{"figures", "a negative duration", func(r *Report) { d := -4.0; r.Detection.DetectionToClosure.P50 = &d }},
		{"figures", "an endless wait", func(r *Report) { r.Bottleneck.Predictions[0].Limit = ptr(math.Inf(1)) }},
		{"figures", "no number", func(r *Report) { row(r, "manual").PerClusterDay = ptr(math.NaN()) }},
		{"multi-cluster", "ten times the clusters left out", func(r *Report) { r.Bottleneck.Predictions = r.Bottleneck.Predictions[:4] }},
		{"multi-cluster", "the repositories left out", func(r *Report) { r.Bottleneck.Repository.Says = "" }},
		{"unstable", "a wait for a queue without end", func(r *Report) {
			for i := range r.Bottleneck.Predictions {
				if f := r.Bottleneck.Predictions[i].Formula; f != nil && !f.Stable {
					f.Wait = ptr(3.0)
					return
				}
			}
			t.Fatal("none is unstable")
		}},
		{"unstable", "too much to do that passes for stable", func(r *Report) { r.Bottleneck.Predictions[6].Formula.Utilisation = 1.5 }},
		{"controls", "a control that there is not", func(r *Report) {
			r.Matrix.Rows[0].Controls = append(r.Matrix.Rows[0].Controls, detect.Control{Standard: "nist-800-53r5", ID: "CM-99", Title: "x"})
		}},
		{"controls", "a title of another", func(r *Report) { r.Plan.Actions[0].Controls[0].Title = "Backup" }},
		{"actions", "an action without an effort", func(r *Report) { r.Plan.Actions[1].Effort = "" }},
		{"actions", "one that closes nothing", func(r *Report) { r.Plan.Actions[1].Closes = nil }},
		{"actions", "one without a control", func(r *Report) { r.Plan.Actions[1].Controls = nil }},
		{"actions", "one that says not what", func(r *Report) { r.Plan.Actions[1].Manifests, r.Plan.Actions[1].Steps = nil, nil }},
		{"actions", "a priority of its own", func(r *Report) { r.Plan.Actions[1].Priority = "urgent" }},
		{"manifests", "a field that the engine does not have", manifest("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\nspec: {syncPolicy: {selfHeal: true}}", true)},
		{"manifests", "a kind that nobody knows", manifest("apiVersion: example.com/v1\nkind: Magic\nmetadata: {name: x}", true)},
		{"no-mutation-rights", "a role that writes", role("{apiGroups: [apps], resources: [deployments], verbs: [get, patch]}")},
		{"no-mutation-rights", "a role for everything", role("{apiGroups: [apps], resources: [deployments], verbs: ['*']}")},
		{"no-mutation-rights", "a role that runs commands in pods", role("{apiGroups: [''], resources: [pods/exec], verbs: [get]}")},
		{"no-mutation-rights", "a role that reads Secrets", role("{apiGroups: [''], resources: [secrets], verbs: [get]}")},
		{"no-mutation-rights", "a person made administrator", manifest("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: x}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io}]", false)},
		{"no-mutation-rights", "a role that takes in others", manifest("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: x}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\nrules: []", false)},
		{"no-mutation-rights", "Argo CD's own rights", manifest("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-rbac-cm}\ndata: {policy.csv: 'p, role:dev, applications, sync, */*, allow'}", false)},
		{"synthetic", "a brief that hides it", func(r *Report) {
			r.Brief.Text = strings.ReplaceAll(r.Brief.Text, "synthetic", "plain")
			r.Brief.Words = Words(r.Brief.Text)
		}},
		{"synthetic", "a table that hides it", func(r *Report) { r.Matrix.Basis.Source = "4 scans" }},
	}
	fresh := func() Report {
		again := in
		again.Scans, again.Chance = world(t).Scans, nil
		return build(t, again)
	}
	first := fresh()
	passes(t, first)
	proven := map[string]bool{}
	for _, m := range mutations {
		r := fresh()
		m.mutate(&r)
		found := false
		for _, c := range Review(r, in.Assessor, in.Schemas) {
			if c.ID == m.check {
				found = true
				proven[c.ID] = true
				if c.Pass || c.Detail == "" {
					t.Errorf("%s does not see %s", m.check, m.name)
				}
			}
		}
		if !found {
			t.Errorf("no check %s", m.check)
		}
	}
	for _, c := range first.Review {
		if !proven[c.ID] {
			t.Errorf("nothing proves that %s can fail", c.ID)
		}
	}
}

func ptr(f float64) *float64 { return &f }

func TestABindingOfTheReaderRoleIsNoFault(t *testing.T) {
	if got := givesRights("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: readers}\nroleRef: {kind: ClusterRole, name: gitops-reader}\nsubjects: [{kind: Group, name: engineers}]"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
