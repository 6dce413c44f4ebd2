package guard

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast/detect"
	"holdfast/detect/access"
	"holdfast/detect/audit"
	"holdfast/gitops"
	"holdfast/gitops/argocd"
	"holdfast/gitops/engines"
	"holdfast/gitops/flux"
)

// Cluster is what was read of one cluster.
type Cluster struct {
	Name string
	// Applications are those that the engines' objects make; Engines are these objects.
	Applications []gitops.Application
	Engines      []gitops.Object
	// Objects gives all objects that were read: roles and bindings, what the engines track, and the policies that are
	// in place.
	Objects func() iter.Seq[gitops.Object]
	// Audit, when set, tells who did write.
	Audit *audit.Log
}

// Options are what a person chooses.
type Options struct {
	// BreakGlass is the group; empty takes DefaultBreakGlass.
	BreakGlass string
	// Strict lets only those service accounts through that can write to tracked objects today.
	Strict bool
	// Engines are accounts by which engines apply, beside those that are found.
	Engines []access.Subject
	// Users are user names to let through.
	Users []string
}

// Check refuses names that cannot stand in a policy.
func (o Options) Check() error {
	in := Input{BreakGlass: o.BreakGlass, Users: o.Users}
	if in.BreakGlass == "" {
		in.BreakGlass = DefaultBreakGlass
	}
	for _, e := range o.Engines {
		in.Accounts = append(in.Accounts, e.Username())
	}
	return in.check()
}

// Result says who can write past the pipeline, who did, and what closes it.
type Result struct {
	Cluster string
	// Engines are those in use, and Accounts the accounts by which they apply, in order.
	Engines  []gitops.Engine
	Accounts []access.Subject
	// Objects counts what must change through the pipeline only, and Namespaces are where it is.
	Objects    int
	Namespaces []string
	Findings   []Finding
	Actors     []Actor
	// Problems are what is wrong with the access control itself.
	Problems []access.Problem
	// Guards says of each policy whether it is in place.
	Guards []Guarded
	// Manifests are what to commit.
	Manifests []Manifest
	Notes     []string
}

// Finding is a way past the pipeline, with what is known beyond the rights.
type Finding struct {
	access.Finding
	// Held says that the policies in place deny it.
	Held bool
	// Seen tells who used it, where there is an audit log.
	Seen *Seen
	// Fix says what closes it.
	Fix string
}

// Seen is what an audit log tells of a finding's subject.
type Seen struct {
	// Writes counts writes of targets; Users are who made them, in order.
	Writes int
	Users  []string
}

// Guarded is a manifest, and whether the cluster has it.
type Guarded struct {
	Name    string
	InPlace bool
	// Why says what is missing.
	Why string
}

// Assess resolves the access control of a cluster and answers. The error is for what cannot be written into a policy.
func Assess(c Cluster, o Options) (Result, error) {
	a := &assessment{cluster: c, options: o, plurals: map[gitops.GroupKind]string{}, found: map[gitops.ObjectID]bool{}, marked: map[string]bool{}}
	a.options.BreakGlass = strings.TrimSpace(o.BreakGlass)
	if a.options.BreakGlass == "" {
		a.options.BreakGlass = DefaultBreakGlass
	}
	a.marks()
	a.look()
	rbac := access.Load(c.Objects())
	a.accounts(rbac)
	findings := rbac.Survey(a.targets, a.engines)
	out := Result{Cluster: c.Name, Accounts: a.engines, Objects: len(a.targets), Namespaces: a.namespaces(), Problems: rbac.Problems, Notes: a.notes}
	for _, m := range a.input.Marks {
		out.Engines = append(out.Engines, m.Engine)
	}
	a.complete(findings)
	var err error
	if out.Manifests, err = Manifests(a.input); err != nil {
		return out, err
	}
	out.Guards = a.inPlace(out.Manifests)
	holds := len(out.Guards) > 0 && !slices.ContainsFunc(out.Guards, func(g Guarded) bool { return !g.InPlace })
	for _, f := range findings {
		out.Findings = append(out.Findings, a.judge(f, holds))
	}
	slices.SortStableFunc(out.Findings, func(a, b Finding) int { return int(b.Risk) - int(a.Risk) })
	a.witness(&out)
	if len(out.Manifests) > 0 && len(rbac.Grants(access.Subject{Kind: access.Group, Name: a.options.BreakGlass})) == 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("no binding names the group %s: nobody has rights by break-glass alone; its members need rights of their own, or a binding that you make", a.options.BreakGlass))
	}
	return out, nil
}

