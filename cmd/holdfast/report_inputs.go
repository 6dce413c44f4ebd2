package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"holdfast/bot/ledger"
	"holdfast/bot/report"
	"holdfast/detect"
	figures "holdfast/detect/collect"
	"holdfast/detect/live"
	"holdfast/detect/scan"
	"holdfast/detect/setting"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// ledgerFlags name ledgers and what verifies them.
type ledgerFlags struct {
	places  []string
	branch  string
	allowed []string
	anchors string
}

func (f *ledgerFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.places, "ledger", nil, "`DIR|URL`: a repository with a ledger, repeatable")
	flags.StringVar(&f.branch, "ledger-branch", ledger.DefaultBranch, "`NAME` of the ledgers' branch")
	flags.StringArrayVar(&f.allowed, "allowed-signers", nil, "`FILE`: the keys that may sign ledgers; without any they are read and not verified; repeatable")
	flags.StringVar(&f.anchors, "anchors", "", "`FILE`: batches of ledgers that were seen elsewhere")
}

// gather reads all that the analysis is made from. A cluster that was not asked for by name and is not there is no error: it is
// told among what could not be read.
func (f *reportFlags) gather(ctx context.Context, s streams, in *report.Input) error {
	for _, file := range f.scans {
		doc, err := readScan(s, file)
		if err != nil {
			return err
		}
		one, err := scanOfReport(file, *doc)
		if err != nil {
			return err
		}
		in.Scans = append(in.Scans, one)
		in.Synthetic = orDefault(in.Synthetic, doc.Synthetic)
	}
	if err := f.ledgers.read(ctx, f.inputs.config, s.now(), in); err != nil {
		return err
	}
	if err := f.measured(ctx, in); err != nil {
		return err
	}
	asked := len(f.inputs.live)+len(f.inputs.contexts)+len(f.inputs.applications) > 0 || f.inputs.kubeconfig != "" || f.inputs.path != ""
	if !asked && len(in.Scans)+len(in.Trails) > 0 {
		return nil
	}
	err := f.scanNow(ctx, s, in)
	if err != nil && !asked && ctx.Err() == nil {
		in.Unread = append(in.Unread, report.Unread{What: "the clusters of the configuration or the current context", Reason: err.Error()})
		return nil
	}
	return err
}

// measured reads what controllers measure. A page that cannot be reached is told among what could not be read; one in a file that
// is not there is a slip of whoever named it.
func (f *reportFlags) measured(ctx context.Context, in *report.Input) error {
	for _, text := range f.metrics {
		cluster, place, named := strings.Cut(text, "=")
		if !named || strings.ContainsAny(cluster, "/:?") {
			cluster, place = "", text
		}
		if cluster == "" {
			cluster = soleCluster(in.Scans)
		}
		all, err := figures.Read(ctx, place)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("--metrics: %w", err)
		}
		shown := gitops.WithoutCredentials(place)
		if err != nil {
			in.Unread = append(in.Unread, report.Unread{Cluster: cluster, What: "the figures of a controller at " + shown, Reason: err.Error()})
			continue
		}
		if len(all) == 0 {
			in.Unread = append(in.Unread, report.Unread{Cluster: cluster, What: "the figures of a controller at " + shown, Reason: "the page tells of no controller of Flux or Argo CD"})
		}
		for _, c := range all {
			in.Controllers = append(in.Controllers, controllerOfReport(cluster, shown, c))
		}
	}
	return nil
}

// soleCluster is the cluster of scans that tell of one alone.
func soleCluster(scans []report.Scan) string {
	name := ""
	for _, s := range scans {
		for _, a := range s.Applications {
			if name != "" && name != a.Cluster {
				return "unnamed"
			}
			name = a.Cluster
		}
	}
	return orDefault(name, "unnamed")
}

func controllerOfReport(cluster, source string, c figures.Controller) report.Controller {
	out := report.Controller{
		Cluster: cluster, Name: c.Name, Engine: c.Engine, Source: source + ", since the controller started", Depth: c.Depth, Retries: c.Retries, Busy: c.Busy,
		Duration: distribution(c.Duration), QueueWait: distribution(c.Wait),
	}
	if c.Workers != nil && *c.Workers >= 1 {
		n := int(*c.Workers)
		out.Workers = &n
	}
	return out
}

