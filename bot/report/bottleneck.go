package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"holdfast/bot/report/capacity"
	"holdfast/bot/report/capacity/simulate"
	"holdfast/gitops"
)

// workersByDefault are the settings that an engine's controllers start with. Sources: main.go of the Flux controllers 1.9 and 1.6
// (--concurrent), and of argocd-application-controller 3.5 (--status-processors).
func workersByDefault(controller string) int {
	switch controller {
	case "kustomize-controller", "helm-controller":
		return 4
	case "argocd-application-controller":
		return 20
	}
	return 1
}

// controllerOf is the controller that reconciles an Application.
func controllerOf(a Application) string {
	switch {
	case a.Engine == gitops.ArgoCD:
		return "argocd-application-controller"
	case a.Engine == gitops.Flux && a.Kind == "HelmRelease":
		return "helm-controller"
	case a.Engine == gitops.Flux:
		return "kustomize-controller"
	}
	return ""
}

// bottleneck puts controllers and their Applications side by side and predicts.
func (b *builder) bottleneck() Bottleneck {
	out := Bottleneck{Scope: b.said.scope(scopeBottleneck), Controllers: []ControllerRow{}, Predictions: []Forecast{}}
	n := 0
	for _, row := range b.controllerRows() {
		out.Controllers = append(out.Controllers, row)
		if row.Duration != nil {
			n += row.Duration.N
		}
		predictions := b.predict(row)
		out.Predictions = append(out.Predictions, predictions...)
		if agreement, ok := b.agreement(row, predictions); ok {
			out.Measured = append(out.Measured, agreement)
		}
	}
	out.Basis = Basis{Source: b.marked("intervals of Applications; no controller's figures were read"), Sample: counted(len(b.applications), "Application"), N: len(b.applications)}
	switch {
	case n > 0:
		out.Basis = Basis{Source: b.sources(), Sample: fmt.Sprintf("%s of %s", counted(n, "turn"), counted(len(b.Controllers), "controller")), N: n}
	case len(b.applications) == 0:
		out.Basis = Basis{Source: "nothing was read", Sample: "no data"}
	}
	out.API, out.Repository = b.apiLoad(), b.repositoryLoad()
	for _, e := range b.engines() {
		if known, ok := b.Knowledge.Engine(e.Name); ok {
			out.Sharding = append(out.Sharding, e.String()+": "+known.Sharding+" Watch "+known.Gauges+".")
		}
	}
	out.Advice = advice(out)
	return out
}

// controllerRows gives a row for each controller that was measured or that Applications need.
func (b *builder) controllerRows() []ControllerRow {
	var out []ControllerRow
	row := func(cluster, name string, engine gitops.Engine) *ControllerRow {
		i := slices.IndexFunc(out, func(r ControllerRow) bool { return r.Cluster == cluster && r.Name == name })
		if i < 0 {
			out = append(out, ControllerRow{
				Cluster: cluster, Name: name, Engine: engine, Workers: workersByDefault(name), WorkersFrom: "default", Source: "its Applications, from the newest scan",
			})
			i = len(out) - 1
		}
		return &out[i]
	}
	intervals := map[string]float64{}
	withInterval := map[string]int{}
	for _, a := range b.applications {
		name := controllerOf(a)
		if name == "" || a.Suspended {
			continue
		}
		r := row(a.Cluster, name, a.Engine)
		r.Applications++
		if every := b.intervalOf(a); every > 0 {
			intervals[r.Cluster+" "+r.Name] += 1 / every.Seconds()
			withInterval[r.Cluster+" "+r.Name]++
		}
	}
	for _, c := range b.Controllers {
		r := row(c.Cluster, c.Name, c.Engine)
		r.Source, r.Depth, r.Retries, r.Busy, r.Oldest = c.Source, c.Depth, c.Retries, c.Busy, c.Oldest
		r.Duration, r.Wait = c.Duration.percentiles(), c.QueueWait.percentiles()
		if c.Workers != nil {
			r.Workers, r.WorkersFrom = *c.Workers, "read"
		}
	}
	for i := range out {
		key := out[i].Cluster + " " + out[i].Name
		if rate := intervals[key]; rate > 0 {
			// The interval at which as many Applications come as with their own.
			mean := float64(withInterval[key]) / rate
			out[i].Interval = &mean
		}
		if r := &out[i]; r.Interval != nil && r.Applications > 0 {
			limit := float64(r.Workers) * *r.Interval / float64(r.Applications)
			r.Limit = &limit
		}
	}
	slices.SortFunc(out, func(x, y ControllerRow) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Name, y.Name))
	})
	return out
}

