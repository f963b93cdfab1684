package relay

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// row is one line of the table: a number of each engine and how to print it.
type row struct {
	label string
	of    func(f *figures) float64
	text  func(v float64) string
}

var rows = []row{
	{"frames received/s", func(f *figures) float64 { return f.perSecond(f.framesIn) }, count},
	{"frames delivered/s", func(f *figures) float64 { return f.perSecond(f.framesOut) }, count},
	{"MB delivered/s", func(f *figures) float64 { return f.perSecond(f.bytesOut) / 1e6 }, fixed(1)},
	{"frames dropped", func(f *figures) float64 { return float64(f.dropped) }, count},
	{"allocations", func(f *figures) float64 { return float64(f.allocs) }, count},
	{"allocations per frame received", func(f *figures) float64 { return f.perFrame(f.allocs) }, fixed(3)},
	{"bytes allocated per frame", func(f *figures) float64 { return f.perFrame(f.allocBytes) }, fixed(1)},
	{"GC cycles", func(f *figures) float64 { return float64(f.gcs) }, count},
	{"GC pause, total", func(f *figures) float64 { return f.gcPause.Seconds() }, pause},
	{"GC pause, worst", func(f *figures) float64 { return f.gcWorst.Seconds() }, pause},
	{"Go heap, peak", func(f *figures) float64 { return float64(f.heap) }, mebibytes},
	{"off-heap memory, peak", func(f *figures) float64 { return float64(f.offHeap) }, mebibytes},
	{"RSS, peak", func(f *figures) float64 { return float64(f.rss) }, mebibytes},
}

func (f *figures) perSecond(n int64) float64 {
	if f.elapsed <= 0 {
		return 0
	}
	return float64(n) / f.elapsed.Seconds()
}

func (f *figures) perFrame(n int64) float64 {
	if f.framesIn == 0 {
		return 0
	}
	return float64(n) / float64(f.framesIn)
}

// printTable writes one column for each engine, and the ratio of the first to
// the second if there are two.
func printTable(w io.Writer, all []*figures) {
	const label, column = 32, 15
	fmt.Fprintf(w, "%-*s", label, "")
	for _, f := range all {
		fmt.Fprintf(w, "%*s", column, f.engine)
	}
	if len(all) == 2 {
		fmt.Fprintf(w, "%*s", column, all[0].engine+"/"+all[1].engine)
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		fmt.Fprintf(w, "%-*s", label, r.label)
		for _, f := range all {
			fmt.Fprintf(w, "%*s", column, r.text(r.of(f)))
		}
		if len(all) == 2 {
			fmt.Fprintf(w, "%*s", column, ratio(r.of(all[0]), r.of(all[1])))
		}
		fmt.Fprintln(w)
	}
}

func ratio(a, b float64) string {
	if b <= 0 || a < 0 {
		return "-"
	}
	return strconv.FormatFloat(a/b, 'f', 3, 64)
}

func count(v float64) string { return string(appendCount(nil, int64(v+0.5))) }

func fixed(digits int) func(float64) string {
	return func(v float64) string { return strconv.FormatFloat(v, 'f', digits, 64) }
}

func pause(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	return d.Round(time.Microsecond).String()
}

func mebibytes(v float64) string {
	if v < 0 {
		return "unknown"
	}
	return strconv.FormatFloat(v/(1<<20), 'f', 1, 64) + " MiB"
}
