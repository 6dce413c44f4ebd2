package scan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/detect/live"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/flux"
	"holdfast/gitops/packed"
	"holdfast/gitops/render"
)

// judge gives the findings of the members of one cluster.
type judge struct {
	in       Input
	target   Target
	comparer *compare.Comparer
	snapshot *live.Snapshot
	// claimed are the objects that a member declares, or may declare for all that is known: what one
	// Application holds is no orphan of another.
	claimed map[gitops.ObjectID]bool
	// engines are the engines' own objects.
	engines *packed.Set
	// uncovered counts the changes of which the audit log cannot tell.
	uncovered uncovered
	// present tells what live objects there are.
	present func() presence
	// declarers are the members that declare an object which others declare too.
	declarers map[gitops.ObjectID][]*member
}

func claims(members []*member) map[gitops.ObjectID]bool {
	claimed := map[gitops.ObjectID]bool{}
	for _, m := range members {
		for _, d := range slices.Concat(m.declared, m.head) {
			claimed[d.ID] = true
		}
		if !m.whole() {
			for _, id := range m.app.Inventory {
				claimed[id] = true
			}
		}
	}
	return claimed
}

// member judges every object of one Application: the declared ones, then those that carry its mark or
// stand in its inventory without being declared.
func (j *judge) member(m *member) detect.Scan {
	var out detect.Scan
	if m.result == nil {
		return out
	}
	j.problems(&out, m)
	j.handMade(&out, m)
	head := map[gitops.ObjectID]*gitops.Declared{}
	for i := range m.head {
		head[m.head[i].ID] = &m.head[i]
	}
	for i := range m.declared {
		declared := &m.declared[i]
		out.Objects++
		if unread, ok := j.snapshot.Why(declared.ID); ok && !unread.NotServed && !j.snapshot.Objects.Has(declared.ID) {
			out.Unknown = append(out.Unknown, j.unread(m, detect.Ref(declared.Object), unread))
			continue
		}
		if finding, ok := j.object(m, declared, head[declared.ID], &out); ok {
			out.Findings = append(out.Findings, finding)
		}
	}
	j.extras(&out, m)
	return out
}

// live unpacks a live object; nil when there is none.
func (j *judge) live(id gitops.ObjectID) *gitops.Object {
	o, found := j.snapshot.Objects.Get(id)
	if !found {
		return nil
	}
	return &o
}

// object judges a declared object.
func (j *judge) object(m *member, declared, head *gitops.Declared, out *detect.Scan) (detect.Finding, bool) {
	live := j.live(declared.ID)
	subject := classify.Subject{App: m.app, Declared: declared, Live: live, History: m.earlier(declared.ID), Ignore: m.ignore()}
	if live == nil && j.undumped(declared.ID) {
		u := j.unknown(m, declared.Object, "the dump holds no "+declared.ID.Kind+" at all, so it cannot tell whether this one exists")
		u.ByChoice = true
		out.Unknown = append(out.Unknown, u)
		return detect.Finding{}, false
	}
	if live == nil {
		if reason := j.adrift(m, *declared); reason != "" {
			out.Unknown = append(out.Unknown, j.unknown(m, declared.Object, reason))
			return detect.Finding{}, false
		}
		f := j.finding(m, detect.Ref(declared.Object), detect.GitOnly)
		f.Declared, f.Doubt = declared, j.doubt(m, *declared)
		f.Cause, f.Drift, f.Reason = m.facts.Missing(subject)
		if f.Drift && m.headCommit != "" && head == nil {
			f.Cause, f.Drift, f.Reason = detect.CausePending, false, fmt.Sprintf("Git is ahead: commit %.12s, not applied yet, does not declare it any more.", m.headCommit)
		}
		if f.Drift && m.stored.lacks(declared.ID) {
			f.Cause, f.Drift, f.Reason = detect.CausePending, false, m.stored.pending("that has no such object")
		}
		f.Writer = &detect.Writer{Confidence: detect.Unresolved}
		j.attributeObject(m, &f)
		j.settleObject(&f, m)
		return f, true
	}
	differences, err := j.compare(m, m.stored.git(declared.Object), *live)
	if err != nil {
		out.Unknown = append(out.Unknown, j.unknown(m, declared.Object, err.Error()))
	}
	differences = m.masked(declared.Object, differences)
	fields := append(m.facts.Fields(subject, differences), m.facts.Switches(subject)...)
	fields = j.pending(m, head, live, fields)
	fields = j.unreleased(m, declared.Object, live, fields)
	fields = j.unsure(m, declared.Object, differences, fields, out)
	unstable(m, declared.Object, fields)
	j.attribute(m, fields, live)
	fields = j.contested(m, subject, fields)
	j.doubled(m, declared.ID, fields)
	if !j.in.All {
		fields = slices.DeleteFunc(fields, isMark)
	}
	if len(fields) == 0 {
		return detect.Finding{}, false
	}
	f := j.finding(m, detect.Ref(*live), detect.Both)
	f.Declared, f.Live = declared, live
	f.Fields = fields
	j.settleFields(&f, m, subject)
	return f, true
}

