// Command bench measures what BENCHMARKS.md reports, and prints it as ratios in one run: each figure of
// Holdfast beside what it is measured against, and the goal beside the ratio. It asserts nothing. Run it from
// the root of the repository, by `make bench`; it needs the lab and bin/holdfast.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"
)

func main() {
	program := flag.String("holdfast", "bin/holdfast", "the built command")
	rounds := flag.Int("rounds", 5, "how often what has a median is measured")
	// compare comes last: a program's peak memory begins with that of the process which starts it.
	only := flag.String("only", "scan,render,compare", "what to measure, in this order")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *program, *rounds, strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program string, rounds int, only []string) error {
	fmt.Printf("%s, %s %s/%s, %d processors: %s\n", time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor())
	parts := map[string]func(context.Context, string, int) ([]figure, error){"compare": compareFigures, "scan": scanFigures, "render": renderFigures}
	for _, name := range only {
		measure, known := parts[name]
		if !known {
			return fmt.Errorf("-only: no part %q", name)
		}
		fmt.Printf("\n%s (load average before: %s)\n", name, load())
		figures, err := measure(ctx, program, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		printFigures(os.Stdout, figures)
	}
	return nil
}
