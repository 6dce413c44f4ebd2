package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/detect"
	"holdfast/detect/policy"
	"holdfast/gitops"
)

func newPolicyExplainCommand(s streams) *cobra.Command {
	var flags policyFlags
	cmd := &cobra.Command{
		Use:   "explain SCAN [FINDING [PATH]]",
		Short: "Say why a policy decides on a recorded finding as it does",
		Long: `Decides anew on the findings of a recorded scan and says which rule decides and why each earlier one
does not match. SCAN is what "holdfast scan -o json" printed; - is standard input. FINDING is an id or
its beginning, or an object as Kind/namespace/name; without it, every drift is explained. PATH is the
path of one field.

Where the answer is another than the recorded one, it says so: try a new policy on an old scan.

Exit code 0: explained. 2: an error, or no such finding.`,
		Example: `  holdfast scan -o json > scan.json
  holdfast policy explain scan.json
  holdfast policy explain scan.json Deployment/shop/web spec.replicas
  holdfast policy explain scan.json 3f2a --policy new-policy.yaml`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(_ *cobra.Command, args []string) error {
			chosen, err := flags.orHere().load()
			if err != nil {
				return err
			}
			scan, err := readScan(s, args[0])
			if err != nil {
				return err
			}
			args = append(args, "", "")
			return explainer{policy: chosen, scan: scan, out: s.out}.explain(args[0], args[1], args[2])
		},
	}
	flags.register(cmd, policyHere, configHere)
	return cmd
}

// explainer explains the findings of one recorded scan.
type explainer struct {
	policy *chosenPolicy
	scan   *scanJSON
	out    io.Writer
}

func (x explainer) explain(file, wanted, path string) error {
	var found []detect.Finding
	for _, f := range x.scan.Findings {
		if isMeant(f, wanted) {
			found = append(found, f)
		}
	}
	switch {
	case wanted == "" && len(x.scan.Findings) == 0:
		fmt.Fprintln(x.out, "The scan has no findings.")
		return nil
	case wanted == "" && len(found) == 0:
		fmt.Fprintln(x.out, "The scan has no drift.")
		return nil
	case len(found) == 0:
		return fmt.Errorf("%s: no finding has the id, or is about the object, %q; it has %d findings", file, wanted, len(x.scan.Findings))
	}
	shown := 0
	for _, f := range found {
		fields := matching(f, path)
		if path != "" && len(fields) == 0 {
			continue
		}
		if shown > 0 {
			fmt.Fprintln(x.out)
		}
		shown++
		x.finding(f, fields)
	}
	if shown == 0 {
		return fmt.Errorf("%s: %s has no field %q among its findings", file, wanted, path)
	}
	return nil
}

// isMeant says whether a finding is meant by an id, its beginning, or an object; without any, by its drift.
func isMeant(f detect.Finding, wanted string) bool {
	if wanted == "" {
		return f.Drift
	}
	name := f.Object.Name
	if f.Object.Namespace != "" {
		name = f.Object.Namespace + "/" + name
	}
	return strings.HasPrefix(f.ID, wanted) || f.Object.Kind+"/"+name == wanted || f.Object.ID().String() == wanted
}

func matching(f detect.Finding, path string) []detect.Field {
	var out []detect.Field
	for _, field := range f.Fields {
		if path == "" || field.Path.String() == path {
			out = append(out, field)
		}
	}
	return out
}

func (x explainer) finding(f detect.Finding, fields []detect.Field) {
	fmt.Fprintf(x.out, "%s  (cluster %s, application %s, id %s)\n", f.Object.ID(), f.Cluster, f.Application, f.ID)
	if f.ObjectLevel || f.Presence != detect.Both || len(f.Fields) == 0 {
		whole := detect.Field{
			Drift: f.Drift, Cause: f.Cause, Risk: f.Risk, Writer: f.Writer, Reason: f.Reason, Disposition: f.Disposition, Rule: f.Rule,
		}
		fmt.Fprintf(x.out, "  the object as a whole, %s\n", f.Presence)
		x.decision(f, whole, nil)
	}
	for _, field := range fields {
		fmt.Fprintf(x.out, "  %s: git %s, live %s\n", field.Path, printed(field.Git), printed(field.Live))
		x.decision(f, field, &field)
	}
}

// decision prints what is known, what is decided, and why. recorded holds the recorded answer.
func (x explainer) decision(f detect.Finding, recorded detect.Field, field *detect.Field) {
	app := x.application(f)
	d := x.policy.Decide(policy.Input{
		Finding: f, Field: field, Tier: x.policy.tier, Engine: app.Engine, Now: x.scan.Time,
		EngineRemoves: policy.EngineRemoves(app, f, field),
	})
	fmt.Fprintf(x.out, "    known     %s\n", known(recorded))
	fmt.Fprintf(x.out, "    decided   %s, by %s\n", answer(d), d.Rule)
	if recorded.Disposition != d.Disposition {
		fmt.Fprintf(x.out, "    recorded  %s, by %s\n", recorded.Disposition, cmp.Or(recorded.Rule, "no rule"))
	}
	for i, line := range d.Trace {
		label := "          "
		if i == 0 {
			label = "because   "
		}
		fmt.Fprintf(x.out, "    %s%s\n", label, line)
	}
}

// application gives what the engine's facts about a finding rest on.
func (x explainer) application(f detect.Finding) gitops.Application {
	for _, a := range x.scan.Applications {
		if a.Cluster == f.Cluster && a.Namespace+"/"+a.Name == f.Application {
			return gitops.Application{Engine: gitops.Engine(a.Engine), Kind: a.Kind, Suspended: a.Suspended}
		}
	}
	return gitops.Application{}
}

func known(f detect.Field) string {
	parts := []string{"no drift", "cause " + string(f.Cause)}
	if f.Drift {
		parts[0] = "drift"
	}
	if f.Risk != 0 {
		parts = append(parts, f.Risk.String()+" risk")
	}
	if f.Writer != nil && (f.Writer.User != "" || f.Writer.Manager != "") {
		parts = append(parts, "written by "+f.Writer.Name())
	}
	text := strings.Join(parts, ", ")
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}

func answer(d detect.Decision) string {
	text := string(d.Disposition)
	if d.Offer != "" {
		text += " that offers " + string(d.Offer)
	}
	if !d.Until.IsZero() {
		text += " until " + d.Until.UTC().Format("2006-01-02 15:04 MST")
	}
	if d.AfterHeal != "" {
		text += " (once the engine undid it: " + d.AfterHeal + ")"
	}
	return text
}

// printed gives a value on one line, cut where it is long.
func printed(v gitops.Value) string {
	if !v.Set {
		return "absent"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	if text := []rune(string(data)); len(text) > 80 {
		return string(text[:79]) + "…"
	}
	return string(data)
}
