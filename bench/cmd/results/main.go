// Command results measures everything and writes RESULTS.md: the recorded
// traces against other allocators, the loads, the predecessors' rows, and a
// list of what GoMem loses.
//
//	go run ./cmd/results [-o RESULTS.md] [-quick]
//
// It takes some minutes and wants the machine to itself.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/load"
	"github.com/gomem-go/gomem/bench/native"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/bench/rows"
	"github.com/gomem-go/gomem/internal/trace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// effort is how long a run takes, and how sure it is.
type effort struct {
	passes int
	turn   time.Duration // of a row
	ops    int           // of a load
}

var (
	thorough = effort{passes: 7, turn: 30 * time.Millisecond, ops: 1_000_000}
	quick    = effort{passes: 1, turn: 100 * time.Microsecond, ops: 5_000}
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("results", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("o", "", "`FILE` to replace with the report; standard output without")
	traces := flags.String("traces", "testdata", "`FOLDER` with the traces")
	fast := flags.Bool("quick", false, "run everything once, to see that it works; the figures mean nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	e := thorough
	if *fast {
		e = quick
	}
	start := time.Now()
	r, err := measure(ctx, *traces, e, stderr)
	if err != nil {
		return err
	}
	r.Took = time.Since(start).Round(time.Second)
	var report bytes.Buffer
	if err := r.write(&report); err != nil {
		return err
	}
	if *out == "" {
		_, err := stdout.Write(report.Bytes())
		return err
	}
	// Written beside and renamed: the file never holds half a report.
	temporary := *out + ".new"
	if err := os.WriteFile(temporary, report.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, *out)
}

// tracePasses is how often each allocator has its turn on a trace.
func (e effort) tracePasses() int { return min(e.passes, 5) }

func measure(ctx context.Context, folder string, e effort, progress io.Writer) (*results, error) {
	r := &results{Machine: thisMachine(), Passes: e.passes}
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	variants, err := native.Build(ctx, dir)
	if err != nil && !errors.Is(err, native.ErrNoCompiler) {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.trace.gz"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		fmt.Fprintln(progress, "trace", compare.TraceName(file))
		t, err := trace.ReadFile(file, trace.Limits{})
		if err != nil {
			return nil, err
		}
		section := traceResult{Name: compare.TraceName(file), Trace: t}
		if section.Rows, err = compare.Trace(ctx, t, rival.Names(), variants, e.tracePasses()); err != nil {
			return nil, err
		}
		section.Held, section.Allocs = compare.Memory(t)
		r.Traces = append(r.Traces, section)
	}
	fmt.Fprintln(progress, "rows")
	if r.References, err = compare.Rows(ctx, rows.References(), e.passes, e.turn); err != nil {
		return nil, err
	}
	r.Scale = compare.Scale(r.References)
	if r.Rows, err = compare.Rows(ctx, rows.All(), e.passes, e.turn); err != nil {
		return nil, err
	}
	compare.SetRatios(r.Rows, r.Scale)
	if r.Bounded, err = compare.Rows(ctx, rows.Bounded(), e.passes, e.turn); err != nil {
		return nil, err
	}
	for _, l := range load.All() {
		fmt.Fprintln(progress, "load", l.Name)
		section, err := compare.Load(ctx, l, load.Names(), goroutines, e.ops, min(e.passes, 3))
		if err != nil {
			return nil, err
		}
		r.Loads = append(r.Loads, section)
	}
	fmt.Fprintln(progress, "walk")
	r.Walks = compare.Walks(e.passes, e.turn)
	return r, nil
}

// goroutines is how many share an allocator in the loads.
var goroutines = []int{1, 2, 1000}
