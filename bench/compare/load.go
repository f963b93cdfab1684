package compare

import (
	"context"
	"fmt"
	"time"

	"github.com/gomem-go/gomem/bench/load"
	"github.com/gomem-go/gomem/bench/rival"
)

// LoadRow is one load on one allocator with one number of goroutines.
type LoadRow struct {
	Load, Impl string
	Goroutines int

	// Ns is wall time over all allocations of all goroutines, so with perfect
	// sharing two goroutines take half of what one takes.
	Ns float64
}

// Load runs l with each number of goroutines on each allocator named, passes
// times in turns, and returns the medians. An allocator is made anew for each
// turn and warmed up by a run that is not counted.
func Load(ctx context.Context, l load.Load, names []string, goroutines []int, ops, passes int) ([]LoadRow, error) {
	var rows []LoadRow
	for _, name := range names {
		for _, g := range goroutines {
			rows = append(rows, LoadRow{Load: l.Name, Impl: name, Goroutines: g})
		}
	}
	ns := make([][]float64, len(rows))
	for range passes {
		for i := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			took, err := loadTurn(l, rows[i], ops)
			if err != nil {
				return nil, err
			}
			ns[i] = append(ns[i], took)
		}
	}
	for i := range rows {
		rows[i].Ns = rival.Summarize(ns[i]).Median
	}
	return rows, nil
}

func loadTurn(l load.Load, row LoadRow, ops int) (ns float64, err error) {
	a, stop := load.New(row.Impl)
	if a == nil {
		return 0, fmt.Errorf("no allocator %q", row.Impl)
	}
	defer stop()
	l.Run(a, row.Goroutines, ops)
	start := time.Now()
	n := l.Run(a, row.Goroutines, ops)
	return float64(time.Since(start).Nanoseconds()) / float64(n), nil
}
