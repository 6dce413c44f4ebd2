package main

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/detect/compare"
	"holdfast/gitops"
	"holdfast/gitops/codify"
	"holdfast/gitops/render"
	"holdfast/gitops/render/cache"
	"holdfast/gitops/typed"
)

// The results of a case.
const (
	codified  = "codified"
	refused   = "refused"
	forbidden = "not to be written"
	timedOut  = "out of time"
	wrong     = "WRONG"
	untouched = "nothing to change"
)

// outcome is one case and what became of it, as it is written to the file of failures.
type outcome struct {
	Repo string `json:"repo"`
	App  string `json:"app"`
	Seed uint64 `json:"seed"`
	Case int    `json:"case"`

	Source string `json:"source"`
	Change string `json:"change"`
	Object string `json:"object"`
	// Fields are the changed paths with their old and new values. Scalar says that it is one, of one value to another.
	Fields []string `json:"fields"`
	Scalar bool     `json:"scalar"`

	Result string `json:"result"`
	Reason string `json:"reason,omitempty"`
	// NearestMiss and How are codify's words.
	NearestMiss string   `json:"nearestMiss,omitempty"`
	How         string   `json:"how,omitempty"`
	Wrong       []string `json:"wrong,omitempty"`
	JudgedBy    string   `json:"judgedBy,omitempty"`
	Reordered   bool     `json:"reordered,omitempty"`
	// Value is the one that a chart has for the field alone, Along one that moves it along with others.
	Value string `json:"value,omitempty"`
	Along string `json:"along,omitempty"`

	Lines   int           `json:"lines,omitempty"`
	Calls   int           `json:"renderCalls"`
	Renders int           `json:"renders"`
	Took    time.Duration `json:"took"`
}

// bench tries the cases of one repository.
type bench struct {
	*estate
	judge    *judge
	express  *express
	schemas  *typed.Schemas
	comparer *compare.Comparer
	renders  *cache.Renders
	seed     uint64
	timeout  time.Duration

	mutex  sync.Mutex
	usable map[string][]gitops.Declared
}

// chance is the source of randomness of one case: the same for every run and machine.
func (b *bench) chance(app string, n int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(b.name() + "\x00" + app))
	return rand.New(rand.NewPCG(b.seed, h.Sum64()+uint64(n)*0x9e3779b97f4a7c15))
}

// objectsOf gives the objects of an Application that both renders agree on, and an error where either has none.
func (b *bench) objectsOf(ctx context.Context, w *workspace, app gitops.Application) ([]gitops.Declared, []string, error) {
	result, err := b.renders.Render(ctx, b.tree, app, render.Env{})
	if err != nil {
		return nil, nil, err
	}
	was := b.judge.before(ctx, w, b.judge.index(app))
	if was.err != nil {
		return nil, nil, was.err
	}
	var out []gitops.Declared
	var apart []string
	for _, d := range result.Objects {
		id := gitops.NewObject(d.Content).ID
		other, there := was.made[id]
		switch {
		case was.unstable[id] || len(result.Unstable[d.ID]) > 0:
		case !there:
			apart = append(apart, id.String()+" is not built by "+was.how)
		default:
			if diff := differences(b.schemas, other, d.Content); len(diff) > 0 {
				at := diff[0].path
				apart = append(apart, id.String()+" "+at.String()+": "+was.how+" has "+show(gitops.Lookup(other, at))+", our render "+show(gitops.Lookup(d.Content, at)))
				continue
			}
			out = append(out, d)
		}
	}
	return out, apart, nil
}

// agreed is objectsOf, made once for each Application.
func (b *bench) agreed(ctx context.Context, w *workspace, app gitops.Application) []gitops.Declared {
	b.mutex.Lock()
	known, ok := b.usable[appName(app)]
	b.mutex.Unlock()
	if ok {
		return known
	}
	objects, apart, err := b.objectsOf(ctx, w, app)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if _, ok := b.usable[appName(app)]; ok || ctx.Err() != nil {
		return objects
	}
	b.usable[appName(app)] = objects
	if err != nil {
		b.skip(app, err.Error())
	}
	for _, text := range apart {
		b.skip(app, "one object: "+text)
	}
	return objects
}

