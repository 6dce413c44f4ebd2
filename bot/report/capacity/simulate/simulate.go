// Package simulate plays a controller's queue through, event by event: what arrives, waits and is worked off. It knows no formula
// of package capacity, so that each can be held against the other. Chance comes from outside.
package simulate

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// Chance gives numbers from 0 (included) to 1, as rand.Float64 does.
type Chance func() float64

// Draw gives one service time, in seconds.
type Draw func(Chance) float64

// Constant always takes the same time.
func Constant(seconds float64) Draw { return func(Chance) float64 { return seconds } }

// Exponential has a mean and a squared coefficient of variation of 1.
func Exponential(mean float64) Draw {
	return func(u Chance) float64 { return -mean * math.Log(1-u()) }
}

// Varied has a mean and a squared coefficient of variation. Below 1 it is a sum of a fixed part and an exponential one; above 1
// it is mostly short turns and a few long ones.
func Varied(mean, scv float64) Draw {
	switch {
	case scv <= 0:
		return Constant(mean)
	case scv <= 1:
		random := mean * math.Sqrt(scv)
		fixed, draw := mean-random, Exponential(random)
		return func(u Chance) float64 { return fixed + draw(u) }
	}
	often := (1 + math.Sqrt((scv-1)/(scv+1))) / 2
	short, long := Exponential(mean/(2*often)), Exponential(mean/(2*(1-often)))
	return func(u Chance) float64 {
		if u() < often {
			return short(u)
		}
		return long(u)
	}
}

// Observed draws from measured values, each as likely; it needs at least one.
func Observed(seconds []float64) Draw {
	return func(u Chance) float64 { return seconds[min(int(u()*float64(len(seconds))), len(seconds)-1)] }
}

// Controller is what is played through. Times are in seconds.
type Controller struct {
	Servers int
	Service Draw
	// Applications come back Interval after each turn, give or take the share Jitter of it.
	Applications int
	Interval     float64
	Jitter       float64
	// Events arrive at random besides, this many a second.
	Events float64
	// Rollout arrives at once, at the end of the warm-up.
	Rollout int
}

// Run is how long: Turns are counted after Warmup ones. Both bound the work, whatever the load.
type Run struct {
	Warmup, Turns int
}

// Outcome is what was seen after the warm-up.
type Outcome struct {
	// Turns were counted, over Seconds.
	Turns   int
	Seconds float64
	// Wait is the mean time in the queue, with its percentiles; Service the mean of a turn.
	Wait, WaitP50, WaitP95, WaitP99 float64
	Service                         float64
	Utilisation                     float64
	// Period is the mean time from turn to turn of an Application; 0 without.
	Period float64
	// Longest is the longest queue.
	Longest int
	// Drained is how long the rollout took; 0 when there was none or it did not end. RolloutWait is its mean wait.
	Drained, RolloutWait float64
}

// kinds of what arrives.
const (
	polled = iota
	event
	rollout
)

type turn struct {
	kind    int
	arrived float64
}

type happening struct {
	at    float64
	order int // of what happens at the same time, the first planned comes first
	// ends says that a turn ends; otherwise something arrives.
	ends bool
	turn turn
}

type agenda []happening

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(a[i].at, a[j].at), cmp.Compare(a[i].order, a[j].order)) < 0
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(happening)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

type world struct {
	Controller
	chance  Chance
	agenda  agenda
	planned int
	now     float64
	queue   []turn
	head    int // of queue: what is before it has had its turn
	busy    int

	counting    bool
	began       float64
	waits       []float64
	served      float64
	longest     int
	polledTurns int
	waiting     int // rollout turns that did not end yet
	rolledOut   float64
	rolloutWait float64
}

// Play runs a controller. It needs at least one server, and something that arrives.
func Play(c Controller, run Run, chance Chance) Outcome {
	w := &world{Controller: c, chance: chance}
	for i := 0; i < c.Applications; i++ {
		w.plan(chance()*c.Interval, false, turn{kind: polled}) // spread out, as they are after a while
	}
	if c.Events > 0 {
		w.plan(-math.Log(1-chance())/c.Events, false, turn{kind: event})
	}
	ended := 0
	if run.Warmup <= 0 {
		w.startCounting()
	}
	for len(w.agenda) > 0 && ended < run.Warmup+run.Turns {
		h := heap.Pop(&w.agenda).(happening)
		w.now = h.at
		if h.ends {
			w.end(h.turn)
			if ended++; ended == run.Warmup {
				w.startCounting()
			}
		} else {
			w.arrive(h.turn)
		}
	}
	return w.outcome()
}

func (w *world) startCounting() {
	w.counting, w.began = true, w.now
	w.waiting = w.Rollout
	for range w.Rollout {
		w.plan(w.now, false, turn{kind: rollout})
	}
}

func (w *world) plan(at float64, ends bool, t turn) {
	w.planned++
	heap.Push(&w.agenda, happening{at: at, order: w.planned, ends: ends, turn: t})
}

func (w *world) arrive(t turn) {
	t.arrived = w.now
	if t.kind == event {
		w.plan(w.now-math.Log(1-w.chance())/w.Events, false, turn{kind: event})
	}
	if w.busy < w.Servers {
		w.start(t)
		return
	}
	w.queue = append(w.queue, t)
	if w.counting {
		w.longest = max(w.longest, len(w.queue)-w.head)
	}
}

func (w *world) start(t turn) {
	w.busy++
	takes := w.Service(w.chance)
	if w.counting {
		w.waits = append(w.waits, w.now-t.arrived)
		w.served += takes
		if t.kind == polled {
			w.polledTurns++
		}
		if t.kind == rollout {
			w.rolloutWait += w.now - t.arrived
		}
	}
	w.plan(w.now+takes, true, t)
}

func (w *world) end(t turn) {
	w.busy--
	switch t.kind {
	case polled:
		w.plan(w.now+w.Interval*(1+w.Jitter*(2*w.chance()-1)), false, turn{kind: polled})
	case rollout:
		if w.waiting--; w.waiting == 0 {
			w.rolledOut = w.now - w.began
		}
	}
	if w.head < len(w.queue) {
		next := w.queue[w.head]
		if w.head++; w.head > 1024 && w.head*2 > len(w.queue) {
			w.queue = slices.Delete(w.queue, 0, w.head)
			w.head = 0
		}
		w.start(next)
	}
}

func (w *world) outcome() Outcome {
	out := Outcome{Turns: len(w.waits), Seconds: w.now - w.began, Longest: w.longest, Drained: w.rolledOut}
	if out.Turns == 0 || out.Seconds <= 0 {
		return out
	}
	slices.Sort(w.waits)
	for _, wait := range w.waits {
		out.Wait += wait
	}
	n := float64(out.Turns)
	out.Wait, out.Service = out.Wait/n, w.served/n
	at := func(share float64) float64 { return w.waits[min(int(share*n), out.Turns-1)] }
	out.WaitP50, out.WaitP95, out.WaitP99 = at(0.50), at(0.95), at(0.99)
	out.Utilisation = min(1, w.served/out.Seconds/float64(w.Servers))
	if w.polledTurns > 0 {
		out.Period = float64(w.Applications) * out.Seconds / float64(w.polledTurns)
	}
	if w.Rollout > 0 && w.waiting == 0 {
		out.RolloutWait = w.rolloutWait / float64(w.Rollout)
	}
	return out
}