func (d *Distribution) percentiles() *Percentiles {
	if d == nil || d.Count == 0 {
		return nil
	}
	p := Percentiles{N: d.Count, P50: d.P50, Mean: &d.Mean}
	if d.Count >= 20 {
		p.P95 = d.P95
	}
	if d.Count >= 100 {
		p.P99 = d.P99
	}
	return &p
}

// factors are the sizes of the fleet that are predicted, against now.
func factors() []int { return []int{1, 2, 10} }

// predict evaluates a controller now, with twice and ten times the clusters, and in a rollout to all of them at once. A Flux
// controller serves its own cluster, so more clusters bring it no more to do; one of Argo CD serves them all.
func (b *builder) predict(row ControllerRow) []Forecast {
	var out []Forecast
	measured := b.measured(row)
	scale := b.given(row)
	for _, factor := range factors() {
		n := row.Applications
		if row.Engine == gitops.ArgoCD {
			n = scaled(row.Applications, scale*float64(factor))
		}
		for _, rollout := range []bool{false, true} {
			p := Forecast{Cluster: row.Cluster, Controller: row.Name, Factor: factor, Rollout: rollout, Applications: n}
			b.fill(&p, row, measured)
			out = append(out, p)
		}
	}
	return out
}

// given is by how much the clusters that were given are more than those that were observed: capacity is about the given.
func (b *builder) given(ControllerRow) float64 {
	if b.Given.Clusters > 0 && b.observed.setting.Clusters > 0 {
		return float64(b.Given.Clusters) / float64(b.observed.setting.Clusters)
	}
	return 1
}

func scaled(n int, by float64) int { return int(math.Ceil(float64(n)*by - 1e-9)) }

// measured gives the figures of the controller of a row, if its turns were measured.
func (b *builder) measured(row ControllerRow) *Distribution {
	for _, c := range b.Controllers {
		if c.Cluster == row.Cluster && c.Name == row.Name && c.Duration != nil && c.Duration.Count > 0 {
			return c.Duration
		}
	}
	return nil
}

func (b *builder) fill(p *Forecast, row ControllerRow, d *Distribution) {
	if row.Interval == nil || p.Applications == 0 {
		p.Says = "unknown: how many Applications come how often was not told"
		return
	}
	limit := float64(row.Workers) * *row.Interval / float64(p.Applications)
	p.Limit = &limit
	if d == nil {
		p.Says = fmt.Sprintf("unknown, since no turn was measured; stable as long as the mean turn is below %s", seconds(limit))
		return
	}
	scv := 1.0 // without a measure of the spread: exponential
	if d.SCV != nil {
		scv = *d.SCV
	}
	model := capacity.Model{
		Applications: p.Applications, Interval: durationOf(*row.Interval), Servers: row.Workers, Service: capacity.Service{Mean: d.Mean, SCV: scv},
	}
	if p.Rollout {
		model.Rollout = p.Applications
	}
	prediction, err := capacity.Predict(model)
	if err != nil {
		p.Says = "unknown: " + err.Error()
		return
	}
	p.Formula = &prediction
	p.Simulated = b.simulate(model, d, scv)
	if p.Simulated != nil && prediction.Wait != nil && d.Mean > 0 {
		e := (*prediction.Wait - p.Simulated.Wait) / d.Mean
		if !p.Rollout {
			p.Error = &e
		}
	}
	p.Says = says(prediction, model)
}

func says(p capacity.Prediction, m capacity.Model) string {
	switch {
	case !p.Stable:
		return fmt.Sprintf("not stable: %s of the workers' time is asked for; each Application comes to its turn every %s instead of every %s",
			percent(p.Utilisation), seconds(p.Period), length(m.Interval))
	case m.Rollout > 0 && p.Drain != nil:
		return fmt.Sprintf("the rollout is done after %s; its Applications wait %s on average", seconds(*p.Drain), seconds(*p.RolloutWait))
	case p.Utilisation > 0.8:
		return fmt.Sprintf("stable with little room: %s busy, a wait of %s", percent(p.Utilisation), seconds(*p.Wait))
	}
	return fmt.Sprintf("stable: %s busy, a wait of %s", percent(p.Utilisation), seconds(*p.Wait))
}

// mostTurns bounds a simulation, mostSimulated the Applications in it.
const (
	mostTurns     = 20_000
	mostSimulated = 50_000
)

