package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/detect/access"
	"holdfast/detect/audit"
	"holdfast/gitops"
)

// engineAccounts are the names of the service accounts that engines are installed with, by the namespace that they are
// usually in. Sources: fluxcd/flux2 manifests/rbac and manifests/bases, argoproj/argo-cd manifests.
func engineAccounts() map[string][]string {
	return map[string][]string{
		"flux-system": {"flux-operator", "helm-controller", "image-automation-controller", "image-reflector-controller", "kustomize-controller", "notification-controller", "source-controller", "source-watcher"},
		"argocd":      {"argocd-application-controller", "argocd-applicationset-controller"},
	}
}

const argoServer = "argocd-server"

// accounts finds the accounts by which engines apply: those with an engine's names in its usual namespace, or in one
// where a ClusterRoleBinding names them, which only an administrator can make; those that an engine is told to act as;
// and those that the caller names. The namespaces of the former are where engines run.
func (a *assessment) accounts(rbac *access.RBAC) {
	homes := map[string]bool{}
	at := map[string]bool{} // usual namespaces of the engines that were found, there or elsewhere
	doors := map[string]bool{}
	found := map[access.Subject]bool{}
	inUse := func(home string) bool {
		return slices.ContainsFunc(a.input.Marks, func(m Marks) bool { return m.Engine == gitops.Flux == (home == "flux-system") })
	}
	for _, s := range rbac.Subjects() {
		if s.Kind != access.ServiceAccount {
			continue
		}
		clusterWide := slices.ContainsFunc(rbac.Grants(s), func(g access.Grant) bool { return g.Namespace == "" })
		for home, names := range engineAccounts() {
			if slices.Contains(names, s.Name) && inUse(home) && (clusterWide || s.Namespace == home) {
				found[s] = true
				homes[s.Namespace], at[home] = true, true
			}
		}
		if s.Name == argoServer && inUse("argocd") && (clusterWide || s.Namespace == "argocd") {
			doors[s.Username()] = true
			homes[s.Namespace], at["argocd"] = true, true
		}
	}
	for home := range engineAccounts() {
		if inUse(home) && !at[home] {
			homes[home] = true
		}
	}
	for _, o := range a.cluster.Engines {
		for _, s := range actsAs(o) {
			found[s] = true
		}
	}
	for _, s := range a.options.Engines {
		found[s] = true
	}
	for s := range found {
		a.engines = append(a.engines, s)
	}
	slices.SortFunc(a.engines, access.Subject.Compare)
	if len(a.input.Marks) > 0 {
		a.input.Homes, a.input.Doors = sorted(homes), sorted(doors)
	}
}

// actsAs gives the service accounts as which an engine applies what an object declares: Flux's spec.serviceAccountName,
// Argo CD's destinationServiceAccounts.
func actsAs(o gitops.Object) []access.Subject {
	spec, _ := o.Content["spec"].(map[string]any)
	switch o.ID.Kind {
	case "Kustomization", "HelmRelease":
		if name := text(spec["serviceAccountName"]); name != "" && spec["kubeConfig"] == nil {
			return []access.Subject{{Kind: access.ServiceAccount, Namespace: o.ID.Namespace, Name: name}}
		}
	case "AppProject":
		var out []access.Subject
		entries, _ := spec["destinationServiceAccounts"].([]any)
		for _, raw := range entries {
			entry, _ := raw.(map[string]any)
			namespace, name, ok := strings.Cut(text(entry["defaultServiceAccount"]), ":")
			if !ok {
				namespace, name = text(entry["namespace"]), namespace
			}
			if name != "" && namespace != "" && !strings.ContainsAny(namespace, "*?[!") {
				out = append(out, access.Subject{Kind: access.ServiceAccount, Namespace: namespace, Name: name})
			}
		}
		return out
	}
	return nil
}

// Actor is somebody who did write to targets, as an audit log tells.
type Actor struct {
	// User signed in; As is whom that user acted as, empty for nobody.
	User, As string
	Sort     access.Sort
	// Groups are those that the log tells.
	Groups []string
	// Writes counts writes, and Objects what they were to.
	Writes, Objects int
	// Verbs are in order, with the subresource where there was one: patch, update/scale.
	Verbs       []string
	First, Last time.Time
	// By are the subjects of findings that give the right; none where no right is known.
	By []string
}

