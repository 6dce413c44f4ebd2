package guard

import (
	"fmt"
	"slices"

	"holdfast/gitops"
)

const admission = "admissionregistration.k8s.io/v1"

// Names of the policies; each has a binding of the same name.
const (
	trackedName = "holdfast-guard-" // and the engine
	engineName  = "holdfast-guard-engine"
	placesName  = "holdfast-guard-namespaces"
)

// policy makes a ValidatingAdmissionPolicy and its binding, which denies, and notes each denial in the audit log.
func policy(name, comment string, spec map[string]any) []Manifest {
	spec["failurePolicy"] = "Fail"
	binding := map[string]any{"policyName": name, "validationActions": list("Deny", "Audit")}
	return []Manifest{
		object(admission, "ValidatingAdmissionPolicy", "", name, comment, map[string]any{"spec": spec}),
		object(admission, "ValidatingAdmissionPolicyBinding", "", name, "", map[string]any{"spec": binding}),
	}
}

// rule matches requests.
func rule(operations, groups, resources []string) map[string]any {
	return map[string]any{
		"operations": list(operations...), "apiGroups": list(groups...), "apiVersions": list("*"), "resources": list(resources...), "scope": "*",
	}
}

func condition(name, expression string) map[string]any {
	return map[string]any{"name": name, "expression": expression}
}

// dialect is what an engine calls its things.
type dialect struct {
	title    string
	by       string // CEL: what applies the tracked object
	domains  []string
	requests []string
	managers []string
	// groups are the engine's own kinds, and resources those of them that steer it.
	groups, resources []string
}

