package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/detect/setting"
	"holdfast/gitops"
)

// The names of the six variables.
const (
	nameProvider  = "cloud provider"
	nameEngine    = "engine"
	nameClusters  = "cluster count"
	nameInterval  = "detection interval"
	nameTier      = "environment tier"
	nameStandards = "compliance standard"
)

// observed is what scans tell of the six variables.
type observed struct {
	setting setting.Setting
	because map[string][]string
	// intervals are those of the Applications, in order.
	intervals []time.Duration
	// clusters by name, with the newest word of each.
	clusters map[string]Cluster
}

func observe(in Input) observed {
	o := observed{because: map[string][]string{}, clusters: map[string]Cluster{}}
	reason := func(variable, text string) {
		if text != "" && !slices.Contains(o.because[variable], text) {
			o.because[variable] = append(o.because[variable], text)
		}
	}
	intervals := map[string]time.Duration{}
	engines := map[gitops.Engine]bool{}
	standards := map[string]bool{}
	for _, s := range in.Scans {
		for _, c := range s.Clusters {
			o.add(c, reason)
		}
		for _, a := range s.Applications {
			if _, ok := o.clusters[a.Cluster]; !ok {
				o.clusters[a.Cluster] = Cluster{Name: a.Cluster}
			}
			if a.Engine != "" && a.Engine != gitops.None {
				engines[a.Engine] = true
			}
			if a.Interval > 0 {
				intervals[a.ID()] = a.Interval
			}
		}
		for _, f := range s.Findings {
			for _, c := range f.Controls {
				standards[c.Standard] = true
			}
		}
	}
	for i := range in.Trails {
		for _, id := range in.Trails[i].order {
			f := in.Trails[i].drifts[id].finding
			if _, ok := o.clusters[f.Cluster]; !ok {
				o.clusters[f.Cluster] = Cluster{Name: f.Cluster}
			}
			for _, c := range f.Controls {
				standards[c.Standard] = true
			}
		}
	}
	for _, e := range []gitops.Engine{gitops.Flux, gitops.ArgoCD} {
		if engines[e] && !slices.ContainsFunc(o.setting.Engines, func(x setting.Engine) bool { return x.Name == e }) {
			o.setting.Engines = append(o.setting.Engines, setting.Engine{Name: e})
			reason(nameEngine, "its objects describe Applications; its version was not told")
		}
	}
	for id := range standards {
		o.setting.Standards = append(o.setting.Standards, id)
	}
	slices.Sort(o.setting.Standards)
	if len(standards) > 0 {
		reason(nameStandards, "findings refer to their controls")
	}
	o.setting.Clusters = len(o.clusters)
	if len(o.clusters) > 0 {
		reason(nameClusters, "clusters that scans or ledgers tell of")
	}
	for _, d := range intervals {
		o.intervals = append(o.intervals, d)
	}
	slices.Sort(o.intervals)
	if n := len(o.intervals); n > 0 {
		o.setting.Interval = o.intervals[(n-1)/2]
		reason(nameInterval, fmt.Sprintf("median of %s, from %s to %s", counted(n, "Application"), length(o.intervals[0]), length(o.intervals[n-1])))
	}
	return o
}

func (o *observed) add(c Cluster, reason func(variable, text string)) {
	known := o.clusters[c.Name]
	known.Name, known.Tier, known.Version = c.Name, cmp.Or(c.Tier, known.Tier), cmp.Or(c.Version, known.Version)
	if c.Provider != nil {
		known.Provider = c.Provider
		if !slices.Contains(o.setting.Providers, c.Provider.Provider) {
			o.setting.Providers = append(o.setting.Providers, c.Provider.Provider)
		}
		reason(nameProvider, c.Name+": "+c.Provider.Because)
	}
	for _, e := range c.Engines {
		if !slices.Contains(o.setting.Engines, e.Engine) {
			o.setting.Engines = append(o.setting.Engines, e.Engine)
		}
		reason(nameEngine, c.Name+": "+e.Because)
	}
	if len(c.Engines) > 0 {
		known.Engines = c.Engines
	}
	if c.Tier != "" {
		if !slices.Contains(o.setting.Tiers, c.Tier) {
			o.setting.Tiers = append(o.setting.Tiers, c.Tier)
		}
		reason(nameTier, c.Name+": the configuration of the scan")
	}
	o.clusters[c.Name] = known
}

// used lays what was given over what was observed.
func used(given setting.Setting, o observed) setting.Setting {
	out := setting.Setting{
		Providers: orElse(given.Providers, o.setting.Providers), Engines: orElse(given.Engines, o.setting.Engines),
		Clusters: cmp.Or(given.Clusters, o.setting.Clusters), Interval: cmp.Or(given.Interval, o.setting.Interval),
		Tiers: orElse(given.Tiers, o.setting.Tiers), Standards: orElse(given.Standards, o.setting.Standards),
	}
	// An engine that was named with less of its version than was observed has the one that was observed.
	out.Engines = slices.Clone(out.Engines)
	for i, e := range out.Engines {
		for _, seen := range o.setting.Engines {
			if covers(e, seen) {
				out.Engines[i] = seen
			}
		}
	}
	out.Standards = setting.WithFlavours(out.Standards, out.Providers)
	return out
}

