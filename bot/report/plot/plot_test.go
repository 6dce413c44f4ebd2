package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func number(f float64) string { return fmt.Sprintf("%g", f) }

func TestBarsStandWhereTheirValuesSay(t *testing.T) {
	svg := Bars{Title: "Drift", Labels: []string{"Mon", "Tue"}, Series: []Series{{"manual", []float64{2, 0}}, {"helm", []float64{2, 4}}}, Print: number}.SVG()
	// The axis goes to 4, so 2 is half of the height of 240 between 16 and 256.
	for _, want := range []string{`y="136.0" width="247.8" height="120.0"`, `y="16.0" width="247.8" height="240.0"`, `<title>helm, Tue: 4</title>`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if n := strings.Count(svg, "<rect"); n != 3+2 { // three bars, two in the legend
		t.Errorf("%d rectangles", n)
	}
}

func TestTextsFromOutsideStayTexts(t *testing.T) {
	svg := Bars{Title: `<script>"x"`, Text: "a & b", Labels: []string{"</svg><b>"}, Series: []Series{{"<i>", []float64{1}}, {"&", []float64{1}}}, Print: number, Limit: 3, LimitName: "<u>"}.SVG()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	allowed := map[string]bool{"svg": true, "title": true, "desc": true, "line": true, "text": true, "rect": true}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && !allowed[start.Name.Local] {
			t.Errorf("an element %s came in", start.Name.Local)
		}
	}
}

func TestAxes(t *testing.T) {
	for _, c := range []struct{ highest, last, step float64 }{{4, 4, 1}, {5, 6, 2}, {0.03, 0.03, 0.01}, {0, 1, 0.25}, {1, 1, 0.25}, {97, 100, 25}, {1e6, 1e6, 250_000}} {
		ticks := axis(c.highest)
		if last := ticks[len(ticks)-1]; last < c.highest-1e-12 || len(ticks) > 6 || last/c.last > 1.35 || last/c.last < 0.99 {
			t.Errorf("up to %v: %v", c.highest, ticks)
		}
	}
}

func TestLabelsDoNotMeet(t *testing.T) {
	var labels []string
	var values []float64
	for i := range 30 {
		labels, values = append(labels, fmt.Sprintf("2026-11-%02d", i+1)), append(values, float64(i))
	}
	svg := Bars{Title: "x", Labels: labels, Series: []Series{{"", values}}, Print: number}.SVG()
	if n := strings.Count(svg, ">2026-11-"); n > 8+30 { // a title for each bar
		t.Errorf("%d labels", n-30)
	}
	if (Bars{}).SVG() != "" {
		t.Error("something was drawn of nothing")
	}
}
