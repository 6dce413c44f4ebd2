package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast/config"
	"holdfast/detect"
	"holdfast/detect/policy"
)

// policyFlags say which policy is meant; the same for all subcommands of policy.
type policyFlags struct {
	policy, config, tier string
}

func (f *policyFlags) register(cmd *cobra.Command, policyDefault, configDefault string) {
	cmd.Flags().StringVar(&f.policy, "policy", "", "`FILE`: policy (default: "+policyDefault+")")
	cmd.Flags().StringVar(&f.config, "config", "", "`FILE`: holdfast.yaml, whose floor the policy is held to (default: "+configDefault+")")
	cmd.Flags().StringVar(&f.tier, "tier", "", "`TIER`: dev, staging, production, regulated or dr (default: of the config, else production)")
}

// The defaults that --help names: of a command that works in a repository, and of one whose files name all
// that they need.
const (
	policyHere   = "./.holdfast.yaml when it exists, else the built-in one of the tier"
	configHere   = "./holdfast.yaml when it exists"
	policyOfFile = "the file's own, else the built-in one of the tier"
	configOfFile = "the file's own, else none"
)

// chosenPolicy is a policy under its floor, and what is to be known about it.
type chosenPolicy struct {
	*policy.Policy
	tier  detect.Tier
	floor policy.Floor
	// floored says that there is a configuration, whose file is config.
	floored bool
	config  string
}

// orHere takes what no flag names from the current folder.
func (f policyFlags) orHere() policyFlags {
	if f.config == "" && exists("holdfast.yaml") {
		f.config = "holdfast.yaml"
	}
	if f.policy == "" && f.tier == "" && exists(policyFile) {
		f.policy = policyFile
	}
	return f
}

func (f policyFlags) load() (*chosenPolicy, error) {
	out := chosenPolicy{config: f.config}
	configured := &config.Config{}
	var err error
	if f.config != "" {
		if configured, err = config.Load(f.config); err != nil {
			return nil, err
		}
	}
	out.floor, out.floored = configured.Floor, f.config != ""
	tier, err := detect.ParseTier(cmp.Or(f.tier, string(configured.Tier)))
	if err != nil {
		return nil, err
	}
	out.tier = tier
	if out.Policy, err = loadPolicy(f.policy, tier); err != nil {
		return nil, err
	}
	if f.tier == "" && configured.Tier == "" && out.Policy.Tier != "" {
		out.tier = out.Policy.Tier
	}
	out.Policy = out.Policy.Under(out.floor)
	return &out, nil
}

