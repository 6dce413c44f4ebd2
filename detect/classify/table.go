package classify

import (
	"fmt"
	"slices"

	"holdfast/detect"
	"holdfast/gitops"
)

// verdict is the answer of one row.
type verdict struct {
	cause  detect.Cause
	drift  bool
	writer *detect.Writer
	reason string
}

// row is one line of the decision table: the first whose condition holds gives the verdict.
type row struct {
	name string
	when func(*situation) bool
	then func(*situation) verdict
}

// decisionTable is value x owners, top down. Every row reads the situation only; the last matches always.
// The engine's ignore rules are laid over the answer afterwards: they end drift and keep the cause.
func decisionTable() []row {
	return []row{
		// The value is the same, or Git does not mean it to be set.
		{"no difference in meaning", func(s *situation) bool { return !s.Differs }, sameMeaning},

		// What Git asks for can never arrive, whoever owns what is there.
		{"the schema does not know the field", func(s *situation) bool { return s.Kind == detect.UnknownField },
			func(*situation) verdict {
				return verdict{detect.CauseAPI, true, nil, "The API server's schema does not know this field: it drops it, so Git can never be reached. Correct Git."}
			}},
		{"merge keys repeat past Git", func(s *situation) bool {
			return s.Kind == detect.RepeatedKeys && s.added() && len(s.tools) > 0
		}, byTool("repeated")},
		{"merge keys repeat in the list", func(s *situation) bool { return s.Kind == detect.RepeatedKeys },
			func(*situation) verdict {
				return verdict{detect.CauseAPI, true, nil, "Entries of this list repeat their merge key, so no apply brings Git's list into the cluster. Correct Git."}
			}},

		// A known controller or autoscaler: its field, its name, its shape, its precondition.
		{"an image rewrite that the policy names", isNamedRewrite, func(*situation) verdict {
			return verdict{detect.CauseAdmission, false, nil, "The policy names this image rewrite: admission puts the mirror's name in place of Git's."}
		}},
		{"replicas within an autoscaler's bounds", isAutoscaled, byAutoscaler},
		{"a role past Git adds to an aggregated one", isWidened, widenedBy},
		{"a known mutator", func(s *situation) bool { return s.mutator != nil }, byMutator},
		{"replicas without an autoscaler that explains them", isFreeReplicas, replicasByHand},

		// What the renderer made of Git's value is not what Git means.
		{"Helm wrote a large number with an exponent", isExponent, garbled},

		// Order has no owner in a keyed list; where it has a meaning, a change of it is drift.
		{"the order changed where it has a meaning", func(s *situation) bool { return s.Kind == detect.Reordered && len(s.tools) == 0 }, reordered},

		// A person or a tool is among the owners.
		{"left over from before the engine's first apply", isLeftover, leftover},
		{"a person or tool changed a declared field", func(s *situation) bool { return s.changed() && len(s.tools) > 0 }, byTool("changed")},
		{"a person or tool added a field", func(s *situation) bool { return s.added() && len(s.tools) > 0 }, byTool("added")},

		// A controller outside its rules: the name alone explains nothing.
		{"a controller wrote a field outside its rules", func(s *situation) bool { return s.Live.Set && len(s.controllers) > 0 }, byStrangeController},

		// The API server folded the ownership away.
		{"ownership was folded away", func(s *situation) bool { return s.Live.Set && len(s.bookkeeping) > 0 }, byBookkeeping},

		// Git has it, live has not.
		{"a declared field is gone", (*situation).removed, goneField},

		// Only the engine owns a value that is not Git's.
		{"the field cannot be changed", func(s *situation) bool {
			return s.changed() && s.onlyEngine() && s.facts.Rules.isImmutable(*s.about.Live, s.Path)
		}, func(*situation) verdict {
			return verdict{detect.CauseAPI, true, nil, "The API server refuses to change this field of an existing object, so Git can only be reached by making the object anew."}
		}},
		{"the engine did not correct it", func(s *situation) bool { return s.changed() && s.onlyEngine() && s.equalsOlder() }, notCorrected},
		{"the engine left it over", func(s *situation) bool { return s.added() && len(s.engine) > 0 }, leftByEngine},
		{"admission changed what the engine wrote", func(s *situation) bool { return s.changed() && s.onlyEngine() && s.admissible() }, byAdmission},
		{"a sensitive field under the engine's name", func(s *situation) bool { return s.changed() && s.onlyEngine() }, func(s *situation) verdict {
			return verdict{detect.CauseUnknown, true, unresolved(), "Only the engine owns the field, yet it does not hold Git's value, no earlier revision did, and " + s.unexplained("no webhook or policy on this cluster matches the object.") + " A field manager's name can be borrowed."}
		}},

		// Nobody owns it.
		{"a declared field without an owner", func(s *situation) bool { return s.changed() && s.unowned() }, stripped},
		{"admission added an undeclared field", func(s *situation) bool { return s.added() && s.unowned() && s.admissible() }, byAdmission},
		{"an undeclared field of an object that names no owners", func(s *situation) bool { return s.added() && s.unowned() && (s.unreadable || !s.managed) }, unattributed},
		{"a sensitive field without an owner", func(s *situation) bool { return s.added() && s.unowned() }, func(s *situation) verdict {
			return verdict{detect.CauseUnknown, true, unresolved(), "Nobody owns this sensitive field and " + s.unexplained("no webhook or policy on this cluster could have set it:") + " its owner may have been stripped from managedFields."}
		}},

		{"nothing else explains it", func(*situation) bool { return true }, func(s *situation) verdict {
			return verdict{detect.CauseUnknown, true, unresolved(), "No rule explains this difference."}
		}},
	}
}

