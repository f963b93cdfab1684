package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/gomem-go/gomem/bench/arenas"
	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/reading"
	"github.com/gomem-go/gomem/bench/rows"
)

// TestSummary: the table for the README is made of what was measured.
func TestSummary(t *testing.T) {
	replayed := func(name string, ours, mimalloc, made float64) traceResult {
		return traceResult{Name: name, Rows: []compare.Row{
			{Impl: compare.Reference, Turns: compare.Turns{mimalloc}}, {Impl: "gomem", Turns: compare.Turns{ours}}, {Impl: "make", Turns: compare.Turns{made}},
		}}
	}
	loads := func(load string, ours, pool float64) []compare.LoadRow {
		return []compare.LoadRow{
			{Load: load, Impl: "gomem", Goroutines: 1, Turns: compare.Turns{99}},
			{Load: load, Impl: "gomem", Goroutines: 2, Turns: compare.Turns{ours}},
			{Load: load, Impl: "syncpool", Goroutines: 2, Turns: compare.Turns{pool}},
		}
	}
	of := func(op, own, other string, ours, theirs float64) compare.Measured {
		return compare.Measured{Case: rows.Case{Op: op}, Samples: []compare.Sample{{Way: own, Turns: compare.Turns{ours}}, {Way: other, Turns: compare.Turns{theirs}}}}
	}
	r := &results{
		Traces:    []traceResult{replayed("a", 9, 10, 300), replayed("b", 15, 10, 30)},
		Loads:     [][]compare.LoadRow{loads("larson", 5, 10), loads("malloc-large", 40, 10), loads("other", 1, 10)},
		Reader:    []compare.Measured{of("4-byte header, more", reading.Gomem, reading.Bufio, 7, 10), of("else", reading.Gomem, reading.Bufio, 1, 10)},
		Lac:       []compare.Measured{of("5 objects, released each time", arenas.Lac, arenas.Heap, 1, 10)},
		Scenarios: []compare.Scenario{{Op: "streaming server: x", Way: reading.Bufio, Ns: 10}, {Op: "streaming server: x", Way: reading.Gomem, Ns: 4}},
	}
	var report bytes.Buffer
	r.writeSummary(&printer{w: &report})
	want := `## In short

| GoMem takes | of the time of | for |
|---|---|---|
| 0.9 to 1.5 | mimalloc, in C | recordings of a, b |
| 0.03 to 0.5 | ` + "`make`" + ` | the same |
| 0.5 | pools of ` + "`sync.Pool`" + `, two goroutines | blocks that are replaced at random, in part or all by the other one |
| 0.7 | ` + "`bufio`, `Peek` and `Discard`" + ` | a header of 4 bytes and its payload |
| 0.4 | ` + "`bufio`" + `, one copy for all | a stream with four subscribers that are late |
| 0.1 | the Go heap | five objects of an arena, and its release |
| 4.0 | pools of ` + "`sync.Pool`" + `, two goroutines | blocks of 5 to 25 MiB, not rounded up to powers of two |

`
	if report.String() != want {
		t.Errorf("the summary is\n%s\nwant\n%s", report.String(), want)
	}
}

// TestReadmeQuotesResults: the README's table is that of the published results.
func TestReadmeQuotesResults(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, behind, found := strings.Cut(read("../../RESULTS.md"), "## In short\n\n")
	table, _, closed := strings.Cut(behind, "\n\n")
	if !found || !closed || strings.Count(table, "\n") < 4 {
		t.Fatalf("no table in short: %q", table)
	}
	if !strings.Contains(read("../../../README.md"), "\n\n"+table+"\n\n") {
		t.Errorf("the README does not have the table\n%s", table)
	}
}
