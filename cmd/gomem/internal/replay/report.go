package replay

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

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
		fmt.Fprintf(t, "%s\t%.1f\t%v\t%v\t%s\t%.2f\t%s\t%.4f\t\n", o.Config, o.NsPerOp, round(o.P99), round(o.Worst),
			bytesText(o.Memory.PeakBacking), r.ratio(o), share(o.Memory.Fragmentation), o.AllocsPerOp)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
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

// progress says what is being measured.
type progress struct {
	*cli.Line
	done, total int
}

func (p *progress) step(what string) {
	p.done++
	p.Show(fmt.Appendf(nil, "[%d/%d] %s", p.done, p.total, what))
}
