package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"holdfast/detect"
	"holdfast/templates"
)

type writer = io.Writer

// writeYAML prints as YAML what print prints as JSON.
func writeYAML(w io.Writer, print func(writer) error) error {
	var buffer bytes.Buffer
	if err := print(&buffer); err != nil {
		return err
	}
	data, err := yaml.JSONToYAML(buffer.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// writeScanMarkdown prints a scan as Markdown: a table of drift, then what could not be judged.
func writeScanMarkdown(w io.Writer, s detect.Scan) error {
	var b strings.Builder
	sum := summarize(s)
	fmt.Fprintf(&b, "# Drift\n\n%s in %s, %d drifted, %d unknown. %s.\n",
		plural(sum.Objects, "object"), plural(len(s.Applications), "application"), sum.Drifted, sum.Unknown, s.Time.UTC().Format("2006-01-02 15:04 UTC"))
	if sum.Drifted > 0 {
		b.WriteString("\n| Risk | Object | Field | Git | Live | Cause | By | Answer |\n|---|---|---|---|---|---|---|---|\n")
	}
	for _, f := range s.Findings {
		if !f.Drift {
			continue
		}
		for _, row := range (table{now: s.Time}).rows(f) {
			for i := range row {
				if i >= 1 && i <= 4 || i == 6 {
					row[i] = templates.Cell(row[i])
				}
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	var rest strings.Builder
	plain := table{w: &rest, now: s.Time}
	plain.applications(s)
	plain.unknown(s)
	plain.notes(s)
	if rest.Len() > 0 {
		b.WriteString("\n## Not assessed\n\n")
		for _, line := range strings.Split(strings.TrimSpace(rest.String()), "\n") {
			fmt.Fprintf(&b, "- %s\n", templates.Prose(line))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
