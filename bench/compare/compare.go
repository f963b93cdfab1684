// Package compare measures allocators against each other in one run: each has
// its turn, again and again, so that a slow moment of the machine hits all of
// them. A figure is the median of its turns, and a ratio the median of the ratios
// turn by turn: a slow moment that lasts through a turn of each cancels out.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gomem-go/gomem/bench/native"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/internal/trace"
)

// Reference is the allocator that ratios are taken against, when it is there.
const Reference = "mimalloc (C)"

// Row is one allocator's result, in ns per operation.
type Row struct {
	Impl  string
	Best  float64
	Turns Turns   // the median of each
	Ratio float64 // over the reference
}

// Turns is what something took in each of its turns, in their order.
type Turns []float64

// Median returns the figure that counts, 0 without a turn.
func (t Turns) Median() float64 {
	if len(t) == 0 {
		return 0
	}
	return rival.Summarize(slices.Clone(t)).Median
}

// Over returns how many times as long t took as other: the median of the ratios of
// turns that came one after the other, 0 without a turn of each.
func (t Turns) Over(other Turns) float64 {
	ratios := make(Turns, min(len(t), len(other)))
	for i := range ratios {
		ratios[i] = t[i] / other[i]
	}
	return ratios.Median()
}

// TraceName returns the name of a trace's file without its extensions.
func TraceName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// turnOps is the least number of operations in a turn: about 20 ms of the
// fastest allocator.
const turnOps = 2_000_000

// warmUp is how long rounds before each turn are not counted: an allocator that
// gave memory back while others had their turns maps it again. The C program
// has the same.
const warmUp = 200 * time.Millisecond

// Trace replays t through the allocators named and the C variants. Each has
// passes turns of several rounds, of which the median counts, after a while of
// rounds that are not counted.
func Trace(ctx context.Context, t *trace.Trace, names []string, variants []native.Variant, passes int) ([]Row, error) {
	rounds := max(5, turnOps/max(len(t.Ops), 1))
	type entry struct {
		name    string
		turn    func() (rival.Timing, error)
		best    []float64
		medians []float64
	}
	var entries []*entry
	binary := native.Encode(t)
	for _, v := range variants {
		entries = append(entries, &entry{name: v.Name + " (C)", turn: func() (rival.Timing, error) {
			best, median, err := v.Run(ctx, binary, rounds)
			return rival.Timing{Best: best, Median: median}, err
		}})
	}
	for _, name := range names {
		r := rival.New(name, t)
		if r == nil {
			return nil, fmt.Errorf("no allocator %q", name)
		}
		defer r.Close()
		r.Round(t)
		entries = append(entries, &entry{name: name, turn: func() (rival.Timing, error) {
			// What an allocator before this one left for the collector is not
			// for this one to pay.
			runtime.GC()
			for start := time.Now(); time.Since(start) < warmUp; {
				r.Round(t)
			}
			return rival.Measure(r, t, rounds), nil
		}})
	}
	// A slow moment of the machine may be as short as a turn: what is compared most has
	// its turns one right after the other.
	slices.SortStableFunc(entries, func(a, b *entry) int { return cmp.Compare(place(a.name), place(b.name)) })
	for range passes {
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			timing, err := e.turn()
			if err != nil {
				return nil, err
			}
			e.best = append(e.best, timing.Best)
			e.medians = append(e.medians, timing.Median)
		}
	}
	var rows []Row
	for _, e := range entries {
		rows = append(rows, Row{Impl: e.name, Best: slices.Min(e.best), Turns: e.medians})
	}
	setRatios(rows)
	return rows, nil
}

// place is where an allocator has its turn: GoMem behind the reference.
func place(name string) int {
	switch name {
	case Reference:
		return 1
	case "gomem":
		return 2
	}
	if strings.HasSuffix(name, " (C)") {
		return 0
	}
	return 3
}

func setRatios(rows []Row) {
	if len(rows) == 0 {
		return
	}
	reference := rows[0].Turns
	for _, r := range rows {
		if r.Impl == Reference {
			reference = r.Turns
		}
	}
	for i := range rows {
		rows[i].Ratio = rows[i].Turns.Over(reference)
	}
}

// ByMedian returns rows in order, the fastest first.
func ByMedian(rows []Row) []Row {
	return slices.SortedFunc(slices.Values(rows), func(a, b Row) int { return cmp.Compare(a.Turns.Median(), b.Turns.Median()) })
}

// Print writes rows as a table, the fastest median first.
func Print(w io.Writer, rows []Row) {
	fmt.Fprintf(w, "  %-18s %9s %9s %7s\n", "impl", "median", "best", "ratio")
	for _, r := range ByMedian(rows) {
		fmt.Fprintf(w, "  %-18s %9.1f %9.1f %7.2f\n", r.Impl, r.Turns.Median(), r.Best, r.Ratio)
	}
}
