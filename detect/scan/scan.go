package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/classify"
	"holdfast/detect/compare"
	"holdfast/detect/live"
	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/packed"
	"holdfast/gitops/render"
	"holdfast/gitops/typed"
)

// Run scans every target. What cannot be read or rendered becomes part of the answer: an Application in
// state unknown, an unknown object, or, for a cluster that could not be read, an unknown without an object.
// An error means that nothing could be said at all.
func Run(ctx context.Context, in Input) (detect.Scan, error) {
	sources := newSources(in)
	out := detect.Scan{Time: in.Now}
	var failed []error
	for _, target := range in.Targets {
		one, err := cluster(ctx, in, sources, target)
		if err != nil {
			failed = append(failed, named(target, err))
			out.Unknown = append(out.Unknown, detect.UnknownObject{Cluster: target.Name, Reason: err.Error()})
			continue
		}
		out.Clusters = append(out.Clusters, one.Clusters...)
		out.Applications = append(out.Applications, one.Applications...)
		out.Findings = append(out.Findings, one.Findings...)
		out.Unknown = append(out.Unknown, one.Unknown...)
		out.Notes = append(out.Notes, one.Notes...)
		out.Objects += one.Objects
	}
	sortScan(&out)
	if err := ctx.Err(); err != nil {
		return out, fmt.Errorf("the scan was interrupted: %w", err)
	}
	if len(failed) < len(in.Targets) {
		failed = nil
	}
	return out, errors.Join(failed...)
}

func named(target Target, err error) error {
	if target.Name == "" { // the current context, which the error names
		return err
	}
	return fmt.Errorf("cluster %s: %w", target.Name, err)
}

