package compare

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/gomem-go/gomem/bench/load"
	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/internal/trace"
)

var kept []byte

// busy is a way whose operation makes so many slices; it counts its starts and
// stops.
func busy(name string, slices int, running *int) rows.Way {
	return rows.Way{Name: name, Start: func() (func(int), func()) {
		*running++
		return func(n int) {
			for range n * slices {
				kept = make([]byte, 1024)
			}
		}, func() { *running-- }
	}}
}

func TestCases(t *testing.T) {
	running := 0
	cases := []rows.Case{{
		Op: "x", Ways: []rows.Way{busy("two", 2, &running), busy("ten", 10, &running)},
		Goals: []rows.Goal{{Way: "two", Than: "ten", Most: 1}, {Way: "ten", Most: 1}, {Way: "two", Than: "none"}, {Way: "none"}},
	}}
	all, err := Cases(t.Context(), cases, 3, time.Millisecond)
	if err != nil || len(all) != 1 || running != 0 {
		t.Fatalf("%v, %v, %d ways still run", all, err, running)
	}
	m := &all[0]
	for way, allocs := range map[string]float64{"two": 2, "ten": 10} {
		if s, ok := m.Of(way); !ok || s.Turns.Median() <= 0 || math.Abs(s.Allocs-allocs) > 0.5 {
			t.Errorf("%s: %+v", way, s)
		}
	}
	two, _ := m.Of("two")
	ten, _ := m.Of("ten")
	for i, want := range []float64{two.Turns.Over(ten.Turns), ten.Turns.Median()} {
		if got, ok := m.Reached(m.Goals[i]); !ok || got != want {
			t.Errorf("goal %d: %v, %v, want %v", i, got, ok, want)
		}
	}
	for _, g := range m.Goals[2:] {
		if got, ok := m.Reached(g); ok {
			t.Errorf("%+v came to %v though nobody measured it", g, got)
		}
	}
}

func TestScenarios(t *testing.T) {
	running := 0
	all, err := Scenarios(t.Context(), []rows.Case{{Op: "x", Ways: []rows.Way{busy("one", 1, &running)}}}, 20_000, 3)
	if err != nil || len(all) != 1 || running != 0 {
		t.Fatalf("%v, %v, %d ways still run", all, err, running)
	}
	if s := all[0]; s.Ns <= 0 || math.Abs(s.Allocs-1) > 0.1 || math.Abs(s.Bytes-1024) > 100 || s.Cycles < 1 {
		t.Errorf("20 MB of garbage: %+v", s)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	running := 0
	cases := []rows.Case{{Op: "x", Ways: []rows.Way{busy("one", 1, &running)}}}
	if _, err := Cases(ctx, cases, 1, time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Errorf("Cases: %v", err)
	}
	if _, err := Scenarios(ctx, cases, 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Scenarios: %v", err)
	}
	if _, err := Held(ctx, load.AnyLate(), []int{1}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Held: %v", err)
	}
	if _, _, err := Guard(ctx, small(t), 1, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Guard: %v", err)
	}
	if running != 0 {
		t.Errorf("%d ways still run", running)
	}
}

// small is a trace of four blocks, of which at most 3,032 bytes are live.
func small(t *testing.T) *trace.Trace {
	t.Helper()
	tr, err := trace.New([]uint32{1000, 32, 1000, trace.FreeBit, 2000, trace.FreeBit | 2}, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestTraceFragments: the first block leaves a hole of 1,008 bytes, in which the
// last one has no room; so that one lies above all others.
func TestTraceFragments(t *testing.T) {
	const highest, peak = 1008 + 32 + 1008 + 2000, 32 + 1000 + 2000
	if got, want := TraceFragments(small(t)), float64(highest)/peak-1; math.Abs(got-want) > 1e-9 {
		t.Errorf("fragmentation %v, want %v", got, want)
	}
}

// TestRandomFragments: a program needs room for what is live, and the mean is
// never above the maximum.
func TestRandomFragments(t *testing.T) {
	all := RandomFragments(2, 3000)
	for _, f := range all {
		if f.Mean < 0 || f.Mean > f.Max || f.Max > 1 {
			t.Errorf("%+v", f)
		}
	}
	total := Overall(all)
	for _, f := range all {
		if f.Max > total.Max {
			t.Errorf("%+v is above all of them, %+v", f, total)
		}
	}
}

func TestGuard(t *testing.T) {
	with, same, err := Guard(t.Context(), small(t), 1, 3)
	if err != nil || with <= 0 || same <= 0 {
		t.Errorf("%v, %v, %v", with, same, err)
	}
}

// TestOver: a moment in which all take ten times as long changes no ratio, and turns
// keep their order.
func TestOver(t *testing.T) {
	ours, theirs := Turns{20, 2, 30, 3, 2}, Turns{10, 1, 10, 1, 1}
	if got := ours.Over(theirs); got != 2 {
		t.Errorf("%v, want 2", got)
	}
	if ours.Median() != 3 || ours[0] != 20 {
		t.Errorf("median %v, turns %v", ours.Median(), ours)
	}
	rows := []Row{{Impl: "gomem", Turns: ours}, {Impl: Reference, Turns: theirs}}
	if setRatios(rows); rows[0].Ratio != 2 || rows[1].Ratio != 1 {
		t.Errorf("rows: %+v", rows)
	}
}
