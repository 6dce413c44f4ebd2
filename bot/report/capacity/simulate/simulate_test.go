package simulate

import (
	"math"
	"math/rand/v2"
	"testing"
)

func chance(seed uint64) Chance { return rand.New(rand.NewPCG(seed, 7)).Float64 }

func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want)+1e-9 {
		t.Errorf("%s: %.5g, want %.5g within %.0f %%", name, got, want, tolerance*100)
	}
}

// The closed forms are written out here, so that the simulation is held against the textbook and not against the product's
// own formulas.
func TestClosedForms(t *testing.T) {
	long := Run{Warmup: 20_000, Turns: 250_000}
	for _, c := range []struct {
		name       string
		controller Controller
		wait       float64
	}{
		// M/M/1: rho / (mu - lambda), with lambda 0.7 and mu 1.
		{"one server, exponential", Controller{Servers: 1, Service: Exponential(1), Events: 0.7}, 0.7 / 0.3},
		// M/D/1: half of that.
		{"one server, constant", Controller{Servers: 1, Service: Constant(1), Events: 0.7}, 0.7 / 0.3 / 2},
		// M/G/1 by Pollaczek and Khinchine: (1 + scv) / 2 of it, which with lambda 0.5 is 1.
		{"one server, of much variation", Controller{Servers: 1, Service: Varied(1, 3), Events: 0.5}, 2},
		{"one server, of little variation", Controller{Servers: 1, Service: Varied(1, 0.25), Events: 0.5}, 0.625},
		// M/M/2: rho^2 / (1 - rho^2) / mu, with rho 0.8.
		{"two servers", Controller{Servers: 2, Service: Exponential(1), Events: 1.6}, 0.64 / 0.36},
	} {
		got := Play(c.controller, long, chance(1))
		near(t, c.name, got.Wait, c.wait, 0.05)
	}
}

func TestBatchesAreWorkedOffInRounds(t *testing.T) {
	got := Play(Controller{Servers: 4, Service: Constant(2), Rollout: 10}, Run{Turns: 10}, chance(1))
	near(t, "ten by four take three rounds of two seconds", got.Drained, 6, 0)
	near(t, "they wait for none, one or two rounds", got.RolloutWait, (4*0+4*2+2*4)/10.0, 0)
	if got.Longest != 6 {
		t.Errorf("six wait at first, not %d", got.Longest)
	}
}

func TestMoreThanCanBeDoneStretchesThePeriod(t *testing.T) {
	// 100 Applications of 2 s by 4 workers take 50 s a round, whatever the interval of 10 s says.
	got := Play(Controller{Servers: 4, Service: Constant(2), Applications: 100, Interval: 10, Jitter: 0.05}, Run{Warmup: 2000, Turns: 20_000}, chance(1))
	near(t, "period", got.Period, 50, 0.01)
	near(t, "utilisation", got.Utilisation, 1, 0.001)
	near(t, "wait", got.Wait, 50-10-2, 0.02)
}

func TestDraws(t *testing.T) {
	for _, c := range []struct {
		name      string
		draw      Draw
		mean, scv float64
	}{
		{"constant", Constant(3), 3, 0}, {"exponential", Exponential(2), 2, 1}, {"little variation", Varied(2, 0.3), 2, 0.3},
		{"much variation", Varied(2, 4), 2, 4}, {"observed", Observed([]float64{1, 1, 4}), 2, 0.5},
	} {
		u, n := chance(3), 300_000
		sum, squares := 0.0, 0.0
		for range n {
			x := c.draw(u)
			if x < 0 {
				t.Fatalf("%s: %v", c.name, x)
			}
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / float64(n)
		near(t, c.name+", mean", mean, c.mean, 0.02)
		near(t, c.name+", variation", squares/float64(n)/mean/mean-1, c.scv, 0.06)
	}
}

func TestTheSameChanceGivesTheSame(t *testing.T) {
	c := Controller{Servers: 2, Service: Exponential(1), Applications: 50, Interval: 60, Events: 0.1, Rollout: 20}
	if a, b := Play(c, Run{Warmup: 100, Turns: 1000}, chance(9)), Play(c, Run{Warmup: 100, Turns: 1000}, chance(9)); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestNothingArrives(t *testing.T) {
	if got := Play(Controller{Servers: 1, Service: Constant(1)}, Run{Turns: 10}, chance(1)); got != (Outcome{}) {
		t.Errorf("%+v", got)
	}
}