// assessment is one in progress.
type assessment struct {
	cluster Cluster
	options Options
	input   Input
	plurals map[gitops.GroupKind]string
	targets []access.Target
	engines []access.Subject
	found   map[gitops.ObjectID]bool
	// marked are the namespaces whose own object carries a mark.
	marked map[string]bool
	notes  []string
}

// marks finds which engines are in use, and how they tell their objects. Which version of Argo CD runs is not told, and
// its way of tracking changed with 3.0; so where its settings leave it open, what stands on the objects decides.
func (a *assessment) marks() {
	var fluxes, argos, annotations int
	labels := map[string]bool{}
	open := false
	for _, app := range a.cluster.Applications {
		switch app.Engine {
		case gitops.Flux:
			fluxes++
		case gitops.ArgoCD:
			argos++
			for key := range app.Tracking.Labels {
				labels[key] = true
			}
			open = open || app.Tracking.Annotation != ""
		case gitops.None:
			a.notes = append(a.notes, fmt.Sprintf("%s: no engine marks what it applies, so that no policy can tell it", app.ID()))
		}
	}
	for o := range a.cluster.Objects() {
		own := o.Labels()
		if _, ok := own[flux.NameLabel]; ok {
			fluxes++
		} else if _, ok := own[flux.HelmNameLabel]; ok {
			fluxes++
		}
		if _, ok := o.Annotations()[argocd.TrackingAnnotation]; ok {
			argos, annotations = argos+1, annotations+1
		}
	}
	if fluxes > 0 {
		a.input.Marks = append(a.input.Marks, Marks{Engine: gitops.Flux, Labels: []string{flux.NameLabel, flux.HelmNameLabel}})
	}
	if argos == 0 {
		return
	}
	m := Marks{Engine: gitops.ArgoCD}
	if annotations > 0 || len(labels) == 0 {
		m.Annotations = []string{argocd.TrackingAnnotation}
	}
	if len(labels) > 0 && (annotations == 0 || !open) {
		m.Labels = sorted(labels)
		a.notes = append(a.notes, fmt.Sprintf("Argo CD tracks by the label %s here, which charts set too: an object that has it counts as tracked; application.resourceTrackingMethod: annotation tells them apart", strings.Join(m.Labels, ", ")))
	}
	a.input.Marks = append(a.input.Marks, m)
}

// look finds the targets: what carries a mark, what an engine lists as its own, and the engines' own objects.
func (a *assessment) look() {
	listed := map[gitops.ObjectID]bool{}
	for _, app := range a.cluster.Applications {
		for _, id := range app.Inventory {
			listed[id] = true
		}
	}
	for o := range a.cluster.Objects() {
		if o.ID.Group == "apiextensions.k8s.io" && o.ID.Kind == "CustomResourceDefinition" {
			a.learn(o)
		}
	}
	add := func(o gitops.Object) {
		tracked := a.tracked(o)
		if tracked && o.ID.Group == "" && o.ID.Kind == "Namespace" {
			a.marked[o.ID.Name] = true
		}
		if a.found[o.ID] || !tracked && !listed[o.ID] && !engines.Declares(o.ID) || followed(o.ID) {
			return
		}
		a.found[o.ID] = true
		a.targets = append(a.targets, access.Target{ID: o.ID, Resource: a.plural(o.ID.GroupKind())})
	}
	for o := range a.cluster.Objects() {
		add(o)
	}
	for _, o := range a.cluster.Engines {
		add(o)
	}
}

func (a *assessment) tracked(o gitops.Object) bool {
	labels, annotations := o.Labels(), o.Annotations()
	for _, m := range a.input.Marks {
		for _, key := range m.Labels {
			if _, ok := labels[key]; ok {
				return true
			}
		}
		for _, key := range m.Annotations {
			if _, ok := annotations[key]; ok {
				return true
			}
		}
	}
	return false
}

// followed are kinds to which a controller copies the labels of what they belong to.
func followed(id gitops.ObjectID) bool {
	return id.Group == "discovery.k8s.io" || id.Group == "" && (id.Kind == "Endpoints" || id.Kind == "Event")
}