func dialectOf(m Marks) dialect {
	if m.Engine == gitops.ArgoCD {
		by := "'an Application'"
		for _, label := range m.Labels {
			by = fmt.Sprintf("('%[1]s' in variables.labelsBefore ? 'the Application ' + string(variables.labelsBefore['%[1]s']) : %[2]s)", label, by)
		}
		for _, a := range m.Annotations {
			by = fmt.Sprintf("('%[1]s' in variables.annotationsBefore ? 'the Application ' + string(variables.annotationsBefore['%[1]s']).split(':')[0] : %[2]s)", a, by)
		}
		return dialect{
			title: "Argo CD", by: by, domains: []string{"argocd.argoproj.io/", "helm.sh/"},
			requests: []string{"argocd.argoproj.io/refresh", "argocd.argoproj.io/application-set-refresh"},
			managers: []string{"argocd-controller", "argocd-application-controller"},
			groups:   []string{"argoproj.io"}, resources: []string{"applications", "applicationsets", "appprojects"},
		}
	}
	return dialect{
		title: "Flux",
		by: "('kustomize.toolkit.fluxcd.io/name' in variables.labelsBefore ?\n" +
			" 'the Kustomization ' + (('kustomize.toolkit.fluxcd.io/namespace' in variables.labelsBefore) ? string(variables.labelsBefore['kustomize.toolkit.fluxcd.io/namespace']) + '/' : '') + string(variables.labelsBefore['kustomize.toolkit.fluxcd.io/name']) :\n" +
			" 'helm.toolkit.fluxcd.io/name' in variables.labelsBefore ?\n" +
			" 'the HelmRelease ' + (('helm.toolkit.fluxcd.io/namespace' in variables.labelsBefore) ? string(variables.labelsBefore['helm.toolkit.fluxcd.io/namespace']) + '/' : '') + string(variables.labelsBefore['helm.toolkit.fluxcd.io/name']) : 'Flux')",
		domains:  []string{"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "fluxcd.controlplane.io/"},
		managers: []string{"kustomize-controller", "helm-controller"},
		groups: []string{
			"fluxcd.controlplane.io", "helm.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io",
			"notification.toolkit.fluxcd.io", "source.toolkit.fluxcd.io",
		},
		resources: []string{"*"},
	}
}

// help says what to do instead. An annotation can be set where the object itself is changed.
func (in Input) help(how string) string { return "variables.emergency + '" + how + "'" }

const (
	withChange = "with the annotation " + ReasonAnnotation + " set to a new reason in the same change."
	before     = "after setting the annotation " + ReasonAnnotation + " to a reason on it."
)

// ofArgoCD is what Argo CD's API server may write when people ask it to: Applications, to sync them, also where one is
// itself applied from Git. What else it writes for them is an edit past the pipeline.
const ofArgoCD = "request.resource.group == 'argoproj.io'"

// tracked guards the objects that an engine tracks. Whether one is tracked is asked of the object as it was, so that
// taking the mark off does not take it out of the guard.
func (in Input) tracked(m Marks) []Manifest {
	d := dialectOf(m)
	deny := func(allowed, what, help string) map[string]any {
		return validation("variables.released || ("+allowed+")", what, "variables.inGit + "+help)
	}
	return policy(trackedName+string(m.Engine),
		"People do not change what "+d.title+" applies from Git. Their edits, deletions, opt-outs and the loss of the tracking mark are denied;\n"+
			"the engine, Kubernetes' own controllers and the service accounts of what runs in the cluster are let through.",
		map[string]any{
			"matchConstraints": map[string]any{
				"resourceRules": []any{rule([]string{"UPDATE", "DELETE"}, []string{"*"}, []string{"*"})},
				// Nobody declares these, and there are more requests for them than for all else.
				"excludeResourceRules": []any{
					rule([]string{"*"}, []string{""}, []string{"endpoints", "events"}),
					rule([]string{"*"}, []string{"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io"}, []string{"*"}),
				},
				"matchPolicy": "Equivalent",
			},
			"matchConditions": []any{
				condition("by-people", in.people(ofArgoCD)),
				condition("tracked", isTracked("oldObject", []Marks{m})),
			},
			"variables": append(in.base(), variable("released", released),
				variable("inGit", "'"+d.title+" applies it from Git (' + "+d.by+" + '): change it there, by a pull request. '")),
			"validations": []any{
				deny("request.operation != 'DELETE'", "'delete the ' + variables.name", in.help(before)),
				deny(sameContent, "'change the content of the ' + variables.name", in.help(withChange)),
				deny("request.operation == 'DELETE' || variables.labels == variables.labelsBefore", "'change labels of the ' + variables.name", in.help(withChange)),
				deny("request.operation == 'DELETE' ||\n("+sameSteering(d.domains, d.requests)+")",
					"'change annotations by which "+d.title+" tracks or skips the ' + variables.name", in.help(withChange)),
				deny(sameOwners, "'change the owners of the ' + variables.name", in.help(withChange)),
				deny(keptManagers(d.managers), "'take away the record of which fields "+d.title+" set in the ' + variables.name", in.help(withChange)),
				deny("request.operation == 'DELETE' || variables.breakGlass || variables.reason == variables.reasonBefore",
					"'give a reason for break-glass on the ' + variables.name", in.help(withChange)),
			},
			"auditAnnotations": []any{map[string]any{"key": "break-glass", "valueExpression": record}},
		})
}

// engine guards what steers the engines: their own objects, also those that nobody tracks, and the workloads and
// settings of the namespaces that they run in.
func (in Input) engine() []Manifest {
	var rules []any
	var groups []string
	for _, m := range in.Marks {
		d := dialectOf(m)
		rules = append(rules, rule([]string{"CREATE", "UPDATE", "DELETE"}, d.groups, d.resources))
		groups = append(groups, d.groups...)
	}
	own := "request.resource.group in " + quoted(groups)
	where := own
	if len(in.Homes) > 0 {
		rules = append(rules, rule([]string{"UPDATE", "DELETE"}, []string{"apps"}, []string{"deployments", "statefulsets", "daemonsets"}),
			rule([]string{"UPDATE", "DELETE"}, []string{""}, []string{"configmaps", "serviceaccounts"}))
		where = own + " || request.namespace in " + quoted(in.Homes)
	}
	conditions := []any{
		condition("by-people", in.people("true")),
		condition("of-an-engine", where),
		condition("not-tracked", "!("+isTracked("oldObject", in.Marks)+")"), // those have a policy of their own
	}
	deny := func(allowed, what, help string) map[string]any {
		return validation("variables.released || ("+allowed+")", what, "'It steers what the GitOps engine applies: change it in Git, by a pull request. ' + "+help)
	}
	steering := []string{"argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "fluxcd.controlplane.io/"}
	return policy(engineName, "People do not change what steers the GitOps engine: its own objects, and the workloads and settings in the namespace where it runs.\n"+
		"To ask it to look again stays free (reconcile.fluxcd.io/requestedAt, argocd.argoproj.io/refresh).",
		map[string]any{
			"matchConstraints": map[string]any{"resourceRules": rules, "matchPolicy": "Equivalent"},
			"matchConditions":  conditions,
			"variables":        append(in.base(), variable("released", released)),
			"validations": []any{
				deny("request.operation != 'CREATE'", "'create the ' + variables.name", in.help(withChange)),
				deny("request.operation != 'DELETE'", "'delete the ' + variables.name", in.help(before)),
				deny(sameContent, "'change the content of the ' + variables.name", in.help(withChange)),
				deny("request.operation != 'UPDATE' ||\n("+sameSteering(steering, []string{"argocd.argoproj.io/refresh", "argocd.argoproj.io/application-set-refresh"})+")",
					"'change annotations that steer the ' + variables.name", in.help(withChange)),
				deny("request.operation != 'UPDATE' || variables.labels == variables.labelsBefore", "'change labels of the ' + variables.name", in.help(withChange)),
			},
			"auditAnnotations": []any{map[string]any{"key": "break-glass", "valueExpression": record}},
		})
}

// places guards what does not carry the mark of what it changes: admission sees a Scale in the place of a Deployment,
// a Pod that belongs to one, and a Namespace with all that is in it. So these are guarded by namespace.
func (in Input) places() []Manifest {
	managed := "(request.resource.resource == 'namespaces' ? request.name : request.namespace) in " + quoted(slices.Compact(slices.Sorted(slices.Values(slices.Concat(in.Homes, in.Namespaces))))) +
		" ||\n(" + isTracked("namespaceObject", in.Marks) + ")"
	deny := func(allowed, what, help string) map[string]any {
		return validation("!variables.managed || variables.released || ("+allowed+")", what, help)
	}
	return policy(placesName, "In namespaces with objects that are applied from Git, people do not scale by the scale subresource, add containers to pods or resize\n"+
		"them in place, and do not delete the namespace. Admission cannot see there which object is tracked, so this holds for all of them;\n"+
		"what Git does not track can still be scaled by its spec.replicas.",
		map[string]any{
			"matchConstraints": map[string]any{
				"resourceRules": []any{
					rule([]string{"UPDATE"}, []string{"*"}, []string{"*/scale"}),
					rule([]string{"UPDATE"}, []string{""}, []string{"pods/ephemeralcontainers", "pods/resize"}),
					rule([]string{"DELETE"}, []string{""}, []string{"namespaces"}),
				},
				"matchPolicy": "Equivalent",
			},
			"matchConditions": []any{condition("by-people", in.people("false"))},
			"variables": append(in.base(), variable("managed", managed),
				variable("scales", "has(request.subResource) && request.subResource == 'scale'"),
				variable("released", "!variables.scales && variables.breakGlass && variables.reasonBefore != ''"),
			),
			"validations": []any{
				deny("!variables.scales", "'scale ' + request.resource.resource + ' ' + request.namespace + '/' + request.name",
					"'Objects of this namespace are applied from Git: set replicas there, by a pull request, or let an autoscaler do it. What Git does not track can be scaled by its spec.replicas, and so can the rest by a member of the group "+
						in.BreakGlass+" who sets the annotation "+ReasonAnnotation+" to a new reason in the same change.'"),
				deny("variables.scales || request.resource.resource != 'pods'", "(request.subResource == 'resize' ? 'resize the ' : 'add a container to the ') + variables.name",
					"'Workloads of this namespace are applied from Git. '+ "+in.help(before)),
				deny("request.resource.resource != 'namespaces'", "'delete the ' + variables.name",
					"'Objects in it are applied from Git and would go with it: take them out of Git first. '+ "+in.help(before)),
			},
			"auditAnnotations": []any{map[string]any{"key": "break-glass", "valueExpression": "variables.managed ? (" + record + ") : ''"}},
		})
}