// sameMeaning covers what compare lists on request only.
func sameMeaning(s *situation) verdict {
	reason := "It means the same as Git's value."
	switch s.Kind {
	case detect.Spelling:
		reason = "The API server spells the same value in another way."
	case detect.Defaulted:
		reason = "Git leaves the field to its default, and live holds the default."
	case detect.ServerSet:
		reason = "The API server sets this field by itself."
	case detect.Reordered:
		reason = "The same entries in another order, which has no meaning here."
	}
	return verdict{detect.CauseAPI, false, nil, reason}
}

func byMutator(s *situation) verdict {
	writer := s.mutatorWriter
	return verdict{s.mutator.Cause, s.mutator.Drift, &writer, fmt.Sprintf("%s (%s, rule %s)", s.mutator.Reason, s.mutator.Component, s.mutator.ID)}
}

// byTool is drift by whoever of the people and tools among the owners wrote last.
func byTool(what string) func(*situation) verdict {
	return func(s *situation) verdict {
		writer := s.tools[0]
		reason := fmt.Sprintf("%s %s it past Git.", writer.Manager, what)
		switch {
		case s.borrowsName(writer):
			reason = fmt.Sprintf("It was %s past Git under the engine's name %s, but by %s, which this engine does not use: the name is borrowed.", what, writer.Manager, writer.Operation)
		case s.Kind == detect.Reordered:
			reason = fmt.Sprintf("%s put the entries in another order, and order has a meaning here.", writer.Manager)
		case s.facts.Rules.who(writer.Manager) == actorEngine:
			reason = fmt.Sprintf("%s, another GitOps engine, writes this field: two authorities for one setting.", writer.Manager)
		case len(s.tools) > 1:
			reason = fmt.Sprintf("%s %s it past Git; %s hold the same value.", writer.Manager, what, named(s.tools[1:]))
		}
		return verdict{detect.CauseManual, true, &writer, reason}
	}
}

// byStrangeController: a controller's name on a field that is not its business. On a declared or sensitive
// field that is drift like any other; elsewhere too, for a name is chosen by the client.
func byStrangeController(s *situation) verdict {
	writer := s.controllers[0]
	return verdict{detect.CauseManual, true, &writer, fmt.Sprintf(
		"%s wrote it, but no rule makes this field its business: a manager's name is chosen by the client and proves nothing.", writer.Manager)}
}