func (a *assessment) learn(crd gitops.Object) {
	spec, _ := crd.Content["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	a.plurals[gitops.GroupKind{Group: text(spec["group"]), Kind: text(names["kind"])}] = text(names["plural"])
}

// plural gives the resource of a kind: as its CustomResourceDefinition has it, else by the rule that built-in kinds
// follow.
func (a *assessment) plural(kind gitops.GroupKind) string {
	if name := a.plurals[kind]; name != "" {
		return name
	}
	guess, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: kind.Group, Kind: kind.Kind})
	return guess.Resource
}

// namespaces are those with targets, in order.
func (a *assessment) namespaces() []string {
	set := map[string]bool{}
	for _, t := range a.targets {
		if t.ID.Namespace != "" {
			set[t.ID.Namespace] = true
		}
	}
	return sorted(set)
}

// complete fills in what the manifests are made from.
func (a *assessment) complete(findings []access.Finding) {
	in := &a.input
	in.BreakGlass, in.Users = a.options.BreakGlass, a.options.Users
	for _, name := range a.namespaces() {
		if !a.marked[name] {
			in.Namespaces = append(in.Namespaces, name)
		}
	}
	seen := map[Resource]bool{}
	for _, t := range a.targets {
		if r := (Resource{t.ID.Group, t.Resource}); !seen[r] {
			seen[r] = true
			in.Resources = append(in.Resources, r)
		}
	}
	if a.options.Strict {
		in.Accounts = []string{}
	}
	for _, f := range findings {
		if f.Path != access.Direct {
			continue
		}
		if in.Accounts != nil && f.Subject.Kind == access.ServiceAccount && !slices.Contains(in.Accounts, f.Subject.Username()) {
			in.Accounts = append(in.Accounts, f.Subject.Username())
		}
		if f.Sort != access.Person || f.Subject.Name == in.BreakGlass {
			continue
		}
		r := Reader{Subject: f.Subject}
		for _, b := range f.Bindings {
			if b.Namespace == "" {
				r.Namespaces = nil
				break
			}
			r.Namespaces = append(r.Namespaces, b.Namespace)
		}
		in.Readers = append(in.Readers, r)
	}
	if in.Accounts != nil {
		for _, e := range a.engines {
			if name := e.Username(); !slices.Contains(in.Accounts, name) {
				in.Accounts = append(in.Accounts, name)
			}
		}
		slices.Sort(in.Accounts)
	}
}

// judge says of a finding whether the guards in place hold it, and what closes it for good. Whoever may do everything
// may take the guards away, too.
func (a *assessment) judge(f access.Finding, holds bool) Finding {
	out := Finding{Finding: f}
	people := f.Sort == access.Person || f.Sort == access.Everyone
	door := f.Subject.Kind == access.ServiceAccount && slices.Contains(a.input.Doors, f.Subject.Username())
	out.Held = holds && f.Path == access.Direct && (people || door)
	switch {
	case out.Held && f.Everything && people:
		out.Risk = min(out.Risk, detect.High)
	case out.Held:
		out.Risk = detect.Low
	}
	out.Fix = a.fix(out)
	return out
}

func (a *assessment) fix(f Finding) string {
	var names []string
	for _, b := range f.Bindings {
		names = append(names, access.Named(b))
	}
	bindings := access.Listed(names, 2)
	switch {
	case f.Sort == access.EngineAccount || f.Sort == access.System:
		return ""
	case f.Subject.Kind == access.Group && f.Subject.Name == a.options.BreakGlass:
		return "break-glass: keep its members few, and read what the audit log records of them"
	case f.Sort == access.Everyone:
		return "remove " + bindings + ": it holds for every caller"
	case f.Path == access.Opens && f.Ways[0] == access.ForwardPorts:
		return "leave pods/portforward out of the role, where people need no port"
	case f.Path == access.Opens:
		return "take " + f.Subject.String() + " out of " + bindings + ", or the right out of the role"
	case f.Path == access.Becomes && f.Sort == access.Person:
		return "take " + f.Subject.String() + " out of " + bindings + ": admission sees " + cmp.Or(f.As, "the other") + ", and lets it through"
	case f.Sort == access.Controller && f.Everything:
		return "narrow the role that " + bindings + " gives to what the program writes"
	case f.Sort == access.Controller:
		return "a program: check that it should write what Git declares"
	case f.Held && f.Everything:
		return "the guards hold, but it can remove them: take " + f.Subject.String() + " out of " + bindings
	case f.Held:
		return "the guards hold; " + readerName + " in place of " + bindings + " takes the right away as well"
	}
	return "apply the guards, and " + readerName + " in place of " + bindings
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