func (j *judge) compare(m *member, declared, current gitops.Object) ([]detect.Difference, error) {
	if declared.IsSecret() && j.snapshot.Secrets == live.SecretsMetadata {
		return j.compareSecret(m, declared, current)
	}
	return j.comparer.Compare(declared, current, compare.Options{All: j.in.All})
}

// undumped says whether an object's kind is one that dumps of a cluster's namespaces leave out, Secrets and
// what is not namespaced, and this dump has none of it.
func (j *judge) undumped(id gitops.ObjectID) bool {
	if j.snapshot.Cluster != "" || id.Namespace != "" && !(id.Group == "" && id.Kind == "Secret") {
		return false
	}
	return !j.present().kinds[id.GroupKind()]
}

// attribute asks the audit log who wrote the fields that drift. What is no drift only because admission or an
// autoscaler was inferred from its shape is a person's change once the log shows it.
func (j *judge) attribute(m *member, fields []detect.Field, live *gitops.Object) {
	if j.in.Audit == nil {
		return
	}
	history := j.in.Audit.Of(live.ID, m.app, live)
	for i := range fields {
		f := &fields[i]
		switch {
		case f.Drift:
			if !history.Field(f) {
				j.uncovered.note(history, *f)
			} else if f.Cause == detect.CauseUnknown && f.Writer.Confidence == detect.ByAudit && f.Writer.IsPerson() {
				f.Cause = detect.CauseManual
				f.Reason = "The audit log shows that " + f.Writer.Name() + " set this value. " + f.Reason
			} else if f.Cause == detect.CauseOrphaned && f.Writer.IsPerson() && isEngines(m.app, f.Writer.Manager) {
				f.Cause = detect.CauseManual
				f.Reason = fmt.Sprintf("%s set it past Git under the engine's name %s: the audit log tells.", f.Writer.Name(), f.Writer.Manager)
			}
		case f.Differs && f.Writer != nil && f.Writer.Confidence == detect.Inferred:
			asked := *f
			if history.Field(&asked) && asked.Writer.Confidence == detect.ByAudit && asked.Writer.IsPerson() {
				asked.Cause, asked.Drift = detect.CauseManual, true
				asked.Reason = "The audit log shows that " + asked.Writer.Name() + " set this value; by its shape alone it would be " + string(f.Cause) + "."
				*f = asked
			}
		}
	}
}

// isEngines says whether a field manager's name is the engine's.
func isEngines(app gitops.Application, manager string) bool {
	return slices.ContainsFunc(app.Managers, func(m gitops.Manager) bool { return m.Name == manager })
}

func (j *judge) attributeObject(m *member, f *detect.Finding) {
	if j.in.Audit == nil || !f.Drift {
		return
	}
	if w, ok := j.in.Audit.Of(f.Object.ID(), m.app, f.Live).Object(f.Presence); ok {
		f.Writer = w
	}
}

// isMark says whether a field is the engine's own mark, which every object that it manages carries, or the note that
// a client-side apply leaves.
func isMark(f detect.Field) bool {
	return !f.Drift && f.Kind == detect.Added && f.Cause == detect.CauseController && len(f.Path) == 3 &&
		(strings.HasPrefix(f.Path[2].Field, "kustomize.toolkit.fluxcd.io/") || strings.HasPrefix(f.Path[2].Field, "helm.toolkit.fluxcd.io/") ||
			f.Path[2].Field == "argocd.argoproj.io/tracking-id" || f.Path[2].Field == "kubectl.kubernetes.io/last-applied-configuration")
}

