package scan

import (
	"fmt"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/detect/audit"
	"holdfast/detect/classify"
	"holdfast/detect/live"
	"holdfast/gitops"
	"holdfast/gitops/engines"
)

const (
	// answerTime is how long a running controller may take to see a change of its object, or a request, at most.
	answerTime = 5 * time.Minute
	// argoInterval is how often Argo CD looks at an Application at the latest, where nothing says otherwise: 120 s and
	// up to 60 s of jitter (argoproj/argo-cd docs/operator-manual/argocd-cm.yaml, timeout.reconciliation).
	argoInterval = 3 * time.Minute
)

// conditionsOf finds the engine's object of an Application. In a dump nothing is late: it does not say when it was made.
func conditionsOf(app gitops.Application, own *live.Snapshot, in Input) []detect.Condition {
	now := in.Now
	if own.Cluster == "" {
		now = time.Time{}
	}
	if o, ok := own.Objects.Get(engines.ObjectID(app)); ok {
		return conditions(app, &o, in.Audit, now)
	}
	return conditions(app, nil, in.Audit, now)
}

// conditions reads what keeps the engine from applying or correcting an Application. Now is zero where the object
// is of an unknown time.
func conditions(app gitops.Application, object *gitops.Object, log *audit.Log, now time.Time) []detect.Condition {
	out := switchedOff(app, object, log)
	if object == nil {
		return append(out, failing(app)...)
	}
	status := engineStatus{object.Content, app}
	stalled, since, words := status.condition("Stalled")
	switch {
	case app.Suspended:
		return out // what it says of itself was so when it was suspended
	case status.never():
		out = append(out, detect.Condition{Type: detect.NeverReconciled, Since: status.time("metadata", "creationTimestamp"), Message: app.Message})
	case stalled:
		out = append(out, detect.Condition{Type: detect.Stalled, Since: since, Message: words})
	default:
		out = append(out, failing(app)...)
	}
	if late := status.late(now); late != "" {
		out = append(out, detect.Condition{Type: detect.Stale, Since: status.lastReconciled(), Message: late})
	}
	return out
}

func failing(app gitops.Application) []detect.Condition {
	if app.Ready || app.Suspended || app.Message == "" {
		return nil
	}
	return []detect.Condition{{Type: detect.Failing, Since: app.Since, Message: app.Message}}
}

// switchedOff gives a condition for each setting that turns correction off, with who made it and when.
func switchedOff(app gitops.Application, object *gitops.Object, log *audit.Log) []detect.Condition {
	var out []detect.Condition
	for _, text := range app.Switches {
		c := detect.Condition{Type: detect.SwitchedOff, Message: text}
		name, _, _ := strings.Cut(text, ": ")
		path, err := gitops.ParsePath(name)
		if app.Suspended && (name == "spec.suspend" || strings.HasPrefix(name, "metadata.annotations")) {
			c.Type, c.Since = detect.Suspended, app.Since
		}
		if err == nil && object != nil {
			if w := settingWriter(*object, path, log); w != nil {
				c.Writer, c.Since = w, w.Time
			}
		}
		out = append(out, c)
	}
	if app.Suspended && len(out) == 0 {
		out = append(out, detect.Condition{Type: detect.Suspended, Since: app.Since})
	}
	return out
}

// settingWriter gives who set a field of an engine's object last; nil where nothing tells.
func settingWriter(object gitops.Object, path gitops.Path, log *audit.Log) *detect.Writer {
	f := detect.Field{Path: path, Live: gitops.Lookup(object.Content, path), Differs: true, Drift: true}
	if !f.Live.Set {
		return nil
	}
	if owners := classify.Owners(object, path); len(owners) > 0 {
		f.Writer = &owners[0]
	}
	log.Of(object.ID, gitops.Application{}, &object).Field(&f)
	return f.Writer
}

// engineStatus is an engine's object, read for what its controller last did.
type engineStatus struct {
	content map[string]any
	app     gitops.Application
}

