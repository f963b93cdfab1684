package soak

import (
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gomem-go/gomem/cmd/gomem/internal/cli"
)

// histogram counts durations in quarters of powers of two.
type histogram [64 * 4]atomic.Uint64

func (h *histogram) add(d time.Duration) {
	n := uint64(max(d, 4))
	top := bits.Len64(n) - 1
	h[top*4+int(n>>(top-2)&3)].Add(1)
}

// quantile is the upper edge of the bucket with the q-th of all durations, 0 if
// there are none.
func (h *histogram) quantile(q float64) time.Duration {
	var all uint64
	for i := range h {
		all += h[i].Load()
	}
	rank := uint64(q * float64(all))
	for i := range h {
		n := h[i].Load()
		if n > 0 && rank <= n {
			return time.Duration(uint64(4+i%4+1) << (i / 4) >> 2)
		}
		rank -= min(n, rank)
	}
	return 0
}

// watch takes samples until done is closed, and prints each as progress: on a terminal
// in one line, elsewhere, those of the report, in a line each.
func (l *load) watch(done chan struct{}, progress io.Writer) {
	const perReport = 40
	every := max(l.duration/perReport, 50*time.Millisecond)
	tick := time.NewTicker(min(every, time.Second))
	defer tick.Stop()
	line := cli.NewLine(progress)
	defer line.Clear()
	for next := time.Duration(0); ; {
		s := l.sample()
		reported := s.at >= next
		if reported {
			l.samples = append(l.samples, s)
			next += every
		}
		if reported || line.Terminal() {
			line.Show(l.line(s))
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

func (l *load) sample() sample {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return sample{
		at:         time.Since(l.began),
		phase:      phaseNames[l.phase.Load()],
		goroutines: l.goroutines.Load(),
		ops:        l.ops.Load(),
		stats:      l.a.Stats(),
		resident:   resident(),
		goHeap:     int64(m.HeapAlloc),
	}
}

func (l *load) line(s sample) []byte {
	return fmt.Appendf(nil, "%4.0fs %-7s %4d goroutines, %d operations, %d wrong frees, live %s, mapped %s, resident %s",
		s.at.Seconds(), s.phase, s.goroutines, s.ops, l.injected.Load(),
		mib(int64(s.stats.Live)), mib(int64(s.stats.Backing)), mib(s.resident))
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// report prints what the load did and what the allocator looked like meanwhile.
func (l *load) report(w io.Writer) {
	var s strings.Builder
	fmt.Fprintf(&s, "\n%8s %-8s %10s %12s %10s %10s %7s %10s %10s\n",
		"time", "phase", "goroutines", "operations", "live MiB", "mapped MiB", "chunks", "RSS MiB", "Go MiB")
	m := func(n int64) float64 { return float64(n) / (1 << 20) }
	for _, x := range l.samples {
		fmt.Fprintf(&s, "%7.1fs %-8s %10d %12d %10.1f %10.1f %7d %10.1f %10.1f\n", x.at.Seconds(), x.phase, x.goroutines,
			x.ops, m(int64(x.stats.Live)), m(int64(x.stats.Backing)), x.stats.Chunks, m(x.resident), m(x.goHeap))
	}
	fmt.Fprintf(&s, "\n%d operations, Verify %d times, Trim %d times\n", l.ops.Load(), l.verified.Load(), l.trimmed.Load())
	fmt.Fprintf(&s, "%d wrong frees, %d refused\n", l.injected.Load(), l.refused.Load())
	for _, row := range []struct {
		name string
		h    *histogram
	}{{"Malloc", &l.mallocTime}, {"Free", &l.freeTime}} {
		fmt.Fprintf(&s, "%-6s", row.name)
		for _, q := range []float64{0.5, 0.9, 0.99, 0.999, 1} {
			fmt.Fprintf(&s, "  p%g %v", q*100, row.h.quantile(q))
		}
		s.WriteByte('\n')
	}
	if l.worstResident > 0 {
		fmt.Fprintf(&s, "resident memory was back at the latest %v after a drain\n", l.worstResident.Round(time.Millisecond))
	}
	io.WriteString(w, s.String())
}
