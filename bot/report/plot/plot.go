// Package plot draws figures as SVG that stands in a page without scripts: colours come from the page's CSS variables --c1 to --c8,
// --fg and --line, so that light, dark and print each have their own. It does no I/O.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Series is one row of values, one for each label.
type Series struct {
	Name   string
	Values []float64
}

// Bars is a chart of bars, those of several series stacked.
type Bars struct {
	// Title and Text are for readers who do not see the chart.
	Title, Text string
	Labels      []string
	Series      []Series
	// Print gives a value of the axis as text.
	Print func(float64) string
	// Limit is a line across, with its name; 0 for none.
	Limit     float64
	LimitName string
	// Marked is the label that is set off; empty for none.
	Marked string
}

// The drawing's measures, in the units of its view box.
const (
	width, height = 720, 300
	left, right   = 56, 12
	top, bottom   = 16, 44
	letter        = 6.6 // width of a letter at font size 12, on average
	legendRow     = 18
	mostColours   = 8
	mostLabels    = 8
)

// SVG gives the chart; empty when there is nothing to draw.
func (b Bars) SVG() string {
	if len(b.Labels) == 0 || len(b.Series) == 0 {
		return ""
	}
	highest := b.Limit
	for i := range b.Labels {
		sum := 0.0
		for _, s := range b.Series {
			sum += s.Values[i]
		}
		highest = max(highest, sum)
	}
	ticks := axis(highest)
	ceiling := ticks[len(ticks)-1]
	legend, rows := b.legend()
	total := height + rows*legendRow
	var out strings.Builder
	fmt.Fprintf(&out, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s"><title>%s</title><desc>%s</desc>`, width, total, html.EscapeString(b.Title), html.EscapeString(b.Title), html.EscapeString(b.Text))
	y := func(v float64) float64 { return height - bottom - v/ceiling*(height-top-bottom) }
	for _, t := range ticks {
		fmt.Fprintf(&out, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="tick" x="%d" y="%.1f" text-anchor="end">%s</text>`,
			left, width-right, y(t), y(t), left-6, y(t)+4, html.EscapeString(b.Print(t)))
	}
	slot := float64(width-left-right) / float64(len(b.Labels))
	every := max(1, int(math.Ceil(float64(len(b.Labels))/b.room(slot))))
	for i, label := range b.Labels {
		x, base := float64(left)+slot*float64(i), 0.0
		for j, s := range b.Series {
			if s.Values[i] > 0 {
				class := fmt.Sprintf("bar b%d", j%mostColours+1)
				if label == b.Marked && len(b.Series) == 1 {
					class = "bar marked"
				}
				fmt.Fprintf(&out, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`, class, x+slot*0.12, y(base+s.Values[i]), slot*0.76, y(base)-y(base+s.Values[i]),
					html.EscapeString(strings.TrimPrefix(s.Name+", ", ", ")+label+": "+b.Print(s.Values[i])))
			}
			base += s.Values[i]
		}
		if i%every == 0 {
			fmt.Fprintf(&out, `<text class="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`, x+slot/2, height-bottom+18, html.EscapeString(label))
		}
	}
	if b.Limit > 0 {
		fmt.Fprintf(&out, `<line class="limit" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="tick" x="%d" y="%.1f" text-anchor="end">%s</text>`,
			left, width-right, y(b.Limit), y(b.Limit), width-right, y(b.Limit)-5, html.EscapeString(b.LimitName))
	}
	out.WriteString(legend)
	out.WriteString("</svg>")
	return out.String()
}

// room is how many labels have room below the bars.
func (b Bars) room(slot float64) float64 {
	longest := 1
	for _, l := range b.Labels {
		longest = max(longest, len([]rune(l)))
	}
	fit := slot * float64(len(b.Labels)) / (float64(longest+2) * letter)
	return math.Max(1, math.Min(fit, mostLabels))
}

// axis gives round ticks from nothing to at least the highest value.
func axis(highest float64) []float64 {
	if !(highest > 0) {
		highest = 1
	}
	raw := highest / 4
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := power
	for _, n := range []float64{1, 2, 2.5, 5, 10} {
		if step = n * power; step >= raw {
			break
		}
	}
	out := []float64{0}
	for v := step; ; v += step {
		out = append(out, v)
		if v >= highest {
			return out
		}
	}
}

// legend names the series below the chart, in rows that are not wider than it.
func (b Bars) legend() (svg string, rows int) {
	if len(b.Series) < 2 {
		return "", 0
	}
	var out strings.Builder
	x, row := float64(left), 0
	for j, s := range b.Series {
		long := 18 + float64(len([]rune(s.Name)))*letter + 16
		if x+long > width-right && x > left {
			x, row = left, row+1
		}
		at := height + row*legendRow
		fmt.Fprintf(&out, `<rect class="bar b%d" x="%.1f" y="%d" width="11" height="11"/><text class="tick" x="%.1f" y="%d">%s</text>`, j%mostColours+1, x, at, x+16, at+10, html.EscapeString(s.Name))
		x += long
	}
	return out.String(), row + 1
}
