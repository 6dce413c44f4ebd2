package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/bot/report"
	"holdfast/bot/report/crd"
	"holdfast/bot/report/knowledge"
	"holdfast/detect/assess"
	"holdfast/detect/setting"
	"holdfast/templates"
)

// reportFlags are what report takes: what the analysis is about, what it is made from, and where it goes.
type reportFlags struct {
	given   setting.Given
	inputs  inputFlags
	scans   []string
	ledgers ledgerFlags
	metrics []string
	output  string
	file    string
}

func newReportCommand(s streams) *cobra.Command {
	var flags reportFlags
	outputs := []string{"markdown", "html", "json"}
	cmd := &cobra.Command{
		Use:   "report",
		Short: "The drift analysis: sources, controllers, detection, compliance, and what to do",
		Long: `Writes the GitOps State Drift and Reconciliation Analysis for a cloud provider, an engine, a number of
clusters, a detection interval, a tier and a compliance standard. Each is given or told from what is read,
and the analysis says which; several may be named. It is made from scans (files that "holdfast scan -o json"
wrote, or clusters, read like a scan reads them), from ledgers, and from what controllers measure. What was
not observed is said to be unknown; with no data at all the analysis says so and has no figures.

The analysis reviews itself before it is written.

Exit code 0: written. 1: written, and its review of itself fails: do not pass it on. 2: an error.`,
		Example: `  # what the current context shows
  holdfast report --standard soc2 > drift.md

  # a quarter of recorded scans, for 200 clusters of EKS
  holdfast report --scan scans/*.json --provider eks --engine "flux v2" --clusters 200 --interval 5m \
    --tier production --standard pci-dss --standard nist-800-53 -o html --output drift.html

  # how well controllers keep up, from their own figures
  kubectl -n flux-system port-forward deploy/kustomize-controller 8080 &
  holdfast report --metrics north=http://127.0.0.1:8080/metrics --clusters 200

  # evidence from a ledger, verified
  holdfast report --scan last.json --ledger https://git.example.com/fleet.git --allowed-signers allowed_signers --anchors anchors.txt`,
		Args: cobra.ArbitraryArgs, // the files that a shell makes of --scan scans/*.json
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) > 0 && len(flags.scans) == 0 {
				return fmt.Errorf("%s: files of scans go behind --scan", files[0])
			}
			flags.scans = append(flags.scans, files...)
			if !slices.Contains(outputs, flags.output) {
				return fmt.Errorf("--format %q: want one of %s", flags.output, strings.Join(outputs, ", "))
			}
			return flags.run(cmd.Context(), s)
		},
	}
	flags.register(cmd.Flags(), outputs)
	return cmd
}

func (f *reportFlags) register(flags *pflag.FlagSet, outputs []string) {
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.inputs.register(shared, nil)
	shared.VisitAll(func(one *pflag.Flag) {
		if one.Name != "tier" && one.Name != "standard" {
			flags.AddFlag(one)
		}
	})
	flags.StringSliceVar(&f.given.Providers, "provider", nil, "`NAME` of a cloud provider: aws-eks, gcp-gke, gcp-gke-autopilot, azure-aks, openshift or self-managed, repeatable (default: as clusters show)")
	flags.StringSliceVar(&f.given.Engines, "engine", nil, "`NAME` of an engine, with its version or without: flux, argocd, \"flux 2.9\", repeatable (default: as clusters show)")
	flags.IntVar(&f.given.Clusters, "clusters", 0, "`NUMBER` of clusters that capacity is about (default: those that were observed)")
	flags.StringVar(&f.given.Interval, "interval", "", "`LENGTH` of the detection interval, such as 5m or 1h (default: the median of the Applications')")
	flags.StringSliceVar(&f.given.Tiers, "tier", nil, "`TIER`: dev, staging, production, regulated or dr, repeatable (default: of the configuration)")
	flags.StringSliceVar(&f.given.Standards, "standard", nil, "`NAME` of a compliance standard, such as soc2 or pci-dss, repeatable (default: those that findings refer to)")
	flags.StringArrayVar(&f.scans, "scan", nil, "`FILE`: a scan that holdfast scan -o json wrote; - is standard input; repeatable")
	f.ledgers.register(flags)
	flags.StringArrayVar(&f.metrics, "metrics", nil, "`[CLUSTER=]FILE|URL`: what a controller of an engine measures, in the text form of Prometheus (its /metrics), repeatable")
	flags.StringVarP(&f.output, "format", "o", outputs[0], "`FORMAT`: "+strings.Join(outputs, ", "))
	flags.StringVar(&f.file, "output", "", "`FILE`: where the analysis goes (default: standard output)")
}

func (f *reportFlags) run(ctx context.Context, s streams) error {
	given, err := f.given.Parse()
	if err != nil {
		return err
	}
	in := report.Input{Now: s.now(), Given: given}
	if err := f.gather(ctx, s, &in); err != nil {
		return err
	}
	return f.write(s, in)
}

// write builds the analysis and writes it. One whose review fails is written too, so that it can be looked into.
func (f *reportFlags) write(s streams, in report.Input) error {
	var err error
	if in.Assessor, err = assess.New(); err != nil {
		return err
	}
	if in.Knowledge, err = knowledge.Load(); err != nil {
		return err
	}
	if in.Schemas, err = crd.Load(); err != nil {
		return err
	}
	in.Chance = rand.New(rand.NewPCG(1, 2)).Float64 // the same each time, so that the same data give the same report
	r, err := report.Build(in)
	if err != nil {
		return err
	}
	if err := f.put(s, func(w io.Writer) error { return writeReport(w, f.output, r) }); err != nil {
		return fmt.Errorf("writing the analysis: %w", err)
	}
	if failed := r.Failed(); len(failed) > 0 {
		var errs []error
		for _, c := range failed {
			errs = append(errs, fmt.Errorf("%s: %s", c.Name, c.Detail))
		}
		return exitError{code: 1, err: fmt.Errorf("the analysis does not pass its own review:\n%w", errors.Join(errs...))}
	}
	return nil
}

func writeReport(w io.Writer, format string, r report.Report) error {
	if format == "json" {
		return writeJSON(w, r)
	}
	render := templates.ReportMarkdown
	if format == "html" {
		render = templates.ReportHTML
	}
	text, err := render(r.Document())
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// put writes to --output, whose file is there whole or not at all, or to standard output.
func (f *reportFlags) put(s streams, write func(io.Writer) error) (err error) {
	if f.file == "" {
		return write(s.out)
	}
	temporary, err := os.CreateTemp(filepath.Dir(f.file), ".holdfast-report-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	if err = errors.Join(write(temporary), temporary.Chmod(0o644), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), f.file)
}
