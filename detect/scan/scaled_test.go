package scan

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"holdfast/detect"
	"holdfast/gitops"
)

// TestAnAutoscalerThatAPersonMadeExcusesNoCount scans a Deployment of two pods in Git and eight in the cluster.
func TestAnAutoscalerThatAPersonMadeExcusesNoCount(t *testing.T) {
	const (
		deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shopMORE}\nspec: {replicas: COUNT, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web, image: 'web:1'}]}}}\n"
		scaler     = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: shopMORE}\nspec: {minReplicas: 2, maxReplicas: 10, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
		scaled     = ", managedFields: [{manager: kube-controller-manager, operation: Update, subresource: scale, time: '2026-03-05T00:00:00Z', fieldsV1: {'f:spec': {'f:replicas': {}}}}]"
		byHand     = ", managedFields: [{manager: kubectl-autoscale, operation: Update, time: '2026-03-05T00:00:00Z', fieldsV1: {'f:spec': {}}}]"
		byOperator = ", managedFields: [{manager: some-operator, operation: Update, time: '2026-03-05T00:00:00Z', fieldsV1: {'f:spec': {}}}]"
	)
	for _, tt := range []struct {
		name, git, scaler string
		drift             bool
		by                string
	}{
		{"in Git", fill(scaler, "", ""), byHand, false, "kube-controller-manager"},
		{"an operator's", "", byOperator, false, "kube-controller-manager"},
		{"nobody known", "", "", false, "kube-controller-manager"},
		{"a person's", "", byHand, true, "kubectl-autoscale"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := readScenario(t, &txtar.Archive{Files: []txtar.File{
				{Name: "git/1/shop/all.yaml", Data: []byte(fill(deployment, "", "2") + "---\n" + tt.git)},
				{Name: "live.yaml", Data: []byte(fill(deployment, scaled, "8") + "---\n" + fill(scaler, tt.scaler, ""))},
			}})
			in := s.input(t)
			in.Targets[0].OnlyGiven = true
			in.Targets[0].Applications = []gitops.Application{{
				Name: "shop", Namespace: "argocd", Kind: "Application", Engine: gitops.ArgoCD, Ready: true, Tracking: byAnnotation(""),
				Managers: []gitops.Manager{{Name: "argocd-controller"}},
				Source:   gitops.Source{Repo: "https://git.example/shop", Path: "shop"}, Render: gitops.Render{Namespace: "shop"},
			}}
			in.All = true
			result, err := Run(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range result.Findings {
				for _, field := range f.Fields {
					if field.Path.Equal(replicasPath()) {
						if field.Drift != tt.drift || field.Writer.Manager != tt.by || tt.drift && field.Cause != detect.CauseManual {
							t.Errorf("%s, drift %v, by %s (%s)", field.Cause, field.Drift, field.Writer.Manager, field.Reason)
						}
						return
					}
				}
			}
			t.Errorf("no answer about the count: %+v", result.Findings)
		})
	}
}

func fill(text, more, count string) string {
	return strings.NewReplacer("MORE", more, "COUNT", count).Replace(text)
}