func distribution(h *figures.Histogram) *report.Distribution {
	if h == nil {
		return nil
	}
	variation := h.Variation()
	d := report.Distribution{Count: h.Count, Mean: h.Mean(), SCV: &variation}
	for share, into := range map[float64]**float64{0.5: &d.P50, 0.95: &d.P95, 0.99: &d.P99} {
		if v, ok := h.Quantile(share); ok {
			*into = &v
		}
	}
	return &d
}

// scanNow scans clusters as `holdfast scan` does, and looks at the marks that tell provider and engines.
func (f *reportFlags) scanNow(ctx context.Context, s streams, in *report.Input) error {
	f.inputs.standards = setting.WithFlavours(in.Given.Standards, in.Given.Providers)
	if len(in.Given.Tiers) == 1 {
		f.inputs.tier = string(in.Given.Tiers[0])
	}
	if err := f.inputs.check(nil); err != nil {
		return err
	}
	session, err := newSession(s, f.inputs)
	if err != nil {
		return err
	}
	result, err := session.scan(ctx)
	if err != nil {
		return err
	}
	doc := scanDocument(result)
	for i := range doc.Clusters {
		doc.Clusters[i].Tier = session.configuredTier(doc.Clusters[i].Name)
		session.marks(ctx, &doc.Clusters[i], result.Clusters[i].APIVersions)
	}
	one, err := scanOfReport("the cluster itself", doc)
	if err != nil {
		return err
	}
	in.Scans = append(in.Scans, one)
	return nil
}

// configuredTier is the tier that the configuration gives a cluster; empty where it gives none, since a default is no observation.
func (x *session) configuredTier(cluster string) detect.Tier {
	for _, c := range x.config.Clusters {
		if c.Name == cluster && c.Tier != "" {
			return c.Tier
		}
	}
	return x.config.Tier
}

// marks reads nodes and the engines' controllers of a cluster. What cannot be read of them leaves provider and engines as the
// scan has them.
func (x *session) marks(ctx context.Context, c *clusterJSON, apiVersions []string) {
	i := slices.IndexFunc(x.targets, func(t scan.Target) bool { return t.Name == c.Name || t.Name == "" })
	if i < 0 {
		return
	}
	snapshot, err := x.targets[i].Cluster.Read(ctx, live.Wanted{WholeKinds: []gitops.GroupKind{{Kind: "Node"}}, IDs: engineControllers()})
	if err != nil || snapshot == nil {
		return
	}
	marks := setting.Marks{Version: c.Version, APIVersions: apiVersions}
	var workloads []gitops.Object
	kinds := func(id gitops.ObjectID) bool {
		return id.Group == "" && id.Kind == "Node" || id.Group == "apps" && (id.Kind == "Deployment" || id.Kind == "StatefulSet")
	}
	for o := range snapshot.Objects.Where(kinds) {
		if o.ID.Kind == "Node" {
			marks.Nodes = append(marks.Nodes, o)
		} else {
			workloads = append(workloads, o)
		}
	}
	if d, ok := setting.DetectProvider(marks); ok {
		c.Provider = &d
	}
	c.Engines = setting.DetectEngines(workloads)
}

// engineControllers are where the engines' own installers put their controllers.
func engineControllers() []gitops.ObjectID {
	out := []gitops.ObjectID{{Group: "apps", Kind: "StatefulSet", Namespace: "argocd", Name: "argocd-application-controller"}}
	for _, name := range []string{"kustomize-controller", "helm-controller", "source-controller"} {
		out = append(out, gitops.ObjectID{Group: "apps", Kind: "Deployment", Namespace: "flux-system", Name: name})
	}
	return out
}

// scanOfReport takes from a scan's document what an analysis is made of.
func scanOfReport(source string, doc scanJSON) (report.Scan, error) {
	out := report.Scan{Source: source, Time: doc.Time, Objects: doc.Summary.Objects, Findings: doc.Findings}
	for _, c := range doc.Clusters {
		out.Clusters = append(out.Clusters, report.Cluster{Name: c.Name, Tier: c.Tier, Version: c.Version, Provider: c.Provider, Engines: c.Engines})
	}
	for _, a := range doc.Applications {
		app := report.Application{
			Cluster: a.Cluster, Namespace: a.Namespace, Name: a.Name, Engine: gitops.Engine(a.Engine), Kind: a.Kind, Repository: a.Source.Repo,
			Assessed: a.State == "rendered", Reason: a.Reason, Suspended: a.Suspended, Conditions: a.Conditions, Objects: a.Objects,
			Correction: a.Correction, Prune: a.Prune,
		}
		if a.Interval != "" {
			interval, err := time.ParseDuration(a.Interval)
			if err != nil || interval < 0 {
				return out, fmt.Errorf("scan %s: Application %s/%s: interval %q: want a length of time that is not negative", source, a.Namespace, a.Name, a.Interval)
			}
			app.Interval = interval
		}
		if !app.Assessed {
			out.Unknown = append(out.Unknown, report.Unread{Cluster: a.Cluster, What: "Application " + a.Namespace + "/" + a.Name, Reason: a.Reason})
		}
		out.Applications = append(out.Applications, app)
	}
	for _, u := range doc.Unknown {
		if u.ByChoice {
			continue
		}
		what := "the cluster"
		if u.Object.Kind != "" {
			what = u.Object.ID().String()
		}
		out.Unknown = append(out.Unknown, report.Unread{Cluster: u.Cluster, What: what, Reason: u.Reason})
	}
	return out, nil
}

