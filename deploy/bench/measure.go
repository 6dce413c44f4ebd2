package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// figure is one line of the report.
type figure struct {
	what string
	// measured and against are printed values, with their units.
	measured, against string
	ratio             float64 // measured by against; 0 where there is nothing to measure against
	// atMost and atLeast are goals for the ratio; 0 is none.
	atMost, atLeast float64
}

func (f figure) goal() (text, met string) {
	switch {
	case f.atMost > 0 && f.ratio <= f.atMost:
		return fmt.Sprintf("at most %.3g", f.atMost), "yes"
	case f.atMost > 0:
		return fmt.Sprintf("at most %.3g", f.atMost), "NO"
	case f.atLeast > 0 && f.ratio >= f.atLeast:
		return fmt.Sprintf("at least %.3g", f.atLeast), "yes"
	case f.atLeast > 0:
		return fmt.Sprintf("at least %.3g", f.atLeast), "NO"
	}
	return "-", "-"
}

func printFigures(w io.Writer, figures []figure) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tmeasured\tagainst\tratio\tgoal\tmet")
	for _, f := range figures {
		goal, met := f.goal()
		ratio := "-"
		if f.ratio > 0 {
			ratio = fmt.Sprintf("%.3g", f.ratio)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", f.what, f.measured, f.against, ratio, goal, met)
	}
	t.Flush()
}

// cost is what one run took.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // peak resident bytes of a program
}

// median gives the median of each part on its own.
func median(runs []cost) cost {
	part := func(of func(cost) int64) int64 {
		var all []int64
		for _, r := range runs {
			all = append(all, of(r))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return cost{
		wall:   time.Duration(part(func(c cost) int64 { return int64(c.wall) })),
		cpu:    time.Duration(part(func(c cost) int64 { return int64(c.cpu) })),
		memory: part(func(c cost) int64 { return c.memory }),
	}
}

// runProgram runs a program to its end. What it prints must hold want, so that nothing is measured that did
// not do its work.
func runProgram(cmd *exec.Cmd, want string) (cost, error) {
	var printed bytes.Buffer
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &said
	start := time.Now()
	err := cmd.Run()
	c := cost{wall: time.Since(start)}
	if err == nil && !strings.Contains(printed.String(), want) {
		err = fmt.Errorf("it did not print %q", want)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w: %.1000s", strings.Join(cmd.Args, " "), err, said.String()+printed.String())
	}
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.memory = usage.Maxrss << 10
	}
	return c, nil
}

// ownCPU is the processor time of this process so far.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heap is the live heap.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

func by(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }
