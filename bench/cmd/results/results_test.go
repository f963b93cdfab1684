package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/internal/trace"
)

// folder returns one with a small trace in it.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ops := "malloc 0 100\nmalloc 1 5000\nfree 0\nmalloc 2 30\nfree 1\n"
	if err := os.WriteFile(filepath.Join(dir, "tiny.trace.gz"), []byte(ops), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReportHasEverySection(t *testing.T) {
	if testing.Short() {
		t.Skip("measures everything once")
	}
	r, err := measure(t.Context(), folder(t), sectionNames(), effort{passes: 1, turn: time.Microsecond, ops: 200}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	if err := r.write(&report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Where GoMem loses", "### tiny", "### larson", "### short-read", "## The predecessors' rows",
		"fragments=1000000", "## Huge pages", "## BufReader", "streaming server", "## Linear arena", "2, Fork",
		"## TLSF", "periodic tasks", "### Memory", "## The price of noticing misuse", "GoMem, tlsf.Pool", "**GoMem**", "Machine: ", "make bench",
	} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the report has no %q", want)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(report.String(), bad) {
			t.Errorf("the report has a %q", bad)
		}
	}
}

func TestLosses(t *testing.T) {
	tr, err := trace.New([]uint32{100}, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := &results{
		Traces: []traceResult{{
			Name: "x", Trace: tr, Held: 1.6,
			Rows: []compare.Row{
				{Impl: compare.Reference, Median: 10, Ratio: 1},
				{Impl: "gomem", Median: 14, Ratio: 1.4},
				{Impl: "mcache", Median: 7, Ratio: 0.7},
				{Impl: "floor", Median: 2, Ratio: 0.2},
				{Impl: "make", Median: 100, Ratio: 10},
			},
		}},
		Rows: []compare.Timed{
			{Row: rows.Row{Group: "g", Name: "slower"}, Ratio: 1.2},
			{Row: rows.Row{Group: "g", Name: "missed"}, Ratio: 0.7},
			{Row: rows.Row{Group: "g", Name: "fine"}, Ratio: 0.4},
		},
		Bounded: []compare.Timed{{Ns: 10}, {Row: rows.Row{Name: "many"}, Ns: 25}},
		Loads: [][]compare.LoadRow{{
			{Load: "larson", Impl: "gomem", Goroutines: 1, Ns: 10},
			{Load: "larson", Impl: "gomem", Goroutines: 2, Ns: 8},
			{Load: "larson", Impl: "make", Goroutines: 2, Ns: 4},
		}},
	}
	got := strings.Join(r.losses(), "\n")
	want := strings.Join([]string{
		"trace x: 1.40 × mimalloc, goal 1.3",
		"trace x: mcache takes 0.50 of our time",
		"trace x: peak backing is 1.60 × peak live, goal 1.50",
		"load larson, 2 goroutines: make takes 0.50 of our time",
		"load larson: two goroutines do 1.25 × the work of one, goal 1.8",
		"row g slower: 1.20 of the published figure, slower",
		"row g missed: 0.70 of the published figure, goal 0.5",
		"bounded time: many takes 2.50 × the first",
	}, "\n")
	if got != want {
		t.Errorf("losses:\n%s\nwant:\n%s", got, want)
	}
}

func TestRunLeavesTheOldReport(t *testing.T) {
	out := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.trace.gz"), []byte("free 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"-quick", "-traces", dir, "-o", out}, &bytes.Buffer{}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "operation 0") {
		t.Errorf("run: %v", err)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "old" {
		t.Errorf("the report became %q, %v", b, err)
	}
}
