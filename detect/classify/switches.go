package classify

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/argocd"
)

// Switches gives the opt-outs on the live object that Git does not carry: marks by which an engine stops
// correcting the object, and a tracking mark of the Application that is gone or names another. Each is
// drift and sensitive. Flagger sets such marks on the objects that it makes; those are none.
func (f *Facts) Switches(s Subject) []detect.Field {
	if s.Live == nil {
		return nil
	}
	var out []detect.Field
	for _, found := range f.optOuts(s) {
		field := detect.Field{
			Path: found.path, Git: found.git, Live: gitops.Present(found.value), Differs: true, Drift: true,
			Cause: detect.CauseManual, Sensitive: true, Kind: detect.Added, Reason: found.what,
		}
		if found.git.Set {
			field.Kind = detect.Changed
		}
		switch {
		case len(found.owners) == 0:
			field.Cause, field.Writer = detect.CauseUnknown, unresolved()
		case isEngine(s.App, found.owners[0]):
			field.Cause, field.Writer = detect.CauseOrphaned, &found.owners[0]
			field.Reason += " The engine left it over from an earlier revision."
		default:
			field.Writer = &found.owners[0]
		}
		out = append(out, field)
	}
	if s.Declared != nil {
		out = append(out, f.lostTracking(s)...)
	}
	return out
}

// optOut is one switch found on a live object.
type optOut struct {
	path   gitops.Path
	git    gitops.Value
	value  string
	what   string
	stops  bool
	keeps  bool
	owners []detect.Writer
}

func (f *Facts) optOuts(s Subject) []optOut {
	metadata, _ := s.Live.Content["metadata"].(map[string]any)
	var out []optOut
	for _, set := range []string{"annotations", "labels"} {
		marks, _ := metadata[set].(map[string]any)
		for key, raw := range marks {
			value, _ := raw.(string)
			sw, ok := f.switchFor(s.App.Engine, key, value, set == "labels")
			if !ok {
				continue
			}
			path := gitops.Path{gitops.Field("metadata"), gitops.Field(set), gitops.Field(key)}
			var git gitops.Value
			if s.Declared != nil {
				git = gitops.Lookup(s.Declared.Content, path)
			}
			if git.V == value || ownedBy(*s.Live, []kinds{{Group: "flagger.app", Kinds: []string{"Canary"}}}) {
				continue
			}
			out = append(out, optOut{path, git, value, sw.What, sw.Stops, sw.Keeps, markOwners(*s.Live, set, key)})
		}
	}
	sortOptOuts(out)
	return out
}

// switchFor finds the switch that a mark is for an engine.
func (f *Facts) switchFor(engine gitops.Engine, key, value string, label bool) (Switch, bool) {
	sw, ok := f.Rules.switches[key]
	if !ok || label && !sw.Labels || sw.Engine != engine {
		return Switch{}, false
	}
	is := func(want string) bool { return gitops.Glob(strings.ToLower(want), strings.ToLower(value)) }
	return sw, slices.ContainsFunc(sw.Values, is) && !slices.ContainsFunc(sw.Except, is)
}

// lostTracking finds a tracking label that the engine sets on every object it applies and that this one
// has lost, or that names another Application. It speaks only where the engine lists the object as its own, and other
// live objects carry the label or Argo CD, which is set to track by it, did apply the object: else it may never have
// been set.
func (f *Facts) lostTracking(s Subject) []detect.Field {
	switch {
	case !f.inventoried(s):
		return nil
	case s.App.Tracking.Annotation != "": // beside an annotation, a label decides nothing
		return f.lostTrackingID(s)
	}
	var out []detect.Field
	live := s.Live.Labels()
	for _, key := range sortedKeys(s.App.Tracking.Labels) {
		want := s.App.Tracking.Labels[key]
		have, there := live[key]
		set := f.neighbours.labels[key+"="+want] || s.App.Engine == gitops.ArgoCD && f.maker(s.App, *s.Live).engine
		if have == want && there || !set {
			continue
		}
		field := detect.Field{
			Path: gitops.Path{gitops.Field("metadata"), gitops.Field("labels"), gitops.Field(key)},
			Git:  gitops.Present(want), Differs: true, Drift: true, Cause: detect.CauseManual, Sensitive: true,
			Kind: detect.Removed, Writer: unresolved(),
			Reason: "The engine's tracking label is gone, so the object may leave its control. The engine sets it at each apply.",
		}
		if there {
			field.Kind, field.Live = detect.Changed, gitops.Present(have)
			field.Reason = fmt.Sprintf("The engine's tracking label names %q, not this Application.", have)
			if owners := markOwners(*s.Live, "labels", key); len(owners) > 0 {
				field.Writer = &owners[0]
			}
		}
		out = append(out, field)
	}
	return out
}

