// Command fleet makes up what a fleet's scans would have told over some weeks, for demonstrations of `holdfast report`: plausible
// windows of drift, from a seed. Every file says that it is synthetic, and so does every report made from one.
//
//	go run ./deploy/demo/fleet -seed 7 -days 30 -clusters 12 -out DIR
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

func main() {
	seed := flag.Uint64("seed", 1, "the seed: the same one makes the same fleet")
	days := flag.Int("days", 30, "how many days")
	clusters := flag.Int("clusters", 12, "how many clusters")
	until := flag.String("until", "2026-11-30T00:00:00Z", "the time of the last scan")
	out := flag.String("out", "", "the folder to write to; it must exist")
	flag.Parse()
	if err := run(*seed, *days, *clusters, *until, *out); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(2)
	}
}

func run(seed uint64, days, clusters int, until, out string) error {
	end, err := time.Parse(time.RFC3339, until)
	switch {
	case err != nil:
		return fmt.Errorf("-until: %w", err)
	case out == "":
		return errors.New("-out is missing: name a folder")
	case days < 1 || days > 366 || clusters < 1 || clusters > 500:
		return errors.New("want 1 to 366 days and 1 to 500 clusters")
	}
	for name, data := range Files(seed, days, clusters, end) {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// scan is the part of a scan's document that a report reads, as `holdfast scan -o json` prints it.
type scan struct {
	APIVersion   string           `json:"apiVersion"`
	Kind         string           `json:"kind"`
	Synthetic    string           `json:"synthetic"`
	Time         time.Time        `json:"time"`
	Clusters     []cluster        `json:"clusters"`
	Applications []application    `json:"applications"`
	Findings     []detect.Finding `json:"findings"`
	Summary      summary          `json:"summary"`
}

type summary struct {
	Objects int `json:"objects"`
}

type cluster struct {
	Name     string                   `json:"name"`
	Tier     detect.Tier              `json:"tier"`
	Provider setting.Detected         `json:"provider"`
	Engines  []setting.DetectedEngine `json:"engines"`
}

type application struct {
	Cluster    string            `json:"cluster"`
	Name       string            `json:"name"`
	Namespace  string            `json:"namespace"`
	Engine     gitops.Engine     `json:"engine"`
	Kind       string            `json:"kind"`
	Source     map[string]string `json:"source"`
	State      detect.State      `json:"state"`
	Objects    int               `json:"objects"`
	Interval   string            `json:"interval"`
	Correction gitops.Correction `json:"correction"`
	Prune      bool              `json:"prune"`
	Suspended  bool              `json:"suspended,omitempty"`
}

// window is one drift that was made up.
type window struct {
	finding         detect.Finding
	changed, closed time.Time
}

// every is the time between two scans.
const every = 6 * time.Hour

// Files gives the files of a fleet, by name: a scan every six hours, and the figures of one controller of each engine.
func Files(seed uint64, days, clusters int, end time.Time) map[string][]byte {
	random := rand.New(rand.NewPCG(seed, 0x666c656574))
	mark := fmt.Sprintf("made up by deploy/demo/fleet from the seed %d", seed)
	begin := end.Add(-time.Duration(days) * 24 * time.Hour)
	fleet, apps := build(random, clusters)
	windows := drift(random, fleet, apps, begin, end)
	out := map[string][]byte{}
	for at := begin; !at.After(end); at = at.Add(every) {
		doc := scan{APIVersion: "holdfast/v1", Kind: "Scan", Synthetic: mark, Time: at, Clusters: fleet, Applications: apps, Findings: scaled(fleet, apps)}
		for _, a := range apps {
			doc.Summary.Objects += a.Objects
		}
		for _, w := range windows {
			if !w.changed.After(at) && w.closed.After(at) {
				doc.Findings = append(doc.Findings, w.finding)
			}
		}
		data, err := json.MarshalIndent(doc, "", " ")
		if err != nil {
			panic(err) // of values that this program made
		}
		out["scan-"+at.Format("2006-01-02T15")+".json"] = append(data, '\n')
	}
	for _, c := range fleet {
		name := "metrics-" + c.Name + ".txt"
		if len(out) < (days*4+1)+2 {
			out[name] = figures(random, c, mark)
		}
	}
	return out
}

func build(random *rand.Rand, n int) ([]cluster, []application) {
	tiers := []detect.Tier{detect.Production, detect.Staging, detect.Production, detect.Dev, detect.Production, detect.Regulated, detect.Production, detect.DR}
	providers := []setting.Provider{setting.EKS, setting.GKE, setting.AKS}
	var fleet []cluster
	var apps []application
	for i := range n {
		tier := tiers[i%len(tiers)]
		c := cluster{
			Name: fmt.Sprintf("%s-%02d", tier, i+1), Tier: tier, Provider: setting.Detected{Provider: providers[i%len(providers)], Because: "made up"},
			Engines: []setting.DetectedEngine{{Engine: setting.Engine{Name: gitops.Flux, Version: "2.9.4"}, Because: "made up"}},
		}
		if i%4 == 1 {
			c.Engines[0].Engine = setting.Engine{Name: gitops.ArgoCD, Version: "3.5.1"}
		}
		fleet = append(fleet, c)
		for j, name := range []string{"shop", "search", "payments", "mail", "platform", "monitoring"} {
			a := application{
				Cluster: c.Name, Name: name, Namespace: "flux-system", Engine: gitops.Flux, Kind: "Kustomization", State: detect.Rendered, Objects: 8 + random.IntN(30),
				Interval: "10m0s", Correction: gitops.Heals, Prune: j != 3, Source: map[string]string{"repo": "https://git.example.test/fleet.git", "path": "apps/" + name},
			}
			if j == 5 {
				a.Kind, a.Correction, a.Interval = "HelmRelease", gitops.ByHand, "1h0m0s"
			}
			if c.Engines[0].Engine.Name == gitops.ArgoCD {
				a.Namespace, a.Engine, a.Kind, a.Interval = "argocd", gitops.ArgoCD, "Application", "2m0s"
				if j > 3 {
					a.Correction = gitops.OnCommit
				}
			}
			a.Suspended = random.IntN(60) == 0
			apps = append(apps, a)
		}
	}
	return fleet, apps
}

// habit is how a kind of drift comes about: how often a day on a cluster, for how long in hours, and where it is at home.
type habit struct {
	cause       detect.Cause
	class, path string
	risk        detect.Risk
	perDay      float64
	hours       float64
	tiers       []detect.Tier
	writers     []string
	confidence  detect.Confidence
}

func habits() []habit {
	return []habit{
		{detect.CauseManual, "workload_image", "spec.template.spec.containers[name=main].image", detect.High, 0.30, 9, nil, []string{"alice", "bob"}, detect.ByAudit},
		{detect.CauseManual, "replicas", "spec.replicas", detect.Medium, 0.35, 5, []detect.Tier{detect.Production, detect.Staging}, []string{"alice", "bob"}, detect.ByAudit},
		{detect.CauseManual, "resources", "spec.template.spec.containers[name=main].resources", detect.Medium, 0.50, 30, []detect.Tier{detect.Dev, detect.Staging}, []string{"bob"}, detect.ByManager},
		{detect.CauseManual, "rbac", "rules", detect.Critical, 0.03, 20, []detect.Tier{detect.Regulated, detect.Production}, []string{"alice"}, detect.ByAudit},
		{detect.CauseAdmission, "workload_security_context", "spec.template.spec.securityContext", detect.Medium, 0.06, 60, []detect.Tier{detect.Regulated, detect.Production}, nil, detect.Inferred},
		{detect.CauseRender, "workload_runtime_spec", "spec.template.metadata.annotations", detect.Low, 0.12, 40, nil, nil, detect.Unresolved},
		{detect.CauseMissing, "configmap", "", detect.Medium, 0.05, 12, []detect.Tier{detect.DR, detect.Staging}, nil, detect.Unresolved},
		{detect.CauseUnknown, "configmap", "data.settings", detect.Medium, 0.04, 15, nil, nil, detect.Unresolved},
	}
}

func drift(random *rand.Rand, fleet []cluster, apps []application, begin, end time.Time) []window {
	var out []window
	for _, c := range fleet {
		own := slices.DeleteFunc(slices.Clone(apps), func(a application) bool { return a.Cluster != c.Name })
		for _, h := range habits() {
			rate := h.perDay
			if len(h.tiers) > 0 && !slices.Contains(h.tiers, c.Tier) {
				rate *= 0.1
			}
			for at := begin; ; {
				at = at.Add(time.Duration(-math.Log(1-random.Float64()) / rate * 24 * float64(time.Hour)))
				if !at.Before(end) {
					break
				}
				out = append(out, h.window(random, c, own[random.IntN(len(own))], at))
			}
		}
	}
	return out
}

func (h habit) window(random *rand.Rand, c cluster, a application, at time.Time) window {
	object := detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: a.Name, Name: fmt.Sprintf("%s-%d", a.Name, 1+random.IntN(5))}
	switch h.class {
	case "rbac":
		object.APIVersion, object.Kind = "rbac.authorization.k8s.io/v1", "Role"
	case "configmap":
		object.APIVersion, object.Kind = "v1", "ConfigMap"
	}
	at = at.Truncate(time.Second)
	id := a.Namespace + "/" + a.Name
	f := detect.Finding{
		ID: detect.FindingID(c.Name, id, object.ID()), Cluster: c.Name, Application: id, Object: object, Presence: detect.Both, Drift: true, Cause: h.cause,
		Disposition: detect.Revert, Risk: h.risk, Class: h.class, FirstSeen: at.Add(time.Duration(random.Int64N(int64(10 * time.Minute)))).Truncate(time.Second),
		Fingerprint: detect.Digest(c.Name, object.Name, at.String()), Reason: "made up",
	}
	writer := &detect.Writer{Time: at, Confidence: h.confidence}
	if len(h.writers) > 0 {
		writer.Manager = "kubectl-edit"
		if h.confidence == detect.ByAudit {
			writer.User = h.writers[random.IntN(len(h.writers))]
		}
	}
	f.Writer = writer
	if h.path == "" {
		f.Presence, f.ObjectLevel = detect.GitOnly, true
	} else if path, err := gitops.ParsePath(h.path); err == nil {
		f.Fields = []detect.Field{{Path: path, Git: gitops.Value{Set: true, V: "made up"}, Live: gitops.Value{Set: true, V: "made up too"}, Differs: true, Drift: true, Cause: h.cause, Writer: writer, Risk: h.risk, Class: h.class, Disposition: detect.Revert}}
	}
	// Log-normal: most are short, some last for days.
	length := h.hours * math.Exp(random.NormFloat64()*0.9)
	return window{finding: f, changed: at, closed: at.Add(time.Duration(length * float64(time.Hour)))}
}

// scaled are replicas that autoscalers set, on every cluster: differences that are no drift.
func scaled(fleet []cluster, apps []application) []detect.Finding {
	var out []detect.Finding
	path, err := gitops.ParsePath("spec.replicas")
	if err != nil {
		panic(err) // of a constant
	}
	for _, c := range fleet {
		for _, a := range apps {
			if a.Cluster != c.Name || a.Name != "search" {
				continue
			}
			object := detect.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "search", Name: "search-api"}
			id := a.Namespace + "/" + a.Name
			out = append(out, detect.Finding{
				ID: detect.FindingID(c.Name, id, object.ID()), Cluster: c.Name, Application: id, Object: object, Presence: detect.Both, Cause: detect.CauseAutoscaler,
				Disposition: detect.Ignore, Fields: []detect.Field{{
					Path: path, Git: gitops.Value{Set: c.Tier == detect.Staging, V: 2.0}, Live: gitops.Value{Set: true, V: 5.0}, Differs: true, Cause: detect.CauseAutoscaler, Disposition: detect.Ignore,
				}},
			})
		}
	}
	return out
}

