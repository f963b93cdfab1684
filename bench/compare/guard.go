package compare

import (
	"context"
	"runtime"
	"time"

	"github.com/gomem-go/gomem"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/internal/stopwatch"
	"github.com/gomem-go/gomem/internal/trace"
)

// Guarded is the price of the sampled guard on a trace.
type Guarded struct {
	Trace string

	// With is the time with the guard over the mean of two allocators without
	// it; Same is the time of one of these over the other's, which would be 1 if
	// nothing disturbed the measurement.
	With, Same float64
}

// guardTurn is the least length of a turn. The guard takes a block every 20 ms at
// most, and the first one may come at once: in four times as long as that each
// turn pays for some, and not for many more than a program that runs on.
const guardTurn = 80 * time.Millisecond

// Guard replays t on an allocator with the sampled guard and on two without.
//
// A percent is looked for, on a machine that may be off by ten in any one turn: a
// turn is related to those beside it, each being the sum over whole rounds, as
// only some of them pay; and the median of that counts. Where an allocator's
// memory happens to lie makes a difference of its own, so that there are sets of
// three fresh ones, and the median of the sets is returned.
func Guard(ctx context.Context, t *trace.Trace, sets, turns int) (with, same float64, err error) {
	var withs, sames []float64
	for range sets {
		replayers := []rival.Replayer{
			rival.NewGomem(t),
			rival.NewGomem(t, gomem.WithSampledGuard(gomem.SampleOptions{})),
			rival.NewGomem(t),
		}
		runtime.GC()
		rounds := 1
		for _, r := range replayers {
			r.Round(t)
			start := stopwatch.Now()
			r.Round(t)
			rounds = max(rounds, int(guardTurn/max(stopwatch.Now()-start, time.Microsecond)))
		}
		var with, same []float64
		for turn := range turns {
			if err := ctx.Err(); err != nil {
				return 0, 0, err
			}
			var took [3]float64
			for i := range replayers {
				at := (turn + i) % len(replayers) // everyone is first, second and third in turn
				start := stopwatch.Now()
				for range rounds {
					replayers[at].Round(t)
				}
				took[at] = float64(stopwatch.Now() - start)
			}
			with = append(with, 2*took[1]/(took[0]+took[2]))
			same = append(same, took[2]/took[0])
		}
		withs = append(withs, rival.Summarize(with).Median)
		sames = append(sames, rival.Summarize(same).Median)
		for _, r := range replayers {
			r.Close()
		}
	}
	return rival.Summarize(withs).Median, rival.Summarize(sames).Median, nil
}
