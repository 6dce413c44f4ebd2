package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"holdfast/bot"
	"holdfast/bot/store"
	"holdfast/detect"
)

// Rounds does the work of rounds. It is called from several goroutines, but never twice at the same time for one
// cluster.
type Rounds interface {
	// Scan reads one cluster, and what its Applications have in Git. An error means that nothing could be said.
	Scan(ctx context.Context, cluster string) (Round, error)
}

// Round is a scan that can be published.
type Round interface {
	// Result is the scan.
	Result() detect.Scan
	// Repositories are the URLs of those that Publish writes to, in one spelling whatever the cluster. Nobody else
	// publishes to them meanwhile.
	Repositories() []string
	// Publish makes the forges look as the scan wants, beside what the last rounds of the other clusters found. It
	// goes on where one forge fails, and gives what it did together with the errors.
	Publish(ctx context.Context, others []Report) (Published, error)
}

// Events acts on what people do on a forge.
type Events interface {
	// Handle acts on an event that is no push. What it does must be idempotent: a delivery can come to it again
	// after a crash. It gives whether the clusters that read the repository shall be scanned again.
	Handle(ctx context.Context, d store.Delivery) (rescan bool, err error)
}

// round is the job of scanning a cluster and publishing what was found.
func (s *Server) round(ctx context.Context, asked store.Round) error {
	name := asked.Cluster
	if !slices.ContainsFunc(s.options.Clusters, func(c Cluster) bool { return c.Name == name }) {
		s.log.Warn("a round of a cluster that is not configured any more is dropped", "cluster", name)
		return nil
	}
	ctx, span := s.options.Tracer.Start(ctx, "round", trace.WithAttributes(attribute.String("holdfast.cluster", name), attribute.String("holdfast.reason", asked.Reason)))
	defer span.End()
	log := s.log.With("cluster", name, "reason", asked.Reason, "attempt", asked.Attempt)
	log.Info("round begins")
	began := s.options.Now()
	report := Report{Cluster: name, Began: began}
	err := s.scanAndPublish(ctx, &report)
	report.Ended = s.options.Now()
	if errors.Is(err, store.ErrBusy) {
		log.Info("round waits", "why", err.Error())
		return err
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) { // stopping: the round is given back
		log.Info("round is interrupted")
		return cmp.Or(err, ctx.Err())
	}
	if err != nil {
		report.Error = err.Error()
		span.SetStatus(codes.Error, "the round failed")
	}
	if saved := s.save(context.WithoutCancel(ctx), &report); saved != nil {
		err = errors.Join(err, saved)
	}
	s.options.Metrics.round(report)
	s.first.ended(name, err)
	if err != nil {
		log.Error("round failed", "duration", report.Ended.Sub(began).String(), "error", err.Error())
		return err
	}
	log.Info("round ends", "duration", report.Ended.Sub(began).String(), "objects", report.Scan.Objects, "drifts", report.Drifts(), "effects", report.Published.Effects)
	return nil
}

