// Package bench measures GoMem against the predecessors' figures, against other
// allocators and under the loads that allocators are known to fail at. See
// RESULTS.md for a run of all of it, and CONTRIBUTING.md for the rules.
package bench

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/gomem-go/gomem/bench/arenas"
	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/reading"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/internal/trace"
)

func runRows(b *testing.B, all []rows.Row) {
	for _, row := range all {
		b.Run("type="+row.Group+"/"+row.Name, func(b *testing.B) {
			loop, stop := row.Start()
			defer stop()
			loop(1)
			b.ReportAllocs()
			b.ResetTimer()
			loop(b.N)
			b.StopTimer()
			if row.Published > 0 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/row.Published, "of-published")
			}
		})
	}
}

func BenchmarkReference(b *testing.B) { runRows(b, rows.References()) }
func BenchmarkRows(b *testing.B)      { runRows(b, rows.All()) }

// runCases runs each way of each case, named so that benchstat makes columns of
// the ways.
func runCases(b *testing.B, cases []rows.Case) {
	for _, c := range cases {
		for _, way := range c.Ways {
			b.Run("op="+c.Op+"/impl="+way.Name, func(b *testing.B) {
				loop, stop := way.Start()
				defer stop()
				loop(1)
				b.ReportAllocs()
				b.ResetTimer()
				loop(b.N)
				b.StopTimer()
			})
		}
	}
}

func BenchmarkReader(b *testing.B)    { runCases(b, reading.Cases()) }
func BenchmarkScenarios(b *testing.B) { runCases(b, reading.Scenarios()) }
func BenchmarkArena(b *testing.B)     { runCases(b, append(arenas.Cases(), arenas.Together()...)) }

func readTraces(tb testing.TB) map[string]*trace.Trace {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*.trace.gz")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no traces: %v", err)
	}
	traces := map[string]*trace.Trace{}
	for _, path := range paths {
		t, err := trace.ReadFile(path, trace.Limits{})
		if err != nil {
			tb.Fatal(err)
		}
		traces[compare.TraceName(path)] = t
	}
	return traces
}

// BenchmarkTrace replays whole traces; the metric ns/trace-op is what one
// malloc or free of it costs.
func BenchmarkTrace(b *testing.B) {
	for name, t := range readTraces(b) {
		for _, impl := range rival.Names() {
			b.Run("impl="+impl+"/trace="+name, func(b *testing.B) {
				r := rival.New(impl, t)
				defer r.Close()
				r.Round(t)
				b.ReportAllocs()
				for b.Loop() {
					r.Round(t)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(t.Ops)), "ns/trace-op")
			})
		}
	}
}

// TestReplayersRun has every replayer and every row work once, so that a
// change of an API is seen before somebody measures.
func TestReplayersRun(t *testing.T) {
	for name, tr := range readTraces(t) {
		for _, impl := range rival.Names() {
			t.Run(impl+"/"+name, func(t *testing.T) {
				r := rival.New(impl, tr)
				defer r.Close()
				r.Round(tr)
				r.Round(tr)
			})
		}
	}
}

func TestRowsRun(t *testing.T) {
	for _, row := range append(rows.References(), rows.All()...) {
		t.Run(row.Group+"/"+row.Name, func(t *testing.T) {
			loop, stop := row.Start()
			defer stop()
			for n := range 4 {
				loop(n)
			}
		})
	}
}

func TestCasesRun(t *testing.T) {
	for _, cases := range [][]rows.Case{reading.Cases(), reading.Scenarios(), arenas.Cases(), arenas.Together()} {
		for _, c := range cases {
			for _, way := range c.Ways {
				t.Run(c.Op+"/"+way.Name, func(t *testing.T) {
					loop, stop := way.Start()
					defer stop()
					for _, n := range []int{0, 1, 2, 150} {
						loop(n)
					}
				})
			}
			for _, g := range c.Goals {
				if !has(c, g.Way) || g.Than != "" && !has(c, g.Than) {
					t.Errorf("%s: a goal of %q over %q, one of which nobody measures", c.Op, g.Way, g.Than)
				}
			}
		}
	}
}

func has(c rows.Case, way string) bool {
	return slices.ContainsFunc(c.Ways, func(w rows.Way) bool { return w.Name == way })
}

func TestUnknownReplayer(t *testing.T) {
	if r := rival.New("none", new(trace.Trace)); r != nil {
		t.Errorf("New of an unknown name = %v", r)
	}
}
