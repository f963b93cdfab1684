package replay

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
)

// ratio is the peak of what was mapped over the peak of what was live.
func (r result) ratio(o outcome) float64 {
	return float64(o.Memory.PeakBacking) / float64(max(r.Trace.PeakBytes, 1))
}

// share prints a share as a percentage, a dash where it is not known.
func share(v float64) string {
	if v < 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*v)
}

func (r result) summary() string {
	return fmt.Sprintf("%d operations recorded, %d blocks, mean %.0f B, peak live %s in %d blocks",
		r.Trace.Recorded, len(r.Trace.Sizes), r.Trace.MeanBytes(), bytesText(r.Trace.PeakBytes), r.Trace.PeakBlocks)
}

func printTable(w io.Writer, r result) error {
	fmt.Fprintf(w, "%s: %s\n", r.Name, r.summary())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "configuration\tns/op\tp99\tworst\tpeak backing\t/ peak live\texternal fragmentation\tGo allocs/op\t")
	for _, o := range r.Outcomes {
		fmt.Fprintf(t, "%s\t%.1f\t%v\t%v\t%s\t%.2f\t%s\t%.4f\t\n", o.Config, o.NsPerOp, o.P99, round(o.Worst),
			bytesText(o.Memory.PeakBacking), r.ratio(o), share(o.Memory.Fragmentation), o.AllocsPerOp)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// printable is name as a terminal may show it.
func printable(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return strconv.Quote(name)
	}
	return name
}

// round keeps three digits or so.
func round(d time.Duration) time.Duration {
	switch {
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	case d > 10*time.Microsecond:
		return d.Round(100 * time.Nanosecond)
	}
	return d
}

// bytesText prints n in the unit in which it, rounded, is less than a thousand.
func bytesText(n int64) string {
	switch {
	case n >= 999_950_000:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 999_950:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// progress says what is being measured: on a terminal in one line that is
// written over, elsewhere in a line each.
type progress struct {
	w           io.Writer
	done, total int
	width       int
	terminal    bool
}

func newProgress(w io.Writer, total int) *progress {
	return &progress{w: w, total: total, terminal: cli.IsTerminal(w)}
}

func (p *progress) step(what string) {
	p.done++
	line := fmt.Sprintf("[%d/%d] %s", p.done, p.total, what)
	if !p.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	fmt.Fprintf(p.w, "\r%-*s", p.width, line)
	p.width = max(p.width, len(line))
}

// clear makes room for other output.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprintf(p.w, "\r%*s\r", p.width, "")
	}
}
