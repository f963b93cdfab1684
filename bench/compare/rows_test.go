package compare

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gomem-go/gomem/bench/rows"
)

// TestSumUp: of turns on a machine that is at rest now and then, those count that
// are at rest from end to end, however long the row itself took in others.
func TestSumUp(t *testing.T) {
	row := rows.Row{Published: 50, Beside: rows.Way{Start: func() (func(int), func()) { return nil, nil }}}
	var turns []turnTaken
	for i := range 10 * quietShare {
		turn := turnTaken{ns: 190, beside: 50, before: 1.9, after: 1.9}
		switch i % quietShare {
		case 3: // at rest
			turn = turnTaken{ns: 100 + float64(i/quietShare), beside: 50, before: 1, after: 1}
		case 4: // ended at rest, began beside another one
			turn = turnTaken{ns: 5, beside: 50, before: 1.8, after: 1}
		}
		turns = append(turns, turn)
	}
	got := sumUp(row, turns)
	if got.Ns != 105 || got.Paced != (Spread{102, 105, 107}) || got.OverBeside != 2.1 || got.Ratio != (Spread{2.04, 2.1, 2.14}) {
		t.Errorf("ns %v, paced %v, ratio %v, over what is beside it %v", got.Ns, got.Paced, got.Ratio, got.OverBeside)
	}
	if got.Pace != (Spread{1, 1, 1}) || got.UsualPace != 1.9 {
		t.Errorf("pace %v, usually %v", got.Pace, got.UsualPace)
	}
	for i := range turns {
		turns[i].garbage = true
	}
	if half := sumUp(row, turns); half.Paced != (Spread{101, 102, 103}) || half.OverBeside != 2.1 {
		t.Errorf("with garbage: paced %v, over what is beside it %v", half.Paced, half.OverBeside)
	}
	for i := range turns {
		turns[i].before, turns[i].after = 2*turns[i].before, 2*turns[i].after
	}
	if half := sumUp(row, turns); half.Ratio.Median != 1.02 {
		t.Errorf("at half the pace: ratio %v", half.Ratio)
	}
	row.Elsewhere = "another machine"
	if raw := sumUp(row, turns); raw.Ratio.Median != 2.04 {
		t.Errorf("published elsewhere: ratio %v", raw.Ratio)
	}
	row.Published, row.Elsewhere = 0, ""
	if plain := sumUp(row, turns); plain.Ratio != (Spread{}) {
		t.Errorf("without a published figure: ratio %v", plain.Ratio)
	}
}

func TestSpreadOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{[]float64{7}, Spread{7, 7, 7}},
		{[]float64{5, 1, 4, 2, 3}, Spread{2, 3, 4}},
		{[]float64{2, 1}, Spread{1, 2, 2}},
	} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("SpreadOf(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// TestRows: each row is started anew at each visit and ended after it, and a row
// that makes garbage runs until the collector has had its turns.
func TestRows(t *testing.T) {
	running, starts, operations, garbage := 0, 0, 0, 0
	count := func(n *int, kind func()) func() (func(int), func()) {
		return func() (func(int), func()) {
			running++
			starts++
			return func(k int) {
				*n += k
				for range k {
					kind()
				}
			}, func() { running-- }
		}
	}
	all := []rows.Row{
		{Name: "plain", Published: 10, Start: count(&operations, func() {})},
		{Name: "garbage", Start: count(&garbage, func() { kept = make([]byte, 1<<20) })},
	}
	const turns = 12
	timed, err := Rows(t.Context(), all, 2, turns, 50*time.Microsecond)
	if err != nil || len(timed) != 2 || running != 0 || starts != 4 {
		t.Fatalf("%v, %d rows, %d still run of %d started", err, len(timed), running, starts)
	}
	for _, row := range timed {
		if row.Ns <= 0 || row.Pace.Median <= 0 || row.Paced.Low > row.Paced.Median || row.Paced.Median > row.Paced.High || row.OverBeside != 0 {
			t.Errorf("%+v", row)
		}
	}
	if least := 2 * turns / 3 * cycles * cycleBytes >> 20; garbage < least {
		t.Errorf("%d MiB of garbage, want at least %d", garbage, least)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Rows(cancelled, all, 1, 1, time.Microsecond); !errors.Is(err, context.Canceled) || starts != 4 {
		t.Errorf("cancelled: %v after %d starts", err, starts)
	}
}
