// Package assess says how much a drift matters and which controls it bears on: the class of the resource
// and field, its risk for the tier, and references to controls of the chosen standards. The tables beside
// the code hold classes, levels and catalogues; the code holds what must be computed (pod security, what a
// role newly allows, whether a policy was widened). It does no I/O.
//
// The levels and pairings are this project's judgement and come from no standard. A control is referred
// to, never said to be violated.
package assess

import (
	"fmt"
	"slices"

	"k8s.io/pod-security-admission/policy"

	"holdfast/detect"
	"holdfast/gitops"
)

// Assessor holds the tables. It is read by many goroutines.
type Assessor struct {
	classes    map[string]*class
	matches    []match
	sensitive  []match
	weighty    []match
	catalog    map[string]*standard
	topics     map[string]topic
	categories map[Category]*controls
	pods       policy.Evaluator

	expectations map[string]Expectation
}

// Input is one drifted field, or one object on one side only.
type Input struct {
	Object detect.ObjectRef
	// Declared and Live are the two sides, as far as they are known.
	Declared, Live *gitops.Object
	// Field is the field in question; for an object-level question its zero value, with Cause and Drift of
	// the finding where they are known.
	Field    detect.Field
	Presence detect.Presence
	Tier     detect.Tier
}

// Category is how the two sides differ.
type Category string

// The categories. Suspended is a switch that turns an engine's correction off.
const (
	ValueChanged Category = "value_changed"
	FieldAdded   Category = "field_added"
	FieldRemoved Category = "field_removed"
	Missing      Category = "object_missing"
	Unmanaged    Category = "object_unmanaged"
	Orphaned     Category = "object_orphaned"
	Suspended    Category = "reconciliation_suspended"
	Contested    Category = "ownership_conflict"
)

// CategoryOf gives the category of a finding, or of one of its fields when field is not nil.
func CategoryOf(f detect.Finding, field *detect.Field) Category {
	if field != nil {
		if field.Class == switchClass || field.Class == engineClass && suspends(field.Path) {
			return Suspended
		}
		return fieldCategory(*field)
	}
	switch {
	case f.Presence == detect.GitOnly:
		return Missing
	case f.Presence == detect.LiveOnly && f.Cause == detect.CauseOrphaned:
		return Orphaned
	case f.Presence == detect.LiveOnly:
		return Unmanaged
	}
	return ValueChanged
}

func fieldCategory(f detect.Field) Category {
	switch {
	case f.Cause == detect.CauseContested:
		return Contested
	case !f.Git.Set:
		return FieldAdded
	case !f.Live.Set:
		return FieldRemoved
	}
	return ValueChanged
}

// New reads the embedded tables strictly. It fails on an unknown key, on a class without a level, and on a
// control that its standard's catalogue does not hold.
func New() (*Assessor, error) {
	a := &Assessor{classes: map[string]*class{}, catalog: map[string]*standard{}, topics: map[string]topic{}, expectations: map[string]Expectation{}}
	if err := a.load(); err != nil {
		return nil, fmt.Errorf("the tables of risks and controls: %w", err)
	}
	var err error
	if a.pods, err = policy.NewEvaluator(policy.DefaultChecks(), nil); err != nil {
		return nil, fmt.Errorf("the checks of the Pod Security Standards: %w", err)
	}
	return a, nil
}

// Field gives class, risk and sensitivity of a drifted field. What is no drift has low risk.
func (a *Assessor) Field(in Input) (class string, risk detect.Risk, sensitive bool) {
	class = a.classify(in.Object, in.Field.Path, in.Field.Git, in.Field.Live)
	category := fieldCategory(in.Field)
	sensitive = a.Sensitive(in.Object, in.Field.Path, in.Field.Git, in.Field.Live)
	return class, a.risk(class, category, in), sensitive
}

// Object gives class, risk and sensitivity of an object that is on one side only, or of which more than
// single fields is in question.
func (a *Assessor) Object(in Input) (class string, risk detect.Risk, sensitive bool) {
	class = a.classify(in.Object, nil, gitops.Value{}, gitops.Value{})
	category := CategoryOf(detect.Finding{Presence: in.Presence, Cause: in.Field.Cause}, nil)
	if category == Unmanaged && a.podLevel(in.Live) == levelPrivileged {
		class = "workload_security_context"
	}
	return class, a.risk(class, category, in), a.sensitiveObject(in)
}

// risk is the class's level for the category, escalated by what the values say, then moved by the tier.
// What must be looked at in every tier keeps its level.
func (a *Assessor) risk(class string, category Category, in Input) detect.Risk {
	if isField := len(in.Field.Path) > 0; isField && !in.Field.Drift {
		return detect.Low
	}
	level := a.level(class, category)
	if up := a.escalate(class, category, in); up.level != 0 {
		level = up.level
		if up.everyTier {
			return level
		}
	}
	risk := forTier(level, category, in.Tier)
	if class == switchClass && in.Field.Live.Set {
		return max(risk, detect.High) // in every tier: what it hides may weigh anything
	}
	return risk
}

// level is the class's level. A field that two writers fight over has that of a changed one, and one more: it comes
// back each time that it is corrected.
func (a *Assessor) level(class string, category Category) detect.Risk {
	if category == Contested {
		return a.classes[class].risk[ValueChanged].Raise(1)
	}
	return a.classes[class].risk[category]
}

// suspends names the fields of engines' objects that turn correction off.
func suspends(path gitops.Path) bool {
	return slices.Contains([]string{
		"spec.suspend", "spec.driftDetection", "spec.driftDetection.mode", "spec.syncPolicy", "spec.syncPolicy.automated",
		"spec.syncPolicy.automated.selfHeal", "spec.syncPolicy.automated.enabled", "spec.syncWindows",
	}, path.String())
}

// forTier moves a level: two down in dev, one down in staging, one up in regulated. A missing object
// weighs one more in a recovery site, which is to be the same as its primary.
func forTier(level detect.Risk, category Category, tier detect.Tier) detect.Risk {
	switch tier {
	case detect.Dev:
		return level.Raise(-2)
	case detect.Staging:
		return level.Raise(-1)
	case detect.Regulated:
		return level.Raise(1)
	case detect.DR:
		if category == Missing {
			return level.Raise(1)
		}
	}
	return level
}
