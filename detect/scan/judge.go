package scan

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/detect/live"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/render"
)

// judge gives the findings of the members of one cluster.
type judge struct {
	in       Input
	target   Target
	comparer *compare.Comparer
	snapshot *live.Snapshot
	// declaredBy counts the members that declare an object, so that what one Application holds is no
	// orphan of another.
	declaredBy map[gitops.ObjectID]int
}

func (j *judge) claims(members []*member) {
	j.declaredBy = map[gitops.ObjectID]int{}
	for _, m := range members {
		for _, d := range m.declared {
			j.declaredBy[d.ID]++
		}
	}
}

// member judges every object of one Application: the declared ones, then those that carry its mark or
// stand in its inventory without being declared.
func (j *judge) member(m *member) detect.Scan {
	var out detect.Scan
	if m.result == nil {
		return out
	}
	for _, p := range m.result.Problems {
		j.problem(&out, m, p)
	}
	head := map[gitops.ObjectID]*gitops.Declared{}
	for i := range m.head {
		head[m.head[i].ID] = &m.head[i]
	}
	for i := range m.declared {
		declared := &m.declared[i]
		out.Objects++
		if unread, ok := j.snapshot.Why(declared.ID); ok && !unread.NotServed && !j.snapshot.Objects.Has(declared.ID) {
			u := j.unknown(m, declared.Object, unreadText(unread))
			u.ByChoice = unread.ByChoice
			out.Unknown = append(out.Unknown, u)
			continue
		}
		if finding, ok := j.object(m, declared, head[declared.ID], &out); ok {
			out.Findings = append(out.Findings, finding)
		}
	}
	for _, extra := range j.extras(m) {
		if finding, ok := j.extra(m, extra); ok {
			out.Findings = append(out.Findings, finding)
		}
	}
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

// problem turns a fault of the sources into unknown objects; a repeated key, which still renders, becomes a
// finding about its object.
func (j *judge) problem(out *detect.Scan, m *member, p render.Problem) {
	text := fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	if p.Line == 0 {
		text = fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	if p.Kind != render.DuplicateKey {
		out.Unknown = append(out.Unknown, detect.UnknownObject{
			Cluster: j.target.Name, Application: appName(m.app), Object: refOf(p.Object), Reason: text,
		})
		return
	}
	f := j.finding(m, detect.ObjectRef{}, detect.Both)
	for _, d := range m.declared {
		if d.ID == p.Object {
			f.Object, f.Declared, f.Live = detect.Ref(d.Object), &d, j.live(d.ID)
		}
	}
	f.ObjectLevel, f.Drift, f.Cause = true, true, detect.CauseNone
	f.Reason = text + ": strict parsers refuse the file, lenient ones take the last value"
	j.settleObject(&f, m)
	out.Findings = append(out.Findings, f)
}

// object judges a declared object.
func (j *judge) object(m *member, declared, head *gitops.Declared, out *detect.Scan) (detect.Finding, bool) {
	live := j.live(declared.ID)
	subject := classify.Subject{App: m.app, Declared: declared, Live: live, History: m.earlier(declared.ID), Ignore: m.ignore()}
	if live == nil {
		f := j.finding(m, detect.Ref(declared.Object), detect.GitOnly)
		f.Declared = declared
		f.Cause, f.Drift, f.Reason = m.facts.Missing(subject)
		f.Writer = &detect.Writer{Confidence: detect.Unresolved}
		j.attributeObject(&f)
		j.settleObject(&f, m)
		return f, true
	}
	differences, err := j.compare(m, declared.Object, *live)
	if err != nil {
		out.Unknown = append(out.Unknown, j.unknown(m, declared.Object, err.Error()))
	}
	differences = m.masked(declared.ID, differences)
	fields := append(m.facts.Fields(subject, differences), m.maskedFields(declared.ID, j.pending(m, declared, head, live, differences))...)
	fields = j.unsure(m, declared.ID, fields, out, declared.Object)
	j.attribute(fields, live)
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

// attribute asks the audit log who wrote the fields that drift.
func (j *judge) attribute(fields []detect.Field, live *gitops.Object) {
	if j.in.Audit == nil {
		return
	}
	for i := range fields {
		if fields[i].Drift {
			j.in.Audit.Field(live.ID, &fields[i], live)
		}
	}
}

func (j *judge) attributeObject(f *detect.Finding) {
	if j.in.Audit == nil || !f.Drift {
		return
	}
	if w, ok := j.in.Audit.Object(f.Object.ID(), f.Presence); ok {
		f.Writer = w
	}
}

// isMark says whether a field is the engine's own mark, which every object that it manages carries.
func isMark(f detect.Field) bool {
	return !f.Drift && f.Kind == detect.Added && f.Cause == detect.CauseController && len(f.Path) == 3 &&
		(strings.HasPrefix(f.Path[2].Field, "kustomize.toolkit.fluxcd.io/") || strings.HasPrefix(f.Path[2].Field, "argocd.argoproj.io/tracking-id"))
}

// pending gives the fields in which the source's newest commit asks for something else than the applied one.
func (j *judge) pending(m *member, declared, head *gitops.Declared, live *gitops.Object, known []detect.Difference) []detect.Field {
	if head == nil {
		return nil
	}
	ahead, err := j.comparer.Compare(head.Object, *live, compare.Options{})
	if err != nil {
		return nil
	}
	var out []detect.Field
	for _, d := range ahead {
		same := slices.ContainsFunc(known, func(k detect.Difference) bool {
			return k.Path.Equal(d.Path) && fmt.Sprint(k.Git.V) == fmt.Sprint(d.Git.V)
		})
		if same || !d.Differs {
			continue
		}
		out = append(out, detect.Field{
			Path: d.Path, Git: d.Git, Live: d.Live, Differs: true, Cause: detect.CausePending, Kind: d.Kind, Masked: d.Masked,
			Reason: fmt.Sprintf("Git is ahead: commit %.12s is not applied yet", m.headCommit),
		})
	}
	return out
}

// unsure takes out the fields that a secret input may have moved, and says so once for the object.
func (j *judge) unsure(m *member, id gitops.ObjectID, fields []detect.Field, out *detect.Scan, object gitops.Object) []detect.Field {
	unsure := m.result.Unsure[id]
	if len(unsure) == 0 {
		return fields
	}
	u := j.unknown(m, object, fmt.Sprintf("secret input: %d fields depend on variables that are not read, from %s on", len(unsure), unsure[0]))
	u.ByChoice = true
	out.Unknown = append(out.Unknown, u)
	return slices.DeleteFunc(fields, func(f detect.Field) bool {
		return slices.ContainsFunc(unsure, func(p gitops.Path) bool { return f.Path.HasPrefix(p) || p.HasPrefix(f.Path) })
	})
}

// extras are live objects that belong to the member by mark or inventory, and that nothing declares.
func (j *judge) extras(m *member) []*gitops.Object {
	if len(m.result.Problems) > 0 && slices.ContainsFunc(m.result.Problems, func(p render.Problem) bool { return p.Kind != render.DuplicateKey }) {
		return nil // what did not parse may well declare them
	}
	seen := map[gitops.ObjectID]bool{}
	var out []*gitops.Object
	for _, id := range slices.Concat(m.app.Inventory, m.tracked) {
		if seen[id] || j.declaredBy[id] > 0 {
			continue
		}
		seen[id] = true
		if o := j.live(id); o != nil {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *gitops.Object) int { return a.ID.Compare(b.ID) })
	return out
}

func (j *judge) extra(m *member, o *gitops.Object) (detect.Finding, bool) {
	f := j.finding(m, detect.Ref(*o), detect.LiveOnly)
	f.Live = o
	subject := classify.Subject{App: m.app, Live: o, History: m.earlier(o.ID), Ignore: m.ignore()}
	f.Cause, f.Drift, f.Writer, f.Reason = m.facts.Extra(subject)
	if f.Cause == detect.CauseNone {
		return f, false
	}
	j.attributeObject(&f)
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
	f.AfterHeal, f.Offer, f.AllowWide, f.AllowIncomplete = d.AfterHeal, d.Offer, d.Wide, d.Incomplete
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
		j.unrevertable(m, subject, field)
		field.AfterHeal, field.Offer, field.AllowWide, field.AllowIncomplete = d.AfterHeal, d.Offer, d.Wide, d.Incomplete
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
func (j *judge) unrevertable(m *member, subject classify.Subject, field *detect.Field) {
	if field.Disposition != detect.Revert {
		return
	}
	reason, refused := m.facts.Refused(subject, *field)
	if !refused {
		return
	}
	field.Reason += " " + reason
	field.Rule += ", but the API server refuses the revert"
	field.Disposition = detect.Codify
	if field.Sensitive || field.Masked {
		field.Disposition = detect.AsIssue
	}
}

func (j *judge) unknown(m *member, o gitops.Object, why string) detect.UnknownObject {
	return detect.UnknownObject{Cluster: j.target.Name, Application: appName(m.app), Object: detect.Ref(o), Reason: why}
}

// unreadText says what may not be read, as a person would ask for the right.
func unreadText(u live.Unread) string {
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
