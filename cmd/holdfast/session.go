package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/bot/forge"
	"holdfast/bot/publish"
	"holdfast/cmd/holdfast/config"
	"holdfast/detect"
	"holdfast/detect/assess"
	"holdfast/detect/classify"
	"holdfast/detect/live"
	"holdfast/detect/policy"
	"holdfast/detect/scan"
	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/render"
	"holdfast/gitops/render/cache"
	"holdfast/gitops/typed"
	"holdfast/templates"
)

// policyFile is where a repository keeps its policy unless the configuration says otherwise.
const policyFile = ".holdfast.yaml"

// session is one run of a command: its flags and configuration, made into the inputs of the pipelines.
type session struct {
	flags   inputFlags
	config  *config.Config
	out     io.Writer
	streams streams
	sources *sources
	charts  *chartSources
	input   scan.Input
	targets []scan.Target
	// scopes tells the scope of a kind, once clusters have been read.
	namespaced func(gitops.GroupKind) (bool, bool)
	// served is what each cluster says of itself to charts, by name.
	served map[string]render.Env
	service
}

// service is what a process that runs many rounds adds to each of its sessions. The zero value is that of a command.
type service struct {
	// serving says that it is the service, which keeps dashboard issues and proposes policies.
	serving bool
	// kept are the repositories that stay open from run to run.
	kept *keptSources
	// forge opens a repository's forge; nil opens it anew.
	forge func(context.Context, config.Forge) (forge.Publisher, error)
	// outcome takes what was done on a forge; nil prints it.
	outcome func(publish.Outcome)
	// commits wraps what pushes branches; nil leaves it.
	commits func(publish.Commits) publish.Commits
	// effects is told of each outside effect; nil is not.
	effects publish.Watch
	// budgets are what may be created on forges, from run to run; nil has them anew in each.
	budgets *budgets
	// standings are what the ledgers say of orders and exceptions, from run to run.
	standings *standings
	// warn takes what an operator should look at; nil prints it.
	warn func(string)
}

// newSession checks everything that can be checked before a cluster or repository is read.
func newSession(s streams, flags inputFlags) (*session, error) {
	x := &session{flags: flags, out: s.out, streams: s, service: service{effects: s.effects}}
	var err error
	if x.config, err = loadConfig(flags.config); err != nil {
		return nil, err
	}
	if x.input, err = x.fixedInput(); err != nil {
		return nil, err
	}
	return x.begin()
}

// begin gives a session for a run that begins now: it shares what does not change with time (the configuration,
// schemas, rules, renders found again by what they read), and reads all else anew.
func (x *session) begin() (*session, error) {
	run := &session{flags: x.flags, config: x.config, out: x.out, streams: x.streams, input: x.input, service: x.service}
	var err error
	if run.sources, err = newSources(run.flags.git, run.config); err != nil {
		return nil, err
	}
	run.sources.kept = run.kept
	if run.charts, err = newChartSources(run); err != nil {
		return nil, err
	}
	if run.standings == nil {
		run.standings = &standings{}
	}
	if run.budgets == nil {
		run.budgets = newBudgets(run.streams.now, run.config)
	}
	run.input.Now = run.streams.now()
	run.input.Chart, run.input.Bound, run.input.Progress = run.charts.fetch, run.bound, run.progress
	run.input.Open = func(ctx context.Context, url string) (scan.Repository, error) {
		opened, err := run.sources.get(ctx, url)
		if err != nil {
			return nil, err
		}
		return opened, nil
	}
	given, objects, err := run.applications()
	if err != nil {
		return nil, err
	}
	for _, app := range given {
		run.sources.given = append(run.sources.given, repositories(app)...)
	}
	if run.targets, err = run.newTargets(given, objects); err != nil {
		return nil, err
	}
	if err := readAudits(run.flags.audit, run.targets); err != nil {
		return nil, err
	}
	run.input.Targets = run.targets
	return run, nil
}

func loadConfig(file string) (*config.Config, error) {
	if file == "" {
		if _, err := os.Stat("holdfast.yaml"); err != nil {
			return &config.Config{}, nil
		}
		file = "holdfast.yaml"
	}
	return config.Load(file)
}

// fixedInput gives the part of a scan's input that is the same in every run.
func (x *session) fixedInput() (scan.Input, error) {
	in := scan.Input{
		Revision: x.flags.revision, Standards: x.flags.standards, All: x.flags.all,
		Limits: x.config.Limits.Render.Limits(), Renders: cache.New(cache.DefaultBytes),
	}
	if len(in.Standards) == 0 {
		in.Standards = x.config.Standards
	}
	var err error
	if in.Schemas, err = typed.Builtin(); err != nil {
		return in, err
	}
	if in.Rules, err = classify.LoadRules(); err != nil {
		return in, err
	}
	if in.Assessor, err = assess.New(); err != nil {
		return in, err
	}
	for _, id := range in.Standards {
		if known := in.Assessor.Standards(); !slices.Contains(known, id) {
			return in, fmt.Errorf("standard %q: want one of %s", id, strings.Join(known, ", "))
		}
	}
	in.Policy, err = x.policies()
	return in, err
}

