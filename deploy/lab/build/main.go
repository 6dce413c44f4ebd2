// Command build makes the programs of the lab that are absent, one after another (two links at once can need 4 GB),
// and prints one line for each. Without arguments it makes those that everyday tests need, else those that are named.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"holdfast/deploy/lab/binary"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		stop()
		os.Exit(2)
	}
}

func run(ctx context.Context, names []string) error {
	wanted, err := choose(binary.All(), names)
	if err != nil {
		return err
	}
	store, err := binary.Open(".", os.Getenv(binary.CacheEnv))
	if err != nil {
		return err
	}
	unlock, err := lock(store.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	for i, b := range wanted {
		if _, err := store.Find(b); err == nil {
			continue
		}
		fmt.Printf("lab: building %s (%d of %d); a cold build takes minutes\n", b.Name, i+1, len(wanted))
		start := time.Now()
		if _, err := store.Build(ctx, b); err != nil {
			return err
		}
		fmt.Printf("lab: built %s in %.0f s\n", b.Name, time.Since(start).Seconds())
	}
	fmt.Printf("lab: ready in %s\n", store.Dir)
	return nil
}

func choose(all []binary.Binary, names []string) ([]binary.Binary, error) {
	if len(names) == 0 {
		return binary.Everyday(), nil
	}
	var wanted []binary.Binary
	for _, name := range names {
		i := slices.IndexFunc(all, func(b binary.Binary) bool { return b.Name == name })
		if i < 0 {
			var known []string
			for _, b := range all {
				known = append(known, b.Name)
			}
			return nil, fmt.Errorf("unknown program %q; known are %s", name, strings.Join(known, ", "))
		}
		wanted = append(wanted, all[i])
	}
	return wanted, nil
}

// lock keeps a second build of the same checkout waiting until this one ends, so that nothing is built twice.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(dir+"/.lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return func() { file.Close() }, nil
}
