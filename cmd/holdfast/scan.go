package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"holdfast/detect"
	"holdfast/detect/scan"
)

func newScanCommand(s streams) *cobra.Command {
	var flags inputFlags
	outputs := []string{"table", "json", "yaml", "markdown", "sarif"}
	cmd := &cobra.Command{
		Use:   "scan",
		Short: "What has drifted, who did it, how bad it is, and what policy says",
		Long: `Compares what the GitOps engine last applied from Git with what the cluster holds, and says of
every difference whether it is drift, who wrote it, how much it matters and what policy wants
done about it. Reads clusters with get and list only.

Exit code 0: no drift. 1: drift. 2: an error, or something that could not be assessed.`,
		Example: `  # the current context; Applications are found from the engine's own objects
  holdfast scan

  # a dump instead of a cluster, a checkout instead of the engine's source
  kubectl get deploy,svc,cm -A -o yaml --show-managed-fields > live.yaml
  holdfast scan --live live.yaml --git . --path apps/shop/production

  # for other tools
  holdfast scan -o json | jq '.findings[] | select(.risk == "critical")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.check(outputs); err != nil {
				return err
			}
			session, err := newSession(s, flags)
			if err != nil {
				return err
			}
			result, err := session.scan(cmd.Context())
			// Where nothing could be said, programs still get a whole document.
			data := flags.output == "json" || flags.output == "yaml" || flags.output == "sarif"
			if err != nil && (!data || cmd.Context().Err() != nil) {
				return err
			}
			if err := writeScan(s, flags, result); err != nil {
				return fmt.Errorf("writing the result: %w", err)
			}
			if err != nil {
				return err
			}
			return scanExit(result)
		},
	}
	flags.register(cmd.Flags(), outputs)
	return cmd
}

// scan runs the pipeline over the session's clusters.
func (x *session) scan(ctx context.Context) (detect.Scan, error) {
	if len(x.targets) == 0 {
		return detect.Scan{}, fmt.Errorf("no cluster to scan")
	}
	defer x.progress("")
	result, err := scan.Run(ctx, x.input)
	result.Notes = append(result.Notes, x.sources.unused(result.Applications)...)
	result.Notes = append(result.Notes, x.sources.dirty(ctx)...)
	return result, err
}

func writeScan(s streams, flags inputFlags, result detect.Scan) error {
	switch flags.output {
	case "json":
		return writeScanJSON(s.out, result)
	case "yaml":
		return writeYAML(s.out, func(w writer) error { return writeScanJSON(w, result) })
	case "markdown":
		return writeScanMarkdown(s.out, result)
	case "sarif":
		return writeSARIF(s.out, result)
	}
	table{w: s.out, color: s.color, now: s.now(), all: flags.all}.scan(result)
	return nil
}

// scanExit gives the exit code of CONTRACT: 2 when something could not be assessed, also beside drift, else
// 1 when something drifted. What is left unread by choice does not count.
func scanExit(result detect.Scan) error {
	switch {
	case incomplete(result):
		return exitError{code: 2}
	case slices.ContainsFunc(result.Findings, func(f detect.Finding) bool { return f.Drift }):
		return exitError{code: 1}
	}
	return nil
}

// incomplete says whether something could not be assessed that should have been.
func incomplete(result detect.Scan) bool {
	return slices.ContainsFunc(result.Applications, func(a detect.AssessedApplication) bool { return a.State == detect.Unknown }) ||
		slices.ContainsFunc(result.Unknown, func(u detect.UnknownObject) bool { return !u.ByChoice })
}
