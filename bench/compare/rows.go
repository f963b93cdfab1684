package compare

import (
	"context"
	"math"
	"time"

	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/bench/rows"
)

// Timed is a row with what it took here, in ns per operation.
type Timed struct {
	rows.Row
	Ns float64

	// Ratio is Ns over the published figure, with the machines' difference
	// taken out by Scale; 0 for a row without a published figure.
	Ratio float64
}

// Rows runs all rows in turns and returns the medians.
func Rows(ctx context.Context, all []rows.Row, passes int, turn time.Duration) ([]Timed, error) {
	loops := make([]func(n int), len(all))
	for i, row := range all {
		loop, stop := row.Start()
		defer stop()
		loops[i] = loop
		loop(1)
	}
	ns := make([][]float64, len(all))
	for range passes {
		for i, loop := range loops {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			ns[i] = append(ns[i], rows.Measure(loop, turn))
		}
	}
	timed := make([]Timed, len(all))
	for i, row := range all {
		timed[i] = Timed{Row: row, Ns: rival.Summarize(ns[i]).Median}
	}
	return timed, nil
}

// Scale is how much slower the reference loops are here than where the
// predecessors were measured: the geometric mean of their ratios.
func Scale(references []Timed) float64 {
	sum := 0.0
	for _, r := range references {
		sum += math.Log(r.Ns / r.Published)
	}
	return math.Exp(sum / float64(max(len(references), 1)))
}

// SetRatios fills in the ratios of timed.
func SetRatios(timed []Timed, scale float64) {
	for i, r := range timed {
		if r.Published > 0 {
			timed[i].Ratio = r.Ns / (r.Published * scale)
		}
	}
}
