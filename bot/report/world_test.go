package report

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"holdfast/bot/ledger"
	"holdfast/bot/report/crd"
	"holdfast/bot/report/knowledge"
	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

var monday = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

func at(hours float64) time.Time { return monday.Add(time.Duration(hours * float64(time.Hour))) }

// input is an input without data.
func input(t *testing.T) Input {
	t.Helper()
	a, err := assess.New()
	if err != nil {
		t.Fatal(err)
	}
	k, err := knowledge.Load()
	if err != nil {
		t.Fatal(err)
	}
	s, err := crd.Load()
	if err != nil {
		t.Fatal(err)
	}
	return Input{Now: at(100), Assessor: a, Knowledge: k, Schemas: s, Chance: rand.New(rand.NewPCG(1, 2)).Float64}
}

func path(t *testing.T, text string) gitops.Path {
	t.Helper()
	p, err := gitops.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drift is a finding with one drifting field.
func drift(t *testing.T, cluster, application, name string, cause detect.Cause, risk detect.Risk, writer *detect.Writer) detect.Finding {
	t.Helper()
	object := detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
	return detect.Finding{
		ID: detect.FindingID(cluster, application, object.ID()), Cluster: cluster, Application: application, Object: object, Presence: detect.Both,
		Drift: true, Cause: cause, Risk: risk, Class: "workload_image",
		Fields: []detect.Field{{
			Path: path(t, "spec.template.spec.containers[name=web].image"), Git: gitops.Value{Set: true, V: "shop:1"}, Live: gitops.Value{Set: true, V: "shop:2"},
			Differs: true, Drift: true, Cause: cause, Risk: risk, Class: "workload_image", Writer: writer,
		}},
		Controls: []detect.Control{{Standard: "soc2-tsc2017", ID: "CC8.1", Title: "Change management"}},
	}
}

// scaled is a finding without drift: an autoscaler sets the replicas that Git declares too.
func scaledByHPA(t *testing.T, cluster, application, name string) detect.Finding {
	t.Helper()
	object := detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
	return detect.Finding{
		ID: detect.FindingID(cluster, application, object.ID()), Cluster: cluster, Application: application, Object: object, Presence: detect.Both,
		Cause: detect.CauseAutoscaler, Fields: []detect.Field{{
			Path: path(t, "spec.replicas"), Git: gitops.Value{Set: true, V: 2.0}, Live: gitops.Value{Set: true, V: 5.0}, Differs: true, Cause: detect.CauseAutoscaler,
		}},
	}
}

func by(user string, when time.Time) *detect.Writer {
	return &detect.Writer{User: user, Manager: "kubectl-edit", Time: when, Confidence: detect.ByAudit}
}

// world is two clusters over three days: production under Flux, staging under Argo CD.
func world(t *testing.T) Input {
	in := input(t)
	off := false
	base := func(when float64, findings ...detect.Finding) Scan {
		return Scan{
			Source: fmt.Sprintf("scan-%.0f.json", when), Time: at(when), Objects: 40,
			Clusters: []Cluster{
				{Name: "prod-eu", Tier: detect.Production, Version: "v1.33.1-eks-1", Provider: &setting.Detected{Provider: setting.EKS, Because: "the API server's version is v1.33.1-eks-1"},
					Engines: []setting.DetectedEngine{{Engine: setting.Engine{Name: gitops.Flux, Version: "2.9.4"}, Because: "Deployment flux-system/kustomize-controller is part of Flux"}}},
				{Name: "stage", Tier: detect.Staging, Provider: &setting.Detected{Provider: setting.GKE, Because: "node gke-1 has the label cloud.google.com/gke-nodepool"},
					Engines: []setting.DetectedEngine{{Engine: setting.Engine{Name: gitops.ArgoCD, Version: "3.5.1"}, Because: "StatefulSet argocd/argocd-application-controller is Argo CD's"}}},
			},
			Applications: []Application{
				{Cluster: "prod-eu", Namespace: "flux-system", Name: "shop", Engine: gitops.Flux, Kind: "Kustomization", Repository: "https://git.example.com/fleet", Assessed: true, Objects: 20, Interval: 10 * time.Minute, Correction: gitops.Heals, Prune: &off},
				{Cluster: "prod-eu", Namespace: "flux-system", Name: "mail", Engine: gitops.Flux, Kind: "Kustomization", Repository: "https://git.example.com/fleet", Assessed: true, Suspended: true, Objects: 4, Interval: 10 * time.Minute, Correction: gitops.Heals},
				{Cluster: "prod-eu", Namespace: "flux-system", Name: "metrics", Engine: gitops.Flux, Kind: "HelmRelease", Assessed: true, Objects: 10, Interval: time.Hour, Correction: gitops.ByHand},
				{Cluster: "stage", Namespace: "argocd", Name: "shop", Engine: gitops.ArgoCD, Kind: "Application", Repository: "https://git.example.com/fleet", Assessed: true, Objects: 6, Interval: 2 * time.Minute, Correction: gitops.OnCommit},
				{Cluster: "stage", Namespace: "argocd", Name: "lost", Engine: gitops.ArgoCD, Kind: "Application", Assessed: false, Reason: "the repository cannot be read"},
			},
			Findings: findings,
			Unknown:  []Unread{{Cluster: "stage", What: "argocd/lost", Reason: "the repository cannot be read"}},
		}
	}
	image := drift(t, "prod-eu", "flux-system/shop", "web", detect.CauseManual, detect.High, by("alice", at(23.5)))
	old := drift(t, "prod-eu", "flux-system/mail", "relay", detect.CauseManual, detect.Medium, by("bob", at(-500)))
	staged := drift(t, "stage", "argocd/shop", "web", detect.CauseUnknown, detect.Critical, nil)
	hpa := scaledByHPA(t, "prod-eu", "flux-system/shop", "api")
	in.Scans = []Scan{base(0, old, hpa), base(24, old, image, hpa), base(48, old, staged, hpa), base(72, old, staged, hpa)}
	return in
}

// entry is a record as verification reads it.
func entry(kind ledger.Kind, when time.Time, content, observed any) ledger.Entry {
	encode := func(v any) json.RawMessage {
		if v == nil {
			return nil
		}
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return data
	}
	return ledger.Entry{Name: ledger.Name{Kind: kind}, Statement: ledger.Statement{Predicate: ledger.Predicate{Time: when, Content: encode(content), Observed: encode(observed)}}}
}

// record says of a finding what a ledger would.
func record(f detect.Finding) ledger.Finding {
	out := ledger.Finding{ID: f.ID, Cluster: f.Cluster, Application: f.Application, Object: f.Object, Presence: f.Presence, Cause: f.Cause, Risk: f.Risk.String(), Class: f.Class, Writer: f.Writer}
	for _, field := range f.Fields {
		out.Fields = append(out.Fields, ledger.Field{Path: field.Path.String(), Cause: field.Cause, Writer: field.Writer})
	}
	return out
}

// controller is one whose turns were measured.
func controller(cluster, name string, engine gitops.Engine, mean float64) Controller {
	scv, p50, p95, p99 := 1.0, mean*0.7, mean*3, mean*4.6
	workers, depth, busy, retries, oldest := 4, 0.0, 1.0, 3.0, 700.0
	return Controller{
		Cluster: cluster, Name: name, Engine: engine, Source: "http://127.0.0.1:8080/metrics", Workers: &workers, Depth: &depth, Busy: &busy, Retries: &retries, Oldest: &oldest,
		Duration:  &Distribution{Count: 500, Mean: mean, SCV: &scv, P50: &p50, P95: &p95, P99: &p99},
		QueueWait: &Distribution{Count: 500, Mean: 0.01, P50: &depth, P95: &depth, P99: &depth},
	}
}

func build(t *testing.T, in Input) Report {
	t.Helper()
	r, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func vector(t *testing.T, r Report, id string) VectorRow {
	t.Helper()
	for _, row := range r.Matrix.Rows {
		if row.ID == id {
			return row
		}
	}
	t.Fatalf("no row %s", id)
	return VectorRow{}
}

func passes(t *testing.T, r Report) {
	t.Helper()
	for _, c := range r.Failed() {
		t.Errorf("%s fails: %s", c.ID, c.Detail)
	}
}