func (b *builder) simulate(m capacity.Model, d *Distribution, scv float64) *Simulated {
	if b.Chance == nil || m.Applications > mostSimulated || d.Mean <= 0 {
		return nil
	}
	draw := simulate.Varied(d.Mean, scv)
	if len(d.Values) > 0 {
		draw = simulate.Observed(d.Values)
	}
	turns := max(mostTurns, 2*m.Applications)
	out := simulate.Play(simulate.Controller{
		Servers: m.Servers, Service: draw, Applications: m.Applications, Interval: m.Interval.Seconds(), Jitter: 0.05, Rollout: m.Rollout,
	}, simulate.Run{Warmup: turns / 4, Turns: turns}, b.Chance)
	s := Simulated{Wait: out.Wait, Utilisation: out.Utilisation, Period: out.Period, Turns: out.Turns}
	if m.Rollout > 0 && out.Drained > 0 {
		s.Drain, s.RolloutWait = &out.Drained, &out.RolloutWait
	}
	return &s
}

// agreement holds the prediction for now against the queue wait that was measured.
func (b *builder) agreement(row ControllerRow, predictions []Forecast) (MeasuredAgreement, bool) {
	now := slices.IndexFunc(predictions, func(p Forecast) bool { return p.Factor == 1 && !p.Rollout })
	if row.Wait == nil || row.Wait.Mean == nil || now < 0 || b.given(row) != 1 {
		return MeasuredAgreement{}, false
	}
	p := predictions[now]
	if p.Formula == nil || p.Formula.Wait == nil || p.Simulated == nil {
		return MeasuredAgreement{}, false
	}
	return MeasuredAgreement{
		Cluster: row.Cluster, Controller: row.Name, Measured: *row.Wait.Mean, N: row.Wait.N, Formula: *p.Formula.Wait, Simulation: p.Simulated.Wait,
	}, true
}

// intervalOf is how often an Application is due: as was given, else its own.
func (b *builder) intervalOf(a Application) time.Duration {
	return cmp.Or(b.Given.Interval, max(a.Interval, 0))
}

// apiLoad is what dry runs ask of an API server: Flux applies every object of an Application at every interval.
func (b *builder) apiLoad() Load {
	rate, clusters := 0.0, map[string]bool{}
	for _, a := range b.applications {
		if every := b.intervalOf(a); a.Engine == gitops.Flux && a.Kind == "Kustomization" && every > 0 && !a.Suspended {
			rate += float64(a.Objects) / every.Seconds()
			clusters[a.Cluster] = true
		}
	}
	if len(clusters) == 0 {
		return Load{Says: "unknown: no Kustomization with an interval was seen. Argo CD compares from its cache and asks API servers by watch."}
	}
	per := rate / float64(len(clusters))
	fleet := per * float64(max(b.use.Clusters, len(clusters)))
	return Load{PerCluster: &per, Fleet: &fleet, Says: fmt.Sprintf(
		"%s dry runs a second on each cluster: one an object of each Kustomization, an interval. Clusters share no API server, so more of them bring none of theirs more.", plainNumber(per))}
}

// repositoryLoad is what polls ask of Git: each Application's renders at most once an interval; sources poll by intervals of their own,
// which scans do not tell.
func (b *builder) repositoryLoad() Load {
	rate, clusters, repositories := 0.0, map[string]bool{}, map[string]bool{}
	for _, a := range b.applications {
		if a.Engine == gitops.None || a.Engine == "" {
			continue
		}
		clusters[a.Cluster] = true
		if a.Repository != "" {
			repositories[a.Repository] = true
		}
		if every := b.intervalOf(a); a.Engine == gitops.ArgoCD && every > 0 {
			rate += 1 / every.Seconds()
		}
	}
	if len(clusters) == 0 {
		return Load{Says: "unknown: no Application was seen"}
	}
	says := fmt.Sprintf("%s for %s; each cluster polls for itself under Flux, at the interval of its sources, which was not read.", counted(len(repositories), "source"), counted(len(clusters), "cluster"))
	if rate == 0 {
		return Load{Says: says}
	}
	per := rate / float64(len(clusters))
	fleet := per * float64(max(b.use.Clusters, len(clusters)))
	return Load{PerCluster: &per, Fleet: &fleet, Says: says + " Argo CD asks at most once an Application and interval; a webhook takes most of it away."}
}

// advice draws conclusions from predictions.
func advice(x Bottleneck) []string {
	var out []string
	for _, p := range x.Predictions {
		if p.Rollout || p.Formula == nil {
			continue
		}
		switch {
		case !p.Formula.Stable:
			out = append(out, fmt.Sprintf("%s of %s is not stable at %d× the clusters: add workers or shards before that.", p.Controller, p.Cluster, p.Factor))
		case p.Formula.Utilisation > 0.7 && p.Factor == 1:
			out = append(out, fmt.Sprintf("%s of %s is %s busy now: plan for more workers.", p.Controller, p.Cluster, percent(p.Formula.Utilisation)))
		}
	}
	return out
}
