// Command holdfast keeps Kubernetes clusters and the Git repositories that declare them the same, through
// pull requests.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// version is set by the linker.
var version = "dev"

// graceTime is how long an interrupted run may take to end what it is at. The service takes its own grace time first.
const graceTime = 10 * time.Second

func main() { execute(standardStreams()) }

// execute runs the program and ends the process.
func execute(s streams) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
		time.Sleep(time.Duration(s.grace.Load()))
		os.Exit(2)
	}()
	flush := withoutWarnings()
	code := run(ctx, os.Args[1:], s)
	stop()
	flush()
	os.Exit(code)
}