// covers says whether an engine that was named is the one that was seen, as far as its version was named: Flux 2 covers Flux 2.9.
func covers(named, seen setting.Engine) bool {
	return named.Name == seen.Name && (named.Version == "" || strings.HasPrefix(seen.Version+".", named.Version+"."))
}

// differ says whether what was given and what was observed are not the same; what is not known of either is no difference.
func differ(given setting.Setting, o observed, use setting.Setting) map[string]bool {
	seen := o.setting
	engines := func() bool {
		for _, e := range given.Engines {
			if !slices.ContainsFunc(seen.Engines, func(x setting.Engine) bool { return covers(e, x) || e.Name == x.Name && x.Version == "" }) {
				return true
			}
		}
		return slices.ContainsFunc(seen.Engines, func(x setting.Engine) bool {
			return !slices.ContainsFunc(given.Engines, func(e setting.Engine) bool { return e.Name == x.Name })
		})
	}
	standards := setting.WithFlavours(given.Standards, use.Providers)
	return map[string]bool{
		nameProvider:  len(given.Providers) > 0 && len(seen.Providers) > 0 && !sameSet(given.Providers, seen.Providers),
		nameEngine:    len(given.Engines) > 0 && len(seen.Engines) > 0 && engines(),
		nameClusters:  given.Clusters > 0 && seen.Clusters > 0 && given.Clusters != seen.Clusters,
		nameInterval:  given.Interval > 0 && seen.Interval > 0 && given.Interval != seen.Interval,
		nameTier:      len(given.Tiers) > 0 && len(seen.Tiers) > 0 && !sameSet(given.Tiers, seen.Tiers),
		nameStandards: len(standards) > 0 && len(seen.Standards) > 0 && !sameSet(standards, seen.Standards),
	}
}

func sameSet[T cmp.Ordered](a, b []T) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}

func orElse[T any](list, other []T) []T {
	if len(list) > 0 {
		return list
	}
	return other
}

// said prints the variables as words, each in its place.
type said struct{ provider, engine, clusters, interval, tier, standards string }

func say(s setting.Setting) said {
	return said{
		provider: listed(s.Providers, setting.Provider.Name), engine: listed(s.Engines, setting.Engine.String),
		clusters: countOrUnknown(s.Clusters), interval: intervalOrUnknown(s.Interval),
		tier: listed(s.Tiers, func(t detect.Tier) string { return string(t) }), standards: listed(s.Standards, setting.StandardName),
	}
}

func listed[T any](list []T, name func(T) string) string {
	var out []string
	for _, one := range list {
		out = append(out, name(one))
	}
	return strings.Join(out, ", ")
}

func countOrUnknown(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func intervalOrUnknown(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return length(d)
}

// variables are the six with what was given and observed.
func variables(given setting.Setting, o observed, use setting.Setting) []Variable {
	g, seen, u := say(given), say(o.setting), say(use)
	differs := differ(given, o, use)
	g.standards = listed(setting.WithFlavours(given.Standards, use.Providers), setting.StandardName)
	var out []Variable
	for _, v := range []struct{ name, given, observed, used string }{
		{nameProvider, g.provider, seen.provider, u.provider}, {nameEngine, g.engine, seen.engine, u.engine},
		{nameClusters, g.clusters, seen.clusters, u.clusters}, {nameInterval, g.interval, seen.interval, u.interval},
		{nameTier, g.tier, seen.tier, u.tier}, {nameStandards, g.standards, seen.standards, u.standards},
	} {
		out = append(out, Variable{
			Name: v.name, Given: v.given, Observed: v.observed, Used: cmp.Or(v.used, unknown), Because: o.because[v.name],
			Differs: differs[v.name],
		})
	}
	return out
}

// scope is a section's sentence about what it is for: a text in which the six variables stand.
func (s said) scope(format string) string {
	or := func(text, other string) string { return cmp.Or(text, other) }
	return strings.NewReplacer(
		"{provider}", or(s.provider, "an unknown cloud provider"), "{engine}", or(s.engine, "an unknown engine"),
		"{clusters}", s.clusterPhrase(), "{interval}", or(s.interval, "an unknown interval"),
		"{tier}", or(s.tier, "unknown"), "{standards}", or(s.standards, "no standard that was named"),
	).Replace(format)
}

func (s said) clusterPhrase() string {
	switch s.clusters {
	case "":
		return "an unknown number of clusters"
	case "1":
		return "1 cluster"
	}
	return s.clusters + " clusters"
}

// tierOf gives the tier of a cluster; empty when it is not known.
func (o observed) tierOf(cluster string) detect.Tier { return o.clusters[cluster].Tier }
