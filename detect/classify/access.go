package classify

import (
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// accessFields are the fields of an object that say what it opens: whom a binding gives which role, which rules a role
// has, what a webhook is asked, what a pod may do. How many pods there are and how they are marked is not among them.
func accessFields(id gitops.ObjectID) [][]string {
	switch id.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		return [][]string{{"subjects"}, {"roleRef"}}
	case "Role", "ClusterRole":
		return [][]string{{"rules"}, {"aggregationRule"}}
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		return [][]string{{"webhooks"}}
	case "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController", "Job":
		return [][]string{{"spec", "template", "spec"}}
	case "CronJob":
		return [][]string{{"spec", "jobTemplate", "spec", "template", "spec"}}
	}
	return [][]string{{"spec"}}
}

// ownsAccess says whether an entry owns something of what the object opens. Ephemeral containers have a subresource of
// their own; the entries of status and scale say nothing.
func (e entry) ownsAccess(id gitops.ObjectID) bool {
	if e.Subresource == "status" || e.Subresource == "scale" {
		return false
	}
	return slices.ContainsFunc(accessFields(id), func(path []string) bool { return e.owns(path...) })
}

// owns says whether an entry owns the field at a path of names, a part of it, or all that it is part of.
func (e entry) owns(path ...string) bool {
	fields := e.fields
	for _, name := range path {
		next, ok := fields["f:"+name].(map[string]any)
		if !ok {
			return false
		}
		if len(next) == 0 {
			return true
		}
		fields = next
	}
	return true
}

// editor gives the newest entry under the name of a person's tool that owns something of what the object opens, and is
// not the entry of whoever made it.
func (f *Facts) editor(app gitops.Application, live gitops.Object, entries []entry, maker *detect.Writer) *detect.Writer {
	var newest *detect.Writer
	for _, e := range entries {
		if maker != nil && e.Writer == *maker || isEngine(app, e.Writer) || f.Rules.who(e.Manager) != actorTool || !e.ownsAccess(live.ID) {
			continue
		}
		if maker != nil && e.Time.Before(maker.Time) { // its last change is older than the object's first owner's
			continue
		}
		if newest == nil || e.Time.After(newest.Time) {
			newest = &e.Writer
		}
	}
	return newest
}

// GivenAt is when people last wrote what an object opens, as managedFields tell, and when it was made where they do not.
// An upgrade by Helm moves the time of its entry whatever it changes, so that its time is that at which the object was made.
// Where managedFields were cleared it may have been at any time, now included.
func (f *Facts) GivenAt(o gitops.Object) time.Time {
	at := o.Created()
	if at.IsZero() {
		return at
	}
	if f.cleared(o) {
		return f.Now
	}
	for _, e := range managedEntries(o) {
		who := f.Rules.who(e.Manager)
		if (who == actorTool || who == actorUnknown) && !strings.EqualFold(e.Manager, "helm") && e.ownsAccess(o.ID) && e.Time.After(at) {
			at = e.Time
		}
	}
	return at
}

// cleared says whether an object's managedFields were taken off: others here have them, and it is too young to have been
// made without. API servers keep them for every new object since 1.18; from 2022 on no older one was supported by anybody.
func (f *Facts) cleared(o gitops.Object) bool {
	return f.managed && len(managedEntries(o)) == 0 && o.Created().After(time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC))
}

// nodeMarks are the fields of a pod that give it a hold on its node, as managedFields spell them. The profile of seccomp
// is not among them: most pods have one.
func nodeMarks() []string {
	return []string{
		"f:privileged", "f:hostNetwork", "f:hostPID", "f:hostIPC", "f:hostPath", "f:hostPort", "f:add",
		"f:appArmorProfile", "f:seLinuxOptions", "f:procMount", "f:sysctls", "f:windowsOptions",
	}
}

// namesField says whether a set of fields, as managedFields spell them, has one of these names anywhere.
func namesField(fields any, names ...string) bool {
	m, _ := fields.(map[string]any)
	for key, below := range m {
		if slices.Contains(names, key) || namesField(below, names...) {
			return true
		}
	}
	return false
}
