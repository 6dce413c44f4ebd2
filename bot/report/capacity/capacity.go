// Package capacity predicts how busy a controller is and how long an Application waits for it, by formulas of queueing theory.
// Package simulate in it answers the same questions by playing them through, and shares no code with the formulas. Both are pure.
//
// A controller is a queue with c servers (its workers). Applications arrive by their intervals and by events; their service
// times are those that the controller measured. Sources: Erlang's C formula for M/M/c; the correction by coefficients of
// variation of Allen and Cunneen for M/G/c (exact for one server, by Pollaczek and Khinchine); the machine repair model for
// Applications that wait an interval after each turn.
package capacity

import (
	"fmt"
	"math"
	"time"
)

// Service is how long a turn takes.
type Service struct {
	// Mean is in seconds.
	Mean float64
	// SCV is the squared coefficient of variation: 0 when all turns take the same time, 1 when they are exponential.
	SCV float64
}

// Model is one controller and what it has to do.
type Model struct {
	// Applications are reconciled every Interval, from the end of one turn to the start of the next.
	Applications int
	Interval     time.Duration
	// Events are further arrivals, a second: commits and changes that a watch sees.
	Events  float64
	Service Service
	Servers int
	// Rollout is how many Applications a commit makes due at one moment.
	Rollout int
}

// Prediction is what the formulas say. Where the queue is not stable there is no wait that it settles at; Period then says how
// often each Application really comes to its turn.
type Prediction struct {
	// Arrivals is Applications a second.
	Arrivals float64 `json:"arrivalsPerSecond"`
	// Utilisation is the share of the workers' time that is asked for; of 1 or more, more than they have.
	Utilisation float64 `json:"utilisation"`
	Stable      bool    `json:"stable"`
	// Wait and WaitP95 are seconds in the queue; absent when not stable.
	Wait    *float64 `json:"waitSeconds,omitempty"`
	WaitP95 *float64 `json:"waitP95Seconds,omitempty"`
	// Period is the seconds from turn to turn of an Application, by intervals alone.
	Period float64 `json:"periodSeconds"`
	// Drain is the seconds until a rollout has had all its turns; absent without a rollout, and when not stable, for then it
	// adds to a queue that does not end.
	Drain *float64 `json:"rolloutDrainSeconds,omitempty"`
	// RolloutWait is the mean wait of its Applications, in seconds.
	RolloutWait *float64 `json:"rolloutWaitSeconds,omitempty"`
}

// Predict evaluates a model. A model that makes no sense (negative, not a number, no server) is an error.
func Predict(m Model) (Prediction, error) {
	if err := m.check(); err != nil {
		return Prediction{}, err
	}
	interval := m.Interval.Seconds()
	p := Prediction{Arrivals: m.Events}
	if m.Applications > 0 {
		p.Arrivals += float64(m.Applications) / interval
		p.Period = Polled(m.Applications, interval, m.Service.Mean, m.Servers).Period
	}
	queue := Open(p.Arrivals, m.Service, m.Servers)
	p.Utilisation, p.Stable = queue.Utilisation, queue.Stable
	if !p.Stable {
		return p, nil
	}
	p.Wait, p.WaitP95 = &queue.Wait, &queue.WaitP95
	if m.Rollout > 0 {
		// The queue is served in order, so what comes during a rollout waits behind it; the rollout waits for what was
		// there, and its own for those before them: from none to all but one round.
		batch := Drain(m.Rollout, m.Service.Mean, m.Servers)
		drain, wait := queue.Wait+batch, queue.Wait+max(0, batch-m.Service.Mean)/2
		p.Drain, p.RolloutWait = &drain, &wait
	}
	return p, nil
}