// policies gives what finds an Application's policy: the file of --policy, the one in the repository, or
// the built-in policy of the tier; always under the server's floor.
func (x *session) policies() (func(gitops.Application, detect.Tier, gitops.Tree) (*policy.Policy, error), error) {
	var fixed *policy.Policy
	if file := x.flags.policy; file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
		if fixed, err = policy.Decode(file, data); err != nil {
			return nil, err
		}
	}
	return func(app gitops.Application, tier detect.Tier, tree gitops.Tree) (*policy.Policy, error) {
		p := fixed
		if p == nil {
			name := policyFile
			if r := x.config.Repository(app.Source.Repo); r != nil && r.Policy != "" {
				name = r.Policy
			}
			if data, ok := tree.Read(name); ok {
				var err error
				if p, err = policy.Decode(name, data); err != nil {
					return nil, err
				}
			} else {
				p = policy.Builtin(tier)
			}
		}
		return p.Under(x.config.Floor), nil
	}, nil
}

// bound holds Applications to the repositories that the configuration binds to their cluster and namespace.
// Without a configuration, or with --git, the person who runs the command has chosen.
func (x *session) bound(app gitops.Application) (ok bool, reason string) {
	if app.Source.Kind == "HelmRepository" {
		return x.boundChart(app)
	}
	if len(x.config.Repositories) == 0 || len(x.flags.git) > 0 {
		return true, ""
	}
	return x.config.Bindings().Allows(app.Source.Repo, app.Cluster, app.Namespace)
}

// newTargets gives the clusters to read: the dump, else those of the flags, else those of the
// configuration, else the current context. Objects are what the given Applications were decoded from.
func (x *session) newTargets(given []gitops.Application, objects []gitops.Object) ([]scan.Target, error) {
	tier, err := detect.ParseTier(orDefault(x.flags.tier, string(x.config.Tier)))
	if err != nil {
		return nil, err
	}
	only := x.flags.path != "" || len(x.flags.applications) > 0
	if len(x.flags.live) > 0 {
		snapshot, err := live.Dump(x.flags.live)
		if err != nil && !errors.Is(err, live.ErrUnreadable) {
			return nil, err
		}
		name := "dump"
		if len(x.config.Clusters) == 1 {
			name = x.config.Clusters[0].Name
			if own := x.config.Clusters[0].Tier; x.flags.tier == "" && own != "" {
				tier = own
			}
		}
		if err == nil {
			snapshot.Settle()
			x.namespaced = snapshot.Namespaced
		}
		return []scan.Target{{Name: name, Tier: tier, Cluster: dump{snapshot, err}, Applications: given, Objects: objects, OnlyGiven: only}}, nil
	}
	var targets []scan.Target
	for _, c := range x.clusters() {
		if c.Name == "" {
			if c.Name, err = live.ContextName(c.Kubeconfig, c.Context); err != nil {
				return nil, err
			}
		}
		target := scan.Target{Name: c.Name, Tier: tier, Applications: given, Objects: objects, OnlyGiven: only, Cluster: &lazyCluster{learn: x.learn, options: live.Options{
			Kubeconfig: c.Kubeconfig, Context: c.Context, Name: c.Name, Secrets: live.Secrets(orDefault(x.flags.secrets, c.Secrets)),
			UserAgent: "holdfast/" + version, Given: objects,
		}}}
		if x.flags.tier == "" && c.Tier != "" {
			target.Tier = c.Tier
		}
		targets = append(targets, target)
	}
	return targets, nil
}

// learn keeps what a cluster says of itself, and which kinds it serves with a namespace, for the renders of proposals. Of several
// clusters the first that knows a kind tells.
func (x *session) learn(snapshot *live.Snapshot) {
	x.serves(snapshot.Cluster, render.Env{KubeVersion: snapshot.Version, APIVersions: snapshot.APIVersions})
	before, here := x.namespaced, snapshot.Namespaced // not the snapshot: it is large
	x.namespaced = func(kind gitops.GroupKind) (namespaced, known bool) {
		if before != nil {
			if namespaced, known = before(kind); known {
				return namespaced, known
			}
		}
		return here(kind)
	}
}

// serves keeps what charts see of a cluster.
func (x *session) serves(cluster string, env render.Env) {
	if x.served == nil {
		x.served = map[string]render.Env{}
	}
	x.served[cluster] = env
}

