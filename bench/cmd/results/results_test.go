package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/reading"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/bench/unchecked"
	"github.com/gomem-go/gomem/internal/trace"
)

// TestMain lets the command under test run itself for a section.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-section") {
		main()
		return
	}
	m.Run()
}

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
	r, traces := &results{Machine: thisMachine()}, folder(t)
	for _, name := range sectionNames() {
		if err := measure(t.Context(), r, name, traces, effort{passes: 1, turn: time.Microsecond, ops: 200, shortTurns: 1}, &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
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

func median(v float64) compare.Spread { return compare.Spread{Median: v} }

// TestCorrection: the report says what the loop that corrects for the machine came to, and
// what other loops did.
func TestCorrection(t *testing.T) {
	reference := func(ns, published float64) compare.Timed {
		return compare.Timed{Row: rows.Row{Published: published}, Ns: ns}
	}
	row := func(pace float64) compare.Timed {
		return compare.Timed{Row: rows.Row{Published: 100}, Pace: median(pace), UsualPace: pace + 1}
	}
	r := &results{
		References: []compare.Timed{reference(10, 40), reference(20, 10), reference(150, 100)},
		Rows:       []compare.Timed{row(0.5), row(0.7), row(0.6)},
	}
	var report bytes.Buffer
	r.writeRows(&printer{w: &report})
	for _, want := range []string{"took 0.25 times as long here", "\n2.00 times as long", "which took 1.50 times as long", "was 0.60 (0.50 to 0.70", "1.60 in the median"} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, report.String())
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
				{Impl: compare.Reference, Turns: compare.Turns{10}, Ratio: 1},
				{Impl: "gomem", Turns: compare.Turns{14}, Ratio: 1.4},
				{Impl: "mcache", Turns: compare.Turns{7}, Ratio: 0.7},
				{Impl: "floor", Turns: compare.Turns{2}, Ratio: 0.2},
				{Impl: "make", Turns: compare.Turns{100}, Ratio: 10},
			},
		}},
		Rows: []compare.Timed{
			{Row: rows.Row{Group: "g", Name: "slower", Beside: rows.Way{Name: "memmove"}}, Ratio: median(1.2), OverBeside: 1.25},
			{Row: rows.Row{Group: "g", Name: "missed"}, Ratio: median(0.7)},
			{Row: rows.Row{Group: "g", Name: "fine", Beside: rows.Way{Name: "memmove"}}, Ratio: median(0.4), OverBeside: 9},
		},
		Bounded: []compare.Timed{{Paced: median(10)}, {Row: rows.Row{Name: "many"}, Paced: median(25)}, {Row: rows.Row{Name: "fine"}, Paced: median(20)}},
		Loads: [][]compare.LoadRow{{
			{Load: "larson", Impl: "floor", Goroutines: 1, Turns: compare.Turns{6}},
			{Load: "larson", Impl: "floor", Goroutines: 2, Turns: compare.Turns{4}},
			{Load: "larson", Impl: "floor", Goroutines: 1000, Turns: compare.Turns{5}},
			{Load: "larson", Impl: "gomem", Goroutines: 1, Turns: compare.Turns{10}},
			{Load: "larson", Impl: "gomem", Goroutines: 2, Turns: compare.Turns{8}},
			{Load: "larson", Impl: "gomem", Goroutines: 1000, Turns: compare.Turns{12}},
			{Load: "larson", Impl: "make", Goroutines: 2, Turns: compare.Turns{4}},
		}},
	}
	got := strings.Join(r.losses(), "\n")
	want := strings.Join([]string{
		"trace x: 1.40 × mimalloc, goal 1.3",
		"trace x: mcache takes 0.50 of our time",
		"trace x: peak backing is 1.60 × peak live, goal 1.50",
		"load larson, 2 goroutines: make takes 0.50 of our time",
		"load larson: two goroutines do 1.25 × the work of one, goal 1.8; without an allocator 1.50",
		"load larson: an allocation by 1000 goroutines takes 1.50 × one by two, goal 1; without an allocator 1.25",
		"row g slower: 1.20 of the published figure, slower; memmove takes 0.80 of our time",
		"row g missed: 0.70 of the published figure, goal 0.5",
		"bounded time: many takes 2.50 × the first",
	}, "\n")
	if got != want {
		t.Errorf("losses:\n%s\nwant:\n%s", got, want)
	}
}