// lostTrackingID does the same for Argo CD's annotation, which it sets on every object that it applies. Where no setting
// says that it tracks by annotation, that shows: the label that it would set instead is not there either, or other live
// objects of the Application have the annotation.
func (f *Facts) lostTrackingID(s Subject) []detect.Field {
	key := s.App.Tracking.Annotation
	path := gitops.Path{gitops.Field("metadata"), gitops.Field("annotations"), gitops.Field(key)}
	have, there := s.Live.Annotations()[key]
	name, names, _ := strings.Cut(have, ":")
	ours := argocd.IsTrackingName(name, s.App.Namespace, s.App.Name) && namesObject(names, s.Live.ID)
	if ours || gitops.Lookup(s.Declared.Content, path).Set || hookOf(s.Declared.Object) != "" || !f.maker(s.App, *s.Live).engine {
		return nil
	}
	want, assumed := s.App.Name, false
	for label, value := range s.App.Tracking.Labels {
		want = value
		assumed = s.Live.Labels()[label] == value && !f.neighbours.tracked[value]
	}
	if assumed && !there {
		return nil
	}
	id := s.Live.ID
	if id.Namespace == "" {
		id.Namespace = s.App.Render.Namespace
	}
	field := detect.Field{
		Path: path, Git: gitops.Present(want + ":" + trackingID(id)), Differs: true, Drift: true, Cause: detect.CauseManual, Sensitive: true,
		Kind: detect.Removed, Writer: unresolved(),
		Reason: "Argo CD's tracking mark is gone, so the object may leave its control and the Application is out of sync. Argo CD sets it at each sync.",
	}
	if there {
		field.Kind, field.Live = detect.Changed, gitops.Present(have)
		field.Reason = fmt.Sprintf("Argo CD's tracking mark is %q, which is another Application's or object's.", have)
		if owners := markOwners(*s.Live, "annotations", key); len(owners) > 0 {
			field.Writer = &owners[0]
		}
	}
	return []detect.Field{field}
}

func (f *Facts) inventoried(s Subject) bool {
	for _, id := range s.App.Inventory {
		if id == s.Live.ID {
			return true
		}
	}
	return false
}

// CorrectionOff says why the engine corrects nothing of an object that lives as Git does not declare it: a mark on the
// live object, or Git's own. Ok is false where no mark stops it.
func (f *Facts) CorrectionOff(s Subject) (why string, ok bool) {
	if s.Live == nil || s.Declared == nil {
		return "", false
	}
	if why, ok = f.liveSwitch(s); ok {
		return why, true
	}
	return f.declaredSwitch(s)
}

// liveSwitch and declaredSwitch name the opt-out that explains why the engine did not correct the object.
func (f *Facts) liveSwitch(s Subject) (string, bool) {
	for _, found := range f.optOuts(s) {
		if found.stops {
			return found.what + " It stands on the live object and not in Git.", true
		}
	}
	return "", false
}

func (s *situation) switchWriter() *detect.Writer {
	for _, found := range s.facts.optOuts(s.Subject) {
		if found.stops && len(found.owners) > 0 {
			return &found.owners[0]
		}
	}
	return unresolved()
}

func (f *Facts) declaredSwitch(s Subject) (string, bool) {
	for _, set := range []map[string]string{s.Declared.Annotations(), s.Declared.Labels()} {
		for _, key := range sortedKeys(set) {
			value := set[key]
			if s.App.Engine == gitops.Flux && key == createOnceKey && strings.EqualFold(value, "IfNotPresent") {
				return "Git asks to create it once and leave it alone (" + key + ": " + value + ").", true
			}
			if sw, ok := f.switchFor(s.App.Engine, key, value, false); ok && sw.Stops {
				return "Git itself turns the correction off: " + sw.What, true
			}
		}
	}
	return "", false
}

// createOnceKey is Flux's apply policy (fluxcd/kustomize-controller docs/spec/v1/kustomizations.md). It
// creates once only as the declared object has it.
const createOnceKey = "kustomize.toolkit.fluxcd.io/ssa"
