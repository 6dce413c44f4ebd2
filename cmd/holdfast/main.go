// Command holdfast keeps Kubernetes clusters and the Git repositories that declare them the same, through
// pull requests.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	s := standardStreams()
	flush := withoutWarnings()
	code := run(ctx, os.Args[1:], s)
	stop()
	flush()
	os.Exit(code)
}