// draw chooses the change of a case: a kind that the Application has something for, then an object, then a field.
func (b *bench) draw(r *rand.Rand, objects []gitops.Declared) (kind string, d gitops.Declared, live map[string]any, changes []gitops.FieldChange) {
	kinds := mutators()
	for _, k := range r.Perm(len(kinds)) {
		for tries, i := range r.Perm(len(objects)) {
			if tries == 40 {
				break
			}
			d = objects[i]
			for range 3 {
				content, ok := mutated(r, kinds[k], d.Object, b.schemas)
				if !ok {
					break
				}
				if changes = b.changesOf(d.Object, gitops.NewObject(content)); len(changes) > 0 {
					return kinds[k].kind, d, content, changes
				}
			}
		}
	}
	return "", gitops.Declared{}, nil, nil
}

// changesOf gives the fields that a scan would find drifted.
func (b *bench) changesOf(declared, live gitops.Object) []gitops.FieldChange {
	found, err := b.comparer.Compare(declared, live, compare.Options{})
	if err != nil {
		return nil
	}
	var out []gitops.FieldChange
	for _, d := range found {
		if d.Differs {
			out = append(out, gitops.FieldChange{Path: d.Path, Before: gitops.Lookup(declared.Content, d.Path), After: d.Live})
		}
	}
	return out
}

// asked is a case with what codify said.
type asked struct {
	outcome
	answer  *codify.Answer
	object  gitops.ObjectID
	live    map[string]any
	changes []gitops.FieldChange
}

// try runs one case of an Application and has it judged.
func (b *bench) try(ctx context.Context, w *workspace, app gitops.Application, n int) (outcome, error) {
	a, err := b.ask(ctx, app, b.agreed(ctx, w, app), n)
	if err != nil || a.answer == nil {
		return a.outcome, err
	}
	if a.Result == refused && helmSource(a.Source) {
		a.Value, a.Along = b.express.can(ctx, b.tree, app, a.object, a.changes)
	}
	if a.Result == codified {
		err = b.check(ctx, w, app, &a)
	}
	return a.outcome, err
}

// ask draws a change and asks codify for its edit. The answer is nil where there is nothing to change.
func (b *bench) ask(ctx context.Context, app gitops.Application, objects []gitops.Declared, n int) (asked, error) {
	out := asked{outcome: outcome{Repo: b.name(), App: appName(app), Seed: b.seed, Case: n, Source: sourceKind(app), Result: untouched}}
	kind, d, live, changes := b.draw(b.chance(out.App, n), objects)
	if kind == "" {
		return out, ctx.Err()
	}
	out.Change, out.Object, out.object, out.live, out.changes = kind, d.ID.String(), d.ID, live, changes
	for _, c := range changes {
		out.Fields = append(out.Fields, c.Path.String()+": "+show(c.Before)+" -> "+show(c.After))
	}
	out.Scalar = len(changes) == 1 && scalar(changes[0].Before) && scalar(changes[0].After)
	var calls, renders atomic.Int64
	start := time.Now()
	answer, err := codify.Propose(ctx, codify.Request{
		Tree: b.tree, Fleet: b.fleet, Schemas: b.schemas, Timeout: b.timeout,
		AllowKind: func(gitops.GroupKind) bool { return true },
		Wishes:    []codify.Wish{{App: app, Declared: d, Live: gitops.NewObject(live), FindingID: "f", Changes: changes}},
		Render: func(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
			calls.Add(1)
			if known, ok := b.renders.Lookup(tree, app, render.Env{}); ok {
				return known, nil
			}
			renders.Add(1)
			return b.renders.Render(ctx, tree, app, render.Env{})
		},
	})
	out.Took, out.Calls, out.Renders = time.Since(start), int(calls.Load()), int(renders.Load())
	if err != nil {
		return out, err
	}
	out.answer = answer
	out.answered(answer, b.timeout)
	return out, nil
}

