package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"holdfast/bot/report/capacity"
	"holdfast/bot/report/knowledge"
	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

// The priorities of actions.
const (
	critical = "critical"
	high     = "high"
	medium   = "medium"
)

// target is one object that a remedy is for.
type target struct {
	Kind, Namespace, Name string
	Cluster               string
	Interval              string
	Workers               int
	Audit                 string
	Autoscaled            []autoscaled
}

// autoscaled is a field that an autoscaler sets, as engines exempt it.
type autoscaled struct{ Group, Kind, Name, Pointer string }

// mostTargets bounds the manifests of one action; the rest are named.
const mostTargets = 3

// plan makes the actions, critical ones first.
func (b *builder) plan(r Report) Plan {
	p := Plan{Scope: b.said.scope(scopePlan), Actions: []Action{}}
	p.Basis = Basis{Source: b.sources(), Sample: fmt.Sprintf("%s, %s, %s", counted(len(b.applications), "Application"), counted(len(b.drifting()), "drifting finding"), counted(len(r.Compliance.Trails), "demand")),
		N: len(b.applications) + len(b.drifting())}
	if b.noData() {
		p.Basis = Basis{Source: "what was given alone; nothing was read", Sample: "no data"}
	}
	p.Actions = append(p.Actions, b.answer()...)
	for _, e := range b.engines() {
		p.Actions = append(p.Actions, b.applicationActions(e)...)
		p.Actions = append(p.Actions, b.workers(e, r.Bottleneck)...)
		p.Actions = append(p.Actions, b.alerts(e)...)
	}
	p.Actions = append(p.Actions, b.governance(r)...)
	slices.SortStableFunc(p.Actions, func(x, y Action) int { return cmp.Compare(priorityRank(x.Priority), priorityRank(y.Priority)) })
	return p
}

func priorityRank(p string) int { return slices.Index([]string{critical, high, medium}, p) }

// raise makes a priority one more urgent in a tier whose drift weighs more.
func (b *builder) raise(p string) string {
	if slices.Contains(b.use.Tiers, detect.Regulated) && p == high {
		return critical
	}
	return p
}

// action fills a remedy for its targets.
func (b *builder) action(id, priority string, targets []target, closes []string) (Action, bool) {
	r, ok := b.Knowledge.Remedy(id)
	if !ok || len(targets) == 0 {
		return Action{}, false
	}
	a := Action{ID: id, Priority: priority, Title: r.Title, Why: r.Why, Closes: closes, Effort: r.Effort, Success: r.Success, Controls: b.served(r)}
	for i, t := range targets {
		if i == mostTargets {
			a.Steps = append(a.Steps, "The same for "+namesOf(targets[i:])+".")
			break
		}
		for _, text := range r.Manifests {
			manifest := fill(text, t)
			a.Manifests = append(a.Manifests, Manifest{YAML: manifest, Patch: r.Patch, Definition: b.definition(manifest)})
		}
	}
	for _, step := range r.Steps {
		a.Steps = append(a.Steps, fill(step, targets[0]))
	}
	return a, true
}

func namesOf(targets []target) string {
	const most = 20
	var out []string
	for _, t := range targets[:min(len(targets), most)] {
		out = append(out, strings.TrimPrefix(t.Cluster+": ", ": ")+t.Kind+" "+t.Namespace+"/"+t.Name)
	}
	if n := len(targets) - most; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}

// fill lays a target into a template of the remedies. Names are those of Kubernetes objects, which have no character that YAML
// obeys.
func fill(text string, t target) string {
	parsed, err := template.New("remedy").Parse(text)
	if err != nil {
		return "remedy: " + err.Error()
	}
	var out strings.Builder
	if err := parsed.Execute(&out, t); err != nil {
		return "remedy: " + err.Error()
	}
	return strings.TrimRight(out.String(), "\n")
}

// definition names what a manifest is held against.
func (b *builder) definition(manifest string) string {
	apiVersion, kind := typeOf(manifest)
	source, _ := b.Schemas.Source(apiVersion, kind)
	return source
}

// typeOf reads apiVersion and kind at the start of a manifest.
func typeOf(manifest string) (apiVersion, kind string) {
	for line := range strings.Lines(manifest) {
		line = strings.TrimRight(line, "\n")
		if v, ok := strings.CutPrefix(line, "apiVersion: "); ok {
			apiVersion = v
		}
		if v, ok := strings.CutPrefix(line, "kind: "); ok {
			kind = v
		}
	}
	return apiVersion, kind
}

// served are the controls that a remedy serves: of the way to differ that it ends, or of the part of the trail that it fills.
func (b *builder) served(r knowledge.Remedy) []detect.Control {
	var out []detect.Control
	if r.Expects == "" {
		return perStandard(b.Assessor.AllControls("", assess.Category(r.Category), b.use.Standards))
	}
	for _, standard := range b.use.Standards {
		e, _ := b.Assessor.Expectation(standard)
		if r.Expects == "content" {
			out = append(out, e.Content.Controls...)
		} else {
			out = append(out, e.Integrity.Controls...)
		}
	}
	return perStandard(out)
}

