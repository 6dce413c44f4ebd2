package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/bot"
	"holdfast/bot/propose"
	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
	"holdfast/gitops/folder"
)

func newProposeCommand(s streams) *cobra.Command {
	var flags inputFlags
	var dryRun bool
	var disposition string
	var findings []string
	var repository string
	outputs := []string{"markdown", "json", "yaml", "patch"}
	cmd := &cobra.Command{
		Use:   "propose",
		Short: "Scan, then open signed pull requests and issues on the forge",
		Long: `Scans, then makes the forge look as the findings and the policy want: a signed branch and a pull
request for what is codified or reverted, an issue for each drift. Run again, it updates what it
opened in place and closes what is settled.

Exit code 0: done. 1: done, and there is drift. 2: an error, or something that could not be assessed.`,
		Example: `  # look first
  holdfast propose --dry-run
  holdfast propose --dry-run -o patch | git apply

  # of several repositories, one
  holdfast propose --dry-run -o patch --repository https://github.com/example/shop | git apply

  # keep what is live, whatever policy says
  holdfast propose --disposition codify --config holdfast.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.check(outputs); err != nil {
				return err
			}
			override := detect.Disposition(disposition)
			if disposition != "" && !slices.Contains([]detect.Disposition{detect.Codify, detect.Revert, detect.AsIssue}, override) {
				return fmt.Errorf("--disposition %q: want codify, revert or issue", disposition)
			}
			session, err := newSession(s, flags)
			if err != nil {
				return err
			}
			return session.propose(cmd.Context(), override, choice{findings, repository}, dryRun)
		},
	}
	flags.register(cmd.Flags(), outputs)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show the proposals, change nothing")
	cmd.Flags().StringVar(&disposition, "disposition", "", "`codify|revert|issue`: instead of what policy says")
	cmd.Flags().StringSliceVar(&findings, "finding", nil, "`ID` of a finding to answer, and no other; repeatable")
	cmd.Flags().StringVar(&repository, "repository", "", "`URL` of the repository to propose for, as its engine has it, and no other")
	return cmd
}

// propose scans, builds the proposals, and shows or publishes them. What signing and the forge need is
// checked before anything is read, so that nothing is left half-done.
func (x *session) propose(ctx context.Context, override detect.Disposition, chosen choice, dryRun bool) error {
	var publisher *publisher
	if !dryRun {
		var err error
		if publisher, err = x.newPublisher(ctx); err != nil {
			return err
		}
		x.obey(ctx, publisher.evidence)
	}
	result, err := x.scan(ctx)
	if err != nil {
		return err
	}
	if result, err = chosen.of(result); err != nil {
		return err
	}
	told := table{w: x.streams.err, now: x.input.Now}
	told.applications(result)
	told.unknown(result)
	told.notes(result)
	var found map[string]board
	if publisher != nil {
		if found, err = publisher.boards(ctx, result); err != nil {
			return exitError{2, err}
		}
	}
	planned := map[string]propose.Plan{}
	proposals, skipped, err := x.build(ctx, result, threadsOf(found), func(in *propose.Input) {
		in.Override, in.Picked, in.Planned = override, strings.Join(chosen.findings, " "), planned
		in.Shown = dryRun && x.flags.output == "patch"
	})
	if err != nil {
		return err
	}
	if dryRun {
		if x.flags.output == "patch" {
			if err := fitsOnePatch(proposals); err != nil {
				return exitError{2, err}
			}
		}
		if err := x.writeProposals(result, proposals, skipped); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
		if x.flags.output == "patch" {
			for _, line := range leftOut(result, override, proposals, skipped, planned) {
				fmt.Fprintln(x.streams.err, line)
			}
		}
		return scanExit(result)
	}
	if err := publisher.publish(ctx, found, result, proposals, chosen.narrows()); err != nil {
		return exitError{2, err}
	}
	return scanExit(result)
}

// build builds the proposals for a scan, beside the threads that there are. Change adds to the input.
func (x *session) build(ctx context.Context, result detect.Scan, threads []bot.Thread, change func(*propose.Input)) ([]bot.Proposal, []propose.Skipped, error) {
	in := x.proposing(result, threads)
	change(&in)
	return propose.Build(ctx, in)
}

// proposing gives what proposals for a scan are made of.
func (x *session) proposing(result detect.Scan, threads []bot.Thread) propose.Input {
	return propose.Input{
		Threads: threads, Scan: result, Source: x.proposalSource, Render: x.render, Fleet: x.fleet(result), Schemas: x.input.Schemas, Policy: x.policyAt,
		Codifying: time.Duration(x.config.Limits.Codify.Timeout), Now: x.input.Now, Commands: x.commandable(result),
	}
}

func (x *session) writeProposals(result detect.Scan, proposals []bot.Proposal, skipped []propose.Skipped) error {
	switch x.flags.output {
	case "json":
		return writeProposalsJSON(x.out, proposals, skipped)
	case "yaml":
		return writeYAML(x.out, func(w writer) error { return writeProposalsJSON(w, proposals, skipped) })
	case "patch":
		return writePatch(x.out, proposals)
	}
	return writeProposals(x.out, result, proposals, skipped)
}

// proposalSource gives the repository behind an Application at the head of the branch its engine follows.
func (x *session) proposalSource(ctx context.Context, app gitops.Application) (propose.Source, error) {
	opened, err := x.sources.get(ctx, app.Source.Repo)
	if err != nil {
		return propose.Source{}, err
	}
	out := propose.Source{Repo: app.Source.Repo, Base: app.Source.Branch}
	switch {
	case opened.git == nil:
		out.Base = working
	case app.Source.Branch == "HEAD", app.Source.Branch == "" && (app.Kind == folder.Kind || app.Source.Repo == ""):
		if out.Base, err = opened.git.DefaultBranch(); err != nil {
			return out, err
		}
	case app.Source.Branch == "":
		out.Reason = fmt.Sprintf("the source of %s follows no branch, so a commit would not reach the cluster", app.ID())
	}
	if out.BaseCommit, err = opened.Head(app.Source.Branch); err != nil {
		return out, err
	}
	out.Tree, err = opened.Tree(out.BaseCommit)
	return out, err
}

// policyAt gives the policy of an Application whatever its cluster's tier: what codify must not write does not
// depend on it.
func (x *session) policyAt(app gitops.Application, tree gitops.Tree) (*policy.Policy, error) {
	return x.input.Policy(app, detect.Production, tree)
}

// choice narrows what is answered: to findings, to a repository, or not at all.
type choice struct {
	findings   []string
	repository string
}

func (c choice) narrows() bool { return len(c.findings) > 0 || c.repository != "" }

// of gives the scan with the chosen findings only.
func (c choice) of(result detect.Scan) (detect.Scan, error) {
	result, err := picked(result, c.findings)
	if err != nil || c.repository == "" {
		return result, err
	}
	var urls, applications []string
	for _, a := range result.Applications {
		urls = append(urls, a.Application.Source.Repo)
		if a.Application.Source.Repo == c.repository {
			applications = append(applications, a.Application.ID())
		}
	}
	if len(applications) == 0 {
		slices.Sort(urls)
		return result, fmt.Errorf("--repository %s: no Application has this source; there are %s", c.repository, strings.Join(slices.Compact(urls), ", "))
	}
	result.Findings = slices.DeleteFunc(slices.Clone(result.Findings), func(f detect.Finding) bool {
		return !slices.Contains(applications, f.Cluster+"/"+f.Application)
	})
	return result, nil
}

// picked narrows a scan to the findings of the given ids. None given keeps all.
func picked(result detect.Scan, ids []string) (detect.Scan, error) {
	if len(ids) == 0 {
		return result, nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(result.Findings, func(f detect.Finding) bool { return f.ID == id && (f.Drift || f.Presence == detect.LiveOnly) }) {
			return result, fmt.Errorf("--finding %s: no drift, and nothing that exists live only, has this id now; holdfast scan -o json lists them, with --all those that are no drift too", id)
		}
	}
	slices.Sort(ids)
	result.Findings = slices.DeleteFunc(slices.Clone(result.Findings), func(f detect.Finding) bool { return !slices.Contains(ids, f.ID) })
	return result, nil
}
