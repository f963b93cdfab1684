package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/gomem-go/gomem/bench/arenas"
	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/bench/unchecked"
	"github.com/gomem-go/gomem/internal/trace"
)

// results is everything that was measured.
type results struct {
	Machine    string
	Took       time.Duration
	Traces     []traceResult
	Fragments  []compare.Fragments
	Checks     []unchecked.Price
	Guarded    []compare.Guarded
	Reader     []compare.Measured
	Scenarios  []compare.Scenario
	Lac        []compare.Measured
	Together   []compare.Measured
	References []compare.Timed
	Rows       []compare.Timed
	Bounded    []compare.Timed
	Loads      [][]compare.LoadRow
	Held       []compare.HeldRow
	Walks      []compare.Walked

	ScenarioOps int // of a turn of each scenario
}

type traceResult struct {
	Name         string
	Trace        *trace.Trace
	Rows         []compare.Row
	Held, Allocs float64
	Fragments    float64 // of the placement of package tlsf
}

// thisMachine names the processor, its cores and the toolchain.
func thisMachine() string {
	cpu := runtime.GOARCH
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s, %s/%s", cpu, runtime.GOMAXPROCS(0), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// printer writes and remembers the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (r *results) write(w io.Writer) error {
	p := &printer{w: w}
	command := "go run ./cmd/results -o RESULTS.md"
	if arenas.HasGoArena {
		command = "GOEXPERIMENT=arenas " + command
	}
	p.f("# Results\n\nWritten by `make bench` (`cd bench && %s`) in %v.\n\n", command, r.Took)
	p.f("Machine: %s.\n\n", r.Machine)
	p.f("Figures are medians of turns in which everything had its go, in one run, and ratios medians of the ratios turn by turn, so they may\ndiffer from those of the figures: compare them with each other, not with another machine's. `make compare` repeats the first section\nalone; `cd bench && go test -bench .` gives what benchstat reads.\n\n")
	r.writeLosses(p)
	r.writeSummary(p)
	for _, part := range []struct {
		measured bool
		write    func(*printer)
	}{
		{len(r.Traces) > 0, r.writeTraces},
		{len(r.Traces) > 0, r.writeTLSF},
		{len(r.Loads) > 0, r.writeLoads},
		{len(r.Held) > 0, r.writeHeld},
		{len(r.Guarded) > 0, r.writeChecks},
		{len(r.Reader) > 0, r.writeReader},
		{len(r.Lac) > 0, r.writeLac},
		{len(r.Rows) > 0, r.writeRows},
		{len(r.Bounded) > 0, r.writeBounded},
		{len(r.Walks) > 0, r.writeWalks},
	} {
		if part.measured {
			part.write(p)
		}
	}
	return p.err
}

func (r *results) writeTraces(p *printer) {
	p.f("## Recorded traces\n\nEvery malloc and free of a real program, by one goroutine; the first byte of each block is written. \"floor\" is the loop\nwithout an allocator, which is part of every other row. C allocators run in a C program with the same loop,\nwhich keeps a pointer for each block; in \"mimalloc-slices\" it keeps three words, as all others here do. GoMem begins with a chunk of 1 MiB, or of 64 KiB where\nless than 1 MiB is live at any time.\n\n")
	for _, t := range r.Traces {
		p.f("### %s\n\n%d operations, mean block %.0f B, peak live %.1f MB.", t.Name, t.Trace.Recorded, t.Trace.MeanBytes(), float64(t.Trace.PeakBytes)/1e6)
		p.f(" GoMem: peak backing / peak live %.2f, %.4f Go allocations per operation.\n\n", t.Held, t.Allocs)
		p.f("| | ns/op | best | / %s |\n|---|---:|---:|---:|\n", reference(t.Rows))
		for _, row := range compare.ByMedian(t.Rows) {
			p.f("| %s | %.1f | %.1f | %.2f |\n", name(row.Impl), row.Turns.Median(), row.Best, row.Ratio)
		}
		p.f("\n")
	}
}

// reference is the allocator that the ratios of rows are taken against.
func reference(rows []compare.Row) string {
	for _, row := range rows {
		if row.Impl == compare.Reference {
			return row.Impl
		}
	}
	return rows[0].Impl
}

// name sets our own rows apart.
func name(impl string) string {
	switch impl {
	case "gomem":
		return "**GoMem**"
	case rival.TLSF:
		return "**GoMem, tlsf.Pool**"
	}
	return impl
}

func (r *results) writeLoads(p *printer) {
	p.f("## Loads\n\nns per allocation by the wall clock, over all goroutines: twice as many on two cores take half, at best. \"floor\" is the load\nwithout an allocator, which is part of every other row. Frame by frame, what cannot free a part frees the read with its last\nframe. Parameters are in `load/`.\n\n")
	for _, rows := range r.Loads {
		if len(rows) == 0 {
			continue
		}
		p.f("### %s\n\n| |", rows[0].Load)
		for _, g := range goroutines {
			p.f(" %d goroutines |", g)
		}
		p.f(" 1 → 2 |\n|---|%s---:|\n", strings.Repeat("---:|", len(goroutines)))
		for i := 0; i+len(goroutines) <= len(rows); i += len(goroutines) {
			p.f("| %s |", name(rows[i].Impl))
			for _, row := range rows[i : i+len(goroutines)] {
				p.f(" %.0f |", row.Turns.Median())
			}
			p.f(" %.2f × |\n", rows[i].Turns.Over(rows[i+1].Turns))
		}
		p.f("\n")
	}
}

// number prints v with about three digits, nothing for 0.
func number(v float64) string {
	switch {
	case v == 0:
		return ""
	case v < 0.01:
		return fmt.Sprintf("%.4f", v)
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func (r *results) writeWalks(p *printer) {
	p.f("## Huge pages\n\nOne dependent read in each page of 256 MiB, in an order that no prefetcher follows.\n\n| | ns per read |\n|---|---:|\n")
	for _, w := range r.Walks {
		p.f("| %s | %s |\n", w.Pages, number(w.Ns))
	}
}
