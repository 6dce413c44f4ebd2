package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// inputFlags are the inputs that every command takes the same way. One without outputs has no --output and no --all.
type inputFlags struct {
	config         string
	kubeconfig     string
	contexts       []string
	live           []string
	git            []string
	charts         []string
	revision, path string
	applications   []string
	managers       []string
	audit          []string
	policy         string
	tier           string
	secrets        string
	standards      []string
	all            bool
	output         string
}

func (f *inputFlags) register(flags *pflag.FlagSet, outputs []string) {
	flags.StringVar(&f.config, "config", "", "`FILE`: holdfast.yaml with clusters, repositories, forge, signing (default: ./holdfast.yaml when it exists)")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE`: kubeconfig of the clusters to read (default: $KUBECONFIG, ~/.kube/config)")
	flags.StringSliceVar(&f.contexts, "context", nil, "`NAME` of a kubeconfig context, repeatable (default: the current context)")
	flags.StringArrayVar(&f.live, "live", nil, "`FILE|DIR`: a dump instead of a cluster (kubectl get ... -o yaml --show-managed-fields), repeatable")
	flags.StringArrayVar(&f.git, "git", nil, "`[URL=]DIR|URL`: a repository instead of the engine's source, repeatable; its commits are read, never uncommitted changes; a plain folder works for scans and dry runs")
	flags.StringArrayVar(&f.charts, "chart", nil, "`URL=PATH`: a chart archive or folder instead of what the chart repository at URL has, repeatable")
	flags.StringVar(&f.revision, "revision", "", "`REV`: branch, tag or commit to compare with (default: what the engine applied, else HEAD)")
	flags.StringVar(&f.path, "path", "", "`PATH`: folder or file in the repository, when no engine object describes it")
	flags.StringArrayVar(&f.applications, "application", nil, "`FILE`: a Kustomization with its GitRepository, or a holdfast/v1 Application, repeatable")
	flags.StringSliceVar(&f.managers, "manager", nil, "`NAME`: field manager that applies from Git, with --path (default: the engines' own)")
	flags.StringArrayVar(&f.audit, "audit", nil, "`[CLUSTER=]FILE`: the cluster's audit log, which tells who made a change: audit.k8s.io/v1 events, one JSON object a line, or what EKS, GKE or AKS export; .gz too, repeatable")
	flags.StringVar(&f.policy, "policy", "", "`FILE`: policy (default: .holdfast.yaml of the repository, else the built-in one of the tier)")
	flags.StringVar(&f.tier, "tier", "", "`TIER`: dev, staging, production, regulated or dr (default: of the config, else production)")
	flags.StringVar(&f.secrets, "secrets", "", "`MODE`: none, metadata or values: what is read of Secrets in clusters (default none)")
	flags.StringSliceVar(&f.standards, "standard", nil, "`ID` of a compliance standard whose controls are named, repeatable")
	if len(outputs) == 0 {
		return
	}
	flags.BoolVar(&f.all, "all", false, "list also values that differ in spelling only, and defaulted fields, with their cause")
	flags.StringVarP(&f.output, "output", "o", outputs[0], "`FORMAT`: "+strings.Join(outputs, ", "))
}

func (f *inputFlags) check(outputs []string) error {
	if len(outputs) > 0 && !slices.Contains(outputs, f.output) {
		return fmt.Errorf("--output %q: want one of %s", f.output, strings.Join(outputs, ", "))
	}
	if len(f.live) > 0 && (f.kubeconfig != "" || len(f.contexts) > 0) {
		return fmt.Errorf("--live reads a dump instead of a cluster: leave out --kubeconfig and --context")
	}
	for i, name := range f.contexts {
		if slices.Contains(f.contexts[:i], name) {
			return fmt.Errorf("--context %s: given twice", name)
		}
	}
	if f.path != "" && len(f.applications) > 0 {
		return fmt.Errorf("--path describes a folder that no engine object does: leave out --application, or put spec.path there")
	}
	if f.path != "" && len(f.git) == 0 {
		return fmt.Errorf("--path needs --git: which repository or folder is it in")
	}
	if len(f.managers) > 0 && f.path == "" {
		return fmt.Errorf("--manager goes with --path; a holdfast/v1 Application lists its managers in spec.managers")
	}
	switch f.secrets {
	case "", "none", "metadata", "values":
	default:
		return fmt.Errorf("--secrets %q: want none, metadata or values", f.secrets)
	}
	return nil
}
