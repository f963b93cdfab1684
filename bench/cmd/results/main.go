// Command results measures everything and writes RESULTS.md: the recorded
// traces against other allocators, the loads, the reader, the arenas, the
// predecessors' rows, and a list of what GoMem loses.
//
//	go run ./cmd/results [-o RESULTS.md] [-quick] [-only traces,lac]
//
// It takes some minutes and wants the machine to itself. It runs itself for each
// section, so that none is measured beside what another one left. Built with
// GOEXPERIMENT=arenas it measures Go's own arena too.
package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

// effort is how long a run takes, and how sure it is.
type effort struct {
	passes     int
	turn       time.Duration
	ops        int // of a load
	shortTurns int // of a predecessors' row at a visit
}

var (
	thorough = effort{passes: 7, turn: 30 * time.Millisecond, ops: 1_000_000, shortTurns: 25}
	quick    = effort{passes: 1, turn: 100 * time.Microsecond, ops: 5_000, shortTurns: 1}
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("results", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("o", "", "`FILE` to replace with the report; standard output without")
	traces := flags.String("traces", "testdata", "`FOLDER` with the traces")
	only := flags.String("only", strings.Join(sectionNames(), ","), "`SECTIONS` to measure")
	alone := flags.String("section", "", "`SECTION` to measure in this process, encoded for the one that writes the report")
	fast := flags.Bool("quick", false, "run everything once, to see that it works; the figures mean nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("no argument %q is known", flags.Arg(0))
	}
	e := thorough
	if *fast {
		e = quick
	}
	if *alone != "" {
		r := &results{}
		if err := measure(ctx, r, *alone, *traces, e, stderr); err != nil {
			return err
		}
		return gob.NewEncoder(stdout).Encode(r)
	}
	wanted := strings.Split(*only, ",")
	for _, name := range wanted {
		if !slices.Contains(sectionNames(), name) {
			return fmt.Errorf("no section %q; there are %s", name, strings.Join(sectionNames(), ", "))
		}
	}
	// Written beside and renamed: the file never holds half a report. Written to at once:
	// where it may not be is said before the minutes that it takes.
	temporary := *out + ".new"
	if *out != "" {
		if err := os.WriteFile(temporary, nil, 0o644); err != nil {
			return err
		}
		defer os.Remove(temporary)
	}
	start := time.Now()
	r := &results{Machine: thisMachine()}
	for _, name := range sectionNames() {
		if !slices.Contains(wanted, name) {
			continue
		}
		fmt.Fprintln(stderr, name)
		if err := apart(ctx, r, name, *traces, *fast, stderr); err != nil {
			return fmt.Errorf("section %s: %w", name, err)
		}
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
	if err := os.WriteFile(temporary, report.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, *out)
}

// apart adds a section to r, measured by this program in a process of its own.
func apart(ctx context.Context, r *results, name, folder string, fast bool, progress io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var encoded bytes.Buffer
	cmd := exec.CommandContext(ctx, self, "-section", name, "-traces", folder, fmt.Sprintf("-quick=%t", fast))
	cmd.Stdout, cmd.Stderr = &encoded, progress
	// Interrupted rather than killed: a section removes what it built.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return err
	}
	// Decoding changes only what the section filled in.
	return gob.NewDecoder(&encoded).Decode(r)
}
