package report

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Percentiles describe a sample of durations, in seconds. One that the sample is too small for is absent: the 95th needs 20
// values, the 99th 100.
type Percentiles struct {
	N    int      `json:"n"`
	P50  *float64 `json:"p50,omitempty"`
	P95  *float64 `json:"p95,omitempty"`
	P99  *float64 `json:"p99,omitempty"`
	Mean *float64 `json:"mean,omitempty"`
	Max  *float64 `json:"max,omitempty"`
}

// percentilesOf uses the nearest rank, so that each figure is one that was seen.
func percentilesOf(values []float64) Percentiles {
	p := Percentiles{N: len(values)}
	if p.N == 0 {
		return p
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(share float64) *float64 {
		v := sorted[max(0, int(math.Ceil(share*float64(p.N)))-1)]
		return &v
	}
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	mean := sum / float64(p.N)
	p.P50, p.Mean, p.Max = at(0.5), &mean, &sorted[p.N-1]
	if p.N >= 20 {
		p.P95 = at(0.95)
	}
	if p.N >= 100 {
		p.P99 = at(0.99)
	}
	return p
}

// Trend compares the two halves of the time that was observed.
type Trend struct {
	// Direction is rising, falling, steady or unknown.
	Direction string `json:"direction"`
	First     int    `json:"firstHalf"`
	Second    int    `json:"secondHalf"`
	// Why says what unknown is for.
	Why string `json:"why,omitempty"`
}

const (
	rising      = "rising"
	falling     = "falling"
	steady      = "steady"
	trendHidden = "unknown"
	// enough is the least number of events from which a trend is told.
	enough = 8
)

// trendOf tells a trend from the counts of two halves of equal length. A difference counts when chance alone gives it in less
// than one of twenty cases: for two counts of equal expectation, |a - b| has a standard deviation of about sqrt(a + b).
func trendOf(first, second int) Trend {
	t := Trend{First: first, Second: second}
	switch n := first + second; {
	case n < enough:
		t.Direction, t.Why = trendHidden, fmt.Sprintf("%d events are too few to tell", n)
	case math.Abs(float64(second-first)) < 1.96*math.Sqrt(float64(n)):
		t.Direction = steady
	case second > first:
		t.Direction = rising
	default:
		t.Direction = falling
	}
	return t
}

// seconds prints a number of seconds by a unit that fits.
func seconds(s float64) string {
	switch {
	case s == 0:
		return "0 s"
	case s < 1e-6:
		return "under 1 µs"
	case s < 0.0095:
		return fmt.Sprintf("%.2g ms", s*1000)
	case s < 0.95:
		return fmt.Sprintf("%.0f ms", s*1000)
	case s < 60:
		return fmt.Sprintf("%.3g s", s)
	case s < 3600:
		return fmt.Sprintf("%.3g min", s/60)
	case s < 48*3600:
		return fmt.Sprintf("%.3g h", s/3600)
	}
	return fmt.Sprintf("%.3g d", s/86400)
}

// length prints a duration by days, hours, minutes and seconds, without parts that are nothing.
func length(d time.Duration) string {
	if d%(24*time.Hour) == 0 && d > 0 {
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	out := ""
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= unit.of {
			out += fmt.Sprintf("%d%s", d/unit.of, unit.name)
			d %= unit.of
		}
	}
	if d > 0 || out == "" {
		out += fmt.Sprintf("%gs", d.Seconds())
	}
	return out
}

// share prints a part of a whole as a percentage.
func share(part, whole int) string {
	if whole == 0 {
		return "unknown"
	}
	return percent(float64(part) / float64(whole))
}

func percent(x float64) string {
	switch p := x * 100; {
	case p > 0 && p < 1, p > 99 && p < 100:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// figure prints a figure, or that it is unknown.
func figure(f *float64, print func(float64) string) string {
	if f == nil {
		return unknown
	}
	return print(*f)
}

func plainNumber(f float64) string { return fmt.Sprintf("%.3g", f) }

// unknown stands wherever nothing was observed.
const unknown = "unknown"

// counted gives "1 cluster", "3 clusters".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
