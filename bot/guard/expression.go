package guard

import (
	"fmt"
	"strings"
)

// CEL expressions of the policies. What stands on an object may be absent, so everything is asked for before it is
// read: an expression that fails would deny the request, whoever makes it.

// quoted gives a CEL list of texts, which check has found to be harmless.
func quoted(items []string) string {
	if len(items) == 0 {
		return "[]"
	}
	return "['" + strings.Join(items, "', '") + "']"
}

// mapOf gives labels or annotations of object or oldObject, empty where there are none.
func mapOf(object, field string) string {
	return fmt.Sprintf("%s != null && has(%s.metadata.%s) ? %s.metadata.%s : {}", object, object, field, object, field)
}

// people is true for whoever is no part of the cluster. Kubernetes' own components have names that begin with system:,
// a garbage collector, an autoscaler's controller and kubelets among them; system:admin is the first administrator's
// certificate on OpenShift and k3s. EKS's and AKS's own users are let through by their names. Through doors people act,
// but on the kinds that allowed names.
func (in Input) people(allowed string) string {
	accounts := "request.userInfo.username.startsWith('system:serviceaccount:')"
	if in.Accounts != nil {
		accounts = "(request.userInfo.username.startsWith('system:serviceaccount:kube-system:') || request.userInfo.username in " + quoted(in.Accounts) + ")"
	}
	if len(in.Doors) > 0 && allowed != "true" {
		accounts += " &&\n (!(request.userInfo.username in " + quoted(in.Doors) + ") || " + allowed + ")"
	}
	return "!(request.userInfo.username.startsWith('system:') &&\n" +
		" !request.userInfo.username.startsWith('system:serviceaccount:') &&\n" +
		" !(request.userInfo.username in ['system:anonymous', 'system:admin'])) &&\n" +
		"!(" + accounts + ") &&\n" +
		"!(request.userInfo.username.startsWith('eks:') || request.userInfo.username in " + quoted(append([]string{"aksService"}, in.Users...)) + ")"
}

// isTracked says whether an object that may be null carries a mark.
func isTracked(object string, marks []Marks) string {
	var labels, annotations []string
	for _, m := range marks {
		labels, annotations = append(labels, m.Labels...), append(annotations, m.Annotations...)
	}
	var any []string
	if len(labels) > 0 {
		any = append(any, fmt.Sprintf("has(%s.metadata.labels) && %s.exists(k, k in %s.metadata.labels)", object, quoted(labels), object))
	}
	if len(annotations) > 0 {
		any = append(any, fmt.Sprintf("has(%s.metadata.annotations) && %s.exists(k, k in %s.metadata.annotations)", object, quoted(annotations), object))
	}
	return object + " != null && (" + strings.Join(any, " ||\n ") + ")"
}

// sameContent compares every field of an object beside its metadata and status: spec, data, rules, subjects, webhooks
// and whatever else a kind has.
const sameContent = "object == null || oldObject == null ||\n" +
	"(object.all(k, k in ['metadata', 'status', 'apiVersion', 'kind'] || (k in oldObject && object[k] == oldObject[k])) &&\n" +
	" oldObject.all(k, k in ['metadata', 'status', 'apiVersion', 'kind'] || k in object))"

// sameOwners keeps people from giving a tracked object an owner, with whom it would be deleted.
const sameOwners = "object == null || oldObject == null ||\n" +
	"(has(object.metadata.ownerReferences) ? object.metadata.ownerReferences : []) ==\n" +
	"(has(oldObject.metadata.ownerReferences) ? oldObject.metadata.ownerReferences : [])"

// keptManagers says that the engine's record of its fields (managedFields) was not taken away: without it a later
// change cannot be told from a default.
func keptManagers(managers []string) string {
	return "object == null || oldObject == null || !has(oldObject.metadata.managedFields) ||\n" +
		"oldObject.metadata.managedFields.all(e, !(has(e.manager) && e.manager in " + quoted(managers) + ") ||\n" +
		" (has(object.metadata.managedFields) && object.metadata.managedFields.exists(n, has(n.manager) && n.manager == e.manager)))"
}

// sameSteering compares the annotations that steer an engine: those of its own domains, but for requests to look
// again.
func sameSteering(domains, requests []string) string {
	var any []string
	for _, d := range domains {
		any = append(any, "k.startsWith('"+d+"')")
	}
	steers := "(" + strings.Join(any, " || ") + ")"
	if len(requests) > 0 {
		steers += " && !(k in " + quoted(requests) + ")"
	}
	return "variables.annotationsBefore.all(k, !(" + steers + ") ||\n" +
		" (k in variables.annotations && variables.annotations[k] == variables.annotationsBefore[k])) &&\n" +
		"variables.annotations.all(k, !(" + steers + ") || k in variables.annotationsBefore)"
}

// variable is a named expression of a policy, for those after it.
func variable(name, expression string) map[string]any {
	return map[string]any{"name": name, "expression": expression}
}

// base are the variables that every policy has: who asks, what was given as a reason, and what the object is called.
func (in Input) base() []any {
	return []any{
		variable("labels", mapOf("object", "labels")),
		variable("labelsBefore", mapOf("oldObject", "labels")),
		variable("annotations", mapOf("object", "annotations")),
		variable("annotationsBefore", mapOf("oldObject", "annotations")),
		variable("reason", "'"+ReasonAnnotation+"' in variables.annotations ? string(variables.annotations['"+ReasonAnnotation+"']) : ''"),
		variable("reasonBefore", "'"+ReasonAnnotation+"' in variables.annotationsBefore ? string(variables.annotationsBefore['"+ReasonAnnotation+"']) : ''"),
		variable("breakGlass", "has(request.userInfo.groups) && '"+in.BreakGlass+"' in request.userInfo.groups"),
		variable("name", "request.kind.kind + ' ' + (has(request.namespace) && request.namespace != '' && request.kind.kind != 'Namespace' ? request.namespace + '/' : '') + request.name"),
		variable("emergency", "'In an emergency a member of the group "+in.BreakGlass+" may, '"),
	}
}

// released is break-glass: a change carries a reason that is new with it, a deletion one that was written before.
const released = "variables.breakGlass &&\n" +
	"(request.operation == 'DELETE' ? variables.reasonBefore != '' : variables.reason != '' && variables.reason != variables.reasonBefore)"

// record is what the API server's audit log says of a use of break-glass; the empty text is no record.
const record = "variables.released ? request.userInfo.username + ' ' + request.operation + ' ' + variables.name + ': ' +\n" +
	" (request.operation == 'DELETE' ? variables.reasonBefore : variables.reason) : ''"

// validation denies where its expression is false. What says what is not allowed, and help what to do; both are CEL
// texts.
func validation(expression, what, help string) map[string]any {
	return map[string]any{
		"expression":        expression,
		"reason":            "Forbidden",
		"message":           "people change this in Git, by a pull request",
		"messageExpression": "request.userInfo.username + ' may not ' + " + what + " + '. ' + " + help,
	}
}