func (s engineStatus) at(names ...string) any {
	var path gitops.Path
	for _, n := range names {
		path = append(path, gitops.Field(n))
	}
	return gitops.Lookup(s.content, path).V
}

func (s engineStatus) text(names ...string) string {
	text, _ := s.at(names...).(string)
	return text
}

func (s engineStatus) time(names ...string) time.Time {
	at, _ := time.Parse(time.RFC3339, s.text(names...)) // zero where it is none
	return at
}

// condition reads one of status.conditions.
func (s engineStatus) condition(kind string) (is bool, since time.Time, message string) {
	list, _ := s.at("status", "conditions").([]any)
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] != kind {
			continue
		}
		text, _ := c["lastTransitionTime"].(string)
		since, _ = time.Parse(time.RFC3339, text) // zero where it is none
		message, _ = c["message"].(string)
		return c["status"] == "True", since, message
	}
	return false, since, ""
}

// never says that the engine has not applied the Application once.
func (s engineStatus) never() bool {
	if s.app.Engine == gitops.ArgoCD {
		return s.at("status", "operationState") == nil && s.at("status", "history") == nil && s.text("status", "sync", "revision") == ""
	}
	history, _ := s.at("status", "history").([]any)
	return s.text("status", "lastAppliedRevision") == "" && len(history) == 0 && s.app.Engine == gitops.Flux
}

// lastReconciled is when the controller last looked at the object; zero where its status does not say. A
// Kustomization's history says so since kustomize-controller 1.7; a HelmRelease never does.
func (s engineStatus) lastReconciled() time.Time {
	if s.app.Engine == gitops.ArgoCD {
		return s.time("status", "reconciledAt")
	}
	history, _ := s.at("status", "history").([]any)
	if len(history) == 0 || s.app.Kind != "Kustomization" {
		return time.Time{}
	}
	newest, _ := history[0].(map[string]any)
	text, _ := newest["lastReconciled"].(string)
	at, _ := time.Parse(time.RFC3339, text) // zero where it is none
	return at
}

// late says what the controller should have done by now.
func (s engineStatus) late(now time.Time) string {
	if now.IsZero() {
		return ""
	}
	interval := s.app.Interval
	if interval == 0 && s.app.Engine == gitops.ArgoCD {
		interval = argoInterval
	}
	if at := s.lastReconciled(); !at.IsZero() && interval > 0 && now.Sub(at) > 2*interval {
		return fmt.Sprintf("not reconciled for %s, interval %s%s", detect.Age(now.Sub(at)), detect.Age(interval), s.shard())
	}
	token := s.text("metadata", "annotations", "reconcile.fluxcd.io/requestedAt")
	if asked, err := time.Parse(time.RFC3339Nano, token); err == nil && token != s.text("status", "lastHandledReconcileAt") && now.Sub(asked) > answerTime {
		return fmt.Sprintf("asked to reconcile %s ago, and no controller answered%s", detect.Age(now.Sub(asked)), s.shard())
	}
	wanted, ok := gitops.Number(s.at("metadata", "generation"))
	seen, has := gitops.Number(s.at("status", "observedGeneration"))
	if changed := s.changed(); ok && has && seen < wanted && !changed.IsZero() && now.Sub(changed) > answerTime {
		return fmt.Sprintf("its spec changed %s ago, and no controller has seen that%s", detect.Age(now.Sub(changed)), s.shard())
	}
	return ""
}

// changed is when the spec was last written, as managedFields have it.
func (s engineStatus) changed() time.Time {
	owners := classify.Owners(gitops.NewObject(s.content), gitops.Path{gitops.Field("spec")})
	if len(owners) == 0 {
		return time.Time{}
	}
	return owners[0].Time
}

// shard names the label by which several controllers share the work, where there is one: a value that none of them
// watches is never reconciled, and nothing else says so.
func (s engineStatus) shard() string {
	if key := s.text("metadata", "labels", "sharding.fluxcd.io/key"); key != "" {
		return "; it is for the controller of sharding.fluxcd.io/key: " + key
	}
	return ""
}