// loadPolicy reads a policy file; without one it gives the built-in policy of the tier.
func loadPolicy(file string, tier detect.Tier) (*policy.Policy, error) {
	if file == "" {
		return policy.Builtin(tier), nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return policy.Decode(file, data)
}

func exists(file string) bool {
	info, err := os.Stat(file)
	return err == nil && !info.IsDir()
}

func newPolicyCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Test, explain and show the policy that decides what becomes of a drift",
		Long: `A policy is YAML in the repository (.holdfast.yaml), reviewed like everything else. The first rule
that matches a drift decides: ignore, codify, revert or issue. A drift that no rule matches is an
issue. Exceptions ignore a drift until a date. The server's floor tightens a policy and is never
loosened by it.`,
		Example: `  holdfast policy show --tier staging > .holdfast.yaml
  holdfast policy test policy_test.yaml
  holdfast scan -o json | holdfast policy explain -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyTestCommand(s), newPolicyExplainCommand(s), newPolicyShowCommand(s))
	return cmd
}

func newPolicyShowCommand(s streams) *cobra.Command {
	var flags policyFlags
	var standards []string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the policy that is in force",
		Long: `Prints the policy that is in force: a built-in one as it is written, with its reasons, or a file's
rules followed by those of the built-in policy that it extends. What a floor adds stands below, as a
comment. The output is itself a policy. With --standard, it lists instead which controls of a
compliance standard findings refer to, and what refers to each.

Exit code 0: shown. 2: an error.`,
		Example: `  # start a policy from the built-in one
  holdfast policy show --tier staging > .holdfast.yaml

  # a repository's policy as this server sees it
  holdfast policy show --policy .holdfast.yaml --config holdfast.yaml

  # what of PCI DSS is mapped
  holdfast policy show --standard pci-dss`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if len(standards) > 0 {
				return showStandards(s.out, standards)
			}
			chosen, err := flags.orHere().load()
			if err != nil {
				return err
			}
			return chosen.show(s.out)
		},
	}
	flags.register(cmd, policyHere, configHere)
	cmd.Flags().StringSliceVar(&standards, "standard", nil, "`NAME` of a compliance standard whose mapped controls are listed instead, repeatable")
	return cmd
}

func (c *chosenPolicy) show(out io.Writer) error {
	name, data := policy.BuiltinSource(c.tier)
	if c.Name != name {
		var err error
		if data, err = c.Marshal(); err != nil {
			return err
		}
		fmt.Fprintf(out, "# The policy of %s.\n", c.Name)
	}
	if _, err := out.Write(data); err != nil {
		return err
	}
	if !c.floored {
		return nil
	}
	floor, err := policy.MarshalYAML(map[string]policy.Floor{"floor": c.floor})
	if err != nil {
		return err
	}
	if string(floor) == "floor: {}\n" {
		return nil
	}
	fmt.Fprintf(out, "\n# Held to the floor of %s:\n", c.config)
	for line := range strings.Lines(string(floor)) {
		fmt.Fprint(out, "# ", line)
	}
	return nil
}

func newPolicyTestCommand(s streams) *cobra.Command {
	var flags policyFlags
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Check a policy against recorded findings",
		Long: `Runs the tests of each file. A test is a finding as "holdfast scan -o json" prints it and what the
policy must say about it:

  apiVersion: holdfast/v1
  kind: PolicyTest
  policy: .holdfast.yaml        # beside this file; without it, the built-in policy of the tier
  scan: recorded.json           # for tests that name a finding by id
  now: 2027-01-31T12:00:00Z     # default: when the finding was last seen
  tests:
  - name: replicas by hand go back
    id: 3f2a9c0b1d4e            # or finding: {...}
    field: spec.replicas        # needed when the finding has several fields
    engine: flux                # or engineRemoves: true
    want: {disposition: revert, rule: manual-declared}

Exit code 0: all pass. 1: one fails. 2: an error.`,
		Example: `  holdfast policy test policy_test.yaml
  holdfast policy test --policy .holdfast.yaml tests/*.yaml`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			failed := 0
			for _, file := range files {
				n, err := flags.test(s, file)
				if err != nil {
					return err
				}
				failed += n
			}
			if failed > 0 {
				return exitError{code: 1}
			}
			return nil
		},
	}
	flags.register(cmd, policyOfFile, configOfFile)
	return cmd
}

// test runs one file and gives the number of failures.
func (f policyFlags) test(s streams, file string) (failed int, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("policy test: %w", err)
	}
	tests, err := policy.DecodeTests(file, data)
	if err != nil {
		return 0, err
	}
	var recorded []detect.Finding
	if tests.Scan != "" {
		scan, err := readScan(s, beside(file, tests.Scan))
		if err != nil {
			return 0, err
		}
		recorded = scan.Findings
	}
	chosen := f
	chosen.policy = cmp.Or(chosen.policy, beside(file, tests.Policy))
	chosen.config = cmp.Or(chosen.config, beside(file, tests.Config))
	chosen.tier = cmp.Or(chosen.tier, string(tests.Tier))
	under, err := chosen.load()
	if err != nil {
		return 0, err
	}
	if tests.Tier == "" {
		tests.Tier = under.tier
	}
	results, err := tests.Run(under.Policy, recorded)
	if err != nil {
		return 0, err
	}
	for _, r := range results {
		if len(r.Failures) == 0 {
			fmt.Fprintf(s.out, "ok    %s\n", r.Name)
			continue
		}
		failed++
		fmt.Fprintf(s.out, "FAIL  %s (%s:%d)\n", r.Name, file, r.Line)
		for _, failure := range r.Failures {
			fmt.Fprintf(s.out, "        %s\n", failure)
		}
		fmt.Fprintf(s.out, "      decided by %s; before it:\n", r.Got.Rule)
		for _, line := range r.Got.Trace {
			fmt.Fprintf(s.out, "        %s\n", line)
		}
	}
	fmt.Fprintf(s.out, "%s: %d tests, %d failed, with the policy %s\n", file, len(results), failed, under.Name)
	return failed, nil
}

// beside takes a path that stands in a file from that file's folder.
func beside(file, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}

// readScan reads what `holdfast scan -o json` printed; - is standard input.
func readScan(s streams, file string) (*scanJSON, error) {
	data, err := func() ([]byte, error) {
		if file == "-" {
			return io.ReadAll(s.in)
		}
		return os.ReadFile(file)
	}()
	if err != nil {
		return nil, fmt.Errorf("recorded scan: %w", err)
	}
	var scan scanJSON
	if err := json.Unmarshal(data, &scan); err != nil {
		return nil, fmt.Errorf("recorded scan %s: no JSON as holdfast scan -o json prints it: %w", file, atLine(data, err))
	}
	if scan.APIVersion != apiVersion || scan.Kind != "Scan" {
		return nil, fmt.Errorf("recorded scan %s: is apiVersion %q, kind %q; want %s, Scan: write one with holdfast scan -o json", file, scan.APIVersion, scan.Kind, apiVersion)
	}
	return &scan, nil
}

// atLine names the line of a syntax error.
func atLine(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")), err)
	}
	return err
}
