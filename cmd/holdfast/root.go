package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/templates"
)

// exitError carries an exit code; with a nil err the command has already said all there is to say.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// run is the whole program but for the process: arguments in, exit code out.
func run(ctx context.Context, args []string, s streams) int {
	out := &checked{Writer: s.out}
	s.out = out
	root := newRootCommand(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if out.err != nil {
		err = fmt.Errorf("writing the result: %w", out.err)
	}
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if exit.err != nil {
			fmt.Fprintln(s.err, "holdfast:", indent(exit.err.Error()))
		}
		return exit.code
	}
	fmt.Fprintln(s.err, "holdfast:", indent(err.Error()))
	return 2
}

// indent keeps the lines of a joined error below its first. Errors quote names from outside, which a terminal
// must not obey.
func indent(text string) string { return strings.ReplaceAll(templates.Lines(text), "\n", "\n  ") }

func newRootCommand(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Keeps Kubernetes clusters and the Git repositories that declare them the same",
		Long: `Holdfast finds where a cluster drifted from Git, says who did it and how much it matters,
decides by policy whether Git or the cluster is right, and proposes the answer as a signed
pull request or an issue. It reads clusters and never writes to them.`,
		Example: `  holdfast scan
  holdfast scan --live dump.yaml --git . --path apps/shop/production
  holdfast propose --dry-run
  holdfast policy show --tier regulated`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(newScanCommand(s), newProposeCommand(s), newServeCommand(s), newReportCommand(s), newPolicyCommand(s), newVerifyCommand(s), newGuardCommand(s), newVersionCommand(s))
	return root
}

func newVersionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the Go version and the Kubernetes libraries' version",
		Example: "  holdfast version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(s.out, "holdfast %s\ngo %s\nclient-go %s\n", version, strings.TrimPrefix(runtime.Version(), "go"), dependency("k8s.io/client-go"))
			return nil
		},
	}
}

func dependency(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return "unknown"
}
