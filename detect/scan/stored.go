package scan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/detect"
	"holdfast/detect/compare"
	"holdfast/detect/live"
	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/flux"
	"holdfast/gitops/release"
	"holdfast/gitops/render"
)

// stored is what Helm's own record of a release tells beyond Git: with it helm-controller compares, and not with a
// render (https://fluxcd.io/flux/components/helm/helmreleases/#drift-detection). Without a record it is empty.
type stored struct {
	label string
	// objects are those of the record; nil while they are not known.
	objects map[gitops.ObjectID]gitops.Object
	// laid are the declared objects with the record's values in place of those that each render makes anew, at paths.
	laid  map[gitops.ObjectID]gitops.Object
	paths map[gitops.ObjectID][]gitops.Path
	// differ are the objects in which the record is not what Git renders to.
	differ map[gitops.ObjectID]bool
	// why says what kept the record from being used.
	why string
}

// has and lacks say whether the record, if it is known, has an object. Helm keeps no record of a chart's CRDs.
func (s *stored) has(id gitops.ObjectID) bool {
	_, ok := s.objects[id]
	return ok
}

func (s *stored) lacks(id gitops.ObjectID) bool {
	return s.objects != nil && !s.has(id) && id.Kind != "CustomResourceDefinition"
}

// covers says whether what is declared at a path is the record's.
func (s *stored) covers(object gitops.Object, path gitops.Path) bool {
	return slices.ContainsFunc(s.paths[object.ID], func(p gitops.Path) bool { return gitops.Overlap(object.Content, p, path) })
}

// git is the object to compare live with.
func (s *stored) git(declared gitops.Object) gitops.Object {
	if laid, ok := s.laid[declared.ID]; ok {
		return laid
	}
	return declared
}

// record is one revision of a release, and who wrote it.
type record struct {
	release.Release
	object  gitops.Object
	writers []detect.Writer
}

// stored reads Helm's record of a HelmRelease. Argo CD only lets Helm print templates: a record under its
// Application's name is of somebody else.
func (j *judge) stored(ctx context.Context, m *member, env render.Env) {
	h := m.app.Render.Helm
	if m.result == nil || h == nil || h.Revision == 0 || m.app.Engine != gitops.Flux || j.snapshot.Secrets != live.SecretsValues {
		return
	}
	kinds := []string{release.Secret, release.ConfigMap}
	current, found, err := j.record(h, h.Revision, kinds...)
	if err != nil {
		m.stored.why = err.Error()
		return
	}
	// Helm keeps all revisions in one kind: one in another may be planted by whoever may not write the first.
	if found {
		kinds = []string{current.object.ID.Kind}
	}
	next, overtaken, err := j.record(h, h.Revision+1, kinds...)
	if err == nil && overtaken && m.madeByHand(next) {
		m.byHand = &next
	}
	switch {
	case len(current.writers) == 0 && found:
		m.stored.why = "its managedFields do not say who wrote it"
		return
	case !found || current.Status != release.Deployed || overtaken && m.byHand == nil: // helm-controller is at work
		return
	}
	if i := slices.IndexFunc(current.writers, func(w detect.Writer) bool { return !m.writes(w) }); i >= 0 {
		m.stored.why = fmt.Sprintf("%s wrote into it, and not only %s", current.writers[i].Name(), flux.HelmManager)
		return
	}
	const file = "release.yaml"
	tree := gitops.NewTree(map[string]gitops.File{file: {Data: []byte(current.Manifest)}})
	result, err := render.Render(ctx, tree, file, gitops.Render{Namespace: h.Namespace}, env)
	if err != nil || slices.ContainsFunc(result.Problems, func(p render.Problem) bool { return p.Kind != render.DuplicateKey }) {
		m.stored.why = "its manifest does not parse" // no word of it: it may hold values
		return
	}
	m.stored = stored{
		label: current.Label(), objects: map[gitops.ObjectID]gitops.Object{}, laid: map[gitops.ObjectID]gitops.Object{},
		paths: map[gitops.ObjectID][]gitops.Path{}, differ: map[gitops.ObjectID]bool{},
	}
	for _, d := range result.Objects {
		m.stored.objects[d.ID] = withoutMarks(d.Object, m.app)
	}
	for i := range m.declared {
		j.lay(m, m.declared[i].Object)
	}
	m.note(m.stored.ahead(m))
}