// clusters gives the clusters that flags or configuration name. An empty one is the current context.
func (x *session) clusters() []config.Cluster {
	if len(x.flags.contexts) == 0 && x.flags.kubeconfig == "" && len(x.config.Clusters) > 0 {
		return x.config.Clusters
	}
	contexts := slices.Clone(x.flags.contexts)
	if len(contexts) == 0 {
		contexts = []string{""}
	}
	var out []config.Cluster
	for i, name := range contexts {
		if slices.Contains(contexts[:i], name) {
			continue
		}
		c := config.Cluster{Kubeconfig: x.flags.kubeconfig, Context: name}
		if i := slices.IndexFunc(x.config.Clusters, func(k config.Cluster) bool { return k.Name == name && name != "" }); i >= 0 {
			c = x.config.Clusters[i]
		}
		out = append(out, c)
	}
	return out
}

// dump is a cluster that was dumped to files: it gives all it has, whatever is wanted. With err nothing of it can be
// read, as of a cluster that does not answer.
type dump struct {
	snapshot *live.Snapshot
	err      error
}

func (d dump) EngineObjects(context.Context) (*live.Snapshot, error)     { return d.snapshot, d.err }
func (d dump) Read(context.Context, live.Wanted) (*live.Snapshot, error) { return d.snapshot, d.err }

// lazyCluster connects when it is first read, so that bad flags are told before.
type lazyCluster struct {
	options live.Options
	learn   func(*live.Snapshot)
	cluster *live.Cluster
}

func (l *lazyCluster) connect(ctx context.Context) error {
	if l.cluster != nil {
		return nil
	}
	var err error
	l.cluster, err = live.Connect(ctx, l.options)
	return err
}

func (l *lazyCluster) EngineObjects(ctx context.Context) (*live.Snapshot, error) {
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	snapshot, err := l.cluster.EngineObjects(ctx)
	if err == nil {
		l.learn(snapshot)
	}
	return snapshot, err
}

func (l *lazyCluster) Read(ctx context.Context, w live.Wanted) (*live.Snapshot, error) {
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	return l.cluster.Read(ctx, w)
}

// render renders an Application from a tree, for proposals.
func (x *session) render(ctx context.Context, tree gitops.Tree, app gitops.Application) (*render.Result, error) {
	env := x.served[app.Cluster]
	env.Namespaced, env.Limits = x.namespaced, x.input.Limits
	return x.input.Renders.Render(ctx, tree, app, env)
}

// fleet gives the Applications that may read a repository's tree: those that were scanned, those that other scans have
// seen, then those that the tree itself declares, for clusters that are not read.
func (x *session) fleet(result detect.Scan, seen ...gitops.Application) func(gitops.Tree, string) []gitops.Application {
	return func(tree gitops.Tree, repo string) []gitops.Application {
		out := slices.DeleteFunc(slices.Clone(seen), func(a gitops.Application) bool { return a.Source.Repo != repo })
		for _, a := range result.Applications {
			if a.Application.Source.Repo == repo {
				out = append(out, a.Application)
			}
		}
		declared, _ := engines.InTree(tree)
		for _, d := range declared {
			if !slices.ContainsFunc(out, func(a gitops.Application) bool {
				return a.Kind == d.Kind && a.Namespace == d.Namespace && a.Name == d.Name && a.Source.Path == d.Source.Path
			}) {
				out = append(out, d)
			}
		}
		return out
	}
}

// repositoriesOf lists the repositories of the Applications that a scan could assess, each once. Whoever may
// make an Application in a cluster can name any repository in it, so one that is not bound must not be asked for.
func (x *session) repositoriesOf(result detect.Scan) []string {
	var out []string
	for _, a := range result.Applications {
		if url := a.Application.Source.Repo; a.State == detect.Rendered && !slices.Contains(out, url) {
			out = append(out, url)
		}
	}
	return out
}

// progress shows one line on a terminal, replaced by the next; the empty one removes it.
func (x *session) progress(message string) {
	if x.streams.progress {
		fmt.Fprintf(x.streams.err, "\r\x1b[K%s", templates.Printable(message))
	}
}

func (x *session) reportOutcome(o publish.Outcome) {
	if x.outcome != nil {
		x.outcome(o)
		return
	}
	name := string(o.Action.Proposal.Kind)
	title := o.Action.Proposal.Title
	if title == "" {
		name, title = string(o.Thread.Kind), o.Thread.Title
	}
	verb := string(o.Action.Verb)
	switch {
	case o.Err != nil:
		verb = "failed"
	case !o.Waits.IsZero():
		verb = "waits"
		o.Action.Reason += fmt.Sprintf("; what may be created on the forge is used up until %s", o.Waits.UTC().Format(time.RFC3339))
	}
	line := fmt.Sprintf("%-11s %-12s %s  %s", verb, name, title, o.Action.Reason)
	if o.Thread.URL != "" {
		line += "  " + o.Thread.URL
	}
	fmt.Fprintln(x.out, templates.Printable(line))
}

func orDefault(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