// scalar says whether a value is there and is no mapping or list.
func scalar(v gitops.Value) bool { return v.Set && mapOf(v.V) == nil && listOf(v.V) == nil }

// answered takes over what codify says.
func (o *outcome) answered(answer *codify.Answer, limit time.Duration) {
	switch {
	case len(answer.Failed) > 0:
		o.Result, o.Reason, o.NearestMiss = refused, answer.Failed[0].Reason, answer.Failed[0].NearestMiss
		switch {
		case o.Took >= limit:
			o.Result = timedOut
		case strings.Contains(o.Reason, " is not written: "): // whatever a benchmark's floor allows
			o.Result = forbidden
		}
	case !answer.Proof.Verified:
		o.Result, o.Reason = refused, "not proven: "+answer.Proof.Reason
	default:
		o.Result = codified
	}
	for _, p := range answer.Placed {
		o.How = p.How
	}
}

// check asks the judge about the edits of a case.
func (b *bench) check(ctx context.Context, w *workspace, app gitops.Application, a *asked) error {
	ruled, err := b.judge.rule(ctx, w, app, a.live, a.answer.Edits)
	if err != nil {
		return err
	}
	removal := slices.ContainsFunc(a.changes, func(c gitops.FieldChange) bool { return !c.After.Set })
	lines := touch(b.tree, a.answer.Edits, removal)
	a.Lines, a.JudgedBy, a.Reordered = lines.lines, ruled.How, ruled.Reordered
	if a.Wrong = append(ruled.Wrong, lines.wrong...); len(a.Wrong) == 0 {
		return nil
	}
	a.Result = wrong
	for _, e := range a.answer.Edits {
		gone, came := changedLines(linesOf(e.Before), linesOf(e.After))
		for _, line := range gone {
			a.Wrong = append(a.Wrong, e.Path+": -"+line)
		}
		for _, line := range came {
			a.Wrong = append(a.Wrong, e.Path+": +"+line)
		}
	}
	return nil
}

// job is a case to be tried.
type job struct {
	app gitops.Application
	n   int
}

// all tries so many cases, spread over the Applications, with some workers. only narrows them to one Application, and
// one of its cases where it is not negative.
func (b *bench) all(ctx context.Context, spaces []*workspace, cases int, only string, one int, report func(outcome)) error {
	apps := slices.DeleteFunc(slices.Clone(b.apps), func(a gitops.Application) bool { return only != "" && appName(a) != only })
	if len(apps) == 0 {
		return errors.New("no Application of this name is tried")
	}
	if one >= 0 {
		cases = (one + 1) * len(apps)
	}
	order := b.chance("", 0).Perm(len(apps))
	jobs := make(chan job)
	failures := make([]error, len(spaces))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for i, w := range spaces {
		group.Go(func() {
			for j := range jobs {
				if failures[i] != nil || ctx.Err() != nil {
					continue
				}
				o, err := b.try(ctx, w, j.app, j.n)
				if err != nil {
					failures[i] = err
					cancel()
					continue
				}
				report(o)
			}
		})
	}
	for i := range cases {
		app := apps[order[i%len(apps)]]
		n := i / len(apps)
		if one >= 0 && n != one {
			continue
		}
		jobs <- job{app, n}
	}
	close(jobs)
	group.Wait()
	return errors.Join(failures...)
}

// byApp lists the skipped Applications, each once, sorted.
func (e *estate) byApp() []string {
	texts := map[string]bool{}
	for _, s := range e.skipped {
		texts[s.app+": "+s.reason] = true
	}
	return slices.Sorted(maps.Keys(texts))
}