// record gives a revision of a release, kept in one of the kinds. The error says why it is not known; without one, and not found, there is none.
func (j *judge) record(h *gitops.Helm, revision int, kinds ...string) (r record, found bool, err error) {
	for _, kind := range kinds {
		id := release.ID(kind, h.StorageNamespace, h.ReleaseName, revision)
		if o, ok := j.snapshot.Objects.Get(id); ok {
			decoded, err := release.Decode(o)
			if err == nil && decoded.Namespace != h.Namespace {
				err = fmt.Errorf("%s %s/%s is a release in another namespace", kind, id.Namespace, id.Name)
			}
			return record{decoded, o, dataOwners(o)["release"]}, true, err
		}
		for _, u := range j.snapshot.Unread {
			if u.Verb == "get" && u.Group == "" && u.Kind == kind && !u.NotServed && u.Namespace == id.Namespace && (u.Name == "" || u.Name == id.Name) {
				return record{}, false, fmt.Errorf("%s", unreadText(u))
			}
		}
	}
	return record{}, false, nil
}

// lay puts the record's values where the chart makes others at each render, as long as it is known to be the same
// place: an index of a list is one only while nothing else differs. What the record lacks then, as a part that the
// chart makes only at times, is taken out.
func (j *judge) lay(m *member, declared gitops.Object) {
	kept, ok := m.stored.objects[declared.ID]
	if !ok {
		m.stored.differ[declared.ID] = m.stored.lacks(declared.ID)
		return
	}
	open := slices.Concat(m.unstablePaths(declared), m.result.Unsure[declared.ID])
	folded := kept
	if kept.IsSecret() {
		folded.Content = compare.FoldStringData(kept.Content)
	}
	differences, _ := j.comparer.Compare(declared, folded, compare.Options{}) // a record has no owners that could be broken
	differs := slices.ContainsFunc(differences, func(d detect.Difference) bool {
		return d.Differs && !slices.ContainsFunc(open, func(p gitops.Path) bool { return gitops.Overlap(declared.Content, p, d.Path) })
	})
	m.stored.differ[declared.ID] = differs
	laid := declared
	for _, p := range m.result.Unstable[declared.ID] {
		value := gitops.Lookup(kept.Content, p)
		if len(p) == 0 || differs && (!value.Set || slices.ContainsFunc(p, gitops.Step.IsIndex)) {
			continue
		}
		laid.Content, _ = copied(laid.Content, kept.Content, p).(map[string]any)
		m.stored.paths[declared.ID] = append(m.stored.paths[declared.ID], asStored(declared, p)...)
	}
	if len(m.stored.paths[declared.ID]) > 0 {
		m.stored.laid[declared.ID] = laid
	}
}

// replaced gives a copy of a value with another one at a path.
func replaced(node any, at gitops.Path, value any) any {
	if len(at) == 0 {
		return value
	}
	switch node := node.(type) {
	case map[string]any:
		out := maps.Clone(node)
		out[at[0].Field] = replaced(node[at[0].Field], at[1:], value)
		return out
	case []any:
		if i := at[0].Index; i >= 0 && i < len(node) {
			out := slices.Clone(node)
			out[i] = replaced(node[i], at[1:], value)
			return out
		}
	}
	return node
}

// copied gives a copy of a value which at a path is as another one is: it has what that has, and lacks what that lacks.
func copied(node, from any, at gitops.Path) any {
	if len(at) == 0 {
		return from
	}
	step := at[0]
	if step.IsField() {
		into, isMap := node.(map[string]any)
		other, _ := from.(map[string]any)
		if node != nil && !isMap || node == nil && other == nil {
			return node
		}
		out := maps.Clone(into)
		if out == nil {
			out = map[string]any{}
		}
		value, there := other[step.Field]
		if len(at) > 1 {
			value = copied(into[step.Field], value, at[1:])
			there = there || !empty(value)
		}
		if out[step.Field] = value; !there {
			delete(out, step.Field)
		}
		return out
	}
	into, isList := node.([]any)
	other, _ := from.([]any)
	if node != nil && !isList {
		return node
	}
	i, j := step.Index, step.Index
	if step.IsEntry() {
		i, j = gitops.FindEntry(into, step.Keys), gitops.FindEntry(other, step.Keys)
	}
	there, has := i >= 0 && i < len(into), j >= 0 && j < len(other)
	switch {
	case there && has:
		out := slices.Clone(into)
		out[i] = copied(into[i], other[j], at[1:])
		return out
	case there && step.IsEntry() && len(at) == 1:
		return slices.Delete(slices.Clone(into), i, i+1)
	case has && step.IsEntry() && len(at) == 1:
		return slices.Insert(slices.Clone(into), min(j, len(into)), other[j]) // its place may have a meaning
	}
	return node
}