// witness adds who did write: to each finding how often it was used, and each actor with the rights that it had. It
// says nothing where there is no audit log.
func (a *assessment) witness(out *Result) {
	log := a.cluster.Audit
	if log == nil {
		return
	}
	if log.Events > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the audit log tells of writes from %s to %s", log.First.UTC().Format(time.DateTime), log.Last.UTC().Format(time.DateTime)))
	} else {
		out.Notes = append(out.Notes, "the audit log holds no event: who did write is not known")
	}
	out.Notes = append(out.Notes, log.Notes()...)
	out.Actors = a.actors(log)
	for i := range out.Findings {
		f := &out.Findings[i]
		f.Seen = &Seen{}
		for j := range out.Actors {
			actor := &out.Actors[j]
			if !actor.is(f.Subject) {
				continue
			}
			if f.Path == access.Direct {
				f.Seen.Writes += actor.Writes
				f.Seen.Users = append(f.Seen.Users, actor.User)
			}
			if f.Path != access.Opens && !slices.Contains(actor.By, f.Subject.String()) {
				actor.By = append(actor.By, f.Subject.String())
			}
		}
		slices.Sort(f.Seen.Users)
		f.Seen.Users = slices.Compact(f.Seen.Users)
	}
}

// is says whether a subject of bindings stands for the actor.
func (a *Actor) is(s access.Subject) bool {
	who := access.SubjectOf(cmp.Or(a.As, a.User))
	return s == who || s.Kind == access.Group && (slices.Contains(a.Groups, s.Name) || slices.Contains(who.Identity().Groups, s.Name))
}

// actors gathers the writes of a log that were to targets, people first, those who wrote most first.
func (a *assessment) actors(log *audit.Log) []Actor {
	type place struct{ group, resource, namespace, name string }
	targets := map[place]bool{}
	places := map[place]bool{} // of collections
	namespaces := map[string]bool{}
	for _, t := range a.targets {
		targets[place{t.ID.Group, t.Resource, t.ID.Namespace, t.ID.Name}] = true
		places[place{t.ID.Group, t.Resource, t.ID.Namespace, ""}] = true
		places[place{t.ID.Group, t.Resource, "", ""}] = true
		namespaces[t.ID.Namespace] = t.ID.Namespace != ""
	}
	type who struct{ user, as string }
	byWho := map[who]*Actor{}
	objects := map[who]map[place]bool{}
	engines := map[access.Subject]bool{}
	for _, e := range a.engines {
		engines[e] = true
	}
	for act := range log.Acts() {
		at := place{act.Group, act.Resource, act.Namespace, act.Name}
		inside := act.Group == "" && act.Resource == "pods" && (act.Subresource == "ephemeralcontainers" || act.Subresource == "resize") && namespaces[act.Namespace]
		if !targets[at] && !inside && !(act.Name == "" && places[at]) {
			continue
		}
		key := who{act.User, act.As}
		actor := byWho[key]
		if actor == nil {
			actor = &Actor{User: act.User, As: act.As, Groups: log.Groups(cmp.Or(act.As, act.User)), First: act.Time, Last: act.Time,
				Sort: access.SortOf(access.SubjectOf(act.User), engines)}
			byWho[key], objects[key] = actor, map[place]bool{}
		}
		verb := act.Verb
		if act.Subresource != "" {
			verb += "/" + act.Subresource
		}
		if !slices.Contains(actor.Verbs, verb) {
			actor.Verbs = append(actor.Verbs, verb)
		}
		if act.Time.Before(actor.First) {
			actor.First = act.Time
		}
		if act.Time.After(actor.Last) {
			actor.Last = act.Time
		}
		actor.Writes++
		objects[key][at] = true
	}
	var out []Actor
	for key, actor := range byWho {
		actor.Objects = len(objects[key])
		slices.Sort(actor.Verbs)
		out = append(out, *actor)
	}
	order := []access.Sort{access.Person, access.Everyone, access.Controller, access.EngineAccount, access.System}
	slices.SortFunc(out, func(a, b Actor) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Sort), slices.Index(order, b.Sort)), cmp.Compare(b.Writes, a.Writes), cmp.Compare(a.User, b.User), cmp.Compare(a.As, b.As))
	})
	return out
}
