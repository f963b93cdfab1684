package wcet

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/gomem-go/gomem/internal/check"
	"github.com/gomem-go/gomem/tlsf"
)

// Each sample must find the state that the situation promises, also after many.
func TestSituations(t *testing.T) {
	for _, sit := range situations {
		for _, size := range sizes {
			pool, err := tlsf.New(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			b := &bench{pool: pool}
			op, undo := sit.arrange(b, size)
			arranged := pool.String()
			op()
			operated := pool.String()
			undo()
			for range 100 {
				if got := pool.String(); got != arranged {
					t.Fatalf("%s, %d bytes: undone to\n%s\nnot to\n%s", sit.name, size, got, arranged)
				}
				op()
				if got := pool.String(); got != operated {
					t.Fatalf("%s, %d bytes: the operation came to\n%s\nnot to\n%s", sit.name, size, got, operated)
				}
				undo()
			}
			if b.err != nil {
				t.Errorf("%s, %d bytes: %v", sit.name, size, b.err)
			}
			if blocks := strings.Count(operated, " free ") - strings.Count(arranged, " free "); blocks != freeBlocksAdded(sit.name) {
				t.Errorf("%s, %d bytes: %d free blocks more\n%s\n%s", sit.name, size, blocks, arranged, operated)
			}
		}
	}
}

// freeBlocksAdded is what the operation does to the number of free blocks.
func freeBlocksAdded(situation string) int {
	switch situation {
	case "exact class", "free between two free":
		return -1
	case "free alone":
		return 1
	}
	return 0
}

func TestRunPrintsTheTable(t *testing.T) {
	var out, errs bytes.Buffer
	if status := Run(t.Context(), []string{"-samples", "20", "-evict", "1", "-pool", "1"}, &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	text := out.String()
	for _, want := range []string{"p50", "p90", "p99", "p99.9", "max", "warm", "cold", "clock alone", "20 samples per row", "#"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, sit := range situations {
		// A line per size and state of the cache, and two histograms.
		if got, want := strings.Count(text, sit.name), 2*len(sizes)+2; got != want {
			t.Errorf("%q is printed %d times, want %d", sit.name, got, want)
		}
	}
	if got, want := strings.Count(errs.String(), " rows\n"), 2*len(situations)*len(sizes); got < want || strings.Contains(errs.String(), "\r") {
		t.Errorf("progress of %d rows, want at least %d, without a terminal: %q", got, want, &errs)
	}
	out.Reset()
	if status := Run(t.Context(), []string{"-samples=5", "-evict=0", "-pool=1", "-histogram=false"}, &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	if text := out.String(); strings.Contains(text, "cold") || strings.Contains(text, "#") {
		t.Errorf("cold rows or histograms that were not asked for:\n%s", text)
	}
}

func TestRunRefusesBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-samples 0":        "-samples 0, want 1 to 10000000",
		"-samples -1":       "-samples -1, want 1 to 10000000",
		"-samples 10000001": "-samples 10000001, want 1 to 10000000",
		"-pool 0":           "-pool 0, want 1 to 1024",
		"-pool 99999999":    "-pool 99999999, want 1 to 1024",
		"-evict -1":         "-evict -1, want 0 to 1024",
		"-lock=maybe":       "-lock maybe, want true or false",
		"-no-such-flag":     "flag provided but not defined: -no-such-flag",
		"surplus":           `unexpected argument "surplus"`,
	} {
		var out, errs bytes.Buffer
		if status := Run(t.Context(), strings.Fields(args), &out, &errs); status != 2 || out.Len() != 0 || errs.String() != "gomem wcet: "+want+"\n" {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, status, out.String(), errs.String())
		}
	}
	var out, errs bytes.Buffer
	if status := Run(t.Context(), []string{"-h"}, &out, &errs); status != 0 || !strings.Contains(out.String(), "usage:") || errs.Len() > 0 {
		t.Errorf("-h: status %d, %q, %q", status, &out, &errs)
	}
}

func TestRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if status := Run(ctx, nil, &out, &errs); status != 1 || !strings.Contains(errs.String(), context.Canceled.Error()) {
		t.Errorf("status %d, %q", status, errs.String())
	}
}

