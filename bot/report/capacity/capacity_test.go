package capacity

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"holdfast/bot/report/capacity/simulate"
)

func near(t *testing.T, name string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want)+1e-9 {
		t.Errorf("%s: %.6g, want %.6g within %.1f %%", name, got, want, tolerance*100)
	}
}

func TestClosedForms(t *testing.T) {
	exponential, constant := Service{Mean: 1, SCV: 1}, Service{Mean: 1}
	near(t, "M/M/1 waits rho/(mu-lambda)", Open(0.8, exponential, 1).Wait, 4, 0)
	near(t, "M/D/1 waits half of it", Open(0.8, constant, 1).Wait, 2, 0)
	near(t, "M/M/1 waits at all with rho", Open(0.8, exponential, 1).Waiting, 0.8, 0)
	near(t, "M/M/1, 95th percentile", Open(0.8, exponential, 1).WaitP95, math.Log(0.8/0.05)/0.2, 0)
	near(t, "M/M/2", Open(1.6, exponential, 2).Wait, 0.64/0.36, 1e-9)
	// Erlang C of 10 servers at 8 Erlangs, as tables have it: 0.4092.
	near(t, "tables of Erlang C", Open(8, exponential, 10).Waiting, 0.4092, 1e-3)
	near(t, "machine repair of one machine waits never", Polled(1, 10, 1, 1).Wait, 0, 0)
	// Two machines and one repairman, with equal rates: p0 = 1/5, p1 = p2 = 2/5, so 4/5 are busy and 2.5 pass from turn to turn.
	near(t, "machine repair of two", Polled(2, 1, 1, 1).Period, 2.5, 1e-9)
	near(t, "more than can be done", Polled(10_000, 60, 3, 4).Period, 10_000*3.0/4, 1e-9)
	near(t, "a batch in rounds", Drain(10, 2, 4), 6, 0)
}

func TestFormulasAgainstSimulation(t *testing.T) {
	for _, c := range []struct {
		name      string
		model     Model
		tolerance float64
	}{
		{"a quiet Flux cluster", Model{Applications: 100, Interval: 10 * time.Minute, Service: Service{Mean: 6, SCV: 1}, Servers: 4}, 0.10},
		{"half busy", Model{Applications: 400, Interval: 5 * time.Minute, Service: Service{Mean: 1.5, SCV: 1}, Servers: 4}, 0.10},
		{"busy, turns alike", Model{Applications: 2000, Interval: 10 * time.Minute, Service: Service{Mean: 1, SCV: 0}, Servers: 4}, 0.12},
		{"busy, turns very different", Model{Applications: 3000, Interval: 10 * time.Minute, Service: Service{Mean: 0.6, SCV: 3}, Servers: 4}, 0.15},
		{"events alone", Model{Events: 1.5, Service: Service{Mean: 2, SCV: 1}, Servers: 4}, 0.06},
		{"twenty processors", Model{Applications: 4000, Interval: 2 * time.Minute, Service: Service{Mean: 0.5, SCV: 1}, Servers: 20}, 0.15},
	} {
		p, err := Predict(c.model)
		if err != nil || !p.Stable {
			t.Fatalf("%s: %+v, %v", c.name, p, err)
		}
		got := simulate.Play(simulate.Controller{
			Servers: c.model.Servers, Service: simulate.Varied(c.model.Service.Mean, c.model.Service.SCV),
			Applications: c.model.Applications, Interval: c.model.Interval.Seconds(), Jitter: 0.05, Events: c.model.Events,
		}, simulate.Run{Warmup: 20_000, Turns: 150_000}, rand.New(rand.NewPCG(1, 2)).Float64)
		// A formula for customers without number is a little above what a given number of Applications does: they do not
		// arrive while they wait. Of the mean turn it is little.
		if math.Abs(*p.Wait-got.Wait) > c.tolerance*got.Wait+0.02*c.model.Service.Mean {
			t.Errorf("%s: the formula says %.4f s, the simulation %.4f s", c.name, *p.Wait, got.Wait)
		}
		near(t, c.name+": utilisation", p.Utilisation, got.Utilisation, 0.03)
	}
}

func TestTheMachineRepairModelAgainstSimulation(t *testing.T) {
	for _, n := range []int{10, 60, 120, 400} {
		want := Polled(n, 60, 2, 3)
		got := simulate.Play(simulate.Controller{Servers: 3, Service: simulate.Exponential(2), Applications: n, Interval: 60}, simulate.Run{Warmup: 5000, Turns: 60_000},
			rand.New(rand.NewPCG(3, 4)).Float64)
		near(t, "period", got.Period, want.Period, 0.02)
		near(t, "utilisation", got.Utilisation, want.Utilisation, 0.02)
	}
}