// unsure takes out the fields that an input which is not known may have moved, and says so once for the object.
// Secrets are left unread by choice. A ConfigMap that has to be there is not. What is drift whatever the input says stays.
func (j *judge) unsure(m *member, object gitops.Object, differences []detect.Difference, fields []detect.Field, out *detect.Scan) []detect.Field {
	unsure := m.result.Unsure[object.ID]
	if len(unsure) == 0 {
		return fields
	}
	reason, byChoice := fmt.Sprintf("secret input: %d fields depend on variables that are not read, the first is %s", len(unsure), unsure[0]), true
	if _, sops := object.Content["sops"]; sops && len(unsure) > 1 { // the first is its own section
		reason = fmt.Sprintf("secret input: %d fields are encrypted by SOPS, the first is %s", len(unsure)-1, unsure[1])
	}
	if names, required := unreadConfigMaps(m.app); len(names) > 0 {
		reason = fmt.Sprintf("unread input: %d fields may depend on ConfigMap %s, which is not among the objects read, from %s on", len(unsure), strings.Join(names, ", "), unsure[0])
		byChoice = !required
	}
	u := j.unknown(m, object, reason)
	u.ByChoice = byChoice
	out.Unknown = append(out.Unknown, u)
	kept := fields[:0]
	for _, f := range fields {
		if !m.isUnsure(object, f.Path) {
			kept = append(kept, f)
			continue
		}
		at := slices.IndexFunc(differences, func(d detect.Difference) bool { return d.Path.Equal(f.Path) })
		if at < 0 || !f.Drift || !m.surely(object, differences[at]) {
			continue
		}
		if f.Git.Set && !f.Masked { // what the render holds is a stand-in
			f.Git = gitops.Present(unreadValue)
		}
		f.Reason += " Git's value depends on an input that is not read; the engine would own the field had it written what lives now."
		kept = append(kept, f)
	}
	return kept
}

// unreadValue stands for a value of Git that depends on an input which was not read.
const unreadValue = "<unread>"

// surely says whether a difference at a place that depends on an unread input is one whatever the input says. An engine
// owns what it applied until somebody else changes it, so what others alone own is theirs. An encrypted value's key is
// known: it has to be there, and the engine has to own it.
func (m *member) surely(object gitops.Object, d detect.Difference) bool {
	sealed := m.isSealed(object, d.Path)
	if d.Kind == detect.Removed {
		return sealed
	}
	return !slices.ContainsFunc(d.Owners, m.writes) && (len(d.Owners) > 0 || sealed)
}

// isSealed says whether Git holds the live object's value encrypted.
func (m *member) isSealed(object gitops.Object, path gitops.Path) bool {
	return slices.ContainsFunc(m.result.Unsure[object.ID], func(p gitops.Path) bool {
		text, _ := gitops.Lookup(object.Content, p).V.(string)
		return render.IsSealed(text) && slices.ContainsFunc(asStored(object, p), path.Equal)
	})
}

// unreadConfigMaps names the ConfigMaps that an Application takes variables or values from and that are not known, and
// says whether it needs one of them.
func unreadConfigMaps(app gitops.Application) (names []string, required bool) {
	add := func(kind, name string, optional bool) {
		if name = app.Namespace + "/" + name; kind == "ConfigMap" && !slices.Contains(names, name) {
			names = append(names, name)
		}
		required = required || kind == "ConfigMap" && !optional
	}
	if k := app.Render.Kustomize; k != nil && k.PostBuild != nil {
		for _, from := range k.PostBuild.SubstituteFrom {
			if !from.Known {
				add(from.Kind, from.Name, from.Optional)
			}
		}
	}
	if h := app.Render.Helm; h != nil {
		for _, v := range h.Values {
			if v.From != nil && !v.From.Known {
				add(v.From.Kind, v.From.Name, v.Optional)
			}
		}
	}
	return names, required
}

