package replay

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
	"time"
)

// drawing builds an SVG picture. Everything that is not a number goes through
// text, which escapes it: a trace's name is whatever its file is called.
type drawing struct{ b strings.Builder }

func newDrawing(width, height int, label string) *drawing {
	d := &drawing{}
	fmt.Fprintf(&d.b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, html.EscapeString(label))
	return d
}

func (d *drawing) rect(class string, x, y, width, height float64) {
	fmt.Fprintf(&d.b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, x, y, width, height)
}

func (d *drawing) line(x1, y1, x2, y2 float64) {
	fmt.Fprintf(&d.b, `<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x1, y1, x2, y2)
}

func (d *drawing) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(&d.b, `<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`, class, anchor, x, y, html.EscapeString(s))
}

func (d *drawing) path(class, shape string) {
	fmt.Fprintf(&d.b, `<path class="%s" d="%s"/>`, class, shape)
}

// done returns the picture as HTML that needs no escaping.
func (d *drawing) done() template.HTML {
	d.b.WriteString(`</svg>`)
	return template.HTML(d.b.String())
}

// drawSpeed draws a bar for each configuration.
func drawSpeed(r result) template.HTML {
	const width, names, row = 860.0, 210.0, 22.0
	most := 0.0
	for _, o := range r.Outcomes {
		most = max(most, o.NsPerOp)
	}
	d := newDrawing(width, int(row)*len(r.Outcomes)+4, "time per operation of each configuration")
	for i, o := range r.Outcomes {
		y := row * float64(i)
		length := (width - names - 70) * o.NsPerOp / max(most, 1)
		d.text("name", "end", names-8, y+15, o.Config)
		d.rect("bar", names, y+4, max(length, 1), row-8)
		d.text("", "start", names+length+6, y+15, fmt.Sprintf("%.1f", o.NsPerOp))
	}
	return d.done()
}

// The plot area of the small charts.
const (
	chartWidth, chartHeight = 320, 150
	left, right, top, below = 62.0, 314.0, 8.0, 128.0
)

func newChart(label string) *drawing {
	d := newDrawing(chartWidth, chartHeight, label)
	d.line(left, below, right, below)
	d.line(left, top, left, below)
	return d
}

// drawMemory draws live bytes as an area and backing bytes as a line.
func drawMemory(r result, o outcome) template.HTML {
	d := newChart("live and backing bytes over time, " + o.Config)
	most := float64(max(r.MostBacking(), 1))
	x := func(op int) float64 { return left + (right-left)*float64(op)/float64(max(len(r.Trace.Ops)-1, 1)) }
	y := func(n int64) float64 { return below - (below-top)*float64(n)/most }
	var live, mapped strings.Builder
	fmt.Fprintf(&live, "M%.1f %.1f", left, below)
	before := below
	for i, s := range o.Memory.Samples {
		fmt.Fprintf(&live, "L%.1f %.1f", x(s.Op), y(s.Live))
		if i == 0 {
			fmt.Fprintf(&mapped, "M%.1f %.1f", x(s.Op), y(s.Backing))
		} else {
			// Memory is mapped at one moment: a step, not a slope.
			fmt.Fprintf(&mapped, "L%.1f %.1fL%.1f %.1f", x(s.Op), before, x(s.Op), y(s.Backing))
		}
		before = y(s.Backing)
	}
	fmt.Fprintf(&live, "L%.1f %.1fZ", right, below)
	d.path("live", live.String())
	d.path("backing", mapped.String())
	d.text("", "end", left-4, top+8, bytesText(int64(most)))
	d.text("", "end", left-4, below, "0")
	d.text("", "start", left, below+14, "first operation")
	d.text("", "end", right, below+14, "last")
	return d.done()
}

// drawLatency draws counts over durations, both logarithmic, from 1 ns to 1 s.
func drawLatency(o outcome) template.HTML {
	const decades = 9
	d := newChart("distribution of the time per operation, " + o.Config)
	most := math.Log10(float64(max(o.Latency.total, 2)))
	x := func(t time.Duration) float64 {
		return left + (right-left)*min(math.Log10(float64(max(t, 1)))/decades, 1)
	}
	// Four buckets are one bar: half a power of two, wider than the steps of
	// most clocks.
	const perBar = 4
	for i := 0; i < buckets; i += perBar {
		n := 0
		for _, count := range o.Latency.counts[i : i+perBar] {
			n += count
		}
		if n == 0 {
			continue
		}
		from, to := x(bucketStart(i)), x(bucketStart(i+perBar))
		// A single operation still shows.
		height := (below - top) * (math.Log10(float64(n)) + 0.2) / (most + 0.2)
		d.rect("bar", from, below-height, max(to-from-0.5, 0.8), height)
	}
	for i, name := range []string{"1ns", "", "", "1µs", "", "", "1ms", "", "", "1s"} {
		at := left + (right-left)*float64(i)/decades
		d.line(at, below, at, below+3)
		d.text("", "middle", at, below+14, name)
	}
	d.text("", "end", left-4, top+8, fmt.Sprint(o.Latency.total))
	return d.done()
}

// drawChunk draws the cells of a chunk row by row, in eight shades; neighbours
// of one shade are one rectangle.
func drawChunk(o outcome) template.HTML {
	const perRow, size, shades = 64, 5, 8
	c := o.Memory.Fullest
	rows := (len(c.Cells) + perRow - 1) / perRow
	d := newDrawing(perRow*size, rows*size, "map of the fullest chunk, "+o.Config)
	d.rect("ground", 0, 0, perRow*size, float64(rows*size))
	shadeOf := func(i int) int { return int(math.Ceil(min(c.Cells[i], 1) * shades)) }
	for i := 0; i < len(c.Cells); {
		shade, end := shadeOf(i), i+1
		for end < len(c.Cells) && end%perRow != 0 && shadeOf(end) == shade {
			end++
		}
		if shade > 0 {
			fmt.Fprintf(&d.b, `<rect class="cell" fill-opacity="%.2f" x="%d" y="%d" width="%d" height="%d"/>`,
				float64(shade)/shades, i%perRow*size, i/perRow*size, (end-i)*size, size)
		}
		i = end
	}
	return d.done()
}