func TestRollouts(t *testing.T) {
	m := Model{Applications: 200, Interval: 10 * time.Minute, Service: Service{Mean: 2, SCV: 0}, Servers: 4, Rollout: 200}
	p, err := Predict(m)
	if err != nil {
		t.Fatal(err)
	}
	got := simulate.Play(simulate.Controller{
		Servers: 4, Service: simulate.Constant(2), Applications: 200, Interval: 600, Jitter: 0.05, Rollout: 200,
	}, simulate.Run{Warmup: 1000, Turns: 5000}, rand.New(rand.NewPCG(5, 6)).Float64)
	near(t, "drain", *p.Drain, got.Drained, 0.10)
	near(t, "mean wait", *p.RolloutWait, got.RolloutWait, 0.10)
}

func TestWhatIsNotStableSaysSo(t *testing.T) {
	for _, c := range []struct {
		name  string
		model Model
	}{
		{"ten times the clusters", Model{Applications: 10_000, Interval: time.Minute, Service: Service{Mean: 2, SCV: 1}, Servers: 4, Rollout: 100}},
		{"exactly all that there is", Model{Applications: 120, Interval: time.Minute, Service: Service{Mean: 2}, Servers: 4}},
	} {
		p, err := Predict(c.model)
		if err != nil {
			t.Fatal(err)
		}
		if p.Stable || p.Wait != nil || p.WaitP95 != nil || p.Drain != nil || p.RolloutWait != nil {
			t.Errorf("%s: %+v: no wait is to be named", c.name, p)
		}
		if !(p.Period > c.model.Interval.Seconds()) || math.IsInf(p.Period, 0) {
			t.Errorf("%s: period %v", c.name, p.Period)
		}
	}
}

// Whatever comes in, no figure is negative, infinite or not a number.
func TestFiguresAreFigures(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for range 5000 {
		m := Model{
			Applications: int(math.Pow(10, random.Float64()*6)) - 1, Interval: time.Duration(math.Pow(10, random.Float64()*5) * float64(time.Second)),
			Events: random.Float64() * 10, Service: Service{Mean: math.Pow(10, random.Float64()*6-4), SCV: random.Float64() * 5},
			Servers: 1 + random.IntN(200), Rollout: random.IntN(1000),
		}
		if random.IntN(20) == 0 {
			m.Service.Mean = 0
		}
		p, err := Predict(m)
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		figures := []float64{p.Arrivals, p.Utilisation, p.Period}
		for _, optional := range []*float64{p.Wait, p.WaitP95, p.Drain, p.RolloutWait} {
			if optional != nil {
				figures = append(figures, *optional)
			}
		}
		for _, f := range figures {
			if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
				t.Fatalf("%+v gives %+v", m, p)
			}
		}
	}
}

func TestModelsThatAreRefused(t *testing.T) {
	good := Model{Applications: 1, Interval: time.Minute, Service: Service{Mean: 1}, Servers: 1}
	for _, c := range []struct {
		name   string
		change func(*Model)
	}{
		{"no worker", func(m *Model) { m.Servers = 0 }},
		{"a negative duration", func(m *Model) { m.Service.Mean = -1 }},
		{"a duration that is no number", func(m *Model) { m.Service.Mean = math.NaN() }},
		{"an interval of nothing", func(m *Model) { m.Interval = 0 }},
		{"a negative interval", func(m *Model) { m.Interval = -time.Minute }},
		{"endless events", func(m *Model) { m.Events = math.Inf(1) }},
		{"less than no Application", func(m *Model) { m.Applications = -1 }},
	} {
		m := good
		c.change(&m)
		if _, err := Predict(m); err == nil {
			t.Errorf("%s: it was taken", c.name)
		}
	}
}

func TestWorkersFor(t *testing.T) {
	m := Model{Applications: 600, Interval: time.Minute, Service: Service{Mean: 1}, Servers: 1}
	if n, err := WorkersFor(m, 0.7); err != nil || n != 15 { // 10 Erlangs / 0.7
		t.Errorf("%d, %v, want 15", n, err)
	}
	if _, err := WorkersFor(m, 0); err == nil {
		t.Error("a utilisation of nothing was taken")
	}
}