// TestLossesOfSections: what each further section holds against a goal or a rival,
// and that what meets it is not listed.
func TestLossesOfSections(t *testing.T) {
	goals := []rows.Goal{{Way: "ours", Than: "rival", Most: 1.1, NoAllocs: true}, {Way: "ours", Most: 15}, {Way: "absent", Most: 1}}
	cases := []compare.Measured{
		{Case: rows.Case{Op: "bad", Goals: goals}, Samples: []compare.Sample{{Way: "ours", Turns: compare.Turns{30}, Allocs: 1}, {Way: "rival", Turns: compare.Turns{20}}}},
		{Case: rows.Case{Op: "good", Goals: goals}, Samples: []compare.Sample{{Way: "ours", Turns: compare.Turns{10}, Allocs: 0.001}, {Way: "rival", Turns: compare.Turns{10}}}},
	}
	tr, err := trace.New([]uint32{100}, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	pool := func(name string, ns, fragments float64) traceResult {
		return traceResult{Name: name, Trace: tr, Fragments: fragments, Rows: []compare.Row{
			{Impl: rival.TLSF, Turns: compare.Turns{ns}}, {Impl: glibc, Turns: compare.Turns{10}},
		}}
	}
	r := &results{
		Traces: []traceResult{pool("ffmpeg", 14, 0.1), pool("sqlite", 7, 0.3), pool("other", 90, 0.1),
			pool("gcc", 16, 0.1), pool("git", 10, 0.1), pool("python", 16, 0.1)},
		Fragments: []compare.Fragments{{Load: "a", Mean: 0.1, Max: 0.2}, {Load: "b", Mean: 0.3, Max: 0.4}},
		Held: []compare.HeldRow{
			{Load: "short-read", Goroutines: 1, PeakLive: 50, PeakReads: 100, PeakBacking: 135},
			{Load: "short-read", Goroutines: 2, PeakLive: 50, PeakReads: 100, PeakBacking: 140},
			{Load: firstFit, Goroutines: 1, PeakLive: 50, PeakReads: 100, PeakBacking: 900},
			{Load: "xmalloc", Goroutines: 1, PeakLive: 100, PeakBacking: 210, Chunk: 10},
			{Load: "xmalloc", Goroutines: 2, PeakLive: 100, PeakBacking: 211, Chunk: 10},
			{Load: "larson", Goroutines: 1, PeakLive: 100, PeakBacking: 900},
		},
		Checks:  []unchecked.Price{{Op: "pair", Ratio: 1.06}, {Op: "batch", Ratio: 1.04}},
		Guarded: []compare.Guarded{{Trace: "x", With: 1.02, Same: 0.998}, {Trace: "y", With: 1.01, Same: 1}},
		Scenarios: []compare.Scenario{
			{Op: "server", Way: reading.Bufio, Ns: 5, Cycles: 1},
			{Op: "server", Way: reading.Gomem, Ns: 10, Cycles: 2},
			{Op: "parser", Way: reading.Bufio, Ns: 10, Cycles: 2},
			{Op: "parser", Way: reading.Gomem, Ns: 5},
		},
	}
	got := strings.Join(append(caseLosses("s", cases, "ours", "rival", "absent"), r.losses()...), "\n")
	want := strings.Join([]string{
		"s, bad: ours takes 1.50 × rival, goal 1.1",
		"s, bad: ours allocates 1.00 times, goal 0",
		"s, bad: ours takes 30.0 ns, goal 15",
		"s, bad: rival takes 0.67 of our time",
		"tlsf, trace ffmpeg: 1.40 × glibc, goal 1.30, which is what the TLSF in C takes at most",
		"tlsf, trace sqlite: fragmentation 30.0 %, goal 25 %",
		"tlsf, trace git: 1.00 × glibc, goal 0.88, which is what the TLSF in C takes at most",
		"tlsf, trace python: 1.60 × glibc, goal 1.56, which is what the TLSF in C takes at most",
		"tlsf, random programs: mean fragmentation 20.0 %, goal 15 %",
		"tlsf, random programs: maximum fragmentation 40.0 %, goal 25 %",
		"load short-read, 2 goroutines: mapped 1.40 × the bytes that reads hold, goal 1.35",
		"load xmalloc, 2 goroutines: mapped 2.11 × the bytes in flight, goal 2 and a chunk",
		"checks, pair: 1.060 of the time without them, goal 1.05",
		"sampled guard, trace x: 1.020 of the time without it, goal 1.01; two without it differ by 0.2 %",
		"reader, server: bufio takes 0.50 of our time",
		"reader, server: bufio makes the collector run 1 times, GoMem 2",
	}, "\n")
	if got != want {
		t.Errorf("losses:\n%s\nwant:\n%s", got, want)
	}
}

// TestTLSFBesideC: the table has what the TLSF in C took on each trace that it was
// measured on.
func TestTLSFBesideC(t *testing.T) {
	r := &results{}
	for name := range anchors {
		r.Traces = append(r.Traces, traceResult{Name: name})
	}
	r.Traces = append(r.Traces, traceResult{Name: "bash"})
	var report bytes.Buffer
	r.writeTLSF(&printer{w: &report})
	for _, want := range []string{
		"| ffmpeg | 0.0 | | 1.15–1.30 |", "| gcc | 0.0 | | 1.52–1.63 |", "| git | 0.0 | | 0.86–0.88 |",
		"| python | 0.0 | | 1.31–1.56 |", "| sqlite | 0.0 | | 0.65–0.75 |", "| bash | 0.0 | | |",
	} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, &report)
		}
	}
}

