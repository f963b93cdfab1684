package compare

import (
	"context"
	"runtime"
	"time"

	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/internal/stopwatch"
)

// Sample is what one operation took, done in one way.
type Sample struct {
	Way    string
	Turns  Turns // ns
	Allocs float64
}

// Measured is a case with a sample for each of its ways.
type Measured struct {
	rows.Case
	Samples []Sample
}

// Of returns the sample of a way.
func (m *Measured) Of(way string) (Sample, bool) {
	for _, s := range m.Samples {
		if s.Way == way {
			return s, true
		}
	}
	return Sample{}, false
}

// Reached returns what the way of a goal took, in the unit of the goal: times
// the other way, or ns. Not ok if the case has no such way.
func (m *Measured) Reached(g rows.Goal) (reached float64, ok bool) {
	ours, ok := m.Of(g.Way)
	if !ok {
		return 0, false
	}
	if g.Than == "" {
		return ours.Turns.Median(), true
	}
	other, ok := m.Of(g.Than)
	if !ok {
		return 0, false
	}
	return ours.Turns.Over(other.Turns), true
}

// Cases measures the ways of each case in turns, and returns the medians. What
// the one before left for the collector is collected before a turn.
func Cases(ctx context.Context, cases []rows.Case, passes int, turn time.Duration) ([]Measured, error) {
	var all []Measured
	for _, c := range cases {
		m, err := oneCase(ctx, c, passes, turn)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func oneCase(ctx context.Context, c rows.Case, passes int, turn time.Duration) (Measured, error) {
	loops := make([]func(n int), len(c.Ways))
	for i, way := range c.Ways {
		loop, stop := way.Start()
		defer stop()
		loops[i] = loop
		loop(1)
	}
	ns := make([]Turns, len(loops))
	for range passes {
		for i, loop := range loops {
			if err := ctx.Err(); err != nil {
				return Measured{}, err
			}
			runtime.GC()
			ns[i] = append(ns[i], rows.Measure(loop, turn))
		}
	}
	m := Measured{Case: c}
	for i, loop := range loops {
		n := max(int(float64(turn.Nanoseconds())/ns[i].Median()), 1)
		m.Samples = append(m.Samples, Sample{c.Ways[i].Name, ns[i], float64(collected(loop, n).mallocs) / float64(n)})
	}
	return m, nil
}

// garbage is what a loop left for the collector.
type garbage struct {
	mallocs, bytes uint64
	cycles         uint32
}

// collected runs n operations, the first of which was done before.
func collected(loop func(n int), n int) garbage {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	loop(n)
	runtime.ReadMemStats(&after)
	return garbage{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc, after.NumGC - before.NumGC}
}

// Scenario is what a whole program took, done in one way: per operation, but for
// the cycles of the collector.
type Scenario struct {
	Op, Way           string
	Ns, Allocs, Bytes float64
	Cycles            float64
}

// Scenarios runs ops operations of each case in each way, passes times in turns,
// and returns the medians. A way that takes a hundred times another one's memory
// makes the collector run, which is part of its time.
func Scenarios(ctx context.Context, cases []rows.Case, ops, passes int) ([]Scenario, error) {
	var all []Scenario
	for _, c := range cases {
		samples := make([][4][]float64, len(c.Ways))
		for range passes {
			for i, way := range c.Ways {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				loop, stop := way.Start()
				runtime.GC()
				start := stopwatch.Now()
				left := collected(loop, ops)
				took := stopwatch.Now() - start
				stop()
				for k, v := range []float64{float64(took.Nanoseconds()), float64(left.mallocs), float64(left.bytes), float64(left.cycles)} {
					samples[i][k] = append(samples[i][k], v)
				}
			}
		}
		for i, way := range c.Ways {
			median := func(k int) float64 { return rival.Summarize(samples[i][k]).Median }
			n := float64(ops)
			all = append(all, Scenario{c.Op, way.Name, median(0) / n, median(1) / n, median(2) / n, median(3)})
		}
	}
	return all, nil
}