// answer is about the open drift that weighs most.
func (b *builder) answer() []Action {
	var out []Action
	for _, level := range []struct {
		risk     detect.Risk
		priority string
	}{{detect.Critical, critical}, {detect.High, high}} {
		var ids []string
		for _, f := range b.newest {
			if f.Drift && f.Risk == level.risk {
				ids = append(ids, f.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		if a, ok := b.action("answer-drift", level.priority, []target{{}}, ids); ok {
			a.ID += "/" + level.priority
			a.Title = fmt.Sprintf("%s: %s of %s risk", a.Title, counted(len(ids), "finding"), level.risk)
			out = append(out, a)
		}
	}
	return out
}

// applicationActions are the settings of an engine's Applications.
func (b *builder) applicationActions(e setting.Engine) []Action {
	var out []Action
	add := func(id, priority string, wants func(Application) bool) {
		r, ok := b.Knowledge.Remedy(id)
		if !ok || !r.Fits(e.Name, e.Version) {
			return
		}
		var targets []target
		var closes []string
		for _, a := range b.applications {
			if a.Engine != e.Name || !wants(a) {
				continue
			}
			targets = append(targets, b.targetOf(a))
			closes = append(closes, "application/"+a.ID())
			closes = append(closes, b.findingsOf(a, id)...)
		}
		if a, ok := b.action(id, priority, targets, closes); ok {
			out = append(out, a)
		}
	}
	suspended := func(a Application) bool { return a.Suspended }
	byHand := func(a Application) bool { return !a.Suspended && a.Correction != "" && a.Correction != gitops.Heals }
	contradicted := func(a Application) bool { return len(b.autoscaledOf(a, true)) > 0 }
	add("flux-resume", b.raise(high), suspended)
	add("argocd-resume", b.raise(high), suspended)
	add("flux-helm-drift-detection", high, func(a Application) bool { return a.Kind == "HelmRelease" && byHand(a) })
	add("argocd-self-heal", high, byHand)
	add("flux-prune", medium, func(a Application) bool { return a.Kind == "Kustomization" && a.Prune != nil && !*a.Prune })
	add("flux-interval", medium, func(a Application) bool { return b.Given.Interval > 0 && a.Interval > b.Given.Interval })
	add("flux-exempt-autoscaled", high, func(a Application) bool { return a.Kind == "Kustomization" && contradicted(a) })
	add("flux-undeclare-autoscaled", high, func(a Application) bool { return a.Kind == "Kustomization" && contradicted(a) })
	add("argocd-exempt-autoscaled", high, func(a Application) bool { return contradicted(a) && !byHand(a) })
	return out
}

func (b *builder) targetOf(a Application) target {
	t := target{Kind: a.Kind, Namespace: a.Namespace, Name: a.Name, Cluster: a.Cluster, Autoscaled: b.autoscaledOf(a, false)}
	if b.Given.Interval > 0 {
		t.Interval = fluxDuration(b.Given.Interval)
	}
	return t
}

// fluxDuration prints a duration in the units that Flux's definitions take, of which hours are the longest.
func fluxDuration(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return length(d.Truncate(time.Second))
}

// findingsOf are the drifts of an Application that a remedy would have ended: all of one that is not corrected.
func (b *builder) findingsOf(a Application, remedy string) []string {
	var out []string
	if remedy == "flux-interval" { // sooner is not otherwise
		return nil
	}
	for _, f := range b.newest {
		if f.Cluster != a.Cluster || f.Application != a.Namespace+"/"+a.Name || !f.Drift {
			continue
		}
		if strings.HasSuffix(remedy, "prune") && f.Cause != detect.CauseOrphaned || strings.HasSuffix(remedy, "autoscaled") && f.Cause != detect.CauseAutoscaler {
			continue
		}
		out = append(out, f.ID)
	}
	slices.Sort(out)
	return out
}

// autoscaledOf are the fields of an Application's objects that autoscalers set; declared ones only where Git has them too.
func (b *builder) autoscaledOf(a Application, declared bool) []autoscaled {
	var out []autoscaled
	for _, f := range b.newest {
		if f.Cluster != a.Cluster || f.Application != a.Namespace+"/"+a.Name {
			continue
		}
		for _, field := range f.Fields {
			if field.Cause != detect.CauseAutoscaler || declared && !field.Git.Set {
				continue
			}
			group, _, _ := strings.Cut(f.Object.APIVersion, "/")
			if !strings.Contains(f.Object.APIVersion, "/") {
				group = ""
			}
			one := autoscaled{group, f.Object.Kind, f.Object.Name, pointer(field.Path)}
			if one.Pointer != "" && !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out
}

// pointer gives a path as a JSON pointer (RFC 6901); empty for one through a keyed list, which a pointer cannot name for good.
func pointer(p gitops.Path) string {
	out := ""
	for _, s := range p {
		if !s.IsField() {
			return ""
		}
		out += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s.Field)
	}
	return out
}

// busyAim is the utilisation at which a queue has room for a rollout.
const busyAim = 0.6

// workers is for controllers that do not keep up, now or at twice the clusters.
func (b *builder) workers(e setting.Engine, x Bottleneck) []Action {
	id := "flux-workers"
	if e.Name == gitops.ArgoCD {
		id = "argocd-workers"
	}
	var out []Action
	for _, p := range x.Predictions {
		if p.Factor != 2 || p.Rollout || p.Formula == nil || p.Formula.Utilisation < 0.7 {
			continue
		}
		i := slices.IndexFunc(x.Controllers, func(r ControllerRow) bool {
			return r.Cluster == p.Cluster && r.Name == p.Controller && r.Engine == e.Name
		})
		if i < 0 {
			continue
		}
		row := x.Controllers[i]
		need, err := capacity.WorkersFor(capacity.Model{
			Applications: p.Applications, Interval: durationOf(*row.Interval), Servers: row.Workers, Service: capacity.Service{Mean: *row.Duration.Mean},
		}, busyAim)
		if err != nil {
			continue
		}
		priority := medium
		if !p.Formula.Stable {
			priority = high
		}
		t := target{Kind: "Deployment", Namespace: homeOf(e), Name: p.Controller, Cluster: p.Cluster, Workers: need}
		if a, ok := b.action(id, priority, []target{t}, []string{"controller/" + p.Cluster + "/" + p.Controller}); ok {
			a.ID += "/" + p.Cluster
			a.Why += fmt.Sprintf(" %s of %s would be %s busy at twice the clusters.", p.Controller, p.Cluster, percent(p.Formula.Utilisation))
			out = append(out, a)
		}
	}
	return out
}

func homeOf(e setting.Engine) string {
	if e.Name == gitops.ArgoCD {
		return "argocd"
	}
	return "flux-system"
}

// alerts are about what the engine tells and nobody keeps.
func (b *builder) alerts(e setting.Engine) []Action {
	var out []Action
	for _, id := range []string{"flux-alerts", "argocd-alerts", "argocd-orphaned"} {
		r, _ := b.Knowledge.Remedy(id)
		if !r.Fits(e.Name, e.Version) {
			continue
		}
		t := target{Kind: string(e.Name), Namespace: homeOf(e), Name: "default"}
		if a, ok := b.action(id, medium, []target{t}, []string{"gap/" + id}); ok {
			out = append(out, a)
		}
	}
	return out
}

// governance is about who may write, who is known to have written, and what is kept of it.
func (b *builder) governance(r Report) []Action {
	var out []Action
	manual := 0
	for _, w := range b.history.windows {
		if w.Vector == "manual" {
			manual++
		}
	}
	priority := medium
	if manual > 0 {
		priority = b.raise(high)
	}
	if a, ok := b.action("readers", priority, []target{{}}, []string{"gap/write-paths"}); ok {
		if manual > 0 {
			a.Why += fmt.Sprintf(" %s came about by hand.", counted(manual, "drift"))
		}
		out = append(out, a)
	}
	if a, ok := b.auditAction(); ok {
		out = append(out, a)
	}
	var gaps []string
	for _, t := range r.Compliance.Trails {
		if t.Part != "content" && t.Met != met && t.Met != ownPolicy {
			gaps = append(gaps, t.ID)
		}
	}
	if len(gaps) > 0 {
		if a, ok := b.action("ledger", b.raise(high), []target{{}}, gaps); ok {
			out = append(out, a)
		}
	}
	return out
}

// auditAction: where writers are not known for sure, or the provider logs nothing by itself and nothing was observed.
func (b *builder) auditAction() (Action, bool) {
	unsure := 0
	for _, f := range b.newest {
		if f.Drift && !knownFor(f) {
			unsure++
		}
	}
	if unsure == 0 && (len(b.newest) > 0 || len(b.auditOff()) == 0) {
		return Action{}, false
	}
	var words []string
	for _, p := range b.use.Providers {
		if known, ok := b.Knowledge.Provider(p); ok {
			words = append(words, p.Name()+": "+known.Audit+".")
		}
	}
	if len(words) == 0 {
		words = []string{"Switch on the API server's audit log at level Metadata or above for writes."}
	}
	var closes []string
	for _, standard := range b.use.Standards {
		closes = append(closes, "trail/"+standard+"/content")
	}
	closes = append(closes, "gap/attribution")
	a, ok := b.action("audit-log", high, []target{{Audit: strings.Join(words, " ")}}, closes)
	if ok && unsure > 0 {
		a.Why += fmt.Sprintf(" So it is for %s.", counted(unsure, "open drift"))
	}
	return a, ok
}

// knownFor says whether the audit log names a writer of the drift.
func knownFor(f detect.Finding) bool {
	sure := func(w *detect.Writer) bool {
		return w != nil && (w.Confidence == detect.ByAudit || w.Confidence == detect.ByAuditMetadata)
	}
	return sure(f.Writer) || slices.ContainsFunc(f.Fields, func(x detect.Field) bool { return x.Drift && sure(x.Writer) })
}
