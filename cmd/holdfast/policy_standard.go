package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"holdfast/detect/assess"
	"holdfast/detect/setting"
)

// showStandards lists which controls of standards are mapped, and what refers to each.
func showStandards(out io.Writer, names []string) error {
	var ids []string
	var errs []error
	for _, name := range names {
		id, err := setting.ParseStandard(name)
		errs = append(errs, err)
		if id == setting.CIS {
			for _, known := range setting.StandardIDs() {
				if strings.HasPrefix(known, "cis-") {
					ids = append(ids, known)
				}
			}
			continue
		}
		ids = append(ids, id)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	a, err := assess.New()
	if err != nil {
		return err
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		showStandard(out, a, id)
	}
	return nil
}

func showStandard(out io.Writer, a *assess.Assessor, id string) {
	info, _ := a.Standard(id)
	fmt.Fprintf(out, "%s: %s, version %s (%s)\n%s\n\n", id, info.Name, info.Version, info.Source, info.Licence)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CONTROL\tTITLE\tREFERRED TO BY")
	for _, m := range a.Mapping(id) {
		by := slices.Concat(m.Classes, m.Categories, m.Expects)
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.ID, m.Title, strings.Join(by, ", "))
	}
	w.Flush() // its errors are those of out, which remembers them
	e, _ := a.Expectation(id)
	fmt.Fprintln(out, "\nDetection:")
	for _, d := range e.Detection {
		var ids []string
		for _, c := range d.Controls {
			ids = append(ids, c.ID)
		}
		fmt.Fprintf(out, "  %s: %s: %s (%s)\n", strings.Join(ids, ", "), d.What, d.Says, d.Force)
	}
	fmt.Fprintf(out, "Records say: %s\nRecords are kept: %s\nRecords are whole: %s\n", e.Content.Says, e.Retention.Says, e.Integrity.Says)
}