// scanAndPublish fills the report as far as it comes.
func (s *Server) scanAndPublish(ctx context.Context, report *Report) error {
	scanning, span := s.options.Tracer.Start(ctx, "scan")
	round, err := s.options.Rounds.Scan(scanning, report.Cluster)
	span.End()
	report.Scanned = s.options.Now()
	if err != nil {
		return fmt.Errorf("cluster %s: %w", report.Cluster, err)
	}
	report.fill(round.Result())
	release, err := s.lock(ctx, round.Repositories())
	if err != nil {
		return err
	}
	defer release()
	reports, err := s.Reports(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(reports, func(r Report) bool { return r.Cluster == report.Cluster })
	for _, c := range s.options.Clusters { // of which nothing is known yet
		if c.Name != report.Cluster && !slices.ContainsFunc(others, func(r Report) bool { return r.Cluster == c.Name }) {
			others = append(others, Report{Cluster: c.Name, Error: "not scanned yet"})
		}
	}
	publishing, span := s.options.Tracer.Start(ctx, "publish")
	defer span.End()
	report.Published, err = round.Publish(publishing, others)
	return err
}

// lockPatience is how long a round waits for other rounds of its repositories before it is put back to the queue.
const lockPatience = 30 * time.Second

// lock takes the locks of all repositories, in the same order everywhere, so that no two rounds wait for each other.
func (s *Server) lock(ctx context.Context, repositories []string) (release func(), err error) {
	names := make([]string, 0, len(repositories))
	for _, url := range repositories {
		names = append(names, "repository "+detect.Digest(url)[:20]) // a URL may be long
	}
	slices.Sort(names)
	var held []func()
	release = func() {
		for _, one := range slices.Backward(held) {
			one()
		}
	}
	end := s.options.Now().Add(lockPatience)
	for _, name := range slices.Compact(names) {
		for {
			free, err := s.worker.Lock(ctx, name)
			if err == nil {
				held = append(held, free)
				break
			}
			if !errors.Is(err, store.ErrBusy) || s.options.Now().After(end) {
				release()
				return nil, err
			}
			select {
			case <-ctx.Done():
				release()
				return nil, ctx.Err()
			case <-time.After(250 * time.Millisecond):
			}
		}
	}
	return release, nil
}

// save keeps the report. Of a round that failed before its scan, what the last one found stays.
func (s *Server) save(ctx context.Context, report *Report) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	reports, err := s.Reports(ctx)
	if err != nil {
		return err
	}
	report.after(reports)
	return s.options.Store.SaveScan(ctx, report.Cluster, report)
}

// Reports gives the last report of each cluster, by name. They are shared: whoever gets them changes nothing in them.
func (s *Server) Reports(ctx context.Context) ([]Report, error) {
	return s.reports.get(ctx, s.options.Store, s.log)
}

// recall takes over what rounds before this start have found.
func (s *Server) recall(ctx context.Context) error {
	reports, err := s.Reports(ctx)
	for _, r := range reports {
		var failed error
		if r.Error != "" {
			failed = errors.New(r.Error)
		}
		s.options.Metrics.drift(r)
		s.first.ended(r.Cluster, failed)
	}
	return err
}

// event is the job of acting on a webhook delivery.
func (s *Server) event(ctx context.Context, d store.Delivery) error {
	e := d.Event
	ctx, span := s.options.Tracer.Start(ctx, "event", trace.WithAttributes(attribute.String("holdfast.hook", d.Hook), attribute.String("holdfast.kind", string(e.Kind))))
	defer span.End()
	log := s.log.With("hook", d.Hook, "delivery", e.Delivery, "request", d.Request, "kind", e.Kind, "action", e.Action, "repository", e.FullName)
	rescan, err := s.act(ctx, d)
	if err != nil {
		return fmt.Errorf("%s %s at webhook %s: %w", e.Kind, e.Delivery, d.Hook, err)
	}
	if !rescan {
		log.Debug("event asks for no round")
		return nil
	}
	reads, err := s.reads(ctx)
	if err != nil {
		return err
	}
	for _, c := range s.options.Clusters {
		if !concerned(reads[c.Name], e) {
			continue
		}
		log.Info("event asks for a round", "cluster", c.Name)
		if err := s.options.Store.Ask(ctx, c.Name, reasonOf(e)); err != nil {
			return err
		}
	}
	return nil
}

func reasonOf(e bot.Event) string {
	if e.Kind == bot.EventPush {
		return fmt.Sprintf("a push to %.100s", e.Branch)
	}
	return fmt.Sprintf("%s %.40s", e.Kind, e.Action)
}

// reads gives what the Applications of each cluster read, as its last report says.
func (s *Server) reads(ctx context.Context) (map[string][]Reads, error) {
	reports, err := s.Reports(ctx)
	out := map[string][]Reads{}
	for _, r := range reports {
		out[r.Cluster] = r.Reads
	}
	return out, err
}

// concerned says whether an event may change what a round of a cluster finds, whose Applications read this. Where
// nothing is known of that, it may.
func concerned(reads []Reads, e bot.Event) bool {
	return len(reads) == 0 || slices.ContainsFunc(reads, func(r Reads) bool { return r.concerns(e) })
}
