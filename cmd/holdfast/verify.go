package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/bot/ledger"
	"holdfast/bot/ledger/export"
	"holdfast/gitops"
	"holdfast/gitops/repo"
	"holdfast/gitops/repo/sign"
)

// verifyFlags say what is verified, and by what.
type verifyFlags struct {
	git, branch, config string
	allowed             []string
	revoked, principal  string
	anchors, commits    string
	exports             []string
	output              string

	// What load makes of them.
	keys     *sign.Allowed
	anchored []ledger.Anchor
	exportTo []exportTo
}

// exportTo is one --export.
type exportTo struct{ format, file string }

func newVerifyCommand(s streams) *cobra.Command {
	var flags verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the ledger and the signatures, offline",
		Long: `Reads a ledger from its first batch to its head and names what is wrong with it: records that were
changed, moved, left out, doubled or forged, batches that nobody allowed has signed, keys that were out of
date. The keys that count are given from outside of the ledger.

Who holds such a key could still write the ledger anew, or cut its end off. Anchors show that: batches that
were seen elsewhere, as in the comments that close issues and in commits ("Holdfast-Ledger: ...").

Exit code 0: whole, or consistent where no anchor is given. 1: broken. 2: an error.`,
		Example: `  holdfast verify --git . --allowed-signers allowed_signers
  holdfast verify --git https://git.example.com/shop.git --allowed-signers allowed_signers --anchors anchors.txt
  holdfast verify --git . --allowed-signers allowed_signers --export oscal=trail.json --export csv=trail.csv

  # the commits that Holdfast made on a branch
  holdfast verify --git . --allowed-signers allowed_signers --commits v1.0..main`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.load(); err != nil {
				return err
			}
			if flags.commits != "" {
				return flags.verifyCommits(s)
			}
			return flags.verifyLedger(cmd.Context(), s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.git, "git", ".", "`DIR|URL`: the repository with the ledger; a folder is read where it lies, whatever its size")
	f.StringVar(&flags.branch, "branch", ledger.DefaultBranch, "`NAME` of the ledger's branch")
	f.StringVar(&flags.config, "config", "", "`FILE`: holdfast.yaml, for the credentials of a URL")
	f.StringArrayVar(&flags.allowed, "allowed-signers", nil, "`FILE`: the keys that may sign, as ssh-keygen -Y verify takes them, or armored OpenPGP public keys; repeatable")
	f.StringVar(&flags.revoked, "revoked-keys", "", "`FILE`: SSH public keys that were revoked, one a line")
	f.StringVar(&flags.principal, "principal", "", "`NAME`: of the allowed signers, this one only")
	f.StringVar(&flags.anchors, "anchors", "", "`FILE`: batches that were seen elsewhere, a line each: commit, time, where")
	f.StringVar(&flags.commits, "commits", "", "`A..B`: instead of a ledger, the commits that Holdfast made in a range")
	f.StringArrayVar(&flags.exports, "export", nil, "`FORMAT=FILE`: write the trail of a ledger that is not broken, as oscal (assessment results, JSON) or csv; repeatable")
	f.StringVarP(&flags.output, "output", "o", "table", "`FORMAT`: table, json, yaml")
	return cmd
}

// load reads the files that flags name, before any repository.
func (f *verifyFlags) load() error {
	if !slices.Contains([]string{"table", "json", "yaml"}, f.output) {
		return fmt.Errorf("--output %q: want one of table, json, yaml", f.output)
	}
	if f.commits != "" && (f.anchors != "" || len(f.exports) > 0) {
		return errors.New("--commits is about commits outside of a ledger: leave out --anchors and --export")
	}
	if len(f.allowed) == 0 {
		return errors.New("--allowed-signers is missing: give the keys that may sign, from outside of what is verified")
	}
	var err error
	if f.keys, err = allowedSigners(f.allowed); err != nil {
		return err
	}
	if f.revoked != "" {
		data, err := os.ReadFile(f.revoked)
		if err != nil {
			return fmt.Errorf("--revoked-keys: %w", err)
		}
		if err := f.keys.Revoke(f.revoked, data); err != nil {
			return fmt.Errorf("--revoked-keys: %w", err)
		}
	}
	if f.principal != "" {
		f.keys = f.keys.Only(f.principal)
	}
	if f.keys.Empty() {
		return errors.New("--allowed-signers: no key is left that may sign")
	}
	if f.anchors != "" {
		data, err := os.ReadFile(f.anchors)
		if err != nil {
			return fmt.Errorf("--anchors: %w", err)
		}
		if f.anchored, err = ledger.ParseAnchors(f.anchors, data); err != nil {
			return fmt.Errorf("--anchors: %w", err)
		}
	}
	for _, e := range f.exports {
		format, file, ok := strings.Cut(e, "=")
		if !ok || file == "" || !slices.Contains([]string{"oscal", "csv"}, format) {
			return fmt.Errorf("--export %q: want oscal=FILE or csv=FILE", e)
		}
		f.exportTo = append(f.exportTo, exportTo{format, file})
	}
	return nil
}

