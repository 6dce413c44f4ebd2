package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"holdfast/bot"
	"holdfast/bot/propose"
	"holdfast/bot/publish"
	"holdfast/bot/serve"
	"holdfast/detect"
	"holdfast/detect/audit"
	"holdfast/detect/audit/webhook"
	"holdfast/detect/scan"
	"holdfast/gitops"
	"holdfast/gitops/render"
)

// rounds makes the rounds of the service: each is a session of its own for one cluster.
type rounds struct {
	base   *session
	tracer trace.Tracer
	log    *slog.Logger
	// audits are the sinks that clusters' API servers post to.
	audits map[string]*webhook.Sink
	events *steering
}

var _ serve.Rounds = (*rounds)(nil)

// Scan implements serve.Rounds. What signing needs is checked before anything is read.
func (r *rounds) Scan(ctx context.Context, cluster string) (serve.Round, error) {
	x, err := r.base.begin()
	if err != nil {
		return nil, err
	}
	publisher, err := x.newPublisher(ctx)
	if err != nil {
		return nil, err
	}
	x.obey(ctx, publisher.evidence)
	x.targets = slices.DeleteFunc(x.targets, func(t scan.Target) bool { return t.Name != cluster })
	for i := range x.targets {
		if sink := r.audits[cluster]; sink != nil {
			log := audit.NewLog()
			if x.targets[i].Audit != nil {
				log.Merge(x.targets[i].Audit)
			}
			log.Merge(sink.Log())
			x.targets[i].Audit = log
		}
	}
	x.input.Targets = x.targets
	phase, end := serve.Phases(ctx, r.tracer)
	x.input.Progress = phase
	defer end()
	result, err := x.scan(ctx)
	if err != nil {
		return nil, err
	}
	return &round{session: x, publisher: publisher, result: result, log: r.log.With("cluster", cluster), events: r.events, cluster: cluster}, nil
}

// round is one scan, and its session.
type round struct {
	session   *session
	publisher *publisher
	result    detect.Scan
	log       *slog.Logger
	events    *steering
	cluster   string
}

// Result implements serve.Round.
func (r *round) Result() detect.Scan { return r.result }

// Repositories implements serve.Round.
func (r *round) Repositories() []string {
	var out []string
	for _, url := range r.published() {
		out = append(out, r.session.config.Repository(url).URL)
	}
	return out
}

// published are the URLs, as Applications have them, of the repositories that have a forge.
func (r *round) published() []string {
	return slices.DeleteFunc(r.session.repositoriesOf(r.result), func(url string) bool {
		configured := r.session.config.Repository(url)
		return configured == nil || configured.Forge == nil
	})
}

// Publish implements serve.Round.
func (r *round) Publish(ctx context.Context, others []serve.Report) (serve.Published, error) {
	out := serve.Published{Plans: map[string]propose.Plan{}, Effects: map[string]int{}, Reads: r.reads(ctx), Shared: propose.SharedOf(r.result)}
	for _, t := range r.session.targets {
		served := r.session.served[t.Name]
		out.KubeVersion, out.APIVersions = served.KubeVersion, served.APIVersions
	}
	r.session.outcome = func(o publish.Outcome) {
		r.note(o, out.Effects)
		if thread, there := serve.ThreadOf(o); there {
			out.Threads = append(out.Threads, thread)
		}
	}
	r.publisher.waitingElsewhere = map[string]int{}
	for _, other := range others {
		for url, n := range other.Published.Waiting {
			r.publisher.waitingElsewhere[url] += n
		}
	}
	out.Waiting = r.publisher.waiting
	var failed []error
	for _, url := range r.published() {
		if err := r.publishTo(ctx, url, others, out.Plans); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", gitops.WithoutCredentials(url), err))
		}
	}
	for _, url := range r.Repositories() {
		r.events.settle(ctx, r.session, url, serve.Report{Cluster: r.cluster, Scan: r.result, Scanned: r.session.input.Now}, others)
	}
	return out, errors.Join(failed...)
}

