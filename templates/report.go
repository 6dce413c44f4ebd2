package templates

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
)

// Document is an analysis as its readers see it, in Markdown or HTML.
type Document struct {
	Title, Time string
	// Mark stands above everything, such as that all figures are synthetic; empty for none.
	Mark     string
	Sections []DocumentSection
}

// DocumentSection is one section; ID is its anchor.
type DocumentSection struct {
	ID, Title string
	Blocks    []Block
}

// Block is one thing in a section: whichever of its parts is set.
type Block struct {
	Heading string
	Text    string
	List    []string
	Table   *Table
	// Code is shown as it is, in Language.
	Code     string
	Language string
	// SVG is a figure that this program drew; its texts are escaped already. Markdown leaves it out.
	SVG string
	// Note is a remark in small letters.
	Note string
}

// Table is a table with what it rests on.
type Table struct {
	Caption string
	// Basis is its source and sample size.
	Basis   string
	Columns []string
	Rows    [][]string
}

// ReportMarkdown gives a document as Markdown.
func ReportMarkdown(d Document) (string, error) { return render("report.md.tmpl", d) }

// ReportHTML gives a document as one HTML file that needs nothing else and runs no script.
func ReportHTML(d Document) (string, error) {
	t, err := template.New("report.html.tmpl").Funcs(template.FuncMap{
		"line": Printable, "lines": Lines,
		"svg": func(text string) template.HTML { return template.HTML(text) }, // drawn by bot/report/plot, which escapes
	}).ParseFS(files, "report.html.tmpl")
	if err != nil {
		return "", fmt.Errorf("template report.html.tmpl: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, d); err != nil {
		return "", fmt.Errorf("template report.html.tmpl: %w", err)
	}
	return out.String(), nil
}

// row gives the cells of a Markdown table.
func row(cells []string) string {
	var out strings.Builder
	for _, c := range cells {
		if c == "" {
			c = "–"
		}
		out.WriteString("| " + Prose(c) + " ")
	}
	return out.String() + "|"
}

// rule is the line below the head of a Markdown table.
func rule(columns []string) string { return strings.Repeat("| --- ", len(columns)) + "|" }