// figures is a page of metrics of a cluster's controller.
func figures(random *rand.Rand, c cluster, mark string) []byte {
	name, label, queue := "controller_runtime_reconcile_time_seconds", `controller="kustomization",`, "kustomization"
	if c.Engines[0].Engine.Name == gitops.ArgoCD {
		name, label, queue = "argocd_app_reconcile", "", "app_reconciliation_queue"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# Synthetic: %s\n", mark)
	histogram := func(name, label string, mean float64, bounds []float64) {
		const n = 2000
		counts, sum := make([]int, len(bounds)), 0.0
		for range n {
			v := mean * math.Exp(random.NormFloat64()*0.8-0.32)
			sum += v
			for i, b := range bounds {
				if v <= b {
					counts[i]++
				}
			}
		}
		fmt.Fprintf(&out, "# TYPE %s histogram\n", name)
		for i, b := range bounds {
			fmt.Fprintf(&out, "%s_bucket{%sle=\"%g\"} %d\n", name, label, b, counts[i])
		}
		fmt.Fprintf(&out, "%s_bucket{%sle=\"+Inf\"} %d\n%s_sum{%s} %.6f\n%s_count{%s} %d\n", name, label, n, name, strings.TrimSuffix(label, ","), sum, name, strings.TrimSuffix(label, ","), n)
	}
	histogram(name, label, 6, []float64{0.5, 1, 2, 4, 8, 16, 32, 64})
	histogram("workqueue_queue_duration_seconds", fmt.Sprintf("name=%q,", queue), 0.002, []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.1})
	fmt.Fprintf(&out, "# TYPE workqueue_depth gauge\nworkqueue_depth{name=%q} 0\n", queue)
	return []byte(out.String())
}
