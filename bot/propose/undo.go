package propose

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"holdfast/bot"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/codify/splice"
)

// argoInterval is how long Argo CD's self-heal may take: it backs off to five minutes where something keeps
// undoing it (argoproj/argo-cd, --self-heal-backoff-cap-seconds).
const argoInterval = 5 * time.Minute

// undoing is how an engine brings an Application back to Git: what is seen on real controllers is in
// deploy/lab's tests, and what is not is said to be unproven.
type undoing struct {
	// refusal says why no commit brings it back, and what does. The rest is then empty.
	refusal string
	// interval is how often the engine corrects by itself; 0 when it does not.
	interval time.Duration
	// record is the folder of the record; then says what the merge does.
	record, then string
	// edits are what the engine needs beside the record.
	edits func(id string) ([]gitops.Edit, error)
}

func (g *group) undoing() undoing {
	switch {
	case g.app.Suspended:
		return undoing{refusal: "the Application is suspended: resume it, then a new revision is applied"}
	case g.app.Engine == gitops.Flux && g.app.Kind == "HelmRelease":
		return g.undoneByHelm()
	case g.app.Engine == gitops.Flux:
		return undoing{
			interval: g.app.Interval, record: recordFolder,
			then: "The merge commit is a new revision: flux applies it in full, and with it every declared field.",
		}
	case g.app.Engine == gitops.ArgoCD:
		return g.undoneByArgoCD()
	}
	return undoing{refusal: "no engine is known to apply a new revision here by itself; apply Git again with the pipeline that does"}
}

// undoneByArgoCD: an automated Application that is OutOfSync syncs once for each new commit, whatever the commit
// touches; with manifest-generate-paths only a commit below one of them counts.
func (g *group) undoneByArgoCD() undoing {
	if g.app.Correction == gitops.ByHand {
		return undoing{refusal: fmt.Sprintf(
			"Argo CD syncs this Application when a person asks, not at a commit: sync it (argocd app sync %s), or automate it", g.app.Name)}
	}
	u := undoing{
		record: recordFolder,
		then:   "The merge commit is a new revision: Argo CD syncs an automated Application that is OutOfSync once for each commit, and puts back every declared field.",
	}
	if g.app.Correction == gitops.Heals {
		u.interval = argoInterval
	}
	if len(g.app.GeneratePaths) > 0 {
		u.record = path.Join(g.watchedFolder(), recordFolder)
	}
	return u
}

// watchedFolder is a folder below which a commit makes Argo CD render anew.
func (g *group) watchedFolder() string {
	for _, p := range g.app.GeneratePaths {
		if !strings.ContainsAny(p, "*?[") && len(g.source.Tree.Paths(p)) > 1 {
			return p
		}
	}
	return g.app.Source.Path
}

const (
	requestedAt = "reconcile.fluxcd.io/requestedAt"
	forceAt     = "reconcile.fluxcd.io/forceAt"
)

