package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/bot/guard"
	"holdfast/detect"
	"holdfast/detect/access"
	"holdfast/detect/live"
	"holdfast/detect/scan"
	"holdfast/gitops"
	"holdfast/gitops/engines"
	"holdfast/gitops/flux"
)

// guardFlags are what guard takes beside the usual inputs.
type guardFlags struct {
	breakGlass string
	strict     bool
	engines    []string
	users      []string
	place      guardPlace
}

func newGuardCommand(s streams) *cobra.Command {
	var flags inputFlags
	var own guardFlags
	outputs := []string{"table", "json", "yaml", "markdown"}
	cmd := &cobra.Command{
		Use:   "guard",
		Short: "Who can write past the pipeline, and the controls that close it",
		Long: `Reads a cluster's roles and bindings and says who can change what a GitOps engine applies without
going through Git: directly, by becoming somebody who can, or by changing what keeps objects as they
are; by risk, each with the grants that lead there. An audit log tells who did.

-o yaml prints what closes it, ready for Git: admission policies that deny people what belongs in Git
and let the engines, the controllers and the cluster itself through; a break-glass group whose members
give a reason that the API server writes to its audit log; and a role to read, bound to those who can
write now. Nothing of it lets anybody change anything. Reads clusters with get and list only.

Exit code 0: nobody can, or what they can is held. 1: people can. 2: an error, or roles and bindings that cannot be read.`,
		Example: `  holdfast guard
  holdfast guard --audit audit.log -o markdown
  holdfast guard --break-glass-group oncall -o yaml > clusters/north/guard.yaml
  holdfast guard --config holdfast.yaml --propose clusters/north/guard.yaml

  # a dump instead of a cluster
  kubectl get clusterroles,clusterrolebindings,roles,rolebindings,serviceaccounts,deploy,cm -A -o yaml --show-managed-fields > live.yaml
  holdfast guard --live live.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.check(outputs); err != nil {
				return err
			}
			options, err := own.options()
			if err != nil {
				return err
			}
			session, err := newSession(s, flags)
			if err != nil {
				return err
			}
			var publisher *publisher
			if own.place.file != "" { // what signing needs is told before anything is read
				if publisher, err = session.newPublisher(cmd.Context()); err != nil {
					return err
				}
			}
			report, err := session.guard(cmd.Context(), options)
			if err != nil {
				return err
			}
			if publisher != nil {
				if err := session.proposeGuards(cmd.Context(), own.place, publisher, options, report); err != nil {
					return err
				}
				return guardExit(report)
			}
			if err := writeGuard(s, flags, report); err != nil {
				return fmt.Errorf("writing the result: %w", err)
			}
			return guardExit(report)
		},
	}
	flags.register(cmd.Flags(), outputs)
	cmd.Flags().StringVar(&own.breakGlass, "break-glass-group", guard.DefaultBreakGlass, "`GROUP` whose members may change guarded objects with a reason in the annotation "+guard.ReasonAnnotation)
	cmd.Flags().BoolVar(&own.strict, "strict", false, "let only those service accounts through that can write to managed objects today, instead of all")
	cmd.Flags().StringSliceVar(&own.engines, "engine-account", nil, "`NAMESPACE/NAME` of a service account by which an engine applies, beside those that are found, repeatable")
	cmd.Flags().StringVar(&own.place.file, "propose", "", "`PATH` of a .yaml file in the repository: open a pull request that has the manifests there, instead of printing")
	cmd.Flags().StringVar(&own.place.repository, "repository", "", "`URL` of the repository for --propose (default: the only one with a forge)")
	cmd.Flags().StringSliceVar(&own.users, "let-through", nil, "`USER` that is a program, such as a pipeline's, and no person, repeatable")
	return cmd
}

func (f guardFlags) options() (guard.Options, error) {
	out := guard.Options{BreakGlass: f.breakGlass, Strict: f.strict, Users: f.users}
	for _, text := range f.engines {
		namespace, name, ok := strings.Cut(text, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return out, fmt.Errorf("--engine-account %q: want NAMESPACE/NAME of a service account", text)
		}
		out.Engines = append(out.Engines, access.Subject{Kind: access.ServiceAccount, Namespace: namespace, Name: name})
	}
	return out, out.Check()
}

// guardReport is what guard says of all clusters.
type guardReport struct {
	clusters []guard.Result
	unknown  []detect.UnknownObject
}

// guard assesses each of the session's clusters. One that cannot be read is said, and the others stand; an error means
// that nothing can be said of any.
func (x *session) guard(ctx context.Context, options guard.Options) (guardReport, error) {
	var out guardReport
	var failed []error
	defer x.progress("")
	for _, target := range x.targets {
		result, unknown, err := x.guardCluster(ctx, target, options)
		if err != nil {
			if target.Name != "" {
				err = fmt.Errorf("cluster %s: %w", target.Name, err)
			}
			failed = append(failed, err)
			out.unknown = append(out.unknown, detect.UnknownObject{Cluster: target.Name, Reason: err.Error()})
			continue
		}
		out.unknown = append(out.unknown, unknown...)
		out.clusters = append(out.clusters, result)
	}
	if len(out.clusters) == 0 {
		return out, errors.Join(failed...)
	}
	return out, ctx.Err()
}

func (x *session) guardCluster(ctx context.Context, target scan.Target, options guard.Options) (guard.Result, []detect.UnknownObject, error) {
	x.progress(target.Name + ": reading the engines' objects")
	own, err := target.Cluster.EngineObjects(ctx)
	if err != nil {
		return guard.Result{}, nil, err
	}
	name := orDefault(target.Name, own.Cluster)
	apps, _ := engines.Decode(name, slices.Collect(own.Objects.Where(engines.Reads)))
	for _, given := range target.Applications {
		if !slices.ContainsFunc(apps, func(a gitops.Application) bool {
			return a.Kind == given.Kind && a.Namespace == given.Namespace && a.Name == given.Name
		}) {
			given.Cluster = name
			apps = append(apps, given)
		}
	}
	x.progress(target.Name + ": reading roles, bindings and what is managed")
	snapshot, err := target.Cluster.Read(ctx, guardWants(apps))
	if err != nil {
		return guard.Result{}, nil, err
	}
	x.progress(target.Name + ": resolving access")
	result, err := guard.Assess(guard.Cluster{
		Name: name, Applications: apps, Engines: slices.Collect(own.Objects.Where(engines.Declares)),
		Objects: func() iter.Seq[gitops.Object] { return snapshot.Objects.All() }, Audit: target.Audit,
	}, options)
	if err != nil {
		return result, nil, err
	}
	unknown := unreadAccess(name, snapshot)
	if own != snapshot { // a dump is both
		unknown = append(unknown, unreadManaged(name, own)...)
	}
	return result, append(unknown, unreadManaged(name, snapshot)...), nil
}

// guardWants is what has to be read: the access control, the policies in place, and whatever engines track.
func guardWants(apps []gitops.Application) live.Wanted {
	w := live.Wanted{WholeKinds: append(access.Kinds(), gitops.GroupKind{Kind: "ServiceAccount"},
		gitops.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"},
		gitops.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"})}
	// An engine's objects may be out of sight where what it applied is not.
	w.Selectors = []string{flux.NameLabel, flux.HelmNameLabel}
	w.AllKinds = true
	seen := map[gitops.ObjectID]bool{}
	for _, app := range apps {
		for _, id := range app.Inventory {
			if !seen[id] {
				seen[id] = true
				w.IDs = append(w.IDs, id)
			}
		}
		if s := app.Tracking.Selector; s != "" && !slices.Contains(w.Selectors, s) {
			w.Selectors = append(w.Selectors, s)
		}
	}
	slices.SortFunc(w.IDs, gitops.ObjectID.Compare)
	return w
}

// unreadAccess says which part of the access control could not be read: whoever it gives rights to is then not known. A
// dump that holds no role was made without them.
func unreadAccess(cluster string, s *live.Snapshot) []detect.UnknownObject {
	var out []detect.UnknownObject
	for _, u := range s.Unread {
		if u.Place == "" && !u.NotServed && slices.Contains(access.Kinds(), gitops.GroupKind{Group: u.Group, Kind: u.Kind}) {
			out = append(out, detect.UnknownObject{Cluster: cluster, Object: detect.ObjectRef{APIVersion: u.Group, Kind: u.Kind, Namespace: u.Namespace, Name: u.Name},
				Reason: orDefault(u.Reason, "not read") + "; who else can write is not known (deploy/rbac has the role that is needed)"})
		}
	}
	if s.Cluster != "" {
		return out
	}
	for _, kind := range access.Kinds() {
		if !slices.ContainsFunc(s.Objects.IDs(), func(id gitops.ObjectID) bool { return id.GroupKind() == kind }) {
			if kind.Kind == "Role" || kind.Kind == "RoleBinding" {
				continue // a cluster may have none, but it always has those of the whole cluster
			}
			out = append(out, detect.UnknownObject{Cluster: cluster, Object: detect.ObjectRef{APIVersion: kind.Group, Kind: kind.Kind},
				Reason: "the dump holds none, and every cluster has some: dump clusterroles,clusterrolebindings,roles,rolebindings -A too"})
		}
	}
	return out
}

// unreadManaged says what else could not be read: objects that are managed may be among it.
func unreadManaged(cluster string, s *live.Snapshot) []detect.UnknownObject {
	var out []detect.UnknownObject
	for _, u := range s.Unread {
		if u.NotServed || u.ByChoice || u.Optional || slices.Contains(access.Kinds(), gitops.GroupKind{Group: u.Group, Kind: u.Kind}) && u.Place == "" {
			continue
		}
		reason := u.Reason
		if u.Place != "" {
			reason = u.Place + ": " + reason
		}
		out = append(out, detect.UnknownObject{Cluster: cluster, Object: detect.ObjectRef{APIVersion: u.Group, Kind: u.Kind, Namespace: u.Namespace, Name: u.Name}, Reason: reason})
	}
	return out
}

// guardExit gives 2 where something could not be read, else 1 where somebody who is no part of the cluster can write
// past the pipeline and no guard holds it.
func guardExit(r guardReport) error {
	if len(r.unknown) > 0 {
		return exitError{code: 2}
	}
	for _, c := range r.clusters {
		if slices.ContainsFunc(c.Findings, concernsPeople) {
			return exitError{code: 1}
		}
	}
	return nil
}

// concernsPeople says whether a finding is about people, and not only a risk that is held.
func concernsPeople(f guard.Finding) bool {
	return (f.Sort == access.Person || f.Sort == access.Everyone) && f.Risk > detect.Low
}