// empty says whether a value is a mapping or list without anything, or none.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// withoutMarks takes off what helm-controller itself adds before Helm keeps its record.
func withoutMarks(o gitops.Object, app gitops.Application) gitops.Object {
	labels := gitops.Path{gitops.Field("metadata"), gitops.Field("labels")}
	set, _ := gitops.Lookup(o.Content, labels).V.(map[string]any)
	if set == nil {
		return o
	}
	rest := maps.Clone(set)
	for key := range app.Tracking.Labels {
		delete(rest, key)
	}
	if len(rest) > 0 {
		o.Content, _ = replaced(o.Content, labels, rest).(map[string]any)
		return o
	}
	metadata, _ := o.Content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	delete(metadata, "labels")
	o.Content, _ = replaced(o.Content, labels[:1], metadata).(map[string]any)
	return o
}

// ahead says in which objects Git and the record differ; empty where they do not.
func (s *stored) ahead(m *member) string {
	declared := map[gitops.ObjectID]bool{}
	var names []string
	for _, d := range m.declared {
		declared[d.ID] = true
		if s.differ[d.ID] {
			names = append(names, d.ID.String())
		}
	}
	for id := range s.objects {
		if m.whole() && !declared[id] {
			names = append(names, id.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	const most = 3
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return fmt.Sprintf("what Git renders to now is not Helm's stored release %s, in %s: helm-controller has not upgraded it yet", s.label, text)
}

// unreleased ends the drift of fields that are as helm-controller last released them, where Git has moved on since.
// What a person made so stays one.
func (j *judge) unreleased(m *member, declared gitops.Object, live *gitops.Object, fields []detect.Field) []detect.Field {
	if !m.stored.differ[declared.ID] || !m.stored.has(declared.ID) {
		return fields
	}
	released, err := j.compare(m, m.stored.objects[declared.ID], *live)
	if err != nil {
		return fields // the comparison with what Git declares has said so
	}
	for i := range fields {
		f := &fields[i]
		open := slices.ContainsFunc(released, func(d detect.Difference) bool { return d.Differs && overlap(d.Path, f.Path) })
		if w := f.Writer; f.Differs && !open && (w == nil || w.Manager == "" && w.User == "" || m.writes(*w)) {
			f.Cause, f.Drift, f.Reason = detect.CausePending, false, m.stored.pending("it is as that declares it")
		}
	}
	return fields
}

func (s *stored) pending(what string) string {
	return fmt.Sprintf("Git is ahead of Helm's stored release %s, which helm-controller has not upgraded yet: %s.", s.label, what)
}

// madeByHand says whether others than helm-controller made a revision. Where nothing tells, one that is deployed and
// that helm-controller does not know of was.
func (m *member) madeByHand(r record) bool {
	if len(r.writers) == 0 {
		return r.Status == release.Deployed
	}
	return !r.Pending() && slices.ContainsFunc(r.writers, func(w detect.Writer) bool { return !m.writes(w) })
}

// handMade is the finding about a release that somebody upgraded past Git. helm-controller makes it anew by itself,
// so a commit would add nothing.
func (j *judge) handMade(out *detect.Scan, m *member) {
	r := m.byHand
	if r == nil {
		return
	}
	id := engines.ObjectID(m.app)
	f := j.finding(m, refOf(id, j.engines), detect.Both)
	f.ID = detect.Digest(f.ID, "release")[:12] // the object's own drift is another finding
	f.ObjectLevel, f.Drift, f.Cause = true, true, detect.CauseManual
	if o, ok := j.engines.Get(id); ok {
		f.Live = &o
	}
	f.Writer = &detect.Writer{Time: r.Time, Confidence: detect.Unresolved}
	if i := slices.IndexFunc(r.writers, func(w detect.Writer) bool { return !m.writes(w) }); i >= 0 {
		f.Writer = &r.writers[i]
	}
	if j.in.Audit != nil {
		if w, ok := j.in.Audit.Of(r.object.ID, m.app, &r.object).Object(detect.LiveOnly); ok {
			f.Writer = w
		}
	}
	f.Reason = fmt.Sprintf("Helm's stored release %s is not helm-controller's, whose last is v%d: somebody ran Helm by hand", r.Label(), r.Revision-1)
	if r.Description != "" {
		f.Reason += fmt.Sprintf(" (%s)", r.Description)
	}
	if !r.Time.IsZero() {
		f.Reason += " at " + r.Time.Format("2006-01-02 15:04 UTC")
	}
	when := "at its next turn"
	if m.app.Suspended {
		when = "once it is resumed"
	}
	f.Reason += "; it is " + r.Status + ". helm-controller upgrades it again " + when + "."
	j.settleObject(&f, m)
	if f.Disposition == detect.Codify || f.Disposition == detect.Revert {
		f.Disposition, f.AfterHeal = detect.AsIssue, ""
		f.Rule += ", but helm-controller makes the release anew by itself"
	}
	out.Findings = append(out.Findings, f)
}