func (m Model) check() error {
	for _, part := range []struct {
		name  string
		value float64
	}{{"events", m.Events}, {"mean service time", m.Service.Mean}, {"variation of service times", m.Service.SCV}} {
		if math.IsNaN(part.value) || math.IsInf(part.value, 0) || part.value < 0 {
			return fmt.Errorf("queueing model: %s of %v: want a number that is not negative", part.name, part.value)
		}
	}
	switch {
	case m.Servers < 1:
		return fmt.Errorf("queueing model: %d workers: want at least one", m.Servers)
	case m.Applications < 0 || m.Rollout < 0:
		return fmt.Errorf("queueing model: %d Applications, %d in a rollout: want none or more", m.Applications, m.Rollout)
	case m.Applications > 0 && m.Interval <= 0:
		return fmt.Errorf("queueing model: interval %s: want a positive one", m.Interval)
	}
	return nil
}

// Queue is the state that an open queue settles in.
type Queue struct {
	Utilisation float64
	Stable      bool
	// Waiting is the probability to wait at all; Wait and WaitP95 are in seconds. All are zero when not stable.
	Waiting, Wait, WaitP95 float64
}

// Open is M/G/c: arrivals at random at a rate a second, any service time, c servers.
func Open(rate float64, s Service, servers int) Queue {
	c := float64(servers)
	offered := rate * s.Mean
	q := Queue{Utilisation: offered / c}
	if q.Stable = q.Utilisation < 1; !q.Stable || offered == 0 {
		return q
	}
	q.Waiting = erlangC(offered, servers)
	q.Wait = q.Waiting * s.Mean / (c - offered) * (1 + s.SCV) / 2
	// Who waits at all does so for a time that is about exponential.
	const left = 0.05
	if q.Waiting > left {
		q.WaitP95 = q.Wait / q.Waiting * math.Log(q.Waiting/left)
	}
	return q
}

// erlangC is the probability that all servers are busy, for an offered load in Erlangs below their number. Erlang's B by
// its recursion stays within 0 and 1 for any number of servers.
func erlangC(offered float64, servers int) float64 {
	b := 1.0
	for k := 1; k <= servers; k++ {
		b = offered * b / (float64(k) + offered*b)
	}
	c := float64(servers)
	return b / (1 - offered/c*(1-b))
}

// Closed is the state of a queue whose customers come back an interval after each turn.
type Closed struct {
	// Period is from turn to turn of one, Wait in the queue, in seconds.
	Period, Wait float64
	Utilisation  float64
}

// Polled is the machine repair model, M/M/c//N: n Applications, each due an interval after its last turn ended. There is
// always an answer: with more to do than can be done, the period grows to n turns by c servers.
func Polled(n int, interval, mean float64, servers int) Closed {
	if n == 0 || mean == 0 {
		return Closed{Period: interval + mean}
	}
	// weight[k] is the weight of k Applications at the controller, kept in range by scaling.
	weight, sum, busy := 1.0, 1.0, 0.0
	for k := 0; k < n; k++ {
		weight *= float64(n-k) / interval * mean / float64(min(k+1, servers))
		sum += weight
		busy += weight * float64(min(k+1, servers))
		if weight > 1e200 {
			weight, sum, busy = weight*1e-200, sum*1e-200, busy*1e-200
		}
	}
	throughput := busy / sum / mean
	period := float64(n) / throughput
	return Closed{Period: period, Wait: max(0, period-interval-mean), Utilisation: busy / sum / float64(servers)}
}

// Drain is how many seconds a batch takes that arrives at once.
func Drain(batch int, mean float64, servers int) float64 {
	return math.Ceil(float64(batch)/float64(servers)) * mean
}

// WorkersFor is the least number of workers at which the utilisation is at most share.
func WorkersFor(m Model, share float64) (int, error) {
	if err := m.check(); err != nil {
		return 0, err
	}
	if !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("queueing model: a utilisation of %v to aim at: want one from 0 to 1", share)
	}
	offered := m.Events * m.Service.Mean
	if m.Applications > 0 {
		offered += float64(m.Applications) / m.Interval.Seconds() * m.Service.Mean
	}
	need := math.Ceil(offered/share - 1e-9)
	if need > 1e9 {
		return 0, fmt.Errorf("queueing model: %.0f workers would be needed", need)
	}
	return max(1, int(need)), nil
}
