package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// Stamp tells one stored scan of a cluster from those before it: it rises with every SaveScan.
type Stamp int64

// SaveScan keeps what the last round of a cluster found, in place of what an earlier one did. It is stored as
// compressed JSON.
func (s *Store) SaveScan(ctx context.Context, cluster string, scan any) error {
	var data bytes.Buffer
	packer := gzip.NewWriter(&data)
	if err := json.NewEncoder(packer).Encode(scan); err != nil {
		return s.wrap("keeping the scan of "+cluster, err)
	}
	if err := packer.Close(); err != nil {
		return s.wrap("keeping the scan of "+cluster, err)
	}
	return s.wrap("keeping the scan of "+cluster, s.transact(ctx, func(tx transaction) error {
		_, err := tx.exec(ctx, `INSERT INTO holdfast_scan (cluster, at, data) VALUES ($1, {now}, $2)
			ON CONFLICT (cluster) DO UPDATE SET at = CASE WHEN holdfast_scan.at >= {now} THEN holdfast_scan.at + 1 ELSE {now} END, data = $2`,
			cluster, data.Bytes())
		return err
	}))
}

// StoredScan is a cluster's last scan as it lies in the store.
type StoredScan struct {
	Cluster string
	Stamp   Stamp
	// Decode unpacks it; nil for one whose stamp the caller knew. One that cannot be decoded, as a newer version may
	// have written it, is for the caller to leave out: the next round replaces it.
	Decode func(into any) error
}

// Scans gives every cluster's last scan, by name. Those whose stamps are known by cluster are not read.
func (s *Store) Scans(ctx context.Context, known map[string]Stamp) ([]StoredScan, error) {
	var out []StoredScan
	err := s.transact(ctx, func(tx transaction) error {
		out = nil
		err := tx.query(ctx, "SELECT cluster, at FROM holdfast_scan ORDER BY cluster", func(scan func(...any) error) error {
			var one StoredScan
			err := scan(&one.Cluster, &one.Stamp)
			out = append(out, one)
			return err
		})
		if err != nil {
			return err
		}
		for i := range out {
			if at, is := known[out[i].Cluster]; is && at == out[i].Stamp {
				continue
			}
			err := tx.query(ctx, "SELECT data FROM holdfast_scan WHERE cluster = $1", func(scan func(...any) error) error {
				var data []byte
				err := scan(&data)
				data = bytes.Clone(data)
				out[i].Decode = func(into any) error { return unpack(data, into) }
				return err
			}, out[i].Cluster)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, s.wrap("reading the scans", err)
}

// mostUnpacked bounds one stored scan, in bytes of JSON.
const mostUnpacked = 1 << 30

func unpack(data []byte, into any) error {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("a stored scan: %w", err)
	}
	if err := json.NewDecoder(io.LimitReader(reader, mostUnpacked)).Decode(into); err != nil {
		return fmt.Errorf("a stored scan: %w", err)
	}
	return nil
}

// Schedule says how often a cluster is scanned.
type Schedule struct {
	Cluster string
	Every   time.Duration
}

// Jitter is by how much a scan comes earlier or later than its interval says, as a part of it, so that the scans of
// many clusters spread out.
const Jitter = 0.1

// Settle makes the schedules those given: new clusters are due now, those that are not listed are forgotten with all
// that is known of them, and none is due later than its interval allows.
func (s *Store) Settle(ctx context.Context, schedules []Schedule) error {
	return s.wrap("settling the schedules", s.transact(ctx, func(tx transaction) error {
		listed := map[string]bool{}
		for _, one := range schedules {
			listed[one.Cluster] = true
			_, err := tx.exec(ctx, `INSERT INTO holdfast_schedule (cluster, due) VALUES ($1, {now})
				ON CONFLICT (cluster) DO UPDATE SET due = CASE WHEN holdfast_schedule.due > {now} + $2 THEN {now} + $2 ELSE holdfast_schedule.due END`,
				one.Cluster, one.Every.Milliseconds())
			if err != nil {
				return err
			}
		}
		var gone []string
		err := tx.query(ctx, "SELECT cluster FROM holdfast_schedule UNION SELECT cluster FROM holdfast_scan UNION SELECT cluster FROM holdfast_round",
			func(scan func(...any) error) error {
				var cluster string
				err := scan(&cluster)
				if !listed[cluster] {
					gone = append(gone, cluster)
				}
				return err
			})
		if err != nil {
			return err
		}
		for _, cluster := range gone {
			for _, statement := range []string{
				"DELETE FROM holdfast_schedule WHERE cluster = $1", "DELETE FROM holdfast_scan WHERE cluster = $1", "DELETE FROM holdfast_round WHERE cluster = $1",
			} {
				if _, err := tx.exec(ctx, statement, cluster); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// AskDue asks for a round of each cluster that is due, and sets when it is due next. Of several processes one does
// so. It gives the clusters that it asked for.
func (s *Store) AskDue(ctx context.Context, schedules []Schedule) ([]string, error) {
	var asked []string
	err := s.transact(ctx, func(tx transaction) error {
		asked = nil
		for _, one := range schedules {
			every := one.Every + time.Duration((2*rand.Float64()-1)*Jitter*float64(one.Every))
			due, err := tx.exec(ctx, "UPDATE holdfast_schedule SET due = {now} + $2 WHERE cluster = $1 AND due <= {now}", one.Cluster, every.Milliseconds())
			if err != nil {
				return err
			}
			if due == 0 {
				continue
			}
			if err := ask(ctx, tx, one.Cluster, "its schedule"); err != nil {
				return err
			}
			asked = append(asked, one.Cluster)
		}
		return nil
	})
	return asked, s.wrap("asking for due rounds", err)
}

// Depth is how many jobs of a kind are in a state of River's: available, running, retryable, scheduled, completed,
// cancelled, discarded. The last are those that failed for good.
type Depth struct {
	Kind, State string
	Jobs        int
}

// Depths counts the jobs, by kind and state.
func (s *Store) Depths(ctx context.Context) ([]Depth, error) {
	var out []Depth
	err := s.transact(ctx, func(tx transaction) error {
		out = nil
		return tx.query(ctx, "SELECT kind, CAST(state AS text), COUNT(*) FROM river_job GROUP BY kind, state ORDER BY 1, 2", func(scan func(...any) error) error {
			var d Depth
			err := scan(&d.Kind, &d.State, &d.Jobs)
			out = append(out, d)
			return err
		})
	})
	return out, s.wrap("counting jobs", err)
}