func byBookkeeping(s *situation) verdict {
	writer := s.bookkeeping[0]
	writer.Confidence = detect.Unresolved
	if s.added() {
		if why, ok := s.declaredOlder(); ok {
			return verdict{detect.CauseOrphaned, true, &writer, fmt.Sprintf("Left over: %s, and Git does no more.", why)}
		}
	}
	if writer.Manager == beforeFirstApply && s.added() {
		return verdict{detect.CauseOrphaned, true, &writer, "It was there before the first server-side apply, and Git does not declare it."}
	}
	for _, m := range s.App.Managers {
		if m.Operation != "Apply" {
			return verdict{detect.CauseUnknown, true, &writer, fmt.Sprintf("Its owner was folded into %s; that may have been the engine or anybody else.", writer.Manager)}
		}
	}
	return verdict{detect.CauseManual, true, &writer, fmt.Sprintf("An Update wrote it past the engine; who did was folded into %s.", writer.Manager)}
}

func reordered(*situation) verdict {
	return verdict{detect.CauseManual, true, unresolved(), "The same entries in another order, and order has a meaning here. Nobody owns the order of a keyed list, so who changed it cannot be told."}
}

func goneField(s *situation) verdict {
	if why, ok := s.facts.declaredSwitch(s.Subject); ok && s.equalsOlder() {
		return verdict{detect.CausePending, false, nil, "An earlier revision did not declare it, and the engine did not add it: " + why}
	}
	reason := "Git declares it and it was removed from the live object. A removal leaves no trace in managedFields."
	return verdict{detect.CauseManual, true, unresolved(), reason}
}

// notCorrected: the engine applied an older revision's value and never this one. The reason says what keeps
// it from doing so, as far as the objects tell.
func notCorrected(s *situation) verdict {
	const what = "Live holds what an earlier revision declared, and the engine did not correct it: "
	if s.App.Engine == gitops.None {
		return verdict{detect.CausePending, false, nil, "Git is ahead: live holds what an earlier revision declared, and nothing but the pipeline wrote it."}
	}
	if why, ok := s.facts.declaredSwitch(s.Subject); ok {
		return verdict{detect.CausePending, false, nil, what + why}
	}
	if why, ok := s.facts.liveSwitch(s.Subject); ok {
		writer := s.switchWriter()
		return verdict{detect.CauseManual, true, writer, what + why}
	}
	switch {
	case s.App.Suspended:
		return verdict{detect.CausePending, true, nil, what + "the Application is suspended."}
	case s.App.Message != "" && !s.App.Ready:
		return verdict{detect.CausePending, true, nil, what + "its last apply did not succeed or was partial."}
	}
	return verdict{detect.CausePending, true, nil, what + "an ignore rule or a partial apply may be the cause; nothing on the object says so."}
}

func leftByEngine(s *situation) verdict {
	writer := s.engine[0]
	reason := "The engine wrote it in an earlier revision and did not remove it when it left Git."
	if why, ok := s.declaredOlder(); ok {
		reason = "The engine left it over: " + why + ", and Git does no more."
	}
	return verdict{detect.CauseOrphaned, true, &writer, reason}
}

// admissible says whether admission may explain a value that has no other explanation: the field is one that is not
// worth a suspicion, or something on this cluster is known to set it so. Where the object names no owners at all, that
// nobody owns the value tells nothing.
func (s *situation) admissible() bool {
	if !s.weighs(s.Path, s.Git, s.Live) {
		told := !s.unowned() || s.managed && !s.unreadable
		return told || s.facts.Admission.Mutates(*s.about.Live) != ""
	}
	by, _ := s.setBy()
	return by != ""
}

// weighs says whether a field is never taken for admission's work on its looks alone.
func (s *situation) weighs(path gitops.Path, git, live gitops.Value) bool {
	f := s.facts
	if f.Sensitive == nil || f.Sensitive(s.ref, path, git, live) {
		return true
	}
	return f.Weighty != nil && f.Weighty(s.Subject, path, git, live)
}

