package compare

import (
	"context"
	"runtime"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/internal/trace"
)

// Guarded is the price of the sampled guard on a trace.
type Guarded struct {
	Trace string

	// With is the time with the guard over the time without it; Same is the time
	// of a second allocator without it over the first one's, which would be 1 if
	// nothing disturbed the measurement.
	With, Same float64
}

// guardOps is the least number of operations in a turn.
const guardOps = 400_000

// Guard replays t on an allocator with the sampled guard and on two without.
// Where an allocator's memory happens to lie makes a difference of its own, so
// there are sets of three fresh ones, and the median over all turns of all sets
// is what is returned.
func Guard(ctx context.Context, t *trace.Trace, sets, turns int) (with, same float64, err error) {
	var withs, sames []float64
	rounds := max(guardOps/max(len(t.Ops), 1), 1)
	for range sets {
		replayers := []rival.Replayer{
			rival.NewGomem(len(t.Sizes)),
			rival.NewGomem(len(t.Sizes), gomem.WithSampledGuard(gomem.SampleOptions{})),
			rival.NewGomem(len(t.Sizes)),
		}
		runtime.GC()
		for _, r := range replayers {
			rival.Measure(r, t, rounds)
		}
		for turn := range turns {
			if err := ctx.Err(); err != nil {
				return 0, 0, err
			}
			// Everyone is first, second and third in turn.
			var ns [3]float64
			for i := range ns {
				at := (turn + i) % len(ns)
				ns[at] = rival.Measure(replayers[at], t, rounds).Median
			}
			withs = append(withs, ns[1]/ns[0])
			sames = append(sames, ns[2]/ns[0])
		}
		for _, r := range replayers {
			r.Close()
		}
	}
	return rival.Summarize(withs).Median, rival.Summarize(sames).Median, nil
}