// TestOnly: sections are measured alone, each by a process that says all it found,
// and an unknown one is refused.
func TestOnly(t *testing.T) {
	var report bytes.Buffer
	if err := run(t.Context(), []string{"-quick", "-only", "lac,reader", "-traces", folder(t)}, &report, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Linear arena", "tree of 1,656 objects", "2, Fork", "## BufReader", "streaming server"} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the report of two sections has no %q:\n%s", want, report.String())
		}
	}
	for _, bad := range []string{"## Recorded traces", "## The predecessors' rows", "NaN"} {
		if strings.Contains(report.String(), bad) {
			t.Errorf("the report of two other sections has a %q", bad)
		}
	}
	for _, flag := range []string{"-only", "-section"} {
		err := run(t.Context(), []string{flag, "none"}, &bytes.Buffer{}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), `"none"`) {
			t.Errorf("an unknown section: %v", err)
		}
	}
}

// TestRunRefuses: what cannot work is said at once, and before anything is measured.
func TestRunRefuses(t *testing.T) {
	empty := t.TempDir()
	for want, args := range map[string][]string{
		"no *.trace.gz in " + empty: {"-section", "traces", "-traces", empty},
		`"traces"`:                  {"-quick", "traces"},
		"no such":                   {"-quick", "-o", filepath.Join(empty, "none", "RESULTS.md")},
	} {
		var said bytes.Buffer
		if err := run(t.Context(), args, &said, &said); err == nil || !strings.Contains(err.Error(), want) || said.Len() > 0 {
			t.Errorf("%q: %v, and it said %q", args, err, &said)
		}
	}
	if files, err := os.ReadDir(empty); err != nil || len(files) > 0 {
		t.Errorf("left %v, %v", files, err)
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
	var said bytes.Buffer
	err := run(t.Context(), []string{"-quick", "-only", "traces", "-traces", dir, "-o", out}, &bytes.Buffer{}, &said)
	if err == nil || !strings.Contains(err.Error(), "traces") || !strings.Contains(said.String(), "operation 0") {
		t.Errorf("run: %v, and it said %q", err, said.String())
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "old" {
		t.Errorf("the report became %q, %v", b, err)
	}
}
