// Package classify says why a live field differs from Git, or why an object stands on one side only, and
// who wrote it. It is the decision table of value and owners: compare gives the values and the field
// managers, this package adds what is known of the cluster around the object (autoscalers, admission,
// policies), of known legitimate writers (rules/*.yaml) and of the engine. It does no I/O and reads no clock.
//
// Two rules stand above the rest. A field manager's name is chosen by the client, so a name alone never
// excuses a sensitive field. And what cannot be known is said to be unknown, never guessed.
package classify

import (
	"slices"
	"strings"
	"time"

	"holdfast/detect"
	"holdfast/gitops"
)

// Facts is what is known around one cluster. It is built once a scan, and read by many goroutines.
type Facts struct {
	Autoscalers Autoscalers
	Admission   Admission
	Rules       *Rules
	// ImageRewrites are admission rewrites of images that the policy names.
	ImageRewrites []ImageRewrite
	// Sensitive says whether a field is never excused by a name alone. Nil treats every field so.
	Sensitive func(object detect.ObjectRef, path gitops.Path, git, live gitops.Value) bool
	// Weighty says whether a field that is not sensitive weighs too much to be taken for admission's work because of its
	// looks. Nil says so of none.
	Weighty func(s Subject, path gitops.Path, git, live gitops.Value) bool
	// Privileged says whether a workload's pods have a hold on their node. Nil looks for the plainest signs.
	Privileged func(object gitops.Object) bool
	// Outside are the engines' own objects that are known to be there and whose Applications are not scanned.
	Outside map[gitops.ObjectID]bool
	// Find gives a live object, where it was read. Absent says that an object is known not to exist, and not only that it
	// was not read. Nil where nobody can tell.
	Find   func(gitops.ObjectID) (gitops.Object, bool)
	Absent func(gitops.ObjectID) bool
	// Declared says that an Application declares an object, or may for all that is known. Named says that a binding which
	// Git declares names a role. Nil where nobody can tell.
	Declared func(gitops.ObjectID) bool
	Named    func(role gitops.ObjectID) bool
	// Now is the time of the scan; zero when it does not matter.
	Now time.Time

	// managed says that some object has managedFields: they were not left out of a dump.
	managed    bool
	neighbours neighbours
	table      []row
}

// ImageRewrite is an admission rewrite of image names: a prefix From in Git arrives as To.
type ImageRewrite struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Subject is one object of one Application, as Git declares it and as it lives. Either may be nil.
type Subject struct {
	App      gitops.Application
	Declared *gitops.Declared
	Live     *gitops.Object
	// History gives older declared forms of the object, newest first. It is called only when an answer
	// depends on it, and may be nil.
	History func() []gitops.Object
	// Ignore are the engine's own ignore rules that hold for the Application.
	Ignore []IgnoreRule
}

// NewFacts indexes the live objects of a cluster. Objects of any kind may be passed; those that say
// nothing about others are skipped.
func NewFacts(objects []gitops.Object, rules *Rules) *Facts {
	f := &Facts{Rules: rules, Autoscalers: Autoscalers{}, table: decisionTable(), neighbours: newNeighbours()}
	for _, object := range objects {
		f.Add(object)
	}
	return f
}

// Add indexes one more live object, before the Facts are used.
func (f *Facts) Add(object gitops.Object) {
	f.managed = f.managed || len(managedEntries(object)) > 0
	f.Autoscalers.add(object)
	f.Admission.add(object)
	f.neighbours.add(object)
}

// Fields gives each difference its cause, writer and reason, and whether it is drift. Both sides of the
// subject must be there. The order is that of diffs. Differences in marks that turn off an engine's
// correction are left to Switches: the two answers together are whole, and no path is in both.
func (f *Facts) Fields(s Subject, diffs []detect.Difference) []detect.Field {
	if len(diffs) == 0 {
		return nil
	}
	about := f.about(s)
	switches := f.Switches(s)
	fields := make([]detect.Field, 0, len(diffs))
	for _, diff := range diffs {
		if !slices.ContainsFunc(switches, func(sw detect.Field) bool { return sw.Path.Equal(diff.Path) }) {
			fields = append(fields, f.field(about, diff))
		}
	}
	return fields
}

// field applies the first row of the table that matches.
func (f *Facts) field(about *about, diff detect.Difference) detect.Field {
	s := f.situation(about, diff)
	out := detect.Field{
		Path: diff.Path, Git: diff.Git, Live: diff.Live, Differs: diff.Differs,
		Kind: diff.Kind, Masked: diff.Masked, Sensitive: s.sensitive,
	}
	for _, row := range f.table {
		if row.when(s) {
			v := row.then(s)
			out.Cause, out.Drift, out.Writer, out.Reason = v.cause, v.drift, v.writer, v.reason
			break
		}
	}
	if why, off := about.correctionOff(); off && out.Drift && !strings.Contains(out.Reason, why) {
		out.Reason += " " + why
	}
	return about.applyIgnore(out, diff)
}

// Excused says whether a difference would be no drift for a reason that is known: an ignore rule of the engine covers
// it, an autoscaler sets the count, a known mutator the value, or the policy names the image's rewrite.
func (f *Facts) Excused(s Subject, diff detect.Difference) bool {
	about := f.about(s)
	at := f.situation(about, diff)
	return isNamedRewrite(at) || isAutoscaled(at) || at.mutator != nil && !at.mutator.Drift ||
		!about.applyIgnore(detect.Field{Path: diff.Path, Drift: true}, diff).Drift
}
