package argocd

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"holdfast/gitops"
)

// trackingName is the Application's name in tracking marks: namespace_name outside the controller's namespace.
func (a application) trackingName(id gitops.ObjectID) string {
	controller := a.Status.ControllerNamespace
	if controller == "" || controller == id.Namespace {
		return id.Name
	}
	return id.Namespace + "_" + id.Name
}

// IsTrackingName says whether the name in a tracking mark is that of the Application of this namespace and name: which is
// the controller's namespace is not told everywhere.
func IsTrackingName(mark, namespace, name string) bool {
	return mark == name || mark == namespace+"_"+name
}

// applied gives, by source, the revision whose files the cluster has: the one that the Application is in sync with,
// which may be newer than its last sync, since nothing is synced where a commit only says what is live already. Else
// that of the last operation if it was a whole sync that succeeded, else the newest of the history. A sync of some
// resources alone leaves the others at the history's.
func (a application) applied() []string {
	sources := a.sources()
	if sync := a.Status.Sync; sync.Status == "Synced" {
		then := synced{Revision: sync.Revision, Revisions: sync.Revisions, Source: sync.ComparedTo.Source, Sources: sync.ComparedTo.Sources}
		if out := then.of(sources); out != nil {
			return out
		}
	}
	if o := a.Status.OperationState; o != nil && o.Phase == "Succeeded" && o.SyncResult != nil {
		if sync := o.Operation.Sync; sync == nil || !sync.DryRun && len(sync.Resources) == 0 && len(sync.Manifests) == 0 {
			if out := o.SyncResult.of(sources); out != nil {
				return out
			}
		}
	}
	if n := len(a.Status.History); n > 0 {
		if out := a.Status.History[n-1].of(sources); out != nil {
			return out
		}
	}
	return make([]string, len(sources))
}

// of gives the revisions of these sources. They were recorded for the sources of that time, whose order may
// have been another; nil when none is recorded for any of them.
func (s synced) of(sources []source) []string {
	revisions, then := s.Revisions, s.Sources
	if len(revisions) == 0 && s.Revision != "" {
		revisions, then = []string{s.Revision}, []source{s.Source}
	}
	recorded := slices.ContainsFunc(then, func(t source) bool { return t.RepoURL != "" })
	if !recorded && len(revisions) != len(sources) {
		return nil
	}
	out, found := make([]string, len(sources)), false
	for i, now := range sources {
		at := i
		if recorded {
			same := func(t source) bool { return t.RepoURL == now.RepoURL && t.Chart == now.Chart }
			if at >= len(then) || !same(then[at]) {
				at = slices.IndexFunc(then, same)
			}
		}
		if at >= 0 && at < len(revisions) && revisions[at] != "" {
			out[i], found = revisions[at], true
		}
	}
	if !found {
		return nil
	}
	return out
}

// state takes over what the controller says of the Application.
func (a application) state(app *gitops.Application) {
	s := a.Status
	app.Ready = s.Sync.Status == "Synced" && s.OperationState == nil
	if o := s.OperationState; o != nil {
		app.Message, app.Since = o.Message, at(o.FinishedAt)
		switch o.Phase {
		case "Succeeded":
			app.Ready = true
		case "Failed", "Error":
			app.Message = cmp.Or(app.Message, "its last sync has the phase "+o.Phase)
		default: // under way, which says nothing yet
			app.Message, app.Since = "", time.Time{}
		}
	}
	for _, c := range s.Conditions {
		if strings.HasSuffix(c.Type, "Error") {
			app.Ready, app.Message, app.Since = false, c.Type+": "+c.Message, at(c.LastTransitionTime)
			break
		}
	}
	if a.Metadata.Annotations[skipReconcile] == "true" {
		app.Suspended, app.Since = true, time.Time{} // an annotation does not tell since when
		app.Switches = append(app.Switches, "metadata.annotations["+`"`+skipReconcile+`"`+"]")
	}
	if s.Resources == nil {
		return
	}
	app.Inventory = []gitops.ObjectID{}
	for _, r := range s.Resources {
		if !r.Hook {
			app.Inventory = append(app.Inventory, gitops.ObjectID{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
		}
	}
}

// at reads a time of a status; the zero time when there is none.
func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// policy takes over when the controller corrects, and what keeps it from that.
func (a application) policy(app *gitops.Application) {
	policy := a.Spec.SyncPolicy
	app.Options = policy.SyncOptions
	app.Correction = gitops.ByHand
	auto := policy.Automated
	switch {
	case auto == nil:
		return
	case auto.Enabled != nil && !*auto.Enabled: // since 3.1
		app.Switches = append(app.Switches, "spec.syncPolicy.automated.enabled: false")
		return
	}
	app.Prune = auto.Prune
	app.Correction = gitops.OnCommit
	if !auto.SelfHeal {
		return
	}
	app.Correction = gitops.Heals
	if a.failedHere() {
		app.Switches = append(app.Switches, "status.operationState: the last sync of this revision failed, so selfHeal waits for a new commit")
	}
}

// failedHere says whether the last sync failed, and was of the revision that the Application is compared with
// still: the controller does not try that one again by itself (autoSync in controller/appcontroller.go).
func (a application) failedHere() bool {
	o, now := a.Status.OperationState, a.Status.Sync
	if o == nil || o.SyncResult == nil || o.Phase != "Failed" && o.Phase != "Error" {
		return false
	}
	if len(now.Revisions) > 0 {
		return slices.Equal(now.Revisions, o.SyncResult.Revisions)
	}
	return now.Revision != "" && now.Revision == o.SyncResult.Revision
}
