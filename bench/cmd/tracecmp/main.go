// Command tracecmp replays allocation traces through every allocator in turn,
// interleaved, and prints ns per operation and the ratio to mimalloc (or to the
// first allocator, where the C library is not installed).
//
//	go run ./cmd/tracecmp [-impl gomem,mcache] [-passes 7] FILE...
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gomem-go/gomem/bench/compare"
	"github.com/gomem-go/gomem/bench/native"
	"github.com/gomem-go/gomem/bench/rival"
	"github.com/gomem-go/gomem/internal/trace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "tracecmp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("tracecmp", flag.ContinueOnError)
	flags.SetOutput(stderr)
	impls := flags.String("impl", strings.Join(rival.Names(), ","), "allocators to compare")
	passes := flags.Int("passes", 7, "times that every allocator has its turn")
	withNative := flags.Bool("native", true, "measure the C allocators too, where they are installed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *passes < 1 {
		return fmt.Errorf("-passes %d, want at least 1", *passes)
	}
	files := flags.Args()
	if len(files) == 0 {
		var err error
		if files, err = filepath.Glob("testdata/*.trace.gz"); err != nil {
			return err
		}
		if len(files) == 0 {
			return errors.New("no FILE, and no testdata/*.trace.gz here")
		}
	}
	names := strings.Split(*impls, ",")
	for _, name := range names {
		if !slices.Contains(rival.Names(), name) {
			return fmt.Errorf("unknown allocator %q; there are %s", name, strings.Join(rival.Names(), ", "))
		}
	}
	var variants []native.Variant
	if *withNative {
		dir, err := os.MkdirTemp("", "tracecmp")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		variants, err = native.Build(ctx, dir)
		switch {
		case errors.Is(err, native.ErrNoCompiler):
			fmt.Fprintln(stderr, "tracecmp: without the C allocators:", err)
		case err != nil:
			return err
		}
	}
	out := bufio.NewWriter(stdout)
	for _, file := range files {
		t, err := trace.ReadFile(file, trace.Limits{})
		if err != nil {
			return err
		}
		if len(t.Ops) == 0 {
			return fmt.Errorf("%s: the trace is empty", file)
		}
		fmt.Fprintf(out, "trace=%s ops=%d blocks=%d peak=%.1fMB mean=%.0fB\n", compare.TraceName(file),
			len(t.Ops), len(t.Sizes), float64(t.PeakBytes)/1e6, t.MeanBytes())
		rows, err := compare.Trace(ctx, t, names, variants, *passes)
		if err != nil {
			return err
		}
		compare.Print(out, rows)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}
