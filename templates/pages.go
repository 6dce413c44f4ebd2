package templates

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"time"
)

//go:embed pages
var pageFiles embed.FS

// The most characters of a text from outside that a page shows: in a row of a table, and elsewhere.
const (
	mostShort = 160
	mostCut   = 1000
)

// Pages are the dashboard's pages. They hold no script, and no style of their own: the sheet has its own path.
type Pages struct {
	byName map[string]*template.Template
	style  []byte
	icon   []byte
	// StylePath is where the sheet is to be served; it changes with the sheet.
	StylePath string
}

// NewPages parses the pages.
func NewPages() (*Pages, error) {
	p := &Pages{byName: map[string]*template.Template{}}
	for _, name := range []string{"overview", "drifts", "drift", "applications", "application", "login", "problem"} {
		t, err := template.New(name+".html").Funcs(template.FuncMap{
			"line": Printable, "short": shorter, "cut": cut, "stamp": stamp, "day": day,
		}).ParseFS(pageFiles, "pages/"+name+".html", "pages/frame.html")
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
		p.byName[name] = t
	}
	var err error
	if p.style, err = pageFiles.ReadFile("pages/style.css"); err != nil {
		return nil, err
	}
	if p.icon, err = pageFiles.ReadFile("pages/icon.svg"); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(p.style)
	p.StylePath = "/style-" + hex.EncodeToString(sum[:6]) + ".css"
	return p, nil
}

// Style is the sheet, as CSS.
func (p *Pages) Style() []byte { return p.style }

// Icon is the icon, as SVG.
func (p *Pages) Icon() []byte { return p.icon }

// Overview writes the page about the fleet.
func (p *Pages) Overview(w io.Writer, v OverviewPage) error { return p.write(w, "overview", v) }

// Drifts writes the list of what drifts.
func (p *Pages) Drifts(w io.Writer, v DriftsPage) error { return p.write(w, "drifts", v) }

// Drift writes the page about one drift.
func (p *Pages) Drift(w io.Writer, v DriftPage) error { return p.write(w, "drift", v) }

// Applications writes the list of Applications.
func (p *Pages) Applications(w io.Writer, v ApplicationsPage) error {
	return p.write(w, "applications", v)
}

// Application writes the page about one Application.
func (p *Pages) Application(w io.Writer, v ApplicationPage) error {
	return p.write(w, "application", v)
}

// Login writes the form that asks for the token.
func (p *Pages) Login(w io.Writer, v LoginPage) error { return p.write(w, "login", v) }

// Problem writes a page that says what is wrong with a request.
func (p *Pages) Problem(w io.Writer, v ProblemPage) error { return p.write(w, "problem", v) }

// write puts the page out only when it is whole.
func (p *Pages) write(w io.Writer, name string, view any) error {
	var out bytes.Buffer
	if err := p.byName[name].Execute(&out, view); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	_, err := out.WriteTo(w)
	return err
}

// shorter gives text on one line, no longer than a row has room for.
func shorter(text string) string { return shortened(Printable(text), mostShort) }

// cut gives text on one line, no longer than is of use.
func cut(text string) string { return shortened(Printable(text), mostCut) }

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d characters)", string(runes[:most]), len(runes))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