// calls is a writer that calls a function with each write.
type calls func()

func (c calls) Write(p []byte) (int, error) { c(); return len(p), nil }

// What was measured until an interrupt is printed.
func TestRunStopsWithTheRowsUntilThen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	if status := Run(ctx, []string{"-samples=9", "-pool=1"}, &out, calls(cancel)); status != 1 {
		t.Errorf("status %d", status)
	}
	for text, want := range map[string]int{"clock alone": 2, situations[0].name: 2, situations[1].name: 0, "9 samples per row": 1} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q is printed %d times, want %d:\n%s", text, got, want, &out)
		}
	}
}

// A full disk or a closed pipe is an error, not a silent success.
func TestRunReportsAFailingWriter(t *testing.T) {
	var errs bytes.Buffer
	if status := Run(t.Context(), []string{"-samples=1", "-evict=0", "-pool=1"}, brokenPipe{}, &errs); status != 1 {
		t.Errorf("status %d, %q", status, errs.String())
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestCollectorIsRestored(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(73))
	quiet()()
	if got := debug.SetGCPercent(73); got != 73 {
		t.Errorf("GC percent is %d afterwards, want 73", got)
	}
}

func TestQuantile(t *testing.T) {
	samples := make([]time.Duration, 1000)
	for i := range samples {
		samples[i] = time.Duration(i + 1)
	}
	for q, want := range map[float64]time.Duration{0.5: 500, 0.9: 900, 0.99: 990, 0.999: 999, 1: 1000, 0: 1} {
		if got := quantile(samples, q); got != want {
			t.Errorf("quantile(%v) = %d, want %d", q, got, want)
		}
	}
	one := []time.Duration{7}
	if quantile(one, 0.5) != 7 || quantile(one, 1) != 7 {
		t.Error("the quantiles of one sample are not the sample")
	}
}

// TestSummary: what is kept of the samples is what is printed of them.
func TestSummary(t *testing.T) {
	s := summarize([]time.Duration{9, -1, 8, 0, 1, 3, 2})
	if want := [...]time.Duration{2, 9, 9, 9, 9}; s.quantiles != want {
		t.Errorf("quantiles %v, want %v", s.quantiles, want)
	}
	if want := [...]int{2, 1, 2, 0, 2}; [5]int(s.counts[:5]) != want {
		t.Errorf("counts %v, want %v", s.counts[:5], want)
	}
}

// TestTablesOfOneRow: the tables of the pools that were closed are gone.
func TestTablesOfOneRow(t *testing.T) {
	inUse := func() int {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	s := settings{samples: 1, poolBytes: 16 << 20}
	before, most := inUse(), 0
	if _, err := measure(t.Context(), s, func(int, int) { most = max(most, inUse()) }); err != nil {
		t.Fatal(err)
	}
	if most > before+s.poolBytes {
		t.Errorf("%d bytes more are in use, the tables of a pool are a quarter of %d", most-before, s.poolBytes)
	}
}

// TestSamplesOfOneRow: a row needs no memory for its samples that the one before had.
func TestSamplesOfOneRow(t *testing.T) {
	if check.Enabled {
		t.Skip("each operation checks the pool, which takes memory")
	}
	took := func(samples int) (rows, bytes int) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all, err := measure(t.Context(), settings{samples: samples, poolBytes: 1 << 20}, func(int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return len(all), int(after.TotalAlloc - before.TotalAlloc)
	}
	const few, many = 1000, 50_000
	_, least := took(few)
	rows, most := took(many)
	if more, all := most-least, rows*8*(many-few); more > all/4 {
		t.Errorf("%d rows took %d bytes more for %d more samples each, which are %d bytes", rows, more, many-few, all)
	}
}