// isUnsure says whether an unknown input may have moved a field.
func (m *member) isUnsure(object gitops.Object, path gitops.Path) bool {
	return slices.ContainsFunc(m.result.Unsure[object.ID], func(p gitops.Path) bool {
		return slices.ContainsFunc(asStored(object, p), func(p gitops.Path) bool { return gitops.Overlap(object.Content, p, path) })
	})
}

// extras judges the live objects that belong to the member by mark or inventory, and that nothing declares.
func (j *judge) extras(out *detect.Scan, m *member) {
	if !m.whole() {
		return // what did not parse may well declare them
	}
	seen := map[gitops.ObjectID]bool{}
	ids := slices.Concat(m.app.Inventory, m.tracked)
	slices.SortFunc(ids, gitops.ObjectID.Compare)
	for _, id := range ids {
		if seen[id] || j.claimed[id] {
			continue
		}
		seen[id] = true
		o := j.live(id)
		if o == nil {
			if unread, ok := j.snapshot.Why(id); ok && !unread.NotServed {
				out.Unknown = append(out.Unknown, j.unread(m, refOf(id, j.snapshot.Objects), unread))
			}
			continue
		}
		if finding, ok := j.extra(m, o); ok {
			out.Findings = append(out.Findings, finding)
		}
	}
}

func (j *judge) extra(m *member, o *gitops.Object) (detect.Finding, bool) {
	f := j.finding(m, detect.Ref(*o), detect.LiveOnly)
	f.Live = o
	subject := classify.Subject{App: m.app, Live: o, History: m.earlier(o.ID), Ignore: m.ignore()}
	f.Cause, f.Drift, f.Writer, f.Reason = m.facts.Extra(subject)
	if f.Cause == detect.CauseNone || f.Cause == detect.CauseController && !j.in.All {
		return f, false // with copied marks, or of a controller's own making
	}
	if f.Drift && m.stored.has(o.ID) {
		f.Cause, f.Drift, f.Reason = detect.CausePending, false, m.stored.pending("that has it, and Git declares it no more")
	}
	j.attributeObject(m, &f)
	f.Unauthored = j.unauthored(m, *o)
	j.settleObject(&f, m)
	return f, true
}

// settleObject gives an object-level finding its class, risk, controls and decision.
func (j *judge) settleObject(f *detect.Finding, m *member) {
	assessed := assess.Input{
		Object: f.Object, Live: f.Live, Presence: f.Presence, Tier: m.tier, Field: detect.Field{Cause: f.Cause, Drift: f.Drift},
	}
	if f.Declared != nil {
		assessed.Declared = &f.Declared.Object
	}
	f.Class, f.Risk, f.Sensitive = j.in.Assessor.Object(assessed)
	if !f.Drift {
		f.Risk = 0
	}
	f.Controls = j.in.Assessor.Controls(f.Class, assess.CategoryOf(*f, nil), j.in.Standards)
	d := m.policy.Decide(policy.Input{
		Finding: *f, Tier: m.tier, Engine: m.app.Engine, Now: j.in.Now, EngineRemoves: policy.EngineRemoves(m.app, *f, nil),
	})
	f.Disposition, f.Rule, f.Trace = d.Disposition, d.Rule, d.Trace
	f.AfterHeal, f.Offer, f.Grant = d.AfterHeal, d.Offer, d.Grant
	f.Fingerprint = fingerprint(*f)
}