func (f *verifyFlags) verifyLedger(ctx context.Context, s streams) (err error) {
	cfg, err := loadConfig(f.config)
	if err != nil {
		return err
	}
	auth, err := ledgerAuth(cfg, f.git)
	if err != nil {
		return err
	}
	lineage, err := repo.OpenLineage(ctx, repo.LineageOptions{
		Location: f.git, Auth: auth, Branch: f.branch, MaxFile: ledger.MaxRecord, MaxBytes: int64(cfg.Limits.Repository.Bytes),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lineage.Close()) }()
	location := gitops.WithoutCredentials(f.git)
	exports, err := newExports(f.exportTo, location)
	if err != nil {
		return err
	}
	report := ledger.Verify(ledger.Input{
		Steps: lineage.Steps(), Head: lineage.Head(), Keys: f.keys, Anchors: f.anchored, Beyond: lineage.Beyond, Now: s.now(), Each: exports.each(),
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := exports.finish(report); err != nil {
		return err
	}
	if err := f.writeReport(s, location, report); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if report.Verdict == ledger.Broken {
		return exitError{code: 1}
	}
	return nil
}

func (f *verifyFlags) verifyCommits(s streams) error {
	commits, err := repo.Range(f.git, f.commits)
	if err != nil {
		return err
	}
	report := ledger.VerifyCommits(commits, f.keys)
	if err := f.writeCommits(s, report); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	if report.Verdict == ledger.Broken {
		return exitError{code: 1}
	}
	return nil
}

// exports are the files that a trail is written to. They get their names once the ledger is known not to be broken.
type exports struct {
	all []*openExport
}

type openExport struct {
	exportTo
	temporary *os.File
	buffered  *bufio.Writer
	csv       *export.CSV
	oscal     *export.OSCAL
}

func newExports(wanted []exportTo, location string) (*exports, error) {
	var out exports
	for _, w := range wanted {
		temporary, err := os.CreateTemp(filepath.Dir(w.file), ".holdfast-export-")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--export %s: %w", w.format, err), out.drop())
		}
		e := &openExport{exportTo: w, temporary: temporary, buffered: bufio.NewWriter(temporary)}
		if w.format == "csv" {
			e.csv = export.NewCSV(e.buffered)
		} else {
			e.oscal = export.NewOSCAL(location)
		}
		out.all = append(out.all, e)
	}
	return &out, nil
}

// each gives what takes the records; nil without an export.
func (x *exports) each() func(ledger.Entry) {
	if len(x.all) == 0 {
		return nil
	}
	return func(entry ledger.Entry) {
		for _, e := range x.all {
			if e.csv != nil {
				e.csv.Add(entry)
			} else {
				e.oscal.Add(entry)
			}
		}
	}
}

func (x *exports) finish(report ledger.Report) error {
	if len(x.all) == 0 {
		return nil
	}
	if report.Verdict == ledger.Broken || report.Records == 0 {
		return x.drop()
	}
	var failed []error
	for _, e := range x.all {
		if err := e.finish(report); err != nil {
			failed = append(failed, fmt.Errorf("--export %s: %w", e.format, err), os.Remove(e.temporary.Name()))
		}
	}
	return errors.Join(failed...)
}

func (e *openExport) finish(report ledger.Report) error {
	var err error
	if e.csv != nil {
		err = e.csv.Close()
	} else {
		err = e.oscal.Write(e.buffered, report)
	}
	if err := errors.Join(err, e.buffered.Flush(), e.temporary.Close()); err != nil {
		return err
	}
	if err := os.Chmod(e.temporary.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(e.temporary.Name(), e.file)
}

// drop leaves no file behind.
func (x *exports) drop() error {
	var failed []error
	for _, e := range x.all {
		failed = append(failed, e.temporary.Close(), os.Remove(e.temporary.Name()))
	}
	return errors.Join(failed...)
}
