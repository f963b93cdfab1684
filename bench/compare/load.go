package compare

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/gomem-go/gomem/bench/load"
	"github.com/gomem-go/gomem/internal/stopwatch"
)

// LoadRow is one load on one allocator with one number of goroutines.
type LoadRow struct {
	Load, Impl string
	Goroutines int

	// Turns is wall time in ns over all allocations of all goroutines, so with
	// perfect sharing two goroutines take half of what one takes.
	Turns Turns
}

// Load runs l with each number of goroutines on each allocator named, passes
// times in turns, and returns the medians. An allocator is made anew for each
// turn, and warmed up as long as on a trace: pools that all turns share are warm
// from the turn before.
func Load(ctx context.Context, l load.Load, names []string, goroutines []int, ops, passes int) ([]LoadRow, error) {
	var rows []LoadRow
	for _, name := range names {
		for _, g := range goroutines {
			rows = append(rows, LoadRow{Load: l.Name, Impl: name, Goroutines: g})
		}
	}
	for range passes {
		for i := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			took, err := loadTurn(l, rows[i], ops)
			if err != nil {
				return nil, err
			}
			rows[i].Turns = append(rows[i].Turns, took)
		}
	}
	return rows, nil
}

func loadTurn(l load.Load, row LoadRow, ops int) (ns float64, err error) {
	a, stop := load.New(row.Impl)
	if a == nil {
		return 0, fmt.Errorf("no allocator %q", row.Impl)
	}
	defer stop()
	warm := warmUp * time.Duration(min(ops, thoroughOps)) / thoroughOps
	runtime.GC() // as in [Trace]
	runFor(l, a, row.Goroutines, ops, warm)
	n, took := runFor(l, a, row.Goroutines, ops, warm/10)
	return float64(took.Nanoseconds()) / float64(n), nil
}

// thoroughOps is the number of operations from which a load is warmed up for all
// of warmUp.
const thoroughOps = 1_000_000

// runFor runs l once, and again until it took as long as least. It returns the
// number of allocations and the time.
func runFor(l load.Load, a load.Allocator, goroutines, ops int, least time.Duration) (n int, took time.Duration) {
	start := stopwatch.Now()
	for n == 0 || took < least {
		n += l.Run(a, goroutines, ops)
		took = stopwatch.Now() - start
	}
	return n, took
}
