// Package bench measures GoMem against the predecessors' figures, against other
// allocators and under the loads that allocators are known to fail at. See
// RESULTS.md for a run of all of it, and CONTRIBUTING.md for the rules.
package bench

import (
	"path/filepath"
	"testing"

	"github.com/gomem-go/gomem/bench/compare"
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
				r := rival.New(impl, len(t.Sizes))
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
				r := rival.New(impl, len(tr.Sizes))
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

func TestUnknownReplayer(t *testing.T) {
	if r := rival.New("none", 1); r != nil {
		t.Errorf("New of an unknown name = %v", r)
	}
}