// read reads the ledgers.
func (f *ledgerFlags) read(ctx context.Context, configFile string, now time.Time, in *report.Input) error {
	if len(f.places) == 0 {
		if len(f.allowed) > 0 || f.anchors != "" {
			return errors.New("--allowed-signers and --anchors go with --ledger")
		}
		return nil
	}
	var keys *sign.Allowed
	if len(f.allowed) > 0 {
		var err error
		if keys, err = allowedSigners(f.allowed); err != nil {
			return err
		}
	}
	var anchors []ledger.Anchor
	if f.anchors != "" {
		data, err := os.ReadFile(f.anchors)
		if err != nil {
			return fmt.Errorf("--anchors: %w", err)
		}
		if anchors, err = ledger.ParseAnchors(f.anchors, data); err != nil {
			return fmt.Errorf("--anchors: %w", err)
		}
	}
	for _, place := range f.places {
		trail, err := f.readOne(ctx, configFile, place, keys, anchors, now)
		if err != nil {
			return err
		}
		in.Trails = append(in.Trails, *trail)
	}
	return nil
}

func (f *ledgerFlags) readOne(ctx context.Context, configFile, place string, keys *sign.Allowed, anchors []ledger.Anchor, now time.Time) (_ *report.Trail, err error) {
	cfg, err := loadConfig(configFile)
	if err != nil {
		return nil, err
	}
	auth, err := ledgerAuth(cfg, place)
	if err != nil {
		return nil, err
	}
	lineage, err := repo.OpenLineage(ctx, repo.LineageOptions{
		Location: place, Auth: auth, Branch: f.branch, MaxFile: ledger.MaxRecord, MaxBytes: int64(cfg.Limits.Repository.Bytes),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lineage.Close()) }()
	trail := report.NewTrail(gitops.WithoutCredentials(place))
	if keys == nil {
		readUnverified(lineage, trail)
		return trail, ctx.Err()
	}
	verified := ledger.Verify(ledger.Input{
		Steps: lineage.Steps(), Head: lineage.Head(), Keys: keys, Anchors: anchors, Beyond: lineage.Beyond, Now: now, Each: trail.Add,
	})
	trail.Verdict, trail.Problems = verified.Verdict, len(verified.Problems)+verified.ProblemsLeftOut
	return trail, ctx.Err()
}

// readUnverified takes the records of a ledger as they stand, without a look at signatures or order: whoever reads the analysis is
// told so. What is no record is left out.
func readUnverified(lineage *repo.Lineage, trail *report.Trail) {
	for step := range lineage.Steps() {
		for _, change := range step.Changes {
			name, _, ok := ledger.ParsePath(change.Path)
			if !ok || change.Err != nil || change.Kind != repo.Added {
				continue
			}
			var envelope struct {
				Payload []byte `json:"payload"`
			}
			entry := ledger.Entry{Name: name, Path: change.Path, Commit: step.Commit.Hash}
			if json.Unmarshal(change.Data, &envelope) == nil && json.Unmarshal(envelope.Payload, &entry.Statement) == nil {
				trail.Add(entry)
			}
		}
	}
}

// allowedSigners reads the keys that may sign.
func allowedSigners(files []string) (*sign.Allowed, error) {
	keys := &sign.Allowed{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--allowed-signers: %w", err)
		}
		if err := keys.Add(file, data, time.Local); err != nil {
			return nil, fmt.Errorf("--allowed-signers: %w", err)
		}
	}
	if keys.Empty() {
		return nil, errors.New("--allowed-signers: no key is left that may sign")
	}
	return keys, nil
}