// setBy names what sets a weighty field to the value that lives: a policy that says so, or a webhook of which no object
// says what it does, where the value is of a shape that webhooks are known for; certain says which. Access rights,
// Secrets and admission itself are nobody's to change there.
func (s *situation) setBy() (name string, certain bool) {
	live := *s.about.Live
	switch live.ID.Group {
	case "rbac.authorization.k8s.io", "authorization.openshift.io", "admissionregistration.k8s.io":
		return "", false
	}
	if live.IsSecret() {
		return "", false
	}
	weighs := func(path gitops.Path, value gitops.Value) bool { return s.weighs(path, gitops.Value{}, value) }
	if policy := s.facts.Admission.sets(live, s.Path, s.Git, s.Live, weighs); policy != "" {
		return policy, true
	}
	if s.fitsWebhook() {
		return s.facts.Admission.webhookFor(live), false
	}
	return "", false
}

// fitsWebhook tells the shapes that webhooks are known for: a tag that is pinned by its digest, a setting that only takes
// rights away, and what is added to a Pod, which nobody can add to one that runs.
func (s *situation) fitsWebhook() bool {
	last := ""
	if len(s.Path) > 0 {
		last = s.Path[len(s.Path)-1].Field
	}
	git, _ := s.Git.V.(string)
	live, _ := s.Live.V.(string)
	switch id := s.about.Live.ID; {
	case last == "image" && s.changed():
		return isPinned(git, live)
	case id.Group == "" && id.Kind == "Pod" && s.added() && s.Path[0].Field == "spec":
		return !slices.ContainsFunc(s.Path, func(step gitops.Step) bool { return step.Field == "ephemeralContainers" })
	}
	if last == "automountServiceAccountToken" {
		return s.Live.V == false
	}
	at := slices.IndexFunc(s.Path, func(step gitops.Step) bool { return step.Field == "securityContext" })
	return at >= 0 && s.added() && onlyHardens(s.Path[at+1:], s.Live.V)
}

// unexplained says why admission does not explain a weighty field; otherwise is for objects that nothing changes there.
func (s *situation) unexplained(otherwise string) string {
	live := *s.about.Live
	if hook := s.facts.Admission.webhookFor(live); hook != "" {
		reason := hook + " is asked about such objects, but no object says what it sets."
		if len(s.Path) > 0 && s.Path[len(s.Path)-1].Field == "image" {
			reason += " If it rewrites images, name the rewrite in the policy (imageRewrites)."
		}
		return reason
	}
	if name := s.facts.Admission.Mutates(live); name != "" {
		return name + " changes such objects, but sets no such value."
	}
	return otherwise
}

func byAdmission(s *situation) verdict {
	writer := &detect.Writer{Confidence: detect.Inferred}
	if s.weighs(s.Path, s.Git, s.Live) {
		by, certain := s.setBy()
		if !certain {
			by += ", which is asked about such objects, may have set it: it pins a tag, only takes rights away or completes a Pod"
		} else {
			by += " sets it"
		}
		return verdict{detect.CauseAdmission, false, writer, "No person owns it, and " + by + "."}
	}
	if name := s.facts.Admission.Mutates(*s.about.Live); name != "" {
		return verdict{detect.CauseAdmission, false, writer, fmt.Sprintf("No person owns it, and %s mutates such objects on this cluster.", name)}
	}
	return verdict{detect.CauseAdmission, false, writer, "Nobody but the engine owns it, as with values that admission sets; the field is not sensitive."}
}

func stripped(s *situation) verdict {
	if s.unreadable || !s.managed {
		return unattributed(s)
	}
	return verdict{detect.CauseUnknown, true, unresolved(), "Nobody owns this declared field, though whoever changed it must have: its ownership was stripped from managedFields."}
}

// unattributed is what is said of an object that names no owners.
func unattributed(s *situation) verdict {
	what := "changed"
	if s.added() {
		what = "added"
	}
	reason := "The object has no managedFields: they were cleared, or the dump was taken without --show-managed-fields. Who " + what + " it cannot be told."
	if s.unreadable {
		reason = "The object's managedFields are broken or of a form that is not known, so who " + what + " it cannot be told."
	}
	return verdict{detect.CauseUnknown, true, unresolved(), reason}
}

func unresolved() *detect.Writer { return &detect.Writer{Confidence: detect.Unresolved} }
