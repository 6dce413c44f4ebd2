package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"holdfast/bot/ledger"
	"holdfast/gitops"
	"holdfast/templates"
)

type verificationJSON struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Ledger     ledgerJSON `json:"ledger"`
	ledger.Report
}

type ledgerJSON struct {
	Location string `json:"location"`
	Branch   string `json:"branch"`
}

type commitsJSON struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Location   string `json:"location"`
	Range      string `json:"range"`
	ledger.CommitsReport
}

func (f *verifyFlags) writeReport(s streams, location string, r ledger.Report) error {
	if f.output != "table" {
		return f.writeJSON(s.out, verificationJSON{apiVersion, "Verification", ledgerJSON{location, f.branch}, r})
	}
	w := s.out
	fmt.Fprintf(w, "Ledger   %s, branch %s, at %s\n", templates.Printable(location), templates.Printable(f.branch), r.Head)
	fmt.Fprintf(w, "Batches  %d with %d good records%s\n", r.Batches, r.Records, between(r.First, r.Last))
	printSignatures(w, r.Signatures)
	for _, u := range r.Unknown {
		fmt.Fprintf(w, "Unknown  %d records of type %s: signed and in place, but not understood\n", u.Records, templates.Printable(u.PredicateType))
	}
	if a := r.Anchors; a != nil {
		fmt.Fprintf(w, "Anchors  %d of %d found; %d batches come after the newest, %s\n", a.Found, a.Given, a.After, orDefault(a.Newest, "none"))
	}
	printProblems(s, r.Problems, r.ProblemsLeftOut)
	fmt.Fprintf(w, "\n%s\n", verdictText(r))
	for _, e := range f.exportTo {
		if r.Verdict == ledger.Broken || r.Records == 0 {
			fmt.Fprintf(w, "Not exported: %s\n", templates.Printable(e.file))
		}
	}
	return nil
}

func verdictText(r ledger.Report) string {
	switch r.Verdict {
	case ledger.Broken:
		return fmt.Sprintf("Broken: %d problems.", len(r.Problems)+r.ProblemsLeftOut)
	case ledger.Unanchored:
		return "Consistent, not anchored: whether it was cut off or written anew by a key's owner cannot be seen without --anchors."
	}
	return "Whole."
}

func (f *verifyFlags) writeCommits(s streams, r ledger.CommitsReport) error {
	location := gitops.WithoutCredentials(f.git)
	if f.output != "table" {
		return f.writeJSON(s.out, commitsJSON{apiVersion, "CommitVerification", location, f.commits, r})
	}
	fmt.Fprintf(s.out, "Commits  %s of %s: %d, of which Holdfast made %d\n", templates.Printable(f.commits), templates.Printable(location), r.Commits, r.Own)
	printSignatures(s.out, r.Signatures)
	for _, p := range r.Remade {
		fmt.Fprintf(s.out, "Remade   %.12s %s\n", p.Commit, templates.Printable(p.Message))
	}
	printProblems(s, r.Problems, 0)
	if r.Verdict == ledger.Broken {
		fmt.Fprintf(s.out, "\nBroken: %d problems.\n", len(r.Problems))
		return nil
	}
	fmt.Fprintln(s.out, "\nWhole.")
	return nil
}

func (f *verifyFlags) writeJSON(w io.Writer, value any) error {
	print := func(w writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	}
	if f.output == "yaml" {
		return writeYAML(w, print)
	}
	return print(w)
}

func printSignatures(w io.Writer, all []ledger.Signature) {
	for _, s := range all {
		counts := fmt.Sprintf("%d commits", s.Batches)
		if s.Records > 0 {
			counts += fmt.Sprintf(", %d records", s.Records)
		}
		fmt.Fprintf(w, "Signed   %s by %s %s%s\n", counts, templates.Printable(strings.Join(s.Principals, ",")), s.Key, between(s.First, s.Last))
	}
}

func between(first, last time.Time) string {
	if first.IsZero() {
		return ""
	}
	return fmt.Sprintf(", %s to %s", first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))
}

func printProblems(s streams, problems []ledger.Problem, leftOut int) {
	if len(problems) == 0 {
		return
	}
	rows := [][]string{{"FAULT", "BATCH", "RECORD", "WHAT"}}
	for _, p := range problems {
		record := ""
		if p.Sequence > 0 {
			record = fmt.Sprint(p.Sequence)
		}
		what := p.Message
		if p.Path != "" {
			what = p.Path + ": " + what
		}
		rows = append(rows, []string{string(p.Fault), fmt.Sprintf("%.12s", p.Commit), record, templates.Printable(what)})
	}
	fmt.Fprintln(s.out)
	table{w: s.out}.grid(rows)
	if leftOut > 0 {
		fmt.Fprintf(s.out, "and %d more\n", leftOut)
	}
}