// cluster scans one cluster: find its Applications, render them, read what they declare, judge each object.
func cluster(ctx context.Context, in Input, sources *sources, target Target) (detect.Scan, error) {
	var out detect.Scan
	in.progress("%s: reading the engines' objects", target.Name)
	own, err := target.Cluster.EngineObjects(ctx)
	if err != nil {
		return out, err
	}
	target.Name = cmp.Or(target.Name, own.Cluster)
	out.Clusters = []detect.ScannedCluster{{Name: target.Name, Tier: target.Tier, Version: own.Version, APIVersions: own.APIVersions}}
	if target.Audit != nil {
		in.Audit = target.Audit
	}
	apps, problems := applications(target, own)
	for _, u := range own.Unread {
		if u.Place != "" {
			out.Unknown = append(out.Unknown, detect.UnknownObject{
				Cluster: target.Name, Object: detect.ObjectRef{Kind: u.Kind, Namespace: u.Namespace, Name: u.Name},
				Reason: u.Place + ": " + u.Reason,
			})
		}
	}
	if !target.OnlyGiven {
		out.Unknown = append(out.Unknown, unreadEngines(target, own)...)
	}
	if len(apps) == 0 && len(out.Unknown) == 0 {
		return out, errors.New("no Application found: no " + engines.Names + " is there; describe a folder by --git and --path, or by --application")
	}
	env := render.Env{Namespaced: own.Namespaced, Limits: in.Limits, KubeVersion: own.Version, APIVersions: own.APIVersions}
	var members []*member
	for _, app := range apps {
		in.progress("%s: rendering %s/%s", target.Name, app.Namespace, app.Name)
		limits := slices.DeleteFunc(slices.Clone(problems), func(p gitops.EngineProblem) bool { return !concerns(p, app) })
		members = append(members, sources.member(ctx, app, target, env, limits))
	}
	for _, p := range problems {
		if !slices.ContainsFunc(apps, func(a gitops.Application) bool { return concerns(p, a) }) {
			out.Unknown = append(out.Unknown, detect.UnknownObject{Cluster: target.Name, Object: refOf(p.Object, own.Objects), Reason: p.Message})
		}
	}

	in.progress("%s: reading live objects", target.Name)
	places := manage(members)
	snapshot, err := target.Cluster.Read(ctx, places.want(wanted(members), in.Rules))
	if err != nil {
		return out, err
	}
	out.Notes = append(snapshot.Notes, unreadStrays(snapshot.Unread)...)
	schemas, bad := in.Schemas.WithCRDs(snapshot.CRDs)
	for _, err := range bad {
		out.Unknown = append(out.Unknown, detect.UnknownObject{Cluster: target.Name, Reason: err.Error()})
	}
	out.Notes = append(out.Notes, untyped(schemas, members, snapshot)...)
	facts := classify.NewFacts(nil, in.Rules)
	facts.Now = in.Now
	facts.Outside = outside(own.Objects, members)
	facts.Find, facts.Absent = snapshot.Objects.Get, absent(snapshot, places)
	facts.Sensitive, facts.Privileged = in.Assessor.Sensitive, in.Assessor.Privileged
	facts.Weighty = weighty(in.Assessor, schemas)
	survey(snapshot.Objects, facts, members)
	claimed := claims(members)
	facts.Declared = func(id gitops.ObjectID) bool { return claimed[id] }
	facts.Named = boundRoles(members)
	scalers := scaling(members, in.Rules)
	for _, m := range members {
		m.know(facts)
		m.scalers = scalers
	}

	in.progress("%s: comparing", target.Name)
	judge := &judge{
		in: in, target: target, comparer: compare.New(schemas),
		snapshot: snapshot, engines: own.Objects, claimed: claimed, declarers: declarers(members),
	}
	judge.claimHooks(members)
	judge.present = sync.OnceValue(func() presence { return presenceOf(snapshot.Objects) })
	for _, m := range members {
		judge.stored(ctx, m, env)
	}
	strays := places.strays(judge, facts, members)
	results := make([]detect.Scan, len(members))
	var group sync.WaitGroup
	for i, m := range members {
		group.Go(func() {
			results[i] = judge.member(m)
			judge.strays(&results[i], m, strays[m])
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil { // what is left out then would pass for an answer
		return detect.Scan{}, err
	}
	for i, r := range results {
		if snapshot.Cluster == "" {
			members[i].undumped(r.Findings, snapshot.Objects.IDs())
		}
		out.Applications = append(out.Applications, detect.AssessedApplication{
			Application: members[i].app, State: members[i].state(), Reason: members[i].reason, Declared: members[i].declared,
			Conditions: conditionsOf(members[i].app, own, in),
		})
		out.Findings = append(out.Findings, r.Findings...)
		out.Unknown = append(out.Unknown, r.Unknown...)
		out.Objects += r.Objects
	}
	out.Notes = append(out.Notes, judge.uncovered.notes(in.Audit)...)
	out.Notes = append(out.Notes, places.notes()...)
	if own != snapshot { // a dump is both
		out.Notes = append(out.Notes, own.Notes...)
	}
	return out, nil
}

// unreadEngines says which of the engines' own objects could not be read: what they declare is then unknown,
// all of it.
func unreadEngines(target Target, own *live.Snapshot) []detect.UnknownObject {
	var out []detect.UnknownObject
	for _, u := range own.Unread {
		if !u.NotServed && !u.Optional && u.Place == "" {
			out = append(out, detect.UnknownObject{
				Cluster: target.Name, Object: detect.ObjectRef{APIVersion: u.Group, Kind: u.Kind, Namespace: u.Namespace, Name: u.Name},
				Reason: unreadText(u) + "; Applications may be hidden (deploy/rbac has the role that is needed)", ByChoice: u.ByChoice,
			})
		}
	}
	return out
}

// applications gives the target's Applications: those of the engine's objects, then the given ones, which
// win where both have the same name.
func applications(target Target, read *live.Snapshot) ([]gitops.Application, []gitops.EngineProblem) {
	objects := slices.Collect(read.Objects.Where(engines.Reads))
	own, problems := engines.Decode(target.Name, objects)
	apps := own
	if target.OnlyGiven {
		apps, problems = nil, nil
	}
	completed, limits := completed(target, objects)
	problems = append(problems, limits...)
	for _, given := range target.Applications {
		given.Cluster = target.Name
		same := func(a gitops.Application) bool { return sameApplication(a, given) }
		if i := slices.IndexFunc(completed, same); i >= 0 {
			given = completed[i]
		}
		if i := slices.IndexFunc(own, same); i >= 0 {
			given = withStatus(given, own[i])
		}
		if i := slices.IndexFunc(apps, same); i >= 0 {
			apps[i] = given
		} else {
			apps = append(apps, given)
		}
	}
	for i := range apps {
		withoutAbsent(&apps[i], read)
	}
	slices.SortFunc(apps, func(a, b gitops.Application) int {
		return gitops.ObjectID{Namespace: a.Namespace, Name: a.Name}.Compare(gitops.ObjectID{Namespace: b.Namespace, Name: b.Name})
	})
	return apps, problems
}

// completed decodes the given engine objects together with what the cluster holds for them: sources, settings,
// variables and values, and the status of the same object. Where both have an object, the given one wins.
//
// Whoever gives an object for another cluster gives that cluster too, and a source that is nowhere is what the
// caller's repository stands for: neither is a problem.
func completed(target Target, cluster []gitops.Object) ([]gitops.Application, []gitops.EngineProblem) {
	if len(target.Objects) == 0 {
		return nil, nil
	}
	known := make(map[gitops.ObjectID]gitops.Object, len(cluster))
	for _, o := range cluster {
		known[o.ID] = o
	}
	var objects []gitops.Object
	given := map[gitops.ObjectID]bool{}
	for _, o := range slices.Backward(target.Objects) { // of two files the later
		if given[o.ID] {
			continue
		}
		given[o.ID] = true
		if status := known[o.ID].Content["status"]; status != nil && o.Content["status"] == nil && engines.Declares(o.ID) {
			o.Content = maps.Clone(o.Content)
			o.Content["status"] = status
		}
		objects = append(objects, o)
	}
	for _, o := range cluster {
		if !given[o.ID] && !engines.Becomes(o.ID) {
			objects = append(objects, o)
		}
	}
	apps, problems := engines.Decode(target.Name, objects)
	return apps, slices.DeleteFunc(problems, func(p gitops.EngineProblem) bool {
		return p.Kind == gitops.OtherCluster || p.Kind == gitops.NoSource && !p.Blocks
	})
}

// concerns says whether a problem is about an Application's own object.
func concerns(p gitops.EngineProblem, app gitops.Application) bool {
	return p.Object == engines.ObjectID(app)
}

// weighty asks the assessor. Where a kind's schema is not known, additions do not count: they may be defaults.
func weighty(assessor *assess.Assessor, schemas *typed.Schemas) func(classify.Subject, gitops.Path, gitops.Value, gitops.Value) bool {
	return func(s classify.Subject, path gitops.Path, git, live gitops.Value) bool {
		if _, known := schemas.Lookup(s.Live.APIVersion, s.Live.ID.Kind); !known && !git.Set {
			return false
		}
		return assessor.Weighty(assess.Input{
			Object: detect.Ref(*s.Live), Declared: &s.Declared.Object, Live: s.Live, Field: detect.Field{Path: path, Git: git, Live: live},
		})
	}
}

// survey looks at every live object once: for what it says about others, and for whose mark it carries.
func survey(objects *packed.Set, facts *classify.Facts, members []*member) {
	for o := range objects.All() {
		facts.Add(o)
		labels, annotations := o.Labels(), o.Annotations()
		for _, m := range members {
			if m.tracks(labels, annotations) {
				m.tracked = append(m.tracked, o.ID)
			}
		}
	}
}

func sameApplication(a, b gitops.Application) bool {
	return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name
}

// withStatus completes a given Application with what the engine says of its own.
func withStatus(given, own gitops.Application) gitops.Application {
	if given.Source.Applied == "" {
		given.Source.Applied = own.Source.Applied
	}
	if given.Source.Repo == "" {
		given.Source.Repo, given.Source.Branch, given.Source.Kind = own.Source.Repo, own.Source.Branch, own.Source.Kind
	}
	if given.Inventory == nil {
		given.Inventory = own.Inventory
	}
	given.Ready, given.Message, given.Since = own.Ready, own.Message, own.Since
	given.Suspended, given.Correction, given.Switches = own.Suspended, own.Correction, own.Switches
	return given
}

// wanted is what has to be read: everything declared now or applied before, and whatever carries the mark
// of an Application.
func wanted(members []*member) live.Wanted {
	w := live.Wanted{Versions: map[gitops.GroupKind]string{}}
	seen := map[gitops.ObjectID]bool{}
	add := func(id gitops.ObjectID) {
		if !seen[id] {
			seen[id] = true
			w.IDs = append(w.IDs, id)
		}
	}
	for _, m := range members {
		for _, d := range m.declared {
			add(d.ID)
			w.Versions[d.ID.GroupKind()] = d.APIVersion[strings.IndexByte(d.APIVersion, '/')+1:]
		}
		for _, id := range m.app.Inventory {
			add(id)
		}
		if h := m.app.Render.Helm; h != nil && h.Revision > 0 && m.result != nil {
			w.Releases = append(w.Releases, live.StoredRelease{
				Namespace: h.StorageNamespace, Name: h.ReleaseName, Revisions: []int{h.Revision, h.Revision + 1},
			})
		}
		if s := m.app.Tracking.Selector; s != "" && !slices.Contains(w.Selectors, s) {
			w.Selectors = append(w.Selectors, s)
		}
	}
	w.AllKinds = len(w.Selectors) > 0
	slices.SortFunc(w.IDs, gitops.ObjectID.Compare)
	return w
}

// undumped notes the kinds of missing objects of which a dump has no object at all: they may just not have
// been dumped.
func (m *member) undumped(findings []detect.Finding, dumped []gitops.ObjectID) {
	var kinds []string
	for _, f := range findings {
		kind := f.Object.ID().GroupKind()
		if f.Presence == detect.GitOnly && !slices.Contains(kinds, kind.Kind) &&
			!slices.ContainsFunc(dumped, func(id gitops.ObjectID) bool { return id.GroupKind() == kind }) {
			kinds = append(kinds, kind.Kind)
		}
	}
	if len(kinds) > 0 {
		slices.Sort(kinds)
		m.note("the dump holds no " + strings.Join(kinds, ", ") + ": they count as missing, unless they were not dumped")
	}
}

func (in Input) progress(format string, args ...any) {
	if in.Progress != nil {
		in.Progress(fmt.Sprintf(format, args...))
	}
}

func sortScan(s *detect.Scan) {
	slices.SortStableFunc(s.Findings, func(a, b detect.Finding) int {
		if a.Drift != b.Drift {
			if a.Drift {
				return -1
			}
			return 1
		}
		if a.Risk != b.Risk {
			return int(b.Risk) - int(a.Risk)
		}
		return a.Object.ID().Compare(b.Object.ID())
	})
}
