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

// graceTime is how long an interrupted run may take to end what it is at.
const graceTime = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
		time.Sleep(graceTime)
		os.Exit(2)
	}()
	s := standardStreams()
	flush := withoutWarnings()
	code := run(ctx, os.Args[1:], s)
	stop()
	flush()
	os.Exit(code)
}