// publishTo makes one repository's forge look as wanted. What other clusters' last rounds found is told of beside
// this scan's where it has the same root cause, and keeps the threads about several clusters open.
func (r *round) publishTo(ctx context.Context, url string, others []serve.Report, plans map[string]propose.Plan) error {
	mine := of(r.result, url)
	boards, err := r.publisher.boards(ctx, mine)
	if err != nil {
		return err
	}
	seen := mine
	seen.Findings, seen.Unknown = slices.Clone(mine.Findings), slices.Clone(mine.Unknown)
	var elsewhere []propose.Elsewhere
	var shared []gitops.Application
	for _, other := range others {
		theirs := of(other.Scan, url)
		seen.Findings = append(seen.Findings, theirs.Findings...)
		if !other.Complete(url) {
			seen.Unknown = append(seen.Unknown, detect.UnknownObject{Cluster: other.Cluster, Reason: "its last round could not tell all"})
		}
		one := propose.Elsewhere{Scan: theirs, Plans: other.Published.Plans}
		for _, s := range other.Published.Shared {
			if s.Application.Source.Repo == url {
				one.Shared, shared = append(one.Shared, s), append(shared, s.Application)
				r.session.serves(other.Cluster, render.Env{KubeVersion: other.Published.KubeVersion, APIVersions: other.Published.APIVersions})
			}
		}
		elsewhere = append(elsewhere, one)
	}
	proposals, _, err := r.session.build(ctx, mine, threadsOf(boards), func(in *propose.Input) {
		in.Fleet, in.Elsewhere, in.Planned = r.session.fleet(r.result, shared...), elsewhere, plans
	})
	if err != nil {
		return err
	}
	onboarding, err := r.publisher.onboarding(ctx, mine, url, shared)
	if err != nil {
		return err
	}
	return r.publisher.publish(ctx, boards, seen, append(proposals, onboarding...), false)
}

// of gives the part of a scan that is about the Applications of one repository, and about whole clusters.
func of(s detect.Scan, url string) detect.Scan {
	names := map[string]bool{"": true}
	s.Applications = slices.DeleteFunc(slices.Clone(s.Applications), func(a detect.AssessedApplication) bool { return a.Application.Source.Repo != url })
	for _, a := range s.Applications {
		names[a.Application.Namespace+"/"+a.Application.Name] = true
	}
	s.Findings = slices.DeleteFunc(slices.Clone(s.Findings), func(f detect.Finding) bool { return !names[f.Application] })
	s.Unknown = slices.DeleteFunc(slices.Clone(s.Unknown), func(u detect.UnknownObject) bool { return !names[u.Application] })
	return s
}

// note counts and logs what was done on a forge.
func (r *round) note(o publish.Outcome, effects map[string]int) {
	if o.Err == nil && o.Action.Verb == publish.Nothing {
		return
	}
	kind, title := o.Thread.Kind, o.Thread.Title
	if kind == "" {
		kind, title = o.Action.Proposal.Kind, o.Action.Proposal.Title
	}
	effect := string(o.Action.Verb) + " " + string(kind)
	log := r.log.With("thread", o.Thread.Number, "url", o.Thread.URL, "title", title, "reason", o.Action.Reason)
	if o.Err != nil {
		effects["failed to "+effect]++
		log.Error("failed to "+effect, "error", o.Err.Error())
		return
	}
	if !o.Waits.IsZero() {
		effects["waits to "+effect]++
		log.Info("waits to "+effect, "until", o.Waits)
		return
	}
	effects[effect]++
	log.Info(effect)
}

// reads lists what the Applications read of repositories, for telling which pushes concern them.
func (r *round) reads(ctx context.Context) []serve.Reads {
	var out []serve.Reads
	for _, a := range r.result.Applications {
		app := a.Application
		one := serve.Reads{Application: app.Namespace + "/" + app.Name, Repo: app.Source.Repo, Branch: app.Source.Branch}
		if a.State == detect.Rendered {
			one.Files, one.Folders = r.inputs(ctx, app)
		}
		out = append(out, one)
		for _, m := range app.Mounts {
			if m.Source.Repo != "" {
				out = append(out, serve.Reads{Application: one.Application, Repo: m.Source.Repo, Branch: m.Source.Branch})
			}
		}
	}
	return out
}

// inputs gives what the render of the applied revision reads, and the files beside it that decide about the
// Application. Nothing where that is not known. The render is found again, not made.
func (r *round) inputs(ctx context.Context, app gitops.Application) (files, folders []string) {
	source, err := r.session.sources.get(ctx, app.Source.Repo)
	if err != nil {
		return nil, nil
	}
	tree, err := source.Tree(app.Source.Applied)
	if err != nil {
		return nil, nil
	}
	rendered, err := r.session.render(ctx, tree, app)
	if err != nil {
		return nil, nil
	}
	policy := policyFile
	if configured := r.session.config.Repository(app.Source.Repo); configured != nil && configured.Policy != "" {
		policy = configured.Policy
	}
	files = append(rendered.Inputs().Files(), policy)
	if app.Render.File != "" {
		files = append(files, app.Render.File)
	}
	mounted := func(name string) bool { return strings.HasPrefix(name, "$") }
	slices.Sort(files)
	return slices.DeleteFunc(slices.Compact(files), mounted), slices.DeleteFunc(rendered.Inputs().Folders(), mounted)
}

// timedCommits tells how long pushes took.
type timedCommits struct {
	publish.Commits
	now func() time.Time
	git func(operation string, took time.Duration, err error)
}

// Push implements publish.Commits.
func (c timedCommits) Push(ctx context.Context, p bot.Proposal, files []gitops.Edit) (string, error) {
	began := c.now()
	commit, err := c.Commits.Push(ctx, p, files)
	c.git("push", c.now().Sub(began), err)
	return commit, err
}
