package compare

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/gomem-go/gomem/bench/rows"
)

// Timed is a row with what it took in the quiet turns.
type Timed struct {
	rows.Row
	Ns float64 // per operation

	// Pace is how many times as long as published the loops of [rows.Pace] took
	// in the quiet turns, and UsualPace the median of all turns.
	Pace      Spread
	UsualPace float64

	// Paced is Ns over the pace, turn by turn: ns of the machine that the
	// published figures come from, as far as these loops tell.
	Paced Spread

	// Ratio is Paced over the published figure, or what the row took as it is if
	// that figure is of a machine of unknown pace; 0 for a row without one.
	Ratio Spread

	// OverBeside is how many times as long the row takes as what is measured
	// beside it, turn by turn; 0 for a row by itself.
	OverBeside float64
}

// Spread is a median between the quartiles.
type Spread struct{ Low, Median, High float64 }

// SpreadOf returns the quartiles of values, which it sorts. Requires at least one
// value.
func SpreadOf(values []float64) Spread {
	slices.Sort(values)
	last := len(values) - 1
	return Spread{values[last/4], values[len(values)/2], values[last-last/4]}
}

// over is s with everything divided by v.
func (s Spread) over(v float64) Spread { return Spread{s.Low / v, s.Median / v, s.High / v} }

// quietShare: one of so many turns of a row is a quiet one.
const quietShare = 8

// Rows visits all rows, one after the other, visits times. At each visit a row is
// started anew and has so many turns, short ones, each between two looks at the
// pace of the machine; a third as many if it makes garbage. What counts are the
// quiet turns: the share of them in which the pace was fastest at both ends.
//
// The reason is that a virtual processor has two paces, alone on its core and
// beside another one, which change within milliseconds. Beside another one, a loop
// that waits for its own results takes a third longer, and one that does not takes
// twice as long: no reference takes that out of a row that is not like it, but a
// reference tells when it is so. The choice does not look at the row; as far as it
// prefers turns in which the pace seems fast by chance, it is against the row.
//
// The collector works on another processor. When others have that one, a row that
// makes garbage waits for it, which no look at the pace can see; so of the quiet
// turns of such a row the faster half count.
func Rows(ctx context.Context, all []rows.Row, visits, turns int, turn time.Duration) ([]Timed, error) {
	taken := make([][]turnTaken, len(all))
	p := newPace(turn / 4)
	defer p.stop()
	for range visits {
		for i, row := range all {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			taken[i] = append(taken[i], visit(row, p, turns, turn)...)
		}
	}
	timed := make([]Timed, len(all))
	for i, row := range all {
		timed[i] = sumUp(row, taken[i])
	}
	return timed, nil
}

// turnTaken is one turn of a row.
type turnTaken struct {
	ns, beside    float64
	before, after float64 // the pace
	garbage       bool    // that the row leaves some
}

func (t turnTaken) pace() float64    { return (t.before + t.after) / 2 }
func (t turnTaken) paced() float64   { return t.ns / t.pace() }
func (t turnTaken) slowest() float64 { return max(t.before, t.after) }

func visit(row rows.Row, p *pace, turns int, turn time.Duration) []turnTaken {
	start := func(w rows.Way) (timedLoop, func()) {
		loop, stop := w.Start()
		loop(1)
		return newTimedLoop(loop, turn), stop
	}
	loop, stop := start(rows.Way{Start: row.Start})
	defer stop()
	var beside timedLoop
	if row.Beside.Start != nil {
		var stop func()
		beside, stop = start(row.Beside)
		defer stop()
	}
	if loop.garbage {
		turns = max(1, turns/3) // which are longer
	}
	runtime.GC() // what came before is not for this row to collect
	taken := make([]turnTaken, turns)
	for i := range taken {
		t := &taken[i]
		t.garbage = loop.garbage
		t.before = p.now()
		if row.Beside.Start != nil {
			t.beside = beside.once()
			beside.collect()
		}
		t.ns = loop.once()
		t.after = p.now()
		loop.collect()
	}
	return taken
}

// sumUp returns what the quiet ones of turns say, which it sorts.
func sumUp(row rows.Row, turns []turnTaken) Timed {
	spread := func(turns []turnTaken, value func(turnTaken) float64) Spread {
		values := make([]float64, len(turns))
		for i, t := range turns {
			values[i] = value(t)
		}
		return SpreadOf(values)
	}
	timed := Timed{Row: row, UsualPace: spread(turns, turnTaken.pace).Median}
	quiet := leastOf(turns, quietShare, turnTaken.slowest)
	if row.Beside.Start != nil {
		timed.OverBeside = spread(quiet, func(t turnTaken) float64 { return t.ns / t.beside }).Median
	}
	if quiet[0].garbage {
		quiet = leastOf(quiet, 2, turnTaken.paced)
	}
	timed.Ns = spread(quiet, func(t turnTaken) float64 { return t.ns }).Median
	timed.Pace = spread(quiet, turnTaken.pace)
	timed.Paced = spread(quiet, turnTaken.paced)
	switch {
	case row.Elsewhere != "":
		timed.Ratio = spread(quiet, func(t turnTaken) float64 { return t.ns }).over(row.Published)
	case row.Published > 0:
		timed.Ratio = timed.Paced.over(row.Published)
	}
	return timed
}

// leastOf returns the turns of the least value, one of so many as share says, and
// sorts them all.
func leastOf(turns []turnTaken, share int, value func(turnTaken) float64) []turnTaken {
	slices.SortFunc(turns, func(a, b turnTaken) int { return cmp.Compare(value(a), value(b)) })
	return turns[:max(1, len(turns)/share)]
}
