package classify

import (
	"fmt"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
	"holdfast/gitops/flux"
)

// about is what is known of one object before its fields are looked at.
type about struct {
	Subject
	facts *Facts
	ref   detect.ObjectRef
	// engineTime is the time of the engine's newest entry in managedFields; zero when it has none.
	engineTime time.Time
	// applyTime is when kustomize-controller last applied the object on the server's side; zero where it is not its own.
	applyTime time.Time
	// applies says that the engine is kustomize-controller, which writes by Apply.
	applies bool
	// managed says whether the live object has any managedFields.
	managed bool
	// unreadable says whether an entry of them is broken or of a form that is not known.
	unreadable bool
	// older and lastApplied are filled on first use.
	older       []gitops.Object
	olderKnown  bool
	lastApplied map[string]any
	lastKnown   bool
	off         *string
}

// correctionOff is Facts.CorrectionOff, asked once an object.
func (a *about) correctionOff() (string, bool) {
	if a.off == nil {
		why, _ := a.facts.CorrectionOff(a.Subject)
		a.off = &why
	}
	return *a.off, *a.off != ""
}

func (f *Facts) about(s Subject) *about {
	a := &about{Subject: s, facts: f, ref: detect.Ref(*s.Live)}
	entries := managedEntries(*s.Live)
	a.managed = len(entries) > 0
	a.applies = s.App.Engine == gitops.Flux && s.App.Kind != "HelmRelease"
	for _, entry := range entries {
		a.unreadable = a.unreadable || entry.fields == nil
		if a.applies && entry.Operation == "Apply" && isEngine(s.App, entry.Writer) && entry.Time.After(a.applyTime) {
			a.applyTime = entry.Time
		}
	}
	for _, entry := range entries {
		if a.isEngine(entry.Writer) && entry.Time.After(a.engineTime) {
			a.engineTime = entry.Time
		}
	}
	return a
}

// isEngine says whether an owner is the engine. Flux's kustomize-controller writes by Apply and, when it does, takes
// entries under its name by Update away, which its earliest versions left (fluxcd/pkg ssa/manager_apply.go): one that
// is younger than its own, or stands alone, is somebody else's.
func (a *about) isEngine(w detect.Writer) bool {
	return isEngine(a.App, w) && (w.Operation == "Apply" || !a.applies || w.Manager != flux.Manager || !a.applyTime.IsZero() && !w.Time.After(a.applyTime))
}

// situation is one difference and what bears on it: the row's conditions read from here only.
type situation struct {
	*about
	detect.Difference
	sensitive bool

	// Owners of the live value by actor. One owner is in exactly one of them.
	engine      []detect.Writer // a manager of this Application, with its operation
	tools       []detect.Writer // a person, a pipeline, or a name that nobody knows
	controllers []detect.Writer // a controller of the cluster or an operator
	bookkeeping []detect.Writer // entries of the API server: ownership was folded

	// mutator is the known writer whose field, name, shape and precondition all match, or nil.
	mutator       *Mutator
	mutatorWriter detect.Writer
}

func (f *Facts) situation(a *about, diff detect.Difference) *situation {
	s := &situation{about: a, Difference: diff, sensitive: true}
	if f.Sensitive != nil {
		s.sensitive = f.Sensitive(a.ref, diff.Path, diff.Git, diff.Live)
	}
	for _, owner := range diff.Owners {
		owner.Confidence = detect.ByManager
		switch {
		case a.isEngine(owner):
			s.engine = append(s.engine, owner)
		case f.Rules.who(owner.Manager) == actorBookkeeping:
			s.bookkeeping = append(s.bookkeeping, owner)
		case f.Rules.who(owner.Manager) == actorController:
			s.controllers = append(s.controllers, owner)
		default:
			s.tools = append(s.tools, owner)
		}
	}
	if diff.Differs {
		s.mutator, s.mutatorWriter = f.mutatorOf(s)
	}
	return s
}

// isEngine says whether the entry is one that the Application's engine writes: manager and operation both
// agree, and it is no subresource. A person who writes under the engine's name by another operation is no
// engine.
func isEngine(app gitops.Application, w detect.Writer) bool {
	if w.Subresource != "" {
		return false
	}
	for _, m := range app.Managers {
		if m.Name == w.Manager && (m.Operation == "" || m.Operation == w.Operation) {
			return true
		}
	}
	return false
}

// borrowsName says whether the writer uses the name of the engine's manager without being it.
func (s *situation) borrowsName(w detect.Writer) bool {
	for _, m := range s.App.Managers {
		if m.Name == w.Manager {
			return !s.isEngine(w)
		}
	}
	return false
}

// unowned says that no manager holds the value.
func (s *situation) unowned() bool { return len(s.Owners) == 0 }

// onlyEngine says that the Application's engine is the one owner.
func (s *situation) onlyEngine() bool { return len(s.engine) > 0 && len(s.engine) == len(s.Owners) }

// added, changed and removed name the three ways to differ.
func (s *situation) added() bool   { return !s.Git.Set && s.Live.Set }
func (s *situation) changed() bool { return s.Git.Set && s.Live.Set }
func (s *situation) removed() bool { return s.Git.Set && !s.Live.Set }

// raw gives the values as they stand in the objects: those of the Difference are masked for Secrets.
func (s *situation) raw() (git, live gitops.Value) {
	if !s.Masked {
		return s.Git, s.Live
	}
	return gitops.Lookup(s.Declared.Content, s.Path), gitops.Lookup(s.liveContent(), s.Path)
}

// liveContent is the content of the live object; Difference has a field Live of its own.
func (s *situation) liveContent() map[string]any { return s.about.Live.Content }

// declaredOlder says whether an earlier revision, or the last-applied annotation, declared the field.
// The text says which.
func (s *situation) declaredOlder() (string, bool) {
	for i, older := range s.olderForms() {
		if gitops.Lookup(older.Content, s.Path).Set || declaresSecretKey(older, s.Path) {
			return fmt.Sprintf("an earlier revision of Git (%d back) declared it", i+1), true
		}
	}
	if len(s.tools) > 0 && s.tools[0].Time.After(s.engineTime) {
		return "", false // last-applied may be of that person's own apply
	}
	if gitops.Lookup(s.applied(), s.Path).Set {
		return "the last-applied annotation declares it", true
	}
	return "", false
}

// equalsOlder says whether an earlier revision declared exactly the live value, or its absence.
func (s *situation) equalsOlder() bool {
	_, live := s.raw()
	for _, older := range s.olderForms() {
		was := gitops.Lookup(older.Content, s.Path)
		if was.Set == live.Set && sameValue(was.V, live.V) {
			return true
		}
	}
	return false
}

func (a *about) olderForms() []gitops.Object {
	if !a.olderKnown && a.History != nil {
		a.older = a.History()
	}
	a.olderKnown = true
	return a.older
}

func (a *about) applied() map[string]any {
	if !a.lastKnown {
		a.lastApplied = lastApplied(*a.Live)
		a.lastKnown = true
	}
	return a.lastApplied
}

// named joins writers for a reason: "kubectl-edit, node-fetch".
func named(writers []detect.Writer) string {
	var names []string
	for _, w := range writers {
		name := w.Manager
		if w.Subresource != "" {
			name += " (" + w.Subresource + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
