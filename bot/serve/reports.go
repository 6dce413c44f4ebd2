package serve

import (
	"context"
	"log/slog"
	"sync"

	"holdfast/bot/store"
)

// reports keeps the stored reports decoded, so that each is decoded once, however many rounds and pages ask for it.
type reports struct {
	mu     sync.Mutex
	stamps map[string]store.Stamp
	kept   map[string]Report // without those that cannot be decoded
}

// get gives the stored reports, by cluster. One that cannot be decoded is logged once and left out.
func (r *reports) get(ctx context.Context, s *store.Store, log *slog.Logger) ([]Report, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stored, err := s.Scans(ctx, r.stamps)
	if err != nil {
		return nil, err
	}
	stamps, kept := map[string]store.Stamp{}, map[string]Report{}
	var out []Report
	for _, one := range stored {
		stamps[one.Cluster] = one.Stamp
		report, readable := r.kept[one.Cluster]
		if one.Decode != nil {
			report = Report{}
			err := one.Decode(&report)
			if readable = err == nil; !readable {
				log.Warn("what the last round found cannot be read, and is left out", "cluster", one.Cluster, "error", err.Error())
			}
		}
		if readable {
			kept[one.Cluster] = report
			out = append(out, report)
		}
	}
	r.stamps, r.kept = stamps, kept
	return out, nil
}