// undoneByHelm asks helm-controller for one forced upgrade, which both annotations with the same new value do
// (https://fluxcd.io/flux/components/helm/helmreleases/#forcing-a-release).
func (g *group) undoneByHelm() undoing {
	u := undoing{
		record: recordFolder,
		then: fmt.Sprintf("The merge sets %s and %s on HelmRelease %s/%s: helm-controller then upgrades the release once, which puts back every field that the chart declares. "+
			"This follows its documentation; it was not tried on a real helm-controller.", requestedAt, forceAt, g.app.Namespace, g.app.Name),
	}
	if g.app.Correction == gitops.Heals {
		u.interval = g.app.Interval
	}
	file, document := g.app.Render.File, g.app.Render.Document
	data, ok := g.source.Tree.Read(file)
	if file == "" || !ok {
		return undoing{refusal: fmt.Sprintf("where Git declares HelmRelease %s/%s is not known: upgrade it once by flux reconcile helmrelease %s --namespace=%s --force",
			g.app.Namespace, g.app.Name, g.app.Name, g.app.Namespace)}
	}
	u.edits = func(id string) ([]gitops.Edit, error) {
		edited := data
		for _, key := range []string{requestedAt, forceAt} {
			var err error
			edited, err = splice.Set(edited, document, gitops.Path{gitops.Field("metadata"), gitops.Field("annotations"), gitops.Field(key)}, "holdfast-"+id)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		return []gitops.Edit{{Path: file, Before: data, After: edited}}, nil
	}
	return u
}

// undoable takes out the findings of which the engine undoes nothing, at its interval or at a new revision:
// a commit would promise what it does not do.
func (g *group) undoable(wanted []detect.Finding, plans map[string]plan) ([]detect.Finding, []Skipped) {
	var out []detect.Finding
	var skipped []Skipped
	for _, f := range wanted {
		stays := g.remains([]detect.Finding{f})
		if len(stays) == 0 || len(f.Fields) > 0 && len(stays) < len(fieldsOf(f, detect.Revert)) {
			out = append(out, f)
			continue
		}
		skipped = append(skipped, skipRevert([]detect.Finding{f}, plans, strings.Join(stays, " "))...)
	}
	return out, skipped
}

// remains says which drifts a new revision does not undo.
func (g *group) remains(due []detect.Finding) []string {
	var out []string
	for _, f := range due {
		for _, field := range fieldsOf(f, detect.Revert) {
			if field.Cause == detect.CauseOrphaned {
				continue
			}
			if ok, why := policy.EngineUndoes(g.app, f, &field); !ok {
				out = append(out, fmt.Sprintf("%s of %s stays: %s.", field.Path, name(f.Object), why))
			}
		}
		if f.Presence == detect.LiveOnly && f.Cause != detect.CauseOrphaned {
			out = append(out, fmt.Sprintf("%s stays: the engine never applied it, so it does not prune it.", name(f.Object)))
		}
	}
	return out
}

// recordID names the record of a revert. The same drift that comes back after its revert was merged and
// applied is a new decision, with a record of its own; until the engine has applied the merge there is
// nothing to decide, and applied is false.
func (g *group) recordID(due []detect.Finding, folder string) (id string, applied bool) {
	prints := slices.Sorted(maps.Values(about(due, detect.Revert)))
	for n := 1; ; n++ {
		id = bot.Hash(append([]string{g.scope(), fmt.Sprint(n)}, prints...)...)[:12]
		if _, there := g.source.Tree.File(path.Join(folder, id+".md")); !there {
			return id, true
		}
		if g.app.Source.Applied != g.source.BaseCommit {
			return id, false
		}
	}
}

// heals says whether the engine's own correction is still to be awaited.
func (g *group) heals(f detect.Finding, every time.Duration) (reason string, waits bool) {
	if every <= 0 {
		return "", false
	}
	changed := f.FirstSeen
	if t := latest(f); !t.IsZero() && t.Before(changed) {
		changed = t
	}
	if age := g.in.Now.Sub(changed); age < HealRounds*every {
		return fmt.Sprintf("%s corrects this by itself every %s; a pull request follows if it outlives %s",
			g.app.Engine, interval(every), interval(HealRounds*every)), true
	}
	return "", false
}

// latest is the time of the newest write among a finding's drifting fields.
func latest(f detect.Finding) time.Time {
	var t time.Time
	for _, field := range f.Fields {
		if field.Drift && field.Writer != nil && field.Writer.Time.After(t) {
			t = field.Writer.Time
		}
	}
	return t
}

// withoutRequest gives objects without the annotations by which a revert asks for an upgrade: they are the
// engine's business, and no change of what the Application declares.
func withoutRequest(objects []gitops.Declared) []gitops.Declared {
	out := slices.Clone(objects)
	for i, o := range out {
		if o.ID.Kind != "HelmRelease" || o.ID.Group != "helm.toolkit.fluxcd.io" {
			continue
		}
		metadata, _ := o.Content["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations[requestedAt] == nil && annotations[forceAt] == nil {
			continue
		}
		annotations = maps.Clone(annotations)
		delete(annotations, requestedAt)
		delete(annotations, forceAt)
		metadata = maps.Clone(metadata)
		metadata["annotations"] = annotations
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
		out[i].Content = maps.Clone(o.Content)
		out[i].Content["metadata"] = metadata
	}
	return out
}
