package wcet

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

func temperature(cold bool) string {
	if cold {
		return "cold"
	}
	return "warm"
}

// report prints all that was measured.
func report(w io.Writer, s settings, rows []row) error {
	printHead(w, s)
	if err := printTable(w, rows); err != nil {
		return err
	}
	if s.histogram {
		printHistograms(w, rows)
	}
	return nil
}

// printHead says what was measured and how.
func printHead(w io.Writer, s settings) {
	fmt.Fprintf(w, "%d samples per row, pool of %d MiB, GC off, thread locked, %s/%s, %d CPUs, %s\n",
		s.samples, s.poolBytes>>20, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Fprint(w, "One operation per sample, in ns; each includes one reading of the clock.\n")
	if s.evict > 0 {
		fmt.Fprintf(w, "Cold: %d MiB are written between two samples.\n", s.evict>>20)
	}
	fmt.Fprintln(w)
}

// printTable prints a line per row.
func printTable(w io.Writer, rows []row) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "cache\tbytes\tp50\tp90\tp99\tp99.9\tmax\t  operation")
	for i, r := range rows {
		if i > 0 && r.situation != rows[i-1].situation {
			fmt.Fprintln(table, "\t\t\t\t\t\t\t")
		}
		size := "-"
		if r.size > 0 {
			size = fmt.Sprint(r.size)
		}
		q := r.quantiles
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t  %s\n", temperature(r.cold), size,
			q[0], q[1], q[2], q[3], q[4], r.situation)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	// The lines between two operations consist of padding.
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// barWidth is the length of a histogram's longest bar.
const barWidth = 50

// printHistograms draws the samples of each operation, all sizes together, in
// buckets that double.
func printHistograms(w io.Writer, rows []row) {
	for first := 0; first < len(rows); {
		end := first + 1
		for end < len(rows) && rows[end].situation == rows[first].situation && rows[end].cold == rows[first].cold {
			end++
		}
		fmt.Fprintf(w, "\n%s, %s\n", rows[first].situation, temperature(rows[first].cold))
		printHistogram(w, rows[first:end])
		first = end
	}
}

func printHistogram(w io.Writer, rows []row) {
	var counts [64]int
	for _, r := range rows {
		for b, n := range r.counts {
			counts[b] += n
		}
	}
	low, high, most := len(counts), 0, 0
	for b, n := range counts {
		if n > 0 {
			low, high, most = min(low, b), b, max(most, n)
		}
	}
	for b := low; b <= high; b++ {
		// A bucket that holds anything shows, however little it is.
		bar := (counts[b]*barWidth + most - 1) / most
		line := fmt.Sprintf("  below %10v %8d %s", time.Duration(1)<<b, counts[b], strings.Repeat("#", bar))
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}