// settleFields gives each field its class, risk and decision, and the finding the sum of its drifts.
func (j *judge) settleFields(f *detect.Finding, m *member, subject classify.Subject) {
	for i := range f.Fields {
		field := &f.Fields[i]
		field.Class, field.Risk, field.Sensitive = j.in.Assessor.Field(assess.Input{
			Object: f.Object, Declared: &f.Declared.Object, Live: f.Live, Field: *field, Presence: f.Presence, Tier: m.tier,
		})
		if !field.Drift {
			field.Risk = 0
		}
	}
	sum(f)
	f.Controls = j.in.Assessor.Controls(f.Class, assess.CategoryOf(*f, top(f)), j.in.Standards)
	for i := range f.Fields {
		field := &f.Fields[i]
		d := m.policy.Decide(policy.Input{
			Finding: *f, Field: field, Engine: m.app.Engine, Tier: m.tier, Now: j.in.Now,
			EngineRemoves: policy.EngineRemoves(m.app, *f, field),
		})
		field.Disposition, field.Rule = d.Disposition, d.Rule
		if field.Kind == detect.RepeatedKeys && field.Disposition == detect.Codify {
			field.Disposition, d.AfterHeal = detect.AsIssue, ""
			field.Rule += ", but a list whose entries repeat their key has no place in Git"
		}
		j.byChance(m, f.Declared.Object, field, &d)
		j.unrevertable(m, subject, field, &d)
		field.AfterHeal, field.Offer, field.Grant = d.AfterHeal, d.Offer, d.Grant
		field.Leaves = m.leaves(f.Object.ID(), *field)
		if field.Drift || !f.Drift {
			for _, line := range d.Trace {
				if line = field.Path.String() + ": " + line; len(f.Trace) < 50 {
					f.Trace = append(f.Trace, line)
				}
			}
		}
	}
	decide(f)
	f.Fingerprint = fingerprint(*f)
}

// unrevertable turns a revert that the API server refuses, and that would never converge, into what does: the
// live value in Git, or a person's answer where that value is sensitive.
func (j *judge) unrevertable(m *member, subject classify.Subject, field *detect.Field, d *detect.Decision) {
	if field.Disposition != detect.Revert {
		return
	}
	if off := correctionOff(field.Kind, subject); m.app.Engine == gitops.Flux && off != "" {
		field.Disposition, d.AfterHeal = detect.AsIssue, ""
		field.Rule += ", but a revert would not converge"
		field.Reason += fmt.Sprintf(" %s does not correct this while %s: take that off first.", m.app.Engine, off)
		return
	}
	reason, refused := m.facts.Refused(subject, *field)
	if !refused {
		return
	}
	field.Reason += " " + reason
	field.Rule += ", but the API server refuses the revert"
	field.Disposition, d.AfterHeal = detect.Codify, policy.Keep
	if field.Sensitive || field.Masked {
		field.Disposition = detect.AsIssue
	}
}

// correctionOff says which mark, on the live object or in Git, keeps Flux from undoing a difference of this kind; empty
// without one. Source: fluxcd/pkg ssa/manager_apply.go, which looks at both; Merge keeps what others added.
func correctionOff(kind detect.DifferenceKind, s classify.Subject) string {
	marks := map[string][]string{"reconcile": {"disabled"}, "ssa": {"Ignore", "IfNotPresent"}}
	if kind == detect.Added {
		marks["ssa"] = append(marks["ssa"], "Merge")
	}
	for _, at := range []struct {
		where  string
		object gitops.Object
	}{{"the cluster", *s.Live}, {"Git", s.Declared.Object}} {
		for _, name := range slices.Sorted(maps.Keys(marks)) {
			key := flux.KustomizeGroup + "/" + name
			for _, value := range []string{at.object.Annotations()[key], at.object.Labels()[key]} {
				if slices.ContainsFunc(marks[name], func(v string) bool { return strings.EqualFold(v, value) }) {
					return fmt.Sprintf("%s has %s: %s", at.where, key, value)
				}
			}
		}
	}
	return ""
}

func (j *judge) unknown(m *member, o gitops.Object, why string) detect.UnknownObject {
	return detect.UnknownObject{Cluster: j.target.Name, Application: appName(m.app), Object: detect.Ref(o), Reason: why}
}

func (j *judge) unread(m *member, object detect.ObjectRef, u live.Unread) detect.UnknownObject {
	return detect.UnknownObject{Cluster: j.target.Name, Application: appName(m.app), Object: object, Reason: unreadText(u), ByChoice: u.ByChoice}
}

// unreadText says what may not be read, as a person would ask for the right.
func unreadText(u live.Unread) string {
	if u.Place != "" {
		return "the dump is not whole, so it cannot tell whether this one exists: " + u.Place + ": " + u.Reason
	}
	resource := u.Resource
	if resource == "" {
		resource = u.Kind
	}
	if u.Group != "" {
		resource += "." + u.Group
	}
	where := ""
	if u.Namespace != "" {
		where = " in namespace " + u.Namespace
	}
	return fmt.Sprintf("cannot %s %s%s: %s", u.Verb, resource, where, u.Reason)
}
